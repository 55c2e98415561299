"""The cheapest plan for a problem, as plain numbers, with what was proven about it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np

from optimizer.base.arrays import Floats, Ints
from optimizer.base.errors import SolverFailure
from optimizer.base.units import HOURS_PER_MONTH
from optimizer.program.problem.problem import Problem, Sorted, sorted_problem
from optimizer.program.problem.soundness import check
from optimizer.program.proof.state import EQUAL_COST, Found, Ledger, Machines
from optimizer.program.refine.routing import Routed, balanced_flows
from optimizer.program.refine.tie_break import break_ties
from optimizer.program.search import search
from optimizer.program.solver import Clock, IntegerSolver, integer_solver

Outcome: TypeAlias = Literal["optimal", "feasible", "infeasible", "unproven", "failed"]

_REASON: dict[Outcome, str] = {
    "optimal": "no plan costs less",
    "feasible": "the search was ended before the plan was proven cheapest",
    "infeasible": "no plan meets every requirement",
    "unproven": "the time limit was reached before a plan was found or ruled out",
}


_WITHIN_GAP = "the plan is proven within the gap asked for"


@dataclass(frozen=True, eq=False)
class Solution:
    """What the program decided.

    Attributes:
        outcome: `optimal` and `infeasible` are proven for the whole problem.
        reason: Why the search ended so, in one clause.
        cost_usd_per_month: Of instances, hosted APIs, starts and changes; None without a plan.
        bound_usd_per_month: No plan costs less; None when nothing is known.
        relative_gap: (cost - bound) / cost as it is, None without a plan; the solver calls a plan optimal up to about
            1e-6.
        instances: (T, O) whole instances that run; empty without a plan.
        replicas: (T, C) replicas placed; empty without a plan.
        flows: Requests/s routed to each candidate with replicas; empty without a plan.
        api_flow_per_s: (T, A) requests/s sent to hosted APIs; empty without a plan.
        eliminated: Candidates removed before the final solve, by argument.
        columns_solved: Candidates in the final solve.
        solver: Which solver proved it.
        phase_wall_s: Seconds by phase, the only part that differs between runs.
    """

    outcome: Outcome
    reason: str
    cost_usd_per_month: float | None
    bound_usd_per_month: float | None
    relative_gap: float | None
    instances: Ints
    replicas: Ints
    flows: tuple[Routed, ...]
    api_flow_per_s: Floats
    eliminated: Mapping[str, int]
    columns_solved: int
    solver: IntegerSolver
    phase_wall_s: Mapping[str, float]

    def bounded_by(self, wider: "Solution") -> "Solution":
        """The same plan for a problem with more choices, of which only a bound is known."""
        cost = self.cost_usd_per_month or 0.0
        bound = min(wider.bound_usd_per_month or 0.0, self.bound_usd_per_month or 0.0)
        return replace(
            self,
            outcome="feasible",
            reason=_REASON["feasible"],
            bound_usd_per_month=bound,
            relative_gap=(cost - bound) / cost,
        )


def solve(
    problem: Problem,
    time_limit_s: float | None = None,
    progress: Callable[[str], None] | None = None,
    relative_gap: float = 0.0,
    node_limit: int | None = None,
    settle_ties: bool = True,
    at_most_usd_per_month: float = np.inf,
) -> Solution:
    """The cheapest plan, its bound and its routing, in the problem's own index order.

    Ties are broken as `tie_break` says; flows are balanced as `routing` says. The order of the problem's entries does
    not matter: it is solved in the order of ids.

    Args:
        problem: What to solve.
        time_limit_s: After which the best plan found is returned, with its gap.
        progress: Told the name of each phase as it begins.
        relative_gap: Search no further than a plan proven within this of the cheapest; 0 proves it cheapest.
        node_limit: Branch and bound no further than so many nodes; a limit that is the same on every machine.
        settle_ties: Whether it matters which of several equally cheap plans is found.
        at_most_usd_per_month: What a known plan costs; where the search ends `infeasible` no plan costs as little.

    Raises:
        ValueError: The problem is not one, see `soundness`.
    """
    ceiling = at_most_usd_per_month / HOURS_PER_MONTH
    ledger = Ledger(progress or _silent, Clock(time_limit_s), relative_gap, node_limit, ceiling)
    return _solved(problem, ledger, eliminate=True, settle_ties=settle_ties)


def solve_plainly(problem: Problem) -> Solution:
    """The same without removing any candidate first: slower, and a check on the arguments that remove them."""
    return _solved(problem, Ledger(_silent, Clock(None)), eliminate=False, settle_ties=True)


def _solved(problem: Problem, ledger: Ledger, eliminate: bool, settle_ties: bool) -> Solution:
    check(problem)
    served = np.asarray(np.any(problem.candidates.rate_per_s > 0, axis=0))
    served[problem.apis.mix] = True
    uncovered = ~(problem.traffic.mixes[served] > 0).any(axis=0)
    if uncovered.any():
        missing = ", ".join(sorted(np.array(problem.traffic.classes)[uncovered].tolist()))
        return _without_plan(problem, "infeasible", f"no candidate serves {missing}", None, ledger)
    order = sorted_problem(problem)
    try:
        found = _within_ceiling(search(order.problem, ledger, eliminate), ledger)
        if found.machines is None:
            outcome: Outcome = "infeasible" if found.status == "infeasible" else "unproven"
            return _without_plan(problem, outcome, _REASON[outcome], found.bound_usd_per_hour, ledger)
        machines = found.machines
        if settle_ties and found.status == "optimal" and not ledger.relative_gap:
            with ledger.phase("tie_break"):
                machines = break_ties(order.problem, machines, found.with_candidate_usd_per_hour, ledger)
        with ledger.phase("routing"):
            flows = balanced_flows(order.problem, machines)
    except SolverFailure as failure:
        return _without_plan(problem, "failed", str(failure), None, ledger)
    return _with_plan(problem, order, found, (machines, flows), ledger)


def _within_ceiling(found: Found, ledger: Ledger) -> Found:
    """A plan that is dearer than what is of interest is none, and proves nothing about dearer plans."""
    if found.machines is None or found.machines.usd_per_hour <= ledger.ceiling_usd_per_hour * (1 + EQUAL_COST):
        return found
    return replace(found, machines=None, status="infeasible" if found.status == "optimal" else "unproven")


def _with_plan(
    problem: Problem, order: Sorted, found: Found, plan: tuple[Machines, tuple[Routed, ...]], ledger: Ledger
) -> Solution:
    """The solution in the original order; a bound within rounding of the cost is the cost."""
    machines, flows = plan
    cost = machines.usd_per_hour
    bound = min(found.bound_usd_per_hour, cost)
    if cost - bound <= EQUAL_COST * cost:
        bound = cost
    proven = bound == cost or (found.status == "optimal" and not ledger.relative_gap)
    outcome: Outcome = "optimal" if proven else "feasible"
    close = ledger.relative_gap and cost - bound <= ledger.relative_gap * cost
    back_offers, back_candidates = np.argsort(order.offers), np.argsort(order.candidates)
    sent = np.zeros((problem.traffic.periods, len(problem.apis)))
    streams = order.problem.api_streams
    sent[streams.period, order.apis[streams.server]] = machines.api_flow_per_s
    return Solution(
        outcome=outcome,
        reason=_WITHIN_GAP if close and not proven else _REASON[outcome],
        cost_usd_per_month=cost * HOURS_PER_MONTH,
        bound_usd_per_month=bound * HOURS_PER_MONTH,
        relative_gap=(cost - bound) / cost,
        instances=machines.instances[:, back_offers],
        replicas=machines.replicas[:, back_candidates],
        flows=tuple(
            Routed(flow.period, int(order.candidates[flow.candidate]), int(order.mixes[flow.mix]), flow.flow_per_s)
            for flow in flows
        ),
        api_flow_per_s=sent,
        eliminated=ledger.eliminated,
        columns_solved=ledger.columns_solved,
        solver=integer_solver(problem.traffic.periods),
        phase_wall_s=ledger.phase_wall_s,
    )


def _without_plan(
    problem: Problem, outcome: Outcome, reason: str, bound_usd_per_hour: float | None, ledger: Ledger
) -> Solution:
    known = outcome == "unproven" and bound_usd_per_hour is not None and np.isfinite(bound_usd_per_hour)
    nothing = np.zeros((0, 0))
    return Solution(
        outcome=outcome,
        reason=reason,
        cost_usd_per_month=None,
        bound_usd_per_month=bound_usd_per_hour * HOURS_PER_MONTH if known and bound_usd_per_hour is not None else None,
        relative_gap=None,
        instances=nothing.astype(np.int64),
        replicas=nothing.astype(np.int64),
        flows=(),
        api_flow_per_s=nothing,
        eliminated=ledger.eliminated,
        columns_solved=ledger.columns_solved,
        solver=integer_solver(problem.traffic.periods),
        phase_wall_s=ledger.phase_wall_s,
    )


def _silent(_: str) -> None:
    """Progress that nobody watches."""

"""The cheapest plan for a problem, as plain numbers, with what was proven about it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from optimizer.base.errors import SolverFailure
from optimizer.base.units import HOURS_PER_MONTH
from optimizer.program.problem import Floats, Problem, Sorted, sorted_problem
from optimizer.program.routing import balanced_flow_per_s
from optimizer.program.search import EQUAL_COST, Found, Ledger, Machines, search
from optimizer.program.solver import Clock
from optimizer.program.tie_break import break_ties

Outcome: TypeAlias = Literal["optimal", "feasible", "infeasible", "unproven", "failed"]

_REASON: dict[Outcome, str] = {
    "optimal": "no plan costs less",
    "feasible": "the time limit was reached before the plan was proven cheapest",
    "infeasible": "no plan meets every requirement",
    "unproven": "the time limit was reached before a plan was found or ruled out",
}


@dataclass(frozen=True)
class Solution:
    """What the program decided.

    Attributes:
        outcome: `optimal` and `infeasible` are proven for the whole problem.
        reason: Why the search ended so, in one clause.
        cost_usd_per_month: 730 h of the instances bought; None without a plan.
        bound_usd_per_month: No plan costs less; None when nothing is known.
        relative_gap: (cost - bound) / cost as it is, None without a plan; the solver calls a plan optimal up to about
            1e-6.
        instances: (O,) whole instances bought; empty without a plan.
        replicas: (C,) replicas placed; empty without a plan.
        flow_per_s: (C,) requests/s routed; empty without a plan.
        eliminated: Candidates removed before the final solve, by argument.
        columns_solved: Candidates in the final solve.
        phase_wall_s: Seconds by phase, the only part that differs between runs.
    """

    outcome: Outcome
    reason: str
    cost_usd_per_month: float | None
    bound_usd_per_month: float | None
    relative_gap: float | None
    instances: tuple[int, ...]
    replicas: tuple[int, ...]
    flow_per_s: tuple[float, ...]
    eliminated: Mapping[str, int]
    columns_solved: int
    phase_wall_s: Mapping[str, float]


def solve(
    problem: Problem, time_limit_s: float | None = None, progress: Callable[[str], None] | None = None
) -> Solution:
    """The cheapest plan, its bound and its routing, in the problem's own index order.

    Ties are broken as `tie_break` says; flows are balanced as `routing` says. The order of the problem's entries does
    not matter: it is solved in the order of ids.
    """
    return _solved(problem, Ledger(progress or _silent, Clock(time_limit_s)), eliminate=True)


def solve_plainly(problem: Problem) -> Solution:
    """The same without removing any candidate first: slower, and a check on the arguments that remove them."""
    return _solved(problem, Ledger(_silent, Clock(None)), eliminate=False)


def _solved(problem: Problem, ledger: Ledger, eliminate: bool) -> Solution:
    uncovered = ~(problem.mix > 0).any(axis=0)
    if uncovered.any():
        missing = ", ".join(sorted(np.array(problem.request_classes)[uncovered].tolist()))
        return _without_plan("infeasible", f"no candidate serves {missing}", None, ledger)
    order = sorted_problem(problem)
    try:
        found = search(order.problem, ledger, eliminate)
        if found.machines is None:
            outcome: Outcome = "infeasible" if found.status == "infeasible" else "unproven"
            return _without_plan(outcome, _REASON[outcome], found.bound_usd_per_hour, ledger)
        machines = found.machines
        if found.status == "optimal":
            with ledger.phase("tie_break"):
                machines = break_ties(order.problem, machines, found.with_candidate_usd_per_hour, ledger)
        with ledger.phase("routing"):
            flow = balanced_flow_per_s(order.problem, machines.replicas)
    except SolverFailure as failure:
        return _without_plan("failed", str(failure), None, ledger)
    return _with_plan(order, found, machines, flow, ledger)


def _with_plan(order: Sorted, found: Found, machines: Machines, flow: Floats, ledger: Ledger) -> Solution:
    """The solution in the original order; a bound within rounding of the cost is the cost."""
    cost = machines.usd_per_hour
    bound = min(found.bound_usd_per_hour, cost)
    if found.status == "optimal" and cost - bound <= EQUAL_COST * cost:
        bound = cost
    outcome: Outcome = "optimal" if found.status == "optimal" else "feasible"
    back_offers, back_candidates = np.argsort(order.offers), np.argsort(order.candidates)
    return Solution(
        outcome=outcome,
        reason=_REASON[outcome],
        cost_usd_per_month=cost * HOURS_PER_MONTH,
        bound_usd_per_month=bound * HOURS_PER_MONTH,
        relative_gap=(cost - bound) / cost,
        instances=tuple(machines.instances[back_offers].tolist()),
        replicas=tuple(machines.replicas[back_candidates].tolist()),
        flow_per_s=tuple(flow[back_candidates].tolist()),
        eliminated=ledger.eliminated,
        columns_solved=ledger.columns_solved,
        phase_wall_s=ledger.phase_wall_s,
    )


def _without_plan(outcome: Outcome, reason: str, bound_usd_per_hour: float | None, ledger: Ledger) -> Solution:
    known = outcome == "unproven" and bound_usd_per_hour is not None and np.isfinite(bound_usd_per_hour)
    return Solution(
        outcome=outcome,
        reason=reason,
        cost_usd_per_month=None,
        bound_usd_per_month=bound_usd_per_hour * HOURS_PER_MONTH if known and bound_usd_per_hour is not None else None,
        relative_gap=None,
        instances=(),
        replicas=(),
        flow_per_s=(),
        eliminated=ledger.eliminated,
        columns_solved=ledger.columns_solved,
        phase_wall_s=ledger.phase_wall_s,
    )


def _silent(_: str) -> None:
    """Progress that nobody watches."""

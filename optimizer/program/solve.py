"""The cheapest plan for a problem, as plain numbers, with what was proven about it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Literal, TypeAlias

import numpy as np

from optimizer.base.arrays import Floats, Ints
from optimizer.base.clock import Clock, Limit
from optimizer.base.errors import SolverFailure
from optimizer.base.progress import BestAndBound
from optimizer.base.units import HOURS_PER_MONTH
from optimizer.program.laid_out import LaidOut, paid_for, preferred, search_laid_out
from optimizer.program.problem.data import select_labels
from optimizer.program.problem.instance_contents import NOTHING_PLACED, Placed
from optimizer.program.problem.problem import Problem, Sorted, sorted_problem
from optimizer.program.problem.soundness import check
from optimizer.program.proof.relaxation import no_bound
from optimizer.program.proof.simple_plan import simple_plan
from optimizer.program.proof.state import NO_GAP, Incumbent, SearchResult, SearchState
from optimizer.program.proof.steps import cheaper, within_cutoff, within_gap
from optimizer.program.refine.loading import Loaded, loaded, with_restarts
from optimizer.program.refine.paid_runs import billed_idle_usd_per_hour
from optimizer.program.refine.routing import ROUTING_TOLERANCE, Routed, balanced_flows, egress_of
from optimizer.program.simplest import SimplerSearch, least_complexity
from optimizer.program.solver import SolverName, integer_solver

Outcome: TypeAlias = Literal["optimal", "feasible", "infeasible", "unproven", "failed"]

_REASON: dict[Outcome, str] = {
    "optimal": "no plan costs less",
    "feasible": "the search was ended before the plan was proven cheapest",
    "infeasible": "no plan meets every requirement",
    "unproven": "the search was ended before a plan was found or ruled out",
}

_CUT_SHORT: dict[Outcome, str] = {
    "optimal": "no plan costs less; the {limit} was reached before the simplest of equal cost was looked for",
    "feasible": "the {limit} was reached before the plan was proven cheapest",
    "infeasible": "no plan meets every requirement",
    "unproven": "the {limit} was reached before a plan was found or ruled out",
}

FAR: Final = 0.5
"""Gap from which a simple plan may well cost less than what a search that was cut short has found."""

_MORE_CHOICES = "replicas may sustain more of mixes of classes that nobody predicted"

_WITHIN_GAP = "the plan is proven within the gap asked for"


@dataclass(frozen=True, eq=False)
class Solution:
    """What the program decided.

    Attributes:
        outcome: `optimal` and `infeasible` are proven for the whole problem.
        reason: Why the search ended so, in one clause.
        eliminated: Candidates removed by argument, before the last program was solved or by what it found.
        columns_solved: Candidates in the last program; what its plan shows unnecessary is among `eliminated`, too.
        solver: Which solver proved it.
        phase_wall_s: Seconds by phase, the only part that differs between runs.
        ended_by: The limit of the clock that the search was ended by; None where it came to an end of its own.
        cost_usd_per_month: Of instances, hosted APIs, starts and changes; None without a plan.
        bound_usd_per_month: No plan costs less; None when nothing is known.
        relative_gap: (cost - bound) / cost as it is, None without a plan; the solver calls a plan optimal up to about
            1e-6.
        instances: (T, O) whole instances that run; empty without a plan.
        replicas: (T, C) replicas placed; empty without a plan.
        flows: Requests/s routed to each candidate with replicas; empty without a plan.
        api_flow_per_s: (T, A) requests/s sent to hosted APIs; empty without a plan.
        loaded: What the instances hold of each offer that runs several configurations over the week.
        placed: What stands on which instance, where that matters; else empty.
    """

    outcome: Outcome
    reason: str
    eliminated: Mapping[str, int]
    columns_solved: int
    solver: SolverName
    phase_wall_s: Mapping[str, float]
    ended_by: Limit | None = None
    cost_usd_per_month: float | None = None
    bound_usd_per_month: float | None = None
    relative_gap: float | None = None
    instances: Ints = field(default_factory=lambda: np.zeros((0, 0), dtype=np.int64))
    replicas: Ints = field(default_factory=lambda: np.zeros((0, 0), dtype=np.int64))
    flows: tuple[Routed, ...] = ()
    api_flow_per_s: Floats = field(default_factory=lambda: np.zeros((0, 0)))
    loaded: tuple[Loaded, ...] = ()
    placed: Placed = NOTHING_PLACED

    def bounded_by(self, wider: "Solution") -> "Solution":
        """The same plan, or none, for a problem with more choices, of which only a bound is known."""
        if self.cost_usd_per_month is None:
            reason = _REASON["unproven"] if wider.outcome == "unproven" else _MORE_CHOICES
            bound, ended_by = wider.bound_usd_per_month, wider.ended_by or self.ended_by
            return replace(self, outcome="unproven", reason=reason, bound_usd_per_month=bound, ended_by=ended_by)
        return self.above(min(wider.bound_usd_per_month or 0.0, self.bound_usd_per_month or 0.0), wider.ended_by)

    def left_open(self, limit: Limit) -> "Solution":
        """No plan, for a problem with more choices that a limit left no time to look at."""
        reason = _CUT_SHORT["unproven"].format(limit=limit)
        return replace(self, outcome="unproven", reason=reason, bound_usd_per_month=None, ended_by=limit)

    def without_its_plan(self) -> "Solution":
        """No plan, since this one does not hold, and what no plan undercuts."""
        reason = _CUT_SHORT["unproven"].format(limit=self.ended_by) if self.ended_by else _REASON["unproven"]
        return replace(self, outcome="unproven", reason=reason, cost_usd_per_month=None, relative_gap=None)

    def none_cheaper(self) -> "Solution":
        """That no plan costs less than one that is known."""
        return replace(self, outcome="infeasible", reason=_REASON["infeasible"], cost_usd_per_month=None)

    def above(self, bound_usd_per_month: float, ended_by: Limit | None) -> "Solution":
        """The same plan where no plan of a problem with more choices costs less than a bound."""
        cost = self.cost_usd_per_month or 0.0
        proven = cost - bound_usd_per_month <= NO_GAP * cost
        # a number of an array's kind is written otherwise than a plain one
        bound = cost if proven else float(bound_usd_per_month)
        outcome: Outcome = "optimal" if proven else "feasible"
        return replace(
            self,
            outcome=outcome,
            reason=_CUT_SHORT[outcome].format(limit=ended_by) if ended_by else _REASON[outcome],
            ended_by=ended_by or self.ended_by,
            bound_usd_per_month=bound,
            relative_gap=(cost - bound) / cost,
        )


def solve(
    problem: Problem,
    clock: Clock | None = None,
    progress: BestAndBound | None = None,
    relative_gap: float = 0.0,
    node_limit: int | None = None,
    break_ties: bool = True,
    cutoff_usd_per_month: float = np.inf,
    at_any_rate: bool = True,
    proof: bool = True,
    enough_usd_per_month: float = np.inf,
) -> Solution:
    """The cheapest plan, its bound and its routing, in the problem's own index order.

    Ties are broken as `tie_break` says; flows are balanced as `routing` says. The order of the problem's entries does
    not matter: it is solved in the order of ids.

    Args:
        problem: What to solve.
        clock: Where it has run out the best plan found is returned, with its gap; a simple one if there is none yet.
        progress: Told the cost of the best plan, where there is one, and what no plan undercuts, in USD/h.
        relative_gap: Search no further than a plan proven within this of the cheapest; 0 proves it cheapest.
        node_limit: Branch and bound no further than so many nodes; a limit that is the same on every machine.
        break_ties: Whether it matters which of several equally cheap plans is found.
        cutoff_usd_per_month: What a known plan costs; where the search ends `infeasible` no plan costs as little.
        at_any_rate: Whether a simple plan is wanted where a limit was reached before any was found.
        proof: Whether a proof is wanted that takes longer than the programs of a week.
        enough_usd_per_month: Once no plan of a large week costs less the search ends, proven that far.

    Raises:
        ValueError: The problem is not one, see `soundness`.
    """
    state = SearchState(
        clock=clock or Clock(),
        progress=progress,
        relative_gap=relative_gap,
        node_limit=node_limit,
        cutoff_usd_per_hour=cutoff_usd_per_month / HOURS_PER_MONTH,
        at_any_rate=at_any_rate,
        proof=proof,
        enough_usd_per_hour=enough_usd_per_month / HOURS_PER_MONTH,
    )
    return _solved(problem, state, eliminate=True, break_ties=break_ties)


def solve_simpler(
    problem: Problem,
    search: SimplerSearch,
    cutoff_usd_per_month: float,
    clock: Clock | None = None,
    node_limit: int | None = None,
) -> tuple[Solution | None, bool]:
    """A simpler plan within a cost, None where the search finds none; and whether that is proven.

    Args:
        problem: What to solve.
        search: One of `simplest`.
        cutoff_usd_per_month: What the plan may cost.
        clock: Where it has run out the simplest plan seen is returned.
        node_limit: Branch and bound no further than so many nodes in each step.

    Raises:
        ValueError: The problem is not one, see `soundness`.
    """
    cutoff = cutoff_usd_per_month / HOURS_PER_MONTH
    own = clock or Clock()
    state = SearchState(own, node_limit=node_limit, cutoff_usd_per_hour=cutoff, at_any_rate=False, proof=False)
    check(problem)
    if _unserved(problem):
        return None, True
    order = sorted_problem(problem)
    try:
        found = search(order.problem, state)
        state.ended_by = state.clock.reached
        if found.plan is None:
            return None, found.proven
        result = SearchResult("optimal", no_bound(problem), found.plan)
        return with_plan(order, result, found.plan, state), found.proven
    except SolverFailure:
        return None, False


def solve_plainly(problem: Problem) -> Solution:
    """The same without removing any candidate first: slower, and a check on the arguments that remove them."""
    return _solved(problem, SearchState(Clock()), eliminate=False)


def _solved(problem: Problem, state: SearchState, eliminate: bool, break_ties: bool = True) -> Solution:
    check(problem)
    if missing := _unserved(problem):
        return _without_plan(problem, "infeasible", f"no candidate serves {', '.join(missing)}", state)
    if too_few := configurations_missing(problem):
        return _without_plan(problem, "infeasible", too_few, state)
    order = sorted_problem(problem)
    try:
        found = _searched(order.problem, state, eliminate)
        result = within_cutoff(found.result, state)
        plan = result.incumbent
        if plan is None:
            return _unfound(problem, result, state)
        untied = break_ties and result.status == "optimal" and not state.relative_gap
        if untied and state.ended_by is None:
            with state.phase("tie_break"):
                plan = preferred(found, plan, state.clock)
            state.ended_by = state.clock.reached
        return with_plan(order, result, plan, state)
    except SolverFailure as failure:
        return _without_plan(problem, "failed", str(failure), state)


def _in_order_of(order: Sorted, arranged: Sequence[Loaded]) -> tuple[Loaded, ...]:
    """What is loaded, in the original order."""
    return tuple(
        replace(each, offer=int(order.offers[each.offer]), groups=order.candidates[each.groups]) for each in arranged
    )


def _searched(problem: Problem, state: SearchState, eliminate: bool) -> LaidOut:
    """The end of the search, with a simple plan where it was cut short before it found any that is near its bound."""
    found = search_laid_out(problem, state, eliminate)
    result = found.result
    state.ended_by = state.clock.reached
    state.best_and_bound(result.incumbent, result.bound.usd_per_hour)
    wanted = state.at_any_rate and state.cutoff_usd_per_hour == np.inf
    if not wanted or result.status not in ("unproven", "feasible") or not _is_far(result):
        return found
    plan = simple_plan(problem, state, result.bound.with_candidate_usd_per_hour)
    if plan is None:
        return found
    paid, _ = with_restarts(problem, plan)
    if cheaper(result.incumbent, paid) is result.incumbent:
        return found
    return found._replace(result=paid_for(problem, result, paid))


def _is_far(result: SearchResult) -> bool:
    """Whether there is no plan, or one that costs so much more than the bound that a simple one may well cost less."""
    return result.incumbent is None or result.bound.usd_per_hour < (1 - FAR) * result.incumbent.usd_per_hour


def _unserved(problem: Problem) -> list[str]:
    """The classes that no candidate and no hosted API serves."""
    served = np.asarray((problem.candidates.rate_per_s > 0).any(axis=0))
    served[problem.apis.mix] = True
    uncovered = ~(problem.traffic.mixes[served] > 0).any(axis=0)
    return sorted(select_labels(problem.traffic.classes, np.flatnonzero(uncovered)))


def configurations_missing(problem: Problem) -> str | None:
    """That each workload needs a configuration of its own, where fewer are allowed; None where they suffice."""
    most, least = problem.limits.max_distinct_configurations, least_complexity(problem).configurations
    return f"{least} workloads need a configuration each" if most is not None and most < least else None


def with_plan(order: Sorted, result: SearchResult, plan: Incumbent, state: SearchState) -> Solution:
    """The solution in the original order, its flows balanced; a bound within rounding of the cost is the cost.

    A program that ended early may have its answers sent more dearly than its machines must, and more hours billed that
    nothing runs than its runs take; what routing saves within its own tolerance is no saving.
    """
    with state.phase("routing"):
        flows = balanced_flows(order.problem, plan)
    arranged = loaded(order.problem, plan)
    saved = (
        plan.egress_usd_per_hour - egress_of(order.problem, flows),
        plan.billed_idle_usd_per_hour - billed_idle_usd_per_hour(order.problem, plan.instances),
    )
    cost = plan.usd_per_hour - sum(each for each in saved if each > ROUTING_TOLERANCE * plan.usd_per_hour)
    bound = float(min(result.bound.usd_per_hour, cost))
    if cost - bound <= NO_GAP * cost:
        bound = cost
    proven = bound == cost or (result.status == "optimal" and not state.relative_gap)
    outcome: Outcome = "optimal" if proven else "feasible"
    reason = _reason(outcome, state) if proven or not within_gap(result.bound, plan, state) else _WITHIN_GAP
    problem, streams = order.problem, order.problem.api_streams
    sent = np.zeros((problem.traffic.periods, len(problem.apis)))
    sent[streams.period, order.apis[streams.server]] = plan.api_flow_per_s
    return replace(
        _without_plan(problem, outcome, reason, state),
        cost_usd_per_month=cost * HOURS_PER_MONTH,
        bound_usd_per_month=bound * HOURS_PER_MONTH,
        relative_gap=(cost - bound) / cost if cost else 0.0,
        instances=plan.instances[:, np.argsort(order.offers)],
        replicas=plan.replicas[:, np.argsort(order.candidates)],
        flows=tuple(
            replace(flow, candidate=int(order.candidates[flow.candidate]), mix=int(order.mixes[flow.mix]))
            for flow in flows
        ),
        api_flow_per_s=sent,
        loaded=_in_order_of(order, arranged),
        placed=plan.placed.for_whole(order.offers, order.candidates, len(problem.candidates)),
    )


def _unfound(problem: Problem, result: SearchResult, state: SearchState) -> Solution:
    """The solution where there is no plan, or none was found in time: then with what no plan undercuts, if known."""
    if result.status == "infeasible":
        return _without_plan(problem, "infeasible", _REASON["infeasible"], state)
    solution, bound = _without_plan(problem, "unproven", _reason("unproven", state), state), result.bound.usd_per_hour
    return replace(solution, bound_usd_per_month=float(bound) * HOURS_PER_MONTH if np.isfinite(bound) else None)


def _without_plan(problem: Problem, outcome: Outcome, reason: str, state: SearchState) -> Solution:
    return Solution(
        outcome=outcome,
        reason=reason,
        eliminated=state.eliminated,
        columns_solved=state.columns_solved,
        solver=(state.solver or integer_solver(problem.traffic.periods)).name,
        phase_wall_s=state.phase_wall_s,
        ended_by=state.ended_by,
    )


def _reason(outcome: Outcome, state: SearchState) -> str:
    """Why the search ended so, and which limit ended it."""
    return _REASON[outcome] if state.ended_by is None else _CUT_SHORT[outcome].format(limit=state.ended_by)

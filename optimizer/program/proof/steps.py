"""The steps of every search: solve a part, tell what may still beat the best plan, solve on what is left."""

from collections.abc import Collection
from dataclasses import replace

import numpy as np

from optimizer.base.arrays import Flags, Floats, Ints
from optimizer.base.errors import SolverFailure
from optimizer.base.units import HOURS_PER_MONTH
from optimizer.program.formulation.implied import must_be_whole
from optimizer.program.formulation.model import build_program, hourly_cost, model_proto
from optimizer.program.problem.instance_contents import affordable
from optimizer.program.problem.problem import Problem, Sorted, compacted
from optimizer.program.problem.quantities import stands_in_force
from optimizer.program.problem.traits import GROUPS, candidate_traits, offer_traits
from optimizer.program.proof.relaxation import Bound
from optimizer.program.proof.state import EQUAL_COST, Incumbent, SearchResult, SearchState, incumbent_of
from optimizer.program.solver import SolverResult, Status, integer_solver, solve_integer

MOST_BILLED_CELLS = 4_000
"""Candidates times periods of a program with least billed times beyond which its first node alone takes a minute."""

MOST_ROWS_HELD = 4_000
"""Rows beyond which a program of a week that is held to so many configurations, places or instances is not solved: its
first node took five seconds and more, for a plan that is simpler than one that is known."""

MOST_STREAMS = 40_000
"""Flows of a program beyond which its first node takes a minute or more, in which a plan rarely gets better."""

MOST_CELLS_OF_EQUALS = 5_000
"""Candidates times periods beyond which a plan is not exchanged for another one of equal cost."""

CONTRADICTION = 1e-5
"""Relative difference by which no plan is below a bound, however last digits fell: one of the two would be wrong."""

FEW_COLUMNS, FEW_COLUMNS_OF_WEEK = 80, 48
"""Candidates whose final solve costs little more than that of the most promising among them."""


def cheaper(*plans: Incumbent | None) -> Incumbent | None:
    known = [plan for plan in plans if plan is not None]
    return min(known, key=lambda plan: plan.usd_per_hour, default=None)


def within_gap(bound: Bound, incumbent: Incumbent | None, state: SearchState) -> bool:
    """Whether the plan at hand is already proven within the gap asked for, if one was."""
    if incumbent is None or not state.relative_gap:
        return False
    return incumbent.usd_per_hour - bound.usd_per_hour <= state.relative_gap * incumbent.usd_per_hour


def can_beat(problem: Problem, bound: Bound, incumbent: Incumbent | None, state: SearchState) -> Flags:
    """(C,) candidates whose bound does not exceed the cost of a known plan, the budget or the cutoff."""
    most = most_usd_per_hour(problem, state)
    if incumbent is not None:
        most = min(most, incumbent.usd_per_hour)
    return (bound.with_candidate_usd_per_hour <= most * (1 + 10 * EQUAL_COST)) | stands_in_force(problem)


def most_usd_per_hour(problem: Problem, state: SearchState) -> float:
    """What a plan may cost: the budget, or the cutoff where that is less."""
    budget = problem.limits.max_monthly_usd
    return min(state.cutoff_usd_per_hour, np.inf if budget is None else budget / HOURS_PER_MONTH)


def ruled_out(problem: Problem, usd_per_hour: float, state: SearchState) -> bool:
    """Whether there is no plan within what it may cost, where every plan costs at least so much; none, if infinite."""
    return usd_per_hour == np.inf or usd_per_hour > most_usd_per_hour(problem, state) * (1 + 10 * EQUAL_COST)


def within_cutoff(result: SearchResult, state: SearchState) -> SearchResult:
    """A plan that is dearer than what is of interest is none, and proves nothing about dearer plans.

    One that is only near the cheapest, since a gap was asked for, may be dearer where the cheapest is not.
    """
    cutoff = state.cutoff_usd_per_hour
    if result.incumbent is None or result.incumbent.usd_per_hour <= cutoff * (1 + EQUAL_COST):
        return result
    dearer = not state.relative_gap or result.bound.usd_per_hour >= cutoff * (1 - EQUAL_COST)
    return replace(result, incumbent=None, status="infeasible" if result.status == "optimal" and dearer else "unproven")


def ready_for_final(problem: Problem, keep: Flags, bound: Bound, state: SearchState) -> bool:
    """Whether a first plan would help little: a known one's cost is the cutoff and leaves few candidates."""
    left = keep & can_beat(problem, bound, None, state)
    few = FEW_COLUMNS if problem.traffic.periods == 1 else FEW_COLUMNS_OF_WEEK
    ready = bool(np.isfinite(state.cutoff_usd_per_hour) and left.sum() <= few)
    if ready:
        state.eliminated["reduced_cost"] = int((keep & ~left).sum())
    return ready


def lowest_bounds(problem: Problem, bound: Bound, count: int) -> Ints:
    """The so many candidates with the lowest bounds, and for every mix the one of those that serve it."""
    order = np.argsort(bound.with_candidate_usd_per_hour, kind="stable")
    serves = problem.candidates.rate_per_s[order] > 0
    return np.append(order[:count], order[serves.argmax(axis=0)[serves.any(axis=0)]])


def promising_candidates(problem: Problem, keep: Flags, cost: Floats, count: int, but: Collection[str] = ()) -> Flags:
    """(C,) the so many of least cost, and the cheapest for each mix and of each group that a limit wants variety in.

    Args:
        problem: In canonical order.
        keep: (C,) those to choose from.
        cost: (C,) by which they are ordered.
        count: How many.
        but: Traits of which no variety is wanted.
    """
    candidates = problem.candidates
    order = np.argsort(np.where(keep, cost, np.inf), kind="stable")
    chosen = stands_in_force(problem)
    chosen[order[:count]] = True
    elastic = ~problem.offers.always_paid[candidates.offer]
    wanted: list[Ints] = [np.where(serves, elastic, -1) for serves in candidates.rate_per_s.T > 0]
    looked_at = (*offer_traits(problem), *candidate_traits(problem.limits))
    wanted += [GROUPS[trait](problem) for trait in looked_at if trait in GROUPS and trait not in but]
    for group in wanted:
        first = np.unique(group[order], return_index=True)[1]
        chosen[order[first]] = True
    return chosen & keep


def solve_on(
    problem: Problem, keep: Flags, state: SearchState, node_limit: int | None, bound_usd_per_hour: float = 0.0
) -> tuple[SolverResult, Incumbent | None]:
    """Solve the program on some of the candidates; a plan in the whole problem's index order.

    A plan that the gap asked for allows, given what no plan undercuts, ends it. Changes are counted against replicas in
    force: where some of these are left out, what a plan costs is not known, and nothing is solved.
    """
    if (stands_in_force(problem) & ~keep).any():
        return SolverResult("unproven", -np.inf), None
    if not keep.any() and not len(problem.apis):
        return SolverResult("infeasible", np.inf), None
    if state.clock.expired:
        return SolverResult("unproven", -np.inf), None
    return solve_part(compacted(problem, keep), problem, state, node_limit, bound_usd_per_hour)


def solve_part(
    part: Sorted, problem: Problem, state: SearchState, node_limit: int | None, bound_usd_per_hour: float
) -> tuple[SolverResult, Incumbent | None]:
    """Solve the program of a part of the problem."""
    state.columns_solved = len(part.candidates)
    program = build_program(part.problem)
    if problem.ceiling.in_force and problem.traffic.periods > 1 and program.rows > MOST_ROWS_HELD:
        return SolverResult("unproven", -np.inf), None
    cost = hourly_cost(program)
    # a bill that outlasts what runs is found sooner from whole replicas: 2.6 s instead of 13 for `billed-by-the-day`
    whole = None if problem.has_minimum_billing else must_be_whole(program, cost)
    model = model_proto(program, cost, whole=whole)
    state.solver = integer_solver(problem.traffic.periods, len(model.linear_constraints.ids))
    # a program of one period that is held to a cost by no row of its own is solved sooner without being told of it
    divided = problem.fullest.divided or problem.fullest_place.divided
    told = problem.traffic.periods > 1 or problem.limits.max_monthly_usd is not None or divided
    cutoff = most_usd_per_hour(problem, state) if told else np.inf
    result = solve_integer(
        model,
        state.clock,
        state.solver,
        node_limit=node_limit,
        relative_gap=state.relative_gap,
        objective_target=bound_usd_per_hour / (1 - state.relative_gap),
        cutoff=cutoff * (1 + CONTRADICTION),
    )
    return result, incumbent_of(result, program, part, problem)


def final_solve(
    problem: Problem, keep: Flags, bound: Bound, incumbent: Incumbent | None, state: SearchState
) -> SearchResult:
    """Solve the program on every candidate that no argument has removed."""
    with state.phase("final"):
        left = keep & can_beat(problem, bound, incumbent, state)
        if nothing_to_gain(bound, incumbent) and left.sum() * problem.traffic.periods > MOST_CELLS_OF_EQUALS:
            return result_of(problem, keep, bound, SolverResult("feasible", bound.usd_per_hour), incumbent, state)
        solved = affordable(problem, left, bound.with_candidate_usd_per_hour)
        # a limit on nodes would not end it: one is too many
        limited = state.node_limit is not None and problem.has_minimum_billing
        too_many = limited and left.sum() * problem.traffic.periods > MOST_BILLED_CELLS
        if too_many or solved[problem.streams.server].sum() > MOST_STREAMS:
            solved = np.zeros_like(left)
        result, plan = solve_on(problem, solved, state, state.node_limit, bound.usd_per_hour)
    if (left & ~solved).any():
        # what the solver proved holds for a part of what may beat the best plan
        result = SolverResult("unproven" if plan is None else "feasible", bound.usd_per_hour)
    return result_of(problem, keep, bound, result, cheaper(plan, incumbent), state)


def result_of_parts(
    problem: Problem, keep: Flags, bound: Bound, usd_per_hour: float, best: Incumbent | None, state: SearchState
) -> SearchResult:
    """What searches of parts that hold every plan say: the best plan of all, and what no plan undercuts."""
    state.eliminated["reduced_cost"] = int((keep & ~can_beat(problem, bound, best, state)).sum())
    cost = np.inf if best is None else best.usd_per_hour
    proven = usd_per_hour >= min(cost, most_usd_per_hour(problem, state)) * (1 - EQUAL_COST)
    none: Status = "infeasible" if proven else "unproven"
    status: Status = "optimal" if proven else "feasible"
    ended = SolverResult(none if best is None else status, usd_per_hour)
    return result_of(problem, keep, bound, ended, best, state)


def nothing_to_gain(bound: Bound, incumbent: Incumbent | None) -> bool:
    """Whether no plan costs less than the one at hand."""
    return incumbent is not None and incumbent.usd_per_hour * (1 - EQUAL_COST) <= bound.usd_per_hour


def result_of(
    problem: Problem, keep: Flags, bound: Bound, result: SolverResult, incumbent: Incumbent | None, state: SearchState
) -> SearchResult:
    """What a solver's last word, with all that was proven before it, says about the problem."""
    status = result.status if incumbent is None or result.status == "optimal" else "feasible"
    known = np.inf if incumbent is None else incumbent.usd_per_hour
    if bound.usd_per_hour > known * (1 + CONTRADICTION):
        raise SolverFailure(f"a plan costs {known:.6f} USD/h, and no plan costs less than {bound.usd_per_hour:.6f}")
    # what the solver proved leaves out candidates that are in no plan as cheap as the cutoff or the known one
    lower = min(max(min(result.bound, state.cutoff_usd_per_hour), bound.usd_per_hour), known)
    possible = keep & can_beat(problem, bound, incumbent, state)
    with_candidate = np.where(possible, bound.with_candidate_usd_per_hour, np.inf)
    return SearchResult(status, Bound(lower, with_candidate), incumbent)

"""The search for the cheapest plan: relaxation, incumbent, elimination, final solve; each step a proof."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from optimizer.base.arrays import Flags, Ints
from optimizer.program.formulation.model import build_program, hourly_cost, model_proto
from optimizer.program.large.decomposition import better, joined, separable_parts
from optimizer.program.large.search import search_large
from optimizer.program.problem.instance_contents import affordable
from optimizer.program.problem.problem import Problem, Sorted, compacted
from optimizer.program.problem.quantities import stands_in_force
from optimizer.program.problem.traits import GROUPS, candidate_traits, offer_traits
from optimizer.program.proof.dominance import undominated
from optimizer.program.proof.relaxation import Bound, bound_from, no_bound, read_multipliers
from optimizer.program.proof.state import SearchResult, SearchState
from optimizer.program.proof.steps import can_beat, final_solve, result_of, solve_on, within_gap
from optimizer.program.solver import Clock, SolverResult, solve_linear

INCUMBENT_COLUMNS = 24
INCUMBENT_NODES = 5
"""Size of the first, restricted solve: only its incumbent is used, so these steer speed and never the result."""

MANY_STREAMS = 3_000
"""Flows of undominated candidates beyond which the bound by patterns is sharper and sooner than the relaxation's."""

MANY_STREAMS_WITH_STARTS = 1_000
"""The same where starts are paid for, which the small search's relaxation leaves out."""

SEPARATED_STREAMS = 1_000
"""Flows of undominated candidates beyond which workloads that share nothing are searched one by one."""


def search(problem: Problem, state: SearchState, eliminate: bool = True) -> SearchResult:
    """The cheapest plan for a sorted problem.

    Args:
        problem: In canonical order.
        state: Written as the search goes.
        eliminate: Whether to remove candidates by proof before the final solve; the optimum is the same.
    """
    if not eliminate:
        return final_solve(problem, np.ones(len(problem.candidates), dtype=np.bool_), no_bound(problem), None, state)
    with state.phase("dominance"):
        keep = undominated(problem)
        state.eliminated["dominance"] = int((~keep).sum())
    streams = keep[problem.streams.server].sum()
    if streams > SEPARATED_STREAMS and len(parts := separable_parts(problem, keep)) > 1:
        return _search_parts(problem, parts, state)
    if problem.limits.survive:
        # the bound by patterns knows of no loss
        return _search_small(problem, keep, state)
    if streams > (MANY_STREAMS_WITH_STARTS if problem.traffic.start_share.any() else MANY_STREAMS):
        return search_large(problem, keep, state)
    return _search_small(problem, keep, state)


def _search_small(problem: Problem, keep: Flags, state: SearchState) -> SearchResult:
    """The relaxation's bound, a plan of the most promising candidates, then what may still beat it."""
    with state.phase("relaxation"):
        bound = _relaxation_bound(problem, keep, state)
    if bound is None:
        return final_solve(problem, keep, no_bound(problem), None, state)
    with state.phase("incumbent"):
        promising = affordable(problem, _promising(problem, keep, bound), bound.with_candidate_usd_per_hour)
        everything = not (keep & ~promising).any()
        nodes = state.node_limit if everything else INCUMBENT_NODES
        result, incumbent = solve_on(problem, promising, state, nodes)
    remaining = keep & can_beat(problem, bound, incumbent, state)
    state.eliminated["reduced_cost"] = int((keep & ~remaining).sum())
    if everything or (result.status in ("optimal", "infeasible") and not (remaining & ~promising).any()):
        return result_of(problem, keep, bound, result, incumbent, state)
    if within_gap(bound, incumbent, state):
        # what the solver proved holds for the promising candidates alone
        return result_of(problem, keep, bound, SolverResult("feasible", bound.usd_per_hour), incumbent, state)
    return final_solve(problem, keep, bound, incumbent, state)


def _search_parts(problem: Problem, parts: Sequence[Sorted], state: SearchState) -> SearchResult:
    """The same for each part alone in an equal share of the time left, then again for those that ran out of theirs."""
    results = [_search_part(part, state, len(parts) - number) for number, part in enumerate(parts)]
    limited, again = state.clock.left_s() is not None, replace(state, eliminated={}, columns_solved=0)
    unfinished = [number for number, result in enumerate(results) if limited and not _ended(result, state)]
    for left, number in zip(range(len(unfinished), 0, -1), unfinished, strict=True):
        if not state.clock.expired:
            results[number] = better(results[number], _search_part(parts[number], again, left))
    return joined(problem, parts, results)


def _search_part(part: Sorted, state: SearchState, waiting: int) -> SearchResult:
    """The same for one part while `waiting` parts want the time that is left."""
    left_s = state.clock.left_s()
    clock = Clock(None if left_s is None else left_s / waiting)
    inner = replace(state, clock=clock, cutoff_usd_per_hour=np.inf, eliminated={}, columns_solved=0)
    result = search(part.problem, inner)
    for argument, count in inner.eliminated.items():
        state.eliminated[argument] = state.eliminated.get(argument, 0) + count
    state.columns_solved += inner.columns_solved
    return result


def _ended(result: SearchResult, state: SearchState) -> bool:
    """Whether nothing more is wanted of a search, or no more time would change it."""
    return result.status in ("optimal", "infeasible") or within_gap(result.bound, result.incumbent, state)


def _relaxation_bound(problem: Problem, keep: Flags, state: SearchState) -> Bound | None:
    """Bounds on every plan, and on every plan with a given candidate, infinite for candidates already removed."""
    part = compacted(problem, keep)
    program = build_program(part.problem, relaxed=True)
    result = solve_linear(model_proto(program, hourly_cost(program)), state.clock)
    if result.status != "optimal" or not len(result.duals):
        return None
    bound = bound_from(part.problem, read_multipliers(program, result.duals))
    return bound.for_whole(part.candidates, len(problem.candidates))


def _promising(problem: Problem, keep: Flags, bound: Bound) -> Flags:
    """The candidates with the lowest bounds: overall, and for each group that some family wants variety in."""
    candidates = problem.candidates
    order = np.argsort(np.where(keep, bound.with_candidate_usd_per_hour, np.inf), kind="stable")
    chosen = stands_in_force(problem)
    chosen[order[:INCUMBENT_COLUMNS]] = True
    elastic = ~problem.offers.always_paid[candidates.offer]
    wanted: list[Ints] = [np.where(serves, elastic, -1) for serves in candidates.rate_per_s.T > 0]
    looked_at = (*offer_traits(problem.limits), *candidate_traits(problem.limits))
    wanted += [GROUPS[trait](problem) for trait in looked_at if trait in GROUPS]
    for group in wanted:
        first = np.unique(group[order], return_index=True)[1]
        chosen[order[first]] = True
    return chosen & keep

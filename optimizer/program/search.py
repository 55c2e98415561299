"""The search for the cheapest machines: relaxation, incumbent, elimination, final solve; each step a proof."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from optimizer.base.arrays import Flags, Ints
from optimizer.program.formulation.model import build_program, hourly_cost, model_proto
from optimizer.program.large.decomposition import better, joined, separable_parts
from optimizer.program.large.search import search_large
from optimizer.program.problem.problem import Problem, Sorted, compacted
from optimizer.program.problem.quantities import stands_in_force
from optimizer.program.problem.traits import GROUPS, candidate_traits, offer_traits
from optimizer.program.proof.dominance import undominated
from optimizer.program.proof.relaxation import Bound, bound_from, read_multipliers
from optimizer.program.proof.state import Found, Ledger
from optimizer.program.proof.steps import can_beat, close_enough, final_solve, result_of, solve_on
from optimizer.program.solver import Clock, solve_linear

INCUMBENT_COLUMNS = 24
INCUMBENT_NODES = 5
"""Size of the first, restricted solve: only its incumbent is used, so these steer speed and never the result."""

MANY_STREAMS = 3_000
"""Flows of undominated candidates beyond which the bound by patterns is sharper and sooner than the relaxation's."""

MANY_STREAMS_WITH_STARTS = 1_000
"""The same where starts are paid for, which the small search's relaxation leaves out."""

SEPARATED_STREAMS = 1_000
"""Flows of undominated candidates beyond which workloads that share nothing are searched one by one."""


def search(problem: Problem, ledger: Ledger, eliminate: bool = True) -> Found:
    """The cheapest machines for a sorted problem.

    Args:
        problem: In canonical order.
        ledger: Written as the search goes.
        eliminate: Whether to remove candidates by proof before the final solve; the optimum is the same.
    """
    if not eliminate:
        return final_solve(problem, np.ones(len(problem.candidates), dtype=np.bool_), None, None, ledger)
    with ledger.phase("dominance"):
        keep = undominated(problem)
        ledger.eliminated["dominance"] = int((~keep).sum())
    streams = keep[problem.streams.server].sum()
    if streams > SEPARATED_STREAMS and len(parts := separable_parts(problem, keep)) > 1:
        return _search_parts(problem, parts, ledger)
    if streams > (MANY_STREAMS_WITH_STARTS if problem.traffic.start_share.any() else MANY_STREAMS):
        return search_large(problem, keep, ledger)
    with ledger.phase("relaxation"):
        bound = _relaxation_bound(problem, keep, ledger)
    if bound is None:
        return final_solve(problem, keep, None, None, ledger)
    with ledger.phase("incumbent"):
        promising = _promising(problem, keep, bound)
        everything = not (keep & ~promising).any()
        nodes = ledger.node_limit if everything else INCUMBENT_NODES
        answer, incumbent = solve_on(problem, promising, ledger, nodes)
    remaining = keep & can_beat(problem, bound, incumbent, ledger)
    ledger.eliminated["reduced_cost"] = int((keep & ~remaining).sum())
    if everything or (answer.status in ("optimal", "infeasible") and not (remaining & ~promising).any()):
        return result_of(problem, keep, bound, answer, incumbent, ledger)
    if close_enough(bound, incumbent, ledger):
        # what the solver proved holds for the promising candidates alone
        ended = replace(answer, status="feasible", bound=bound.usd_per_hour)
        return result_of(problem, keep, bound, ended, incumbent, ledger)
    return final_solve(problem, keep, bound, incumbent, ledger)


def _search_parts(problem: Problem, parts: Sequence[Sorted], ledger: Ledger) -> Found:
    """The same for each part alone in an equal share of the time left, then again for those that ran out of theirs."""
    founds = [_search_part(part, ledger, len(parts) - number) for number, part in enumerate(parts)]
    limited, again = ledger.clock.left_s() is not None, replace(ledger, eliminated={}, columns_solved=0)
    behind = [number for number, found in enumerate(founds) if limited and not _ended(found, ledger)]
    for left, number in zip(range(len(behind), 0, -1), behind, strict=True):
        if not ledger.clock.expired:
            founds[number] = better(founds[number], _search_part(parts[number], again, left))
    return joined(problem, parts, founds)


def _search_part(part: Sorted, ledger: Ledger, waiting: int) -> Found:
    """The same for one part while `waiting` parts want the time that is left."""
    left_s = ledger.clock.left_s()
    clock = Clock(None if left_s is None else left_s / waiting)
    inner = replace(ledger, clock=clock, ceiling_usd_per_hour=np.inf, eliminated={}, columns_solved=0)
    found = search(part.problem, inner)
    for argument, count in inner.eliminated.items():
        ledger.eliminated[argument] = ledger.eliminated.get(argument, 0) + count
    ledger.columns_solved += inner.columns_solved
    return found


def _ended(found: Found, ledger: Ledger) -> bool:
    """Whether nothing more is wanted of a search, or no more time would change it."""
    bound = Bound(found.bound_usd_per_hour, found.with_candidate_usd_per_hour)
    return found.status in ("optimal", "infeasible") or close_enough(bound, found.machines, ledger)


def _relaxation_bound(problem: Problem, keep: Flags, ledger: Ledger) -> Bound | None:
    """Bounds on every plan, and on every plan with a given candidate, infinite for candidates already removed."""
    part = compacted(problem, keep)
    program = build_program(part.problem, relaxed=True)
    answer = solve_linear(model_proto(program, hourly_cost(program)), ledger.clock)
    if answer.status != "optimal" or not len(answer.duals):
        return None
    bound = bound_from(part.problem, read_multipliers(program, answer.duals))
    each = np.full(len(problem.candidates), np.inf)
    each[part.candidates] = bound.with_candidate_usd_per_hour
    return Bound(bound.usd_per_hour, each)


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

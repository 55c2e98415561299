"""The search for the cheapest plan: relaxation, incumbent, elimination, final solve; each step a proof."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from optimizer.base.arrays import Flags
from optimizer.base.clock import Clock
from optimizer.base.units import HOURS_PER_MONTH
from optimizer.program.formulation.model import build_program, hourly_cost, model_proto
from optimizer.program.large.decomposition import better, joined, separable_parts
from optimizer.program.large.patterns import pattern_bound
from optimizer.program.large_search import search_large
from optimizer.program.problem.instance_contents import places_instances
from optimizer.program.problem.problem import Problem, Sorted, compacted
from optimizer.program.problem.quantities import label_numbers, serves_all
from optimizer.program.proof.cheapest_rates import bound_at_cheapest_rates, bound_at_prices
from optimizer.program.proof.dominance import undominated
from optimizer.program.proof.first_plan import first_plan, is_far_off, plan_at_places
from optimizer.program.proof.fullest_instance import divides_fullest, search_by_fullest
from optimizer.program.proof.fullest_place import divides_fullest_place, is_wide_open, search_by_fullest_place
from optimizer.program.proof.instances_of_places import known_of_instances
from optimizer.program.proof.relaxation import Bound, bound_from, no_bound, prices_of, read_multipliers
from optimizer.program.proof.sifting import sifted_bound
from optimizer.program.proof.state import NOTHING_KNOWN, Incumbent, Known, SearchResult, SearchState
from optimizer.program.proof.steps import (
    can_beat,
    cheaper,
    final_solve,
    nothing_to_gain,
    ready_for_final,
    result_of,
    ruled_out,
    within_gap,
)
from optimizer.program.solver import SolverResult, Status, solve_linear

GRACE_S, GRACE_WORK = 0.5, 5_000
"""Seconds, or simplex iterations where those are limited, for the relaxation where none are left; most take a tenth."""

SIFTED_STREAMS = 300
"""Flows beyond which the relaxation is solved for few candidates first; the bound is the same within its tolerance."""

MANY_STREAMS = 3_000
"""Flows of undominated candidates beyond which the bound by patterns is sharper and sooner than the relaxation's."""

MANY_STREAMS_WITH_STARTS = 150
"""The same where starts are paid for, which the small search's relaxation leaves out."""

MOST_RELAXED_STREAMS = 20_000
"""Flows up to which a relaxation is solved only to leave out what is too dear, or when no time is left; beyond it
takes seconds."""

MOST_STREAMS_OF_WEEK = 300_000
"""Flows of a week beyond which to write its relaxation down takes longer than what it tells is worth: a bound of its
hours with nothing joining them is known by then."""

LEAST_CHEAPER = 1e-6
"""Share by which a plan of a further part has to cost less, well above a solver's tolerance."""

SEPARATED_STREAMS = 1_000
"""Flows of undominated candidates beyond which workloads that share nothing are searched one by one."""


def search(problem: Problem, state: SearchState, eliminate: bool = True, known: Known = NOTHING_KNOWN) -> SearchResult:
    """The cheapest plan for a sorted problem.

    Args:
        problem: In canonical order.
        state: Written as the search goes.
        eliminate: Whether to remove candidates by proof before the final solve; the optimum is the same.
        known: To begin with.
    """
    if not eliminate:
        return final_solve(problem, np.ones(len(problem.candidates), dtype=np.bool_), no_bound(problem), None, state)
    with state.phase("dominance"):
        keep = undominated(problem)
        state.eliminated["dominance"] = int((~keep).sum())
    streams = keep[problem.streams.server].sum()
    if len(each := one_configuration_each(problem, keep)) > 1:
        return _search_in_turn(problem, each, state, known)
    if problem.ceiling.in_force or problem.tolls_usd_per_hour.size:
        # a ceiling adds up over the fleet, and the bound by patterns knows neither of it nor of tolls by period
        return _search_small(problem, keep, state, known)
    if streams > SEPARATED_STREAMS and len(parts := separable_parts(problem, keep)) > 1:
        found = _search_parts(problem, parts, state)
        return replace(found, bound=known.raises(found.bound), incumbent=cheaper(known.plan, found.incumbent))
    if problem.limits.survive or places_instances(problem):
        # the bound by patterns knows of no loss
        return _search_small(problem, keep, state, known)
    if streams > (MANY_STREAMS_WITH_STARTS if problem.traffic.start_share.any() else MANY_STREAMS):
        return _search_by_sharper_bound(problem, keep, state, known)
    return _search_small(problem, keep, state, known)


def _search_by_sharper_bound(problem: Problem, keep: Flags, state: SearchState, known: Known) -> SearchResult:
    """The search of a large problem from what patterns say, or from the relaxation where that says more.

    Patterns know that instances are whole, the relaxation knows every limit. Where shares of providers or the power of
    all machines bind, the latter is sharper and points to what keeps the limits.
    """
    if problem.traffic.periods > 1 or keep[problem.streams.server].sum() > MOST_RELAXED_STREAMS:
        return search_large(problem, keep, state, search, known)
    with state.phase("relaxation"):
        relaxed = relaxation_bound(problem, keep, state)
        part = compacted(problem, keep)
        patterns = pattern_bound(part.problem, state.clock).bound.for_whole(part.candidates, len(problem.candidates))
    if relaxed is None or relaxed.usd_per_hour > patterns.usd_per_hour:
        return _search_from(problem, keep, relaxed and relaxed.raised_to(patterns), known, state)
    told = Known(max(known.usd_per_hour, relaxed.usd_per_hour), known.plan)
    return search_large(problem, keep, state, search, told)


def _search_small(problem: Problem, keep: Flags, state: SearchState, known: Known) -> SearchResult:
    """The search from the relaxation's bound."""
    with state.phase("relaxation"):
        relaxed = relaxation_bound(problem, keep, state)
    return _search_from(problem, keep, relaxed, known, state)


def _search_from(
    problem: Problem, keep: Flags, relaxed: Bound | None, known: Known, state: SearchState
) -> SearchResult:
    """From a bound, None where a relaxation has no solution: a plan of few candidates, then what may still beat it."""
    bound = known.raises(relaxed or no_bound(problem))
    state.best_and_bound(known.plan, bound.usd_per_hour)
    if relaxed is not None and len(parts := _one_place_each(problem, keep & can_beat(problem, bound, None, state))) > 1:
        return _search_each(problem, parts, state, known)
    if divides_fullest(problem):
        return search_by_fullest(problem, keep, bound, known.plan, state)
    # under a ceiling most programs have no plan at all, which a first one would not show
    if relaxed is None or problem.ceiling.in_force or ready_for_final(problem, keep, bound, state):
        return final_solve(problem, keep, bound, known.plan, state)
    with state.phase("incumbent"):
        promising, result, incumbent = first_plan(problem, keep, bound, known.plan, state)
        everything = not (keep & ~promising).any()
        divides = divides_fullest_place(problem, keep)
        off = is_far_off(problem, bound, incumbent, state) or (divides and is_wide_open(bound, incumbent))
        if nearer := off and not everything:
            bound, incumbent = _nearer(problem, keep, promising, bound, incumbent, state)
    state.best_and_bound(incumbent, bound.usd_per_hour)
    if nearer and nothing_to_gain(bound, incumbent):
        return result_of(problem, keep, bound, SolverResult("optimal", bound.usd_per_hour), incumbent, state)
    remaining = keep & can_beat(problem, bound, incumbent, state)
    state.eliminated["reduced_cost"] = int((keep & ~remaining).sum())
    if everything or (result.status in ("optimal", "infeasible") and not (remaining & ~promising).any()):
        return result_of(problem, keep, bound, result, incumbent, state)
    if within_gap(bound, incumbent, state):
        # what the solver proved holds for the promising candidates alone
        return result_of(problem, keep, bound, SolverResult("feasible", bound.usd_per_hour), incumbent, state)
    if divides and is_wide_open(bound, incumbent):
        return search_by_fullest_place(problem, keep, bound, incumbent, state, relaxation_bound)
    return final_solve(problem, keep, bound, incumbent, state)


def _nearer(
    problem: Problem, keep: Flags, promising: Flags, bound: Bound, known: Incumbent | None, state: SearchState
) -> tuple[Bound, Incumbent | None]:
    """A sharper bound and a cheaper plan, where losses are survived and a first plan is far off its bound."""
    bound, plan = known_of_instances(problem, keep, bound, known, state, search)
    if not is_far_off(problem, bound, plan, state):
        return bound, plan
    return bound, plan_at_places(problem, keep, promising, bound, plan, state)


def _one_place_each(problem: Problem, keep: Flags) -> list[Flags]:
    """Parts (C,) of the candidates such that each plan lies in one of them, where few places allow that and it pays.

    A plan of two places is in one region of a provider, one of three at one provider. Hosted APIs may be anywhere.
    Without a week or losses to survive the program of all is solved as soon.
    """
    most, offers = problem.ceiling.places, problem.offers
    if most is None or most > 3 or len(problem.apis) or not _hard(problem):
        return []
    place = label_numbers(offers.provider if most == 3 else offers.region)[problem.candidates.offer]
    return [keep & (place == each) for each in np.unique(place[keep]).tolist()]


def _hard(problem: Problem) -> bool:
    """Whether the program of all takes longer than those of parts."""
    return problem.traffic.periods > 1 or bool(problem.limits.survive) or places_instances(problem)


def one_configuration_each(problem: Problem, keep: Flags) -> list[Flags]:
    """The same for one workload that a single configuration serves: each plan runs one of them alone.

    Without a week or losses to survive, again, the program of all is solved as soon. Changes are counted against what
    is in force, which stands in every part, so there are none then.
    """
    label = label_numbers(problem.candidates.configuration)
    alone = problem.limits.max_distinct_configurations == 1 == len(set(problem.traffic.workload))
    if not alone or not _hard(problem) or problem.candidates.replicas_in_force.any():
        return []
    return [keep & (label == each) for each in np.unique(label[keep]).tolist()]


def _search_in_turn(problem: Problem, parts: Sequence[Flags], state: SearchState, known: Known) -> SearchResult:
    """The cheapest plan of all parts, each searched as a problem of its own, the one of lowest bound first."""
    compact = [compacted(problem, part) for part in parts]
    lower = [_least_usd_per_hour(part.problem) for part in compact]
    best, results = known.plan, list[SearchResult]()
    for number in np.argsort(lower, kind="stable").tolist():
        part, most = compact[number], state.cutoff_usd_per_hour if best is None else best.usd_per_hour
        inner = replace(state, progress=None, cutoff_usd_per_hour=min(most, state.cutoff_usd_per_hour), eliminated={})
        if ruled_out(part.problem, lower[number], inner):
            result = SearchResult("infeasible", Bound(lower[number], np.full(len(part.candidates), np.inf)), None)
        else:
            result = search(part.problem, inner, known=Known(known.usd_per_hour))
        whole = None if result.incumbent is None else result.incumbent.for_whole(part, problem)
        results.append(replace(result, bound=result.bound.for_whole(part.candidates, len(parts[0])), incumbent=whole))
        best = cheaper(best, whole)
    return _of_all_parts(results, best)


def _least_usd_per_hour(problem: Problem) -> float:
    """What no plan undercuts, as far as cheapest rates tell; infinite where a class is served by nothing."""
    return bound_at_cheapest_rates(problem).usd_per_hour if serves_all(problem) else np.inf


def _search_each(problem: Problem, parts: Sequence[Flags], state: SearchState, known: Known) -> SearchResult:
    """The cheapest plan of all parts; after the first plan of any only for cheaper ones, of equals the first stands."""
    best, results = known.plan, []
    for part in parts:
        most, asked = state.cutoff_usd_per_hour, problem
        if best is not None:
            most = min(most, best.usd_per_hour * (1 - LEAST_CHEAPER))
            asked = replace(problem, limits=replace(problem.limits, max_monthly_usd=most * HOURS_PER_MONTH))
        inner = replace(state, progress=None, cutoff_usd_per_hour=most)
        results.append(_search_small(asked, part, inner, Known(known.usd_per_hour)))
        best = cheaper(best, results[-1].incumbent)
    return _of_all_parts(results, best)


def _of_all_parts(results: Sequence[SearchResult], best: Incumbent | None) -> SearchResult:
    """What searches of parts say together, in one of which each plan lies."""
    lower = min(result.bound.usd_per_hour for result in results)
    with_candidate = np.min([result.bound.with_candidate_usd_per_hour for result in results], axis=0)
    proven = all(result.status in ("optimal", "infeasible") for result in results)
    none: Status = "infeasible" if proven else "unproven"
    status: Status = "optimal" if proven else "feasible"
    return SearchResult(none if best is None else status, Bound(lower, with_candidate), best)


def _search_parts(problem: Problem, parts: Sequence[Sorted], state: SearchState) -> SearchResult:
    """The same for each part alone in an equal share of what is left, then again for those that ran out of theirs."""
    results, unfinished = [], []
    for number, part in enumerate(parts):
        clock = state.clock.share(1 / (len(parts) - number))
        results.append(_search_part(part, state, clock))
        if clock.expired and not _ended(results[number], state):
            unfinished.append(number)
    again = replace(state, eliminated={}, columns_solved=0)
    for waiting, number in zip(range(len(unfinished), 0, -1), unfinished, strict=True):
        if not state.clock.expired:
            further = _search_part(parts[number], again, state.clock.share(1 / waiting))
            results[number] = better(results[number], further)
    return joined(problem, parts, results)


def _search_part(part: Sorted, state: SearchState, clock: Clock) -> SearchResult:
    """The same for one part on a clock of its own."""
    inner = replace(state, clock=clock, progress=None, cutoff_usd_per_hour=np.inf, eliminated={}, columns_solved=0)
    result = search(part.problem, inner)
    for argument, count in inner.eliminated.items():
        state.eliminated[argument] = state.eliminated.get(argument, 0) + count
    state.columns_solved += inner.columns_solved
    return result


def _ended(result: SearchResult, state: SearchState) -> bool:
    """Whether nothing more is wanted of a search, or no more time would change it."""
    return result.status in ("optimal", "infeasible") or within_gap(result.bound, result.incumbent, state)


def affordable_candidates(problem: Problem, state: SearchState) -> Flags:
    """(C,) candidates that a plan within the state's cutoff may use, as far as a bound that is soon found tells."""
    keep = np.ones(len(problem.candidates), dtype=np.bool_)
    if len(problem.streams) > MANY_STREAMS:
        # of the whole problem and with no loss in mind, but of offers, not of candidates: ever so many are no trouble
        keep = can_beat(problem, pattern_bound(problem, state.clock).bound, None, state)
    if keep[problem.streams.server].sum() <= MOST_RELAXED_STREAMS:
        bound = relaxation_bound(problem, keep, state)
        keep &= can_beat(problem, bound or no_bound(problem), None, state)
    return keep


def not_too_dear(problem: Problem, state: SearchState) -> Flags:
    """(C,) candidates that a plan within the state's cutoff may use, as far as prices of demand tell.

    They are those of a relaxation of what is not replaced. Where little is replaced, as under limits on variety, that
    leaves few of many candidates to be looked at.
    """
    every = np.ones(len(problem.candidates), dtype=np.bool_)
    part = compacted(problem, undominated(problem)).problem
    if len(part.streams) > MOST_RELAXED_STREAMS or state.clock.expired:
        return every
    program = build_program(part, relaxed=True)
    result = solve_linear(model_proto(program, hourly_cost(program)), state.clock)
    if result.status != "optimal" or not len(result.duals):
        return every
    price = prices_of(program.families, result.duals)["demand"][: len(part.demands)]
    return can_beat(problem, bound_at_prices(problem, price), None, state)


def relaxation_bound(problem: Problem, keep: Flags, state: SearchState) -> Bound | None:
    """Bounds on every plan, and on every plan with a given candidate, infinite for candidates already removed.

    Where the clock has run out before anything was solved a moment is spent all the same, if that is enough: a plan
    without any bound says nothing of how much a better one may save. Where nothing is solved each request is priced at
    its cheapest rate. None where the relaxation has no solution.
    """
    part = compacted(problem, keep)
    clock = state.clock
    if clock.expired:
        clock = Clock(work_limit=GRACE_WORK) if clock.reached == "work limit" else Clock(GRACE_S)
    most = MOST_STREAMS_OF_WEEK if problem.traffic.periods > 1 else np.inf
    if len(part.problem.streams) <= (MOST_RELAXED_STREAMS if state.clock.expired else most):
        bound, solved = _solved_relaxation(part.problem, clock)
        if solved:
            return None if bound is None else bound.for_whole(part.candidates, len(problem.candidates))
    return bound_at_cheapest_rates(part.problem).for_whole(part.candidates, len(problem.candidates))


def _solved_relaxation(problem: Problem, clock: Clock) -> tuple[Bound | None, bool]:
    """The relaxation's bound, None where it has no solution; and whether it was solved."""
    if len(problem.streams) > SIFTED_STREAMS and (found := sifted_bound(problem, clock)) is not None:
        return found, True
    if clock.expired:
        return None, False
    program = build_program(problem, relaxed=True)
    result = solve_linear(model_proto(program, hourly_cost(program)), clock)
    if result.status != "optimal" or not len(result.duals):
        return None, result.status == "infeasible"
    return bound_from(problem, read_multipliers(program, result.duals)), True

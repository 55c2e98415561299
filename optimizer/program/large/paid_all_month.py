"""A week with machines that are paid all month: each number of them makes a week in which they cost next to nothing.

Take a plan that pays for x instances of the offers that are paid all month. It is a plan of the week in which so many
of each can be had by the hour, for a small share e of their price: what runs, and every limit on it, stays. There it
pays no more than e of the price of x for them, of which it pays all in the first. So a plan with x costs at least 1 - e
of their price and what that week costs at least, of which levels tell (see `levels`, `level_prices`); and one that
costs no more than a known plan has only so many x to choose from, of those offers alone that are in such a plan. The
other way round a plan of that week is one of the week, if each instance paid all month holds one configuration
throughout. (Were e nothing, prices of demand per dollar would have no bound.)

Most numbers need no look: at the prices of demand that the week without any such machine leads to, one is worth no more
than what it holds in all periods together, so x of each cost at least that week's bound and x times the difference.
"""

from collections.abc import Callable
from dataclasses import replace
from heapq import heapify, heappop, heappush
from typing import Final

import numpy as np

from optimizer.base.arrays import Floats, Ints
from optimizer.base.units import HOURS_PER_MONTH
from optimizer.program.large.counts import bound_by_counts
from optimizer.program.large.joined_periods import (
    between_hours_usd_per_hour,
    changes_what_is_held,
    counts_what_idles,
)
from optimizer.program.large.knapsack import units_of, worth_of_one
from optimizer.program.large.level_prices import bound_with_starts, follows_itself
from optimizer.program.large.levels import Levels, has_levels
from optimizer.program.large.patterns import PatternBound, pattern_bound
from optimizer.program.large.restriction import WEEK_COLUMNS, part_of, promising_part, with_one_group
from optimizer.program.large.rises import with_rises
from optimizer.program.large.schedule import scheduled
from optimizer.program.large.unlinked import kinds_of_periods, unlinked
from optimizer.program.problem.instance_contents import places_instances
from optimizer.program.problem.problem import Problem, Sorted, compacted
from optimizer.program.proof.dominance import undominated
from optimizer.program.proof.state import Incumbent, Known, SearchResult, SearchState
from optimizer.program.proof.steps import can_beat, cheaper

MOST_COUNTS, MOST_LISTED = 60, 5_000
"""Numbers of machines that are looked at, which takes some tenths of a second each, and that are listed for that."""

SHARE_OF_BOXES: Final = 0.4
"""Of what is left on the clock, for boxes of numbers where these are more."""

BY_HOURS: Final = 1e-4
"""Share e of the price that is paid by the hour."""


def told_by_counts(
    week: Problem, kind: Ints, known: Known, state: SearchState, search: Callable[..., SearchResult]
) -> Known:
    """What is known of a week once every number of machines paid all month has been looked at, if these are few.

    Args:
        week: Whose periods follow one another.
        kind: (T,) the level of each of its periods.
        known: Of the week.
        state: Whose cutoff, or the known plan, says what a plan may cost.
        search: Solves one level.
    """
    most = min(state.cutoff_usd_per_hour, np.inf if known.plan is None else known.plan.usd_per_hour)
    if not (np.isfinite(most) and follows_itself(week) and has_levels(_by_the_hour(week, np.zeros(len(week.offers))))):
        return known
    at_all = pattern_bound(week, state.clock).bound
    may_pay = can_beat(week, at_all, None, replace(state, cutoff_usd_per_hour=most))
    part = compacted(week, may_pay)
    if not _serves_all(part.problem):
        return known
    counts = _counts(part.problem, most)
    at_least = np.zeros(0) if counts is None else _least_usd_per_hour(part.problem, counts, state)
    if counts is None or (at_least <= most).sum() > MOST_COUNTS:
        return _told_by_boxes(part, week, kind, known, replace(state, cutoff_usd_per_hour=most), search)
    listed = np.flatnonzero(at_least <= most)
    numbers = [(max(float(at_least[place]), at_all.usd_per_hour), place, False) for place in listed.tolist()]
    found = _told_by_each(part, week, kind, counts, numbers, known, replace(state, cutoff_usd_per_hour=most), search)
    return replace(found, usd_per_hour=max(found.usd_per_hour, at_all.usd_per_hour))


def _told_by_each(
    part: Sorted,
    week: Problem,
    kind: Ints,
    counts: Ints,
    numbers: list[tuple[float, int, bool]],
    known: Known,
    state: SearchState,
    search: Callable[..., SearchResult],
) -> Known:
    """The same from each of some (N, O) numbers, as far as there is time; all others cost more than the cutoff.

    The number of lowest bound is looked at next: first by patterns, then to the end. One that is not reached counts for
    what is known of it.

    Args:
        part: What may be in a plan that costs no more than the state's cutoff.
        week: Of which it is a part.
        kind: (T,) the level of each period.
        counts: (N, O) the numbers.
        numbers: For each that may be in such a plan what it costs at least, where it stands, and that no pattern has
            been looked at.
        known: Of the week.
        state: Of the search.
        search: Solves one level.
    """
    heapify(numbers)
    plan, most, least = known.plan, state.cutoff_usd_per_hour, state.cutoff_usd_per_hour
    while numbers and numbers[0][0] <= most and not state.clock.expired:
        at_least, place, looked_at = heappop(numbers)
        if not looked_at:
            heappush(numbers, (max(at_least, _by_patterns(part.problem, counts[place], state)), place, True))
            continue
        lower, found = _with(part.problem, kind, counts[place], replace(state, cutoff_usd_per_hour=most), search)
        if found is not None and found.usd_per_hour < most:
            plan, most = cheaper(plan, found.for_whole(part, week)), found.usd_per_hour
        least = min(least, max(lower, at_least))
    return Known(max(known.usd_per_hour, min([least, most, *(at_least for at_least, *_ in numbers)])), plan)


def _told_by_boxes(
    part: Sorted, week: Problem, kind: Ints, known: Known, state: SearchState, search: Callable[..., SearchResult]
) -> Known:
    """The same where there are too many numbers to look at each: a bound of all, and a plan of what it points to.

    Args:
        part: What may be in a plan that costs no more than the state's cutoff.
        week: Of which it is a part.
        kind: (T,) the level of each period.
        known: Of the week.
        state: Of the search.
        search: Solves one level.
    """
    inner = part.problem
    told = bound_by_counts(unlinked(inner, kind), state.cutoff_usd_per_hour, state.clock.share(SHARE_OF_BOXES))
    there = ~inner.offers.always_paid | (told.counts > 0)
    chosen = part_of(part, there[inner.candidates.offer])
    found = pattern_bound(chosen.problem, state.clock)
    count = told.counts[np.searchsorted(part.offers, chosen.offers)].astype(np.float64)
    plan = plan_of_levels(chosen, replace(found, counts=count), kind, week, state, search)
    usd_per_hour = max(known.usd_per_hour, min(told.usd_per_hour, state.cutoff_usd_per_hour))
    return Known(usd_per_hour, cheaper(plan, known.plan))


def _counts(problem: Problem, most_usd_per_hour: float) -> Ints | None:
    """(N, O) every number of instances paid all month that costs no more than a plan may; None where they are many."""
    offers, one = problem.offers, np.eye(len(problem.offers), dtype=np.int64)
    found: list[Ints] = [np.zeros(len(offers), dtype=np.int64)]
    for offer in np.flatnonzero(offers.always_paid).tolist():
        for fewer in found.copy():
            more = fewer + one[offer]
            while len(found) <= MOST_LISTED and more[offer] <= offers.available[offer]:
                if more @ offers.price_usd_per_hour > most_usd_per_hour:
                    break
                found.append(more)
                more = more + one[offer]
    return np.array(found) if len(found) <= MOST_LISTED else None


def _least_usd_per_hour(week: Problem, counts: Ints, state: SearchState) -> Floats:
    """(N,) USD/h that no plan with so many (N, O) machines paid all month undercuts, as far as one look tells."""
    none = _by_the_hour(week, np.zeros(len(week.offers)))
    part = compacted(none, undominated(none) & ~week.offers.always_paid[none.candidates.offer])
    if not _serves_all(part.problem):
        return np.zeros(len(counts))
    found = pattern_bound(part.problem, state.clock)
    held = worth_of_one(units_of(week), found.worth).sum(axis=0)
    beyond = np.where(week.offers.always_paid, week.offers.price_usd_per_hour - held, 0.0)
    return np.asarray(found.bound.usd_per_hour + counts @ beyond)


def _with(
    week: Problem, kind: Ints, count: Ints, state: SearchState, search: Callable[..., SearchResult]
) -> tuple[float, Incumbent | None]:
    """USD/h that no plan with so many machines paid all month undercuts, and a plan with no more of them."""
    paid, free, part = _paying_for(week, count)
    if not _serves_all(part.problem):
        return np.inf, None
    least = state.cutoff_usd_per_hour - paid
    own = replace(state, progress=None, eliminated={}, cutoff_usd_per_hour=np.inf)
    levels = Levels(unlinked(part.problem, kinds_of_periods(part.problem)))
    if not levels.solve(own, search):
        return np.inf, None
    lower = with_rises(part.problem, levels.lower[kind], state.clock)
    if lower > least:
        return paid + lower, None
    sharper = bound_with_starts(part.problem, kind, levels, replace(own, cutoff_usd_per_hour=least), search)
    plan = scheduled(part.problem, kind, levels)
    return paid + max(lower, sharper), None if plan is None else _paid_for(week, free, plan.for_whole(part, free))


def _by_patterns(week: Problem, count: Ints, state: SearchState) -> float:
    """USD/h that no plan with so many machines paid all month undercuts, by patterns; infinite where there is none."""
    paid, _, part = _paying_for(week, count)
    return paid + pattern_bound(part.problem, state.clock).bound.usd_per_hour if _serves_all(part.problem) else np.inf


def _paying_for(week: Problem, count: Ints) -> tuple[float, Problem, Sorted]:
    """What so many machines paid all month cost at least, the week in which they are had by the hour, and what may be
    in its plans."""
    free = _by_the_hour(week, count)
    there = ~week.offers.always_paid | (count > 0)
    part = compacted(free, undominated(free) & there[free.candidates.offer])
    return (1 - BY_HOURS) * float(count @ week.offers.price_usd_per_hour), free, part


def plan_of_levels(
    part: Sorted,
    found: PatternBound,
    kind: Ints,
    week: Problem,
    state: SearchState,
    search: Callable[..., SearchResult],
) -> Incumbent | None:
    """A plan of few candidates with no more machines paid all month than the bound points to, made of plans of levels.

    Args:
        part: Of a week.
        found: Its bound.
        kind: (T,) the level of each period.
        week: In the index order of which the plan is.
        state: Of the search.
        search: Solves one level.

    Returns:
        None where there is no such machine, levels do not tell of one another, or no plan is found.
    """
    count = np.rint(found.counts).astype(np.int64) * part.problem.offers.always_paid
    if not count.any() or not has_levels(_by_the_hour(part.problem, count)):
        return None
    lowest = found.bound.for_whole(part.candidates, len(week.candidates)).with_candidate_usd_per_hour
    few = promising_part(part, found, WEEK_COLUMNS)
    few = with_one_group(few, lowest[few.candidates])
    count, inner = count[np.searchsorted(part.offers, few.offers)], few.problem
    free = _by_the_hour(inner, count)
    there = ~inner.offers.always_paid | (count > 0)
    hourly = compacted(free, undominated(free) & there[free.candidates.offer])
    if not _serves_all(hourly.problem):
        return None
    levels = Levels(unlinked(hourly.problem, kind))
    levels.solve(replace(state, progress=None, eliminated={}, cutoff_usd_per_hour=np.inf), search)
    plan = scheduled(hourly.problem, kind, levels)
    paid = None if plan is None else _paid_for(inner, free, plan.for_whole(hourly, free))
    return None if paid is None else paid.for_whole(few, week)


def _serves_all(problem: Problem) -> bool:
    """Whether something serves each class."""
    served = np.asarray((problem.candidates.rate_per_s > 0).any(axis=0))
    served[problem.apis.mix] = True
    return bool((problem.traffic.mixes[served] > 0).any(axis=0).all())


def _by_the_hour(week: Problem, count: Floats | Ints) -> Problem:
    """The week in which so many (O,) of what is paid all month can be had by the hour, for next to nothing."""
    offers, billing = week.offers, week.billing
    always = offers.always_paid
    if len(billing.minimum_hours):
        billing = replace(billing, minimum_hours=np.where(always, 1, billing.minimum_hours))
    free = replace(
        offers,
        price_usd_per_hour=np.where(always, BY_HOURS, 1.0) * offers.price_usd_per_hour,
        available=np.where(always, count, offers.available),
        always_paid=np.zeros_like(always),
    )
    return replace(week, offers=free, billing=billing)


def _paid_for(week: Problem, free: Problem, plan: Incumbent) -> Incumbent | None:
    """A plan of the week from one in which machines paid all month are paid by the hour; None where it may not be."""
    always, most = week.offers.always_paid, plan.instances.max(axis=0)
    idle = (always & (plan.instances < most)).any()
    if (idle and counts_what_idles(week)) or places_instances(week) or changes_what_is_held(week, plan.replicas):
        return None
    by_the_hour = week.traffic.share_of_month @ plan.instances @ np.where(always, free.offers.price_usd_per_hour, 0.0)
    started = between_hours_usd_per_hour(free, plan.instances) - between_hours_usd_per_hour(week, plan.instances)
    paid = np.where(always, most, 0) @ week.offers.price_usd_per_hour
    cost = float(plan.usd_per_hour - by_the_hour - started + paid)
    budget = week.limits.max_monthly_usd
    if budget is not None and cost * HOURS_PER_MONTH > budget:
        return None
    return replace(plan, instances=np.where(always, most, plan.instances), usd_per_hour=cost)

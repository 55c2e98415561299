"""A week with machines that are paid all month: each number of them makes a week in which they cost next to nothing.

Take a plan that pays for x instances of the offers that are paid all month. It is a plan of the week in which so many
of each can be had by the hour, for a small share e of their price: what runs, and every limit on it, stays. There it
pays no more than e of the price of x for them, of which it pays all in the first. So a plan with x costs at least 1 - e
of their price and what that week costs at least, of which levels tell (see `levels`, `level_prices`); and one that
costs no more than a known plan has only so many x to choose from, of those offers alone that are in such a plan. The
other way round a plan of that week is one of the week, if each instance paid all month holds one configuration
throughout. (Were e nothing, prices of demand per dollar would have no bound.)

Most numbers need no look: at the prices of demand of a bound by patterns, what whole instances cost that serve what is
left beside them (see `covering`) rules them out, with what starts add to that (see `rises`). Of the others the one of
lowest bound is looked at next.
"""

from dataclasses import replace
from functools import partial
from heapq import heapify, heappop, heappush
from typing import Final, Protocol

import numpy as np

from optimizer.base.arrays import Floats, Ints
from optimizer.program.large.counts import bound_by_counts
from optimizer.program.large.patterns import PatternBound, pattern_bound
from optimizer.program.large.restriction import part_of
from optimizer.program.large.unlinked import unlinked
from optimizer.program.problem.data import Offers
from optimizer.program.problem.problem import Problem, Sorted, compacted
from optimizer.program.problem.quantities import serves_all
from optimizer.program.proof.relaxation import Bound
from optimizer.program.proof.state import Incumbent, Known, SearchState
from optimizer.program.proof.steps import can_beat, cheaper
from optimizer.program.weeks.level_prices import follows_itself
from optimizer.program.weeks.levels import has_levels
from optimizer.program.weeks.looks import Looks, by_the_hour
from optimizer.program.weeks.period_programs import PeriodSearch

SHARE_OF_BOXES: Final = 0.4
"""Of what is left on the clock, for boxes of numbers where these are too many to be listed."""

CLOSE: Final = (1e-2, 5e-3)
"""Shares of what a plan costs that may be left open of one number of machines, so that others have their turn: first
the one with which a large week may end, then less."""

WIDE: Final = 0.03
"""How much more than a bound a plan may cost for one to be looked for where numbers are too many to be listed."""


class _Look(Protocol):
    """At one number of machines: what no plan with it undercuts, and a plan."""

    def __call__(self, count: Ints, state: SearchState, search: PeriodSearch) -> tuple[float, Incumbent | None]:
        """What is found."""


def told_by_counts(week: Problem, kind: Ints, known: Known, state: SearchState, search: PeriodSearch) -> Known:
    """What is known of a week once every number of machines paid all month has been looked at, if these are few.

    Args:
        week: Whose periods follow one another.
        kind: (T,) the level of each of its periods.
        known: Of the week.
        state: Whose cutoff, or the known plan, says what a plan may cost.
        search: Solves one level.
    """
    state = _no_dearer(state, known.plan)
    if not (np.isfinite(state.cutoff_usd_per_hour) and follows_itself(week)):
        return known
    if not has_levels(by_the_hour(week, np.zeros(len(week.offers)))):
        return known
    at_all = pattern_bound(week, state.clock)
    part = compacted(week, can_beat(week, at_all.bound, None, state))
    if not serves_all(part.problem):
        return known
    looks = Looks(part.problem, kind, at_all, state.clock)
    listed = _listed(looks, part, week, at_all.bound, state)
    if listed is None and known.plan is None and state.cutoff_usd_per_hour > (1 + WIDE) * at_all.bound.usd_per_hour:
        # the less a plan may cost the fewer numbers there are
        _, plan = looks.by_levels(_whole(at_all.counts[part.offers], part.problem.offers), state, search)
        if plan is not None and plan.usd_per_hour < state.cutoff_usd_per_hour:
            known, state = replace(known, plan=plan.for_whole(part, week)), _no_dearer(state, plan)
            listed = _listed(looks, part, week, at_all.bound, state)
    if listed is None:
        found = _told_by_boxes(part, week, kind, known, state, search)
    else:
        found = _told_by_each(part, week, looks, *listed, known, state, search)
    return replace(found, usd_per_hour=max(found.usd_per_hour, at_all.bound.usd_per_hour))


def _listed(looks: Looks, part: Sorted, week: Problem, bound: Bound, state: SearchState) -> tuple[Ints, Floats] | None:
    """The numbers of machines that may be in a plan that costs no more than the cutoff, see `Looks.listed`."""
    may_pay = can_beat(week, bound, None, state)[part.candidates]
    return looks.listed(may_pay, state.cutoff_usd_per_hour)


def _no_dearer(state: SearchState, plan: Incumbent | None) -> SearchState:
    """A search of its own for what costs no more than a plan that is known, if one is."""
    most = np.inf if plan is None else plan.usd_per_hour
    return replace(state, cutoff_usd_per_hour=min(state.cutoff_usd_per_hour, most))


def _told_by_each(
    part: Sorted,
    week: Problem,
    looks: Looks,
    counts: Ints,
    beside: Floats,
    known: Known,
    state: SearchState,
    search: PeriodSearch,
) -> Known:
    """The same from each of some (N, O) numbers, as far as there is time; all others cost more than the cutoff.

    The number of lowest bound is looked at next: with what starts add, then by whole numbers at several prices, by its
    levels as far as a large week may stay open, by all of them, and to the end, and closer where the week is further
    open than that. One that is not reached counts for what is known of it. Where all cost enough, or a plan less, none
    is looked at any more.

    Args:
        part: What may be in a plan that costs no more than the state's cutoff.
        week: Of which it is a part.
        looks: At numbers of machines.
        counts: (N, O) the numbers that may be in such a plan.
        beside: (N,) USD/h that it costs at least with each.
        known: Of the week.
        state: Of the search.
        search: Solves one level.
    """
    bounds = (looks.with_starts, looks.by_whole_numbers)
    ends: tuple[_Look, ...] = (
        *(partial(looks.by_levels, open_share=open_share) for open_share in (CLOSE[0], 0.0)),
        *(partial(looks.to_the_end, close=close) for close in CLOSE),
    )
    waiting = [(at_least, place, 0) for place, at_least in enumerate(beside.tolist())]
    heapify(waiting)
    plan, most, least = known.plan, state.cutoff_usd_per_hour, state.cutoff_usd_per_hour
    while waiting and waiting[0][0] <= min(most, state.enough_usd_per_hour) and not state.clock.expired:
        at_least, place, step = heappop(waiting)
        if step and state.refuted_by(plan):
            least = min(least, at_least)
            break
        # beyond what a large week may leave open nothing is gained by telling one number closer
        enough = min(state.enough_usd_per_hour, (1 - CLOSE[0]) * most)
        own = replace(state, cutoff_usd_per_hour=most, enough_usd_per_hour=enough)
        if step < len(bounds):
            heappush(waiting, (max(at_least, bounds[step](counts[place], own)), place, step + 1))
            continue
        look = ends[step - len(bounds)]
        closest = look is ends[-1]
        if closest and at_least >= (1 - CLOSE[0]) * most:
            least = min(least, at_least)
            break
        lower, found = look(counts[place], own, search)
        at_least = max(at_least, lower)
        if found is not None and found.usd_per_hour < most:
            plan, most = cheaper(plan, found.for_whole(part, week)), found.usd_per_hour
        if closest:
            least = min(least, at_least)
        else:
            heappush(waiting, (at_least, place, step + 1))
    return Known(max(known.usd_per_hour, min([least, most, *(at_least for at_least, *_ in waiting)])), plan)


def _told_by_boxes(
    part: Sorted, week: Problem, kind: Ints, known: Known, state: SearchState, search: PeriodSearch
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


def plan_of_levels(
    part: Sorted, found: PatternBound, kind: Ints, week: Problem, state: SearchState, search: PeriodSearch
) -> Incumbent | None:
    """A plan with no more machines paid all month than the bound points to, made of plans of levels.

    Args:
        part: Of a week.
        found: Its bound.
        kind: (T,) the level of each period.
        week: In the index order of which the plan is.
        state: Of the search.
        search: Solves one level.

    Returns:
        None where there are none, or they do not tell of one another, or no plan is found.
    """
    count = _whole(found.counts, part.problem.offers)
    if part.problem.traffic.periods == 1 or not has_levels(by_the_hour(part.problem, count)):
        return None
    _, plan = Looks(part.problem, kind, found, state.clock).by_levels(count, state, search)
    return None if plan is None else plan.for_whole(part, week)


def _whole(counts: Floats, offers: Offers) -> Ints:
    """(O,) the numbers of machines paid all month that are nearest to a bound's."""
    return np.asarray(np.rint(counts).astype(np.int64) * offers.always_paid)

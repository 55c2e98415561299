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
from typing import Final

import numpy as np

from optimizer.base.arrays import Flags, Floats, Ints
from optimizer.base.clock import Clock
from optimizer.base.units import HOURS_PER_MONTH
from optimizer.program.large.counts import bound_by_counts
from optimizer.program.large.covering import listed_counts
from optimizer.program.large.joined_periods import (
    between_hours_usd_per_hour,
    changes_what_is_held,
    counts_what_idles,
)
from optimizer.program.large.level_prices import bound_with_starts, follows_itself
from optimizer.program.large.levels import Levels, as_if_all_month, has_levels
from optimizer.program.large.patterns import PatternBound, pattern_bound
from optimizer.program.large.period_programs import PeriodSearch
from optimizer.program.large.restriction import part_of
from optimizer.program.large.rises import with_rises
from optimizer.program.large.schedule import scheduled
from optimizer.program.large.several_prices import SeveralPrices
from optimizer.program.large.unlinked import unlinked
from optimizer.program.problem.data import Offers
from optimizer.program.problem.instance_contents import places_instances
from optimizer.program.problem.layouts import load_groups
from optimizer.program.problem.problem import Problem, Sorted, compacted
from optimizer.program.problem.quantities import serves_all
from optimizer.program.proof.dominance import undominated
from optimizer.program.proof.state import Incumbent, Known, SearchState
from optimizer.program.proof.steps import can_beat, cheaper
from optimizer.program.refine.loading import with_restarts

MOST_COUNTS: Final = 500
"""Numbers of machines that are looked at one by one."""

SHARE_OF_BOXES: Final = 0.4
"""Of what is left on the clock, for boxes of numbers where these are more."""

CLOSE: Final = (1e-2, 5e-3)
"""Shares of what a plan costs that may be left open of one number of machines, so that others have their turn: first
the one with which a large week may end, then less."""

WIDE: Final = 0.03
"""How much more than a bound a plan may cost for one to be looked for before numbers are listed."""

BY_HOURS: Final = 1e-4
"""Share e of the price that is paid by the hour."""


def told_by_counts(week: Problem, kind: Ints, known: Known, state: SearchState, search: PeriodSearch) -> Known:
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
    at_all = pattern_bound(week, state.clock)
    may_pay = can_beat(week, at_all.bound, None, replace(state, cutoff_usd_per_hour=most))
    part = compacted(week, may_pay)
    if not serves_all(part.problem):
        return known
    own, offers = replace(state, cutoff_usd_per_hour=most), part.problem.offers
    looks = _Looks(part.problem, kind, at_all, state.clock)
    if known.plan is None and most > (1 + WIDE) * at_all.bound.usd_per_hour:
        # the less a plan may cost the fewer numbers are listed, so there is one before they are
        _, plan = looks.by_levels(_whole(at_all.counts[part.offers], offers), own, search)
        if plan is not None and plan.usd_per_hour < most:
            known, most = replace(known, plan=plan.for_whole(part, week)), plan.usd_per_hour
            own = replace(own, cutoff_usd_per_hour=most)
    may_pay = can_beat(week, at_all.bound, None, own)[part.candidates]
    there = offers.always_paid & (np.bincount(part.problem.candidates.offer, may_pay, len(offers)) > 0)
    counts = listed_counts(np.where(there, offers.price_usd_per_hour, np.inf), offers.available, most)
    at_least = np.array([at_all.bound.usd_per_hour])
    if counts is not None:
        at_least = np.maximum(looks.beside(counts), at_least)
    listed = np.flatnonzero(at_least <= most)
    if counts is None or len(listed) > MOST_COUNTS:
        boxes = _told_by_boxes(part, week, kind, known, own, search)
        return replace(boxes, usd_per_hour=max(boxes.usd_per_hour, min(most, float(at_least.min()))))
    numbers = [(float(at_least[place]), place) for place in listed.tolist()]
    found = _told_by_each(part, week, looks, counts, numbers, known, own, search)
    return replace(found, usd_per_hour=max(found.usd_per_hour, at_all.bound.usd_per_hour))


def _told_by_each(
    part: Sorted,
    week: Problem,
    looks: "_Looks",
    counts: Ints,
    numbers: list[tuple[float, int]],
    known: Known,
    state: SearchState,
    search: PeriodSearch,
) -> Known:
    """The same from each of some (N, O) numbers, as far as there is time; all others cost more than the cutoff.

    The number of lowest bound is looked at next: with what starts add, then by its levels, then to the end, and closer
    where the week is further open than a large one may end. One that is not reached counts for what is known of it.
    Where all cost enough, or a plan less, none is looked at any more.

    Args:
        part: What may be in a plan that costs no more than the state's cutoff.
        week: Of which it is a part.
        looks: At numbers of machines.
        counts: (N, O) the numbers.
        numbers: For each that may be in such a plan what it costs at least, and where it stands.
        known: Of the week.
        state: Of the search.
        search: Solves one level.
    """
    waiting = [(at_least, place, 0) for at_least, place in numbers]
    heapify(waiting)
    plan, most, least = known.plan, state.cutoff_usd_per_hour, state.cutoff_usd_per_hour
    while waiting and waiting[0][0] <= min(most, state.enough_usd_per_hour) and not state.clock.expired:
        at_least, place, step = heappop(waiting)
        if step and state.refuted_by(plan):
            least = min(least, at_least)
            break
        closest = step > len(CLOSE)
        if closest and at_least >= (1 - CLOSE[0]) * most:
            least = min(least, at_least)
            break
        if not step:
            heappush(waiting, (max(at_least, looks.with_starts(counts[place], state)), place, 1))
            continue
        look = looks.by_levels if step == 1 else partial(looks.to_the_end, close=CLOSE[step - 2])
        lower, found = look(counts[place], replace(state, cutoff_usd_per_hour=most), search)
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


class _Looks:
    """What is asked of one number of machines after the other."""

    def __init__(self, week: Problem, kind: Ints, found: PatternBound, clock: Clock) -> None:
        """Nothing asked yet.

        Args:
            week: What may be in a plan of interest.
            kind: (T,) the level of each period.
            found: A bound of it, or of a week of which it is a part: its prices of demand.
            clock: Of the search.
        """
        self._week, self._kind, levels = week, kind, unlinked(week, kind)
        self._levels = dict[bytes, Levels]()
        self._told = dict[bytes, tuple[float, Incumbent | None]]()
        self._hours, self._worth = levels.traffic.share_of_month, found.worth.by_kind(kind)
        demand = np.zeros(levels.traffic.demand_per_s.shape)
        np.add.at(demand, (kind[week.demands.period], week.demands.request_class), found.demand)
        self._several = SeveralPrices(as_if_all_month(levels), demand)
        self._covers = self._several.covers(np.tile(week.offers.price_usd_per_hour, (len(demand), 1)), clock)

    def beside(self, counts: Ints) -> Floats:
        """(N,) USD/h that no plan with so many (N, O) machines paid all month undercuts."""
        return np.asarray(counts @ self._week.offers.price_usd_per_hour + self._covers.by_period(counts) @ self._hours)

    def with_starts(self, count: Ints, state: SearchState) -> float:
        """USD/h that no plan with so many machines paid all month undercuts, with what starts add to its hours."""
        least = self._covers.by_period(count)
        paid = (1 - BY_HOURS) * float(count @ self._week.offers.price_usd_per_hour)
        if np.isinf(least).any():
            return np.inf
        return paid + with_rises(_by_the_hour(self._week, count), least[self._kind], state.clock)

    def by_levels(self, count: Ints, state: SearchState, search: PeriodSearch) -> tuple[float, Incumbent | None]:
        """The same from exact programs of levels, and a plan with no more machines; told again what it was told."""
        if (told := self._told.get(count.tobytes())) is None:
            told = self._told[count.tobytes()] = self._by_levels(count, state, search)
        return told

    def _by_levels(self, count: Ints, state: SearchState, search: PeriodSearch) -> tuple[float, Incumbent | None]:
        paid, free, part = _paying_for(self._week, count)
        if not serves_all(part.problem):
            return np.inf, None
        levels = Levels(unlinked(part.problem, self._kind), self._worth, self._several.of_offers(part.offers))
        if not levels.solve(_own(state), search, state.cutoff_usd_per_hour - paid):
            return np.inf, None
        self._levels[count.tobytes()] = levels
        lower = paid + with_rises(part.problem, levels.lower[self._kind], state.clock)
        plan = self._plan(free, part, levels)
        turned = self._turned(plan, state)
        if not turned.any() or (held := self._held(part, levels, turned)) is None:
            return lower, plan
        again = Levels(unlinked(held.problem, self._kind), self._worth, self._several.of_offers(held.offers))
        places = np.searchsorted(part.candidates, held.candidates), np.searchsorted(part.offers, held.offers)
        again.begin_with(levels, *places)
        return lower, cheaper(plan, self._plan(free, held, again)) if again.solve(_own(state), search) else plan

    def _turned(self, plan: Incumbent | None, state: SearchState) -> Flags:
        """(O,) the offers whose instances would change what they hold: for a start each, or not at all if they are paid
        all month. None where that is no matter, since a plan costs too much without those starts."""
        if plan is None:
            return self._week.offers.always_paid
        without = plan.usd_per_hour - plan.restarts_usd_per_hour
        return with_restarts(self._week, plan)[1] & (without < state.cutoff_usd_per_hour)

    def to_the_end(
        self, count: Ints, state: SearchState, search: PeriodSearch, close: float
    ) -> tuple[float, Incumbent | None]:
        """The same with prices of starts, once its levels are known, until so small a share of a plan is open."""
        paid, free, part = _paying_for(self._week, count)
        if (levels := self._levels.get(count.tobytes())) is None:
            return np.inf, None
        cutoff, enough = state.cutoff_usd_per_hour - paid, state.enough_usd_per_hour - paid
        own = replace(_own(state), cutoff_usd_per_hour=cutoff, enough_usd_per_hour=enough)
        lower = bound_with_starts(part.problem, self._kind, levels, own, search, close)
        return paid + lower, self._plan(free, part, levels)

    def _plan(self, free: Problem, part: Sorted, levels: Levels) -> Incumbent | None:
        """The week that plans of levels make, machines paid all month; None where these would change what they hold."""
        plan = scheduled(part.problem, self._kind, levels)
        return None if plan is None else _paid_for(self._week, free, plan.for_whole(part, free))

    def _held(self, part: Sorted, levels: Levels, turned: Flags) -> Sorted | None:
        """The part in which each machine of some offers (O,) holds what the levels' week runs on it most of the time.

        None where that week is none, or nothing is left out.
        """
        problem, plan = part.problem, scheduled(part.problem, self._kind, levels)
        if plan is None:
            return None
        groups, gpus = load_groups(problem), problem.candidates.gpus_per_replica
        runs = np.bincount(groups.number, weights=(problem.traffic.share_of_month @ plan.replicas) * gpus)
        order = np.lexsort((-runs, groups.offer))
        most = np.zeros(len(runs), dtype=np.bool_)
        most[order[np.unique(groups.offer[order], return_index=True)[1]]] = True
        keep = most[groups.number] | ~turned[part.offers][problem.candidates.offer]
        return None if keep.all() else part_of(part, keep)


def _own(state: SearchState) -> SearchState:
    """A state for levels, in which the plan of the week is of no matter."""
    return replace(state, progress=None, eliminated={}, cutoff_usd_per_hour=np.inf)


def _paying_for(week: Problem, count: Ints) -> tuple[float, Problem, Sorted]:
    """What so many machines paid all month cost at least, the week in which they are had by the hour, and what may be
    in its plans."""
    free = _by_the_hour(week, count)
    there = ~week.offers.always_paid | (count > 0)
    part = compacted(free, undominated(free) & there[free.candidates.offer])
    return (1 - BY_HOURS) * float(count @ week.offers.price_usd_per_hour), free, part


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
    if part.problem.traffic.periods == 1 or not has_levels(_by_the_hour(part.problem, count)):
        return None
    _, plan = _Looks(part.problem, kind, found, state.clock).by_levels(count, state, search)
    return None if plan is None else plan.for_whole(part, week)


def _whole(counts: Floats, offers: Offers) -> Ints:
    """(O,) the numbers of machines paid all month that are nearest to a bound's."""
    return np.asarray(np.rint(counts).astype(np.int64) * offers.always_paid)


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
    found, _ = with_restarts(week, replace(plan, instances=np.where(always, most, plan.instances), usd_per_hour=cost))
    budget = week.limits.max_monthly_usd
    return None if budget is not None and found.usd_per_hour * HOURS_PER_MONTH > budget else found

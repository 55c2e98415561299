"""What is asked of one number of machines paid all month after the other, of a week (see `paid_all_month`)."""

from dataclasses import replace
from typing import Final, NamedTuple

import numpy as np

from optimizer.base.arrays import Flags, Floats, Ints
from optimizer.base.clock import Clock
from optimizer.base.units import HOURS_PER_MONTH
from optimizer.program.large.covering import listed_beside
from optimizer.program.large.joined_periods import (
    between_hours_usd_per_hour,
    changes_what_is_held,
    counts_what_idles,
)
from optimizer.program.large.patterns import PatternBound
from optimizer.program.large.restriction import part_of
from optimizer.program.large.several_prices import SeveralPrices
from optimizer.program.large.unlinked import unlinked
from optimizer.program.problem.instance_contents import places_instances
from optimizer.program.problem.layouts import load_groups
from optimizer.program.problem.problem import Problem, Sorted, compacted
from optimizer.program.problem.quantities import serves_all
from optimizer.program.proof.dominance import undominated
from optimizer.program.proof.state import Incumbent, SearchState
from optimizer.program.proof.steps import cheaper
from optimizer.program.refine.loading import with_restarts
from optimizer.program.weeks.level_prices import WithStarts, bound_with_starts
from optimizer.program.weeks.levels import Levels, as_if_all_month
from optimizer.program.weeks.period_programs import PeriodSearch
from optimizer.program.weeks.rises import with_rises
from optimizer.program.weeks.schedule import scheduled

RISES: Final = 0.02
"""Share of what a week costs that starts hardly ever add to its hours: below that they are not counted."""

BY_HOURS: Final = 1e-4
"""Share e of the price that is paid by the hour."""


class _Told(NamedTuple):
    """USD/h that no plan with one number of machines undercuts, a plan, and the share of one that was left open."""

    usd_per_hour: float
    plan: Incumbent | None = None
    open_share: float = 0.0


class Looks:
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
        self._levels, self._least = dict[bytes, Levels](), dict[bytes, Floats]()
        self._told = dict[bytes, _Told]()
        self._ended = dict[bytes, WithStarts]()
        self._hours, self._worth = levels.traffic.share_of_month, found.worth.by_kind(kind)
        self._rose = np.zeros(len(self._hours))
        demand = np.zeros(levels.traffic.demand_per_s.shape)
        np.add.at(demand, (kind[week.demands.period], week.demands.request_class), found.demand)
        self._several = SeveralPrices(as_if_all_month(levels), demand)
        self._covers = self._several.covers(np.tile(week.offers.price_usd_per_hour, (len(demand), 1)), clock)

    def listed(self, may_pay: Flags, most_usd_per_hour: float) -> tuple[Ints, Floats] | None:
        """(N, O) the numbers of machines paid all month beside which a plan may cost no more, and (N,) the USD/h that
        it costs at least; None where they are too many. Of offers that have one of some candidates (C,) alone.
        """
        offers = self._week.offers
        there = offers.always_paid & (np.bincount(self._week.candidates.offer, may_pay, len(offers)) > 0)
        price = np.where(there, offers.price_usd_per_hour, np.inf)
        return listed_beside(self._covers, price, offers.available, self._hours, most_usd_per_hour)

    def with_starts(self, count: Ints, state: SearchState) -> float:
        """USD/h that no plan with so many machines paid all month undercuts, with what starts add to its hours."""
        least = self._covers.by_period(count)
        paid = (1 - BY_HOURS) * float(count @ self._week.offers.price_usd_per_hour)
        if np.isinf(least).any():
            return np.inf
        return paid + with_rises(by_the_hour(self._week, count), least[self._kind], state.clock)

    def by_whole_numbers(self, count: Ints, state: SearchState) -> float:
        """The same from whole numbers that are worth enough at several prices of demand at once, as far as it takes to
        cost enough."""
        paid, _, part = _paying_for(self._week, count)
        if not serves_all(part.problem):
            return np.inf
        levels = Levels(unlinked(part.problem, self._kind), several=self._several.of_offers(part.offers))
        levels.lower = self._covers.by_period(count)
        missing = state.enough_usd_per_hour - paid - with_rises(part.problem, levels.lower[self._kind], state.clock)
        levels.bound_at_several_prices(state.clock, missing)
        self._least[count.tobytes()] = levels.lower
        return paid + with_rises(part.problem, levels.lower[self._kind], state.clock)

    def by_levels(
        self, count: Ints, state: SearchState, search: PeriodSearch, open_share: float = 0.0
    ) -> tuple[float, Incumbent | None]:
        """The same from exact programs of levels, and a plan with no more machines.

        Told again what it was told, and gone on with where more was to be left open.

        Args:
            count: (O,) of machines.
            state: Of the search.
            search: Solves one level.
            open_share: Of what a plan may cost: once levels cost all but so much of it, they are left at that.
        """
        told = self._told.get(count.tobytes())
        if told is None or told.open_share > open_share:
            told = self._told[count.tobytes()] = self._by_levels(count, state, search, open_share)
        return told.usd_per_hour, told.plan

    def _by_levels(self, count: Ints, state: SearchState, search: PeriodSearch, open_share: float) -> _Told:
        paid, free, part = _paying_for(self._week, count)
        if not serves_all(part.problem):
            return _Told(np.inf)
        levels = self._levels_beside(count, part, state)
        most = (1 - open_share) * state.cutoff_usd_per_hour - paid

        def too_dear(least: Floats) -> bool:
            near = float(levels.hours @ least) > (1 - RISES) * most
            return near and with_rises(part.problem, least[self._kind], state.clock) > most

        if not levels.solve(_own(state), search, too_dear):
            return _Told(np.inf)
        lower = with_rises(part.problem, levels.lower[self._kind], state.clock)
        if open_share and lower > most:
            return _Told(paid + lower, open_share=open_share)
        plan = self._plan(free, part, levels)
        turned = self._turned(plan, state)
        if not turned.any() or (held := self._held(part, levels, turned)) is None:
            return _Told(paid + lower, plan)
        again = self._levels_of(held)
        again.begin_with(
            levels, np.searchsorted(part.candidates, held.candidates), np.searchsorted(part.offers, held.offers)
        )
        if again.solve(_own(state), search):
            plan = cheaper(plan, self._plan(free, held, again))
        return _Told(paid + lower, plan)

    def _levels_beside(self, count: Ints, part: Sorted, state: SearchState) -> Levels:
        """The levels of a part, beside one number of machines, with what was told of them."""
        key = count.tobytes()
        if (levels := self._levels.get(key)) is None:
            levels = self._levels[key] = self._levels_of(part)
            if (least := self._least.get(key)) is None:
                levels.bound_at_several_prices(state.clock)
            else:
                levels.lower = np.maximum(levels.lower, least)
        return levels

    def _levels_of(self, part: Sorted) -> Levels:
        """The levels of a part, nothing solved yet."""
        levels = unlinked(part.problem, self._kind)
        return Levels(levels, self._worth, self._several.of_offers(part.offers), self._rose)

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
        """The same with prices of starts, once its levels are known, until so small a share of a plan is open; gone on
        with where it ended.
        """
        paid, free, part = _paying_for(self._week, count)
        if (levels := self._levels.get(count.tobytes())) is None:
            return np.inf, None
        cutoff, enough = state.cutoff_usd_per_hour - paid, state.enough_usd_per_hour - paid
        own = replace(_own(state), cutoff_usd_per_hour=cutoff, enough_usd_per_hour=enough)
        known = self._ended.get(count.tobytes())
        ended = bound_with_starts(part.problem, self._kind, levels, own, search, close, known)
        self._ended[count.tobytes()] = ended
        return paid + ended.usd_per_hour, self._plan(free, part, levels)

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
    free = by_the_hour(week, count)
    there = ~week.offers.always_paid | (count > 0)
    part = compacted(free, undominated(free) & there[free.candidates.offer])
    return (1 - BY_HOURS) * float(count @ week.offers.price_usd_per_hour), free, part


def by_the_hour(week: Problem, count: Floats | Ints) -> Problem:
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

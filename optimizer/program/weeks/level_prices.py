"""Prices of starts for a week told by its levels: a sharper bound, and plans of levels that go well together.

Hours of one level that follow one level and precede another pay the same for an instance, at prices of starts that
depend on the two levels of a change alone. So they are one kind of hour, a week has few of them, and the bound of
`period_programs` takes one program for each. Prices come from mixing the plans of all levels found so far, each in
every kind of hour that it serves; what the programs find joins these.
"""

from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from optimizer.base.arrays import Flags, Floats, Ints
from optimizer.base.clock import Clock
from optimizer.program.large.covering import Cover
from optimizer.program.problem.data import Billing, LayoutTerms
from optimizer.program.problem.problem import Problem, compacted
from optimizer.program.problem.quantities import serves_all
from optimizer.program.proof.state import Known, SearchState
from optimizer.program.weeks.levels import Levels
from optimizer.program.weeks.period_master import PeriodPlan, mixture_of
from optimizer.program.weeks.period_programs import PeriodSearch, Prices, own_state, price_of_instance, single_period
from optimizer.program.weeks.rises import rises_of

MOST_ROUNDS: Final = 6
CLOSE: Final = 1e-3
"""How often prices are moved, and how near the mixture the bound need not be raised."""

MOST_ROUNDS_OF_NUMBERS, CLOSE_BY_NUMBERS = 12, 2e-3
"""How often prices are moved first by whole numbers alone, which takes a tenth of a round of searches, and how near
that mixture they need not be moved any more."""

PULL: Final = 0.5
"""Weight of the best prices so far beside the mixture's."""

SHARE_OF_KIND: Final = 0.25
"""Of what is left on the clock, for the search of one kind of hour."""


def follows_itself(problem: Problem) -> bool:
    """Whether each period has one before it and one after it that a start may be paid between."""
    linked = problem.traffic.start_share > 0
    return bool((linked.sum(axis=0) == 1).all() and (linked.sum(axis=1) == 1).all())


@dataclass(frozen=True, eq=False)
class WithStarts:
    """USD/h that no plan of a week undercuts, and the prices of starts (O, X) that tell it."""

    usd_per_hour: float
    moved: Floats


def bound_with_starts(
    problem: Problem,
    kind: Ints,
    levels: Levels,
    state: SearchState,
    search: PeriodSearch,
    close: float = CLOSE,
    known: WithStarts | None = None,
) -> WithStarts:
    """The best bound of some rounds; more plans join the levels'.

    Args:
        problem: The week, which `follows_itself`.
        kind: (T,) the level of each of its periods.
        levels: With a plan for each.
        state: Whose clock ends the rounds.
        search: Solves one kind of hour.
        close: Share of what a plan costs that may be left open.
        known: Where earlier rounds of the same week and levels ended.
    """
    hours, level = _kinds_of_hours(problem, kind)
    begun = known or _by_rises(hours, level, levels, state)
    best = known or _by_whole_numbers(hours, level, levels, begun, state)
    by_numbers = best is not begun
    for _ in range(MOST_ROUNDS):
        mixture = mixture_of(hours, _plans(hours, level, levels), state.clock)
        least = np.inf if mixture is None else min(mixture.value, state.cutoff_usd_per_hour)
        open_usd = least - best.usd_per_hour
        near = open_usd <= close * least or best.usd_per_hour >= state.enough_usd_per_hour
        if mixture is None or state.clock.expired or near:
            break
        # prices by whole numbers alone are tried as they are
        moved = best.moved if by_numbers else _pulled(best, _by_levels(hours, level, mixture.moved))
        found, by_numbers = _bound_at(hours, level, moved, levels, state, search), False
        if found > best.usd_per_hour:
            best = WithStarts(found, moved)
    return best


def _by_rises(hours: Problem, level: Ints, levels: Levels, state: SearchState) -> WithStarts:
    """What starts add to what levels cost at least, at prices that are the same share of each offer's."""
    rises = rises_of(hours, levels.lower[level], state.clock)
    return WithStarts(rises.usd_per_hour, hours.offers.price_usd_per_hour[:, None] * rises.worth)


def _by_whole_numbers(hours: Problem, level: Ints, levels: Levels, best: WithStarts, state: SearchState) -> WithStarts:
    """A better bound that needs no search of any kind of hour, if there is one.

    What whole numbers point to joins the plans that are mixed, though it may be none. No bound by whole numbers exceeds
    what they are mixed to.
    """
    mixed = [] if levels.several is None else _plans(hours, level, levels)
    for _ in range(MOST_ROUNDS_OF_NUMBERS if mixed else 0):
        mixture = mixture_of(hours, mixed, state.clock)
        if mixture is None or state.clock.expired:
            break
        if mixture.value - best.usd_per_hour <= CLOSE_BY_NUMBERS * mixture.value:
            break
        moved = _pulled(best, _by_levels(hours, level, mixture.moved))
        kinds = _KindsOfHours.at(hours, level, moved, levels, state.clock)
        mixed = mixed + kinds.pointed_to
        if (found := float(hours.traffic.share_of_month @ kinds.least)) > best.usd_per_hour:
            best = WithStarts(found, moved)
    return best


def _pulled(best: WithStarts, moved: Floats) -> Floats:
    """Prices between the best so far and others, to keep them from swinging."""
    return PULL * best.moved + (1 - PULL) * moved


def _kinds_of_hours(problem: Problem, kind: Ints) -> tuple[Problem, Ints]:
    """The week with one period for hours of one level, between the same two, that last as long; and (Q,) its level."""
    traffic = problem.traffic
    before, after = traffic.start_share.argmax(axis=0), traffic.start_share.argmax(axis=1)
    terms = [traffic.share_of_month, traffic.start_share.max(axis=0), traffic.start_share.max(axis=1)]
    lasting = np.unique(np.stack(terms).round(12), axis=1, return_inverse=True)[1].reshape(-1)
    key = np.stack([kind[before], kind, kind[after], lasting])
    _, first, number = np.unique(key, axis=1, return_index=True, return_inverse=True)
    number, count = number.reshape(-1), len(first)
    starts = np.zeros((count, count))
    np.add.at(starts, (number[:, None], number[None]), traffic.start_share)
    # what an hour of a kind pays for following another one of its own it gets back at once
    np.fill_diagonal(starts, 0.0)
    merged = replace(
        traffic.during(first),
        share_of_month=np.bincount(number, weights=traffic.share_of_month, minlength=count).astype(float),
        start_share=starts,
    )
    return replace(problem, traffic=merged, billing=Billing(), layouts=LayoutTerms(kept=False)), kind[first]


def _plans(hours: Problem, level: Ints, levels: Levels) -> list[PeriodPlan]:
    """Every plan of a level in every kind of hour that it serves."""
    cost, share = levels.costs()[level], hours.traffic.share_of_month
    kinds, numbers = np.nonzero(np.isfinite(cost))
    runs = [plan.instances[0].astype(float) for _, plan in levels.plans]
    return [
        PeriodPlan(q, float(share[q] * cost[q, number]), runs[number])
        for q, number in zip(kinds.tolist(), numbers.tolist(), strict=True)
    ]


def _by_levels(hours: Problem, level: Ints, moved: Floats) -> Floats:
    """(O, X) prices of starts that are the same share of what a start costs at every change between two levels."""
    before, after = hours.traffic.changes
    costs = hours.traffic.start_share[before, after]
    _, pair = np.unique(np.stack([level[before], level[after]]), axis=1, return_inverse=True)
    pair = pair.reshape(-1)
    total = np.array([np.bincount(pair, weights=row) for row in moved])
    # USD/h by share of the month billed for a start, of all changes between the two levels
    rate = total / np.bincount(pair, weights=costs)
    most = hours.offers.price_usd_per_hour[:, None] * costs
    return np.asarray(np.clip(rate[:, pair] * costs, 0.0, most))


def _bound_at(
    hours: Problem, level: Ints, moved: Floats, levels: Levels, state: SearchState, search: PeriodSearch
) -> float:
    """The sum of what each kind of hour costs at least, at prices of starts (O, X); what was found joins the levels.

    Whole numbers at several prices of demand tell what most kinds cost at least. The others are searched, the kind of
    which most is open first, until little is open or time is up: one that is not reached counts with what is known.
    """
    share, kinds = hours.traffic.share_of_month, _KindsOfHours.at(hours, level, moved, levels, state.clock)
    least, known = kinds.least, kinds.known
    open_usd = share * (known - least)
    while not state.clock.expired and open_usd.sum() > CLOSE * (share @ known):
        q = int(open_usd.argmax())
        open_usd[q] = 0.0
        own = own_state(state, state.clock.share(SHARE_OF_KIND))
        own.cutoff_usd_per_hour = float(known[q])
        whole = single_period(kinds.alone, q, kinds.price[q])
        # what runs another offer costs more than a known plan
        part = compacted(whole, kinds.may_run(q)[whole.candidates.offer])
        if not serves_all(part.problem):
            least[q] = known[q]
            continue
        result = search(part.problem, own, known=Known(float(least[q])))
        least[q] = max(least[q], min(result.bound.usd_per_hour, known[q]))
        if result.incumbent is not None:
            plan = result.incumbent.for_whole(part, whole)
            own_usd = plan.usd_per_hour - float(plan.instances[0] @ kinds.extra[q])
            levels.add(int(level[q]), replace(plan, usd_per_hour=own_usd))
    return float(share @ least)


@dataclass(frozen=True, eq=False)
class _KindsOfHours:
    """Kinds of hours at some prices of starts; costs are as if each lasted all month.

    Attributes:
        alone: The kinds, each as if it lasted all month.
        price, extra: (Q, O) USD/h of an instance, and what of it is for starts.
        known, least: (Q,) what a kind costs by a known plan, and at least.
        pointed_to: What whole numbers ran, each in its kind.
        cover: Of the kinds, where prices of demand are known.
    """

    alone: Problem
    price: Floats
    extra: Floats
    known: Floats
    least: Floats
    pointed_to: list[PeriodPlan]
    cover: Cover | None

    @classmethod
    def at(cls, hours: Problem, level: Ints, moved: Floats, levels: Levels, clock: Clock) -> "_KindsOfHours":
        """What is known of them without a search."""
        share, offers = hours.traffic.share_of_month, hours.offers
        price = price_of_instance(hours, Prices(np.zeros((len(share), len(offers))), moved)) / share[:, None]
        alone = replace(hours, traffic=replace(hours.traffic, share_of_month=np.ones(len(share))))
        extra = price - offers.price_usd_per_hour
        runs = np.array([plan.instances[0] for _, plan in levels.plans])
        known = (levels.costs()[level] + extra @ runs.T).min(axis=1)
        cover = None if levels.worth is None else Cover(alone, levels.worth.at(level), price)
        least, pointed_to = np.zeros(len(level)), list[PeriodPlan]()
        if cover is not None:
            least = cover.by_period(np.zeros(len(offers), dtype=np.int64))
        if levels.several is not None:
            for q in np.flatnonzero(least < known).tolist():
                told = levels.several.least(int(level[q]), price[q], offers.available, clock)
                least[q] = max(least[q], told.usd_per_hour)
                if told.instances.size:
                    own_usd = told.usd_per_hour - float(told.instances @ extra[q])
                    pointed_to.append(PeriodPlan(q, float(share[q] * own_usd), told.instances))
        return cls(alone, price, extra, known, np.minimum(least, known), pointed_to, cover)

    def may_run(self, kind: int) -> Flags:
        """(O,) the offers that a plan of a kind may run that costs no more than a known one."""
        if self.cover is None:
            return np.ones(len(self.alone.offers), dtype=np.bool_)
        return np.asarray(self.cover.with_one(kind) <= self.known[kind])

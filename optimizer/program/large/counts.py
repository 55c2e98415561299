"""Branching on how many machines are paid all month: a bound that no fraction of one lowers, and the numbers it is of.

The bound by patterns mixes plans of different numbers of machines, so a fraction of a large one may serve all week for
that fraction of its price. Every plan has a whole number of each. It is in one of two boxes: that of plans with at most
so many of an offer, and that of plans with more. Each has a bound of its own, and no plan undercuts the lower of both.
The box of lowest bound is divided next, at the offer whose fraction in its mixture costs most, until that is whole.
"""

from dataclasses import dataclass
from heapq import heappop, heappush
from typing import Final

import numpy as np

from optimizer.base.arrays import Flags, Floats, Ints
from optimizer.base.clock import Clock
from optimizer.program.large.knapsack import Counts
from optimizer.program.large.patterns import generated
from optimizer.program.large.pricing import PricedBound, Pricing
from optimizer.program.problem.problem import Problem

MOST_BOXES: Final = 40
"""How many boxes are looked at, each of which takes some tenths of a second."""

CONVERGED: Final = 1e-3
"""Relative distance to the best bound of a box at which its rounds end."""

WHOLE: Final = 1e-6
"""How far from a whole number a count is still that number."""


@dataclass(frozen=True, eq=False)
class CountsBound:
    """What no plan undercuts, and (O,) whole machines paid all month in the mixture of that bound, rounded where it is
    not whole."""

    usd_per_hour: float
    counts: Ints


@dataclass(frozen=True, eq=False)
class _Box:
    """Plans with so many of each unit: what none of them undercuts, and (I,) of each in the mixture of the bound."""

    usd_per_hour: float
    within: Counts
    best: PricedBound
    mixed: Floats


def bound_by_counts(problem: Problem, most_usd_per_hour: float, clock: Clock) -> CountsBound:
    """The bound of plans that cost no more than a known one; infinite where there are none.

    Args:
        problem: With machines that are paid all month.
        most_usd_per_hour: What a plan of interest costs.
        clock: After which the boxes so far tell the bound.
    """
    pricing = Pricing(problem)
    units, always = pricing.units, problem.offers.always_paid[pricing.units.offer]
    most = np.where(always, np.floor(most_usd_per_hour / units.price_usd_per_hour), np.inf)
    within = Counts(pricing.counts.least, np.minimum(most, pricing.counts.most))
    lowest = _box(pricing, within, pricing.at_first(), 0.0, clock)
    boxes, looked_at = list[tuple[float, int, _Box]](), 1
    while looked_at < MOST_BOXES and lowest.usd_per_hour <= most_usd_per_hour and not clock.expired:
        unit = _most_of_a_fraction(lowest, always, units.price_usd_per_hour)
        if unit is None:
            break
        for within in _divided(lowest, unit):
            box = _box(pricing, within, lowest.best, lowest.usd_per_hour, clock)
            heappush(boxes, (box.usd_per_hour, looked_at, box))
            looked_at += 1
        _, _, lowest = heappop(boxes)
    counts = np.zeros(len(problem.offers), dtype=np.int64)
    counts[units.offer[always]] = np.rint(lowest.mixed[always])
    return CountsBound(lowest.usd_per_hour, counts)


def _box(pricing: Pricing, within: Counts, known: PricedBound, least_usd_per_hour: float, clock: Clock) -> _Box:
    """A box inside one of which the best multipliers and the bound are known."""
    held = pricing.held_to(within)
    best, master = generated(held, held.at(known.demand, known.charge), clock, CONVERGED)
    return _Box(max(best.value, least_usd_per_hour), within, best, master.mixed_counts())


def _most_of_a_fraction(box: _Box, always: Flags, price_usd_per_hour: Floats) -> int | None:
    """The unit paid all month of whose price the mixture pays the most that is no whole instance's; None if whole."""
    beyond = np.where(always, np.abs(box.mixed - np.rint(box.mixed)), 0.0)
    beyond = np.where(box.within.least < box.within.most, beyond, 0.0)
    unit = int((beyond * price_usd_per_hour).argmax())
    return unit if beyond[unit] > WHOLE else None


def _divided(box: _Box, unit: int) -> tuple[Counts, Counts]:
    """The plans with no more of a unit than the mixture has, and those with more."""
    fewer, more = box.within.most.copy(), box.within.least.copy()
    fewer[unit] = np.floor(box.mixed[unit])
    more[unit] = fewer[unit] + 1
    return Counts(box.within.least, fewer), Counts(more, box.within.most)

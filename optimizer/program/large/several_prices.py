"""What an hour costs at least in whole instances that are worth enough at several prices of demand at once.

At any prices of demand what all instances of a plan hold is worth no less than what is asked (see `covering`): a row of
whole numbers. A plan keeps the rows of all prices, so the cheapest whole numbers that keep some of them cost no more
than any plan. At one price few machines of the dear class seem to do, at another one few of the cheap class, and the
two rows together tell mostly all.

The prices are those that a bound by patterns found, with one class or several worth twice or four times as much beside
the others, and each class alone. An hour begins with one row; the one that its cheapest whole numbers break most joins,
until they break none. Rows know nothing of what instances cost: an hour keeps those that it needed, whatever its
instances cost next, by other prices of starts or beside other machines paid all month.
"""

from copy import copy
from dataclasses import dataclass, replace
from itertools import islice, product
from typing import Final

import numpy as np

from optimizer.base.arrays import Flags, Floats, Ints
from optimizer.base.clock import Clock
from optimizer.program.formulation.model import Columns, assemble
from optimizer.program.formulation.objective import api_cost_usd_per_hour
from optimizer.program.formulation.rows import Rows, at_least, numbered
from optimizer.program.large.covering import ALLOWED, Cover, Covers
from optimizer.program.large.knapsack import units_of, worth_of_one
from optimizer.program.large.pricing import Pricing
from optimizer.program.problem.problem import Problem
from optimizer.program.solver import HIGHS, solve_integer

MOST_TIMES: Final = 2
"""How often a class is worth twice as much as it was, beside the others."""

MOST_PRICES, MOST_CELLS = 100, 100_000
"""Prices of all classes that are looked at: with many classes each is worth more alone. And prices times levels times
offers: what an instance is worth in each takes some microseconds."""

ALONE: Final = 1e-3
"""What all other classes are worth together beside one that is worth nearly all."""

MOST_COVERS: Final = 6
"""Prices at which every number of machines is looked at."""

MOST_ROWS: Final = 6
"""Rows of one hour; two or three tell nearly all."""


@dataclass(frozen=True, eq=False)
class Least:
    """USD/h that an hour costs at least, and (O,) the instances of that; none where that is not known."""

    usd_per_hour: float
    instances: Floats


class SeveralPrices:
    """Rows of whole numbers that every plan of an hour keeps, for the levels of a week, one a period."""

    def __init__(self, problem: Problem, demand: Floats) -> None:
        """What one instance serves at each of the prices.

        Args:
            problem: The levels, each as if it lasted all month.
            demand: (T, K) prices of what is asked of each class, of which only the proportions count.
        """
        pricing, streams, asked = Pricing(problem), problem.api_streams, problem.traffic.demand_per_s > 0
        # sending answers costs more, which is left out
        units = replace(units_of(problem), egress_usd_per_hour=np.zeros((1, 1, 1)))
        wanted = (problem.demands.period, problem.demands.request_class)
        most = max(1, MOST_CELLS // max(1, len(asked) * len(problem.offers)))
        worths = [pricing.worth(price[wanted]) for price in _prices(demand, asked)[:most]]
        # (R, T, O) and (R, B) the share of what is asked that an instance holds at most, or that an API's stream serves
        self._held = np.array([_share(worth_of_one(units, worth), worth.of_all[:, None]) for worth in worths])
        sent = (streams.period, streams.mix)
        self._sent = np.array([_share(worth.of_reach[sent], worth.of_all[streams.period]) for worth in worths])
        self._api_level, self._api_cost = streams.period, api_cost_usd_per_hour(problem)
        self._asks: Flags = np.asarray(asked.any(axis=1))
        self._problem, self._worths = problem, worths
        self._needed = [[0] for _ in range(len(asked))]

    def covers(self, price_usd_per_hour: Floats, clock: Clock) -> Covers:
        """What levels cost at least beside machines paid all month, at the prices that they need most without any.

        Args:
            price_usd_per_hour: (T, O) of an instance by the hour, each level as if it lasted all month.
            clock: After which no more prices are looked for.
        """
        by_hour = np.where(self._problem.offers.always_paid, 0.0, self._problem.offers.available)
        for level, price in enumerate(price_usd_per_hour):
            self.least(level, price, by_hour, clock)
        needed = np.bincount([number for each in self._needed for number in each], minlength=len(self._worths))
        chosen = np.flatnonzero(needed)[np.argsort(-needed[np.flatnonzero(needed)], kind="stable")][:MOST_COVERS]
        return Covers([Cover(self._problem, self._worths[number], price_usd_per_hour) for number in chosen.tolist()])

    def of_offers(self, offers: Ints) -> "SeveralPrices":
        """The same of some offers; what either finds that it needs the other one knows."""
        part = copy(self)
        part._held = self._held[:, :, offers]
        return part

    def least(self, level: int, price_usd_per_hour: Floats, available: Floats, clock: Clock) -> "Least":
        """What an hour of a level costs at least; infinite where no instances serve it.

        Args:
            level: Of the problem.
            price_usd_per_hour: (O,) of an instance in that hour, nowhere negative.
            available: (O,) how many can be had.
            clock: After which what is known by then is told.
        """
        least, runs, offers = 0.0, np.zeros(0), len(available)
        if not self._asks[level]:
            return Least(least, np.zeros(offers))
        needed, there = self._needed[level], np.flatnonzero(self._api_level == level)
        share = np.concatenate([self._held[:, level], self._sent[:, there]], axis=1)
        cost = np.concatenate([price_usd_per_hour, self._api_cost[there]])
        columns = Columns(np.concatenate([np.floor(available), np.ones(len(there))]), np.arange(len(cost)) < offers)
        while not clock.expired:
            result = solve_integer(assemble(columns, cost, _worth_enough(share[needed])), clock, HIGHS)
            if result.status == "infeasible":
                return Least(np.inf, np.zeros(0))
            least, runs = max(least, result.bound), np.rint(result.values[:offers])
            if result.status != "optimal" or len(needed) >= MOST_ROWS:
                break
            served = share @ result.values
            if served.min() >= 1 - 2 * ALLOWED or (broken := int(served.argmin())) in needed:
                break
            needed.append(broken)
        return Least(least, runs)


def _prices(demand: Floats, asked: Flags) -> list[Floats]:
    """(T, K) each of the prices of classes, those that tell most first."""
    base, count = np.where(asked, np.maximum(demand, 0.0), 0.0), demand.shape[1]
    # a class that costs nothing beside others is worth a little
    base = np.where(asked, np.maximum(base, ALONE * base.sum(axis=1, keepdims=True)), 0.0)
    base = np.where(base.sum(axis=1, keepdims=True) > 0, base, asked)
    every = (each for each in product(range(MOST_TIMES + 1), repeat=count) if not min(each))
    times = list(islice(every, MOST_PRICES))
    alone = [np.where(np.arange(count) == each, 1.0, ALONE) * asked for each in range(count)]
    return [base, *alone, *(base * 2.0 ** np.array(each) for each in times[1:])]


def _share(part: Floats, whole: Floats) -> Floats:
    """What a part is of a whole; nothing of nothing."""
    return np.divide(part, whole, out=np.zeros_like(part), where=np.broadcast_to(whole > 0, part.shape))


def _worth_enough(share: Floats) -> Rows:
    """Rows (R, N): what is bought is worth what is asked, at each of some prices, but for what a solver allows."""
    row, column = np.nonzero(share)
    return at_least(numbered("worth", len(share)), 1 - ALLOWED, (row, column, share[row, column]))

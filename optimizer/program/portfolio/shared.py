"""What services share, the plans that they choose from, and the prices at which they are asked for more of them.

Time is cut into joint periods: hours of the week in which no service changes what it runs. The bound. Give every unit
of a shared limit l in joint period j a price y[l,j] >= 0, an instance of a pool q a price p[q,j] >= 0 and the budget a
price u >= 0. Every set of plans that keeps what is shared costs at least

    sum over services of least ( (1 + u) cost + y use + p pooled )  -  y most  -  u budget
        + sum over pools of least over its sizes N of N ( (1 + u) price of an instance - sum over j of p[q,j] ),

for each limit holds, so that what it was priced at is no less than what is given back (Lagrangian relaxation, Geoffrion
1974). Nothing is asked of the prices but their signs: a service that was not solved to its end counts with its own
bound. The prices come from mixing the plans found so far (Dantzig and Wolfe's decomposition).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from optimizer.base.arrays import Floats, Ints
from optimizer.base.units import HOURS_PER_MONTH, HOURS_PER_WEEK
from optimizer.program.formulation.rows import Rows, Term, at_most, numbered

LEAST_PAID = 0.01
"""Share of what a pool's instance costs that each hour is charged at least, so that nothing is free."""


@dataclass(frozen=True, eq=False)
class Shared:
    """What all services have together.

    Attributes:
        most: (L,) units of each limit, in every hour.
        hours: (J,) hours of the week in each joint period; they sum to 168.
        pool_usd: (Q,) a month of an instance of each pool.
        pool_least, pool_most: (Q,) instances that a pool has at least and at most.
        budget_usd: A month of all together, pools included; infinite without one.
    """

    most: Floats
    hours: Ints
    pool_usd: Floats
    pool_least: Floats
    pool_most: Floats
    budget_usd: float


@dataclass(frozen=True, eq=False)
class ServicePlan:
    """One plan of a service, or of each of several that are alike.

    Attributes:
        service: Which.
        usd: A month, without pools.
        use: (L, J) units of each limit in each joint period.
        pooled: (Q, J) instances of each pool.
    """

    service: int
    usd: float
    use: Ints
    pooled: Ints


@dataclass(frozen=True, eq=False)
class SharedPrices:
    """What is charged, in USD a month.

    Attributes:
        use: (L, J) y, for a unit all through a joint period.
        pooled: (Q, J) p, the same for an instance of a pool.
        budget: u, for each dollar.
    """

    use: Floats
    pooled: Floats
    budget: float = 0.0

    @classmethod
    def first(cls, shared: Shared) -> "SharedPrices":
        """Nothing for limits; for pools what they cost, by the hour."""
        by_hour = shared.hours / HOURS_PER_WEEK
        return cls(np.zeros((len(shared.most), len(by_hour))), shared.pool_usd[:, None] * by_hour)

    def between(self, other: "SharedPrices", weight: float) -> "SharedPrices":
        """The mean of two, of which the first has that weight."""
        pairs = ((self.use, other.use), (self.pooled, other.pooled), (self.budget, other.budget))
        use, pooled, budget = (weight * one + (1 - weight) * two for one, two in pairs)
        return SharedPrices(np.asarray(use), np.asarray(pooled), float(np.asarray(budget)))

    def never_free(self, shared: Shared) -> "SharedPrices":
        """The same where every hour of a pool costs a little."""
        least = (1 + self.budget) * shared.pool_usd[:, None] * shared.hours / HOURS_PER_WEEK
        return SharedPrices(self.use, (1 - LEAST_PAID) * self.pooled + LEAST_PAID * least, self.budget)

    def tolls(self, shared: Shared) -> tuple[Floats, Floats]:
        """(L, J) and (Q, J) USD for each hour of a joint period, to be added to costs that are paid at par."""
        per_hour = HOURS_PER_WEEK / (HOURS_PER_MONTH * shared.hours) / (1 + self.budget)
        return self.use * per_hour, self.pooled * per_hour


def bound_usd(shared: Shared, prices: SharedPrices, counts: Ints, least_usd: Sequence[float]) -> float:
    """What no plans of all services together undercut, in USD a month.

    Args:
        shared: What they share.
        prices: Any.
        counts: (K,) how many services there are of each kind.
        least_usd: (K,) what no plan of one undercuts with tolls, at par.
    """
    services = (1 + prices.budget) * float(counts @ np.asarray(least_usd))
    limits = float(prices.use.sum(axis=1) @ shared.most)
    budget = prices.budget * shared.budget_usd if prices.budget else 0.0
    left = (1 + prices.budget) * shared.pool_usd - prices.pooled.sum(axis=1)
    pools = float(np.minimum(left * shared.pool_least, left * shared.pool_most).sum())
    return services - limits - budget + pools


def budget_rows(cost: Floats, budget: float, *terms: Term) -> Rows:
    """What all columns cost (columns,), and some terms more, is within the budget; no row where there is none."""
    rows = int(np.isfinite(budget))
    columns = np.arange(len(cost) * rows)
    entries = terms if rows else ()
    return at_most(numbered("budget", rows), budget, (np.zeros_like(columns), columns, cost[columns]), *entries)

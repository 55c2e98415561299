"""The master problem: the cheapest mixture of the plans found so far that keeps what is shared, and its prices.

Minimize the cost of plans by weight and of pools by size, where the weights of each kind of service sum to how many of
it there are, no limit is exceeded in any joint period, no pool lends more than it has, and the budget holds. Weights
and sizes may be fractions; in the end they are whole numbers. What a limit is exceeded by is allowed at a penalty, so
that there is always a mixture and one sees which limits do not go together.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from optimizer.base.arrays import Flags, Floats, Ints
from optimizer.base.clock import Clock
from optimizer.program.formulation.model import Columns, assemble
from optimizer.program.formulation.rows import Rows, at_least, at_most, between, numbered, stacked
from optimizer.program.portfolio.shared import ServicePlan, Shared, SharedPrices
from optimizer.program.solver import SolverResult, solve_integer, solve_linear

NEXT_TO_NOTHING = 1e-6
"""What a limit is exceeded by where that is the solver's rounding."""


@dataclass(frozen=True, eq=False)
class PlanMixture:
    """The master's optimum.

    Attributes:
        usd: A month, penalties included.
        weights: (I,) of the plans.
        pools: (Q,) instances of each pool.
        excess: (L + Q + 1,) units by which each limit is exceeded, instances lent beyond a pool's most, and USD spent
            beyond the budget.
        prices: Of what is shared; None where the weights are whole numbers.
    """

    usd: float
    weights: Floats
    pools: Floats
    excess: Floats
    prices: SharedPrices | None = None

    @property
    def keeps_all(self) -> bool:
        """Whether nothing is exceeded."""
        return bool((self.excess <= NEXT_TO_NOTHING).all())


@dataclass(frozen=True, eq=False)
class PortfolioMaster:
    """The rows of the master; its columns are I plans, Q pools and L + Q + 1 excesses, the budget's last.

    Attributes:
        shared: What the plans share.
        counts: (K,) how many services there are of each kind.
        plans: At least one of each kind.
        penalty_usd: (L + Q + 1,) a month for each unit beyond a limit; infinite where none may be.
    """

    shared: Shared
    counts: Ints
    plans: Sequence[ServicePlan]
    penalty_usd: Floats

    def mixed(self, clock: Clock) -> PlanMixture | None:
        """The cheapest mixture and its prices; None where there is none or time ran out."""
        rows = self._rows()
        result = solve_linear(assemble(self._columns(whole=False), self._cost(), rows), clock)
        if result.status != "optimal" or not len(result.duals):
            return None
        size, price = (len(self.shared.most), len(self.shared.hours)), np.abs(result.duals)
        pooled = price[rows.blocks["pools"]].reshape(len(self.shared.pool_usd), size[1])
        budget = float(price[rows.blocks["budget"]].sum())
        return self._mixture(result, SharedPrices(price[rows.blocks["limits"]].reshape(size), pooled, budget))

    def chosen(self, clock: Clock, node_limit: int | None = None) -> PlanMixture | None:
        """The cheapest choice of whole plans; None where none was found."""
        model = assemble(self._columns(whole=True), self._cost(), self._rows())
        result = solve_integer(model, clock, node_limit=node_limit)
        return self._mixture(result, None) if len(result.values) else None

    def _mixture(self, result: SolverResult, prices: SharedPrices | None) -> PlanMixture:
        ends = np.cumsum([len(self.plans), len(self.shared.pool_usd)])
        values = result.values if prices is not None else np.where(self._whole(), np.rint(result.values), result.values)
        weights, pools, excess = np.split(np.maximum(values, 0.0), ends)
        return PlanMixture(float(self._cost() @ values), weights, pools, excess, prices)

    def _cost(self) -> Floats:
        """(columns,) USD a month; what may not be exceeded costs nothing, for it is bounded."""
        penalties = np.where(np.isfinite(self.penalty_usd), self.penalty_usd, 0.0)
        return np.concatenate([[plan.usd for plan in self.plans], self.shared.pool_usd, penalties])

    def _whole(self) -> Flags:
        kinds = (len(self.plans) + len(self.shared.pool_usd), len(self.penalty_usd))
        return np.repeat(np.array([True, False]), kinds)

    def _columns(self, *, whole: bool) -> Columns:
        most = np.where(np.isfinite(self.penalty_usd), np.inf, 0.0)
        upper = np.concatenate([np.full(len(self.plans), np.inf), self.shared.pool_most, most])
        return Columns(numbered("column", len(upper)), upper, self._whole() & whole)

    def _rows(self) -> Rows:
        """Blocks: each kind's weights, the limits by joint period, pools by joint period and at least, the budget."""
        shared, plans = self.shared, len(self.plans)
        limits, periods, pools = len(shared.most), len(shared.hours), len(shared.pool_usd)
        kind = np.array([plan.service for plan in self.plans], dtype=np.int64)
        # plan -> what it takes of each limit, then of each pool, in every joint period
        use = np.array([plan.use.ravel() for plan in self.plans]).reshape(plans, limits * periods)
        pooled = np.array([plan.pooled.ravel() for plan in self.plans]).reshape(plans, pools * periods)
        taking, limit_row = np.nonzero(use)
        borrowing, pool_row = np.nonzero(pooled)
        cost = np.concatenate([[plan.usd for plan in self.plans], shared.pool_usd])
        # limits and pools are as many rows as they have joint periods
        of_limit, of_pool = np.arange(limits * periods), np.arange(pools * periods)
        budgets = int(np.isfinite(shared.budget_usd))
        one, every = np.zeros(len(cost), dtype=np.int64), np.arange(len(cost))
        first_excess = plans + pools
        over = np.array([first_excess + limits + pools])
        return stacked(
            {
                "one": between(
                    numbered("one", len(self.counts)), self.counts, self.counts, (kind, np.arange(plans), 1.0)
                ),
                "limits": at_most(
                    numbered("limit", len(of_limit)),
                    np.repeat(shared.most, periods),
                    (limit_row, taking, use[taking, limit_row]),
                    (of_limit, first_excess + of_limit // periods, -1.0),
                ),
                "pools": at_most(
                    numbered("pool", len(of_pool)),
                    0.0,
                    (pool_row, borrowing, pooled[borrowing, pool_row]),
                    (of_pool, plans + of_pool // periods, -1.0),
                    (of_pool, first_excess + limits + of_pool // periods, -1.0),
                ),
                "signed": at_least(
                    numbered("signed", pools), shared.pool_least, (np.arange(pools), plans + np.arange(pools), 1.0)
                ),
                "budget": at_most(
                    numbered("budget", budgets),
                    shared.budget_usd,
                    (one[: budgets * len(cost)], every[: budgets * len(cost)], cost[: budgets * len(cost)]),
                    (one[:budgets], over[:budgets], -1.0),
                ),
            }
        )

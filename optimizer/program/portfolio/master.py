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
from optimizer.program.formulation.rows import Rows, Term, at_least, at_most, between, numbered, stacked
from optimizer.program.portfolio.shared import ServicePlan, Shared, SharedPrices, budget_rows
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
        """(columns,) USD a month; what may not be exceeded has no penalty, for it is bounded."""
        penalties = np.where(np.isfinite(self.penalty_usd), self.penalty_usd, 0.0)
        cost = np.append(self._paid(), 0.0)
        cost[-len(penalties) :] += penalties
        return cost

    def _paid(self) -> Floats:
        """(columns but the budget's,) USD a month that counts against it: an instance lent beyond a pool's most costs
        what its others do, so that nobody exceeds a pool to keep the budget."""
        plans, pool_usd = [plan.usd for plan in self.plans], self.shared.pool_usd
        return np.concatenate([plans, pool_usd, np.zeros(len(self.shared.most)), pool_usd])

    def _whole(self) -> Flags:
        kinds = (len(self.plans) + len(self.shared.pool_usd), len(self.penalty_usd))
        return np.repeat(np.array([True, False]), kinds)

    def _columns(self, *, whole: bool) -> Columns:
        most = np.where(np.isfinite(self.penalty_usd), np.inf, 0.0)
        upper = np.concatenate([np.full(len(self.plans), np.inf), self.shared.pool_most, most])
        return Columns(upper, self._whole() & whole)

    def _rows(self) -> Rows:
        """Blocks: each kind's weights, the limits by joint period, pools by joint period and at least, the budget."""
        shared, plans = self.shared, len(self.plans)
        pools = np.arange(len(shared.pool_usd))
        paid = self._paid()
        beyond = np.array([len(paid)])
        return stacked(
            {
                "one": self._all_served(),
                "limits": self._limited(),
                "pools": self._lent(),
                "signed": at_least(numbered("signed", len(pools)), shared.pool_least, (pools, plans + pools, 1.0)),
                "budget": budget_rows(paid, shared.budget_usd, (np.zeros_like(beyond), beyond, -1.0)),
            }
        )

    def _all_served(self) -> Rows:
        """The weights of each kind's plans sum to how many of it there are."""
        kind = np.array([plan.service for plan in self.plans], dtype=np.int64)
        names = numbered("one", len(self.counts))
        return between(names, self.counts, self.counts, (kind, np.arange(len(kind)), 1.0))

    def _limited(self) -> Rows:
        """(L x J) what plans take of a limit in a joint period, less what exceeds it, is at most what there is."""
        periods, first_excess = len(self.shared.hours), len(self.plans) + len(self.shared.pool_usd)
        row = np.arange(len(self.shared.most) * periods)
        beyond = (row, first_excess + row // periods, -1.0)
        taken = self._taken([plan.use for plan in self.plans], len(row))
        return at_most(numbered("limit", len(row)), np.repeat(self.shared.most, periods), taken, beyond)

    def _lent(self) -> Rows:
        """(Q x J) what plans have of a pool in a joint period is at most its instances and what is beyond them."""
        plans, pools, periods = len(self.plans), len(self.shared.pool_usd), len(self.shared.hours)
        row = np.arange(pools * periods)
        first_excess = plans + pools + len(self.shared.most)
        own, beyond = (row, plans + row // periods, -1.0), (row, first_excess + row // periods, -1.0)
        taken = self._taken([plan.pooled for plan in self.plans], len(row))
        return at_most(numbered("pool", len(row)), 0.0, taken, own, beyond)

    def _taken(self, by_plan: Sequence[Ints], rows: int) -> Term:
        """What each plan takes of each limit or pool in each joint period, as entries of so many rows."""
        taken = np.array([each.ravel() for each in by_plan]).reshape(len(by_plan), rows)
        plan, row = np.nonzero(taken)
        return row, plan, taken[plan, row]

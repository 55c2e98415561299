"""Who pays for what: a fair split of all that is paid, which sums to it exactly.

Few services, by Shapley's value: a service pays what it adds to the cost of those before it, in the mean of all orders.
A group costs what the cheapest choice among plans found costs it, each service's plan alone included. The only split
that sums to the total, charges equals equally, charges nothing to who adds nothing, and adds up over games (Shapley
1953).

Many services, by the prices at which plans go together: each pays its own bill, the pools' instances that it uses at
their prices hour by hour, and for what it takes of a scarce limit at the limit's price; what that brings in goes back
to all in proportion to what each would take alone, which is its right to the limit. Equals pay the same.

Either way what whole plans leave over is put on all in proportion, and where all together cost no more than each alone
nobody pays more than alone: what is beyond goes to the others in proportion to what they save.
"""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from itertools import combinations
from math import factorial
from typing import Final

import numpy as np

from optimizer.answers.portfolio.rounds import ChosenPlans, Search
from optimizer.base.arrays import Floats
from optimizer.base.clock import Clock
from optimizer.plan.record.fields import CENT
from optimizer.program.portfolio.master import PortfolioMaster
from optimizer.program.portfolio.shared import ServicePlan, SharedPrices

FEW: Final = 6
"""Services up to which every group of them is looked at."""

CAP: Final = "; where all together cost no more than alone nobody pays more than alone"
BY_ORDERS: Final = (
    "each pays what it adds to the cost of those before it, in the mean of all orders (Shapley), a group costing what "
    "the cheapest choice among the plans found costs it; equals pay the same" + CAP
)
BY_PRICES: Final = (
    "each pays its own bill, its hours of pools at their price in each hour, and for what it takes of a scarce limit "
    "beyond its right, which is in proportion to what it takes alone; equals pay the same" + CAP
)


def rule(services: int) -> str:
    """The rule for so many services, in words."""
    return BY_ORDERS if services <= FEW else BY_PRICES


def split(
    search: Search, chosen: ChosenPlans, alone_usd: Sequence[Decimal], alone_use: Floats, total: Decimal
) -> list[Decimal]:
    """What a service of each kind pays a month, so that all services together pay the total, up to cents.

    Args:
        search: With the prices of what is shared.
        chosen: The plans.
        alone_usd: (K,) of each kind for itself.
        alone_use: (K, L, 168) what a plan alone takes of each limit.
        total: What all is paid for together.
    """
    counts = search.counts.astype(float)
    alone = np.array([float(usd) for usd in alone_usd])
    if counts.sum() <= FEW:
        parts = _by_orders(search, chosen, alone, alone_use)
    else:
        parts = _by_prices(search, chosen, alone_use.max(axis=2, initial=0.0))
    parts = np.maximum(parts, 0.0)
    # what whole plans leave over, on all in proportion
    parts = parts * float(total) / max(float(counts @ parts), 1e-12)
    return [Decimal(repr(float(part))).quantize(CENT) for part in _capped(parts, alone, counts)]


def _by_orders(search: Search, chosen: ChosenPlans, alone: Floats, alone_use: Floats) -> Floats:
    """(K,) Shapley's value of a service of each kind."""
    nothing = np.zeros((len(search.shared.pool_usd), len(search.hour)), dtype=np.int64)
    plans = [each.plan for each in search.found]
    plans += [
        ServicePlan(kind, float(usd), search.by_period(use.astype(np.int64)), nothing)
        for kind, (usd, use) in enumerate(zip(alone, alone_use, strict=True))
    ]
    kind_of = np.repeat(np.arange(len(alone)), search.counts).tolist()
    everybody = tuple(range(len(kind_of)))
    groups = (group for size in everybody for group in combinations(everybody, size))
    cost = {group: _group_usd(search, plans, [kind_of[one] for one in group]) for group in groups}
    value = _shapley(cost | {everybody: chosen.usd}, len(everybody))
    return np.bincount(kind_of, value) / search.counts


def _shapley(cost: Mapping[tuple[int, ...], float], players: int) -> Floats:
    """(players,) what each adds to those before it, in the mean of all orders.

    Args:
        cost: Of each group, its members in rising order; what nobody costs is put on all alike.
        players: How many there are.
    """
    value = np.full(players, cost[()] / players)
    for group, usd in cost.items():
        # the share of orders in which just this group comes before the next
        share = factorial(len(group)) * factorial(max(players - len(group) - 1, 0)) / factorial(players)
        for one in set(range(players)) - set(group):
            value[one] += share * (cost[tuple(sorted((*group, one)))] - usd)
    return value


def _group_usd(search: Search, plans: Sequence[ServicePlan], kinds: list[int]) -> float:
    """A month of the cheapest choice for services of some kinds that keeps what is shared."""
    shared, counts = (
        search.shared,
        np.bincount(np.array(kinds, dtype=np.int64), minlength=len(search.counts)).astype(np.int64),
    )
    none_may = np.full(len(shared.most) + len(shared.pool_usd) + 1, np.inf)
    found = PortfolioMaster(shared, counts, plans, none_may).chosen(Clock())
    if found is None:
        raise ValueError("what all keep together a part of them keeps")
    return found.usd


def _by_prices(search: Search, chosen: ChosenPlans, alone_use: Floats) -> Floats:
    """(K,) bills, pools and limits at their prices, in the mean of services that are alike."""
    counts, prices = search.counts.astype(float), search.prices
    parts = np.array([sum(each.plan.usd for each in plans) for plans in chosen.plans]) / counts
    if prices is None:
        return np.asarray(parts)
    # what services of a kind take of limits and pools, at their prices
    taken = np.array([sum(_charged(prices, each.plan) for each in plans) for plans in chosen.plans])
    # (K, L) the part of a limit that all services of a kind have a right to
    right = alone_use * counts[:, None]
    right = right / np.maximum(right.sum(axis=0), 1e-12)
    use = np.sum([each.plan.use for plans in chosen.plans for each in plans], axis=0)
    back = right @ (prices.use * use).sum(axis=1)
    return np.asarray(parts + (taken - back) / counts / (1 + prices.budget))


def _charged(prices: SharedPrices, plan: ServicePlan) -> float:
    """What a plan pays for limits and pools."""
    return float((prices.use * plan.use).sum() + (prices.pooled * plan.pooled).sum())


def _capped(parts: Floats, alone: Floats, counts: Floats) -> Floats:
    """(K,) nobody pays more than alone, as far as that can be; what is beyond goes where there is room."""
    beyond = float(counts @ np.maximum(parts - alone, 0.0))
    room = np.maximum(alone - parts, 0.0)
    spare = float(counts @ room)
    if beyond <= 0 or spare < beyond:
        return parts
    return np.asarray(np.minimum(parts, alone) + room * beyond / spare)


def in_cents(parts: Sequence[Decimal], total: Decimal) -> list[Decimal]:
    """The parts in cents, the last cents on the first of them, so that they sum to the total exactly."""
    left = total - sum(parts, Decimal(0))
    each = CENT if left > 0 else -CENT
    found = list(parts)
    # who pays nothing is not paid a cent
    paying = [position for position, part in enumerate(parts) if part + each >= 0]
    for position in paying[: int(abs(left) / CENT)]:
        found[position] += each
    if paying:
        found[paying[0]] += total - sum(found, Decimal(0))
    return found

"""Who pays for what: a fair split of all that is paid, which sums to it exactly.

Few services, by Shapley's value: a service pays what it adds to the cost of those before it, in the mean of all orders.
A group costs the least that is known for it under what is shared (`groups`), each service's plan alone included. The
only split that sums to the total, charges equals equally, charges nothing to who adds nothing, and adds up over games
(Shapley 1953).

Many services, by the prices at which plans go together: each pays its own bill, the pools' instances that it uses at
their prices hour by hour, and for what it takes of a scarce limit at the limit's price; what that brings in goes back
to all in proportion to what each would take alone, which is its right to the limit. Equals pay the same.

Either way what whole plans leave over is put on all in proportion, and where all together cost no more than each alone
nobody pays more than alone: what is beyond goes to the others in proportion to what they save.
"""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from math import factorial
from typing import Final, NamedTuple

import numpy as np

from optimizer.answers.many.portfolio.desk import Desk
from optimizer.answers.many.portfolio.groups import Group, group_costs
from optimizer.answers.many.portfolio.rounds import ChosenPlans, NumberedPlan, Search
from optimizer.answers.many.portfolio.whole import NO_GAP
from optimizer.base.arrays import Floats
from optimizer.base.clock import Clock
from optimizer.plan.record.fields import CENT
from optimizer.program.portfolio.shared import ServicePlan, SharedPrices

FEW: Final = 6
"""Services up to which every group of them is looked at."""

TOLD: Final = 1.0
"""A share that what is open of a group's cost is told below."""

CAP: Final = "; where all together cost no more than alone nobody pays more than alone"
BY_ORDERS: Final = (
    "each pays what it adds to the cost of those before it, in the mean of all orders (Shapley), a group costing "
    "{cost}; equals pay the same" + CAP
)
LEAST: Final = "the least that it can under what is shared"
FOUND: Final = "what the cheapest choice among the plans found costs it"
BY_PRICES: Final = (
    "each pays its own bill, its hours of pools at their price in each hour, and for what it takes of a scarce limit "
    "beyond its right, which is in proportion to what it takes alone; equals pay the same" + CAP
)


def rule_for(services: int, open_share: float = 0.0) -> str:
    """The rule for so many services in words, given by how much a group may cost more than its least."""
    if services > FEW:
        return BY_PRICES
    if open_share <= NO_GAP:
        return BY_ORDERS.format(cost=LEAST)
    above = f"at most {open_share:.1%} above the least" if open_share < TOLD else "which may be above the least"
    return BY_ORDERS.format(cost=f"{FOUND}, {above}")


class PaidParts(NamedTuple):
    """What a service of each kind pays a month (K,), and the rule in words."""

    pays: list[Decimal]
    rule: str


def split(
    search: Search,
    chosen: ChosenPlans,
    alone_usd: Sequence[Decimal],
    alone_use: Floats,
    total: Decimal,
    *,
    desk: Desk,
    clock: Clock,
) -> PaidParts:
    """What a service of each kind pays a month, so that all services together pay the total, up to cents.

    Args:
        search: With the prices of what is shared.
        chosen: The plans.
        alone_usd: (K,) of each kind for itself.
        alone_use: (K, L, 168) what a plan alone takes of each limit.
        total: What all is paid for together.
        desk: Whom services are asked through for what groups of them cost.
        clock: For that.
    """
    counts = search.counts.astype(float)
    alone, open_share = np.array([float(usd) for usd in alone_usd]), 0.0
    if counts.sum() <= FEW:
        costs = group_costs(search, chosen, _plans_alone(search, alone_usd, alone_use), desk, clock)
        parts, open_share = _by_orders(search, costs.usd), costs.open_share
    else:
        parts = _by_prices(search, chosen, alone_use.max(axis=2, initial=0.0))
    parts = np.maximum(parts, 0.0)
    # what whole plans leave over, on all in proportion
    parts = parts * float(total) / max(float(counts @ parts), 1e-12)
    pays = [Decimal(repr(float(part))).quantize(CENT) for part in _capped(parts, alone, counts)]
    return PaidParts(pays, rule_for(int(counts.sum()), open_share))


def _plans_alone(search: Search, alone_usd: Sequence[Decimal], alone_use: Floats) -> list[NumberedPlan]:
    """Each kind's plan for itself, which uses no pool."""
    nothing = np.zeros((len(search.shared.pool_usd), len(search.hour)), dtype=np.int64)
    uses = [search.by_period(use.astype(np.int64)) for use in alone_use]
    return [
        NumberedPlan(ServicePlan(kind, float(usd), use, nothing), -1, usd)
        for kind, (usd, use) in enumerate(zip(alone_usd, uses, strict=True))
    ]


def _by_orders(search: Search, cost: Mapping[Group, float]) -> Floats:
    """(K,) Shapley's value of a service of each kind."""
    kind_of = np.repeat(np.arange(len(search.counts)), search.counts)
    return np.asarray(np.bincount(kind_of, _shapley(cost, len(kind_of))) / search.counts)


def _shapley(cost: Mapping[Group, float], players: int) -> Floats:
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

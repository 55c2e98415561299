"""Who pays for what: a split of all that is paid, by the prices at which plans go together.

Each service pays its own bill, the pools' instances that it uses at their prices hour by hour, and for what it takes of
a scarce limit at the limit's price; what that brings in goes back to all in proportion to what each would take alone,
which is its right to the limit. So who gives way to others is paid for it by them. Equal services pay the same. What is
left to the total, for plans are whole, is put on all in proportion. Where all together cost no more than each alone,
nobody pays more than alone: what is beyond goes to the others in proportion to what they save.

Its axioms: the parts sum to the total; equals pay equally; who takes nothing that is shared and gains nothing by it
pays his own bill and his part of the rounding to whole plans; and the cap above.
"""

from collections.abc import Sequence
from decimal import Decimal
from typing import Final

import numpy as np

from optimizer.answers.portfolio.rounds import Chosen, Search
from optimizer.base.arrays import Floats
from optimizer.plan.record.fields import CENT

RULE: Final = (
    "each pays its own bill, its hours of pools at their price in each hour, and for what it takes of a scarce limit "
    "beyond its right, which is in proportion to what it takes alone; equals pay the same, and where all together cost "
    "no more than alone nobody pays more than alone"
)


def split(
    search: Search, chosen: Chosen, alone_usd: Sequence[Decimal], alone_use: Floats, total: Decimal
) -> list[Decimal]:
    """What a service of each kind pays a month, so that all services together pay the total, up to cents.

    Args:
        search: With the prices of what is shared.
        chosen: The plans.
        alone_usd: (K,) of each kind for itself.
        alone_use: (K, L) the most that a plan alone takes of each limit.
        total: What all is paid for together.
    """
    counts, prices = search.counts.astype(float), search.prices
    alone = np.array([float(usd) for usd in alone_usd])
    parts = np.array([sum(each.plan.usd for each in plans) for plans in chosen.plans]) / counts
    if prices is not None:
        # kind -> what a service of it pays for pools and limits, in the mean of those that are alike
        taken = [sum(float((prices.use * p.plan.use).sum()) for p in plans) for plans in chosen.plans]
        lent = [sum(float((prices.pooled * p.plan.pooled).sum()) for p in plans) for plans in chosen.plans]
        scarce = prices.use.sum(axis=1)
        right = alone_use * counts[:, None] / np.maximum((alone_use * counts[:, None]).sum(axis=0), 1e-12)
        back = right @ (scarce * _used(search, chosen))
        parts = parts + (np.array(taken) + np.array(lent) - back) / counts / (1 + prices.budget)
    parts = np.maximum(parts, 0.0)
    # what whole plans leave over, on all in proportion
    parts = parts * float(total) / max(float(counts @ parts), 1e-12)
    return [Decimal(repr(float(part))).quantize(CENT) for part in _capped(parts, alone, counts)]


def _used(search: Search, chosen: Chosen) -> Floats:
    """(L,) what of each limit is paid for, at its mean price: all of it where it is scarce all the time."""
    prices = search.prices
    if prices is None:
        return np.zeros(len(search.shared.most))
    use = np.sum([each.plan.use for plans in chosen.plans for each in plans], axis=0)
    total = prices.use.sum(axis=1)
    return np.asarray((prices.use * use).sum(axis=1) / np.where(total > 0, total, 1.0))


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
    for position in range(min(int(abs(left) / CENT), len(found))):
        found[position] += each
    if found:
        found[0] += total - sum(found, Decimal(0))
    return found

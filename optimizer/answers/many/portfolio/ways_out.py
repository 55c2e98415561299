"""Where services do not go together: which shared limits conflict, and each raised until they do, solved again."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from optimizer.answers.many.portfolio.desk import Desk
from optimizer.answers.many.portfolio.rounds import Search, chosen, searched
from optimizer.answers.many.portfolio.types import Conflicting
from optimizer.answers.many.portfolio.whole import NO_GAP, proven_together
from optimizer.base.clock import Clock
from optimizer.inputs.scenario.portfolio import Portfolio
from optimizer.plan.portfolio.limits import SharedLimit
from optimizer.plan.record.explanation import FieldChange, Relaxation
from optimizer.program.portfolio.master import NEXT_TO_NOTHING
from optimizer.program.portfolio.shared import Shared

MOST_RAISED: Final = 5
"""Limits that are tried, those of the highest price first."""

ROUNDS: Final = 12
NODES: Final = 500


def conflict_of(search: Search, limits: Sequence[SharedLimit], portfolio: Portfolio) -> list[Conflicting]:
    """The limits that have a price where plans come nearest to going together: what is asked of them beside the others
    is more than there is."""
    found = []
    for number in _involved(search):
        field, most, unit = _stated(search, limits, portfolio, number)
        over = float(search.mixture.excess[number]) if search.mixture else 0.0
        text = f"{field}: at most {most:,} {unit} for all services together"
        text += f"; the nearest mixture of plans takes {over:,.1f} more" if over > NEXT_TO_NOTHING else ""
        found.append(Conflicting(requirement=field, value=most, text=text))
    return found


def ways_out(
    search: Search, desk: Desk, clock: Clock, limits: Sequence[SharedLimit], portfolio: Portfolio, wanted_gap: float
) -> list[Relaxation]:
    """Each limit in the conflict raised alone, as far as the plans found ask for; the cheapest first."""
    involved = _involved(search)[:MOST_RAISED]
    stated = ((number, _stated(search, limits, portfolio, number)) for number in involved)
    ways = (_raised(search, desk, clock, number, field, wanted_gap=wanted_gap) for number, field in stated)
    found = [way for way in ways if way is not None]
    return sorted(found, key=lambda way: (way.monthly_cost_usd, way.text))


def _raised(
    search: Search, desk: Desk, clock: Clock, number: int, stated: tuple[str, float, str], *, wanted_gap: float
) -> Relaxation | None:
    """One limit raised; None where the others conflict without it."""
    if clock.expired:
        return None
    field, most, unit = stated
    nearest = search.master((number,)).chosen(clock.share(0.5), NODES)
    if nearest is None:
        return None
    after = math.ceil(most + float(nearest.excess[number]) - NEXT_TO_NOTHING)
    again = searched(search.under(_with(search.shared, number, after)), desk, clock.share(0.5), wanted_gap, ROUNDS)
    best = proven_together(again, chosen(again, clock), desk, clock)
    if best is None:
        return None
    usd, gap = best.in_bills(search.shared.pool_usd), max(1 - again.bound_usd / best.usd, 0.0)
    text = f"{field} from {most:,} to {after:,} {unit}: then all go together for ${usd:,.2f} a month"
    text += ", proven the least" if gap <= NO_GAP else f", within {gap:.2%} of the least"
    change = FieldChange.model_validate({"field": field, "from": most, "to": after, "unit": unit})
    return Relaxation(changes=[change], monthly_cost_usd=usd, text=text)


def _involved(search: Search) -> list[int]:
    """The limits that have a price in the last mixture, the dearest first; then pools, then the budget."""
    mixture = search.mixture
    if mixture is None or mixture.prices is None:
        return []
    prices, shared, over = mixture.prices, search.shared, mixture.excess
    # beyond what an instance of a pool costs there is a price on there being no more of them
    lent = prices.pooled.sum(axis=1) - (1 + prices.budget) * shared.pool_usd
    price = np.concatenate([prices.use.sum(axis=1), lent, [prices.budget]])
    involved = (price > NEXT_TO_NOTHING) | (over > NEXT_TO_NOTHING)
    involved[-1] |= search.over_budget
    return sorted(np.flatnonzero(involved).tolist(), key=lambda number: (-over[number], -price[number], number))


def _with(shared: Shared, number: int, after: int) -> Shared:
    """The same with one limit, pool or the budget raised."""
    limits, pools = len(shared.most), len(shared.pool_usd)
    if number == limits + pools:
        return replace(shared, budget_usd=float(after))
    most, pool_most = shared.most.copy(), shared.pool_most.copy()
    if number < limits:
        most[number] = after
    else:
        pool_most[number - limits] = after
    return replace(shared, most=most, pool_most=pool_most)


def _stated(search: Search, limits: Sequence[SharedLimit], portfolio: Portfolio, number: int) -> tuple[str, float, str]:
    """Where a limit, a pool or the budget is stated, how much it allows and of what."""
    if number == len(limits) + len(portfolio.pools):
        usd = search.shared.budget_usd
        return "max_monthly_usd", int(usd) if usd.is_integer() else usd, "USD a month"
    if number >= len(limits):
        pool = portfolio.pools[number - len(limits)]
        return f"pools[{pool.name}].max_instances", pool.max_instances, "instances"
    limit = limits[number]
    field = limit.field if limit.field == "max_gpus" or limit.quota is None else f"{limit.field}.max_gpus"
    return field, limit.most, limit.unit

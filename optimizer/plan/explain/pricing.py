"""At which price another plan takes over: exact, by moving from one plan's cost line to the next below it."""

from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property
from typing import Final

import numpy as np

from optimizer.base.arrays import Flags
from optimizer.base.clock import LimitReached
from optimizer.plan.question.inquiry import Answer, Inquiry
from optimizer.plan.question.solving import solved
from optimizer.plan.readback.outline import outlined
from optimizer.plan.record.fleet import Outline

MAX_LINES: Final = 50
"""Plans tried before giving up; each has a cost line of its own, and a handful is usual."""
SAME_COST: Final = Decimal("0.005")
"""USD a month within which two costs are the same: half a cent."""


@dataclass(frozen=True)
class Crossing:
    """Where another plan takes over.

    Attributes:
        factor: On the prices that are moved; at it both plans cost the same.
        answer: Whose plan is the one beyond, at the prices of today.
        monthly_cost_usd: What either costs there.
    """

    factor: Decimal
    answer: Answer
    monthly_cost_usd: Decimal

    @cached_property
    def plan(self) -> Outline:
        """The plan beyond, at the prices of today."""
        return outlined(self.answer)


def crossing(inquiry: Inquiry, chosen: Outline, moved: Flags, end: Decimal) -> Crossing | None:
    """The factor on some prices, between 1 and `end`, at which the chosen plan stops being the cheapest.

    A plan's cost is a line over the factor s, rest + s · moved. Starting from the best plan at the end, the factor at
    which its line meets the chosen plan's is solved again; as long as a third plan is cheaper there, that one takes
    its place. Each step moves towards 1, over finitely many plans, so the last meeting point is exact. A budget is not
    looked at: what dearer prices leave of it `within_budget_to` says.

    Args:
        inquiry: Solved to `chosen` at today's prices.
        chosen: The plan to leave.
        moved: (O,) offers of the market whose prices move together.
        end: The factor to look up to; below 1 for cheaper, above for dearer.

    Raises:
        LimitReached: no time was left to compare with.
    """
    inquiry = inquiry.under_policy(max_monthly_usd=None)
    rest, part = _line(inquiry, chosen, moved)
    rival = _best(inquiry, moved, end)
    for _ in range(MAX_LINES):
        other_rest, other_part = _line(inquiry, outlined(rival), moved)
        if other_part == part:
            return None
        factor = (other_rest - rest) / (part - other_part)
        if not min(Decimal(1), end) <= factor <= max(Decimal(1), end):
            return None
        there = rest + factor * part
        nearer = _best(inquiry, moved, factor)
        if _cost(_line(inquiry, outlined(nearer), moved), factor) >= there - SAME_COST:
            return Crossing(factor, rival, there)
        rival = nearer
    return None


def _best(inquiry: Inquiry, moved: Flags, factor: Decimal) -> Answer:
    """The best plan with those prices times the factor, told at the prices of today."""
    answer = solved(repriced(inquiry, moved, factor))
    if answer.solution.outcome != "optimal":
        raise LimitReached(answer.solution.ended_by or "time limit")
    return replace(answer, inquiry=inquiry)


def within_budget_to(inquiry: Inquiry, chosen: Outline, moved: Flags) -> Decimal | None:
    """The factor on some prices at which the chosen plan costs as much as the budget; None where nothing limits it."""
    budget = inquiry.scenario.policy.max_monthly_usd
    rest, part = _line(inquiry, chosen, moved)
    return None if budget is None or not part else (Decimal(str(budget)) - rest) / part


def repriced(inquiry: Inquiry, moved: Flags, factor: Decimal) -> Inquiry:
    """The inquiry with some offers' prices times a factor."""
    offers = tuple(
        offer.model_copy(update={"price_usd_per_hour": offer.price_usd_per_hour * factor}) if moves else offer
        for offer, moves in zip(inquiry.market.offers, moved.tolist(), strict=True)
    )
    prices = np.where(moved, inquiry.market.price_usd_per_hour * float(factor), inquiry.market.price_usd_per_hour)
    return replace(inquiry, market=replace(inquiry.market, offers=offers, price_usd_per_hour=prices))


def _line(inquiry: Inquiry, plan: Outline, moved: Flags) -> tuple[Decimal, Decimal]:
    """A plan's monthly cost on offers that keep their price, and on those whose price moves, as of today."""
    names = {offer.id for offer, moves in zip(inquiry.market.offers, moved.tolist(), strict=True) if moves}
    part = sum((p.monthly_cost_usd for p in plan.purchases if p.offer in names), Decimal(0))
    return plan.monthly_cost_usd - part, part


def _cost(line: tuple[Decimal, Decimal], factor: Decimal) -> Decimal:
    return line[0] + factor * line[1]

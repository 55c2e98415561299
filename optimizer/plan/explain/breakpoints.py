"""How far each limit, the demand and each price may move before other instances are bought, and which then."""

import math
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from functools import partial
from typing import Final

import numpy as np

from optimizer.inputs.requirements.stated import shown
from optimizer.plan.explain.comparing import Held
from optimizer.plan.explain.levers import Direction, Lever, is_demand
from optimizer.plan.explain.marginal import Varied, bought, no_dearer, varied, varied_cost_usd
from optimizer.plan.explain.pricing import SAME_COST, crossing, within_budget_to
from optimizer.plan.question.inquiry import Answer, Inquiry
from optimizer.plan.question.narrowing import restricted
from optimizer.plan.readback.summary import summarized
from optimizer.plan.record.explanation import Breakpoint
from optimizer.plan.record.fleet import Outline, PlannedFleet, Purchase

PRECISION: Final = 1.01
"""Limits are bracketed to one percent: nobody negotiates a service level finer."""
DIGITS: Final = 4
PRICE_ENDS: Final = {"dearer": Decimal(4), "cheaper": Decimal("0.25")}
DOUBTED: Final = ", by formulas alone: it was not seen to keep every promise when requests arrive one by one"
"""Of a plan that takes over: whoever asks for a plan at that value gets another one."""
PRICE_DIGITS: Final = Decimal("0.0001")


def limit_breakpoints(
    inquiry: Inquiry, as_simple: Inquiry, chosen: PlannedFleet, moved: Sequence[Lever], held: Held
) -> Iterator[Breakpoint]:
    """Bracketed by bisection on the offers of one plan, which is cheap, and proven by solves over all offers.

    The side on which the plan holds is proven, not sampled: tightening leaves it the cheapest of fewer plans for as
    long as its offers meet the limits at its cost, and loosening only lowers the optimum, which has not moved.
    Proven is that of formulas: what takes over is simulated, and told as what it is where it breaks a promise, for a
    plan asked for at that value is then another one.

    Args:
        inquiry: The question, whose answer at a tighter value is what takes over there, of more instances or not.
        as_simple: The same among plans no more complicated than the chosen one, of which it is the cheapest.
        chosen: The plan.
        moved: What to move.
        held: Whether a plan keeps its promises in simulation.
    """
    own = restricted(as_simple, [name for name, _ in bought(chosen)])
    for lever in moved:
        if chosen.hosted and is_demand(lever.field):
            # what is paid by the request costs something else at every demand
            continue
        if "tighter" in lever.ends:
            yield _tighter(inquiry, own, chosen, lever, held)
        if "looser" in lever.ends:
            yield _looser(as_simple, chosen, lever, held)


def _tighter(inquiry: Inquiry, own: Inquiry, chosen: PlannedFleet, lever: Lever, held: Held) -> Breakpoint:
    """The tightest value at which the plan's own offers still do at its cost, then what all offers do beyond."""
    end = lever.ends["tighter"]
    if no_dearer(own, lever, chosen, end):
        return _told(lever, "tighter", end, None, None)
    holds, changes = _bracket(lever, lever.value, end, partial(no_dearer, own, lever, chosen))
    beyond = varied(inquiry, lever.field, changes)
    return _told(lever, "tighter", holds, changes, beyond, is_held=_is_held(beyond.answer, held))


def _is_held(answer: Answer | None, held: Held) -> bool | None:
    """Whether few simulated requests say that a plan keeps every promise; None where there is no plan."""
    return None if answer is None else held(answer.inquiry, answer, None) is not None


def _looser(inquiry: Inquiry, chosen: PlannedFleet, lever: Lever, held: Held) -> Breakpoint:
    """From the best plan at the end inwards: where it first saves, whether another already saves before."""
    changes, beyond = lever.ends["looser"], varied(inquiry, lever.field, lever.ends["looser"])
    holds = changes
    while _saves(beyond.plan, chosen):
        own = restricted(inquiry, [name for name, _ in bought(beyond.plan or chosen)])
        holds, changes = _bracket(lever, lever.value, changes, partial(_saves_nothing, own, lever, chosen))
        nearer = varied(inquiry, lever.field, holds)
        if not _saves(nearer.plan, chosen):
            # at the end of the range another plan may be best, or the same one in fewer hours
            found = varied(inquiry, lever.field, changes)
            return _told(lever, "looser", holds, changes, found, is_held=_is_held(found.answer, held))
        changes, beyond = holds, nearer
    return _told(lever, "looser", holds, None, None)


def _saves_nothing(inquiry: Inquiry, lever: Lever, chosen: PlannedFleet, value: float) -> bool:
    return varied_cost_usd(inquiry, lever.field, value) >= float(chosen.monthly_cost_usd - SAME_COST)


def _saves(plan: Outline | None, chosen: PlannedFleet) -> bool:
    return plan is not None and plan.monthly_cost_usd < chosen.monthly_cost_usd - SAME_COST


def _bracket(lever: Lever, holds: float, changes: float, keeps: Callable[[float], bool]) -> tuple[float, float]:
    """Two neighbouring values of which the first keeps the plan and the second does not."""
    while (middle := _between(holds, changes, lever.whole)) is not None:
        if keeps(middle):
            holds = middle
        else:
            changes = middle
    return holds, changes


def _between(holds: float, changes: float, whole: bool) -> float | None:
    """A value halfway by ratio that people would write; None when the two are close enough."""
    if whole:
        return None if abs(holds - changes) <= 1 else float((holds + changes) // 2)
    if max(holds, changes) <= PRECISION * min(holds, changes):
        return None
    middle = float(f"{math.sqrt(holds * changes):.{DIGITS}g}")
    return middle if min(holds, changes) < middle < max(holds, changes) else None


def _told(
    lever: Lever,
    direction: Direction,
    holds: float,
    changes: float | None,
    beyond: Varied | None,
    *,
    is_held: bool | None = None,
) -> Breakpoint:
    plan = beyond.plan if beyond else None
    summary = summarized(plan) if plan else ""
    start = f"{lever.what}, now {shown(lever.value, lever.unit)}, {direction}"
    if changes is None or beyond is None:
        text = f"{start}: nothing changes up to {shown(holds, lever.unit)}"
    elif plan is None:
        text = f"{start}: no plan from {shown(changes, lever.unit)} on"
    else:
        text = f"{start}: from {shown(changes, lever.unit)} on ${plan.monthly_cost_usd:,.2f} a month, {summary}"
        text += DOUBTED if is_held is False else ""
    return Breakpoint.model_validate(
        {
            "kind": "limit",
            "field": lever.field,
            "what": lever.what,
            "direction": direction,
            "from": lever.value,
            "holds_to": holds,
            "changes_at": changes,
            "unit": lever.unit,
            "outcome": beyond.outcome if beyond else None,
            "monthly_cost_usd": plan.monthly_cost_usd if plan else None,
            "summary": summary,
            "plan_holds": is_held,
            "text": text,
        }
    )


def price_breakpoints(inquiry: Inquiry, chosen: PlannedFleet, held: Held) -> Iterator[Breakpoint]:
    """For every offer that the plan buys, exactly: the price at which another plan costs the same."""
    for purchase in chosen.purchases:
        for direction, end in PRICE_ENDS.items():
            yield _price_breakpoint(inquiry, chosen, purchase, (direction, end), held)


def _price_breakpoint(
    inquiry: Inquiry, chosen: PlannedFleet, purchase: Purchase, towards: tuple[str, Decimal], held: Held
) -> Breakpoint:
    direction, end = towards
    moved = np.array([offer.id == purchase.offer for offer in inquiry.market.offers], dtype=np.bool_)
    offer = inquiry.market.offers[int(np.flatnonzero(moved)[0])]
    term = "" if offer.pricing_term == "on_demand" else f" {offer.pricing_term}"
    what = f"price of {offer.gpu_count}×{offer.gpu} at {offer.provider} {offer.region}{term}"
    met, over_budget = crossing(inquiry, chosen, moved, end), False
    spent = within_budget_to(inquiry, chosen, moved)
    if end > 1 and spent is not None and spent < (met.factor if met else end):
        # the budget is used up before another plan costs as little
        met, end, over_budget = None, spent, True
    today = purchase.price_usd_per_hour
    price = (today * (met.factor if met else end)).quantize(PRICE_DIGITS)
    summary = summarized(met.plan) if met else ""
    is_held = None if met is None else _is_held(met.answer, held)
    start = f"{what}, now ${today} an hour, {direction}"
    if over_budget:
        text = f"{start}: no plan within the budget beyond ${price}"
    elif met is None:
        text = f"{start}: nothing changes up to ${price}"
    elif met.factor == 1:
        text = f"{start}: any change brings {summary}, which costs the same today"
    else:
        change = f"{(met.factor - 1) * 100:+.1f}".replace("-", "−")
        text = f"{start}: at ${price} ({change} %) ${met.monthly_cost_usd:,.2f} a month, {summary}"
    text += DOUBTED if is_held is False else ""
    return Breakpoint.model_validate(
        {
            "kind": "price",
            "field": purchase.offer,
            "what": what,
            "direction": direction,
            "from": float(today),
            "holds_to": float(price),
            "changes_at": float(price) if met or over_budget else None,
            "unit": "USD/h",
            "outcome": "infeasible" if over_budget else "optimal" if met else None,
            "monthly_cost_usd": met.monthly_cost_usd if met else None,
            "summary": summary,
            "plan_holds": is_held,
            "text": text,
        }
    )

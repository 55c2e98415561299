"""The price at which a choice becomes part of the plan: beside what the plan has, or in place of all of it."""

from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Final, Literal, NamedTuple

from optimizer.answers.planning.until_it_holds import MOST_ROUNDS, counted_on_for_less
from optimizer.base.clock import Limit, until_limit
from optimizer.base.model import Strict
from optimizer.plan.explain.comparing import NONE_HOLDS
from optimizer.plan.explain.pricing import Crossing, crossing
from optimizer.plan.question.forcing import OF_OFFERS, Choice, offers_of
from optimizer.plan.question.inquiry import Inquiry
from optimizer.plan.readback.summary import summarized
from optimizer.plan.record.fields import Figure
from optimizer.plan.record.fleet import PlannedFleet

CHEAPEST: Final = Decimal("0.01")
"""Prices are lowered to one percent at most: a discount beyond is no price."""
SAME_FACTOR: Final = Decimal("1e-9")
"""Within which two prices are the same."""
ENTERS: Final = "it enters the plan"
WHOLE: Final = "it is the whole plan at the same cost"
WHOLE_FIRST: Final = "it costs as much as the plan, with more to operate"
AS_SIMPLE: Final = "it stands in a plan with no more to operate"
"""What a discount makes of a choice; where the whole of it needs the smaller one, plans as simple need the other."""
LEAST_ASKED: Final = Decimal("0.1")
NO_PRICE_OF_TODAY: Final = "no price that anyone would ask: only "
"""Before a price of less than so much of today's."""
NO_PRICE: Final = f"no price lets it in beside others, for {NONE_HOLDS}"


class EntryPrices(NamedTuple):
    """At which prices a choice becomes part of the plan.

    Attributes:
        found: The smallest discount first.
        broken: What would be a price by formulas, in words, had it a plan that keeps its promises.
        limit: What cut this short.
    """

    found: list["EntryPrice"]
    broken: tuple[str, ...]
    limit: Limit | None


class EntryPrice(Strict):
    """The price at which the choice becomes part of the plan, all other prices as they are."""

    way: Literal["beside", "alone"]
    """Beside other offers in the plan, or carrying all of it."""
    discount_percent: Figure
    summary: str
    text: str


def entry_prices(as_simple: Inquiry, choice: Choice, chosen: PlannedFleet, least: PlannedFleet) -> EntryPrices:
    """The discounts at which a choice becomes part of a plan that keeps its promises under simulated load.

    Args:
        as_simple: The question for plans as simple as the one that is shown.
        choice: What was proposed.
        chosen: The plan that is shown.
        least: The cheapest plan on the choice alone that keeps them.
    """
    met, limit = until_limit(_beside(as_simple, choice, chosen))
    broken = (NO_PRICE,) if None in met else ()
    return EntryPrices(_entries([each for each in met if each], chosen.monthly_cost_usd, least), broken, limit)


def _beside(inquiry: Inquiry, choice: Choice, chosen: PlannedFleet) -> Iterator[Crossing | None]:
    """Cheaper until it stands in the plan beside others, where only offers were named; None where none holds.

    Where the plan at that price breaks a promise its replicas are counted on for less, and the price is another.
    """
    if set(choice.given()) - {*OF_OFFERS}:
        return
    moved = offers_of(choice, inquiry.market)
    for _ in range(MOST_ROUNDS):
        met = crossing(inquiry, chosen, moved, CHEAPEST)
        if met is None:
            return
        lowered = counted_on_for_less(inquiry, met.answer)
        if lowered is None:
            break
        if not lowered:
            yield met
            return
        inquiry = inquiry.with_lowered(lowered)
    yield None


def _entries(beside: Sequence[Crossing], chosen_usd: Decimal, least: PlannedFleet) -> list[EntryPrice]:
    """Cheaper until it stands in the plan beside others, and until it carries all; the smaller discount first."""
    whole, carries_all = chosen_usd / least.monthly_cost_usd, summarized(least)
    if not beside:
        return [_entry("alone", whole, WHOLE, carries_all)]
    (met,) = beside
    stands_in = summarized(met.plan)
    if whole > met.factor + SAME_FACTOR:
        return [_entry("alone", whole, WHOLE_FIRST, carries_all), _entry("beside", met.factor, AS_SIMPLE, stands_in)]
    enters = _entry("beside", met.factor, ENTERS, stands_in)
    return [enters] if whole >= met.factor - SAME_FACTOR else [enters, _entry("alone", whole, WHOLE, carries_all)]


def _entry(way: Literal["beside", "alone"], factor: Decimal, what: str, summary: str) -> EntryPrice:
    discount = float((1 - factor) * 100)
    nobody = NO_PRICE_OF_TODAY if factor < LEAST_ASKED else ""
    text = f"{nobody}{discount:.1f} % cheaper {what}: {summary}"
    return EntryPrice(way=way, discount_percent=discount, summary=summary, text=text)

"""Quotes to ask for before signing: whose price is old or was computed, and how far a quote may exceed it."""

from collections.abc import Iterator, Sequence
from decimal import ROUND_FLOOR, Decimal
from typing import Final

from optimizer.inputs.catalog.kinds import OWNED, SPOT
from optimizer.plan.record.explanation import Alternative
from optimizer.plan.record.fleet import Deployment

TENTH: Final = Decimal("0.1")


def price_doubts(deployments: Sequence[Deployment]) -> Iterator[str]:
    """Whose price is old or not from a list, in a sentence; in another one spot prices, for which nobody quotes."""
    spot = [d for d in deployments if d.pricing_term == SPOT]
    yield from _doubted("ask for a quote, the price may not be today's", [d for d in deployments if d not in spot])
    yield from _doubted("look up today's spot price", spot)


def _doubted(remedy: str, deployments: Sequence[Deployment]) -> Iterator[str]:
    """What to do of which of these prices, where one is doubted."""
    # what speaks against the price -> whose
    doubts: dict[str, dict[str, None]] = {}
    for d in deployments:
        if doubt := _doubt(d):
            doubts.setdefault(doubt, {})[f"{d.gpus_per_instance}×{d.gpu} at {d.provider}"] = None
    if doubts:
        yield f"{remedy}: " + ", ".join(f"{', '.join(offers)} ({doubt})" for doubt, offers in doubts.items())


def _doubt(d: Deployment) -> str:
    """What speaks against its price; empty where nothing does, as of one's own hardware."""
    price = d.provenance
    if d.provider == OWNED:
        return ""
    old = f"{price.price_age_days} days old" if price.price_is_old else ""
    origin = f": {price.price_derived_from}" if price.price_derived_from else ", not listed"
    unlisted = "" if _is_listed(d) else f"{price.price_confidence}{origin}"
    return " and ".join(filter(None, (old, unlisted)))


def _is_listed(d: Deployment) -> bool:
    """Whether a seller states its price, or nobody sells it."""
    return d.provider == OWNED or d.provenance.price_confidence == "listed"


def quotes_worth_taking(deployments: Sequence[Deployment], others: Sequence[Alternative]) -> Iterator[str]:
    """How far quotes may exceed the prices that nobody listed before the plan at listed prices alone costs less.

    That plan is an optimum and does not depend on the other prices, so below the factor told it is the dearer one:
    factor = (its cost - what this plan pays at listed prices) / what this plan pays at other prices, rounded down.

    Args:
        deployments: Of the plan.
        others: The plans beside it; nothing is told where none of them is the proven cheapest at listed prices.
    """
    listed = next((item for item in others if item.kind == "listed"), None)
    unlisted_usd = sum((d.monthly_cost_usd for d in deployments if not _is_listed(d)), Decimal(0))
    if listed is None or listed.outcome != "optimal" or not listed.difference_usd or not unlisted_usd:
        return
    factor = (1 + listed.difference_usd / unlisted_usd).quantize(TENTH, ROUND_FLOOR)
    if factor > 1:
        yield f"no plan at listed prices alone costs less while the quote is below {factor} times the price"

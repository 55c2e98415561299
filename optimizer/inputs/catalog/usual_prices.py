"""What others ask for a GPU: a price far from it is likelier a wrong unit, currency or point than a bargain."""

from collections import defaultdict
from collections.abc import Sequence
from decimal import Decimal
from statistics import median
from typing import Final

from optimizer.inputs.catalog.kinds import OWNED
from optimizer.inputs.catalog.records import Offer

ODD_FACTOR: Final = 10
"""A price per GPU-hour this many times above or below the usual one is odd."""
FEWEST_FOR_A_USUAL_PRICE: Final = 3
"""Offers that a group needs before its own median says anything."""


def per_gpu_usd(offer: Offer) -> Decimal:
    """USD per GPU-hour."""
    return offer.price_usd_per_hour / offer.gpu_count


def usual_usd(offer: Offer, offers: Sequence[Offer]) -> Decimal | None:
    """What other providers ask for an offer's GPU, USD per GPU-hour: each its median, and of these the median.

    Args:
        offer: Of which GPU and term.
        offers: All of them.

    Returns:
        On the same term where enough others sell on it, else on any; None where nobody else has the GPU.
    """
    others = [each for each in offers if each.gpu == offer.gpu and each.provider not in (offer.provider, OWNED)]
    alike = [each for each in others if each.pricing_term == offer.pricing_term]
    group = alike if len(alike) >= FEWEST_FOR_A_USUAL_PRICE else others
    by_provider = defaultdict[str, list[Decimal]](list)
    for each in group:
        by_provider[each.provider].append(per_gpu_usd(each))
    return median(median(prices) for prices in by_provider.values()) if group else None


def is_odd(offer: Offer, usual: Decimal) -> bool:
    """Whether an offer's price per GPU-hour is far from the usual one."""
    return not usual / ODD_FACTOR <= per_gpu_usd(offer) <= usual * ODD_FACTOR

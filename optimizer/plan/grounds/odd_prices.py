"""Prices that may be right and seldom are: far from what others ask, or cut by a discount that nobody may remember."""

from collections.abc import Iterable, Iterator

from optimizer.base.figures import figure
from optimizer.base.units import DAYS_PER_YEAR
from optimizer.inputs.catalog.kinds import OWNED
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.catalog.usual_prices import is_odd, per_gpu_usd, usual_usd


def odd_prices(catalogs: Catalogs, offer_ids: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Each offer whose price is odd, with what is odd about it and what to do, in a sentence; owned hardware never is.

    Args:
        catalogs: What is known; offers that are not in them are left out.
        offer_ids: Of those that are paid for.
    """
    offers = {offer.id: offer for offer in catalogs.offers}
    paid = [offers[name] for name in offer_ids if name in offers]
    for offer in paid:
        usual = usual_usd(offer, catalogs.offers)
        if offer.provider != OWNED and usual is not None and is_odd(offer, usual):
            asked, median = (figure(float(usd), 3) for usd in (per_gpu_usd(offer), usual))
            yield (
                offer.id,
                f"{offer.provider} asks {asked} USD per GPU-hour of {offer.gpu}, others {median} in the median: "
                "have the price confirmed, its unit and currency, too",
            )
    granted = catalogs.terms.discounts
    for offer in paid:
        discount = granted[offer.id].discount if offer.id in granted else None
        if discount is not None and (catalogs.as_of - discount.as_of).days > DAYS_PER_YEAR:
            whose = "every provider" if discount.provider == "*" else discount.provider
            aged = f"the discount of {whose} is of {discount.as_of}"
            if discount.private:
                aged = f"the price of {offer.provider} for {offer.gpu} is over a year old"
            yield offer.id, f"{aged}: have it confirmed, the plan counts on it"

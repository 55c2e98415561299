"""Where each price stands: the row of an offer, of one's own hardware, of a hosted API, or the discount on it."""

from collections.abc import Hashable

from optimizer.inputs.catalog.entries.sources import PricePlace
from optimizer.inputs.catalog.entries.terms import Terms
from optimizer.inputs.catalog.reading.csv_tables import AllRows


def price_places(rows: AllRows, laid_over: AllRows, terms: Terms) -> dict[str, PricePlace]:
    """The row to look at when a price has moved.

    Args:
        rows: Of all tables, the user's own laid over the shipped ones.
        laid_over: The user's own alone, which may be none.
        terms: What applies to the offers: a discount of the user's own on a shipped price is the row to look at; where
            it is private, the row of the offer.

    Returns:
        By the id of an offer and by provider and name of a hosted API, sorted.
    """
    keys: dict[str, tuple[str, Hashable]] = {str(offer): ("offers", offer) for offer in rows["offers"]}
    keys |= {offer: ("owned", (row.site, row.id)) for offer, row in terms.owned.items()}
    for offer, applied in terms.discounts.items():
        discount = applied.discount
        if offer not in laid_over.get("offers", {}) and not discount.private:
            keys[offer] = ("discounts", (discount.provider, discount.gpu, discount.pricing_term))
    for key, placed in rows["serverless"].items():
        keys[f"{placed.row.provider}/{placed.row.provider_model_name}"] = ("serverless", key)
    places = {}
    for name, (table, key) in sorted(keys.items()):
        placed = rows[table][key]
        places[name] = PricePlace(placed.file, placed.line, own=key in laid_over.get(table, {}))
    return places

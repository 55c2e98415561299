"""How prices moved as far as somebody recorded it: by kind of seller and generation of GPU."""

from collections import defaultdict
from collections.abc import Iterable
from statistics import median

import numpy as np

from optimizer.base.arrays import Floats
from optimizer.inputs.catalog.entries.terms import PriceTrend
from optimizer.performance.market.market import Market
from optimizer.plan.record.horizon import ObservedPrices


def observed_percent_per_year(market: Market) -> Floats:
    """(O,) the median of what was observed of an offer's kind of seller and generation; 0 where nothing was."""
    by_class = _by_class(market)
    medians = {key: median(each.percent_per_year for each in trends) for key, trends in by_class.items()}
    return np.array([medians.get(key, 0.0) for key in _classes(market)])


def observed_prices(market: Market, offers: Iterable[str]) -> list[ObservedPrices]:
    """What was observed of the kinds of seller and generations of some offers, by id."""
    position = {offer.id: row for row, offer in enumerate(market.offers)}
    classes, by_class = _classes(market), _by_class(market)
    found = []
    for key in sorted({classes[position[offer]] for offer in offers}):
        trends = by_class.get(key, [])
        if trends:
            changes = [each.percent_per_year for each in trends]
            found.append(
                ObservedPrices(
                    seller=key[0],
                    architecture=key[1],
                    series=len(trends),
                    percent_per_year=median(changes),
                    lowest_percent_per_year=min(changes),
                    highest_percent_per_year=max(changes),
                    first=min(each.first_as_of for each in trends),
                    last=max(each.as_of for each in trends),
                )
            )
    return found


def _classes(market: Market) -> list[tuple[str, str, str]]:
    """(O,) kind of seller, generation of the GPU, and term where spot prices move on their own."""
    gpus = market.catalogs.gpus
    sellers = [market.seller_kind.categories[code] for code in market.seller_kind.codes.tolist()]
    return [
        (seller, gpus[offer.gpu].architecture, "spot" if offer.pricing_term == "spot" else "on_demand")
        for seller, offer in zip(sellers, market.offers, strict=True)
    ]


def _by_class(market: Market) -> dict[tuple[str, str, str], list[PriceTrend]]:
    """What was observed of each class."""
    found = defaultdict[tuple[str, str, str], list[PriceTrend]](list)
    terms, gpus = market.catalogs.terms, market.catalogs.gpus
    for trend in terms.price_trends:
        seller = terms.seller_kind(trend.provider, "")
        found[seller, gpus[trend.gpu].architecture, trend.pricing_term].append(trend)
    return dict(found)

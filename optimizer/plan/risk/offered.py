"""Offers in draws: what a month of an instance costs in each, and whether it is there."""

from dataclasses import dataclass

import numpy as np

from optimizer.base.arrays import Flags, Floats, Ints
from optimizer.base.units import HOURS_PER_MONTH
from optimizer.inputs.catalog.kinds import ALWAYS_PAID, OWNED, SPOT
from optimizer.inputs.catalog.records import Offer
from optimizer.performance.market.market import Market
from optimizer.plan.risk.draws import Drawn, ErrorKind, States
from optimizer.plan.risk.speeds import rates_in_draws
from optimizer.plan.risk.spreads import PriceClass, price_class


@dataclass(frozen=True, eq=False)
class Offered:
    """Offers, one a row; an offer may stand in several.

    Attributes:
        offers: (n,).
        prices: (n,) with what each one's price moves; None where it is signed for or paid.
        usd_per_hour: (n,) today.
        storage_usd: (n,) a month of the storage that comes with an instance, whose price stays.
        most: (n,) instances that can be had; infinite where nobody says.
    """

    offers: tuple[Offer, ...]
    prices: tuple[PriceClass | None, ...]
    usd_per_hour: Floats
    storage_usd: Floats
    most: Floats

    @classmethod
    def of(cls, market: Market, positions: Ints) -> "Offered":
        """The offers at positions of a market."""
        offers = tuple(market.offers[at] for at in positions.tolist())
        return cls(
            offers=offers,
            prices=tuple(price_class(offer, market.catalogs) for offer in offers),
            usd_per_hour=market.price_usd_per_hour[positions],
            storage_usd=market.storage_usd_per_month[positions],
            most=market.available_instances[positions],
        )

    def select(self, kept: Ints) -> "Offered":
        """The rows listed."""
        return Offered(
            offers=tuple(self.offers[row] for row in kept.tolist()),
            prices=tuple(self.prices[row] for row in kept.tolist()),
            usd_per_hour=self.usd_per_hour[kept],
            storage_usd=self.storage_usd[kept],
            most=self.most[kept],
        )

    def there(self, drawn: Drawn, states: States) -> Flags:
        """(n, S) whether what was bought is there: spot where its region has capacity, commitments once they began."""
        there = np.ones((len(self.offers), len(states.begun)), dtype=np.bool_)
        for row, offer in enumerate(self.offers):
            if offer.pricing_term == SPOT:
                there[row] = states.there[drawn.regions.index(spot_region(offer))]
            elif is_signed(offer):
                there[row] = states.begun
        return there

    def usd(self, drawn: Drawn, states: States) -> Floats:
        """(n, S) a month of an instance: nothing where it is not there."""
        # a row of ones beside the classes that move
        factors = np.vstack([states.price_factor, np.ones(len(states.begun))])
        position = {price: row for row, price in enumerate(drawn.prices)}
        moved = factors[[position.get(price, -1) if price is not None else -1 for price in self.prices]]
        usd = (self.usd_per_hour * HOURS_PER_MONTH)[:, None] * moved + self.storage_usd[:, None]
        return np.where(self.there(drawn, states), usd, 0.0)


@dataclass(frozen=True, eq=False)
class Running:
    """What runs on offers, one a row.

    Attributes:
        offered: (n,) what each row runs on.
        kinds: (n,) by what its prediction is off.
        rates: (n, deviations) requests/s where it is there.
    """

    offered: Offered
    kinds: tuple[ErrorKind, ...]
    rates: Floats

    def select(self, kept: Ints) -> "Running":
        """The rows listed."""
        return Running(self.offered.select(kept), tuple(self.kinds[row] for row in kept.tolist()), self.rates[kept])

    def rate_per_s(self, drawn: Drawn, states: States) -> Floats:
        """(n, S) requests/s in each draw."""
        position = {kind: row for row, kind in enumerate(drawn.kinds)}
        deviation = states.deviation[[position[kind] for kind in self.kinds]]
        return np.where(self.offered.there(drawn, states), rates_in_draws(self.rates, deviation), 0.0)


def is_signed(offer: Offer) -> bool:
    """Whether it is a commitment to somebody else, which begins some time after it is signed."""
    return offer.pricing_term in ALWAYS_PAID and offer.pricing_term != OWNED


def spot_region(offer: Offer) -> str:
    """Where spot capacity comes and goes together; of no matter for what stays."""
    return f"{offer.provider}/{offer.region}" if offer.pricing_term == SPOT else ""

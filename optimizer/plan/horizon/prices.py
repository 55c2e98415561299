"""What every offer costs in every node: by the month, and for a term that is signed there."""

from dataclasses import dataclass

import numpy as np

from optimizer.base.arrays import Floats, Ints
from optimizer.base.units import HOURS_PER_MONTH
from optimizer.inputs.catalog.kinds import OWNED
from optimizer.inputs.catalog.records import Offer
from optimizer.inputs.scenario.scenario import Lifecycle
from optimizer.performance.market.market import Market
from optimizer.plan.horizon.branches import discount_factor, horizon_of
from optimizer.plan.horizon.cash import Cash, Payment, bought, rented, terms_of_purchase
from optimizer.plan.question.terms import term_months
from optimizer.program.horizon.problem import Deals, Hourly
from optimizer.program.horizon.tree import Tree


@dataclass(frozen=True)
class Deal:
    """A way to hold an instance for a term.

    Attributes:
        offer: Position in the market.
        term_months: How long.
        payment: When it is paid.
    """

    offer: int
    term_months: int
    payment: Payment


@dataclass(frozen=True)
class PriceBook:
    """Prices over the months of a scenario.

    Attributes:
        market: Every offer, at today's price.
        life: What the scenario says of the months.
        tree: Their nodes.
        factor: (O, N) price in each node over today's.
    """

    market: Market
    life: Lifecycle
    tree: Tree
    factor: Floats

    def usd_per_hour(self, offer: int, node: int) -> float:
        """Of an instance: its price in a node, and the storage that is rented with it."""
        storage = self.market.storage_usd_per_month[offer] / HOURS_PER_MONTH
        return float(self.market.price_usd_per_hour[offer] * self.factor[offer, node] + storage)

    def cash(self, deal: Deal, node: int) -> Cash:
        """What one instance costs that is signed for in a node."""
        left, offer = self.tree.months - int(self.tree.month[node]), self.market.offers[deal.offer]
        if deal.payment == "bought":
            own = self.market.catalogs.terms.owned[offer.id]
            rated_kw = self.market.power_kw[deal.offer]
            return bought(own, float(rated_kw), float(self.factor[deal.offer, node]), deal.term_months, left)
        price = self.usd_per_hour(deal.offer, node)
        return rented(price, deal.term_months, deal.payment, left, horizon_of(self.life))

    def discount(self) -> Floats:
        """(N,) what a dollar counts that is paid in each node."""
        return discount_factor(self.life, self.tree.month.astype(float))

    def hourly(self, offers: Ints, machine: Ints) -> Hourly:
        """Those that are paid while they run, each on its kind of machine."""
        rented_usd = self.market.price_usd_per_hour[offers, None] * self.factor[offers] * HOURS_PER_MONTH
        monthly = rented_usd + self.market.storage_usd_per_month[offers, None]
        names = tuple(self.market.offers[offer].id for offer in offers.tolist())
        return Hourly(names, machine, monthly * self.discount(), monthly)

    def deals(self, deals: tuple[Deal, ...], machine: Ints) -> Deals:
        """Those that are held for a term, each on its kind of machine."""
        yearly, nodes = horizon_of(self.life).discount_percent_per_year / 100, len(self.tree.month)
        present, monthly = np.zeros((2, len(deals), nodes))
        for row, deal in enumerate(deals):
            known: dict[tuple[int, float], Cash] = {}
            for node in range(nodes):
                # a month and a price have one cash flow, whatever the branch
                key = (int(self.tree.month[node]), float(self.factor[deal.offer, node]))
                if key not in known:
                    known[key] = self.cash(deal, node)
                present[row, node] = known[key].present_usd(yearly)
                monthly[row, node] = known[key].usd_per_month
        names = tuple(
            f"{self.market.offers[deal.offer].id} {deal.payment} for {deal.term_months} months" for deal in deals
        )
        terms = np.array([deal.term_months for deal in deals], dtype=np.int64)
        return Deals(names, machine, terms, present * self.discount(), monthly)


def deals_of(market: Market, offers: list[int], life: Lifecycle) -> tuple[tuple[Deal, ...], int]:
    """Every way to hold one of some offers for a term, and how many were left out because nobody says how long."""
    found, unknown = list[Deal](), 0
    prepaid = horizon_of(life).prepayment_discount_percent is not None
    for position in offers:
        offer = market.offers[position]
        if not market.always_paid[position]:
            continue
        months = _terms(offer, market)
        unknown += not months
        ways: tuple[Payment, ...] = ("monthly", "upfront") if prepaid else ("monthly",)
        if offer.pricing_term == OWNED:
            # nobody sells what it costs to run a machine of one's own for less ahead of time
            ways = ("monthly",) if market.catalogs.terms.owned[offer.id].sunk else ("bought",)
        found += [Deal(position, term, payment) for term in months for payment in ways]
    return tuple(found), unknown


def _terms(offer: Offer, market: Market) -> tuple[int, ...]:
    """For how many months an offer may be held."""
    if offer.pricing_term == OWNED:
        return terms_of_purchase(market.catalogs.terms.owned[offer.id])
    months = term_months(offer)
    return () if months is None else (months,)

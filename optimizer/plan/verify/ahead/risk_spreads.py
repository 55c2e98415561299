"""How far draws may spread, again: as the scenario says, else as the catalogs' published series did."""

from collections.abc import Iterator, Sequence
from typing import TypeAlias

from optimizer.inputs.catalog.kinds import ALWAYS_PAID, SPOT
from optimizer.inputs.catalog.records import Catalogs, Offer
from optimizer.inputs.scenario.risk import DaysSpread, Risk, Spread
from optimizer.plan.record.risk import DrawnSpread

Points: TypeAlias = tuple[float, float, float]
"""p10, p50 and p90."""


def price_moves_with(offer: Offer, catalogs: Catalogs) -> str | None:
    """The class of prices that an offer's belongs to; None where today's price is signed for or paid."""
    if offer.pricing_term in ALWAYS_PAID:
        return None
    seller = catalogs.terms.seller_kind(offer.provider, offer.provider_kind)
    return f"{seller}/{'spot' if offer.pricing_term == SPOT else 'on_demand'}"


def spreads_held(
    told: Sequence[DrawnSpread], risk: Risk, catalogs: Catalogs, offers: Sequence[Offer]
) -> Iterator[tuple[bool, str]]:
    """Whether what is said to have been drawn is all that had to be, and spreads as somebody said.

    Args:
        told: As the answer tells.
        risk: What the scenario says.
        catalogs: Hold what was published.
        offers: That were bought or might be, in any draw.
    """
    for each in told:
        name = f"{each.uncertainty} {each.of}".rstrip()
        points, expected = (each.p10, each.p50, each.p90), _expected(each.uncertainty, each.of, risk, catalogs)
        yield points == expected, f"{name} spreads {points}; the scenario or else the catalogs say {expected}"
    needed = {("demand", "")}
    needed |= {("demand", "growth a month")} if risk.growth_percent_per_month else set()
    needed |= {("commitment start", "")} if risk.commitment_start_days else set()
    needed |= {("spot capacity", "")} if any(offer.pricing_term == SPOT for offer in offers) else set()
    classes = {price_moves_with(offer, catalogs) for offer in offers}
    needed |= {("prices", name) for name in classes if name and _expected("prices", name, risk, catalogs)}
    missing = sorted(needed - {(each.uncertainty, each.of) for each in told})
    yield not missing, f"no spread of {', '.join(' '.join(key).rstrip() for key in missing)}"


def _expected(uncertainty: str, of: str, risk: Risk, catalogs: Catalogs) -> Points | None:
    """What the scenario says, else what was published; None where nobody says anything."""
    match uncertainty:
        case "demand" if of == "":
            return _points(risk.demand_percent) or _published("demand", "", "", catalogs)
        case "demand":
            return _points(risk.growth_percent_per_month)
        case "commitment start":
            return _points(risk.commitment_start_days)
        case "prices":
            seller, term = of.split("/")
            return _stated_price(seller, term, risk) or _published("price", seller, term, catalogs)
        case "spot capacity":
            share = risk.spot_available_share
            return _published("spot_available", "", "", catalogs) if share is None else (share, share, share)
    return None


def _points(spread: Spread | DaysSpread | None) -> Points | None:
    return None if spread is None else (spread.p10, spread.p50, spread.p90)


def _stated_price(seller: str, term: str, risk: Risk) -> Points | None:
    """Of the first rule that covers a class."""
    for rule in risk.prices:
        if seller in (rule.sellers or (seller,)) and term in (rule.pricing_terms or (term,)):
            return _points(rule.percent_per_year)
    return None


def _published(quantity: str, seller: str, term: str, catalogs: Catalogs) -> Points | None:
    for row in catalogs.terms.risk_spreads:
        if (row.quantity, row.seller, row.pricing_term) == (quantity, seller, term):
            return row.p10, row.p50, row.p90
    return None

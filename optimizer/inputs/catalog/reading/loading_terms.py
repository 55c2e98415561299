"""Own terms applied while catalogs are loaded: discounts taken off, owned hardware priced as offers, stocks counted."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from operator import attrgetter
from typing import Any, Final, TypeVar

from optimizer.base.errors import Finding, did_you_mean
from optimizer.base.units import HOURS_PER_MONTH, WATTS_PER_KILOWATT
from optimizer.inputs.catalog.entries.quantities import LEAST_USD_PER_HOUR, MOST_USD_PER_HOUR
from optimizer.inputs.catalog.entries.terms import AppliedDiscount, Discount, OfferPattern, Owned, Terms
from optimizer.inputs.catalog.kinds import OWNED
from optimizer.inputs.catalog.reading.csv_tables import AllRows, LocatedRow
from optimizer.inputs.catalog.records import Gpu, Offer

Pattern = TypeVar("Pattern", bound=OfferPattern)

PRICE_PLACES: Final = Decimal("0.000001")
"""Of a price per hour that is worked out here."""


@dataclass(frozen=True)
class Priced:
    """Offers as they are paid for: rented and owned, sorted by id, prices after discount; and the terms behind them."""

    offers: tuple[Offer, ...]
    terms: Terms


def priced(rows: AllRows, gpus: Mapping[str, Gpu], findings: list[Finding]) -> Priced:
    """All offers on the user's own terms; what does not fit together is added to the findings."""
    rented: list[LocatedRow[Offer]] = [each for _, each in sorted(rows["offers"].items())]
    findings.extend(_not_rented(rented))
    listed = [each.row for each in rented]
    discounts = _applied(listed, rows["discounts"].values(), findings)
    limits = _covering(rows["availability"].values(), listed, findings)
    owned = {offer.id: (offer, row) for offer, row in _owned_offers(rows["owned"].values(), gpus, findings)}
    offers = [
        *(_discounted(offer, discounts.get(offer.id)) for offer in listed),
        *(offer for offer, _ in owned.values()),
    ]
    available = {name: min(each.row.max_instances for each in covering) for name, covering in limits.items()}
    hardware = {name: row for name, (_, row) in sorted(owned.items())}
    return Priced(
        offers=tuple(sorted(offers, key=lambda offer: offer.id)),
        terms=Terms(
            regions=_by(rows["regions"], "provider", "region"),
            sellers=_by(rows["sellers"], "provider", "provider_kind"),
            operators=_by(rows["operators"], "provider"),
            round_trips=_by(rows["round_trips"], "geography", "provider", "region"),
            grid=_by(rows["grid"], "provider", "region"),
            price_checks=_in_order(rows["price_checks"]),
            price_trends=_in_order(rows["price_trends"]),
            risk_spreads=_in_order(rows["risk_spreads"]),
            serverless_checks=_in_order(rows["serverless_checks"]),
            discounts=discounts,
            owned=hardware,
            available_instances=available | {name: row.instances for name, row in hardware.items()},
        ),
    )


def _in_order(rows: Mapping[Any, LocatedRow[Any]]) -> tuple[Any, ...]:
    """The rows of a table in the order of their keys."""
    return tuple(each.row for _, each in sorted(rows.items()))


def _by(rows: Mapping[Any, LocatedRow[Any]], *fields: str) -> dict[Any, Any]:
    """The rows of a table by some of their fields."""
    key = attrgetter(*fields)
    return {key(row): row for row in _in_order(rows)}


def _not_rented(placed: Sequence[LocatedRow[Offer]]) -> Iterator[Finding]:
    for each in placed:
        for field in ("provider", "provider_kind", "pricing_term"):
            if getattr(each.row, field) == OWNED:
                yield each.finding(field, "hardware of one's own is not rented", "describe it in owned.csv")


def _applied(
    offers: Sequence[Offer], discounts: Iterable[LocatedRow[Discount]], findings: list[Finding]
) -> dict[str, AppliedDiscount]:
    """The discount of each offer that has one: the most exact; equally exact ones must agree."""
    applied = {}
    list_price = {offer.id: offer.price_usd_per_hour for offer in offers}
    for name, granted in _covering(discounts, offers, findings).items():
        exactness = max(each.row.exactness for each in granted)
        first, *others = [each for each in granted if each.row.exactness == exactness]
        for other in others:
            if other.row.percent != first.row.percent:
                problem = f"covers offers that line {first.line} gives another percentage, just as exactly"
                findings.append(other.finding("percent", problem, "name provider, gpu or pricing_term in one of them"))
        applied[name] = AppliedDiscount(list_price_usd_per_hour=list_price[name], discount=first.row)
    return applied


def _discounted(offer: Offer, applied: AppliedDiscount | None) -> Offer:
    if applied is None:
        return offer
    price = offer.price_usd_per_hour * (1 - applied.discount.percent / 100)
    return offer.model_copy(update={"price_usd_per_hour": price})


def _covering(
    rows: Iterable[LocatedRow[Pattern]], offers: Sequence[Offer], findings: list[Finding]
) -> dict[str, list[LocatedRow[Pattern]]]:
    """The rows about each offer, by its id, where there are any; rows about none are added to the findings."""
    rows = list(rows)
    covering = {offer.id: [each for each in rows if each.row.covers(offer)] for offer in offers}
    used = {id(each) for several in covering.values() for each in several}
    findings.extend(_about_no_offer(each, offers) for each in rows if id(each) not in used)
    return {name: several for name, several in covering.items() if several}


def _about_no_offer(each: LocatedRow[Any], offers: Sequence[Offer]) -> Finding:
    """A row whose patterns match no offer; a name that nothing has is pointed out."""
    for field in each.row.patterns:
        name, known = getattr(each.row, field), {str(getattr(offer, field)) for offer in offers}
        hint = did_you_mean(name, known)
        if hint and name not in known:
            return each.finding(field, "matches no offer of the catalogs", hint)
    return each.finding(each.row.patterns[0], "matches no offer of the catalogs")


def _owned_offers(
    rows: Iterable[LocatedRow[Owned]], gpus: Mapping[str, Gpu], findings: list[Finding]
) -> Iterator[tuple[Offer, Owned]]:
    for each in rows:
        row, gpu = each.row, gpus[each.row.gpu]
        if row.power_kw is None and gpu.tdp_w is None:
            findings.append(each.finding("power_kw", f"is blank and the catalog does not know the power of {gpu.id}"))
            continue
        rated_kw = Decimal(str(gpu.tdp_w or 0)) * row.gpu_count / WATTS_PER_KILOWATT
        price = (row.usd_per_month(rated_kw) / HOURS_PER_MONTH).quantize(PRICE_PLACES)
        if not LEAST_USD_PER_HOUR <= price <= MOST_USD_PER_HOUR:
            problem = f"all of it is {price:f} USD an hour, not from {LEAST_USD_PER_HOUR} to {MOST_USD_PER_HOUR:,}"
            findings.append(each.finding("purchase_usd", problem))
            continue
        yield _owned_offer(row, price), row


def _owned_offer(row: Owned, price_usd_per_hour: Decimal) -> Offer:
    return Offer(
        provider=OWNED,
        provider_kind=OWNED,
        region=row.site,
        instance_type=row.id,
        gpu=row.gpu,
        gpu_count=row.gpu_count,
        link=row.link,
        link_gb_per_s=row.link_gb_per_s,
        price_usd_per_hour=price_usd_per_hour,
        pricing_term=OWNED,
        as_of=row.as_of,
        source=row.source,
        confidence="derived",
        note=row.note,
    )

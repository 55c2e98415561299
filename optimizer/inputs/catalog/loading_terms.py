"""Own terms applied while catalogs are loaded: discounts taken off, owned hardware priced as offers, stocks counted."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

from optimizer.base.errors import Finding, did_you_mean
from optimizer.base.units import HOURS_PER_MONTH, WATTS_PER_KILOWATT
from optimizer.inputs.catalog.csv_tables import AllRows, LocatedRow
from optimizer.inputs.catalog.kinds import OWNED
from optimizer.inputs.catalog.records import Gpu, Offer
from optimizer.inputs.catalog.terms import AppliedDiscount, Availability, Discount, Owned, Terms

PRICE_PLACES: Final = Decimal("0.000001")
"""Of a price per hour that is worked out here."""


@dataclass(frozen=True)
class Priced:
    """Offers as they are paid for: rented and owned, sorted by id, prices after discount; and the terms behind them."""

    offers: tuple[Offer, ...]
    terms: Terms


def priced(rows: AllRows, gpus: Mapping[str, Gpu], findings: list[Finding]) -> Priced:
    """All offers on the user's own terms; what does not fit together is added to the findings."""
    rented = [each for _, each in sorted(rows["offers"].items())]
    findings.extend(_not_rented(rented))
    listed: list[Offer] = [each.row for each in rented]
    applied = _applied(listed, list(rows["discounts"].values()), findings)
    own = {offer.id: (offer, row) for offer, row in _owned_offers(rows["owned"].values(), gpus, findings)}
    stocks = _stocks(listed, list(rows["availability"].values()), findings)
    paid = [_discounted(offer, applied.get(offer.id)) for offer in listed]
    return Priced(
        offers=tuple(sorted([*paid, *(offer for offer, _ in own.values())], key=lambda offer: offer.id)),
        terms=Terms(
            regions={(each.row.provider, each.row.region): each.row for _, each in sorted(rows["regions"].items())},
            discounts=applied,
            owned={name: row for name, (_, row) in sorted(own.items())},
            available_instances=stocks | {name: row.instances for name, (_, row) in sorted(own.items())},
        ),
    )


def _not_rented(placed: Sequence[LocatedRow[Offer]]) -> Iterator[Finding]:
    for each in placed:
        for field in ("provider", "provider_kind", "pricing_term"):
            if getattr(each.row, field) == OWNED:
                yield each.finding(field, "hardware of one's own is not rented", "describe it in owned.csv")


def _applied(
    offers: Sequence[Offer], discounts: Sequence[LocatedRow[Discount]], findings: list[Finding]
) -> dict[str, AppliedDiscount]:
    """The discount of each offer that has one: the most exact; equally exact ones must agree."""
    applied = {}
    unused = {id(each): each for each in discounts}
    clashes: list[tuple[LocatedRow[Discount], LocatedRow[Discount]]] = []
    for offer in offers:
        granted = [each for each in discounts if each.row.covers(offer.provider, offer.gpu, offer.pricing_term)]
        if not granted:
            continue
        for each in granted:
            unused.pop(id(each), None)
        most = max(each.row.exactness for each in granted)
        first, *others = [each for each in granted if each.row.exactness == most]
        clashes += [(other, first) for other in others if other.row.percent != first.row.percent]
        applied[offer.id] = AppliedDiscount(list_price_usd_per_hour=offer.price_usd_per_hour, discount=first.row)
    for other, first in clashes:
        problem = f"covers offers that line {first.line} gives another percentage, just as exactly"
        findings.append(other.finding("percent", problem, "name provider, gpu or pricing_term in one of them"))
    findings.extend(_unmatched(unused.values(), ("provider", "gpu", "pricing_term"), offers))
    return applied


def _discounted(offer: Offer, applied: AppliedDiscount | None) -> Offer:
    if applied is None:
        return offer
    price = offer.price_usd_per_hour * (1 - applied.discount.percent / 100)
    return offer.model_copy(update={"price_usd_per_hour": price})


def _stocks(
    offers: Sequence[Offer], availability: Sequence[LocatedRow[Availability]], findings: list[Finding]
) -> dict[str, int]:
    stocks: dict[str, int] = {}
    unused = {id(each): each for each in availability}
    for offer in offers:
        where = (offer.provider, offer.region, offer.gpu, offer.pricing_term)
        limiting = [each for each in availability if each.row.covers(*where)]
        for each in limiting:
            unused.pop(id(each), None)
        if limiting:
            stocks[offer.id] = min(each.row.max_instances for each in limiting)
    findings.extend(_unmatched(unused.values(), ("provider", "region", "gpu", "pricing_term"), offers))
    return stocks


def _unmatched(rows: Iterable[LocatedRow[Any]], fields: Sequence[str], offers: Sequence[Offer]) -> Iterator[Finding]:
    """Rows whose patterns match no offer; a name that nothing has is pointed out."""
    for each in rows:
        known = {field: {str(getattr(offer, field)) for offer in offers} for field in fields}
        hints = ((field, did_you_mean(getattr(each.row, field), known[field])) for field in fields)
        field, hint = next(((f, h) for f, h in hints if h and getattr(each.row, f) not in known[f]), (fields[0], ""))
        yield each.finding(field, "matches no offer of the catalogs", hint)


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
        if price <= 0:
            findings.append(each.finding("purchase_usd", "a month of this instance costs nothing at all"))
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

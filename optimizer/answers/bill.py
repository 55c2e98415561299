"""What a plan orders, line by line: instances, storage, data sent, requests to APIs; they add up to its month."""

from collections.abc import Iterable, Iterator
from datetime import date
from decimal import Decimal
from itertools import accumulate, pairwise
from typing import Annotated, Final, Literal

from pydantic import PlainSerializer

from optimizer.base.errors import VerificationFailed
from optimizer.base.model import Strict
from optimizer.inputs.catalog.records import Catalogs, Offer
from optimizer.plan.record.containers import Containers
from optimizer.plan.record.fields import CENT, Usd, cents
from optimizer.plan.record.fleet import Deployment, Hosted, PlannedFleet, Purchase, ReplicaChanges

FINEST: Final = Decimal("1e-12")
"""Of a price or a quantity: a request's price times a month's requests is right to the cent."""

LineOf = Literal["instances", "storage", "egress", "requests", "containers", "changes"]
Unit = Literal["instance hour", "GB", "request", "container second", "once"]
Exact = Annotated[Decimal, PlainSerializer(lambda amount: f"{amount.quantize(FINEST).normalize():f}", return_type=str)]
"""Digits enough for price times quantity to give the month's cents."""


class BillLine(Strict):
    """One thing to order or to pay for; the lines of a choice add up to its month, to the cent.

    What does not apply to a line is blank.
    """

    line: LineOf
    provider: str = ""
    region: str = ""
    country: str = ""
    """Two letters; empty where nobody recorded where the region stands."""
    item: str
    """Instance type, or the API's name of the model."""
    gpu: str = ""
    gpus_per_instance: int = 0
    count: int = 0
    """Instances at the most; 0 where none are counted."""
    pricing_term: str = ""
    commitment_months: int = 0
    unit: Unit
    unit_price_usd: Exact
    """After discounts."""
    quantity_per_month: Exact
    monthly_cost_usd: Usd
    price_as_of: date | None = None
    price_source: str = ""
    """Its title; `a private source` where that is nobody else's business."""
    seller: str = ""
    """Kind of seller, see `sellers` of the catalogs."""


def bill_lines(plan: PlannedFleet, offers: Iterable[Offer], catalogs: Catalogs) -> list[BillLine]:
    """Every line, in the order of the bill; together they are the plan's month, to the cent.

    Each is price times quantity to within two cents, and six digits of the quantity where the plan stood in a file.

    Args:
        plan: What is bought.
        offers: Those it buys among others.
        catalogs: Where prices come from, and who sells.

    Raises:
        VerificationFailed: they do not add up to the plan's month.
    """
    by_id = {offer.id: offer for offer in offers}
    lines = [line for paid in plan.purchases for line in _instances(paid, by_id[paid.offer], catalogs)]
    lines += [_egress(ran, catalogs) for ran in plan.deployments if ran.egress_usd]
    lines += [_requests(sent, catalogs) for sent in plan.hosted if sent.paid_by == "request"]
    lines += [_containers(used, catalogs) for used in plan.containers]
    lines += [_changes(plan.migration)] if plan.migration else []
    ends = [Decimal(0), *accumulate(line.monthly_cost_usd for line in lines)]
    left, amounts = plan.monthly_cost_usd - ends[-1], [line for line in lines if line.line != "storage"]
    # a plan's file rounds every amount, so half a cent each and of the month; a purchase is one with its storage
    if 2 * abs(left) > CENT * (len(amounts) + 1):
        raise VerificationFailed(f"The lines of a bill of {plan.monthly_cost_usd} USD add up to {ends[-1]} USD.")
    # each line bears its part of what is left and ends where the rounded sum so far ends, so that no cent is lost
    rounded = [cents(end + left * number / max(len(lines), 1)) for number, end in enumerate(ends)]
    return [
        line.model_copy(update={"monthly_cost_usd": end - start})
        for line, (start, end) in zip(lines, pairwise(rounded), strict=True)
    ]


def _instances(paid: Purchase, offer: Offer, catalogs: Catalogs) -> Iterator[BillLine]:
    """An offer's hours, and the block storage of its instances where that is priced."""
    hours = Decimal(repr(paid.instance_hours_per_month))
    storage_usd = paid.storage_usd_per_hour * hours
    place = catalogs.terms.place(offer.provider, offer.region)
    line = BillLine(
        line="instances",
        provider=offer.provider,
        region=offer.region,
        country=place[0].upper() if place else "",
        item=offer.instance_type,
        gpu=offer.gpu,
        gpus_per_instance=offer.gpu_count,
        count=paid.instances,
        pricing_term=offer.pricing_term,
        commitment_months=offer.commitment_months,
        unit="instance hour",
        unit_price_usd=paid.price_usd_per_hour,
        quantity_per_month=hours,
        monthly_cost_usd=paid.monthly_cost_usd - storage_usd,
        price_as_of=offer.as_of,
        price_source=catalogs.sources[offer.source].cited,
        seller=catalogs.terms.seller_kind(offer.provider, offer.provider_kind),
    )
    yield line
    if storage_usd:
        block = {"line": "storage", "unit_price_usd": paid.storage_usd_per_hour, "monthly_cost_usd": storage_usd}
        yield line.model_copy(update={**block, "price_as_of": None, "price_source": ""})


def _egress(ran: Deployment, catalogs: Catalogs) -> BillLine:
    """What a deployment's answers send to the internet."""
    gb, usd = Decimal(repr(ran.egress_gb_per_month)), ran.egress_usd or Decimal(0)
    place = catalogs.terms.place(ran.provider, ran.region)
    return BillLine(
        line="egress",
        provider=ran.provider,
        region=ran.region,
        country=place[0].upper() if place else "",
        item=ran.workload,
        unit="GB",
        unit_price_usd=usd / gb,
        quantity_per_month=gb,
        monthly_cost_usd=usd,
        seller=ran.provenance.seller,
    )


def _requests(sent: Hosted, catalogs: Catalogs) -> BillLine:
    """Requests of a class to a hosted API, whose region nobody tells."""
    return BillLine(
        line="requests",
        provider=sent.provider,
        item=sent.api,
        pricing_term="by the request",
        unit="request",
        unit_price_usd=sent.usd_per_request,
        quantity_per_month=Decimal(repr(sent.requests_per_month)),
        monthly_cost_usd=sent.monthly_cost_usd,
        price_as_of=sent.price_as_of,
        price_source=sent.price_source,
        seller=catalogs.terms.seller_kind(sent.provider, ""),
    )


def _containers(used: Containers, catalogs: Catalogs) -> BillLine:
    """Containers that are paid for by the second; where they run nobody tells."""
    kinds = {row.provider_kind for row in catalogs.per_second if (row.provider, row.name) == (used.provider, used.name)}
    return BillLine(
        line="containers",
        provider=used.provider,
        region="",
        country="",
        item=used.name,
        gpu=used.gpu,
        gpus_per_instance=used.gpus_per_replica,
        count=max(entry.containers for entry in used.schedule),
        pricing_term="by the second",
        commitment_months=0,
        unit="container second",
        unit_price_usd=used.usd_per_second,
        quantity_per_month=Decimal(repr(used.seconds_per_month)),
        monthly_cost_usd=used.monthly_cost_usd,
        price_as_of=used.price_as_of,
        price_source=used.price_source,
        seller=catalogs.terms.seller_kind(used.provider, min(kinds, default="")),
    )


def _changes(changes: ReplicaChanges) -> BillLine:
    """What changing to the plan costs once; a plan counts it in its month."""
    return BillLine(
        line="changes",
        item=f"{changes.started} replicas started, {changes.stopped} stopped",
        pricing_term="once",
        unit="once",
        unit_price_usd=changes.one_time_cost_usd,
        quantity_per_month=Decimal(1),
        monthly_cost_usd=changes.one_time_cost_usd,
    )

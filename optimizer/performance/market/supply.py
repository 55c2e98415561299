"""Every offer as the catalogs know it, whatever the policy, with what policies judge as categories."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

import numpy as np

from optimizer.base.arrays import Flags, Floats, Ints
from optimizer.base.once_of import OnceOf
from optimizer.base.units import WATTS_PER_KILOWATT
from optimizer.inputs.catalog.kinds import ALWAYS_PAID, Link, OfferTerm, Told
from optimizer.inputs.catalog.records import Catalogs, Gpu, Offer
from optimizer.performance.physics.categorical import Categorical

Platform = tuple[str, Link | None, float | None]
"""GPU, how several of them are joined, and the link's GB/s in one direction: what performance depends on."""


@dataclass(frozen=True)
class Supply:
    """Every offer of the catalogs, one row each, sorted by id.

    Attributes:
        catalogs: Where they stand.
        offers: The rows (O).
        platform: GPU and link of each.
        gpu_count: (O,) GPUs of an instance.
        price_usd_per_hour: (O,) of the whole instance, after discounts.
        power_kw: (O,) GPU power of the whole instance; NaN where the catalog does not know it.
        available_instances: (O,) how many there are; infinite where nobody limits them.
        always_paid: (O,) whether an instance is billed all month, used or not; the others by the hour.
        country: (O,) ISO code in lower case; empty where it is not known.
        open_region: (O,) whether an account of other regions does in its region.
        open_regions: Their names.
        provider, region, provider_kind, seller_kind, pricing_term, confidence, place, age_days: What policies judge.
        consumer: (O,) whether the GPU is a gaming card.
        price_of: What the price buys.
        whole_gpu, serves_others: What the seller says of itself.
        power_source: What power and grid depend on.
    """

    catalogs: Catalogs
    offers: tuple[Offer, ...]
    platform: Categorical[Platform]
    gpu_count: Ints
    price_usd_per_hour: Floats
    power_kw: Floats
    available_instances: Floats
    always_paid: Flags
    country: tuple[str, ...]
    open_region: Flags
    open_regions: frozenset[str]
    provider: Categorical[str]
    region: Categorical[str]
    provider_kind: Categorical[str]
    seller_kind: Categorical[str]
    whole_gpu: Categorical[Told]
    serves_others: Categorical[Told]
    consumer: Flags
    price_of: Categorical[str]
    pricing_term: Categorical[OfferTerm]
    confidence: Categorical[str]
    place: Categorical[tuple[str, ...]]
    age_days: Categorical[int]
    power_source: Categorical[tuple[str, str, int, str]]


def supply(catalogs: Catalogs) -> Supply:
    """All that is offered and what is known of it, worked out once of catalogs that many questions are asked on."""
    return Supply(catalogs=catalogs, **_COLUMNS(catalogs))


def _columns(catalogs: Catalogs) -> dict[str, Any]:
    """Every field of `Supply` but the catalogs."""
    offers = tuple(sorted(catalogs.offers, key=lambda offer: offer.id))
    available, owned = catalogs.terms.available_instances, catalogs.terms.owned
    places = [catalogs.terms.place(offer.provider, offer.region) for offer in offers]
    sellers = [catalogs.terms.seller(offer.provider, offer.provider_kind) for offer in offers]
    power_source = Categorical.of(
        [(f"{o.provider}/{o.region}", o.gpu, o.gpu_count, o.id if o.id in owned else "") for o in offers]
    )
    pricing_term = _column(offers, "pricing_term")
    is_open = [catalogs.terms.is_open(offer.provider, offer.region) for offer in offers]
    return {
        "offers": offers,
        "platform": Categorical.of([_platform(offer) for offer in offers]),
        "gpu_count": np.array([offer.gpu_count for offer in offers], dtype=np.int64),
        "price_usd_per_hour": np.array([float(offer.price_usd_per_hour) for offer in offers]),
        "power_kw": power_source.numbers(offers, lambda offer: power_kw(offer, catalogs.gpus[offer.gpu])),
        "available_instances": np.array([float(available.get(offer.id, np.inf)) for offer in offers]),
        "always_paid": pricing_term.passing(lambda term: term in ALWAYS_PAID),
        "country": tuple(place[0] if place else "" for place in places),
        "open_region": np.array(is_open, dtype=np.bool_),
        "open_regions": frozenset(each.region for each, there in zip(offers, is_open, strict=True) if there),
        "provider": _column(offers, "provider"),
        "region": _column(offers, "region"),
        "provider_kind": _column(offers, "provider_kind"),
        "seller_kind": Categorical.of([catalogs.terms.seller_kind(o.provider, o.provider_kind) for o in offers]),
        "whole_gpu": Categorical.of(["unknown" if seller is None else seller.whole_gpu for seller in sellers]),
        "serves_others": Categorical.of(["unknown" if seller is None else seller.serves_others for seller in sellers]),
        "consumer": np.array([catalogs.gpus[offer.gpu].consumer for offer in offers], dtype=np.bool_),
        "price_of": _column(offers, "price_of"),
        "pricing_term": pricing_term,
        "confidence": _column(offers, "confidence"),
        "place": Categorical.of(places),
        "age_days": Categorical.of([(catalogs.as_of - offer.as_of).days for offer in offers]),
        "power_source": power_source,
    }


_COLUMNS: Final = OnceOf[Catalogs, dict[str, Any]](_columns)


def _column(offers: Sequence[Offer], name: str) -> Categorical[Any]:
    return Categorical.of([getattr(offer, name) for offer in offers])


def power_kw(offer: Offer, gpu: Gpu) -> Decimal | None:
    """Thermal design power of an instance's GPUs, kW; None where the GPU's is not known."""
    return None if gpu.tdp_w is None else Decimal(str(gpu.tdp_w)) * offer.gpu_count / WATTS_PER_KILOWATT


def _platform(offer: Offer) -> Platform:
    """An instance with one GPU has no link."""
    return (offer.gpu, offer.link, offer.link_gb_per_s) if offer.gpu_count > 1 else (offer.gpu, "none", None)

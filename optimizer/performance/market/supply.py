"""Every offer as the catalogs tell it, whatever a policy asks, with what policies judge told apart once."""

from dataclasses import dataclass
from decimal import Decimal

import numpy as np

from optimizer.base.arrays import Flags, Floats, Ints
from optimizer.base.units import WATTS_PER_KILOWATT
from optimizer.inputs.catalog.kinds import ALWAYS_PAID, Link, OfferTerm
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
        platforms: Distinct GPU and link combinations, sorted.
        platform: (O,) index into `platforms`.
        gpu_count: (O,) GPUs of an instance.
        price_usd_per_hour: (O,) of the whole instance, after discounts.
        power_kw: (O,) GPU power of the whole instance; NaN where the catalog does not know it.
        available_instances: (O,) how many there are; infinite where nobody limits them.
        always_paid: (O,) whether an instance is billed all month, used or not; the others by the hour.
        country: (O,) ISO code in lower case; empty where it is not known.
        provider, region, provider_kind, pricing_term, confidence, place, age_days: What policies judge.
        drawing: What power and grid depend on.
    """

    catalogs: Catalogs
    offers: tuple[Offer, ...]
    platforms: tuple[Platform, ...]
    platform: Ints
    gpu_count: Ints
    price_usd_per_hour: Floats
    power_kw: Floats
    available_instances: Floats
    always_paid: Flags
    country: tuple[str, ...]
    provider: Categorical[str]
    region: Categorical[str]
    provider_kind: Categorical[str]
    pricing_term: Categorical[OfferTerm]
    confidence: Categorical[str]
    place: Categorical[tuple[str, ...]]
    age_days: Categorical[int]
    drawing: Categorical[tuple[str, str, int, str]]


def supply(catalogs: Catalogs) -> Supply:
    """All that is offered and what is known of it."""
    offers = tuple(sorted(catalogs.offers, key=lambda offer: offer.id))
    keys = [_platform(offer) for offer in offers]
    platforms = tuple(sorted(set(keys), key=str))
    position = {key: index for index, key in enumerate(platforms)}
    places = [catalogs.terms.place(offer.provider, offer.region) for offer in offers]
    stock, owned = catalogs.terms.available_instances, catalogs.terms.owned
    drawing = Categorical.of([(o.region, o.gpu, o.gpu_count, o.id if o.id in owned else "") for o in offers])
    terms = Categorical.of([offer.pricing_term for offer in offers])
    return Supply(
        catalogs=catalogs,
        offers=offers,
        platforms=platforms,
        platform=np.array([position[key] for key in keys], dtype=np.int64),
        gpu_count=np.array([offer.gpu_count for offer in offers], dtype=np.int64),
        price_usd_per_hour=np.array([float(offer.price_usd_per_hour) for offer in offers]),
        power_kw=drawing.numbers(offers, lambda offer: power_kw(offer, catalogs.gpus[offer.gpu])),
        available_instances=np.array([float(stock.get(offer.id, np.inf)) for offer in offers]),
        always_paid=terms.passing(lambda term: term in ALWAYS_PAID),
        country=tuple(place[0] if place else "" for place in places),
        provider=Categorical.of([offer.provider for offer in offers]),
        region=Categorical.of([offer.region for offer in offers]),
        provider_kind=Categorical.of([offer.provider_kind for offer in offers]),
        pricing_term=terms,
        confidence=Categorical.of([offer.confidence for offer in offers]),
        place=Categorical.of(places),
        age_days=Categorical.of([(catalogs.as_of - offer.as_of).days for offer in offers]),
        drawing=drawing,
    )


def power_kw(offer: Offer, gpu: Gpu) -> Decimal | None:
    """Thermal design power of an instance's GPUs, kW; None where the GPU's is not known."""
    return None if gpu.tdp_w is None else Decimal(str(gpu.tdp_w)) * offer.gpu_count / WATTS_PER_KILOWATT


def _platform(offer: Offer) -> Platform:
    return (
        offer.gpu,
        offer.link if offer.gpu_count > 1 else "none",
        offer.link_gb_per_s if offer.gpu_count > 1 else None,
    )

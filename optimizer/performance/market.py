"""Offers as arrays: which of them the policy admits and why the others not, what each costs beside rent and emits."""

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

import numpy as np
import numpy.typing as npt

from optimizer.base.units import GRAMS_PER_KILOGRAM, WATTS_PER_KILOWATT
from optimizer.inputs.catalog import Catalogs, Gpu, Offer
from optimizer.inputs.kinds import ALWAYS_PAID, OWNED, SPOT, Link
from optimizer.inputs.scenario import Grid, Policy, Workload
from optimizer.performance.criteria import OFFER_CRITERIA

Platform = tuple[str, Link | None, float | None]
"""GPU, how several of them are joined, and the link's GB/s in one direction: what performance depends on."""

STORAGE_UNIT: Final = "USD/GB-month"
"""Unit of the ancillary costs that price block storage; a provider's cheapest counts."""

EGRESS: Final = ("egress to the internet", "USD/GB")
"""Item and unit of the ancillary costs that price data sent out: one price per GB, without tiers or allowances."""


@dataclass(frozen=True)
class Market:
    """Every offer of the catalogs, one row each, sorted by id.

    Attributes:
        offers: The rows (O).
        failed: (O, criteria) whether an offer fails each of OFFER_CRITERIA.
        platform: (O,) index into `platforms`.
        platforms: Distinct GPU and link combinations.
        gpu_count: (O,) GPUs of an instance.
        price_usd_per_hour: (O,) of the whole instance, after discounts.
        power_kw: (O,) GPU power of the whole instance; NaN where the catalog does not know it.
        available_instances: (O,) how many there are; infinite where nobody limits them.
        always_paid: (O,) whether an instance is billed all month, used or not; the others by the hour.
        country: (O,) ISO code in lower case; empty where it is not known.
        carbon_kg_per_hour: (O,) CO2 of a running instance; NaN where power or grid are not known.
        storage_usd_per_month: (O,) of the storage that the policy asks for with every instance; NaN where the
            provider's price is not known.
        egress_usd_per_gb: (O,) of data sent to the internet; NaN where the policy asks for it and nobody knows it.
        serving_share: (O,) of a month in which a replica serves: below 1 for spot offers that are interrupted.
    """

    offers: tuple[Offer, ...]
    failed: npt.NDArray[np.bool_]
    platform: npt.NDArray[np.int64]
    platforms: tuple[Platform, ...]
    gpu_count: npt.NDArray[np.int64]
    price_usd_per_hour: npt.NDArray[np.float64]
    power_kw: npt.NDArray[np.float64]
    available_instances: npt.NDArray[np.float64]
    always_paid: npt.NDArray[np.bool_]
    country: tuple[str, ...]
    carbon_kg_per_hour: npt.NDArray[np.float64]
    storage_usd_per_month: npt.NDArray[np.float64]
    egress_usd_per_gb: npt.NDArray[np.float64]
    serving_share: npt.NDArray[np.float64]

    @property
    def admitted(self) -> npt.NDArray[np.bool_]:
        """(O,) whether the policy admits the offer."""
        admitted: npt.NDArray[np.bool_] = ~np.any(self.failed, axis=1)
        return admitted

    def widest(self) -> dict[Platform, int]:
        """Every platform with the most GPUs that one instance of it holds."""
        counts: dict[Platform, int] = {}
        for offer, index in zip(self.offers, self.platform, strict=True):
            key = self.platforms[index]
            counts[key] = max(counts.get(key, 0), offer.gpu_count)
        return counts


def market(catalogs: Catalogs, policy: Policy) -> Market:
    """All offers held against the policy, every criterion for every offer."""
    offers = tuple(sorted(catalogs.offers, key=lambda offer: offer.id))
    keys = [_platform(offer) for offer in offers]
    platforms = tuple(sorted(set(keys), key=str))
    position = {key: index for index, key in enumerate(platforms)}
    known = [_known(offer, catalogs, policy) for offer in offers]
    lost = policy.spot.lost_share if policy.spot else 0.0
    stock = catalogs.terms.available_instances
    return Market(
        offers=offers,
        failed=np.array(
            [_failures(offer, policy, catalogs, facts) for offer, facts in zip(offers, known, strict=True)]
        ),
        platform=np.array([position[key] for key in keys], dtype=np.int64),
        platforms=platforms,
        gpu_count=np.array([offer.gpu_count for offer in offers], dtype=np.int64),
        price_usd_per_hour=np.array([float(offer.price_usd_per_hour) for offer in offers]),
        power_kw=_floats(facts.power_kw for facts in known),
        available_instances=np.array([float(stock.get(offer.id, np.inf)) for offer in offers]),
        always_paid=np.array([offer.pricing_term in ALWAYS_PAID for offer in offers], dtype=bool),
        country=tuple(facts.place[0] if facts.place else "" for facts in known),
        carbon_kg_per_hour=_floats(facts.carbon_kg_per_hour for facts in known),
        storage_usd_per_month=_floats(facts.storage_usd_per_month for facts in known),
        egress_usd_per_gb=_floats(facts.egress_usd_per_gb for facts in known),
        serving_share=np.array([1 - lost if offer.pricing_term == SPOT else 1.0 for offer in offers]),
    )


def permitted(workload: Workload, offers: Market, catalogs: Catalogs) -> npt.NDArray[np.bool_]:
    """(O,) whether a workload's own lists let it run on an offer, whatever the policy admits."""
    lists = (workload.providers, workload.regions, workload.countries)
    if not any(pins.restricts for pins in lists):
        return np.ones(len(offers.offers), dtype=bool)
    return np.array([_is_permitted(workload, offer, catalogs) for offer in offers.offers], dtype=bool)


def _is_permitted(workload: Workload, offer: Offer, catalogs: Catalogs) -> bool:
    place = catalogs.terms.place(offer.provider, offer.region)
    within = workload.countries.permits(*place) if place else not workload.countries.restricts
    return within and workload.providers.permits(offer.provider) and workload.regions.permits(offer.region)


def admits_by(policy: Policy) -> tuple[object, ...]:
    """Everything of a policy on which a market depends: equal values, equal markets."""
    lists = (policy.providers, policy.regions, policy.countries, policy.provider_kinds, policy.hosting)
    prices = (policy.pricing_terms, policy.price_confidence, policy.max_price_age_days, policy.storage_gb_per_instance)
    limited = (policy.max_power_kw is None, policy.max_carbon_kg_per_month is None, policy.grid, policy.spot)
    return (*lists, *prices, *limited, policy.egress is None)


@dataclass(frozen=True)
class _Known:
    """What is known about one offer beside its row; None where it is not."""

    place: tuple[str, ...]
    power_kw: Decimal | None
    carbon_kg_per_hour: Decimal | None
    storage_usd_per_month: Decimal | None
    egress_usd_per_gb: Decimal | None


def _known(offer: Offer, catalogs: Catalogs, policy: Policy) -> _Known:
    return _Known(
        place=catalogs.terms.place(offer.provider, offer.region),
        power_kw=power_kw(offer, catalogs.gpus[offer.gpu]),
        carbon_kg_per_hour=carbon_kg_per_hour(offer, catalogs, policy.grid),
        storage_usd_per_month=storage_usd_per_month(offer, catalogs, policy.storage_gb_per_instance),
        egress_usd_per_gb=Decimal(0) if policy.egress is None else egress_usd_per_gb(offer, catalogs),
    )


def _floats(values: Iterable[Decimal | None]) -> npt.NDArray[np.float64]:
    return np.array([np.nan if value is None else float(value) for value in values])


def power_kw(offer: Offer, gpu: Gpu) -> Decimal | None:
    """Thermal design power of an instance's GPUs, kW; None where the GPU's is not known."""
    return None if gpu.tdp_w is None else Decimal(str(gpu.tdp_w)) * offer.gpu_count / WATTS_PER_KILOWATT


def carbon_kg_per_hour(offer: Offer, catalogs: Catalogs, grid: Grid | None) -> Decimal | None:
    """CO2 of a running instance: kW × PUE × g/kWh, kg per hour; None where power or grid are not known.

    Hardware of one's own counts with its own power and PUE, rented hardware with its GPUs' rated power and the grid's.
    """
    if grid is None:
        return None
    grams = grid.intensity_g_per_kwh(offer.region)
    own, rated_kw = catalogs.terms.owned.get(offer.id), power_kw(offer, catalogs.gpus[offer.gpu])
    drawn_kw = own.power_kw if own is not None and own.power_kw is not None else rated_kw
    if grams is None or drawn_kw is None:
        return None
    pue = Decimal(repr(grid.pue)) if own is None else own.pue
    return drawn_kw * pue * Decimal(repr(grams)) / GRAMS_PER_KILOGRAM


def storage_usd_per_month(offer: Offer, catalogs: Catalogs, storage_gb: float) -> Decimal | None:
    """So many GB with one instance at the provider's cheapest price; None where no price is known.

    Disks of one's own stand in the purchase price.
    """
    if not storage_gb or offer.provider == OWNED:
        return Decimal(0)
    prices = [row.value for row in catalogs.ancillary if (row.provider, row.unit) == (offer.provider, STORAGE_UNIT)]
    return Decimal(repr(storage_gb)) * min(prices) if prices else None


def egress_usd_per_gb(offer: Offer, catalogs: Catalogs) -> Decimal | None:
    """A GB sent to the internet at the provider's cheapest price; None where no price is known.

    The line of one's own site stands in what a month of its hardware costs.
    """
    if offer.provider == OWNED:
        return Decimal(0)
    prices = [
        row.value for row in catalogs.ancillary if (row.provider, row.item, row.unit) == (offer.provider, *EGRESS)
    ]
    return min(prices) if prices else None


def _platform(offer: Offer) -> Platform:
    return (
        offer.gpu,
        offer.link if offer.gpu_count > 1 else "none",
        offer.link_gb_per_s if offer.gpu_count > 1 else None,
    )


def _failures(offer: Offer, policy: Policy, catalogs: Catalogs, known: _Known) -> list[bool]:
    """Whether the offer fails each of OFFER_CRITERIA, in their order."""
    age_days = (catalogs.as_of - offer.as_of).days
    own = offer.provider_kind == OWNED
    passed = {
        "provider": policy.providers.permits(offer.provider),
        "region": policy.regions.permits(offer.region),
        "country": not known.place or policy.countries.permits(*known.place),
        "country_known": bool(known.place) or not policy.countries.restricts,
        "hosting": (OWNED if own else "rented") in policy.hosting,
        "provider_kind": own or offer.provider_kind in policy.provider_kinds,
        "pricing_term": own or offer.pricing_term in policy.pricing_terms,
        "price_confidence": offer.confidence in policy.price_confidence,
        "price_age": policy.max_price_age_days is None or age_days <= policy.max_price_age_days,
        "power_known": policy.max_power_kw is None or known.power_kw is not None,
        "carbon_known": policy.max_carbon_kg_per_month is None or known.carbon_kg_per_hour is not None,
        "storage_priced": known.storage_usd_per_month is not None,
        "egress_priced": known.egress_usd_per_gb is not None,
    }
    return [not passed[criterion.name] for criterion in OFFER_CRITERIA]

"""Offers as arrays: which of them the policy admits, and why the others not."""

from dataclasses import dataclass
from datetime import date
from decimal import Decimal

import numpy as np
import numpy.typing as npt

from optimizer.base.units import WATTS_PER_KILOWATT
from optimizer.inputs.catalog import Catalogs, Gpu, Link, Offer
from optimizer.inputs.scenario import Policy
from optimizer.performance.criteria import OFFER_CRITERIA

Platform = tuple[str, Link | None, float | None]
"""GPU, how several of them are joined, and the link's GB/s in one direction: what performance depends on."""


@dataclass(frozen=True)
class Market:
    """Every offer of the catalogs, one row each, sorted by id.

    Attributes:
        offers: The rows (O).
        failed: (O, criteria) whether an offer fails each of OFFER_CRITERIA.
        platform: (O,) index into `platforms`.
        platforms: Distinct GPU and link combinations.
        gpu_count: (O,) GPUs of an instance.
        price_usd_per_hour: (O,) of the whole instance.
        power_kw: (O,) GPU power of the whole instance; NaN where the catalog does not know it.
    """

    offers: tuple[Offer, ...]
    failed: npt.NDArray[np.bool_]
    platform: npt.NDArray[np.int64]
    platforms: tuple[Platform, ...]
    gpu_count: npt.NDArray[np.int64]
    price_usd_per_hour: npt.NDArray[np.float64]
    power_kw: npt.NDArray[np.float64]

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
    power = [power_kw(offer, catalogs.gpus[offer.gpu]) for offer in offers]
    return Market(
        offers=offers,
        failed=np.array(
            [_failures(offer, policy, catalogs.as_of, kw) for offer, kw in zip(offers, power, strict=True)]
        ),
        platform=np.array([position[key] for key in keys], dtype=np.int64),
        platforms=platforms,
        gpu_count=np.array([offer.gpu_count for offer in offers], dtype=np.int64),
        price_usd_per_hour=np.array([float(offer.price_usd_per_hour) for offer in offers]),
        power_kw=np.array([np.nan if kw is None else float(kw) for kw in power]),
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


def _failures(offer: Offer, policy: Policy, as_of: date, power: Decimal | None) -> list[bool]:
    """Whether the offer fails each of OFFER_CRITERIA, in their order."""
    age_days = (as_of - offer.as_of).days
    passed = {
        "provider": policy.providers.permits(offer.provider),
        "region": policy.regions.permits(offer.region),
        "provider_kind": offer.provider_kind in policy.provider_kinds,
        "pricing_term": offer.pricing_term in policy.pricing_terms,
        "price_confidence": offer.confidence in policy.price_confidence,
        "price_age": policy.max_price_age_days is None or age_days <= policy.max_price_age_days,
        "power_known": policy.max_power_kw is None or power is not None,
    }
    return [not passed[criterion.name] for criterion in OFFER_CRITERIA]

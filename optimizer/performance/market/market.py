"""Offers held against a policy: which it admits and why the others not, what each costs besides rent and emits."""

from collections.abc import Iterable
from dataclasses import dataclass, fields
from decimal import Decimal
from functools import cached_property
from typing import Final

import numpy as np

from optimizer.base.arrays import Flags, Floats
from optimizer.base.units import GRAMS_PER_KILOGRAM
from optimizer.inputs.catalog.kinds import OWNED, SPOT
from optimizer.inputs.catalog.records import AncillaryCost, Catalogs, Offer
from optimizer.inputs.requirements.stated import policy_fields
from optimizer.inputs.scenario.scenario import Grid, Policy, Scenario, Workload
from optimizer.performance.market.criteria import OFFER_CRITERIA
from optimizer.performance.market.supply import Platform, Supply, power_kw, supply

STORAGE_UNIT: Final = "USD/GB-month"
"""Unit of the ancillary costs that price block storage; a provider's cheapest counts."""

EGRESS: Final = ("egress to the internet", "USD/GB")
"""Item and unit of the ancillary costs that price data sent out: one price per GB, without tiers or allowances."""


@dataclass(frozen=True)
class Market(Supply):
    """The supply under one policy.

    Attributes:
        failed: (O, criteria) whether an offer fails each of OFFER_CRITERIA.
        carbon_kg_per_hour: (O,) CO2 of a running instance; NaN where power or grid are not known.
        storage_usd_per_month: (O,) of the storage that the policy asks for with every instance; NaN where the
            provider's price is not known.
        egress_usd_per_gb: (O,) of data sent to the internet; NaN where the policy asks for it and nobody knows it.
        serving_share: (O,) of a month in which a replica serves: below 1 for spot offers that are interrupted.
    """

    failed: Flags
    carbon_kg_per_hour: Floats
    storage_usd_per_month: Floats
    egress_usd_per_gb: Floats
    serving_share: Floats

    @cached_property
    def admitted(self) -> Flags:
        """(O,) whether the policy admits the offer."""
        admitted: Flags = ~np.any(self.failed, axis=1)
        return admitted

    def widest(self) -> dict[Platform, int]:
        """Every platform with the most GPUs that one instance of it holds."""
        # offer -> the widest of its platform
        widest = np.zeros(len(self.platform.categories), dtype=np.int64)
        np.maximum.at(widest, self.platform.codes, self.gpu_count)
        return dict(zip(self.platform.categories, widest.tolist(), strict=True))


def market(catalogs: Catalogs, policy: Policy, *, promises_latency: bool = True) -> Market:
    """All offers held against the policy, every criterion for every offer.

    Args:
        catalogs: What is offered.
        policy: What may be bought.
        promises_latency: Whether any workload does, which shared GPUs cannot keep.
    """
    return under(supply(catalogs), policy, promises_latency=promises_latency)


def under(known: Supply, policy: Policy, *, promises_latency: bool = True) -> Market:
    """The same offers, or those of another market, held against a policy."""
    catalogs, offers = known.catalogs, known.offers
    lost = policy.spot.lost_share if policy.spot else 0.0
    carbon = known.power_source.numbers(offers, lambda offer: carbon_kg_per_hour(offer, catalogs, policy.grid))
    storage_gb, sends = policy.storage_gb_per_instance, policy.egress is not None
    storage = known.provider.numbers(offers, lambda offer: storage_usd_per_month(offer, catalogs, storage_gb))
    egress = known.provider.numbers(offers, lambda offer: egress_usd_per_gb(offer, catalogs) if sends else Decimal(0))
    passed = _passed(known, policy, carbon, storage, egress)
    passed["whole_gpu"] = known.whole_gpu.passing(lambda whole: whole != "no" or not promises_latency)
    return Market(
        **{field.name: getattr(known, field.name) for field in fields(Supply)},
        failed=~np.column_stack([passed[criterion.name] for criterion in OFFER_CRITERIA]),
        carbon_kg_per_hour=carbon,
        storage_usd_per_month=storage,
        egress_usd_per_gb=egress,
        serving_share=np.where(known.pricing_term.passing(lambda term: term == SPOT), 1 - lost, 1.0),
    )


def permitted(workload: Workload, offers: Supply) -> Flags:
    """(O,) whether a workload's own lists let it run on an offer, whatever the policy admits."""
    countries = workload.countries
    within = offers.place.passing(lambda place: countries.permits(*place) if place else not countries.restricts)
    listed = offers.provider.passing(workload.providers.permits) & offers.region.passing(workload.regions.permits)
    return within & listed


def admits_by(policy: Policy) -> tuple[object, ...]:
    """Everything of a policy on which a market depends: equal values, equal markets."""
    limited = (policy.max_power_kw is None, policy.max_carbon_kg_per_month is None)
    admitted = (getattr(policy, field) for field in sorted(policy_fields("offers")))
    return (*admitted, *limited, policy.grid, policy.spot)


def asked_again(known: Market, now: Scenario, other: Scenario) -> Market:
    """The market of one scenario held against another; as it is where that changes nothing."""
    same_promise = now.promises_latency == other.promises_latency
    if same_promise and admits_by(now.policy) == admits_by(other.policy):
        return known
    return under(known, other.policy, promises_latency=other.promises_latency)


def carbon_kg_per_hour(offer: Offer, catalogs: Catalogs, grid: Grid | None) -> Decimal | None:
    """CO2 of a running instance: kW × PUE × g/kWh, kg per hour; None where power or grid are not known.

    Hardware of one's own counts with its own power and PUE, rented hardware with its GPUs' rated power and the grid's.
    """
    if grid is None:
        return None
    grams = grid_g_per_kwh(catalogs, grid, offer.provider, offer.region)
    own, rated_kw = catalogs.terms.owned.get(offer.id), power_kw(offer, catalogs.gpus[offer.gpu])
    drawn_kw = own.power_kw if own is not None and own.power_kw is not None else rated_kw
    if grams is None or drawn_kw is None:
        return None
    pue = Decimal(repr(grid.pue)) if own is None else own.pue
    return drawn_kw * pue * Decimal(repr(grams)) / GRAMS_PER_KILOGRAM


def grid_g_per_kwh(catalogs: Catalogs, grid: Grid, provider: str, region: str) -> float | None:
    """Emissions of a kWh in a provider's region: the scenario's own figures where it gives any, else the catalogs'."""
    if grid.g_co2_per_kwh is not None:
        return grid.intensity_g_per_kwh(region)
    known = catalogs.terms.grid.get((provider, region))
    return None if known is None else known.g_co2_per_kwh


def storage_usd_per_month(offer: Offer, catalogs: Catalogs, storage_gb: float) -> Decimal | None:
    """So many GB with one instance at the provider's cheapest price; None where no price is known.

    Disks of one's own stand in the purchase price.
    """
    if not storage_gb or offer.provider == OWNED:
        return Decimal(0)
    price = _cheapest(row for row in catalogs.ancillary if (row.provider, row.unit) == (offer.provider, STORAGE_UNIT))
    return None if price is None else Decimal(repr(storage_gb)) * price


def egress_usd_per_gb(offer: Offer, catalogs: Catalogs) -> Decimal | None:
    """A GB sent to the internet at the provider's cheapest price; None where no price is known.

    The line of one's own site stands in what a month of its hardware costs.
    """
    if offer.provider == OWNED:
        return Decimal(0)
    wanted = (offer.provider, *EGRESS)
    return _cheapest(row for row in catalogs.ancillary if (row.provider, row.item, row.unit) == wanted)


def _cheapest(rows: Iterable[AncillaryCost]) -> Decimal | None:
    return min((row.value for row in rows), default=None)


def _passed(
    known: Supply,
    policy: Policy,
    carbon: Floats,
    storage: Floats,
    egress: Floats,
) -> dict[str, Flags]:
    """(O,) whether each offer passes each of OFFER_CRITERIA."""
    countries, oldest = policy.countries, policy.max_price_age_days
    own = known.provider_kind.passing(lambda kind: kind == OWNED)
    return {
        "provider": known.provider.passing(policy.providers.permits),
        "region": np.where(
            known.open_region,
            known.region.passing(policy.regions.permits),
            known.region.passing(lambda name: policy.regions.permits_apart(name, known.open_regions)),
        ),
        "country": known.place.passing(lambda place: not place or countries.permits(*place)),
        "country_known": known.place.passing(lambda place: bool(place) or not countries.restricts),
        "hosting": np.where(own, OWNED in policy.hosting, "rented" in policy.hosting),
        "provider_kind": own | known.provider_kind.passing(lambda kind: kind in policy.provider_kinds),
        "seller": own | known.seller_kind.passing(lambda kind: kind in policy.sellers),
        "serves_others": known.serves_others.passing(lambda may: may != "no"),
        "consumer_gpu": own | ~known.consumer | policy.consumer_gpus,
        "price_of_instance": known.price_of.passing(lambda what: what == "instance"),
        "pricing_term": own | known.pricing_term.passing(lambda term: term in policy.pricing_terms),
        "price_confidence": known.confidence.passing(lambda name: name in policy.price_confidence),
        "price_age": known.age_days.passing(lambda days: oldest is None or days <= oldest),
        "power_known": ~np.isnan(known.power_kw) | (policy.max_power_kw is None),
        "carbon_known": ~np.isnan(carbon) | (policy.max_carbon_kg_per_month is None),
        "storage_priced": ~np.isnan(storage),
        "egress_priced": ~np.isnan(egress),
    }

"""Which requirements a proposed choice fails, by its candidate that fails the fewest, and by how much."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from optimizer.base.arrays import Flags, Ints
from optimizer.base.figures import exactly, figure
from optimizer.base.model import Strict
from optimizer.inputs.catalog.records import Offer
from optimizer.inputs.requirements.stated import shown
from optimizer.inputs.scenario.scenario import CENTRAL_CONFIDENCE, Policy
from optimizer.performance.candidates.network import fits_of
from optimizer.performance.candidates.options import WorkloadOptions
from optimizer.performance.candidates.quality import against_floors
from optimizer.performance.market.criteria import CONFIGURATION_CRITERIA, OFFER_CRITERIA, Criterion
from optimizer.performance.market.market import Market, permitted
from optimizer.performance.physics.engine_constants import uncalibrated
from optimizer.performance.physics.setup import Configuration
from optimizer.performance.uncertainty.evidence import not_measured
from optimizer.plan.question.forcing import Choice, offers_of, rows_of
from optimizer.plan.question.inquiry import Inquiry
from optimizer.plan.record.fields import Figure

LABELS = {"ttft": "TTFT", "tpot": "TPOT", "e2e": "end to end", "quality_worst": "quality on the worst benchmark"}
DIGITS = 4
VERBS = {"memory": "needs", "context": "asks for"}


class Shortfall(Strict):
    """One requirement that the choice's closest candidate fails."""

    workload: str
    criterion: str
    requirement: str
    """Path of the field that would lift it; empty where no scenario can: physics, kernels, arithmetic."""
    candidate: str
    value: Figure | None
    limit: Figure | None
    unit: str
    failing: int
    """Configurations of the choice that fail it, of `considered`."""
    considered: int
    text: str


@dataclass(frozen=True)
class Closest:
    """A workload's candidate of the choice with the fewest failures."""

    options: WorkloadOptions
    rows: Ints
    row: int
    offer: Offer
    offer_failed: Flags


def shortfalls(inquiry: Inquiry, choice: Choice) -> list[Shortfall]:
    """Everything that the closest candidate of each workload fails, or what keeps it from having any."""
    found = list[Shortfall]()
    for options in inquiry.options:
        closest = _closest(inquiry, choice, options)
        if closest is None:
            found += _out_of_reach(inquiry, choice, options)
        else:
            found += [*_of_configuration(inquiry, closest), *_of_offer(inquiry, closest)]
    return found


def out_of_reach(inquiry: Inquiry, choice: Choice) -> list[Shortfall]:
    """What keeps workloads from every offer of the choice that could hold one of their configurations."""
    found = ((options, _closest(inquiry, choice, options)) for options in inquiry.options)
    return [each for options, closest in found if closest is None for each in _out_of_reach(inquiry, choice, options)]


def _out_of_reach(inquiry: Inquiry, choice: Choice, options: WorkloadOptions) -> Iterator[Shortfall]:
    """What the policy holds against the offer that fails the least of it, and what keeps the workload from there."""
    market, rows = inquiry.market, np.flatnonzero(rows_of(choice, options))
    if not len(rows):
        return
    here = np.flatnonzero(offers_of(choice, market) & _holds(options, rows, market))
    if not len(here):
        return
    permitted_here = here[permitted(options.workload, market)[here]]
    homes = permitted_here if len(permitted_here) else here
    usd, faults = market.price_usd_per_hour[homes] / market.gpu_count[homes], market.failed[homes].sum(axis=1)
    home = int(homes[np.lexsort((usd, faults))[0]])
    offer = market.offers[home]
    yield from _of_offer(inquiry, Closest(options, rows, int(rows[0]), offer, market.failed[home]))
    # what is permitted and yet out of reach is so because nobody knows how far away it is
    far = len(permitted_here) > 0
    for field, text in (_distance(options, offer) if far else _own_lists(inquiry, options, offer)).items():
        yield Shortfall(
            workload=options.workload.name,
            criterion=field,
            requirement=f"workloads[{options.workload.name}].{field}",
            candidate=offer.id,
            value=None,
            limit=None,
            unit="",
            failing=len(rows),
            considered=len(rows),
            text=f"{options.workload.name}: {text}",
        )


def _holds(options: WorkloadOptions, rows: Ints, market: Market) -> Flags:
    """(O,) whether an instance can hold a replica of one of these configurations, however far away it stands."""
    kinds = [options.kinds[kind]._replace(network_ms=0.0) for kind in np.unique(options.kind[rows]).tolist()]
    holds: Flags = np.any(fits_of(kinds, market, np.zeros(len(market.offers))), axis=0)
    return holds


def _distance(options: WorkloadOptions, offer: Offer) -> dict[str, str]:
    """By field: that nobody knows how far an offer is from where users are said to be."""
    users_in = options.workload.users_in
    users = ", ".join(users_in) or "users"
    far = f"how far {offer.provider} {offer.region} is from {users} is not known; network_ms says it where you know"
    return {"users_in" if users_in else "network_ms": far}


def _own_lists(inquiry: Inquiry, options: WorkloadOptions, offer: Offer) -> dict[str, str]:
    """By field: the workload's own lists that do not permit an offer."""
    workload, place = options.workload, inquiry.catalogs.terms.place(offer.provider, offer.region)
    permits = {
        "providers": workload.providers.permits(offer.provider),
        "regions": workload.regions.permits(offer.region),
        "countries": workload.countries.permits(*place) if place else not workload.countries.restricts,
    }
    where = f"{offer.provider} {offer.region}"
    return {field: f"its {field} do not permit {where}" for field, permitted_by in permits.items() if not permitted_by}


def _closest(inquiry: Inquiry, choice: Choice, options: WorkloadOptions) -> Closest | None:
    """Fewest failures first, then the smallest excess over a limit, then the first in order."""
    market, pool = inquiry.market, options.pools[0]
    positions = np.flatnonzero(offers_of(choice, market))
    faults = market.failed[positions].sum(axis=1)
    fits = options.fits[:, positions]
    fewest = np.where(fits, faults, len(OFFER_CRITERIA) + 1).min(axis=1, initial=len(OFFER_CRITERIA) + 1)
    rows = np.flatnonzero(rows_of(choice, options) & (fewest <= len(OFFER_CRITERIA))[options.kind])
    if not len(rows):
        return None
    misses = pool.failed[rows].sum(axis=1) + fewest[options.kind[rows]]
    excess = np.where(pool.failed[rows], np.nan_to_num(pool.value[rows] / pool.limit[rows]), 0).max(axis=1)
    row = int(rows[np.lexsort((rows, excess, misses))[0]])
    kind = options.kind[row]
    homes = positions[fits[kind] & (faults == fewest[kind])]
    home = int(homes[np.argmin(market.price_usd_per_hour[homes] / market.gpu_count[homes])])
    return Closest(options, rows, row, market.offers[home], market.failed[home])


def _of_configuration(inquiry: Inquiry, closest: Closest) -> Iterator[Shortfall]:
    """Each criterion that the candidate's configuration fails, with how many of the choice fail it, too."""
    options, row, workload = closest.options, closest.row, closest.options.workload
    name, pool = _name(options.configurations[row], workload.model), options.pools[0]
    for j, criterion in enumerate(CONFIGURATION_CRITERIA):
        if not pool.failed[row, j]:
            continue
        value, limit = _measured(closest, j, criterion)
        failing = int(pool.failed[closest.rows, j].sum())
        said = _missed(inquiry, closest, criterion, value, limit)
        yield Shortfall(
            workload=workload.name,
            criterion=criterion.name,
            requirement=criterion.field(workload.name),
            candidate=name,
            value=value,
            limit=None if value is None else limit,
            unit=criterion.unit,
            failing=failing,
            considered=len(closest.rows),
            text=f"{workload.name}: {said} ({failing:,} of its {len(closest.rows):,} configurations fail it)",
        )


def _measured(closest: Closest, j: int, criterion: Criterion) -> tuple[float | None, float]:
    """What the candidate reaches of a criterion, None where nothing is known, and what is asked."""
    options, row = closest.options, closest.row
    share, floor = against_floors(options.workload, options.quality[row]).get(criterion.name, (None, 0.0))
    if share is not None:
        return share, floor
    value = float(options.pools[0].value[row, j])
    return value if np.isfinite(value) else None, float(options.pools[0].limit[row, j])


def _missed(inquiry: Inquiry, closest: Closest, criterion: Criterion, value: float | None, limit: float) -> str:
    """How far the candidate is from a criterion, in words."""
    catalogs, confidence = inquiry.catalogs, inquiry.scenario.policy.confidence
    configuration, model = closest.options.configurations[closest.row], closest.options.workload.model
    name, label = _name(configuration, model), LABELS.get(criterion.name, criterion.name.replace("_", " "))
    if criterion.name == "measured":
        return f"speed: nobody measured {', '.join(not_measured(catalogs, configuration))}; {name} is an estimate"
    if criterion.name == "published":
        return f"quality: nobody published what {model} keeps of it in {configuration.precision}"
    if criterion.name == "engine_calibrated":
        return f"{label}: {uncalibrated(catalogs, configuration.engine, catalogs.gpus[configuration.gpu])}"
    if value is None:
        return f"{label}: {name} does not pass “{criterion.sentence}”"
    verb, unit = VERBS.get(criterion.name, "reaches"), criterion.unit
    off = f"{figure(abs(value / limit - 1) * 100)} % {'over' if value > limit else 'short'}"
    bound = f" at the {exactly(confidence * 100)} % bound" if unit == "ms" and confidence > CENTRAL_CONFIDENCE else ""
    return f"{label}: {name} {verb} {shown(_short(value), unit)} of {shown(_short(limit), unit)}{bound}, {off}"


def _short(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")


def _name(c: Configuration, model: str) -> str:
    return f"{model} {c.precision} on {c.tensor_parallel * c.pipeline_parallel}×{c.gpu} with {c.engine}"


def _of_offer(inquiry: Inquiry, closest: Closest) -> Iterator[Shortfall]:
    policy, offer = inquiry.scenario.policy, closest.offer
    age_days = (inquiry.catalogs.as_of - offer.as_of).days
    seller = inquiry.catalogs.terms.seller_kind(offer.provider, offer.provider_kind)
    for criterion, failed in zip(OFFER_CRITERIA, closest.offer_failed.tolist(), strict=True):
        if not failed:
            continue
        dated = criterion.name == "price_age" and policy.max_price_age_days is not None
        yield Shortfall(
            workload=closest.options.workload.name,
            criterion=criterion.name,
            requirement=criterion.field(closest.options.workload.name),
            candidate=offer.id,
            value=float(age_days) if dated else None,
            limit=float(policy.max_price_age_days) if dated and policy.max_price_age_days is not None else None,
            unit=criterion.unit,
            failing=1,
            considered=1,
            text=f"{offer.id}: {_barred(criterion, offer, policy, age_days=age_days, seller=seller)}",
        )


def _barred(criterion: Criterion, offer: Offer, policy: Policy, *, age_days: int, seller: str) -> str:
    """What about the offer the policy does not admit, in its own words."""
    admitted = criterion.field("").removeprefix("policy.")
    told = {
        "provider": offer.provider,
        "region": offer.region,
        "provider_kind": f"a {offer.provider_kind}; it admits {', '.join(policy.provider_kinds)}",
        "seller": f"{offer.provider}, whose kind of seller is {seller}; it admits {', '.join(policy.sellers)}",
        "consumer_gpu": f"the gaming card {offer.gpu}",
        "pricing_term": f"the price {offer.pricing_term}; it admits {', '.join(policy.pricing_terms)}",
        "price_confidence": f"a {offer.confidence} price; it admits {', '.join(policy.price_confidence)}",
        "price_age": f"a price {age_days} days old; it is {policy.max_price_age_days}",
    }
    if not admitted:
        return f"does not pass “{criterion.sentence}”"
    if criterion.name not in told:
        return f"does not pass “{criterion.sentence}”, which policy.{admitted} decides"
    return f"policy.{admitted} does not admit {told[criterion.name]}"

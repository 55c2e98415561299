"""Every promise of a finished plan recomputed from the scenario and the catalogs alone.

Shares nothing with the formulation: it reads what the plan says it buys and serves, looks the prices up again,
adds in Decimal, packs replicas onto instances one by one and predicts every deployment at its planned load.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal

import numpy as np

from optimizer.base.units import BYTES_PER_GIB, HOURS_PER_MONTH, MS_PER_S, WATTS_PER_KILOWATT
from optimizer.inputs.catalog import Catalogs, Offer
from optimizer.inputs.quality import SIXTEEN_BIT, quality_share
from optimizer.inputs.scenario import Scenario, Workload
from optimizer.performance.evidence import margins
from optimizer.performance.memory import memory_use
from optimizer.performance.predict import Mix, operate
from optimizer.performance.setup import Configuration, gather
from optimizer.plan.fields import cents
from optimizer.plan.fleet import Deployment, Purchase
from optimizer.plan.plan import Check, Verification

RATE_TOLERANCE = 1e-6
"""Relative: routing comes from a linear program in floating point."""
CENT_TOLERANCE = Decimal("0.01")
MONEY_UNIT = Decimal(HOURS_PER_MONTH)


@dataclass(frozen=True)
class Claim:
    """A plan as it will be shown, with what it must be held against."""

    scenario: Scenario
    catalogs: Catalogs
    deployments: Sequence[Deployment]
    purchases: Sequence[Purchase]
    monthly_cost_usd: Decimal

    def offer(self, purchase: Purchase) -> Offer:
        """The offer that a purchase names, looked up in the catalogs again."""
        return next(offer for offer in self.catalogs.offers if offer.id == purchase.offer)

    def workload(self, deployment: Deployment) -> Workload:
        """The workload that a deployment says it serves."""
        return next(item for item in self.scenario.workloads if item.name == deployment.workload)

    def purchase_of(self, deployment: Deployment) -> Purchase | None:
        """The purchase whose instances hold the deployment."""
        return next((p for p in self.purchases if _describes(self.offer(p), deployment)), None)


Finding = tuple[bool, str]


def verify(claim: Claim) -> Verification:
    """Runs every check; a plan that fails one must not be shown as an answer."""
    checks = [
        Check(name=name, passed=passed, text=text)
        for name, check in CHECKS.items()
        for passed, text in (_joined(check(claim)),)
    ]
    return Verification(passed=all(check.passed for check in checks), checks=checks)


def _joined(findings: Iterator[Finding]) -> Finding:
    """One verdict for a check: all that is wrong, or the last thing that was right."""
    found = list(findings)
    wrong = [text for passed, text in found if not passed]
    if wrong:
        return False, "; ".join(wrong)
    if not found:
        return True, "the scenario sets no such limit"
    return True, found[0][1] if len(found) == 1 else f"{len(found)} of {len(found)} hold"


def _describes(offer: Offer, deployment: Deployment) -> bool:
    pairs = (
        (offer.provider, deployment.provider),
        (offer.region, deployment.region),
        (offer.instance_type, deployment.instance_type),
        (offer.gpu, deployment.gpu),
        (offer.gpu_count, deployment.gpus_per_instance),
        (offer.pricing_term, deployment.pricing_term),
        (offer.commitment_months, deployment.commitment_months),
    )
    return all(left == right for left, right in pairs)


def _cost(claim: Claim) -> Iterator[Finding]:
    total = sum((claim.offer(p).price_usd_per_hour * p.instances * MONEY_UNIT for p in claim.purchases), Decimal(0))
    shown = claim.monthly_cost_usd
    yield (
        abs(total - shown) <= CENT_TOLERANCE,
        f"instances at catalog prices cost {cents(total)}, the plan says {cents(shown)}",
    )
    parts = sum((d.monthly_cost_usd for d in claim.deployments), Decimal(0))
    yield abs(parts - shown) <= CENT_TOLERANCE, f"deployments add up to {cents(parts)}, the plan says {cents(shown)}"


def _demand(claim: Claim) -> Iterator[Finding]:
    served: dict[tuple[str, str], float] = defaultdict(float)
    for deployment in claim.deployments:
        for item in deployment.classes:
            served[deployment.workload, item.name] += item.requests_per_second
    for workload in claim.scenario.workloads:
        for wanted in workload.classes():
            needed = workload.peak_requests_per_second() * wanted.share
            got = served[workload.name, wanted.name]
            text = f"{workload.name} {wanted.name}: {got:g} of {needed:g} requests/s served"
            yield got >= needed * (1 - RATE_TOLERANCE), text


def _instances(claim: Claim) -> Iterator[Finding]:
    """Replicas placed on their instances, largest first, each on the first instance with room."""
    for purchase in claim.purchases:
        offer = claim.offer(purchase)
        sizes = [d.gpus_per_replica for d in claim.deployments if _describes(offer, d) for _ in range(d.replicas)]
        room = [offer.gpu_count] * purchase.instances
        placed = 0
        for size in sorted(sizes, reverse=True):
            slot = next((index for index, free in enumerate(room) if free >= size), None)
            if slot is not None:
                room[slot] -= size
                placed += 1
        yield placed == len(sizes), f"{placed} of {len(sizes)} replicas fit on {purchase.instances} × {purchase.offer}"
    for deployment in claim.deployments:
        if claim.purchase_of(deployment) is None:
            yield False, f"{deployment.workload} runs on instances that nobody buys"


def _utilization(claim: Claim) -> Iterator[Finding]:
    highest = claim.scenario.policy.max_utilization
    for d in claim.deployments:
        share = d.requests_per_second / d.max_requests_per_second
        yield share <= highest * (1 + RATE_TOLERANCE), f"{d.workload} on {d.gpu} runs at {share:.3f} of {highest:g}"


def _memory(claim: Claim) -> Iterator[Finding]:
    for d in claim.deployments:
        use = memory_use(gather(claim.catalogs, [_configuration(claim, d)]))
        free_gib = float(use.kv_capacity[0]) / BYTES_PER_GIB
        yield free_gib > 0, f"{d.model} {d.precision} leaves {free_gib:.1f} GiB for KV cache on {d.gpu}"


def _service_levels(claim: Claim) -> Iterator[Finding]:
    for d in claim.deployments:
        if any(item.requests_per_second > 0 for item in d.classes):
            yield from _latencies_at_planned_load(claim, d)
        if claim.scenario.policy.spare_replicas:
            left = d.replicas - claim.scenario.policy.spare_replicas
            text = f"{d.workload} on {d.gpu}: {left} replicas left after losing {claim.scenario.policy.spare_replicas}"
            yield left > 0 and d.requests_per_second <= _per_replica(d) * left * (1 + RATE_TOLERANCE), text


def _per_replica(deployment: Deployment) -> float:
    return deployment.max_requests_per_second / deployment.replicas


def _latencies_at_planned_load(claim: Claim, d: Deployment) -> Iterator[Finding]:
    workload, configuration = claim.workload(d), _configuration(claim, d)
    room = margins(claim.catalogs, [configuration], claim.scenario.policy.confidence)
    slow_ttft, slow_tpot = float(room.ttft[0]), float(room.tpot[0])
    rates = np.array([item.requests_per_second for item in d.classes])
    mix = Mix(
        input_tokens=np.array([item.input_tokens for item in d.classes], dtype=float),
        output_tokens=np.array([item.output_tokens for item in d.classes], dtype=float),
        share=rates / rates.sum(),
        cached_input_share=workload.cached_input_share,
    )
    point = operate(gather(claim.catalogs, [configuration]), mix, np.array([rates.sum() / d.replicas]))
    yield (
        bool(point.stable[0]),
        f"{d.workload} on {d.gpu} is stable at {rates.sum() / d.replicas:g} requests/s a replica",
    )
    before = workload.slo.ttft_overhead_ms
    for statistic, limit in (workload.slo.ttft_ms.limits_ms() if workload.slo.ttft_ms else {}).items():
        worst = before + slow_ttft * MS_PER_S * float(point.ttft_s[statistic][0].max())
        yield worst <= limit * (1 + RATE_TOLERANCE), f"{d.workload}: TTFT {statistic} {worst:.1f} of {limit:g} ms"
    for statistic, limit in (workload.slo.tpot_ms.limits_ms() if workload.slo.tpot_ms else {}).items():
        worst = slow_tpot * MS_PER_S * float(point.tpot_s[statistic][0])
        yield worst <= limit * (1 + RATE_TOLERANCE), f"{d.workload}: TPOT {statistic} {worst:.2f} of {limit:g} ms"
    for statistic, limit in (workload.slo.e2e_ms.limits_ms() if workload.slo.e2e_ms else {}).items():
        worst = before + max(slow_ttft, slow_tpot) * MS_PER_S * float(point.e2e_s[statistic][0].max())
        yield worst <= limit * (1 + RATE_TOLERANCE), f"{d.workload}: end to end {statistic} {worst:.0f} of {limit:g} ms"


def _configuration(claim: Claim, d: Deployment) -> Configuration:
    purchase = claim.purchase_of(d)
    alone = d.gpus_per_replica == 1 or purchase is None
    link = "none" if alone or purchase is None else claim.offer(purchase).link
    speed = None if alone or purchase is None else claim.offer(purchase).link_gb_per_s
    return Configuration(
        d.engine, d.model, d.gpu, d.precision, d.kv_precision, d.tensor_parallel, d.pipeline_parallel, link, speed
    )


def _quality(claim: Claim) -> Iterator[Finding]:
    for d in claim.deployments:
        workload = claim.workload(d)
        if workload.min_quality is None:
            continue
        model = claim.catalogs.model(workload.model)
        known = quality_share(claim.catalogs, model.id, d.precision) if d.kv_precision in SIXTEEN_BIT else None
        if known is None:
            yield workload.unknown_quality == "accept", f"{d.workload}: quality of {d.precision} is unknown"
        else:
            text = f"{d.workload}: {d.precision} keeps {known.share:.4f}, floor {workload.min_quality:g}"
            yield known.share >= workload.min_quality, text


def _offers(claim: Claim) -> Iterator[Finding]:
    policy = claim.scenario.policy
    for purchase in claim.purchases:
        offer = claim.offer(purchase)
        age_days = (claim.catalogs.as_of - offer.as_of).days
        allowed = {
            f"provider {offer.provider}": policy.providers.permits(offer.provider),
            f"region {offer.region}": policy.regions.permits(offer.region),
            f"GPU {offer.gpu}": policy.gpus.permits(offer.gpu),
            f"provider kind {offer.provider_kind}": offer.provider_kind in policy.provider_kinds,
            f"pricing term {offer.pricing_term}": offer.pricing_term in policy.pricing_terms,
            f"price confidence {offer.confidence}": offer.confidence in policy.price_confidence,
            f"price age {age_days} days": policy.max_price_age_days is None or age_days <= policy.max_price_age_days,
        }
        yield from ((passed, f"{what} of {purchase.offer}") for what, passed in allowed.items())
    for d in claim.deployments:
        yield not policy.engines or d.engine in policy.engines, f"engine {d.engine}"
        yield not policy.precisions or d.precision in policy.precisions, f"precision {d.precision}"
        yield not policy.kv_precisions or d.kv_precision in policy.kv_precisions, f"KV precision {d.kv_precision}"


def _totals(claim: Claim) -> Iterator[Finding]:
    policy = claim.scenario.policy
    gpus = sum(claim.offer(p).gpu_count * p.instances for p in claim.purchases)
    if policy.max_gpus is not None:
        yield gpus <= policy.max_gpus, f"{gpus} of at most {policy.max_gpus} GPUs"
    if policy.max_monthly_usd is not None:
        budget = Decimal(str(policy.max_monthly_usd))
        yield claim.monthly_cost_usd <= budget + CENT_TOLERANCE, f"{claim.monthly_cost_usd:.2f} of {budget} a month"
    if policy.max_distinct_configurations is not None:
        distinct = len({_setup_key(d) for d in claim.deployments})
        limit = policy.max_distinct_configurations
        yield distinct <= limit, f"{distinct} of at most {limit} distinct configurations"
    if policy.max_power_kw is not None:
        watts = [claim.catalogs.gpus[claim.offer(p).gpu].tdp_w for p in claim.purchases]
        known = all(watt is not None for watt in watts)
        drawn = sum(
            (watt or 0.0) * claim.offer(p).gpu_count * p.instances
            for watt, p in zip(watts, claim.purchases, strict=True)
        )
        power_kw = drawn / WATTS_PER_KILOWATT
        yield (
            known and power_kw <= policy.max_power_kw * (1 + RATE_TOLERANCE),
            f"{power_kw:g} kW of {policy.max_power_kw:g}",
        )


def _setup_key(d: Deployment) -> tuple[str | int, ...]:
    layout = (d.tensor_parallel, d.pipeline_parallel)
    return (d.workload, d.model, d.engine, d.gpu, d.precision, d.kv_precision, *layout, d.pool)


def _spread(claim: Claim) -> Iterator[Finding]:
    policy = claim.scenario.policy
    providers = {claim.offer(p).provider for p in claim.purchases}
    regions = {(claim.offer(p).provider, claim.offer(p).region) for p in claim.purchases}
    yield len(providers) >= policy.min_providers, f"{len(providers)} providers, at least {policy.min_providers}"
    yield len(regions) >= policy.min_regions, f"{len(regions)} regions, at least {policy.min_regions}"
    if policy.max_spot_share is not None:
        total = sum(d.requests_per_second for d in claim.deployments)
        spot = sum(d.requests_per_second for d in claim.deployments if d.pricing_term == "spot")
        limit = policy.max_spot_share
        yield (
            spot <= total * (limit + RATE_TOLERANCE),
            f"spot carries {spot / total:.3f} of the demand, at most {limit:g}",
        )
    for quota in policy.quotas:
        counted = Counter[str]()
        for p in claim.purchases:
            offer = claim.offer(p)
            if quota.covers(offer.provider, offer.region, offer.gpu):
                counted[quota.name] += offer.gpu_count * p.instances
        yield (
            counted[quota.name] <= quota.max_gpus,
            f"quota {quota.name}: {counted[quota.name]} of {quota.max_gpus} GPUs",
        )


CHECKS: dict[str, Callable[[Claim], Iterator[Finding]]] = {
    "cost": _cost,
    "demand": _demand,
    "instances": _instances,
    "utilization": _utilization,
    "memory": _memory,
    "service_levels": _service_levels,
    "quality": _quality,
    "offers": _offers,
    "totals": _totals,
    "spread": _spread,
}

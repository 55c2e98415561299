"""Every promise of a finished plan recomputed from the scenario and the catalogs alone.

Shares nothing with the formulation or the bill: it reads what the plan says it buys and serves, looks the prices up
again, adds them hour by hour of the week in fractions, packs replicas onto instances one by one, takes places away
and predicts every deployment at its planned loads.
"""

import math
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from optimizer.base.units import HOURS_PER_WEEK
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.scenario.scenario import Scenario
from optimizer.plan.record.fleet import Deployment, Hosted, InstanceLayout, PeriodReplicas, PlannedFleet, Purchase
from optimizer.plan.record.report import Check, Simplicity, Verification
from optimizer.plan.verify.bill import cost, hosted, migration
from optimizer.plan.verify.claim import EXACT, Claim, Findings, Precision, hours_of
from optimizer.plan.verify.figures import figures
from optimizer.plan.verify.latencies import service_levels
from optimizer.plan.verify.layouts import layouts
from optimizer.plan.verify.per_second.containers import containers, hang_together
from optimizer.plan.verify.placement import placement
from optimizer.plan.verify.service import batches, demand, memory, quality, utilization, warm
from optimizer.plan.verify.simplicity import simplicity as as_simple_as_shown
from optimizer.plan.verify.spread import losses, spread
from optimizer.plan.verify.supply import instances, offers, totals


def verify(
    scenario: Scenario,
    catalogs: Catalogs,
    fleet: PlannedFleet,
    precision: Precision = EXACT,
    simplicity: Simplicity | None = None,
    *,
    avoided: tuple[str, ...] = (),
) -> Verification:
    """Runs every check; a plan that fails one must not be shown as an answer.

    A plan that does not hang together is checked for nothing else. What it may cost for being simple is checked where
    that is told; that it rests on nothing avoided, where it says so by those fields.
    """
    claim = Claim(scenario, catalogs, fleet, precision, avoided)
    whole, *others = CHECKS
    checks = [checked(whole, CHECKS[whole].findings(claim))]
    if checks[0].passed:
        checks += [checked(name, CHECKS[name].findings(claim)) for name in others]
        checks += [] if simplicity is None else [checked("simplicity", as_simple_as_shown(claim, simplicity))]
    return Verification(passed=all(check.passed for check in checks), checks=checks)


def checked(name: str, found: Findings) -> Check:
    """One verdict: all that is wrong, or the last thing that was right."""
    findings = list(found)
    wrong = dict.fromkeys(text for passed, text in findings if not passed)
    held = f"{len(findings)} of {len(findings)} hold" if findings else "the scenario sets no such limit"
    text = "; ".join(wrong) or (findings[0][1] if len(findings) == 1 else held)
    return Check(name=name, passed=not wrong, text=text)


def whole(claim: Claim) -> Findings:
    """The plan's parts refer to each other, the scenario and the catalogs, and cover each hour of the week once."""
    yield from _calendar(claim)
    fleet = claim.fleet
    yield len(claim.bought) == len(fleet.purchases), "all that is bought is in the catalogs"
    yield len(claim.placed) == len(fleet.deployments), "every deployment runs on instances that are bought"
    yield len({offer.id for _, offer in claim.bought}) == len(claim.bought), "every offer is bought once"
    for purchase in fleet.purchases:
        counts = purchase.instances, purchase.gpus, *(item.instances + 1 for item in purchase.schedule)
        yield min(counts) > 0, f"{purchase.offer} is bought"
    for d in fleet.deployments:
        yield from _deployment(claim, d)
    yield from hang_together(claim)
    for api in fleet.hosted:
        names = {item.name for item in claim.classes(api.workload)}
        yield api.request_class in names, f"{api.api} serves a class of the scenario"
        yield claim.knows_model(api.model), f"{api.api} serves a model of the catalogs"


def _calendar(claim: Claim) -> Findings:
    fleet = claim.fleet
    of_week = all(0 <= hour < HOURS_PER_WEEK for item in fleet.periods for pair in item.hours_of_week for hour in pair)
    hours = sorted(hour for item in fleet.periods for hour in hours_of(item)) if of_week else []
    yield hours == list(range(HOURS_PER_WEEK)), f"{len(fleet.periods)} periods cover each hour of the week once"
    numbers = list(range(len(fleet.periods)))
    yield [item.period for item in fleet.periods] == numbers, "periods are numbered in order"
    named = all(set(item.requests_per_second) == set(claim.workloads) for item in fleet.periods)
    yield named, "every period tells the demand of each workload"
    loaded = [layout for purchase in fleet.purchases for layout in purchase.layouts]
    scheduled: list[Purchase | InstanceLayout | Deployment | Hosted] = [*fleet.purchases, *loaded]
    scheduled += [*fleet.deployments, *fleet.hosted]
    in_order = all([entry.period for entry in item.schedule] == numbers for item in scheduled)
    yield in_order, f"every schedule tells {len(numbers)} periods in order"


def _deployment(claim: Claim, d: Deployment) -> Findings:
    classes = {(c.name, c.input_tokens, c.output_tokens) for c in claim.classes(d.workload)}
    served = {(c.name, c.input_tokens, c.output_tokens) for c in d.classes}
    whole_mix = math.isclose(sum(c.share for c in d.classes), 1, rel_tol=claim.precision.figure)
    yield whole_mix and served <= classes, f"{d.workload} on {d.gpu} serves classes of the scenario"
    running = d.replicas > 0 and any(entry.replicas > 0 for entry in d.schedule)
    yield running and d.max_requests_per_second > 0, f"{d.workload} on {d.gpu} has replicas that serve"
    yield all(map(_hangs_together, d.schedule)), f"{d.workload} on {d.gpu} sustains something where a replica runs"
    yield min(d.instances, d.total_gpus) > 0, f"{d.workload} on {d.gpu} has GPUs"
    spans = d.tensor_parallel * d.pipeline_parallel
    spread = d.gpus_per_replica == spans and min(d.tensor_parallel, d.pipeline_parallel) > 0
    yield spread, f"a replica spans {d.gpus_per_replica} GPUs"
    known = d.engine in claim.catalogs.engines and {d.precision, d.kv_precision} <= set(claim.catalogs.schemes)
    known = known and claim.knows_model(d.model)
    yield known, f"{d.model} {d.precision} with {d.kv_precision} KV cache on {d.engine} is in the catalogs"


def _hangs_together(entry: PeriodReplicas) -> bool:
    """Replicas sustain something, and nothing is less than none."""
    flows = entry.requests_per_second_by_class.values()
    counts = entry.replicas, entry.requests_per_second, entry.max_requests_per_second, *flows
    return min(counts) >= 0 and (entry.max_requests_per_second > 0) == (entry.replicas > 0)


class Rule(NamedTuple):
    """One check, and the fields of the scenario that it holds a plan to."""

    findings: Callable[[Claim], Findings]
    covers: tuple[str, ...] = ()


CHECKS: Final[Mapping[str, Rule]] = {
    "whole": Rule(
        whole,
        (
            "workloads[].input_tokens",
            "workloads[].output_tokens",
            "workloads[].request_classes[].input_tokens",
            "workloads[].request_classes[].output_tokens",
        ),
    ),
    "cost": Rule(
        cost,
        (
            "policy.elastic.start_up_minutes",
            "policy.elastic.minimum_billing_hours",
            "policy.storage_gb_per_instance",
            "policy.egress.bytes_per_output_token",
            "policy.egress.bytes_per_request",
        ),
    ),
    "hosted": Rule(
        hosted,
        (
            "workloads[].model",
            "workloads[].min_quality",
            "workloads[].min_quality_worst",
            "workloads[].unknown_quality",
            "workloads[].providers",
            "workloads[].regions",
            "workloads[].countries",
            "policy.hosting",
            "policy.providers",
            "policy.regions",
            "policy.countries",
            "policy.precisions",
            "policy.kv_precisions",
            "policy.unmeasured_performance",
            "policy.price_confidence",
            "policy.max_price_age_days",
        ),
    ),
    "containers": Rule(
        containers,
        (
            "policy.per_second.idle_timeout_s",
            "policy.per_second.start_up_s",
            "policy.per_second.vcpus_per_gpu",
            "policy.per_second.ram_gib_per_gpu",
        ),
    ),
    "migration": Rule(
        migration,
        ("policy.migration.in_force", "policy.migration.max_changes", "policy.migration.usd_per_change"),
    ),
    "demand": Rule(
        demand,
        (
            "workloads[].requests_per_second",
            "workloads[].demand.hourly",
            "workloads[].demand.weekend_factor",
            "workloads[].demand.peak_requests_per_second",
            "workloads[].demand.weekly_requests_per_second",
            "workloads[].request_classes[].share",
        ),
    ),
    "batches": Rule(batches, ("workloads[].deadline",)),
    "warm": Rule(warm, ("workloads[].min_replicas", "workloads[].max_replicas", "policy.elastic.start_up_minutes")),
    "instances": Rule(instances),
    "layouts": Rule(layouts, ("policy.elastic.repartition_minutes",)),
    "utilization": Rule(
        utilization,
        ("policy.max_utilization", "policy.robust.demand", "policy.robust.throughput", "policy.mix_classes"),
    ),
    "memory": Rule(memory),
    "service_levels": Rule(
        service_levels,
        (
            "workloads[].arrivals.cv2",
            "policy.router",
            "workloads[].request_classes[].lengths[].share",
            "workloads[].request_classes[].lengths[].input_tokens",
            "workloads[].request_classes[].lengths[].output_tokens",
            "workloads[].cached_input_share",
            "workloads[].slo.ttft_ms",
            "workloads[].slo.tpot_ms",
            "workloads[].slo.e2e_ms",
            "workloads[].slo.ttft_overhead_ms",
            "workloads[].users_in",
            "workloads[].network_ms",
            "policy.confidence",
            "policy.spot.interruptions_per_month",
            "policy.spot.recovery_minutes",
        ),
    ),
    "quality": Rule(
        quality,
        (
            "workloads[].model",
            "workloads[].alternatives[].model",
            "workloads[].alternatives[].quality",
            "workloads[].min_quality",
            "workloads[].min_quality_worst",
            "workloads[].unknown_quality",
        ),
    ),
    "offers": Rule(
        offers,
        (
            "workloads[].providers",
            "workloads[].regions",
            "workloads[].countries",
            "policy.providers",
            "policy.regions",
            "policy.countries",
            "policy.gpus",
            "policy.hosting",
            "policy.provider_kinds",
            "policy.sellers",
            "policy.consumer_gpus",
            "policy.pricing_terms",
            "policy.price_confidence",
            "policy.max_price_age_days",
            "policy.engines",
            "policy.precisions",
            "policy.kv_precisions",
            "policy.max_tensor_parallel",
            "policy.max_pipeline_parallel",
            "policy.unmeasured_performance",
            "workloads[].speculation",
            "workloads[].alternatives[].speculation",
        ),
    ),
    "totals": Rule(
        totals,
        (
            "policy.max_monthly_usd",
            "policy.robust.price",
            "policy.max_gpus",
            "policy.quotas[].provider",
            "policy.quotas[].region",
            "policy.quotas[].gpu",
            "policy.quotas[].max_gpus",
            "policy.max_distinct_configurations",
            "policy.max_engines",
            "policy.max_power_kw",
            "policy.max_carbon_kg_per_month",
            "policy.grid.g_co2_per_kwh",
            "policy.grid.pue",
        ),
    ),
    "spread": Rule(
        spread,
        ("policy.min_providers", "policy.min_regions", "policy.max_provider_share", "policy.max_spot_share"),
    ),
    "figures": Rule(figures),
    "placement": Rule(
        placement,
        (
            "policy.availability",
            "policy.survive.loss_of",
            "policy.spare_on_other_instances",
            "policy.robust.demand",
            "policy.robust.throughput",
        ),
    ),
    "losses": Rule(
        losses,
        (
            "policy.spare_replicas",
            "policy.availability",
            "policy.survive.loss_of",
            "policy.robust.demand",
            "policy.robust.throughput",
        ),
    ),
}
"""What is checked, in the order shown; all but the first of a plan whose parts fit together.

Fields are paths in the scenario's schema, `[]` standing for each item of a list."""

COVERED: Final = frozenset(field for rule in CHECKS.values() for field in rule.covers)
"""Every field of the scenario that some check holds a plan to."""

NOT_COVERED: Final[Mapping[str, str]] = {
    "name": "what the scenario is called",
    "description": "for people",
    "lifecycle": "read by `optimizer lifecycle` and `optimizer horizon` alone",
    "risk": "read by `optimizer risk` and `optimizer plan --risk` alone",
    "workloads[].name": "what the workload is called; deployments refer to it",
    "workloads[].lengths": "read into the request classes before a plan is made",
    "workloads[].request_classes[].read_from": "where the lengths come from, for people",
    "workloads[].trace": "read into the rate and the request classes when the scenario is loaded",
    "workloads[].arrivals.read_from": "where the variation comes from, for people",
    "workloads[].arrivals.recorded.peak_requests_per_second": "the record that plans are simulated with",
    "workloads[].arrivals.recorded.input_tokens": "the record that plans are simulated with",
    "workloads[].arrivals.recorded.output_tokens": "the record that plans are simulated with",
    "workloads[].arrivals.recorded.block_tokens": "the record that plans are simulated with",
    "workloads[].arrivals.recorded.requests": "the record that plans are simulated with",
    "workloads[].arrivals.process": "says what is assumed where nothing is said",
    "workloads[].users": "read into the rate when the scenario is loaded",
    "workloads[].requests_per_user_hour": "read into the rate when the scenario is loaded",
    "workloads[].tokens_per_day": "read into the rate when the scenario is loaded",
    "workloads[].reasoning": "read into the lengths of answers before a plan is made",
    "workloads[].lora_adapters": "one is part of the weights, several are refused",
    "workloads[].stated_as": "the demand in words, for people",
    "workloads[].demand.profile": "read into the weekly rates when the scenario is loaded",
    "policy.flag_price_age_days": "a warning, which no plan fails",
    "policy.simplicity_percent": "held by the check of simplicity, which a plan has that is not the cheapest",
    "policy.simplicity_usd_per_configuration": "held by the check of simplicity",
    "policy.elastic.max_periods": "how finely the first plan of a week tells hours apart",
    "policy.migration.from_plan": "read into the replicas in force when the scenario is loaded",
}
"""Every other field, and why no plan can break it."""

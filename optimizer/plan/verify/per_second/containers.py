"""Containers paid by the second, again: who may serve, how many are up when, within which limits."""

import math
from fractions import Fraction

from optimizer.base.units import HOURS_PER_WEEK, MS_PER_S, SECONDS_PER_MONTH
from optimizer.inputs.catalog.entries.per_second import PerSecondPrice
from optimizer.inputs.scenario.fields import MAX_NETWORK_MS
from optimizer.inputs.scenario.scenario import Policy
from optimizer.performance.physics.memory import memory_use
from optimizer.plan.record.containers import ContainerHours, Containers
from optimizer.plan.verify.claim import Claim, Findings
from optimizer.plan.verify.drafts import drafts_asked_for, measured_as_asked
from optimizer.plan.verify.per_second.bill import bill, of_request, usd_a_request, usd_a_second
from optimizer.plan.verify.per_second.levels import levels
from optimizer.plan.verify.per_second.running import (
    configuration_of,
    hours_in,
    price_of,
    serving,
)

ASKS_NOTHING = Policy()
UNPLANNED = (
    *("spare_replicas", "spare_on_other_instances", "availability", "survive", "max_gpus", "quotas", "egress"),
    *("max_distinct_configurations", "max_engines", "max_power_kw", "max_carbon_kg_per_month", "migration"),
    *("storage_gb_per_instance", "min_providers", "min_regions", "max_provider_share"),
)
"""What a policy may ask and no container is held to."""


def hang_together(claim: Claim) -> Findings:
    """Containers are in the catalogs, serve a workload of the scenario and tell each hour of the week once."""
    names = [c.workload for c in claim.fleet.containers]
    yield len(set(names)) == len(names), "containers of one kind serve a workload"
    for c in claim.fleet.containers:
        asked = c.workload in claim.workloads and c.model in claim.models(c.workload) and claim.knows_model(c.model)
        yield asked, f"{c.workload} is asked for, and {c.model} may serve it"
        yield price_of(claim, c) is not None, f"{c.provider} {c.name} with {c.gpu} is in the catalogs"
        known = c.engine in claim.catalogs.engines and {c.precision, c.kv_precision} <= set(claim.catalogs.schemes)
        yield known, f"{c.precision} with {c.kv_precision} KV cache on {c.engine} is in the catalogs"
        covered = sorted(hour for entry in c.schedule for hour in hours_in(entry)) == list(range(HOURS_PER_WEEK))
        yield covered, f"{c.workload}: the hours of containers cover each hour of the week once"
        yield all(entry.containers >= 0 for entry in c.schedule), f"{c.workload}: containers are counted"


def containers(claim: Claim) -> Findings:
    """Every promise of what is paid by the second."""
    for c in claim.fleet.containers:
        price = price_of(claim, c)
        if price is None:
            continue
        yield from _may_serve(claim, c)
        yield from _seller_admitted(claim, c, price)
        yield from _serves_alone(claim, c)
        yield from _as_configured(claim, c)
        yield from _on_terms(claim, c, price)
        for entry in c.schedule:
            yield from _in_hours(claim, c, entry)
        yield from bill(claim, c, price)


def _may_serve(claim: Claim, c: Containers) -> Findings:
    """What the policy and the workload's own lists admit."""
    policy, workload = claim.policy, claim.workloads[c.workload]
    yield "per_second" in policy.hosting, f"hosting per_second is among {', '.join(policy.hosting)}"
    for who, lists in (("policy", policy), ("workload", workload)):
        yield lists.providers.permits(c.provider), f"the {who} admits {c.provider}"
        unplaced = lists.regions.permits("global") and not lists.countries.restricts
        yield unplaced, f"{c.provider} does not say where its containers run, and the {who} asks for places"
    yield policy.gpus.permits(c.gpu), f"GPU {c.gpu}"
    yield policy.consumer_gpus or not claim.catalogs.gpus[c.gpu].consumer, f"gaming cards {c.gpu}"
    for what, name, names in (
        ("engine", c.engine, policy.engines),
        ("precision", c.precision, policy.precisions),
        ("KV precision", c.kv_precision, policy.kv_precisions),
    ):
        yield not names or name in names, f"{what} {name}"
    yield drafts_asked_for(claim, c)
    for name in UNPLANNED:
        yield (
            getattr(policy, name) == getattr(ASKS_NOTHING, name),
            f"policy.{name} asks for what containers do not keep",
        )
    yield workload.arrival_cv2 == 1, f"{c.workload}: starts of containers are known for Poisson arrivals"


def _seller_admitted(claim: Claim, c: Containers, price: PerSecondPrice) -> Findings:
    """Whom one would sign with, and whether the price is one that the policy trusts."""
    policy, workload, named = claim.policy, claim.workloads[c.workload], claim.catalogs.terms.sellers
    seller = named.get((price.provider, price.provider_kind), named.get((price.provider, "")))
    kind = "unknown" if seller is None else seller.kind
    promised = bool(workload.slo.ttft_ms or workload.slo.tpot_ms or workload.slo.e2e_ms)
    age_days = (claim.catalogs.as_of - price.as_of).days
    yield kind in policy.sellers, f"seller {kind} of {c.provider}"
    yield seller is None or seller.serves_others != "no", f"terms of {c.provider} on serving others"
    yield not promised or seller is None or seller.whole_gpu != "no", f"whole GPUs of {c.provider}"
    yield price.confidence in policy.price_confidence, f"price confidence {price.confidence}"
    yield policy.max_price_age_days is None or age_days <= policy.max_price_age_days, f"price age {age_days} days"


def _serves_alone(claim: Claim, c: Containers) -> Findings:
    """All of a workload's requests go there, at the price of one."""
    sent = [item for item in claim.fleet.hosted if item.workload == c.workload]
    theirs = [item for item in sent if of_request(claim, item) is c]
    machines = any(d.workload == c.workload for d in claim.fleet.deployments)
    classes = sorted(item.name for item in claim.classes(c.workload))
    whole = len(theirs) == len(sent) and sorted(item.request_class for item in theirs) == classes and not machines
    yield whole, f"containers alone serve every class of {c.workload}"
    own = usd_a_request(claim, c)
    for item in theirs:
        same = math.isclose(own, item.usd_per_request, rel_tol=claim.precision.unit_price)
        yield same, f"{c.workload} {item.request_class}: {float(own):.6g} USD a request"
        yield item.paid_by == "second", f"{c.workload} {item.request_class} is paid by the second"
        dated = (item.price_as_of, item.price_source) == (c.price_as_of, c.price_source)
        yield dated, f"{c.workload} {item.request_class}: the price is of {c.price_as_of}"


def _as_configured(claim: Claim, c: Containers) -> Findings:
    """Memory and evidence of a replica, which takes all of a container."""
    use = memory_use(serving(claim, c).setup)
    spans = c.tensor_parallel * c.pipeline_parallel
    yield spans == c.gpus_per_replica == 1, f"a replica spans {spans} of {c.gpus_per_replica} GPUs of a container"
    longest = max(item.longest_tokens for item in claim.classes(c.workload))
    fits = float(use.kv_capacity[0]) > 0 and longest <= claim.catalogs.model(c.model).max_context_tokens
    yield fits, f"{c.model} {c.precision} with {longest} tokens fits {c.gpu}"
    yield measured_as_asked(claim, c.workload, configuration_of(c))


def _on_terms(claim: Claim, c: Containers, price: PerSecondPrice) -> Findings:
    """The times of a container and what a second of it costs."""
    policy = claim.policy
    idle_s = price.idle_timeout_s if policy.per_second.idle_timeout_s is None else policy.per_second.idle_timeout_s
    yield idle_s is not None and claim.same(idle_s, c.idle_timeout_s), f"{c.name} stops after {c.idle_timeout_s:g} s"
    start_s = serving(claim, c).start_s
    yield claim.same(start_s, c.start_up_s), f"{c.workload} on {c.gpu} starts in {start_s:g} s"
    size = policy.per_second
    vcpus_told = price.usd_per_vcpu_second is None or size.vcpus_per_gpu is not None
    memory_told = price.usd_per_gib_second is None or size.ram_gib_per_gpu is not None
    yield vcpus_told and memory_told, f"the scenario says how much {c.name} reserves of what is billed apart"
    usd = usd_a_second(claim, c, price)
    yield usd == Fraction(c.usd_per_second), f"{c.name} costs {float(usd):.9f} USD a second"
    source = claim.catalogs.sources[price.source].cited
    yield (price.as_of, source) == (c.price_as_of, c.price_source), f"the price of {c.name} is of {price.as_of}"


def _in_hours(claim: Claim, c: Containers, entry: ContainerHours) -> Findings:
    """As many containers as the workload asks for in these hours, and what they promise there."""
    workload, asked_per_s = claim.workloads[c.workload], claim.asked_per_s(claim.workloads[c.workload])
    asked, most = {asked_per_s[hour] for hour in hours_in(entry)}, workload.max_replicas
    same = all(claim.same(each, entry.requests_per_second) for each in asked)
    yield same, f"{c.workload}: {entry.requests_per_second:g} requests/s are asked in these hours"
    yield most is None or entry.containers <= most, f"{c.workload}: {entry.containers} of at most {most} containers"
    rate = max(asked)
    idle = 0 if rate or _waits_for_a_start(claim, c) else 1
    needed = max(workload.min_replicas, idle, 1 if rate else 0)
    yield entry.containers >= needed, f"{c.workload}: {entry.containers} of at least {needed} containers"
    kept = entry.kept_up or not entry.containers or not (idle or workload.min_replicas)
    yield kept, f"{c.workload}: containers are kept up where they must be"
    if rate and entry.containers > 0:
        yield from _at_rate(claim, c, entry, rate)


def _at_rate(claim: Claim, c: Containers, entry: ContainerHours, rate: float) -> Findings:
    """They keep up, what gathers during a start runs at once, what is shown of them holds, and every limit does."""
    workload, own = claim.workloads[c.workload], serving(claim, c)
    loaded = own.in_hours(entry)
    run = loaded.run
    yield loaded.keeps_up, f"{c.workload}: {entry.containers} containers keep up with {rate:g} requests/s"
    promised = bool(workload.slo.ttft_ms or workload.slo.tpot_ms or workload.slo.e2e_ms)
    gathered = rate / entry.containers * own.start_s
    together = not promised or entry.kept_up or gathered <= loaded.running
    rare = run.starts_per_s * SECONDS_PER_MONTH < 1
    yield together or rare, f"{c.workload}: {gathered:g} requests that wait for a start run at once"
    down, waiting = (0.0, 0.0) if entry.kept_up else (run.down, run.waiting)
    yield claim.predicted_same(1 - down, entry.share_up), f"{c.workload}: up a share {1 - down:g} of the time"
    shown = math.isclose(waiting, entry.waiting_share, rel_tol=claim.precision.latency, abs_tol=claim.precision.figure)
    yield shown, f"{c.workload}: a share {waiting:g} of requests waits for a start"
    yield from levels(claim, c, entry)


def _waits_for_a_start(claim: Claim, c: Containers) -> bool:
    """Whether a request in an hour without any demand would be answered in time though nothing is up."""
    workload = claim.workloads[c.workload]
    latencies = [item for item in (workload.slo.ttft_ms, workload.slo.e2e_ms) if item is not None]
    tightest_ms = min((limit for item in latencies for limit in item.limits_ms().values()), default=math.inf)
    before_ms = workload.slo.ttft_overhead_ms + (MAX_NETWORK_MS if workload.users_in or workload.network_ms else 0.0)
    return serving(claim, c).start_s * MS_PER_S + before_ms <= tightest_ms

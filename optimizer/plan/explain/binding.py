"""Every limit of the scenario at the finished plan: its value, its slack in its own unit, and whether it binds."""

from collections.abc import Iterator, Sequence
from decimal import Decimal

from optimizer.base.units import WATTS_PER_KILOWATT
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.scenario.scenario import Latency, Scenario, Workload
from optimizer.plan.record.explanation import Requirement
from optimizer.plan.record.fleet import Deployment

BINDS_WITHIN = 0.02
"""A limit binds when less than this share of it is left."""
LATENCY_NAMES = {"ttft": "TTFT", "tpot": "TPOT", "e2e": "end-to-end time"}


def requirements(
    scenario: Scenario, catalogs: Catalogs, deployments: Sequence[Deployment], total_usd: Decimal
) -> list[Requirement]:
    """All limits in the scenario's order: each workload's, then the policy's."""
    found: list[Requirement] = []
    for workload in scenario.workloads:
        serving = [d for d in deployments if d.workload == workload.name]
        found += [*_demand(workload, serving), *_latencies(workload, serving), *_quality(workload, serving)]
    return found + list(_policy(scenario, catalogs, deployments, total_usd))


def _requirement(path: str, limit: float, value: float, unit: str, text: str, binding: bool) -> Requirement:
    return Requirement(
        requirement=path, limit=limit, value=value, slack=limit - value, unit=unit, binding=binding, text=text
    )


def _demand(workload: Workload, serving: Sequence[Deployment]) -> Iterator[Requirement]:
    peak = workload.peak_requests_per_second()
    path = f"workloads[{workload.name}].{'demand' if workload.demand else 'requests_per_second'}"
    capacity = sum(d.max_requests_per_second for d in serving)
    text = f"{workload.name}: {peak:g} req/s must be served; the replicas sustain {capacity:.3g} within the limits"
    yield _requirement(path, peak, sum(d.requests_per_second for d in serving), "requests/s", text, binding=True)


def _latencies(workload: Workload, serving: Sequence[Deployment]) -> Iterator[Requirement]:
    named: tuple[tuple[str, Latency | None], ...] = (
        ("ttft", workload.slo.ttft_ms),
        ("tpot", workload.slo.tpot_ms),
        ("e2e", workload.slo.e2e_ms),
    )
    for metric, latency in named:
        for statistic, limit in (latency.limits_ms() if latency else {}).items():
            value = max(_bound(d, metric, statistic) for d in serving)
            capping = [d for d in serving if d.limited_by == metric]
            binding = bool(capping) or value >= limit * (1 - BINDS_WITHIN)
            what = f"{LATENCY_NAMES[metric]} {statistic} ≤ {limit:g} ms"
            if capping:
                rate = capping[0].max_requests_per_second / capping[0].replicas
                effect = f"; it stops a replica on {capping[0].gpu} at {rate:.3g} req/s"
            else:
                effect = ""
            text = (
                f"{workload.name}: {what}: {value:.1f} ms at the planned load, {limit - value:.1f} ms to spare{effect}"
            )
            path = f"workloads[{workload.name}].slo.{metric}_ms.{statistic}"
            yield _requirement(path, limit, value, "ms", text, binding)


def _bound(deployment: Deployment, metric: str, statistic: str) -> float:
    if metric == "ttft":
        return deployment.ttft_bound_ms[statistic]
    if metric == "tpot":
        return deployment.tpot_bound_ms[statistic]
    return max(item.e2e_bound_ms[statistic] for item in deployment.classes)


def _quality(workload: Workload, serving: Sequence[Deployment]) -> Iterator[Requirement]:
    if workload.min_quality is None:
        return
    known = [d.quality for d in serving if d.quality is not None]
    path = f"workloads[{workload.name}].min_quality"
    if not known:
        text = f"{workload.name}: quality ≥ {workload.min_quality:g}: not published for the chosen precision, accepted"
        yield Requirement(
            requirement=path, limit=workload.min_quality, value=0.0, slack=0.0, unit="share", binding=False, text=text
        )
        return
    lowest = min(known)
    text = f"{workload.name}: quality ≥ {workload.min_quality:g}: {lowest:.4f} of the 16-bit score"
    yield Requirement(
        requirement=path,
        limit=workload.min_quality,
        value=lowest,
        slack=lowest - workload.min_quality,
        unit="share",
        binding=False,
        text=text,
    )


def _policy(
    scenario: Scenario, catalogs: Catalogs, deployments: Sequence[Deployment], total_usd: Decimal
) -> Iterator[Requirement]:
    policy = scenario.policy
    busiest = max(d.utilization for d in deployments)
    gpus = sum(d.total_gpus for d in deployments)
    text = f"utilization ≤ {policy.max_utilization:.0%}: the busiest deployment runs at {busiest:.1%} of its maximum"
    near = busiest >= policy.max_utilization * (1 - BINDS_WITHIN)
    yield _requirement("policy.max_utilization", policy.max_utilization, busiest, "share", text, near)
    if policy.max_gpus is not None:
        text = f"at most {policy.max_gpus} GPUs: {gpus} are bought"
        yield _requirement("policy.max_gpus", policy.max_gpus, gpus, "GPUs", text, gpus >= policy.max_gpus)
    if policy.max_monthly_usd is not None:
        limit, cost = policy.max_monthly_usd, float(total_usd)
        text = f"at most ${limit:,.2f} a month: ${cost:,.2f}, ${limit - cost:,.2f} to spare"
        yield _requirement("policy.max_monthly_usd", limit, cost, "USD", text, cost >= limit * (1 - BINDS_WITHIN))
    if policy.max_distinct_configurations is not None:
        count, limit = len({_setup(d) for d in deployments}), policy.max_distinct_configurations
        text = f"at most {limit} distinct configurations: {count}"
        yield _requirement("policy.max_distinct_configurations", limit, count, "configurations", text, count >= limit)
    if policy.max_power_kw is not None:
        watts = sum((catalogs.gpus[d.gpu].tdp_w or 0.0) * d.total_gpus for d in deployments)
        power = watts / WATTS_PER_KILOWATT
        text = f"at most {policy.max_power_kw:g} kW: {power:.1f} kW of GPU power"
        near = power >= policy.max_power_kw * (1 - BINDS_WITHIN)
        yield _requirement("policy.max_power_kw", policy.max_power_kw, power, "kW", text, near)
    for quota in policy.quotas:
        used = sum(d.total_gpus for d in deployments if quota.covers(d.provider, d.region, d.gpu))
        text = f"quota {quota.name}: {used} of {quota.max_gpus} GPUs"
        path = f"policy.quotas[{quota.name}].max_gpus"
        yield _requirement(path, quota.max_gpus, used, "GPUs", text, used >= quota.max_gpus)
    if policy.spare_replicas:
        text = f"{policy.spare_replicas} replica(s) of any deployment may fail within the service levels"
        spare, kept = policy.spare_replicas, min(_spare(d) for d in deployments)
        yield _requirement("policy.spare_replicas", spare, kept, "replicas", text, kept <= spare)


def _spare(deployment: Deployment) -> int:
    """Replicas whose loss still leaves enough to serve the planned load at full rate."""
    per_replica = deployment.max_requests_per_second / deployment.replicas
    left, needed = deployment.replicas, deployment.requests_per_second
    while left and (left - 1) * per_replica >= needed * (1 - 1e-6):
        left -= 1
    return deployment.replicas - left


def _setup(d: Deployment) -> tuple[str, ...]:
    layout = f"tp{d.tensor_parallel}pp{d.pipeline_parallel}"
    return (d.workload, d.model, d.engine, d.gpu, d.precision, d.kv_precision, layout)

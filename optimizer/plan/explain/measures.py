"""What a finished plan makes of each requirement: one measuring function for each number and each promise."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property, partial
from typing import Final

from optimizer.base.figures import exactly, figure
from optimizer.base.units import WATTS_PER_KILOWATT
from optimizer.inputs.catalog.kinds import SPOT
from optimizer.inputs.catalog.records import Catalogs, Offer
from optimizer.inputs.requirements.stated import StatedRequirement
from optimizer.inputs.scenario.scenario import Quota, Scenario
from optimizer.performance.candidates.network import round_trip_ms
from optimizer.performance.market.market import carbon_kg_per_hour
from optimizer.plan.explain.losses import by_operator, share_left
from optimizer.plan.record.fleet import Deployment, Hosted, PlannedFleet, Purchase

BINDS_WITHIN: Final = 0.02
"""A limit that is no count binds when less than this share of it is left."""
LATENCY_NAMES: Final = {"ttft_ms": "TTFT", "tpot_ms": "TPOT", "e2e_ms": "end-to-end time"}


@dataclass(frozen=True)
class Measured:
    """What a plan makes of a requirement.

    Attributes:
        value: In the requirement's unit.
        text: The same in words, the limit included.
        limit: Where it is not the number asked for.
        binding: Where slack alone does not tell.
        field: Where it is not the requirement's own.
    """

    value: float
    text: str
    limit: float | None = None
    binding: bool | None = None
    field: str = ""


@dataclass(frozen=True)
class Facts:
    """The plan, and what it is held against."""

    scenario: Scenario
    catalogs: Catalogs
    bought: PlannedFleet

    @cached_property
    def offers(self) -> Mapping[str, Offer]:
        """The offers bought, by id."""
        wanted = {purchase.offer for purchase in self.bought.purchases}
        return {offer.id: offer for offer in self.catalogs.offers if offer.id in wanted}

    @cached_property
    def together(self) -> "Facts":
        """The same with whoever runs the machines in the place of providers: what is lost together."""
        return replace(self, bought=by_operator(self.bought, self.catalogs.terms))

    @property
    def periods(self) -> range:
        """The numbers of the periods."""
        return range(len(self.bought.periods))

    def serving(self, workload: str) -> list[Deployment]:
        """The deployments of a workload."""
        return [d for d in self.bought.deployments if d.workload == workload]

    def served(self, workload: str) -> list[float]:
        """Requests/s of a workload, hosted APIs included, by period."""
        serving, by_apis = self.serving(workload), self.served_by_apis(workload)
        return [sum(d.schedule[t].requests_per_second for d in serving) + by_apis[t] for t in self.periods]

    def served_by_apis(self, workload: str) -> list[float]:
        """Requests/s of a workload that are sent to hosted APIs, by period."""
        apis = [api for api in self.bought.hosted if api.workload == workload]
        return [sum(api.schedule[t].requests_per_second for api in apis) for t in self.periods]

    def replicas(self, workload: str) -> list[int]:
        """Of a workload, by period."""
        return [sum(d.schedule[t].replicas for d in self.serving(workload)) for t in self.periods]

    def most_at_once(self, of_instance: Callable[[Offer], float]) -> float:
        """The highest sum over the instances that run in one period."""
        amounts = [(purchase, of_instance(self.offers[purchase.offer])) for purchase in self.bought.purchases]
        return max(sum(amount * p.schedule[t].instances for p, amount in amounts) for t in self.periods)

    def highest_share(self, carrier: Callable[[Deployment | Hosted], str]) -> tuple[float, str]:
        """The largest share of a period's demand that one carrier serves, and which; those without a name are none."""
        shares: list[tuple[float, str]] = []
        for t, period in zip(self.periods, self.bought.periods, strict=True):
            carried: dict[str, float] = defaultdict(float)
            serving: list[Deployment | Hosted] = [*self.bought.deployments, *self.bought.hosted]
            for each in serving:
                carried[carrier(each)] += each.schedule[t].requests_per_second
            total = sum(period.requests_per_second.values())
            shares += [(flow / total, name) for name, flow in carried.items() if name and total]
        return max(shares, default=(0.0, ""))


def _demand(facts: Facts, item: StatedRequirement) -> Iterable[Measured]:
    """In the busiest hours, where hosted APIs may serve beside the replicas."""
    workload = next(each for each in facts.scenario.workloads if each.name == item.workload)
    peak, served = workload.peak_requests_per_second(), facts.served(item.workload)
    busiest = served.index(max(served))
    sustained = sum(d.schedule[busiest].max_requests_per_second for d in facts.serving(item.workload))
    by_api = facts.served_by_apis(item.workload)[busiest]
    by_second = any(used.workload == item.workload for used in facts.bought.containers)
    who = "containers by the second" if by_second else "hosted APIs"
    served_by = [f"the replicas sustain {figure(sustained)} within the limits"] if sustained or not by_api else []
    served_by += [f"{who} are sent {figure(by_api)}"] if by_api else []
    text = f"{item.workload}: {exactly(peak)} req/s must be served; {', '.join(served_by)}"
    yield Measured(served[busiest], text, limit=peak, binding=True)


def _latency(facts: Facts, item: StatedRequirement) -> Iterable[Measured]:
    """At the planned load; it binds as well where it stops a replica at the rate that it sustains."""
    serving, limit, metric = facts.serving(item.workload), float(item.value), item.requirement.name
    if not serving:
        return
    slowest = max(serving, key=lambda d: _bound(d, metric, item.statistic))
    value = _bound(slowest, metric, item.statistic)
    capping = [d for d in serving if f"{d.limited_by}_ms" == metric]
    effect = ""
    if capping:
        rate = capping[0].max_requests_per_second / capping[0].replicas
        effect = f"; it stops a replica on {capping[0].gpu} at {figure(rate)} req/s"
    what = f"{item.workload}: {LATENCY_NAMES[metric]} {item.statistic} ≤ {exactly(limit)} ms"
    load = "at the planned load"
    workload = next(each for each in facts.scenario.workloads if each.name == item.workload)
    if metric != "tpot_ms" and workload.knows_where_users_are:
        network_ms = round_trip_ms(workload, facts.catalogs, slowest.provider, slowest.region)
        load += f" with {exactly(network_ms or 0.0)} ms of network to {slowest.provider} {slowest.region}"
    text = f"{what}: {value:.1f} ms {load}, {limit - value:.1f} ms to spare{effect}"
    yield Measured(value, text, binding=bool(capping) or value >= limit * (1 - BINDS_WITHIN))


def _bound(deployment: Deployment, metric: str, statistic: str) -> float:
    if metric == "ttft_ms":
        return deployment.ttft_bound_ms[statistic]
    if metric == "tpot_ms":
        return deployment.tpot_bound_ms[statistic]
    return max(item.e2e_bound_ms[statistic] for item in deployment.classes)


def _quality(facts: Facts, item: StatedRequirement) -> Iterable[Measured]:
    """The least that any deployment keeps, on the mean or on its worst benchmark, where it was published."""
    worst = item.requirement.name == "min_quality_worst"
    shares = [d.quality_worst if worst else d.quality for d in facts.serving(item.workload)]
    what = f"{item.workload}: {'worst benchmark' if worst else 'quality'} ≥ {exactly(item.value)}"
    if known := [share for share in shares if share is not None]:
        yield Measured(min(known), f"{what}: {min(known):.4f} of the 16-bit score", binding=False)
    else:
        accepted = f"{what}: not published for the chosen precision, accepted"
        yield Measured(0.0, accepted, limit=float(item.value), binding=False)


def _min_replicas(facts: Facts, item: StatedRequirement) -> Iterable[Measured]:
    least = min(facts.replicas(item.workload))
    yield Measured(least, f"{item.workload}: at least {exactly(item.value)} replicas in every hour: {least}")


def _max_replicas(facts: Facts, item: StatedRequirement) -> Iterable[Measured]:
    most = max(facts.replicas(item.workload))
    yield Measured(most, f"{item.workload}: at most {exactly(item.value)} replicas at once: {most}")


def _utilization(facts: Facts, item: StatedRequirement) -> Iterable[Measured]:
    for busiest in sorted((d.utilization for d in facts.bought.deployments), reverse=True)[:1]:
        text = f"utilization ≤ {item.value:.0%}: the busiest deployment runs at {busiest:.1%} of its maximum"
        yield Measured(busiest, text)


def _gpus(facts: Facts, item: StatedRequirement) -> Iterable[Measured]:
    gpus = facts.most_at_once(lambda offer: offer.gpu_count)
    yield Measured(gpus, f"at most {exactly(item.value)} GPUs: {exactly(gpus)} are bought")


def _budget(facts: Facts, item: StatedRequirement) -> Iterable[Measured]:
    limit, factor = float(item.value), facts.scenario.policy.robust.price
    cost = float(facts.bought.monthly_cost_usd * Decimal(repr(factor)))
    at_worst = f" with prices × {exactly(factor)}" if factor != 1 else ""
    text = f"at most ${limit:,.2f} a month: ${cost:,.2f}{at_worst}, ${limit - cost:,.2f} to spare"
    yield Measured(cost, text)


def _quotas(facts: Facts, _: StatedRequirement) -> Iterable[Measured]:
    for quota in facts.scenario.policy.quotas:
        used = facts.most_at_once(partial(_counted, quota))
        text = f"quota {quota.name}: {exactly(used)} of {quota.max_gpus} GPUs"
        yield Measured(used, text, limit=quota.max_gpus, field=f"policy.quotas[{quota.name}].max_gpus")


def _counted(quota: Quota, offer: Offer) -> float:
    """GPUs of an instance that count against the quota."""
    return offer.gpu_count if quota.covers(offer.provider, offer.region, offer.gpu) else 0


def _configurations(facts: Facts, item: StatedRequirement) -> Iterable[Measured]:
    count = len({_setup(d) for d in facts.bought.deployments})
    yield Measured(count, f"at most {exactly(item.value)} distinct configurations: {count}")


def _setup(d: Deployment) -> tuple[str, ...]:
    layout = f"tp{d.tensor_parallel}pp{d.pipeline_parallel}"
    return (d.workload, d.model, d.engine, d.gpu, d.precision, d.kv_precision, d.speculation, layout)


def _engines(facts: Facts, item: StatedRequirement) -> Iterable[Measured]:
    engines = sorted({d.engine for d in facts.bought.deployments})
    yield Measured(len(engines), f"at most {exactly(item.value)} engines: {', '.join(engines)}")


def _power(facts: Facts, item: StatedRequirement) -> Iterable[Measured]:
    gpus = facts.catalogs.gpus
    power = facts.most_at_once(lambda offer: (gpus[offer.gpu].tdp_w or 0.0) * offer.gpu_count) / WATTS_PER_KILOWATT
    yield Measured(power, f"at most {exactly(item.value)} kW: {power:.1f} kW of GPU power")


def _carbon(facts: Facts, item: StatedRequirement) -> Iterable[Measured]:
    emitted = sum(_carbon_kg_per_month(facts, purchase) for purchase in facts.bought.purchases)
    yield Measured(emitted, f"at most {exactly(item.value)} kg CO₂ a month: {emitted:.1f} kg")


def _carbon_kg_per_month(facts: Facts, purchase: Purchase) -> float:
    """Of the instances while they run, those that are always paid for all month."""
    kg_per_hour = carbon_kg_per_hour(facts.offers[purchase.offer], facts.catalogs, facts.scenario.policy.grid)
    hours = (
        period.hours_per_month * running.instances
        for period, running in zip(facts.bought.periods, purchase.schedule, strict=True)
    )
    return float(kg_per_hour or 0) * sum(hours)


def _spot_share(facts: Facts, item: StatedRequirement) -> Iterable[Measured]:
    share, _ = facts.highest_share(lambda d: SPOT if isinstance(d, Deployment) and d.pricing_term == SPOT else "")
    yield Measured(share, f"at most {item.value:.0%} of the demand on spot: {share:.1%}")


def _provider_share(facts: Facts, item: StatedRequirement) -> Iterable[Measured]:
    share, provider = facts.together.highest_share(lambda d: d.provider)
    yield Measured(share, f"at most {item.value:.0%} of the demand at one provider: {provider} serves {share:.1%}")


def _spare(facts: Facts, item: StatedRequirement) -> Iterable[Measured]:
    """Where nothing but hosted APIs serves, no replica can fail."""
    if facts.bought.deployments:
        kept = min(_spare_of(d) for d in facts.bought.deployments)
        yield Measured(kept, f"{exactly(item.value)} replica(s) of any deployment may fail within the service levels")


def _spare_of(deployment: Deployment) -> int:
    """Replicas whose loss still leaves enough to serve the planned load at full rate."""
    per_replica = deployment.max_requests_per_second / deployment.replicas
    left, needed = deployment.replicas, deployment.requests_per_second
    while left and (left - 1) * per_replica >= needed * (1 - 1e-6):
        left -= 1
    return deployment.replicas - left


def _providers(facts: Facts, item: StatedRequirement) -> Iterable[Measured]:
    count = _fewest_places(facts.together, lambda d: d.provider)
    yield Measured(count, f"at least {exactly(item.value)} providers: {count}")


def _regions(facts: Facts, item: StatedRequirement) -> Iterable[Measured]:
    count = _fewest_places(facts.together, lambda d: f"{d.provider} {d.region}")
    yield Measured(count, f"at least {exactly(item.value)} regions: {count}")


def _fewest_places(facts: Facts, place: Callable[[Deployment], str]) -> int:
    """In the period in which replicas run in the fewest."""
    ran = facts.bought.deployments
    return min(len({place(d) for d in ran if d.schedule[t].replicas}) for t in facts.periods)


def _changes(facts: Facts, item: StatedRequirement) -> Iterable[Measured]:
    if facts.bought.migration is not None:
        changed = facts.bought.migration.started + facts.bought.migration.stopped
        yield Measured(changed, f"at most {exactly(item.value)} replicas started or stopped: {changed}")


def _price_age(facts: Facts, item: StatedRequirement) -> Iterable[Measured]:
    days = [d.provenance.price_age_days for d in facts.bought.deployments]
    days += [(facts.catalogs.as_of - api.price_as_of).days for api in facts.bought.hosted]
    yield Measured(max(days, default=0), f"prices at most {exactly(item.value)} days old: {max(days, default=0)}")


def _widest(degree: str, facts: Facts, item: StatedRequirement) -> Iterable[Measured]:
    """The most GPUs of a layer, or stages of a model, among the replicas."""
    most = max((getattr(d, degree) for d in facts.bought.deployments), default=0)
    yield Measured(most, f"{item.label} at most {exactly(item.value)}: {most}")


def _survive(facts: Facts, _: StatedRequirement) -> Iterable[Measured]:
    left, worst = share_left(facts.scenario, facts.together.bought)
    effect = f"the least after losing {worst}" if worst else "since the plan runs on nothing that may be lost so"
    lost = " or ".join(facts.scenario.policy.losses)
    yield Measured(left, f"the loss of any {lost} leaves {left:.1%} of the demand served, {effect}", limit=1.0)


def _robust(facts: Facts, _: StatedRequirement) -> Iterable[Measured]:
    """How much more than planned every deployment could be sent, or how much less it could sustain."""
    policy = facts.scenario.policy
    rooms = [
        policy.max_utilization * running.max_requests_per_second / running.requests_per_second
        for d in facts.bought.deployments
        for running in d.schedule
        if running.requests_per_second
    ]
    asked, room = policy.robust.demand / policy.robust.throughput, min(rooms, default=1.0)
    yield Measured(
        room, f"{policy.robust.words}: the tightest deployment takes × {figure(room)} of × {figure(asked)}", asked
    )


MEASURES: Final[Mapping[str, Callable[[Facts, StatedRequirement], Iterable[Measured]]]] = {
    "demand": _demand,
    "ttft_ms": _latency,
    "tpot_ms": _latency,
    "e2e_ms": _latency,
    "min_quality": _quality,
    "min_quality_worst": _quality,
    "min_replicas": _min_replicas,
    "max_replicas": _max_replicas,
    "max_utilization": _utilization,
    "max_gpus": _gpus,
    "max_monthly_usd": _budget,
    "quotas": _quotas,
    "max_distinct_configurations": _configurations,
    "max_power_kw": _power,
    "max_engines": _engines,
    "max_spot_share": _spot_share,
    "max_provider_share": _provider_share,
    "max_carbon_kg_per_month": _carbon,
    "spare_replicas": _spare,
    "min_providers": _providers,
    "min_regions": _regions,
    "max_changes": _changes,
    "max_price_age_days": _price_age,
    "max_tensor_parallel": partial(_widest, "tensor_parallel"),
    "max_pipeline_parallel": partial(_widest, "pipeline_parallel"),
    "survive": _survive,
    "robust": _robust,
}
"""How each requirement that is a number or a promise is measured, by its name."""

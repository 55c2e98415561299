"""From a plan to what each of its deployments runs; what cannot be run is left out with the reason."""

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from optimizer.answers.running.export.checkpoints import Named, checkpoint_of, method_of
from optimizer.answers.running.export.flags import YES, Release, config_of, flags_of, memory_share
from optimizer.answers.running.export.record import (
    CannotCarry,
    Checkpoint,
    Hours,
    LeftOut,
    Machine,
    ReplicaLoad,
    Run,
    ServerSetup,
)
from optimizer.inputs.catalog.entries.deploying import Setting
from optimizer.inputs.catalog.kinds import ALWAYS_PAID
from optimizer.inputs.catalog.records import Catalogs, Offer
from optimizer.inputs.scenario.policy import DEALING, Router
from optimizer.inputs.scenario.scenario import Scenario
from optimizer.performance.physics.memory import memory_use
from optimizer.performance.physics.setup import gather
from optimizer.plan.record.fleet import Deployment, Purchase
from optimizer.plan.record.naming import deployment_names, label
from optimizer.plan.record.report import PlanReport
from optimizer.plan.verify.claim import Claim, configuration

CONTEXT_STEP: Final = 1024
MOST_OF_CACHE: Final = 0.5
"""Of a replica's KV cache that one sequence may take: an engine refuses to start where one could take more than all."""

NOT_DEPLOYED: Final = {
    "request": "a hosted API: there is nothing to deploy",
    "second": "containers paid by the second: no target writes what their seller wants",
}
"""Why nothing is written for what is paid so."""
ROUTED: Final[Mapping[Router, str]] = {
    "in_turn": "in turn",
    "least_loaded": "that have the fewest in flight",
}
"""As people say it."""
DISK_FOR_SYSTEM_GB: Final = 100
DISK_STEP_GB: Final = 50


@dataclass(frozen=True)
class _Planned:
    """The plan that runs are made of."""

    report: PlanReport
    claim: Claim
    catalogs: Catalogs
    named: Named
    names: Sequence[str]
    """Of its deployments."""

    @property
    def scenario(self) -> Scenario:
        return self.claim.scenario


def runs_of(
    report: PlanReport, scenario: Scenario, catalogs: Catalogs, named: Named
) -> tuple[tuple[Run, ...], tuple[LeftOut, ...]]:
    """What each deployment runs, and what no target can run.

    Args:
        report: A verified plan.
        scenario: The one that it was made for.
        catalogs: Those that it was made from.
        named: Checkpoints that the user names.
    """
    names = deployment_names(report.deployments)
    planned = _Planned(report, Claim(scenario, catalogs, report.fleet), catalogs, named, names)
    runs: list[Run] = []
    left_out = [
        LeftOut(f"{item.api} of {item.provider}, for {item.workload}", "", NOT_DEPLOYED[item.paid_by])
        for item in report.hosted
    ]
    for name, (d, purchase, offer) in zip(names, planned.claim.placed, strict=True):
        try:
            runs.append(_run(name, d, purchase, offer, planned=planned))
        except CannotCarry as reason:
            left_out.append(LeftOut(name, "", str(reason)))
    return tuple(runs), tuple(left_out)


def _run(name: str, d: Deployment, purchase: Purchase, offer: Offer, *, planned: _Planned) -> Run:
    """One deployment.

    Raises:
        CannotCarry: its engine's release or its checkpoint is not known, or a replica spans machines.
    """
    if d.gpus_per_replica > d.gpus_per_instance:
        raise CannotCarry(f"a replica takes {d.gpus_per_replica} GPUs, an instance has {d.gpus_per_instance}")
    release = Release(planned.catalogs.deploying, d.engine, d.engine_version)
    machine = _machine(name, d, purchase, offer, planned=planned)
    server = _server(d, offer, release, machine.vendor, planned=planned)
    return Run(
        name=name,
        plan_id=planned.report.plan_id,
        scenario=planned.scenario.name,
        workload=d.workload,
        workload_label=label(d.workload),
        pool=d.pool,
        server=server,
        machine=machine,
        load=_load(d, planned),
        instances=d.instances,
        disk_gb=_disk_gb(server.checkpoint, planned.scenario.policy.storage_gb_per_instance),
        monthly_usd=d.monthly_cost_usd,
        router=planned.scenario.policy.router,
        remarks=(
            *_of_router(d, planned.scenario.policy.router),
            *_remarks(server, machine),
            *_of_disk(server, planned),
            *_of_adapter(d, planned),
            *release.remarks(_used(d, machine)),
        ),
    )


def _of_router(d: Deployment, router: Router) -> Iterator[str]:
    """What has to stand before several replicas; where the plan counts on chance anything may."""
    if router in DEALING and d.replicas > 1:
        yield f"the plan counts on a router that sends requests to replicas {ROUTED[router]}"


def _server(d: Deployment, offer: Offer, release: Release, vendor: str, *, planned: _Planned) -> ServerSetup:
    """One replica: the checkpoint, the image, and every flag that the plan assumes."""
    catalogs = planned.catalogs
    checkpoint, asked = checkpoint_of(d, catalogs, planned.named), catalogs.published_name(d.model)
    draft = planned.named.get((d.model, method_of(d)), "")
    counted = {"prefix_caching": YES} if planned.claim.workloads[d.workload].cached_input_share else {}
    context = str(_context_tokens(d, offer, planned))
    flags = flags_of(release, d, checkpoint, served_name=asked, context_tokens=context, draft=draft, **counted)
    command = release.value("command") or ""
    return ServerSetup(
        model_name=asked,
        served_name=asked if "served_name" in flags else checkpoint.hf_id,
        checkpoint=checkpoint,
        engine=d.engine,
        engine_name=catalogs.engines[d.engine].name,
        engine_version=d.engine_version,
        command=(*command.split(), checkpoint.hf_id),
        image=release.value("image", vendor),
        metric=release.value("metric"),
        flags=flags,
        config=config_of(release, d, draft),
        gpus=d.gpus_per_replica,
        tensor_parallel=d.tensor_parallel,
        pipeline_parallel=d.pipeline_parallel,
        precision=d.precision,
        kv_precision=d.kv_precision,
        speculation=d.speculation,
    )


def _load(d: Deployment, planned: _Planned) -> ReplicaLoad:
    """What it is sent by the hour, and most at the hours in which its workload asks most."""
    schedule = tuple(_schedule(d, planned))
    busiest = max(range(len(schedule)), key=lambda number: _asked(d.workload, number, planned))
    sustainable = d.max_requests_per_second / d.replicas if d.replicas else 0.0
    return ReplicaLoad(
        schedule=schedule,
        sustainable_per_s=sustainable,
        target_per_s=sustainable * planned.scenario.policy.max_utilization,
        concurrency=d.concurrency,
        weight=schedule[busiest].share,
        shares=_class_shares(d, busiest, planned),
    )


def _used(d: Deployment, machine: Machine) -> dict[Setting, str]:
    """The settings whose rows may have to tell something to whoever deploys."""
    return {
        "command": "",
        "image": machine.vendor,
        "kv_precision": d.kv_precision,
        "memory_utilization": memory_share(d),
    }


def _machine(name: str, d: Deployment, purchase: Purchase, offer: Offer, *, planned: _Planned) -> Machine:
    """The instance, and what it costs whoever has neither a term nor a discount."""
    where = (offer.provider, offer.region, offer.instance_type, offer.gpu, offer.gpu_count)
    listed: list[Decimal] = [
        _list_price(other, planned.catalogs)
        for other in planned.catalogs.offers
        if other.pricing_term == "on_demand"
        and (other.provider, other.region, other.instance_type, other.gpu, other.gpu_count) == where
    ]
    on_demand = min(listed, default=None)
    pairs = zip(planned.names, planned.claim.placed, strict=True)
    with_it = tuple(other for other, (_, bought, _) in pairs if bought.offer == purchase.offer and other != name)
    return Machine(
        provider=d.provider,
        region=d.region,
        instance_type=d.instance_type,
        pricing_term=d.pricing_term,
        gpu=d.gpu,
        vendor=planned.catalogs.gpus[d.gpu].vendor,
        gpus=d.gpus_per_instance,
        price_usd_per_hour=offer.price_usd_per_hour,
        rented_usd_per_hour=on_demand if d.pricing_term in ALWAYS_PAID else _list_price(offer, planned.catalogs),
        on_demand_usd_per_hour=on_demand,
        bought=purchase.instances,
        bought_with=with_it,
    )


def _list_price(offer: Offer, catalogs: Catalogs) -> Decimal:
    """USD an hour before the discount that was granted, if any."""
    granted = catalogs.terms.discounts.get(offer.id)
    return granted.list_price_usd_per_hour if granted else offer.price_usd_per_hour


def _context_tokens(d: Deployment, offer: Offer, planned: _Planned) -> int:
    """The longest sequence: what the model reads, within half of a replica's cache, and no less than a class needs."""
    cache = memory_use(gather(planned.catalogs, [configuration(d, offer)]))
    room = int(float(cache.kv_capacity_tokens[0]) * MOST_OF_CACHE) // CONTEXT_STEP * CONTEXT_STEP
    longest = max(item.longest_tokens for item in planned.claim.workloads[d.workload].classes())
    return min(planned.catalogs.model(d.model).max_context_tokens, max(room, longest))


def _schedule(d: Deployment, planned: _Planned) -> Iterator[Hours]:
    """Replicas and share of the workload's requests in each period."""
    for number, (period, entry) in enumerate(zip(planned.report.periods, d.schedule, strict=True)):
        asked = _asked(d.workload, number, planned)
        share = entry.requests_per_second / asked if asked else 0.0
        yield Hours(tuple(period.hours_of_week), entry.replicas, share)


def _asked(workload: str, number: int, planned: _Planned) -> float:
    """Requests/s of a workload in a period, hosted ones included."""
    report = planned.report
    own = sum(d.schedule[number].requests_per_second for d in report.deployments if d.workload == workload)
    hosted = (item.schedule for item in report.hosted if item.workload == workload)
    return own + sum(each.requests_per_second for part in hosted for each in part if each.period == number)


def _class_shares(d: Deployment, number: int, planned: _Planned) -> dict[str, float]:
    """Of each request class that a deployment is sent in a period, its share of them all, hosted ones included."""
    alike = [other for other in planned.report.deployments if other.workload == d.workload]
    totals: defaultdict[str, float] = defaultdict(float)
    for other in alike:
        for kind, rate in other.schedule[number].requests_per_second_by_class.items():
            totals[kind] += rate
    for item in planned.report.hosted:
        if item.workload == d.workload:
            rates = (each.requests_per_second for each in item.schedule if each.period == number)
            totals[item.request_class] += sum(rates)
    own = d.schedule[number].requests_per_second_by_class
    return {kind: rate / totals[kind] for kind, rate in own.items() if rate}


def _disk_gb(checkpoint: Checkpoint, asked_gb: float | None) -> int:
    """As the policy asks; else the checkpoint with room for the system and the engine's image."""
    if asked_gb:
        return math.ceil(asked_gb)
    return math.ceil((checkpoint.download_gb + DISK_FOR_SYSTEM_GB) / DISK_STEP_GB) * DISK_STEP_GB


def _of_disk(server: ServerSetup, planned: _Planned) -> Iterator[str]:
    asked_gb, needed_gb = planned.scenario.policy.storage_gb_per_instance, server.checkpoint.download_gb
    if asked_gb and asked_gb < needed_gb:
        disk = f"policy.storage_gb_per_instance asks for {asked_gb:,.0f} GB"
        yield f"{disk}, and the checkpoint alone takes {needed_gb:,.0f} GB: ask for more, or load it from elsewhere"


def _of_adapter(d: Deployment, planned: _Planned) -> Iterator[str]:
    if planned.claim.workloads[d.workload].lora_adapters is not None:
        yield f"merge the adapter into the weights, and name them with --weights {d.model}:{d.precision}=PUBLISHER/NAME"


def _remarks(server: ServerSetup, machine: Machine) -> Iterator[str]:
    if server.checkpoint.remark:
        yield f"{server.checkpoint.hf_id}: {server.checkpoint.remark}"
    if server.served_name != server.model_name:
        other = f"{server.served_name}, not {server.model_name}"
        yield f"it answers to the model name {other}: map the name where requests are routed"
    if machine.pricing_term in ALWAYS_PAID - {"owned"}:
        yield f"priced as {machine.pricing_term}: make that commitment with {machine.provider}; no file here does"
    if machine.bought_with:
        others = ", ".join(machine.bought_with)
        yield f"the {machine.bought} {machine.instance_type} instances are also for {others}: count them once"

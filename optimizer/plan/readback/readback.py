"""Solution values back into a plan: whole counts, prices in Decimal, predictions at the planned load."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Final, NamedTuple

import numpy as np

from optimizer.base.once_of import OnceOf
from optimizer.base.units import BYTES_PER_GIB, SECONDS_PER_HOUR, TOKENS_PER_MILLION
from optimizer.inputs.catalog.records import Catalogs, Offer
from optimizer.performance.candidates.options import WorkloadOptions
from optimizer.performance.candidates.predict import LIMITS, STATISTICS, Mix
from optimizer.performance.market.supply import power_kw
from optimizer.performance.uncertainty.evidence import performance_of
from optimizer.plan.question.inquiry import Answer
from optimizer.plan.question.service import Service, Use
from optimizer.plan.readback.bill import asked_hours_per_month
from optimizer.plan.readback.containers import containers
from optimizer.plan.readback.latencies import (
    DeploymentLatencies,
    DeploymentLoads,
    PointRow,
    latencies_of,
    rates_as_predicted,
)
from optimizer.plan.readback.outline import outlined, uses_by_offer
from optimizer.plan.readback.sent import periods_of, schedule_of, services_of_use
from optimizer.plan.record.fleet import (
    Deployment,
    EngineStart,
    PlacedInstances,
    Placement,
    PlannedFleet,
    Provenance,
    ReplicasTogether,
    ServedClass,
    Vram,
)
from optimizer.program.problem.columns import Column


def _fleet(answer: Answer) -> PlannedFleet:
    outline, ran = outlined(answer), [_Ran(answer, use) for use in uses_by_offer(answer)]
    return PlannedFleet(
        deployments=tuple(
            _deployment(*each) for each in zip(ran, outline.deployments, _performances(ran), strict=True)
        ),
        purchases=outline.purchases,
        hosted=outline.hosted,
        migration=outline.migration,
        monthly_cost_usd=outline.monthly_cost_usd,
        periods=periods_of(answer),
        placement=tuple(_placement(answer)),
        containers=containers(answer),
    )


_FLEET: Final = OnceOf[Answer, PlannedFleet](_fleet)


def read_back(answer: Answer) -> PlannedFleet:
    """Deployments and purchases of a solution; the total is recomputed from whole counts, hour by hour.

    Whoever simulates, verifies and tells of the same solution has it from one reading.
    """
    return _FLEET(answer)


def stands_for(answer: Answer) -> list[tuple[Column, Mix]]:
    """What each of the plan's deployments is in the inquiry's options, and what it is sent at its busiest."""
    return [(use.column, services_of_use(answer, use)[use.busiest].mix) for use in uses_by_offer(answer)]


@dataclass(frozen=True, eq=False)
class _Ran:
    """A deployment as it runs in the solution: its configuration, and what it is sent in each period.

    Attributes:
        answer: The solution.
        use: What runs, and where.
    """

    answer: Answer
    use: Use

    @cached_property
    def services(self) -> tuple[Service, ...]:
        """By period."""
        return services_of_use(self.answer, self.use)

    @property
    def busiest(self) -> Service:
        """What it is sent where that is most."""
        return self.services[self.use.busiest]

    @property
    def choice(self) -> WorkloadOptions:
        """The options of its workload."""
        return self.answer.inquiry.options[self.use.column.workload]

    @property
    def row(self) -> int:
        """Its configuration among these."""
        return self.use.column.configuration

    @property
    def offer(self) -> Offer:
        """What it runs on."""
        return self.answer.inquiry.market.offers[self.use.column.offer]

    @property
    def serving_share(self) -> float:
        """Of the time; a spot instance that is taken back serves less."""
        return float(self.answer.inquiry.market.serving_share[self.use.column.offer])

    @cached_property
    def running(self) -> list[tuple[int, Service]]:
        """Replicas, and what they are sent together, in each period in which there are any."""
        return [(n, service) for n, service in zip(self.use.replicas, self.services, strict=True) if n]

    @cached_property
    def loads(self) -> list[float]:
        """Of its replicas in these periods, as a share of what they sustain."""
        return [service.flow_per_s / (n * service.rate_per_s) for n, service in self.running]

    @property
    def classes(self) -> list[int]:
        """Those that it is sent; of a standby, those that it waits for."""
        sent = {k for _, service in self.running for k in service.classes if service.flow_per_s}
        return sorted(sent or self.busiest.classes)


class _Performance(NamedTuple):
    """What users of a deployment wait for, and requests/s that a replica would sustain as predicted."""

    latencies: DeploymentLatencies
    predicted_per_s: float


def _performances(ran: Sequence[_Ran]) -> list[_Performance]:
    """Of each deployment, those of the same options predicted together."""
    found, of_options = dict[int, _Performance](), defaultdict[int, list[int]](list)
    for number, each in enumerate(ran):
        of_options[each.use.column.workload].append(number)
    for numbers in of_options.values():
        own = [ran[number] for number in numbers]
        choice = own[0].choice
        latencies = latencies_of(choice, [DeploymentLoads(each.row, each.serving_share, each.running) for each in own])
        rates = rates_as_predicted(choice, [each.row for each in own], [each.busiest for each in own])
        rates_per_s = (rates * np.array([each.serving_share for each in own])).tolist()
        found |= zip(numbers, map(_Performance, latencies, rates_per_s), strict=True)
    return [found[number] for number in range(len(ran))]


def _deployment(ran: _Ran, placement: Placement, performance: _Performance) -> Deployment:
    """What is bought for it, how it performs where a replica has most to do, what a request costs."""
    answer, use, choice, row, latencies = ran.answer, ran.use, ran.choice, ran.row, performance.latencies
    fullest, at = latencies.fullest.point, latencies.fullest.row
    classes = [_served_class(choice, latencies, k, ran.busiest) for k in ran.classes]
    per_request, per_million_output, per_million = _unit_costs(answer, choice, ran.services, placement.monthly_cost_usd)
    power, estimate = power_kw(ran.offer, answer.inquiry.catalogs.gpus[ran.offer.gpu]), choice.quality[row]
    return Deployment(
        **dict(placement),
        schedule=schedule_of(answer, use),
        requests_per_second=ran.busiest.flow_per_s,
        max_requests_per_second=ran.busiest.rate_per_s * placement.replicas,
        predicted_max_requests_per_second=performance.predicted_per_s * placement.replicas,
        utilization=max(ran.loads),
        limited_by=LIMITS[ran.running[ran.loads.index(max(ran.loads))][1].limited_by],
        concurrency=float(fullest.concurrency[at]),
        max_concurrency=float(fullest.max_concurrency[at]),
        tpot_ms=latencies.predicted.tpot_ms(),
        tpot_bound_ms=latencies.bound.tpot_ms(),
        ttft_ms=_slowest([item.ttft_ms for item in classes]),
        ttft_bound_ms=_slowest([item.ttft_bound_ms for item in classes]),
        e2e_ms=_slowest([item.e2e_ms for item in classes]),
        classes=classes,
        vram=_vram(choice, row, latencies.fullest),
        engine_starts_with=_engine_start(choice, row),
        power_kw=None if power is None else float(power) * placement.total_gpus / ran.offer.gpu_count,
        cost_per_request_usd=per_request,
        cost_per_million_output_tokens_usd=per_million_output,
        cost_per_million_tokens_usd=per_million,
        quality=estimate and estimate.share,
        quality_worst=estimate and estimate.worst_share,
        provenance=_provenance(answer, choice, use.column),
    )


def _served_class(choice: WorkloadOptions, latencies: DeploymentLatencies, k: int, busiest: Service) -> ServedClass:
    """One class at the highest load it meets, as predicted and with the policy's confidence."""
    item = choice.workload.classes()[k]
    share = float(busiest.mix.share[busiest.classes.index(k)]) if k in busiest.classes else 0.0
    return ServedClass(
        name=item.name,
        input_tokens=item.input_tokens,
        output_tokens=item.output_tokens,
        share=share,
        requests_per_second=busiest.flow_per_s * share,
        ttft_ms=latencies.predicted.ttft_ms(k),
        ttft_bound_ms=latencies.bound.ttft_ms(k),
        e2e_ms=latencies.predicted.e2e_ms(k),
        e2e_bound_ms=latencies.bound.e2e_ms(k),
    )


def _slowest(classes: Sequence[dict[str, float]]) -> dict[str, float]:
    return {name: max(item[name] for item in classes) for name in STATISTICS}


UnitCosts = tuple[Decimal, Decimal, Decimal] | tuple[None, None, None]


def _unit_costs(answer: Answer, choice: WorkloadOptions, services: Sequence[Service], cost: Decimal) -> UnitCosts:
    """USD a request, a million output tokens and a million tokens; None for a standby."""
    hours = np.array(asked_hours_per_month(answer, choice.workload_index), dtype=float)
    requests = hours @ np.array([service.flow_per_class_per_s for service in services]) * SECONDS_PER_HOUR
    total = float(requests.sum())
    if total == 0:
        return None, None, None
    classes = choice.workload.classes()
    prompt, output = (
        Decimal(repr(float(requests @ lengths) / total))
        for lengths in ([item.input_tokens for item in classes], [item.output_tokens for item in classes])
    )
    per_request = cost / Decimal(repr(total))
    return per_request, per_request / output * TOKENS_PER_MILLION, per_request / (prompt + output) * TOKENS_PER_MILLION


def _vram(choice: WorkloadOptions, row: int, fullest: PointRow) -> Vram:
    use = choice.memory
    cache, held = float(use.kv_capacity[row]) / BYTES_PER_GIB, float(fullest.point.kv_utilization[fullest.row])
    return Vram(
        usable_gib=float(use.usable[row]) / BYTES_PER_GIB,
        weights_gib=float(use.weights[row]) / BYTES_PER_GIB,
        kv_cache_gib=cache * held,
        activations_gib=float(use.activations[row] + use.overhead[row]) / BYTES_PER_GIB,
        free_gib=cache * (1 - held),
    )


def _engine_start(choice: WorkloadOptions, row: int) -> EngineStart:
    layout = choice.setup.layout
    return EngineStart(
        memory_utilization=float(layout.memory_utilization[row]),
        max_num_seqs=int(layout.max_num_seqs[row]),
        max_num_batched_tokens=int(layout.max_batched_tokens[row]),
    )


def _provenance(answer: Answer, choice: WorkloadOptions, column: Column) -> Provenance:
    catalogs, offer = answer.inquiry.catalogs, answer.inquiry.market.offers[column.offer]
    performance, note = performance_of(catalogs, choice.configurations[column.configuration])
    estimate = choice.quality[column.configuration]
    age_days, seller = (
        (catalogs.as_of - offer.as_of).days,
        catalogs.terms.seller_kind(offer.provider, offer.provider_kind),
    )
    return Provenance(
        performance=performance,
        performance_note=note,
        price_as_of=offer.as_of,
        price_source=catalogs.sources[offer.source].cited,
        price_confidence=offer.confidence,
        price_derived_from=_derived_from(catalogs, offer),
        price_age_days=age_days,
        price_is_old=age_days >= answer.inquiry.scenario.policy.flagged_from_days(seller),
        seller=seller,
        quality="unknown" if estimate is None else estimate.basis,
    )


def _derived_from(catalogs: Catalogs, offer: Offer) -> str:
    """The arithmetic behind a derived price, which its note begins with."""
    is_told = offer.confidence == "derived" and not catalogs.sources[offer.source].private
    return offer.note.partition(";")[0] if is_told else ""


def _placement(answer: Answer) -> Iterator[PlacedInstances]:
    """What stands together, deployments by their place in the plan."""
    placed, order = answer.solution.placed, uses_by_offer(answer)
    # candidate -> its deployment, with the workload
    ran = np.flatnonzero(answer.solution.replicas.any(axis=0)).tolist()
    deployment = {c: order.index(use) for c, use in zip(ran, answer.used, strict=True)}
    workload = {
        c: answer.inquiry.options[use.column.workload].workload.name for c, use in zip(ran, answer.used, strict=True)
    }
    for period, offer, count, held in zip(*(values.tolist() for values in vars(placed).values()), strict=True):
        together = sorted((deployment[c], workload[c], n) for c, n in enumerate(held) if n)
        yield PlacedInstances(
            period=period,
            instance=answer.inquiry.market.offers[answer.formulation.offers[offer]].id,
            count=count,
            contents=[ReplicasTogether(deployment=d, workload=name, replicas=n) for d, name, n in together],
        )

"""Solution values back into a plan: whole counts, prices in Decimal, predictions at the planned load."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from optimizer.base.units import BYTES_PER_GIB, SECONDS_PER_HOUR, TOKENS_PER_MILLION
from optimizer.inputs.catalog.quality import QualityEstimate
from optimizer.inputs.catalog.records import Catalogs, Offer
from optimizer.performance.candidates.options import MIXED, WorkloadOptions
from optimizer.performance.candidates.predict import LIMITS, STATISTICS, Mix, OperatingPoint
from optimizer.performance.market.supply import power_kw
from optimizer.performance.physics.setup import Configuration
from optimizer.performance.uncertainty.evidence import not_measured
from optimizer.plan.question.inquiry import Answer
from optimizer.plan.question.service import Service, Use
from optimizer.plan.readback.bill import hours_per_month, planned_periods
from optimizer.plan.readback.latencies import Latencies, latencies_of
from optimizer.plan.readback.outline import Outline, Placed, outlined
from optimizer.plan.record.fleet import Deployment, Period, Provenance, Running, ServedClass, Vram
from optimizer.program.problem.columns import Column


@dataclass(frozen=True)
class Bought(Outline):
    """What the plan buys and runs, before it is explained.

    Attributes:
        deployments: The prediction of each of `placed`.
        mixes: What each is sent at its busiest, in the same order.
    """

    deployments: tuple[Deployment, ...]
    periods: tuple[Period, ...]
    mixes: tuple[Mix, ...]


def read_back(answer: Answer) -> Bought:
    """Deployments and purchases of a solution; the total is recomputed from whole counts, hour by hour."""
    outline = outlined(answer)
    services = [answer.services[answer.used.index(item.use)] for item in outline.placed]
    return Bought(
        **vars(outline),
        deployments=tuple(_deployment(answer, item, now) for item, now in zip(outline.placed, services, strict=True)),
        periods=planned_periods(answer),
        mixes=tuple(now[item.use.busiest].mix for item, now in zip(outline.placed, services, strict=True)),
    )


def _deployment(answer: Answer, placed: Placed, by_period: Sequence[Service]) -> Deployment:
    """One deployment: what it is, what was bought for it, how it performs, what a request costs."""
    inquiry, use, column = answer.inquiry, placed.use, placed.use.column
    choice, offer = inquiry.options[column.workload], placed.offer
    power = power_kw(offer, inquiry.catalogs.gpus[offer.gpu])
    estimate, egress = choice.quality[column.configuration], placed.egress
    cost = placed.monthly_cost_usd + (egress.usd_per_month if egress else Decimal(0))
    serving_share = float(inquiry.market.serving_share[column.offer])
    return Deployment.model_validate(
        {
            **_identity(choice, column),
            **_place(offer),
            "replicas": use.replicas[use.busiest],
            "instances": placed.instances,
            "total_gpus": placed.gpus,
            "monthly_cost_usd": cost,
            "egress_gb_per_month": egress and egress.gb_per_month,
            "egress_usd": egress and egress.usd_per_month,
            "power_kw": None if power is None else float(power) * placed.gpus / offer.gpu_count,
            "quality": None if estimate is None else estimate.share,
            "provenance": _provenance(inquiry.catalogs, placed.configuration, offer, estimate),
            "pool": _pool(choice, by_period),
            **_performance(choice, use, by_period, serving_share),
            **_unit_costs(choice, _requests_per_month(answer, by_period), cost),
        }
    )


def _identity(choice: WorkloadOptions, column: Column) -> dict[str, object]:
    c = choice.configurations[column.configuration]
    return {
        "workload": choice.workload.name,
        "model": choice.workload.model,
        "engine": c.engine,
        "gpus_per_replica": c.tensor_parallel * c.pipeline_parallel,
        "tensor_parallel": c.tensor_parallel,
        "pipeline_parallel": c.pipeline_parallel,
        "precision": c.precision,
        "kv_precision": c.kv_precision,
    }


def _place(offer: Offer) -> dict[str, object]:
    return {
        "provider": offer.provider,
        "region": offer.region,
        "instance_type": offer.instance_type,
        "pricing_term": offer.pricing_term,
        "commitment_months": offer.commitment_months,
        "gpu": offer.gpu,
        "gpus_per_instance": offer.gpu_count,
        "price_usd_per_hour": offer.price_usd_per_hour,
    }


def _pool(choice: WorkloadOptions, by_period: Sequence[Service]) -> str:
    """The pool that a deployment is all week, `mixed` where that changes or is none of a class or of all."""
    pools = {now.predicted_as for now in by_period if now.flow_per_s} or {by_period[0].predicted_as}
    pool = pools.pop() if len(pools) == 1 else None
    named = pool is not None and pool <= len(choice.workload.classes())
    return choice.pools[pool].pool.name if pool is not None and named else MIXED


def _performance(
    choice: WorkloadOptions, use: Use, by_period: Sequence[Service], serving_share: float
) -> dict[str, object]:
    """Load by period, and the latencies where a replica has most to do.

    Args:
        choice: The workload's options.
        use: What runs when.
        by_period: What it is sent and sustains.
        serving_share: Share of the time in which a replica serves; below 1 where it is interrupted.
    """
    row, busiest = use.column.configuration, by_period[use.busiest]
    running = [(n, now) for n, now in zip(use.replicas, by_period, strict=True) if n]
    _, fullest = max(running, key=lambda pair: pair[1].flow_per_s / (pair[0] * pair[1].rate_per_s))
    latencies = latencies_of(choice, row, running, serving_share)
    served = sorted({k for _, now in running for k in now.classes if now.flow_per_s} or busiest.classes)
    share = dict(zip(busiest.classes, busiest.mix.share.tolist(), strict=True))
    classes = [_served_class(latencies, k, share.get(k, 0.0), busiest.flow_per_s) for k in served]
    margins = choice.limits.margins
    return {
        "schedule": [
            _running(choice, t, n, now) for t, (n, now) in enumerate(zip(use.replicas, by_period, strict=True))
        ],
        "requests_per_second": busiest.flow_per_s,
        "max_requests_per_second": busiest.rate_per_s * use.replicas[use.busiest],
        "utilization": max(now.flow_per_s / (n * now.rate_per_s) for n, now in running),
        "limited_by": LIMITS[fullest.limited_by],
        "concurrency": float(latencies.busiest.concurrency[0]),
        "max_concurrency": float(latencies.busiest.max_concurrency[0]),
        "tpot_ms": latencies.tpot(1.0),
        "tpot_bound_ms": latencies.tpot(float(margins.tpot[row])),
        "ttft_ms": _slowest([item.ttft_ms for item in classes]),
        "ttft_bound_ms": _slowest([item.ttft_bound_ms for item in classes]),
        "e2e_ms": _slowest([item.e2e_ms for item in classes]),
        "classes": classes,
        "vram": _vram(choice, row, latencies.busiest),
    }


def _running(choice: WorkloadOptions, period: int, replicas: int, now: Service) -> Running:
    names = [item.name for item in choice.workload.classes()]
    full = replicas * now.rate_per_s
    return Running(
        period=period,
        replicas=replicas,
        requests_per_second=now.flow_per_s,
        requests_per_second_by_class={names[k]: flow for k, flow in enumerate(now.flow_per_class_per_s) if flow},
        max_requests_per_second=full,
        utilization=now.flow_per_s / full if replicas else 0.0,
    )


def _served_class(latencies: Latencies, k: int, share: float, flow_per_s: float) -> ServedClass:
    """One class at the highest load it meets, without and with the confidence's margin."""
    item, margins = latencies.choice.workload.classes()[k], latencies.choice.limits.margins
    slow_ttft, slow_tpot = float(margins.ttft[latencies.row]), float(margins.tpot[latencies.row])
    return ServedClass(
        name=item.name,
        input_tokens=item.input_tokens,
        output_tokens=item.output_tokens,
        share=share,
        requests_per_second=flow_per_s * share,
        ttft_ms=latencies.ttft(k, 1.0),
        ttft_bound_ms=latencies.ttft(k, slow_ttft),
        e2e_ms=latencies.e2e(k, 1.0),
        e2e_bound_ms=latencies.e2e(k, max(slow_ttft, slow_tpot)),
    )


def _slowest(classes: Sequence[dict[str, float]]) -> dict[str, float]:
    return {name: max(item[name] for item in classes) for name in STATISTICS}


def _requests_per_month(answer: Answer, by_period: Sequence[Service]) -> list[float]:
    """(K,) requests of each class in a month."""
    hours = [float(each) for each in hours_per_month(answer)]
    flows = zip(*(now.flow_per_class_per_s for now in by_period), strict=True)
    return [sum(f * h for f, h in zip(flow, hours, strict=True)) * SECONDS_PER_HOUR for flow in flows]


def _unit_costs(choice: WorkloadOptions, requests_per_month: Sequence[float], cost: Decimal) -> dict[str, object]:
    names = ("cost_per_request_usd", "cost_per_million_output_tokens_usd", "cost_per_million_tokens_usd")
    total = sum(requests_per_month)
    if total == 0:
        return dict.fromkeys(names)
    asked = list(zip(requests_per_month, choice.workload.classes(), strict=True))
    output = Decimal(repr(sum(n * item.output_tokens for n, item in asked) / total))
    prompt = Decimal(repr(sum(n * item.input_tokens for n, item in asked) / total))
    per_request = cost / Decimal(repr(total))
    per_output, per_token = per_request / output, per_request / (prompt + output)
    return dict(zip(names, (per_request, per_output * TOKENS_PER_MILLION, per_token * TOKENS_PER_MILLION), strict=True))


def _vram(choice: WorkloadOptions, row: int, point: OperatingPoint) -> Vram:
    use = choice.memory
    cache, held = float(use.kv_capacity[row]) / BYTES_PER_GIB, float(point.kv_utilization[0])
    return Vram(
        usable_gib=float(use.usable[row]) / BYTES_PER_GIB,
        weights_gib=float(use.weights[row]) / BYTES_PER_GIB,
        kv_cache_gib=cache * held,
        activations_gib=float(use.activations[row] + use.overhead[row]) / BYTES_PER_GIB,
        free_gib=cache * (1 - held),
    )


def _provenance(
    catalogs: Catalogs, configuration: Configuration, offer: Offer, estimate: QualityEstimate | None
) -> Provenance:
    missing = not_measured(catalogs, configuration)
    note = f"nobody measured {', '.join(missing)}" if missing else "model fitted to public measurements"
    return Provenance(
        performance="estimated" if missing else "calibrated",
        performance_note=note,
        price_as_of=offer.as_of,
        price_source=catalogs.sources[offer.source].title,
        price_confidence=offer.confidence,
        price_age_days=(catalogs.as_of - offer.as_of).days,
        quality="unknown" if estimate is None else estimate.basis,
    )

"""Solution values back into a plan: whole counts, prices in Decimal, predictions at the planned load."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

import numpy as np

from optimizer.base.units import (
    BYTES_PER_GIB,
    MS_PER_S,
    SECONDS_PER_HOUR,
    TOKENS_PER_MILLION,
)
from optimizer.inputs.catalog import Catalogs, Offer
from optimizer.inputs.quality import QualityEstimate
from optimizer.inputs.scenario import RequestClass
from optimizer.performance.candidates import WorkloadOptions
from optimizer.performance.evidence import not_measured
from optimizer.performance.market import power_kw
from optimizer.performance.periods import Periods
from optimizer.performance.predict import LIMITS, STATISTICS, Mix, OperatingPoint, operate
from optimizer.performance.setup import Configuration
from optimizer.plan.bill import hosted_shares, hours_per_month, migration, planned_periods, purchase, sent_out
from optimizer.plan.fields import cents
from optimizer.plan.fleet import Deployment, Hosted, Migration, Period, Provenance, Purchase, Running, ServedClass, Vram
from optimizer.plan.inquiry import Answer, Use
from optimizer.program.formulate import Column

Milliseconds = dict[str, float]


@dataclass(frozen=True)
class Bought:
    """What the plan buys and runs, before it is explained.

    Attributes:
        columns: What each deployment stands for in the inquiry's options, in the order of `deployments`.
    """

    deployments: tuple[Deployment, ...]
    purchases: tuple[Purchase, ...]
    hosted: tuple[Hosted, ...]
    periods: tuple[Period, ...]
    migration: Migration | None
    columns: tuple[Column, ...]
    monthly_cost_usd: Decimal


def read_back(answer: Answer) -> Bought:
    """Deployments and purchases of a solution; the total is recomputed from whole counts, hour by hour."""
    market, week = answer.inquiry.market, answer.formulation.periods
    counts = {
        int(offer): tuple(column.tolist())
        for offer, column in zip(answer.formulation.offers, answer.solution.instances.T, strict=True)
        if column.any()
    }
    running: dict[int, list[Use]] = defaultdict(list)
    for use in answer.used:
        running[use.column.offer].append(use)
    purchases, deployments, columns = [], [], []
    for position in sorted(counts, key=lambda at: market.offers[at].id):
        uses, instances = running[position], counts[position]
        sizes = [_size(answer, use.column) for use in uses]
        bill = purchase(answer, position, instances, sizes, uses)
        purchases.append(bill)
        parts = _split(bill.monthly_cost_usd, _gpu_hours(week, bill, sizes, uses))
        idle = bill.idle_gpus
        for at, (use, size, part) in enumerate(zip(uses, sizes, parts, strict=True)):
            gpus = size * use.replicas[use.busiest] + (idle if at == len(uses) - 1 else 0)
            deployments.append(_deployment(answer, use, (instances[use.busiest], gpus), part))
            columns.append(use.column)
    hosted = tuple(hosted_shares(answer))
    moved = migration(answer)
    total = sum((item.monthly_cost_usd for item in purchases), Decimal(0))
    total += sum((item.egress_usd or Decimal(0) for item in deployments), Decimal(0))
    total += sum((item.monthly_cost_usd for item in hosted), Decimal(0))
    total += moved.one_time_cost_usd if moved else Decimal(0)
    return Bought(
        deployments=tuple(deployments),
        purchases=tuple(purchases),
        hosted=hosted,
        periods=planned_periods(answer),
        migration=moved,
        columns=tuple(columns),
        monthly_cost_usd=total,
    )


def _size(answer: Answer, column: Column) -> int:
    return int(answer.inquiry.options[column.workload].gpus_per_replica[column.configuration])


def _gpu_hours(week: Periods, bill: Purchase, sizes: Sequence[int], uses: Sequence[Use]) -> list[int]:
    """GPU hours of a week paid for each deployment on one offer: its own, and the idle ones for the last."""
    hours = np.bincount(week.hour_to_period, minlength=week.count).tolist()
    replica_hours = [sum(n * h for n, h in zip(use.replicas, hours, strict=True)) for use in uses]
    own = [size * count for size, count in zip(sizes, replica_hours, strict=True)]
    per_instance = bill.gpus // bill.instances
    paid = per_instance * sum(item.instances * hours[item.period] for item in bill.schedule)
    own[-1] += paid - sum(own)
    return own


def _split(cost: Decimal, shares: Sequence[int]) -> list[Decimal]:
    """A cost in proportion to whole shares, to the cent, adding up exactly."""
    parts = [cents(cost * share / sum(shares)) for share in shares[:-1]]
    return [*parts, cost - sum(parts, Decimal(0))]


def _deployment(answer: Answer, use: Use, bought: tuple[int, int], cost: Decimal) -> Deployment:
    """One deployment: what it is, what was bought for it, how it performs, what a request costs."""
    inquiry, column = answer.inquiry, use.column
    choice, offer = inquiry.options[column.workload], inquiry.market.offers[column.offer]
    instances, gpus = bought
    power = power_kw(offer, inquiry.catalogs.gpus[offer.gpu])
    estimate = choice.quality[column.configuration]
    egress = sent_out(answer, use)
    cost += egress.usd_per_month if egress else Decimal(0)
    asked = sum(flow * float(hours) for flow, hours in zip(use.flow_per_s, hours_per_month(answer), strict=True))
    return Deployment.model_validate(
        {
            **_identity(choice, column),
            **_place(offer),
            "replicas": use.replicas[use.busiest],
            "instances": instances,
            "total_gpus": gpus,
            "monthly_cost_usd": cost,
            "egress_gb_per_month": egress and egress.gb_per_month,
            "egress_usd": egress and egress.usd_per_month,
            "power_kw": None if power is None else float(power) * gpus / offer.gpu_count,
            "quality": None if estimate is None else estimate.share,
            "provenance": _provenance(inquiry.catalogs, choice.configurations[column.configuration], offer, estimate),
            **_performance(choice, use, float(inquiry.market.serving_share[column.offer])),
            **_unit_costs(choice.pools[column.pool].pool.mix, asked * SECONDS_PER_HOUR, cost),
        }
    )


def _identity(choice: WorkloadOptions, column: Column) -> dict[str, object]:
    c = choice.configurations[column.configuration]
    return {
        "workload": choice.workload.name,
        "pool": choice.pools[column.pool].pool.name,
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


def _performance(choice: WorkloadOptions, use: Use, serving_share: float) -> dict[str, object]:
    """Load by period, and the latencies where a replica has most to do.

    Args:
        choice: The workload's options.
        use: What runs when.
        serving_share: Share of the time in which a replica serves; below 1 where it is interrupted.
    """
    pool, row = choice.pools[use.column.pool], use.column.configuration
    rate = float(pool.rate_per_s[row]) * serving_share
    flow = use.flow_per_s[use.busiest]
    per_replica = max(f / n for f, n in zip(use.flow_per_s, use.replicas, strict=True) if n)
    point = operate(choice.setup.take(np.array([row])), pool.pool.mix, np.array([per_replica / serving_share]))
    latencies = Latencies(choice, row, point)
    classes = [choice.workload.classes()[k] for k in pool.pool.classes]
    served = [
        latencies.served_class(item, k, share, flow)
        for k, (item, share) in enumerate(zip(classes, pool.pool.mix.share.tolist(), strict=True))
    ]
    by_period = enumerate(zip(use.replicas, use.flow_per_s, strict=True))
    return {
        "schedule": [
            Running(period=t, replicas=n, requests_per_second=f, utilization=f / (n * rate) if n else 0.0)
            for t, (n, f) in by_period
        ],
        "requests_per_second": flow,
        "max_requests_per_second": rate * use.replicas[use.busiest],
        "utilization": per_replica / rate,
        "limited_by": LIMITS[int(pool.limited_by[row])],
        "concurrency": float(point.concurrency[0]),
        "max_concurrency": float(point.max_concurrency[0]),
        "tpot_ms": latencies.tpot(1.0),
        "tpot_bound_ms": latencies.tpot(float(choice.limits.margins.tpot[row])),
        "ttft_ms": _slowest([item.ttft_ms for item in served]),
        "ttft_bound_ms": _slowest([item.ttft_bound_ms for item in served]),
        "e2e_ms": _slowest([item.e2e_ms for item in served]),
        "classes": served,
        "vram": _vram(choice, row, point),
    }


def _unit_costs(mix: Mix, requests_per_month: float, cost: Decimal) -> dict[str, object]:
    names = ("cost_per_request_usd", "cost_per_million_output_tokens_usd", "cost_per_million_tokens_usd")
    if requests_per_month == 0:
        return dict.fromkeys(names)
    output = Decimal(repr(float(mix.share @ mix.output_tokens)))
    prompt = Decimal(repr(float(mix.share @ mix.input_tokens)))
    per_request = cost / Decimal(repr(requests_per_month))
    per_output, per_token = per_request / output, per_request / (prompt + output)
    return dict(zip(names, (per_request, per_output * TOKENS_PER_MILLION, per_token * TOKENS_PER_MILLION), strict=True))


@dataclass(frozen=True)
class Latencies:
    """A deployment's predicted latencies in the milliseconds that people read."""

    choice: WorkloadOptions
    row: int
    point: OperatingPoint

    def tpot(self, factor: float) -> Milliseconds:
        """Time per output token by statistic, times the margin."""
        return {name: factor * MS_PER_S * float(self.point.tpot_s[name][0]) for name in STATISTICS}

    def served_class(self, item: RequestClass, k: int, share: float, flow: float) -> ServedClass:
        """One class at the planned load, without and with the confidence's margin."""
        margins = self.choice.limits.margins
        slow_ttft, slow_tpot = float(margins.ttft[self.row]), float(margins.tpot[self.row])
        return ServedClass(
            name=item.name,
            input_tokens=item.input_tokens,
            output_tokens=item.output_tokens,
            share=share,
            requests_per_second=flow * share,
            ttft_ms=self._after_overhead(self.point.ttft_s, k, 1.0),
            ttft_bound_ms=self._after_overhead(self.point.ttft_s, k, slow_ttft),
            e2e_ms=self._after_overhead(self.point.e2e_s, k, 1.0),
            e2e_bound_ms=self._after_overhead(self.point.e2e_s, k, max(slow_ttft, slow_tpot)),
        )

    def _after_overhead(self, seconds: Mapping[str, np.ndarray], k: int, factor: float) -> Milliseconds:
        before = self.choice.limits.ttft_overhead_s
        return {name: MS_PER_S * (before + factor * float(seconds[name][0, k])) for name in STATISTICS}


def _slowest(classes: Sequence[Milliseconds]) -> Milliseconds:
    return {name: max(item[name] for item in classes) for name in STATISTICS}


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

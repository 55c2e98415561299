"""What the report's charts show, as plain arrays: latency over load, roofline positions, who was rejected and why."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from optimizer.base.arrays import Flags, Floats
from optimizer.base.units import MS_PER_S
from optimizer.performance.candidates.options import WorkloadOptions
from optimizer.performance.candidates.predict import operate
from optimizer.performance.market.criteria import CONFIGURATION_CRITERIA
from optimizer.performance.physics.roofline import matrices
from optimizer.plan.question.inquiry import Answer, Inquiry
from optimizer.plan.readback.readback import stands_for
from optimizer.plan.record.fleet import Deployment, PlannedFleet
from optimizer.program.problem.columns import Column

LOADS: Final = 40
LOWEST_SHARE: Final = 0.02
HIGHEST_SHARE: Final = 1.15
"""Latencies are drawn a little beyond the capacity, where they break the limit."""

MOST_GPUS: Final = 28
PASSES, IN_PLAN, NOT_OFFERED = "passes", "in the plan", "not offered"


@dataclass(frozen=True)
class Curve:
    """Latency bounds of one deployment's replica over its load.

    Attributes:
        label: The deployment in short.
        rate_per_s: (n,) requests/s of one replica.
        ttft_ms: (n,) the bound of the limited statistic, slowest class.
        tpot_ms: (n,) likewise.
        ttft_limit: Statistic and ms, where one is asked; so for TPOT.
        planned_per_s: What the plan gives one replica.
        capacity_per_s: The most that one replica sustains within the limits.
    """

    label: str
    rate_per_s: Floats
    ttft_ms: Floats
    tpot_ms: Floats
    ttft_limit: tuple[str, float] | None
    tpot_limit: tuple[str, float] | None
    planned_per_s: float
    capacity_per_s: float


@dataclass(frozen=True)
class RooflinePoint:
    """One phase of one deployment at the planned load.

    Attributes:
        label: Deployment and phase.
        intensity: Work per byte of weights moved, relative to where the GPU's bandwidth and its peak balance.
        attained: Share of the time that the GPU's multiplying units are busy with the model's matrices.
    """

    label: str
    intensity: float
    attained: float


@dataclass(frozen=True)
class RejectionMap:
    """For one workload, every GPU and precision with the first requirement that its closest configuration fails."""

    workload: str
    gpus: tuple[str, ...]
    precisions: tuple[str, ...]
    verdicts: tuple[tuple[str, ...], ...]
    """(GPUs, precisions): a criterion, or PASSES, IN_PLAN, NOT_OFFERED."""


def short(d: Deployment) -> str:
    """A deployment in a legend."""
    pool = "" if d.pool == "all" else f" {d.pool}"
    return f"{d.workload}{pool}: {d.gpus_per_replica}×{d.gpu} {d.precision} ({d.engine})"


def curves(answer: Answer, plan: PlannedFleet) -> Iterator[Curve]:
    """Latency over load for every deployment."""
    for (column, mix), d in zip(stands_for(answer), plan.deployments, strict=True):
        options, row = answer.inquiry.options[column.workload], column.configuration
        capacity = d.max_requests_per_second / d.replicas
        rates = np.linspace(LOWEST_SHARE, HIGHEST_SHARE, LOADS) * capacity
        point = operate(options.setup.take(np.full(LOADS, row)), mix, rates)
        slo, margins = options.workload.slo, options.limits.margins
        ttft = next(iter(slo.ttft_ms.limits_ms().items())) if slo.ttft_ms else None
        tpot = next(iter(slo.tpot_ms.limits_ms().items())) if slo.tpot_ms else None
        first = point.ttft_s[ttft[0] if ttft else "p95"].max(axis=1) * float(margins.ttft[row])
        each = point.tpot_s[tpot[0] if tpot else "mean"] * float(margins.tpot[row])
        broken = np.where(point.stable, 1.0, np.nan)
        yield Curve(
            label=short(d),
            rate_per_s=rates,
            ttft_ms=(options.limits.ttft_overhead_s + first) * MS_PER_S * broken,
            tpot_ms=each * MS_PER_S * broken,
            ttft_limit=ttft,
            tpot_limit=tpot,
            planned_per_s=d.requests_per_second / d.replicas,
            capacity_per_s=capacity,
        )


def roofline_points(answer: Answer, plan: PlannedFleet) -> Iterator[RooflinePoint]:
    """Decode at the planned concurrency and prefill of one prompt, over dense and shared matrices."""
    for (column, mix), d in zip(stands_for(answer), plan.deployments, strict=True):
        setup = answer.inquiry.options[column.workload].setup.take(np.array([column.configuration]))
        point = operate(setup, mix, np.array([d.requests_per_second / d.replicas]))
        body = matrices(setup).body
        move, multiply = float(body.move[0]), float(body.multiply[0])
        batch = max(float(point.concurrency[0]), 1.0) / d.pipeline_parallel
        yield RooflinePoint(
            f"{short(d)}, decode", multiply * batch / move, min(multiply * batch / float(point.step_s[0]), 1.0)
        )
        prompt = float(mix.share @ mix.input_tokens) * (1 - mix.cached_input_share)
        busy = multiply * prompt / float(mix.share @ point.prefill_s[0])
        yield RooflinePoint(f"{short(d)}, prefill", multiply * prompt / move, min(busy, 1.0))


def rejection_maps(inquiry: Inquiry, columns: Sequence[Column]) -> Iterator[RejectionMap]:
    """One map per workload and model, GPUs that come furthest first."""
    for at, options in enumerate(inquiry.options):
        on_offer: Flags = np.any(options.fits[:, inquiry.market.admitted], axis=1)[options.kind]
        used = {options.configurations[c.configuration] for c in columns if c.workload == at}
        chosen = {(c.gpu, c.precision) for c in used}
        cells: dict[tuple[str, str], list[int]] = {}
        for row, c in enumerate(options.configurations):
            cells.setdefault((c.gpu, c.precision), []).append(row)
        precisions = tuple(sorted({precision for _, precision in cells}))
        verdicts = {
            key: IN_PLAN if key in chosen else _verdict(options, np.array(rows), on_offer)
            for key, rows in cells.items()
        }
        gpus = sorted({gpu for gpu, _ in cells}, key=lambda gpu: _rank(gpu, precisions, verdicts))[:MOST_GPUS]
        precisions = tuple(
            p for p in precisions if any(verdicts.get((gpu, p), NOT_OFFERED) != NOT_OFFERED for gpu in gpus)
        )
        grid = tuple(tuple(verdicts.get((gpu, p), NOT_OFFERED) for p in precisions) for gpu in gpus)
        yield RejectionMap(options.workload.name, tuple(gpus), precisions, grid)


def _rank(gpu: str, precisions: Sequence[str], verdicts: dict[tuple[str, str], str]) -> tuple[int, int, str]:
    found = [verdicts.get((gpu, precision), NOT_OFFERED) for precision in precisions]
    return (-found.count(IN_PLAN), -found.count(PASSES) * 2 + found.count(NOT_OFFERED), gpu)


def _verdict(options: WorkloadOptions, rows: np.ndarray, on_offer: Flags) -> str:
    """The first criterion that the row with the fewest failures fails, over all pools."""
    held = rows[on_offer[rows]]
    if not len(held):
        return NOT_OFFERED
    best = min((pool.failed[held] for pool in options.pools), key=lambda failed: int(failed.sum(axis=1).min()))
    closest = best[int(best.sum(axis=1).argmin())]
    return CONFIGURATION_CRITERIA[int(closest.argmax())].name if closest.any() else PASSES

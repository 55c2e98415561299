"""What the report's charts show, as plain arrays: latency over load, roofline positions, who was rejected and why."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pandas as pd

from optimizer.base.arrays import Flags, Floats
from optimizer.base.units import MS_PER_S
from optimizer.inputs.scenario.scenario import Latency
from optimizer.performance.candidates.options import WorkloadOptions
from optimizer.performance.candidates.predict import bounded, operate
from optimizer.performance.market.criteria import CONFIGURATION_CRITERIA
from optimizer.performance.physics.roofline import matrices
from optimizer.plan.grounds.rejections import on_admitted_offer
from optimizer.plan.question.inquiry import Answer, Inquiry
from optimizer.plan.readback.readback import stands_for
from optimizer.plan.record.fleet import Deployment, PlannedFleet
from optimizer.program.problem.columns import Column

LOADS: Final = 40
LOWEST_SHARE: Final = 0.02
HIGHEST_SHARE: Final = 1.15
"""Latencies are drawn a little beyond the capacity, where they break the limit."""

MAX_GPUS: Final = 28
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


def names_in_charts(deployments: Sequence[Deployment]) -> list[str]:
    """Each deployment in a legend, with its seller, or region and term too, where others run the same."""
    names = [_named(d, d.engine) for d in deployments]
    for apart in ("{0.engine}, {0.provider}", "{0.engine}, {0.provider} {0.region} {0.pricing_term}"):
        often = Counter(names)
        names = [
            _named(d, apart.format(d)) if often[name] > 1 else name for d, name in zip(deployments, names, strict=True)
        ]
    return names


def _named(d: Deployment, how: str) -> str:
    pool = "" if d.pool == "all" else f" {d.pool}"
    return f"{d.workload}{pool}: {d.gpus_per_replica}×{d.gpu} {d.precision} ({how})"


def curves(answer: Answer, plan: PlannedFleet) -> Iterator[Curve]:
    """Latency over load for every deployment."""
    names = names_in_charts(plan.deployments)
    for (column, mix), d, name in zip(stands_for(answer), plan.deployments, names, strict=True):
        options, row = answer.inquiry.options[column.workload], column.configuration
        capacity = d.max_requests_per_second / d.replicas
        rates = np.linspace(LOWEST_SHARE, HIGHEST_SHARE, LOADS) * capacity
        # one replica of the configuration, once for each of the rates
        rows = np.full(LOADS, row)
        point = bounded(options.setup.take(rows), mix, rates, options.limits.margins.take(rows))
        slo = options.workload.slo
        ttft_limit, tpot_limit = _limit(slo.ttft_ms), _limit(slo.tpot_ms)
        ttft_s = point.ttft_s[ttft_limit[0] if ttft_limit else "p95"].max(axis=1)
        tpot_s = point.tpot_s[tpot_limit[0] if tpot_limit else "mean"]
        # a gap in the line where the queue grows without end
        ms = np.where(point.stable, MS_PER_S, np.nan)
        yield Curve(
            label=name,
            rate_per_s=rates,
            ttft_ms=(options.limits.before_s[row] + ttft_s) * ms,
            tpot_ms=tpot_s * ms,
            ttft_limit=ttft_limit,
            tpot_limit=tpot_limit,
            planned_per_s=d.requests_per_second / d.replicas,
            capacity_per_s=capacity,
        )


def _limit(latency: Latency | None) -> tuple[str, float] | None:
    """The first statistic that is limited, and the limit in ms."""
    return next(iter(latency.limits_ms().items())) if latency else None


def roofline_points(answer: Answer, plan: PlannedFleet) -> Iterator[RooflinePoint]:
    """Decode at the planned concurrency and prefill of one prompt, over dense and shared matrices."""
    names = names_in_charts(plan.deployments)
    for (column, mix), d, name in zip(stands_for(answer), plan.deployments, names, strict=True):
        setup = answer.inquiry.options[column.workload].setup.take(np.array([column.configuration]))
        point = operate(setup, mix, np.array([d.requests_per_second / d.replicas]))
        body = matrices(setup).body
        # seconds to read the weights once, and to multiply them with one token
        reading, per_token = float(body.move[0]), float(body.multiply[0])
        batch = max(float(point.concurrency[0]), 1.0) / d.pipeline_parallel
        prompt = float(mix.share @ mix.input_tokens) * (1 - mix.cached_input_share)
        for phase, tokens, whole in (
            ("decode", batch, float(point.step_s[0])),
            ("prefill", prompt, float(point.requests.demand.mean(point.prefill_s)[0])),
        ):
            computing = per_token * tokens
            yield RooflinePoint(f"{name}, {phase}", computing / reading, min(computing / whole, 1.0))


def rejection_maps(inquiry: Inquiry, columns: Sequence[Column]) -> Iterator[RejectionMap]:
    """One map per workload and model, GPUs that come furthest first."""
    for workload, options in enumerate(inquiry.options):
        used = [options.configurations[column.configuration] for column in columns if column.workload == workload]
        verdicts = _verdicts(options, on_admitted_offer(options, inquiry.market))
        verdicts |= {(c.gpu, c.precision): IN_PLAN for c in used}
        # rows: GPUs by name; columns: precisions by name
        grid = pd.Series(verdicts).unstack(fill_value=NOT_OFFERED)
        in_plan, passing, missing = ((grid == verdict).sum(axis=1) for verdict in (IN_PLAN, PASSES, NOT_OFFERED))
        rank = pd.DataFrame({"outside": -in_plan, "behind": missing - 2 * passing})
        grid = grid.loc[rank.sort_values(["outside", "behind"], kind="stable").index[:MAX_GPUS]]
        offered = grid != NOT_OFFERED
        grid = grid.loc[offered.any(axis=1), offered.any()]
        cells = tuple(grid.itertuples(index=False, name=None))
        yield RejectionMap(options.workload.name, tuple(grid.index), tuple(grid.columns), cells)


def _verdicts(options: WorkloadOptions, on_offer: Flags) -> dict[tuple[str, str], str]:
    """By GPU and precision the first criterion that the row with the fewest failures fails, over all pools."""
    rows_of_cell: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
    verdicts: dict[tuple[str, str], str] = {}
    for row, c in enumerate(options.configurations):
        verdicts[c.gpu, c.precision] = NOT_OFFERED
        if on_offer[row]:
            rows_of_cell[c.gpu, c.precision].append(row)
    for cell, rows in rows_of_cell.items():
        best = min((pool.failed[rows] for pool in options.pools), key=lambda failed: int(failed.sum(axis=1).min()))
        closest = best[best.sum(axis=1).argmin()]
        verdicts[cell] = CONFIGURATION_CRITERIA[int(closest.argmax())].name if closest.any() else PASSES
    return verdicts

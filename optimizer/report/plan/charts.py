"""The report's charts as SVG: colour-blind safe, told apart without colour, with units and titles."""

from collections.abc import Collection, Sequence
from itertools import accumulate, chain, cycle
from typing import Any, Final

import numpy as np

from optimizer.answers.planning.frontier import Frontier, FrontierPoint
from optimizer.base.extras import optional
from optimizer.base.figures import exactly
from optimizer.base.units import HOURS_PER_DAY, HOURS_PER_WEEK
from optimizer.plan.grounds.pictures import (
    IN_PLAN,
    NOT_OFFERED,
    PASSES,
    Curve,
    RejectionMap,
    RooflinePoint,
    names_in_charts,
)
from optimizer.plan.readback.summary import offer_of
from optimizer.plan.record.fleet import Deployment, Purchase
from optimizer.plan.record.report import PlanReport
from optimizer.plan.variants.frontier import PROVEN
from optimizer.report.layout.amounts import DAYS
from optimizer.report.layout.figures import COLOURS, HATCHES, drawn, literal, series_style
from optimizer.report.plan.schedule import by_hour

COST_PARTS: Final = ("planned load", "headroom", "idle GPUs")
VRAM_PARTS: Final = {
    "weights_gib": "weights",
    "kv_cache_gib": "KV cache in use",
    "activations_gib": "working space",
    "free_gib": "free for bursts",
}
SHADES: Final = ("#F5D9C8", "#E3E3E3", "#F3E6B8", "#D9E6F5", "#EAD5E4", "#CFCFCF", "#F0C9A8", "#C9D6E8", "#DDD0C0")
"""Of the requirements in a map of rejections; what passes is green."""


def cost_chart(deployments: Sequence[Deployment], purchases: Sequence[Purchase]) -> str:
    """What each deployment's month pays for: load that is served, headroom, and its share of GPUs that idle."""
    working_share = {p.offer: 1 - p.idle_gpus / p.gpus for p in purchases}

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        costs = [float(d.monthly_cost_usd) for d in deployments]
        working = [working_share[offer_of(d)] * cost for d, cost in zip(deployments, costs, strict=True)]
        parts = [
            (part * d.utilization, part * (1 - d.utilization), cost - part)
            for d, part, cost in zip(deployments, working, costs, strict=True)
        ]
        _stacked_bars(axes, deployments, parts)
        for row, lengths in enumerate(parts):
            axes.text(sum(lengths), row, f" ${costs[row]:,.0f}", va="center")
        _legend_of_parts(figure, COST_PARTS, columns=3)
        axes.set(xlabel="US dollars a month")
        axes.margins(x=0.15)

    return drawn(1.4 + 0.55 * len(deployments), draw)


def memory_chart(deployments: Sequence[Deployment]) -> str:
    """Where the memory of one GPU of each deployment goes."""

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        _stacked_bars(axes, deployments, [[getattr(d.vram, field) for field in VRAM_PARTS] for d in deployments])
        _legend_of_parts(figure, VRAM_PARTS.values(), columns=2)
        axes.set(xlabel="GiB of one GPU that the engine may use")

    return drawn(1.6 + 0.55 * len(deployments), draw)


def _stacked_bars(axes: Any, deployments: Sequence[Deployment], parts: Sequence[Sequence[float]]) -> None:
    """One bar a deployment, its parts one behind the other."""
    for row, lengths in enumerate(parts):
        starts = accumulate(lengths, initial=0.0)
        for left, length, colour, hatch in zip(starts, lengths, COLOURS, HATCHES, strict=False):
            axes.barh(row, length, left=left, color=colour, hatch=hatch, edgecolor="white", height=0.6)
    names = [literal(name.replace(": ", ":\n", 1)) for name in names_in_charts(deployments)]
    axes.set_yticks(range(len(names)), names, fontsize=8)
    axes.invert_yaxis()


def _legend_of_parts(figure: Any, names: Collection[str], columns: int) -> None:
    patches = optional("matplotlib.patches", extra="report")
    handles = [
        patches.Patch(facecolor=colour, hatch=hatch, edgecolor="white")
        for colour, hatch, _ in zip(COLOURS, HATCHES, names, strict=False)
    ]
    figure.legend(handles, names, loc="outside lower center", ncols=columns)


def latency_chart(curve: Curve) -> str:
    """TTFT and TPOT bounds of one replica over its load, with the limits and the planned load."""

    def draw(figure: Any) -> None:
        panels = figure.subplots(1, 2)
        for axes, values, limit, name, usual in (
            (panels[0], curve.ttft_ms, curve.ttft_limit, "TTFT", "p95"),
            (panels[1], curve.tpot_ms, curve.tpot_limit, "TPOT", "mean"),
        ):
            axes.plot(curve.rate_per_s, values, color=COLOURS[0], linewidth=1.8)
            if limit is not None:
                axes.axhline(limit[1], color=COLOURS[1], linestyle="--", label=f"limit {exactly(limit[1])} ms")
                top = min(float(np.nanmax(values)), 2 * limit[1])
                axes.set_ylim(0, max(top, 1.15 * limit[1]))
            axes.axvline(curve.planned_per_s, color=COLOURS[2], linestyle=":", label="planned load")
            axes.axvline(curve.capacity_per_s, color="black", linewidth=0.8, label="capacity planned with")
            axes.set(xlabel="requests/s of one replica", ylabel=f"{name} {limit[0] if limit else usual}, ms")
            axes.set_xlim(left=0)
            axes.legend(fontsize=8)
        figure.suptitle(literal(curve.label), fontsize=10)

    return drawn(3.2, draw)


def roofline_chart(points: Sequence[RooflinePoint]) -> str:
    """How close decode and prefill come to the GPU's peak, over the work they do per byte."""

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        reach = [point.intensity for point in points]
        ends = np.array([min([*reach, 0.1]) / 2, max([*reach, 10.0]) * 2])
        line = np.geomspace(float(ends[0]), float(ends[1]), 100)
        axes.plot(line, np.minimum(line, 1.0), color="black", linewidth=1)
        for index, point in enumerate(points):
            axes.scatter(
                point.intensity, point.attained, s=50, zorder=3, label=literal(point.label), **series_style(index)
            )
        axes.axvline(1, color="0.6", linestyle=":", linewidth=1)
        axes.set(xscale="log", yscale="log", xlabel="work per byte, relative to the balance of bandwidth and peak")
        axes.set(ylabel="share of the peak")
        axes.grid(visible=True)
        figure.legend(loc="outside lower center", fontsize=8)

    return drawn(3.4 + 0.2 * len(points), draw)


def has_latencies(curve: Curve) -> bool:
    """Whether there is a line to draw: some load at which a latency is finite."""
    return bool(np.isfinite(curve.ttft_ms).any() or np.isfinite(curve.tpot_ms).any())


def moves(frontier: Frontier) -> bool:
    """Whether the cost is known to change along the requirement, so that there is more to see than a flat line."""
    return len({point.monthly_cost_usd for point in _proven(frontier)}) > 1


def _proven(frontier: Frontier) -> list[FrontierPoint]:
    """Points that are what they are; the others are as high as the search left them."""
    return [point for point in frontier.points if point.outcome in PROVEN]


def shows_something(found: RejectionMap) -> bool:
    """Whether any GPU is offered at all."""
    return bool({*chain(*found.verdicts)} - {NOT_OFFERED})


def frontier_chart(frontier: Frontier) -> str:
    """Cost along one requirement, as the steps that it is; where points are not proven, of the others alone."""
    (sweep,) = frontier.sweeps
    proven = _proven(frontier)
    solved = {p.values[sweep.field]: p.monthly_cost_usd for p in proven}
    for item in frontier.breakpoints if len(proven) == len(frontier.points) else ():
        solved |= {item.holds_to: item.before_usd, item.changes_at: item.after_usd}

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        values = sorted(solved)
        # a gap in the line where there is no plan: None is NaN as a float
        axes.plot(
            values,
            np.array([solved[value] for value in values], dtype=float),
            color=COLOURS[0],
            marker="o",
            markersize=3.5,
            linewidth=1.5,
        )
        axes.set(xlabel=f"{sweep.field} ({sweep.unit})" if sweep.unit else sweep.field, ylabel="US dollars a month")
        axes.set_ylim(bottom=0)
        axes.grid(visible=True)

    return drawn(3.0, draw)


def rejection_chart(found: RejectionMap) -> str:
    """GPU × precision: the first requirement that the closest configuration fails."""
    criteria = sorted({*chain(*found.verdicts)} - {IN_PLAN, PASSES, NOT_OFFERED})
    shades = {IN_PLAN: COLOURS[2], PASSES: "#BFE3D5", NOT_OFFERED: "#FFFFFF"} | dict(zip(criteria, cycle(SHADES)))

    def draw(figure: Any) -> None:
        rectangle = optional("matplotlib.patches", extra="report").Rectangle
        axes = figure.subplots()
        for y, row in enumerate(found.verdicts):
            for x, verdict in enumerate(row):
                axes.add_patch(rectangle((x + 0.02, y + 0.04), 0.96, 0.92, facecolor=shades[verdict], linewidth=0))
                label = "" if verdict == NOT_OFFERED else verdict.replace("_", " ")
                axes.text(x + 0.5, y + 0.5, label, ha="center", va="center", fontsize=7)
        axes.set(xlim=(0, len(found.precisions)), ylim=(len(found.gpus), 0))
        axes.set_xticks(np.arange(len(found.precisions)) + 0.5, [*map(literal, found.precisions)])
        axes.set_yticks(np.arange(len(found.gpus)) + 0.5, [*map(literal, found.gpus)], fontsize=8)
        axes.tick_params(length=0)
        axes.xaxis.tick_top()
        axes.spines[["left", "bottom"]].set_visible(False)

    return drawn(0.8 + 0.24 * len(found.gpus), draw)


def week_chart(report: PlanReport) -> str:
    """Demand and the capacity within the limits over the hours of the week, by workload."""
    workloads = sorted({d.workload for d in report.deployments})

    def draw(figure: Any) -> None:
        panels = figure.subplots(len(workloads), 1, squeeze=False)[:, 0]
        hours = np.arange(HOURS_PER_WEEK + 1)
        for axes, name in zip(panels, workloads, strict=True):
            demand = [period.requests_per_second.get(name, 0.0) for period in report.periods]
            capacity = [_capacity(report, name, period.period) for period in report.periods]
            line, area = by_hour(report.periods, capacity), by_hour(report.periods, demand)
            axes.stairs(line, hours, color=COLOURS[1], linestyle="--", label="capacity within the limits")
            axes.stairs(area, hours, color=COLOURS[0], fill=True, alpha=0.5, label="demand planned for")
            axes.set(ylabel=f"{name}\nrequests/s", xlim=(0, HOURS_PER_WEEK))
            axes.set_xticks(np.arange(0, HOURS_PER_WEEK, HOURS_PER_DAY), DAYS)
        handles, labels = panels[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=2)

    return drawn(0.8 + 1.9 * len(workloads), draw)


def _capacity(report: PlanReport, workload: str, period: int) -> float:
    return sum(
        running.max_requests_per_second
        for d in report.deployments
        if d.workload == workload
        for running in d.schedule
        if running.period == period
    )

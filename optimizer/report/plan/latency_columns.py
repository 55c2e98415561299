"""Columns of latencies in the statistics that were promised, at the bounds that are held against the limits."""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Final

from optimizer.plan.record.explanation import MeasuredRequirement
from optimizer.plan.record.fleet import Deployment

LatencyColumns = Mapping[str, Callable[[Deployment], str]]
"""What stands in a deployment's cell, by heading."""

WHERE_NOTHING_IS_PROMISED: Final[Mapping[str, tuple[str, ...]]] = {"ttft_ms": ("p95",), "tpot_ms": ("mean",)}
NAMES: Final[Mapping[str, str]] = {"ttft_ms": "TTFT", "tpot_ms": "TPOT", "e2e_ms": "E2E"}
PROMISE: Final = re.compile(r"workloads\[(?P<workload>.+)\]\.slo\.(?P<metric>\w+)\.(?P<statistic>p\d+|mean)")


def latency_columns(deployments: Sequence[Deployment], measured: Sequence[MeasuredRequirement] = ()) -> LatencyColumns:
    """A column for TTFT and TPOT, and for the end-to-end latency where a workload promises it.

    A statistic that all rows have in common stands in the heading, else in each cell.
    """
    promised: dict[tuple[str, str], tuple[str, ...]] = {}
    for found in filter(None, (PROMISE.fullmatch(item.requirement) for item in measured)):
        key = (found["workload"], found["metric"])
        promised[key] = (*promised.get(key, ()), found["statistic"])
    columns = {}
    for metric, name in NAMES.items():
        otherwise = WHERE_NOTHING_IS_PROMISED.get(metric, ())
        of_workload = {d.workload: promised.get((d.workload, metric), otherwise) for d in deployments}
        told = {statistics for statistics in of_workload.values() if statistics}
        alike = len(told) == 1 and len(*told) == 1
        if told:
            heading = f">{name} {next(iter(told))[0]}" if alike else f">{name}"
            columns[heading] = partial(_written, metric, of_workload, alike)
    return columns


def _written(metric: str, statistics: Mapping[str, tuple[str, ...]], alike: bool, d: Deployment) -> str:
    """The bounds of a deployment's slowest class; blank where its workload promises none of an optional latency."""
    bounds = {statistic: _bound_ms(d, metric, statistic) for statistic in statistics[d.workload]}
    written = bounds.values() if alike else [f"{statistic} {ms}" for statistic, ms in bounds.items()]
    return f"{', '.join(written)} ms" if bounds else ""


def _bound_ms(d: Deployment, metric: str, statistic: str) -> str:
    if metric == "tpot_ms":
        return f"{d.tpot_bound_ms[statistic]:.1f}"
    if metric == "ttft_ms":
        return f"{d.ttft_bound_ms[statistic]:,.0f}"
    return f"{max((item.e2e_bound_ms[statistic] for item in d.classes), default=0.0):,.0f}"

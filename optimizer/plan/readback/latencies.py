"""What the users of a deployment wait for: predicted at its highest load of every mix that it is sent over the week."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from optimizer.base.units import MS_PER_S
from optimizer.performance.candidates.options import WorkloadOptions
from optimizer.performance.candidates.predict import STATISTICS, OperatingPoint, operate
from optimizer.plan.question.service import Service

Milliseconds = dict[str, float]


@dataclass(frozen=True)
class Latencies:
    """One deployment's predicted latencies in the milliseconds that people read, the highest of all its mixes.

    Attributes:
        choice: The workload's options.
        row: The deployment's configuration.
        busiest: The replica where it has most to do.
        points: Each mix that it is sent, by its classes, at the highest load of it.
    """

    choice: WorkloadOptions
    row: int
    busiest: OperatingPoint
    points: tuple[tuple[tuple[int, ...], OperatingPoint], ...]

    def tpot(self, factor: float) -> Milliseconds:
        """Time per output token by statistic, times the margin."""
        return _highest([{s: factor * MS_PER_S * float(p.tpot_s[s][0]) for s in STATISTICS} for _, p in self.points])

    def ttft(self, k: int, factor: float) -> Milliseconds:
        """Time to the first token of class k."""
        return _highest([self._after_overhead(p.ttft_s, at, factor) for at, p in self._serving(k)])

    def e2e(self, k: int, factor: float) -> Milliseconds:
        """Time to the last token of class k."""
        return _highest([self._after_overhead(p.e2e_s, at, factor) for at, p in self._serving(k)])

    def _serving(self, k: int) -> list[tuple[int, OperatingPoint]]:
        return [(classes.index(k), point) for classes, point in self.points if k in classes]

    def _after_overhead(self, seconds: Mapping[str, np.ndarray], at: int, factor: float) -> Milliseconds:
        before = self.choice.limits.ttft_overhead_s
        return {name: MS_PER_S * (before + factor * float(seconds[name][0, at])) for name in STATISTICS}


def latencies_of(
    choice: WorkloadOptions, row: int, by_period: Sequence[tuple[int, Service]], serving_share: float
) -> Latencies:
    """One deployment's latencies over the week.

    Args:
        choice: The workload's options.
        row: The deployment's configuration.
        by_period: Replicas and what they are sent, by period.
        serving_share: Share of the time in which a replica serves, so that it works faster while it does.
    """
    loads = [(now.flow_per_s / n, now) for n, now in by_period if n]
    highest: dict[tuple[float, ...], tuple[float, Service]] = {}
    for load, now in loads:
        mix = (*now.classes, *now.mix.share.tolist())
        if mix not in highest or load > highest[mix][0]:
            highest[mix] = (load, now)
    points = {mix: _point(choice, row, load / serving_share, now) for mix, (load, now) in highest.items()}
    load, now = max(loads, key=lambda each: each[0] / each[1].rate_per_s)
    fullest = (*now.classes, *now.mix.share.tolist())
    sent = {mix: highest[mix] for mix in highest if highest[mix][0]} or highest
    return Latencies(choice, row, points[fullest], tuple((sent[mix][1].classes, points[mix]) for mix in sent))


def _point(choice: WorkloadOptions, row: int, rate_per_s: float, now: Service) -> OperatingPoint:
    return operate(choice.setup.take(np.array([row])), now.mix, np.array([rate_per_s]))


def _highest(found: Sequence[Milliseconds]) -> Milliseconds:
    return {name: max(item[name] for item in found) for name in STATISTICS}

"""What the users of a deployment wait for: predicted at its highest load of every mix that it is sent over the week."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from optimizer.base.arrays import Floats
from optimizer.base.units import MS_PER_S
from optimizer.performance.candidates.options import WorkloadOptions
from optimizer.performance.candidates.predict import STATISTICS, OperatingPoint, operate
from optimizer.plan.question.service import Service

Milliseconds = dict[str, float]


@dataclass(frozen=True)
class Latencies:
    """One deployment's predicted latencies, the highest over all its mixes.

    Attributes:
        fullest: The replica where it has most to do.
        overhead_s: Before the model, added to TTFT and E2E.
        tpot_s: By statistic.
        ttft_s: By statistic (K,), without the overhead; of classes that it is never sent 0.
        e2e_s: As `ttft_s`.
    """

    fullest: OperatingPoint
    overhead_s: float
    tpot_s: dict[str, float]
    ttft_s: dict[str, Floats]
    e2e_s: dict[str, Floats]

    def tpot_ms(self, margin: float) -> Milliseconds:
        """Time per output token by statistic, times the margin."""
        return {name: margin * MS_PER_S * seconds for name, seconds in self.tpot_s.items()}

    def ttft_ms(self, k: int, margin: float) -> Milliseconds:
        """Time to the first token of class k."""
        return self._after_overhead(self.ttft_s, k, margin)

    def e2e_ms(self, k: int, margin: float) -> Milliseconds:
        """Time to the last token of class k."""
        return self._after_overhead(self.e2e_s, k, margin)

    def _after_overhead(self, latency_s: dict[str, Floats], k: int, margin: float) -> Milliseconds:
        return {name: MS_PER_S * (self.overhead_s + margin * float(of[k])) for name, of in latency_s.items()}


def latencies_of(
    choice: WorkloadOptions, row: int, running: Sequence[tuple[int, Service]], serving_share: float
) -> Latencies:
    """One deployment's latencies over the week.

    Args:
        choice: The workload's options.
        row: The deployment's configuration.
        running: Replicas and what they are sent, by period in which any runs.
        serving_share: Share of the time in which a replica serves, so that it works faster while it does.
    """
    loads = [(service.flow_per_s / replicas, service) for replicas, service in running]
    # Each mix of classes -> its highest load, which comes last
    highest = {_mix_key(service): (load, service) for load, service in sorted(loads, key=lambda pair: pair[0])}
    sent = {key: pair for key, pair in highest.items() if pair[0]} or highest
    setup = choice.setup.take(np.array([row]))
    points = {
        key: operate(setup, service.mix, np.array([load / serving_share])) for key, (load, service) in sent.items()
    }
    _, fullest = max(loads, key=lambda pair: pair[0] / pair[1].rate_per_s)
    classes = len(choice.workload.classes())
    ttft_s = {name: np.zeros(classes) for name in STATISTICS}
    e2e_s = {name: np.zeros(classes) for name in STATISTICS}
    for key, point in points.items():
        served = list(sent[key][1].classes)
        for name in STATISTICS:
            ttft_s[name][served] = np.maximum(ttft_s[name][served], point.ttft_s[name][0])
            e2e_s[name][served] = np.maximum(e2e_s[name][served], point.e2e_s[name][0])
    return Latencies(
        fullest=points[_mix_key(fullest)],
        overhead_s=choice.limits.ttft_overhead_s,
        tpot_s={name: max(float(point.tpot_s[name][0]) for point in points.values()) for name in STATISTICS},
        ttft_s=ttft_s,
        e2e_s=e2e_s,
    )


def _mix_key(service: Service) -> tuple[float, ...]:
    return (*service.classes, *service.mix.share.tolist())

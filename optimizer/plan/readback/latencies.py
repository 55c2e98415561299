"""What the users of a deployment wait for: predicted at its highest load of every mix that it is sent over the week."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter

import numpy as np

from optimizer.base.arrays import Floats
from optimizer.base.units import MS_PER_S
from optimizer.performance.candidates.options import WorkloadOptions
from optimizer.performance.candidates.predict import STATISTICS, OperatingPoint, operate
from optimizer.plan.question.service import Service
from optimizer.plan.record.fields import ByStatistic


@dataclass(frozen=True)
class Latencies:
    """One deployment's predicted latencies in the milliseconds that people read, the highest of all its mixes.

    Attributes:
        before_s: Network and stages before the model, part of TTFT and E2E.
        fullest: The replica where it has most to do.
        points: Each mix that it is sent, by its classes, at the highest load of it.
    """

    before_s: float
    fullest: OperatingPoint
    points: Sequence[tuple[tuple[int, ...], OperatingPoint]]

    def tpot_ms(self, margin: float) -> ByStatistic:
        """Time per output token, times the margin."""
        worst = {name: max(float(point.tpot_s[name][0]) for _, point in self.points) for name in STATISTICS}
        return {name: margin * MS_PER_S * seconds for name, seconds in worst.items()}

    def ttft_ms(self, k: int, margin: float) -> ByStatistic:
        """Time to the first token of class k."""
        return self._of_class(k, margin, lambda point: point.ttft_s)

    def e2e_ms(self, k: int, margin: float) -> ByStatistic:
        """Time to the last token of class k."""
        return self._of_class(k, margin, lambda point: point.e2e_s)

    def _of_class(
        self, k: int, margin: float, latency_s: Callable[[OperatingPoint], Mapping[str, Floats]]
    ) -> ByStatistic:
        serving = [(latency_s(point), classes.index(k)) for classes, point in self.points if k in classes]
        worst = {name: max(float(seconds[name][0, column]) for seconds, column in serving) for name in STATISTICS}
        return {name: MS_PER_S * (self.before_s + margin * seconds) for name, seconds in worst.items()}


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
    # Mix of classes -> its highest load, the last of rising ones
    highest = {_mix_key(service): (load, service) for load, service in sorted(loads, key=itemgetter(0))}
    sent = {key: pair for key, pair in highest.items() if pair[0]} or highest
    setup = choice.setup.take(np.array([row]))
    points = {
        key: operate(setup, service.mix, np.array([load / serving_share])) for key, (load, service) in sent.items()
    }
    _, fullest = max(loads, key=lambda pair: pair[0] / pair[1].rate_per_s)
    by_classes = [(sent[key][1].classes, point) for key, point in points.items()]
    return Latencies(float(choice.limits.before_s[row]), points[_mix_key(fullest)], by_classes)


def _mix_key(service: Service) -> tuple[float, ...]:
    return (*service.classes, *service.mix.share.tolist())

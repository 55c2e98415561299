"""What the users of a deployment wait for: predicted at its highest load of every mix that it is sent over the week."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter

import numpy as np

from optimizer.base.arrays import Floats
from optimizer.base.units import MS_PER_S
from optimizer.performance.candidates.options import WorkloadOptions
from optimizer.performance.candidates.predict import STATISTICS, OperatingPoint, bounded, operate
from optimizer.plan.question.service import Service
from optimizer.plan.record.fields import ByStatistic


@dataclass(frozen=True)
class Latencies:
    """One deployment's latencies in the milliseconds that people read, the highest of all its mixes.

    Attributes:
        before_s: Network and stages before the model, part of TTFT and E2E.
        points: Each mix that it is sent, by its classes, at the highest load of it.
    """

    before_s: float
    points: Sequence[tuple[tuple[int, ...], OperatingPoint]]

    def tpot_ms(self) -> ByStatistic:
        """Time per output token."""
        worst = {name: max(float(point.tpot_s[name][0]) for _, point in self.points) for name in STATISTICS}
        return {name: MS_PER_S * seconds for name, seconds in worst.items()}

    def ttft_ms(self, k: int) -> ByStatistic:
        """Time to the first token of class k."""
        return self._of_class(k, lambda point: point.ttft_s)

    def e2e_ms(self, k: int) -> ByStatistic:
        """Time to the last token of class k."""
        return self._of_class(k, lambda point: point.e2e_s)

    def _of_class(self, k: int, latency_s: Callable[[OperatingPoint], Mapping[str, Floats]]) -> ByStatistic:
        serving = [(latency_s(point), classes.index(k)) for classes, point in self.points if k in classes]
        worst = {name: max(float(seconds[name][0, column]) for seconds, column in serving) for name in STATISTICS}
        return {name: MS_PER_S * (self.before_s + seconds) for name, seconds in worst.items()}


@dataclass(frozen=True)
class DeploymentLatencies:
    """What the users of a deployment wait for.

    Attributes:
        predicted: As the replica is predicted.
        bound: With the confidence of its margins.
        fullest: The replica where it has most to do.
    """

    predicted: Latencies
    bound: Latencies
    fullest: OperatingPoint


def latencies_of(
    choice: WorkloadOptions, row: int, running: Sequence[tuple[int, Service]], serving_share: float
) -> DeploymentLatencies:
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
    setup, limits = choice.setup.take(np.array([row])), choice.limits
    margins, before_s = limits.margins.take(np.array([row])), float(limits.before_s[row])
    predicted, bound = dict[tuple[float, ...], OperatingPoint](), list[tuple[tuple[int, ...], OperatingPoint]]()
    for key, (load, service) in sent.items():
        rate_per_s = np.array([load / serving_share])
        predicted[key] = operate(setup, service.mix, rate_per_s)
        bound.append((service.classes, bounded(setup, service.mix, rate_per_s, margins)))
    _, fullest = max(loads, key=lambda pair: pair[0] / pair[1].rate_per_s)
    by_classes = [(sent[key][1].classes, point) for key, point in predicted.items()]
    return DeploymentLatencies(
        Latencies(before_s, by_classes), Latencies(before_s, bound), predicted[_mix_key(fullest)]
    )


def _mix_key(service: Service) -> tuple[float, ...]:
    return (*service.classes, *service.mix.share.tolist())

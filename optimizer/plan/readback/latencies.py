"""What the users of deployments wait for: predicted at the highest load of every mix that each is sent over the week.

Deployments of a workload are predicted together, one row of arrays for each that serves the same classes: some hundred
take no longer than a few. Plans beside a plan run much the same, which is predicted once.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import Final, NamedTuple

import numpy as np

from optimizer.base.arrays import Floats, Ints
from optimizer.base.by_contents import OnceByContents
from optimizer.base.units import MS_PER_S
from optimizer.performance.candidates.counted import CountedShares
from optimizer.performance.candidates.options import WorkloadOptions
from optimizer.performance.candidates.pools import by_row
from optimizer.performance.candidates.predict import STATISTICS, OperatingPoint, bounded, operate, sustainable_rate
from optimizer.performance.uncertainty.evidence import Margins
from optimizer.plan.question.service import Service
from optimizer.plan.record.fields import ByStatistic

_OPERATE: Final = OnceByContents(operate)
_BOUNDED: Final = OnceByContents(bounded)
_SUSTAINABLE_RATE: Final = OnceByContents(sustainable_rate)


class PointRow(NamedTuple):
    """A replica at a load: a row of what was predicted together, and the classes that its columns stand for."""

    classes: tuple[int, ...]
    point: OperatingPoint
    row: int


@dataclass(frozen=True)
class Latencies:
    """One deployment's latencies in the milliseconds that people read, the highest of all its mixes.

    Attributes:
        before_s: Network and stages before the model, part of TTFT and E2E.
        points: Each mix that it is sent at the highest load of it.
    """

    before_s: float
    points: Sequence[PointRow]

    def tpot_ms(self) -> ByStatistic:
        """Time per output token."""
        worst = {name: max(float(point.tpot_s[name][row]) for _, point, row in self.points) for name in STATISTICS}
        return {name: MS_PER_S * seconds for name, seconds in worst.items()}

    def ttft_ms(self, k: int) -> ByStatistic:
        """Time to the first token of class k."""
        return self._of_class(k, lambda point: point.ttft_s)

    def e2e_ms(self, k: int) -> ByStatistic:
        """Time to the last token of class k."""
        return self._of_class(k, lambda point: point.e2e_s)

    def _of_class(self, k: int, latency_s: Callable[[OperatingPoint], Mapping[str, Floats]]) -> ByStatistic:
        serving = [(latency_s(point), row, classes.index(k)) for classes, point, row in self.points if k in classes]
        worst = {name: max(float(seconds[name][row, k]) for seconds, row, k in serving) for name in STATISTICS}
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
    fullest: PointRow


@dataclass(frozen=True)
class DeploymentLoads:
    """A deployment as it runs.

    Attributes:
        row: Its configuration among its workload's options.
        serving_share: Share of the time in which a replica serves, so that it works faster while it does.
        periods: Replicas and what they are sent, by period in which any runs.
    """

    row: int
    serving_share: float
    periods: Sequence[tuple[int, Service]]

    def sent(self) -> dict["_MixKey", tuple[float, Service]]:
        """By mix of classes the highest load of a replica, and what it is sent there; no load only of a standby."""
        loads = [(service.flow_per_s / replicas, service) for replicas, service in self.periods]
        # the last of rising loads
        highest = {_mix_key(service): (load, service) for load, service in sorted(loads, key=itemgetter(0))}
        return {key: pair for key, pair in highest.items() if pair[0]} or highest

    def fullest(self) -> "_MixKey":
        """The mix at which a replica has most to do of what it sustains."""
        return _mix_key(max(self.periods, key=lambda pair: pair[1].flow_per_s / pair[0] / pair[1].rate_per_s)[1])


_MixKey = tuple[float, ...]


def latencies_of(choice: WorkloadOptions, deployments: Sequence[DeploymentLoads]) -> list[DeploymentLatencies]:
    """Latencies over the week of deployments of one workload's options."""
    sent = [d.sent() for d in deployments]
    # (deployment, mix) -> its place among those that serve the same classes
    together = defaultdict[tuple[int, ...], list[tuple[int, _MixKey]]](list)
    for number, of_deployment in enumerate(sent):
        for key, (_, service) in of_deployment.items():
            together[service.classes].append((number, key))
    predicted, bound = dict[tuple[int, _MixKey], PointRow](), dict[tuple[int, _MixKey], PointRow]()
    for classes, pairs in together.items():
        rows = np.array([deployments[number].row for number, _ in pairs])
        mix = by_row([sent[number][key][1].mix for number, key in pairs])
        rate_per_s = np.array([sent[number][key][0] / deployments[number].serving_share for number, key in pairs])
        setup, margins = choice.setup.take(rows), choice.limits.margins.take(rows)
        own, slowed = _OPERATE(setup, mix, rate_per_s), _BOUNDED(setup, mix, rate_per_s, margins)
        predicted |= {pair: PointRow(classes, own, at) for at, pair in enumerate(pairs)}
        bound |= {pair: PointRow(classes, slowed, at) for at, pair in enumerate(pairs)}
    return [
        DeploymentLatencies(
            Latencies(float(choice.limits.before_s[d.row]), [predicted[number, key] for key in sent[number]]),
            Latencies(float(choice.limits.before_s[d.row]), [bound[number, key] for key in sent[number]]),
            predicted[number, d.fullest()],
        )
        for number, d in enumerate(deployments)
    ]


def rates_as_predicted(choice: WorkloadOptions, rows: Sequence[int], services: Sequence[Service]) -> Floats:
    """(n,) requests/s of each mix that a replica of a configuration would sustain, were it as fast as predicted.

    Args:
        choice: The workload's options.
        rows: Configurations.
        services: What each is sent.
    """
    rates, together = np.zeros(len(rows)), defaultdict[tuple[int, ...], list[int]](list)
    for at, service in enumerate(services):
        together[service.classes].append(at)
    for places in together.values():
        own: Ints = np.array([rows[at] for at in places])
        exactly = replace(choice.limits.take(own), margins=Margins.same(), counted=CountedShares.of_all(1))
        mix = by_row([services[at].mix for at in places])
        rates[places] = _SUSTAINABLE_RATE(choice.setup.take(own), mix, exactly).rate_per_s
    return rates


def _mix_key(service: Service) -> _MixKey:
    return (*service.classes, *service.mix.share.tolist())

"""The replicas of a plan as servers of a simulation, in the period in which each workload's have most to do."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from optimizer.base.arrays import Floats
from optimizer.inputs.scenario.scenario import RequestLengths, Workload
from optimizer.performance.physics.setup import gather
from optimizer.performance.simulation.arrivals import Classes, Kinds
from optimizer.performance.simulation.costs import ReplicaCosts, Slowdown, replica_costs
from optimizer.performance.simulation.fleet import Server
from optimizer.performance.uncertainty.evidence import margins
from optimizer.plan.record.fleet import Deployment
from optimizer.plan.verify.claim import Claim, configuration

AS_WRITTEN: Final = 4
"""Decimals of a utilization that a plan and its file, with rates of six digits, have in common."""


@dataclass(frozen=True)
class ServedWorkload:
    """A workload's replicas in its busiest period, and what they are sent.

    Attributes:
        workload: As the scenario asks it.
        names: (K,) of its request classes.
        classes: What they look like and their shares of what replicas are sent.
        rate_per_s: Of all classes together.
        cv2: Squared variation of the gaps between requests, as the scenario says it.
        period: The busiest one.
        deployments: Those that are sent something.
        servers: The same, as they are simulated.
        before_ms: What passes outside the model on the way to each: the network and the stages before it.
    """

    workload: Workload
    names: tuple[str, ...]
    classes: Classes
    rate_per_s: float
    cv2: float
    period: int
    deployments: tuple[Deployment, ...]
    servers: tuple[Server, ...]
    before_ms: tuple[float, ...]

    def no_larger_than(self, most_replicas: int) -> "ServedWorkload":
        """The same fleet with so many replicas at most, each of which is sent what it is sent in the plan.

        Requests that go round thousands of replicas reach each of them at gaps that hardly vary, however many more
        there are.
        """
        replicas = sum(server.replicas for server in self.servers)
        if replicas <= most_replicas:
            return self
        servers = tuple(_of_fewer(server, most_replicas / replicas) for server in self.servers)
        by_class = np.sum([server.rate_per_s for server in servers], axis=0)
        return replace(
            self,
            classes=replace(self.classes, share=by_class / by_class.sum()),
            rate_per_s=float(by_class.sum()),
            servers=servers,
        )

    def one_at(self, number: int, share: float) -> "ServedWorkload":
        """One deployment alone, sent that share of what it is sent in the plan."""
        server = self.servers[number]
        by_class = server.rate_per_s * share
        rate_per_s = float(by_class.sum())
        own_share = float(server.rate_per_s.sum()) / self.rate_per_s
        return replace(
            self,
            classes=replace(self.classes, share=by_class / rate_per_s),
            rate_per_s=rate_per_s,
            cv2=own_share * self.cv2 + 1 - own_share,
            deployments=(self.deployments[number],),
            servers=(replace(server, rate_per_s=by_class),),
            before_ms=(self.before_ms[number],),
        )


def _of_fewer(server: Server, share: float) -> Server:
    """That share of a deployment's replicas, one at least, with what is sent to them."""
    replicas = max(1, round(server.replicas * share))
    return replace(server, replicas=replicas, rate_per_s=server.rate_per_s * (replicas / server.replicas))


def services(claim: Claim, confidence: float) -> tuple[ServedWorkload, ...]:
    """Every workload that replicas serve, their steps as slow as the bound of that confidence says."""
    costs = _costs(claim, confidence)
    found: list[ServedWorkload] = []
    for workload in claim.scenario.workloads:
        mine = [number for number, (d, _, _) in enumerate(claim.placed) if d.workload == workload.name]
        away_ms = [claim.network_ms(workload, claim.placed[n][2]) + workload.slo.ttft_overhead_ms for n in mine]
        found += _served(workload, [claim.placed[n][0] for n in mine], [costs[n] for n in mine], away_ms)
    return tuple(found)


def _costs(claim: Claim, confidence: float) -> list[ReplicaCosts]:
    """What a step of each deployment takes.

    All steps are as slow as the bound on TPOT says, with prompts in them or without, for that is what TPOT was measured
    of; a prompt alone takes the bound on TTFT.
    """
    configurations = [configuration(d, offer) for d, _, offer in claim.placed]
    if not configurations:
        return []
    setup, slower = gather(claim.catalogs, configurations), margins(claim.catalogs, configurations, confidence)
    return [
        replica_costs(setup, row, Slowdown(*(float(each[row]) for each in (slower.tpot, slower.tpot, slower.ttft))))
        for row in range(len(configurations))
    ]


def _served(
    workload: Workload, deployments: Sequence[Deployment], costs: Sequence[ReplicaCosts], before_ms: Sequence[float]
) -> Iterator[ServedWorkload]:
    """The workload in the period in which a replica of it has most to do; none where nothing is sent to any.

    Of periods in which they have as much to do it is the one with the fewest replicas, which luck hits hardest.
    """
    periods = range(len(deployments[0].schedule)) if deployments else ()
    busiest = max(periods, key=lambda period: (_load(deployments, period), -_running(deployments, period)), default=0)
    running = [(d, one, d.schedule[busiest], ms) for d, one, ms in zip(deployments, costs, before_ms, strict=True)]
    sent = [each for each in running if each[2].replicas and each[2].requests_per_second > 0]
    if not sent:
        return
    classes = workload.classes()
    names = tuple(item.name for item in classes)
    servers = tuple(
        Server(one, entry.replicas, _by_class(names, entry.requests_per_second_by_class)) for _, one, entry, _ in sent
    )
    by_class = np.sum([server.rate_per_s for server in servers], axis=0)
    yield ServedWorkload(
        workload=workload,
        names=names,
        classes=Classes(
            share=by_class / by_class.sum(),
            input_tokens=np.array([item.input_tokens for item in classes]),
            output_tokens=np.array([item.output_tokens for item in classes]),
            kinds={number: _kinds(item.lengths) for number, item in enumerate(classes) if item.lengths is not None},
        ),
        rate_per_s=float(by_class.sum()),
        cv2=workload.arrival_cv2,
        period=busiest,
        deployments=tuple(d for d, *_ in sent),
        servers=servers,
        before_ms=tuple(ms for *_, ms in sent),
    )


def _kinds(lengths: Sequence[RequestLengths]) -> Kinds:
    """The lengths of a class's requests."""
    return Kinds(
        share=np.array([item.share for item in lengths]),
        input_tokens=np.array([item.input_tokens for item in lengths]),
        output_tokens=np.array([item.output_tokens for item in lengths]),
    )


def _load(deployments: Sequence[Deployment], period: int) -> float:
    """As nearly as a plan and its file say the same."""
    return round(max(d.schedule[period].utilization for d in deployments), AS_WRITTEN)


def _running(deployments: Sequence[Deployment], period: int) -> int:
    return sum(d.schedule[period].replicas for d in deployments)


def _by_class(names: Sequence[str], rates: Mapping[str, float]) -> Floats:
    """(K,) requests a second of each class."""
    return np.array([rates.get(name, 0.0) for name in names])

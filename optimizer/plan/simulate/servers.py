"""The replicas of a plan as servers of a simulation, in the period in which each workload's have most to do."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from optimizer.base.arrays import Floats
from optimizer.base.latest import Latest
from optimizer.base.once_of import OnceOf
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.scenario.policy import Router
from optimizer.inputs.scenario.scenario import RequestLengths, Workload
from optimizer.performance.physics.queueing import ArrivalVariation
from optimizer.performance.physics.setup import gather
from optimizer.performance.simulation.arrivals import Classes, Kinds
from optimizer.performance.simulation.costs import ReplicaCosts, Slowdown, replica_costs
from optimizer.performance.simulation.dealing import Dealing
from optimizer.performance.simulation.fleet import Server
from optimizer.performance.uncertainty.evidence import margins
from optimizer.plan.record.fleet import Deployment
from optimizer.plan.verify.claim import Claim, configuration

MOST_COSTS: Final = 64
"""Tables of steps that are kept, some 300 kB each: plans beside a plan run much the same replicas."""
AS_WRITTEN: Final = 4
"""Decimals of a utilization that a plan and its file, with rates of six digits, have in common."""

_KNOWN_COSTS = OnceOf[Catalogs, Latest[ReplicaCosts]](lambda _: Latest(MOST_COSTS))
"""By configuration and confidence."""


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
        router: What sends requests to replicas, as the policy says unless the simulation has another.
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
    router: Dealing

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
        sent_per_s = server.rate_per_s.sum()
        mix = server.rate_per_s / sent_per_s
        turns = float(np.sum(mix**2 / self.classes.share)) if self.router != "by_chance" else None
        at_it = ArrivalVariation(self.cv2, self.rate_per_s, turns).of_replica(np.array([sent_per_s]))
        return replace(
            self,
            classes=replace(self.classes, share=by_class / rate_per_s),
            rate_per_s=rate_per_s,
            cv2=float(at_it[0]),
            deployments=(self.deployments[number],),
            servers=(replace(server, rate_per_s=by_class),),
            before_ms=(self.before_ms[number],),
        )


def _of_fewer(server: Server, share: float) -> Server:
    """That share of a deployment's replicas, one at least, with what is sent to them."""
    replicas = max(1, round(server.replicas * share))
    return replace(server, replicas=replicas, rate_per_s=server.rate_per_s * (replicas / server.replicas))


@dataclass(frozen=True)
class _SentTo:
    """Replicas of a deployment and what they are sent, requests a second of each class."""

    replicas: int
    rate_per_s: Mapping[str, float]


Chosen = Callable[[Sequence[Deployment]], tuple[int, Sequence[_SentTo]]]
"""What is looked at of a workload's deployments: a period, and what each is sent."""


def services(claim: Claim, confidence: float) -> tuple[ServedWorkload, ...]:
    """Every workload that replicas serve, in the period in which one of them has most to do, their steps as slow as the
    bound of that confidence says."""
    return tuple(_services(claim, confidence, _at_busiest))


def every_service(claim: Claim, confidence: float) -> tuple[ServedWorkload, ...]:
    """The same with all deployments that are ever sent something, each with the most replicas that it ever has."""
    return tuple(_services(claim, confidence, _at_any_time))


def _at_busiest(deployments: Sequence[Deployment]) -> tuple[int, Sequence[_SentTo]]:
    """Of periods in which they have as much to do it is the one with the fewest replicas, which luck hits hardest."""
    periods = range(len(deployments[0].schedule)) if deployments else ()
    busiest = max(periods, key=lambda period: (_load(deployments, period), -_running(deployments, period)), default=0)
    entries = [d.schedule[busiest] for d in deployments]
    return busiest, [_SentTo(entry.replicas, entry.requests_per_second_by_class) for entry in entries]


def _at_any_time(deployments: Sequence[Deployment]) -> tuple[int, Sequence[_SentTo]]:
    """What the classes are sent of all periods is added up, which says who is ever sent something."""
    found = []
    for d in deployments:
        added_up: dict[str, float] = {}
        for entry in d.schedule:
            for name, rate in entry.requests_per_second_by_class.items():
                added_up[name] = added_up.get(name, 0.0) + rate
        found.append(_SentTo(max(entry.replicas for entry in d.schedule), added_up))
    return 0, found


def _services(claim: Claim, confidence: float, chosen: Chosen) -> Iterator[ServedWorkload]:
    costs = _costs(claim, confidence)
    for workload in claim.scenario.workloads:
        mine = [number for number, (d, _, _) in enumerate(claim.placed) if d.workload == workload.name]
        away_ms = [claim.network_ms(workload, claim.placed[n][2]) + workload.slo.ttft_overhead_ms for n in mine]
        deployments = [claim.placed[n][0] for n in mine]
        yield from _served(workload, deployments, [costs[n] for n in mine], away_ms, claim.policy.router, chosen)


def _costs(claim: Claim, confidence: float) -> list[ReplicaCosts]:
    """What a step of each deployment takes.

    All steps are as slow as the bound on TPOT says, with prompts in them or without, for that is what TPOT was measured
    of; a prompt alone takes the bound on TTFT.
    """
    asked = [(configuration(d, offer), confidence) for d, _, offer in claim.placed]
    kept = _KNOWN_COSTS(claim.catalogs)
    known = {each: costs for each in asked if (costs := kept.get(each)) is not None}
    if missing := [each for each in asked if each not in known]:
        configurations = [each for each, _ in missing]
        setup, slower = gather(claim.catalogs, configurations), margins(claim.catalogs, configurations, confidence)
        for row, each in enumerate(missing):
            by_bounds = (float(bound[row]) for bound in (slower.tpot, slower.tpot, slower.ttft))
            known[each] = replica_costs(setup, row, Slowdown(*by_bounds))
            kept.put(each, known[each])
    return [known[each] for each in asked]


def _served(
    workload: Workload,
    deployments: Sequence[Deployment],
    costs: Sequence[ReplicaCosts],
    before_ms: Sequence[float],
    router: Router,
    chosen: Chosen,
) -> Iterator[ServedWorkload]:
    """The workload as it is looked at; none where nothing is sent to any replica of it."""
    period, entries = chosen(deployments)
    running = zip(deployments, costs, entries, before_ms, strict=True)
    sent = [each for each in running if each[2].replicas and sum(each[2].rate_per_s.values()) > 0]
    if not sent:
        return
    classes = workload.classes()
    names = tuple(item.name for item in classes)
    servers = tuple(Server(one, entry.replicas, _by_class(names, entry.rate_per_s)) for _, one, entry, _ in sent)
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
        period=period,
        deployments=tuple(d for d, *_ in sent),
        servers=servers,
        before_ms=tuple(ms for *_, ms in sent),
        router=router,
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

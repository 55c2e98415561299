"""The runs that can falsify a plan: one for each class of requests of each deployment, at the load that it is sent."""

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from operator import attrgetter
from typing import Final

import numpy as np

from optimizer.base.units import MS_PER_S, SECONDS_PER_HOUR
from optimizer.inputs.catalog.records import Catalogs, Offer
from optimizer.inputs.scenario.policy import DEALING
from optimizer.inputs.scenario.scenario import Scenario, Workload
from optimizer.performance.physics.queueing import ArrivalVariation
from optimizer.performance.simulation.sample_sizes import requests_to_prove, without_a_violation
from optimizer.performance.uncertainty.evidence import margins
from optimizer.plan.benchmark.promises import MEAN, Doubt, PromisedLimit, promised_limits
from optimizer.plan.record.fleet import Deployment, PeriodReplicas, PlannedFleet, ServedClass
from optimizer.plan.record.naming import deployment_names
from optimizer.plan.verify.claim import Claim, configuration

SURE: Final = 0.95
"""Of every verdict, one-sided; and how often a run is to reach one where the prediction is right."""
EITHER_SIDE: Final = 0.95
"""Confidence of a bound that, drawn to both sides, leaves nine of ten predictions between."""
SHORTEST_S: Final = 300.0
ANSWERS_IN_A_ROW: Final = 10
"""A run lasts as long as so many answers after each other, so that the time in which a replica fills counts little."""
LONGEST_S: Final = 3600.0
"""Unless even a run without a violation takes longer."""
SETUP: Final = attrgetter(
    *("workload", "model", "engine", "engine_version", "gpu", "precision", "kv_precision", "tensor_parallel"),
    *("pipeline_parallel", "speculation", "provider", "instance_type"),
)
TRUST: Final = ("estimated", "calibrated", "measured")
"""What predictions rest on, the least first."""


@dataclass(frozen=True)
class Need:
    """What one percentile asks of a run's size: every limit on it is to hold together.

    Attributes:
        statistic: The percentile.
        promised: Share of requests that it promises.
        expected: Share that is predicted.
        fewest: Requests that prove it if none is outside.
        decide: Requests that tell both shares apart; None where they are too near for any run.
    """

    statistic: str
    promised: float
    expected: float
    fewest: int
    decide: int | None


@dataclass(frozen=True)
class BenchmarkRun:
    """One class of requests against one replica.

    Attributes:
        name: Of the run and of its result's file.
        deployment_name: What the deployment is called.
        d: The deployment.
        hf_id: The model as tools name it.
        served: The class.
        rate_per_s: Requests a second of the class that one replica is sent at its busiest.
        cv2: Squared variation of the gaps between them.
        cached_share: Of every prompt, in the prefix cache.
        limits: What the class is promised.
        needs: What its percentiles ask of the number of requests.
        requests: How many the run sends.
        stake_usd: A month, of all deployments that it speaks for.
        also_for: Deployments on the same machines, bought otherwise, whose replicas are sent no more.
        seed: Of its arrivals and prompts, so that runs beside each other know nothing of each other.
    """

    name: str
    deployment_name: str
    d: Deployment
    hf_id: str
    served: ServedClass
    rate_per_s: float
    cv2: float
    cached_share: float
    limits: tuple[PromisedLimit, ...]
    needs: tuple[Need, ...]
    requests: int
    seed: int
    stake_usd: Decimal
    also_for: tuple[str, ...] = ()

    @property
    def duration_s(self) -> float:
        """How long it takes to send them."""
        return self.requests / self.rate_per_s

    @property
    def instances(self) -> int:
        """That hold the replica."""
        return math.ceil(self.d.gpus_per_replica / self.d.gpus_per_instance)

    @property
    def price_usd(self) -> float:
        """What they cost for as long."""
        return self.duration_s / SECONDS_PER_HOUR * self.instances * float(self.d.price_usd_per_hour)


def runs_of(scenario: Scenario, catalogs: Catalogs, fleet: PlannedFleet) -> tuple[BenchmarkRun, ...]:
    """Every run, those first that most money rests on: of estimated speeds, then of calibrated ones, by monthly cost.

    Args:
        scenario: What the plan was made for.
        catalogs: Those that it was made from.
        fleet: The plan.
    """
    claim = Claim(scenario, catalogs, fleet)
    if not claim.placed:
        return ()
    doubts = margins(catalogs, [configuration(d, offer) for d, _, offer in claim.placed], EITHER_SIDE)
    names = deployment_names([d for d, _, _ in claim.placed])
    of_deployments: list[list[BenchmarkRun]] = []
    for number, (d, _, offer) in enumerate(claim.placed):
        doubt = Doubt(float(doubts.ttft[number]), float(doubts.tpot[number]))
        busiest = busiest_period(d)
        if busiest is not None:
            of_deployments.append(list(_Sent(claim, d, offer, busiest).runs(names[number], doubt)))
    ordered = sorted(_one_of_alike(of_deployments), key=_most_at_stake_first)
    return tuple(run for runs in ordered for run in runs)


def _most_at_stake_first(runs: Sequence[BenchmarkRun]) -> tuple[int, Decimal]:
    return TRUST.index(runs[0].d.provenance.performance), -runs[0].stake_usd


def _one_of_alike(of_deployments: Sequence[list[BenchmarkRun]]) -> Iterator[list[BenchmarkRun]]:
    """Of deployments that differ only in how they are bought, the one whose replicas are sent most, for all."""
    alike: defaultdict[tuple[object, ...], list[list[BenchmarkRun]]] = defaultdict(list)
    for runs in of_deployments:
        alike[_measured_alike(runs)].append(runs)
    for together in alike.values():
        most = max(together, key=lambda runs: runs[0].rate_per_s)
        others = tuple(runs[0].deployment_name for runs in together if runs is not most)
        stake_usd = sum((runs[0].stake_usd for runs in together), Decimal(0))
        yield [replace(run, stake_usd=stake_usd, also_for=others) for run in most]


def _measured_alike(runs: Sequence[BenchmarkRun]) -> tuple[object, ...]:
    """Equal where one measurement holds for both: the same machine and setup, one class, the same limits."""
    first = runs[0]
    if len(runs) > 1:
        return (first.deployment_name,)
    return (*SETUP(first.d), first.served.name, *(limit.at_replica_ms for limit in first.limits))


def busiest_period(d: Deployment) -> PeriodReplicas | None:
    """The hours in which its replicas have most to do; None where it only stands by."""
    serving = [entry for entry in d.schedule if entry.replicas and entry.requests_per_second > 0]
    return max(serving, key=attrgetter("utilization"), default=None)


@dataclass(frozen=True)
class _Sent:
    """What one replica of a deployment is sent in the hours in which it has most to do."""

    claim: Claim
    d: Deployment
    offer: Offer
    busiest: PeriodReplicas

    def runs(self, name: str, doubt: Doubt) -> Iterator[BenchmarkRun]:
        """A run for each class, all as long as the one that takes longest, since they run beside each other."""
        limits = {key: tuple(self._limits(served, doubt)) for key, served in self._served.items()}
        needs = {key: _needs(found) for key, found in limits.items()}
        rates = {key: self._rate_per_s(key) for key in self._served}
        longest_s = max(_duration_s(needs[key], rates[key], served) for key, served in self._served.items())
        for seed, key in enumerate(sorted(self._served)):
            yield BenchmarkRun(
                name=f"{name}-{key}" if len(self._served) > 1 else name,
                deployment_name=name,
                d=self.d,
                hf_id=self.claim.catalogs.published_name(self.d.model),
                served=self._served[key],
                rate_per_s=rates[key],
                cv2=self._cv2(key, rates[key]),
                cached_share=self._workload.cached_input_share,
                limits=limits[key],
                needs=needs[key],
                requests=math.ceil(longest_s * rates[key]),
                seed=seed,
                stake_usd=self.d.monthly_cost_usd,
            )

    @property
    def _workload(self) -> Workload:
        return self.claim.workloads[self.d.workload]

    @property
    def _served(self) -> dict[str, ServedClass]:
        sent = self.busiest.requests_per_second_by_class
        return {item.name: item for item in self.d.classes if sent.get(item.name, 0.0) > 0}

    def _rate_per_s(self, key: str) -> float:
        return self.busiest.requests_per_second_by_class[key] / self.busiest.replicas

    def _limits(self, served: ServedClass, doubt: Doubt) -> Iterator[PromisedLimit]:
        before_ms = self.claim.network_ms(self._workload, self.offer) + self._workload.slo.ttft_overhead_ms
        return promised_limits(self._workload.slo, self.d, served, before_ms, doubt)

    def _cv2(self, key: str, rate_per_s: float) -> float:
        """Of the gaps that reach one replica from one class, at the peak."""
        workload = self._workload
        share = next(item.share for item in workload.classes() if item.name == key)
        turns = 1 / share if self.claim.policy.router in DEALING else None
        whole = ArrivalVariation(workload.arrival_cv2, workload.peak_requests_per_second(), turns)
        return float(whole.of_replica(np.array([rate_per_s]))[0])


def _needs(limits: Sequence[PromisedLimit]) -> tuple[Need, ...]:
    """What each percentile asks; limits on the same one add up what they are expected to lose."""
    lost: defaultdict[str, float] = defaultdict(float)
    for limit in limits:
        if limit.promised_share is not None:
            lost[limit.statistic] += 1 - limit.expected_share
    promised = {limit.statistic: limit.promised_share for limit in limits}
    return tuple(
        Need(
            statistic=statistic,
            promised=share,
            expected=1 - lost[statistic],
            fewest=without_a_violation(share, SURE),
            decide=requests_to_prove(share, 1 - lost[statistic], SURE),
        )
        for statistic, share in promised.items()
        if share is not None
    )


def _duration_s(needs: Sequence[Need], rate_per_s: float, served: ServedClass) -> float:
    """Long enough to decide within the bounds of patience, and never too short to decide anything."""
    shortest_s = max(SHORTEST_S, ANSWERS_IN_A_ROW * served.e2e_ms[MEAN] / MS_PER_S)
    wanted_s = max((need.decide or math.inf for need in needs), default=0.0) / rate_per_s
    fewest_s = max((need.fewest for need in needs), default=0) / rate_per_s
    return max(min(wanted_s, LONGEST_S), shortest_s, fewest_s)

"""A plan's promises held against simulated requests: kept, broken, or not decided by so many."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

import numpy as np

from optimizer.base.arrays import Flags, Floats, Ints
from optimizer.base.units import HOURS_PER_DAY, MS_PER_S
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.scenario.policy import Router
from optimizer.inputs.scenario.scenario import Latency, Scenario, Workload
from optimizer.performance.physics.queueing import QUANTILES
from optimizer.performance.simulation.arrivals import Stream
from optimizer.performance.simulation.fleet import NO_OUTAGES, Outcome, serve_stream
from optimizer.performance.simulation.statistics import Bounded, mean, quantile, share_within
from optimizer.plan.record.fleet import PlannedFleet
from optimizer.plan.record.simulation import (
    MeasuredLimit,
    SimulatedClass,
    SimulatedDeployment,
    SimulatedPart,
    Simulation,
    Verdict,
)
from optimizer.plan.simulate.arriving import Arrivals
from optimizer.plan.simulate.losing import SimulatedLoss, loss_in_words, outages
from optimizer.plan.simulate.servers import ServedWorkload, services
from optimizer.plan.simulate.week import served_week, weeks
from optimizer.plan.verify.claim import Claim

Metric = Literal["ttft_ms", "tpot_ms", "e2e_ms"]

LIKELY: Final = 0.95
"""Of every interval."""
WARM_UP: Final = 0.1
"""Share of the time that is left out while the replicas fill."""
MOST_REPLICAS: Final = 8
"""Replicas of a deployment that are looked at; the others are like them."""
LARGEST_FLEET: Final = 2000
"""Replicas that a workload's requests are dealt to; a larger fleet is simulated as one of so many."""
REQUESTS_OF_A_REPLICA: Final = 1000
"""At least so many requests reach each replica, so that what is left out is the start and not the plan."""
CONFIRMING_REQUESTS: Final = (5_000, 20_000)
"""Of each workload beside a plan: so few where they decide every limit, else so many, within a fifth of a second."""
TRIED_REQUESTS: Final = (2_000, 10_000)
"""Of a deployment alone, in a tenth of a second: so few where they decide, as beside a plan, else so many."""
MEAN: Final = "mean"
LARGEST_COUNTED_FLEET: Final = 16
"""The same where a router counts what is in flight, whose replicas are simulated side by side: of fewer there is less
to choose from."""
ROUTED: Final[Mapping[Router, str]] = {
    "in_turn": ", sent to replicas in turn",
    "by_chance": ", each sent to a replica by chance",
    "least_loaded": ", each sent to the replica with the fewest in flight",
}
"""Behind how requests arrive, where there are several replicas."""
LEAST_MS: Final = 1e-9


@dataclass(frozen=True)
class _Requests:
    """Requests of one workload, over all seeds, (n,) each: when they came over the time that all took, milliseconds."""

    arrived_share: Floats
    request_class: Ints
    latency_ms: dict[Metric, Floats]

    def of(self, members: Flags) -> "_Requests":
        """Some of them."""
        latencies = {name: values[members] for name, values in self.latency_ms.items()}
        return _Requests(self.arrived_share[members], self.request_class[members], latencies)


def confirmed(scenario: Scenario, catalogs: Catalogs, fleet: PlannedFleet) -> Simulation:
    """The plan under the arrivals of its scenario, as its own confidence says; what stands beside every plan."""
    claim, level = Claim(scenario, catalogs, fleet), scenario.policy.confidence
    few, many = CONFIRMING_REQUESTS
    found = simulated(claim, None, confidence=level, requests=few, seeds=1)
    if found.holds is None:
        found = simulated(claim, None, confidence=level, requests=many, seeds=1)
    return found


def simulated(
    claim: Claim,
    arrivals: Arrivals | None,
    *,
    confidence: float,
    requests: int,
    seeds: int,
    first_seed: int = 0,
    by_chance: bool = False,
    parts: int = 0,
    loss: SimulatedLoss | None = None,
) -> Simulation:
    """The plan under that load.

    Args:
        claim: The plan, its scenario and the catalogs.
        arrivals: How requests arrive; None for each workload as the scenario says it.
        confidence: The step times are the bound that is this likely to be kept.
        requests: Of each workload and seed, at least; more where a fleet is so large that its replicas would see few.
        seeds: How often the whole is repeated.
        first_seed: Decides the luck of the first time; each later time has the next.
        by_chance: Whether requests go to any replica at random, whatever the policy says.
        parts: Into how many parts of equal time what requests met is divided beside the whole.
        loss: What is lost of each workload at half of the time.
    """
    classes: list[SimulatedClass] = []
    over_time: list[SimulatedPart] = []
    lost: list[str] = []
    losing = None if loss is None else (claim, loss)
    deployments: list[SimulatedDeployment] = []
    router: Router = "by_chance" if by_chance else claim.policy.router
    days = None if arrivals is None else arrivals.days
    of_week = () if days is None else weeks(claim, confidence, days)
    total, served = 0, services(claim, confidence) if days is None else tuple(each.service for each in of_week)
    warm_up = WARM_UP if days is None else 1 / (days * HOURS_PER_DAY)
    for number, service in enumerate(replace(each, router=router) for each in served):
        coming = arrivals or Arrivals(service.cv2)
        runs = [
            served_week(of_week[number], router, MOST_REPLICAS, (seed, number))
            if of_week
            else _run(service, coming, requests, seed, number, losing)
            for seed in range(first_seed, first_seed + seeds)
        ]
        total += sum(len(outcome.request) for _, outcome in runs)
        found = _found(service, runs)
        classes += _judged(service, _after(warm_up, found))
        over_time += _over_time(service, found, max(stream.span_s for stream, _ in runs), parts)
        deployments += _deployments(service, runs)
        if loss is not None:
            stream = runs[0][0]
            lost += loss_in_words(service, stream, outages(claim, service, stream, loss))
    as_asked = [service.workload for service in served if arrivals is None]
    words = _in_words(as_asked) if arrivals is None else arrivals.words
    several = any(len(each.servers) > 1 or each.servers[0].replicas > 1 for each in served)
    return Simulation(
        requests=total,
        arrivals=words + (ROUTED[router] if several else ""),
        assumed=tuple(sorted(each.name for each in as_asked if each.arrivals is None)),
        from_trace=tuple(sorted(each.name for each in as_asked if each.arrivals and each.arrivals.read_from)),
        days=days,
        seeds=seeds,
        confidence=confidence,
        likely=LIKELY,
        holds=_holds(classes),
        classes=classes,
        deployments=deployments,
        over_time=tuple(over_time),
        lost=tuple(lost),
        not_simulated=sorted({f"{item.workload}: {item.api} at {item.provider}" for item in claim.fleet.hosted}),
    )


def promises(found: Simulation) -> Iterator[tuple[SimulatedClass, MeasuredLimit]]:
    """Every promise that was measured."""
    return ((item, limit) for item in found.classes for limit in item.limits)


def room(promise: tuple[SimulatedClass, MeasuredLimit]) -> float:
    """What a promise has to spare: its limit over what was measured."""
    _, limit = promise
    return limit.limit_ms / max(limit.value_ms, LEAST_MS)


def holds_alone(service: ServedWorkload) -> bool:
    """Whether a workload's replicas keep every promise without doubt; many requests say it where few do not decide."""
    few, many = TRIED_REQUESTS
    kept = _kept_alone(service, few)
    return (_kept_alone(service, many) if kept is None else kept) is True


def _kept_alone(service: ServedWorkload, requests: int) -> bool | None:
    """Whether a workload's replicas keep every promise; None where so many requests do not decide it."""
    runs = [_run(service, Arrivals(service.cv2), requests, seed=0, number=0)]
    return _holds(list(_judged(service, _after(WARM_UP, _found(service, runs)))))


def _holds(classes: Sequence[SimulatedClass]) -> bool | None:
    verdicts = [limit.verdict for item in classes for limit in item.limits]
    return False if "broken" in verdicts else None if "undecided" in verdicts else True


def _in_words(workloads: Sequence[Workload]) -> str:
    """How requests arrive, by workload where they differ."""
    words = {workload.name: Arrivals(workload.arrival_cv2).words for workload in workloads}
    several = len(set(words.values())) > 1
    return ", ".join(f"{name} {each}" for name, each in words.items()) if several else next(iter(words.values()), "")


def _run(
    service: ServedWorkload,
    arrivals: Arrivals,
    requests: int,
    seed: int,
    number: int,
    losing: tuple[Claim, SimulatedLoss] | None = None,
) -> tuple[Stream, Outcome]:
    """One seed's requests, served; the same ones whatever the plan is, so that two plans meet the same luck."""
    coming, dealing = (np.random.default_rng([seed, number, use]) for use in range(2))
    largest = LARGEST_COUNTED_FLEET if service.router == "least_loaded" else LARGEST_FLEET
    fleet = service if arrivals.recorded is not None else service.no_larger_than(largest)
    count = max(requests, REQUESTS_OF_A_REPLICA * sum(server.replicas for server in fleet.servers))
    stream = arrivals.stream(coming, fleet, count)
    cached = service.workload.cached_input_share
    lost = NO_OUTAGES if losing is None else outages(losing[0], fleet, stream, losing[1])
    router = service.router
    outcome = serve_stream(dealing, stream, fleet.servers, cached, MOST_REPLICAS, router=router, outages=lost)
    return stream, outcome


def _after(warm_up: float, found: _Requests) -> _Requests:
    """What is judged, but for a share of the time: a trace, too, begins with empty replicas."""
    return found.of(found.arrived_share >= warm_up)


def _found(service: ServedWorkload, runs: Sequence[tuple[Stream, Outcome]]) -> _Requests:
    """What became of the requests of all runs."""
    before_ms = np.array(service.before_ms)
    parts = []
    for stream, outcome in runs:
        arrived_s = stream.arrived_s[outcome.request] - stream.arrived_s[0]
        outside_ms = before_ms[outcome.server]
        latencies: dict[Metric, Floats] = {
            "ttft_ms": outcome.ttft_s * MS_PER_S + outside_ms,
            "tpot_ms": outcome.tpot_s * MS_PER_S,
            "e2e_ms": outcome.e2e_s * MS_PER_S + outside_ms,
        }
        arrived_share = arrived_s / max(stream.span_s, LEAST_MS)
        parts.append(_Requests(arrived_share, stream.request_class[outcome.request], latencies))
    return _Requests(
        np.concatenate([part.arrived_share for part in parts]),
        np.concatenate([part.request_class for part in parts]),
        {name: np.concatenate([part.latency_ms[name] for part in parts]) for name in parts[0].latency_ms},
    )


def _judged(service: ServedWorkload, sample: _Requests) -> Iterator[SimulatedClass]:
    """Each class of the workload against its limits."""
    for number, name in enumerate(service.names):
        mine = sample.of(sample.request_class == number)
        if not len(mine.request_class):
            continue
        within = _within_all(service.workload, mine)
        share = share_within(within, LIKELY)
        yield SimulatedClass.model_validate(
            {
                "workload": service.workload.name,
                "class": name,
                "requests": len(mine.request_class),
                "share_within_limits": share.value,
                "interval": (share.low, share.high),
                **{metric: _statistics(values) for metric, values in mine.latency_ms.items()},
                "limits": list(_limits(service.workload, mine)),
            }
        )


def _over_time(service: ServedWorkload, found: _Requests, span_s: float, parts: int) -> Iterator[SimulatedPart]:
    """What requests met that came in each part of the time, the warm-up among them."""
    part = np.minimum((found.arrived_share * parts).astype(np.int64), parts - 1)
    for number in range(parts):
        mine = found.of(part == number)
        if not len(mine.request_class):
            continue
        yield SimulatedPart(
            workload=service.workload.name,
            from_s=number * span_s / parts,
            to_s=(number + 1) * span_s / parts,
            requests=len(mine.request_class),
            share_within_limits=float(np.mean(_within_all(service.workload, mine))),
            ttft_p95_ms=_finite(np.quantile(mine.latency_ms["ttft_ms"], QUANTILES["p95"], method="higher")),
        )


def _finite(value: float) -> float | None:
    """The same where it is a number; None for requests that were never answered."""
    return float(value) if np.isfinite(value) else None


def _asked(workload: Workload) -> Iterator[tuple[Metric, str, float]]:
    """Each limit of the workload: metric, statistic, ms."""
    limits: tuple[tuple[Metric, Latency | None], ...] = (
        ("ttft_ms", workload.slo.ttft_ms),
        ("tpot_ms", workload.slo.tpot_ms),
        ("e2e_ms", workload.slo.e2e_ms),
    )
    for metric, latency in limits:
        for statistic, limit_ms in (latency.limits_ms() if latency else {}).items():
            yield metric, statistic, limit_ms


def _within_all(workload: Workload, sample: _Requests) -> Flags:
    """(n,) whether a request keeps every limit at once."""
    kept = np.ones(len(sample.request_class), dtype=np.bool_)
    for metric, _, limit_ms in _asked(workload):
        kept &= sample.latency_ms[metric] <= limit_ms
    return kept


def _limits(workload: Workload, sample: _Requests) -> Iterator[MeasuredLimit]:
    for metric, statistic, limit_ms in _asked(workload):
        found = _measured(sample.latency_ms[metric], statistic)
        yield MeasuredLimit(
            metric=metric,
            statistic=statistic,
            limit_ms=limit_ms,
            value_ms=found.value,
            low_ms=found.low,
            high_ms=found.high if np.isfinite(found.high) else None,
            verdict=_verdict(found, limit_ms),
        )


def _measured(values: Floats, statistic: str) -> Bounded:
    return mean(values, LIKELY) if statistic == MEAN else quantile(values, QUANTILES[statistic], LIKELY)


def _verdict(found: Bounded, limit_ms: float) -> Verdict:
    if found.high <= limit_ms:
        return "holds"
    return "broken" if found.low > limit_ms else "undecided"


def _statistics(values: Floats) -> dict[str, float]:
    """The mean and every percentile."""
    return {MEAN: float(np.mean(values)), **{name: float(np.quantile(values, q)) for name, q in QUANTILES.items()}}


def _deployments(service: ServedWorkload, runs: Sequence[tuple[Stream, Outcome]]) -> Iterator[SimulatedDeployment]:
    """How busy the replicas that were looked at were, over all runs."""
    for number, d in enumerate(service.deployments):
        spans = [(stream.span_s, done) for stream, outcome in runs for done in outcome.replicas[number]]
        together_s = sum(span for span, _ in spans)
        yield SimulatedDeployment(
            workload=d.workload,
            gpu=d.gpu,
            provider=d.provider,
            replicas=service.servers[number].replicas,
            replicas_simulated=len(runs[0][1].replicas[number]),
            busy_share=min(sum(done.busy_s for _, done in spans) / together_s, 1.0),
            concurrency=sum(done.sequence_s for _, done in spans) / together_s,
            preempted=sum(done.preempted for _, done in spans),
        )

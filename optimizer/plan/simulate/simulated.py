"""A plan under simulated requests: what arrives at its replicas, what they do, and whether the promises hold."""

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final

import numpy as np

from optimizer.base.units import HOURS_PER_DAY
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.scenario.scenario import Scenario
from optimizer.performance.physics.memory import memory_use
from optimizer.performance.simulation.arrivals import Stream
from optimizer.performance.simulation.dealing import KNOWING, Dealing
from optimizer.performance.simulation.fleet import NO_OUTAGES, Outcome, serve_stream
from optimizer.plan.record.fleet import PlannedFleet
from optimizer.plan.record.simulation import SimulatedClass, SimulatedDeployment, Simulation
from optimizer.plan.simulate.arriving import Arrivals
from optimizer.plan.simulate.autoscaling import ScaledWeek, autoscaling, scaled_weeks
from optimizer.plan.simulate.hours import held_by_hour
from optimizer.plan.simulate.judging import (
    LIKELY,
    PromiseName,
    ServedRequests,
    all_hold,
    around_loss,
    judged,
    met_by,
    of_these_alone,
    over_time,
    without_doubt,
)
from optimizer.plan.simulate.losing import Lost, SimulatedLoss, loss_in_words, lost_of, requests_through
from optimizer.plan.simulate.servers import ServedWorkload, services
from optimizer.plan.simulate.spells import broken_spells
from optimizer.plan.simulate.spending import costs_of
from optimizer.plan.simulate.week import served_week, weeks
from optimizer.plan.verify.claim import Claim

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
DECIDING_REQUESTS: Final = (80_000,)
"""The same where these leave a promise in doubt that each deployment alone keeps, or of a plan found late: a second."""
TRIED_REQUESTS: Final = (2_000, 10_000)
"""Of a deployment alone, in a tenth of a second: so few where they decide, as beside a plan, else so many."""
LARGEST_COUNTED_FLEET: Final = 16
"""The same where a router counts what is in flight, whose replicas are simulated side by side: of fewer there is less
to choose from."""
OF_ANY_WORKLOAD: Final = 0
"""Every workload meets the luck of its seed. With luck by its place in the scenario a plan held or not, and cost more
or less, by the order in which workloads are written. Each is judged for itself, so they may have the same."""
ROUTED: Final[Mapping[Dealing, str]] = {
    "in_turn": ", sent to replicas in turn",
    "by_chance": ", each sent to a replica by chance",
    "least_loaded": ", each sent to the replica with the fewest in flight",
    "prefix_aware": ", each sent to the replica that has most of its prompt",
}
"""Behind how requests arrive, where there are several replicas."""


def confirmed(
    scenario: Scenario, catalogs: Catalogs, fleet: PlannedFleet, counts: Sequence[int] = CONFIRMING_REQUESTS
) -> Simulation:
    """The plan under the arrivals of its scenario, as its own confidence says; what stands beside every plan: under the
    first of some counts of requests that decides every limit, or the last."""
    claim, level = Claim(scenario, catalogs, fleet), scenario.policy.confidence
    first, *more = counts
    found = simulated(claim, None, confidence=level, requests=first, seeds=1)
    for requests in more:
        if found.holds is None and any(Arrivals.as_asked(each).may_go_on for each in services(claim, level)):
            found = simulated(claim, None, confidence=level, requests=requests, seeds=1)
    return found


def holds_at_a_look(scenario: Scenario, catalogs: Catalogs, fleet: PlannedFleet) -> bool:
    """Whether the few requests that are simulated first say without doubt that a plan keeps every promise."""
    few, _ = CONFIRMING_REQUESTS
    claim, level = Claim(scenario, catalogs, fleet), scenario.policy.confidence
    return simulated(claim, None, confidence=level, requests=few, seeds=1).holds is True


def simulated(
    claim: Claim,
    arrivals: Arrivals | None,
    *,
    confidence: float,
    requests: int,
    seeds: int,
    first_seed: int = 0,
    router: Dealing | None = None,
    parts: int = 0,
    loss: SimulatedLoss | None = None,
    autoscale: float | None = None,
) -> Simulation:
    """The plan under that load.

    Args:
        claim: The plan, its scenario and the catalogs.
        arrivals: How requests arrive; None for each workload as the scenario says it.
        confidence: The step times are the bound that is this likely to be kept.
        requests: Of each workload and seed, at least; more where a fleet is so large that its replicas would see few.
        seeds: How often the whole is repeated.
        first_seed: Decides the luck of the first time; each later time has the next.
        router: What sends requests to replicas; as the policy says unless given.
        parts: Into how many parts of equal time what requests met is divided beside the whole.
        loss: What is lost of each workload at half of the time.
        autoscale: Share of what replicas sustain at which a scaler aims that adds and removes them by what arrived, in
            the days of a week; None where the plan's own hours have them.
    """
    days = None if arrivals is None else arrivals.days
    dealing = claim.policy.router if router is None else router
    luck = range(first_seed, first_seed + seeds)
    if days is None:
        served = list(_by_arrivals(claim, confidence, dealing, luck, arrivals, requests, loss))
    else:
        served = list(_by_hours(claim, confidence, dealing, luck, days, autoscale))
    warm_up = WARM_UP if days is None else 1 / (days * HOURS_PER_DAY)
    scaled = [each.scaled for each in served if each.scaled is not None]
    classes = [item for each in served for item in _judged(each, warm_up, days)]
    as_asked = [each.service.workload for each in served if arrivals is None]
    asked = {each.service.workload.name: Arrivals.as_asked(each.service) for each in served if arrivals is None}
    words = _in_words(asked) if arrivals is None else arrivals.words
    several = any(len(each.service.servers) > 1 or each.service.servers[0].replicas > 1 for each in served)
    return Simulation(
        requests=sum(len(outcome.request) for each in served for _, outcome in each.runs),
        arrivals=words + (ROUTED[dealing] if several else ""),
        assumed=tuple(sorted(each.name for each in as_asked if each.arrivals is None)),
        from_trace=tuple(sorted(each.name for each in as_asked if each.arrivals and each.arrivals.read_from)),
        recorded=tuple(sorted(name for name, each in asked.items() if each.kept is not None)),
        days=days,
        seeds=seeds,
        confidence=confidence,
        likely=LIKELY,
        holds=all_hold(classes),
        classes=classes,
        deployments=[item for each in served for item in _deployments(each)],
        not_simulated=sorted(_not_simulated(claim, loss)),
        autoscaling=autoscaling(claim, scaled, autoscale, warm_up) if autoscale and scaled else None,
        **(_told_over_time(claim, served, parts, warm_up) if parts else {}),
    )


def _judged(served: "_Served", warm_up: float, days: int | None) -> Iterator[SimulatedClass]:
    """A workload's classes against their limits, over days in each hour."""
    counted = served.counted(warm_up)
    found = judged(served.service, counted, of_record=served.of_record)
    return found if days is None else held_by_hour(served.service, counted, found)


def _not_simulated(claim: Claim, loss: SimulatedLoss | None) -> set[str]:
    """Hosted APIs; in a loss replicas that stand by, too, of which a plan does not say what they would be sent."""
    hosted = {f"{item.workload}: {item.api} at {item.provider}" for item in claim.fleet.hosted}
    if loss is None:
        return hosted
    idle = [d for d in claim.fleet.deployments if all(entry.requests_per_second == 0 for entry in d.schedule)]
    return hosted | {f"{d.workload}: replicas on {d.gpu} at {d.provider} that stand by" for d in idle}


def _told_over_time(claim: Claim, served: Sequence["_Served"], parts: int, warm_up: float) -> dict[str, Any]:
    """The fields that tell when it was, and what it cost; of no use beside a plan."""
    losing = [(each, each.lost, each.lost_from_s) for each in served if each.lost is not None]
    return {
        "over_time": tuple(p for each in served for p in over_time(each.service, each.requests, each.span_s, parts)),
        "broken_spells": tuple(s for each in served for s in broken_spells(each.service, each.requests, each.span_s)),
        "lost": tuple(words for each, lost, at_s in losing for words in loss_in_words(each.service, lost, at_s)),
        "phases": tuple(
            phase
            for each, lost, at_s in losing
            for phase in around_loss(each.service, each.requests, at_s, at_s + lost.lasts_s, each.span_s)
        ),
        "costs": tuple(
            costs_of(claim, each.service.workload, each.requests.after(warm_up))
            for each in served
            # of replicas that a scaler asks for the plan's cost is not that of a request
            if each.scaled is None
        ),
    }


@dataclass(frozen=True)
class _Served:
    """A workload with its runs, one a seed: when its requests came, and what became of them.

    Attributes:
        service: The workload.
        runs: One a seed.
        of_record: Whether its requests are those of a record, all of which are there.
        lost: What it lost.
        lost_from_s: From when on, after the first request.
        scaled: Where a scaler has replicas there: what it asked for, beside the plan's own hours.
    """

    service: ServedWorkload
    runs: Sequence[tuple[Stream, Outcome]]
    of_record: bool = False
    lost: Lost | None = None
    lost_from_s: float = 0.0
    scaled: ScaledWeek | None = None

    @cached_property
    def requests(self) -> ServedRequests:
        """Of all runs."""
        return met_by(self.service, self.runs)

    @property
    def span_s(self) -> float:
        """The longest of a run."""
        return max(stream.span_s for stream, _ in self.runs)

    def counted(self, warm_up: float) -> ServedRequests:
        """Those by which promises are judged: that came while a loss lasted, else all but those of the warm-up."""
        if self.lost is None:
            return self.requests.after(warm_up)
        return self.requests.between(self.lost_from_s, self.lost_from_s + self.lost.lasts_s)


def _by_arrivals(
    claim: Claim,
    confidence: float,
    router: Dealing,
    luck: Sequence[int],
    arrivals: Arrivals | None,
    requests: int,
    loss: SimulatedLoss | None,
) -> Iterator[_Served]:
    """Every workload that replicas serve, at its busiest."""
    for each in services(claim, confidence):
        service = replace(each, router=router)
        coming = arrivals or Arrivals.as_asked(service)
        fleet, count = _simulated_part(service, coming, requests)
        lost = None if loss is None else lost_of(claim, fleet, loss)
        half_s = coming.expected_s(fleet, count) / 2
        if lost is not None and coming.may_go_on:
            count = requests_through(lost, fleet.rate_per_s, count)
        losing = None if lost is None else (lost, half_s)
        runs = [_run(fleet, coming, count, seed, losing) for seed in luck]
        yield _Served(service, runs, coming.is_record, None if loss is None else lost_of(claim, service, loss), half_s)


def _by_hours(
    claim: Claim, confidence: float, router: Dealing, luck: Sequence[int], days: int, autoscale: float | None
) -> Iterator[_Served]:
    """Every workload that replicas serve, over so many days."""
    asked = weeks(claim, confidence, days, router)
    if autoscale is not None:
        for scaled in scaled_weeks(claim, asked, router, luck, autoscale, MOST_REPLICAS):
            met = [(each.stream, each.scaled) for each in scaled.seeds]
            yield _Served(replace(scaled.week.service, router=router), met, scaled=scaled)
        return
    for week in asked:
        runs = [served_week(week, router, MOST_REPLICAS, (seed, OF_ANY_WORKLOAD)) for seed in luck]
        yield _Served(replace(week.service, router=router), runs)


def holds_alone(service: ServedWorkload, names: Container[PromiseName]) -> bool:
    """Whether a workload's replicas keep those promises without doubt; many requests say it where few do not decide."""
    few, many = TRIED_REQUESTS
    found = of_these_alone(_judged_alone(service, few), names)
    if all_hold(found) is None and Arrivals.as_asked(service).may_go_on:
        found = of_these_alone(_judged_alone(service, many), names)
    return without_doubt(found)


def _judged_alone(service: ServedWorkload, requests: int) -> list[SimulatedClass]:
    """What so many requests meet at a workload's replicas."""
    coming = Arrivals.as_asked(service)
    fleet, count = _simulated_part(service, coming, requests)
    runs = [_run(fleet, coming, count, seed=0)]
    return list(judged(service, met_by(service, runs).after(WARM_UP), of_record=coming.is_record))


def _in_words(asked: Mapping[str, Arrivals]) -> str:
    """How requests arrive, by workload where they differ."""
    words = {name: each.words for name, each in asked.items()}
    several = len(set(words.values())) > 1
    return ", ".join(f"{name} {each}" for name, each in words.items()) if several else next(iter(words.values()), "")


def _simulated_part(service: ServedWorkload, arrivals: Arrivals, requests: int) -> tuple[ServedWorkload, int]:
    """The fleet that requests are dealt to, and how many there are, enough for each of its replicas."""
    largest = LARGEST_COUNTED_FLEET if service.router in KNOWING else LARGEST_FLEET
    fleet = service if arrivals.is_record else service.no_larger_than(largest)
    return fleet, max(requests, REQUESTS_OF_A_REPLICA * sum(server.replicas for server in fleet.servers))


def _run(
    fleet: ServedWorkload,
    arrivals: Arrivals,
    requests: int,
    seed: int,
    losing: tuple[Lost, float] | None = None,
) -> tuple[Stream, Outcome]:
    """One seed's requests, served; the same ones whatever the plan is, so that two plans meet the same luck."""
    coming, dealing = (np.random.default_rng([seed, OF_ANY_WORKLOAD, use]) for use in range(2))
    stream = arrivals.stream(coming, fleet, requests)
    lost, left_per_s = NO_OUTAGES, None
    if losing is not None:
        what, from_s = losing
        lost, left_per_s = what.outages(float(stream.arrived_s[0]) + from_s), what.left_per_s(fleet)
    outcome = serve_stream(
        dealing,
        stream,
        fleet.servers,
        fleet.workload.cached_input_share,
        MOST_REPLICAS,
        router=fleet.router,
        outages=lost,
        left_per_s=left_per_s,
    )
    return stream, outcome


def _deployments(served: _Served) -> Iterator[SimulatedDeployment]:
    """How busy the replicas that were looked at were, over all runs."""
    for number, d in enumerate(served.service.deployments):
        spans = [(stream.span_s, done) for stream, outcome in served.runs for done in outcome.replicas[number]]
        together_s = sum(span for span, _ in spans)
        concurrency = sum(done.sequence_s for _, done in spans) / together_s
        sent_per_s = sum(len(done.finished_s) for _, done in spans) / together_s
        cache_tokens = int(memory_use(served.service.servers[number].costs.setup).kv_capacity_tokens[0])
        yield SimulatedDeployment(
            workload=d.workload,
            gpu=d.gpu,
            provider=d.provider,
            replicas=served.service.servers[number].replicas,
            replicas_simulated=len(served.runs[0][1].replicas[number]),
            busy_share=min(sum(done.busy_s for _, done in spans) / together_s, 1.0),
            concurrency=concurrency,
            # as many are in flight as come in the time that one takes (Little 1961)
            waiting=max(sent_per_s * _mean_e2e_s(served.runs, number) - concurrency, 0.0),
            preempted=sum(done.preempted for _, done in spans),
            kv_cache_tokens=cache_tokens if any(stream.blocks is not None for stream, _ in served.runs) else None,
        )


def _mean_e2e_s(runs: Sequence[tuple[Stream, Outcome]], number: int) -> float:
    """Of the requests of a deployment that were answered."""
    took_s = np.concatenate([outcome.e2e_s[outcome.server == number] for _, outcome in runs])
    answered = took_s[np.isfinite(took_s)]
    return float(answered.mean()) if len(answered) else 0.0

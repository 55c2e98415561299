"""A plan under simulated requests: what arrives at its replicas, what they do, and whether the promises hold."""

from collections.abc import Container, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from optimizer.base.units import HOURS_PER_DAY
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.scenario.scenario import Scenario
from optimizer.performance.physics.memory import memory_use
from optimizer.performance.simulation.arrivals import Stream
from optimizer.performance.simulation.dealing import Dealing
from optimizer.performance.simulation.fleet import Outcome
from optimizer.plan.record.fleet import PlannedFleet
from optimizer.plan.record.simulation import SimulatedClass, SimulatedDeployment, Simulation
from optimizer.plan.simulate.arriving import Arrivals
from optimizer.plan.simulate.autoscaling import autoscaling
from optimizer.plan.simulate.hours import held_by_hour
from optimizer.plan.simulate.judging import (
    LIKELY,
    PromiseName,
    all_hold,
    around_loss,
    judged,
    met_by,
    of_these_alone,
    over_time,
    without_doubt,
)
from optimizer.plan.simulate.losing import SimulatedLoss, loss_in_words
from optimizer.plan.simulate.served import (
    ServedRuns,
    one_run,
    served_as_they_arrive,
    served_by_hours,
    simulated_part,
    steadily_dealt_to,
)
from optimizer.plan.simulate.servers import ServedWorkload, services
from optimizer.plan.simulate.spells import broken_spells
from optimizer.plan.simulate.spending import costs_of
from optimizer.plan.verify.claim import Claim

WARM_UP: Final = 0.1
"""Share of the time that is left out while the replicas fill."""
CONFIRMING_REQUESTS: Final = (5_000, 20_000)
"""Of each workload beside a plan: so few where they decide every limit, else so many, within a fifth of a second."""
DECIDING_REQUESTS: Final = (80_000,)
"""The same where these leave a promise in doubt that each deployment alone keeps, or of a plan found late: a second."""
TRIED_REQUESTS: Final = (2_000, 10_000)
"""Of a deployment alone, in a tenth of a second: so few where they decide, as beside a plan, else so many."""
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
        served = list(served_as_they_arrive(claim, confidence, dealing, luck, arrivals, requests, loss))
    else:
        served = list(served_by_hours(claim, confidence, dealing, luck, days, autoscale))
    warm_up = WARM_UP if days is None else 1 / (days * HOURS_PER_DAY)
    scaled = [each.scaled for each in served if each.scaled is not None]
    classes = [item for each in served for item in _judged(each, warm_up, days)]
    coming = _Coming.as_asked(served) if arrivals is None else _Coming(arrivals.words)
    several = any(len(each.service.servers) > 1 or each.service.servers[0].replicas > 1 for each in served)
    return Simulation(
        requests=sum(len(outcome.request) for each in served for _, outcome in each.runs),
        arrivals=coming.words + (ROUTED[dealing] if several else ""),
        assumed=coming.assumed,
        from_trace=coming.from_trace,
        recorded=coming.recorded,
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


class _Coming(NamedTuple):
    """How requests arrive, in words, and the workloads for which that is assumed, read from a trace, or recorded."""

    words: str
    assumed: tuple[str, ...] = ()
    from_trace: tuple[str, ...] = ()
    recorded: tuple[str, ...] = ()

    @classmethod
    def as_asked(cls, served: Sequence[ServedRuns]) -> "_Coming":
        """As the scenario says of each workload; by workload where they differ."""
        workloads = [each.service.workload for each in served]
        asked = {each.service.workload.name: Arrivals.as_asked(each.service) for each in served}
        words = [each.words for each in asked.values()]
        by_name = ", ".join(f"{name} {each.words}" for name, each in asked.items())
        return cls(
            by_name if len(set(words)) > 1 else next(iter(words), ""),
            assumed=tuple(sorted(each.name for each in workloads if each.arrivals is None)),
            from_trace=tuple(sorted(each.name for each in workloads if each.arrivals and each.arrivals.read_from)),
            recorded=tuple(sorted(name for name, each in asked.items() if each.kept is not None)),
        )


def _judged(served: ServedRuns, warm_up: float, days: int | None) -> Iterator[SimulatedClass]:
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


def _told_over_time(claim: Claim, served: Sequence[ServedRuns], parts: int, warm_up: float) -> dict[str, Any]:
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


def holds_alone(service: ServedWorkload, names: Container[PromiseName], counts: Sequence[int] = TRIED_REQUESTS) -> bool:
    """Whether a workload's replicas keep those promises without doubt, as the first of some counts of requests says
    that decides, or the last."""
    first, *more = counts
    found = of_these_alone(_judged_alone(service, first), names)
    for requests in more:
        if all_hold(found) is None and Arrivals.as_asked(service).may_go_on:
            found = of_these_alone(_judged_alone(service, requests), names)
    return without_doubt(found)


def _judged_alone(service: ServedWorkload, requests: int) -> list[SimulatedClass]:
    """What so many requests meet at a workload's replicas."""
    coming = Arrivals.as_asked(service)
    fleet, count = simulated_part(service, coming, requests)
    runs = [one_run(fleet, coming, count, seed=0)]
    met = met_by(service, runs, steadily_dealt_to(fleet, coming))
    return list(judged(service, met.after(WARM_UP), of_record=coming.is_record))


def _deployments(served: ServedRuns) -> Iterator[SimulatedDeployment]:
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

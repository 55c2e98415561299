"""What replicas are found to hold where a plan breaks a promise: the rate at which a simulation leaves no doubt."""

import math
from collections.abc import Iterable, Iterator, Sequence, Set
from operator import attrgetter
from typing import Final, NamedTuple

import numpy as np

from optimizer.base.clock import Clock, LimitReached
from optimizer.base.figures import figure
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.scenario.scenario import Policy, Scenario
from optimizer.performance.candidates.lowering import (
    Kin,
    LoweredRate,
    SimulatedMix,
    counted_shares,
    kin_of,
    last_of_each,
)
from optimizer.plan.record.fleet import Deployment, PlannedFleet
from optimizer.plan.record.simulation import HeldRate, Simulation
from optimizer.plan.simulate.judging import PromiseName, in_doubt, name_of, promises
from optimizer.plan.simulate.servers import ServedWorkload, services
from optimizer.plan.simulate.simulated import DECIDING_REQUESTS, TRIED_REQUESTS, holds_alone
from optimizer.plan.verify.claim import Claim, configuration

HALVINGS: Final = 6
"""Of the range below the rate that does not hold."""
OFTEN_WITHIN: Final = 0.125
"""Of what a replica is sent, by how much less most of those hold that do not hold all of it."""
DIGITS: Final = 4
"""To which a share is rounded down, so that a plan file states it exactly."""


class Look(NamedTuple):
    """How deployments are looked at alone: whether they keep these promises, by what counts of requests, how long."""

    promises: Set[PromiseName]
    requests: Sequence[int]
    clock: Clock


def held_rates(
    scenario: Scenario,
    catalogs: Catalogs,
    fleet: PlannedFleet,
    found: Simulation,
    known: Sequence[LoweredRate],
    clock: Clock,
) -> list[HeldRate]:
    """What each deployment holds alone, of the promises that are broken or undecided.

    Every simulation meets the same luck, so that only the rate differs. A deployment that alone keeps these promises at
    what it is sent stays as it is; of several alike that which holds least speaks for all. Of other promises it may see
    requests too few to tell: lowered for these as well, one that was sent a long request in a hundred halved what was
    counted on of all configurations alike, and the plan cost twice as much. Only where each keeps those in doubt, all
    promises count; and where each keeps all of them though together they break one, as many requests as tell that.

    Args:
        scenario: What the plan was made for.
        catalogs: Those that it was made from.
        fleet: The plan.
        found: What simulated requests say of it.
        known: What was lowered before.
        clock: Of the whole question.

    Raises:
        LimitReached: A limit of the clock came before the end.
    """
    claim = Claim(scenario, catalogs, fleet)
    doubtful = {name_of(item, limit) for item, limit in promises(found) if in_doubt(limit)}
    workloads = {workload for workload, *_ in doubtful}
    promised = {name_of(item, limit) for item, limit in promises(found) if item.workload in workloads}
    least: dict[tuple[str, Kin, SimulatedMix | None], HeldRate] = {}
    looks = [Look(doubtful, TRIED_REQUESTS, clock), Look(promised, TRIED_REQUESTS, clock)]
    if found.holds is False:
        looks.append(Look(doubtful, DECIDING_REQUESTS, clock))
    for look in looks:
        for service in services(claim, scenario.policy.confidence):
            if service.workload.name not in workloads:
                continue
            for held in _held_alone(claim, service, look, known):
                own = held.workload, *_simulated_of(held)
                least[own] = min(held, least.get(own, held), key=attrgetter("counted_share"))
        if least:
            break
    return list(least.values())


def lowered_rates(held: Iterable[HeldRate], policy: Policy) -> tuple[LoweredRate, ...]:
    """The same as candidates are told it, found of a plan under that policy."""
    load = policy.highest_load
    found = ((each, *_simulated_of(each)) for each in held)
    return tuple(LoweredRate(each.workload, kin, each.counted_share, load, mix) for each, kin, mix in found)


def _simulated_of(held: HeldRate) -> tuple[Kin, SimulatedMix | None]:
    """Of what it was found: configurations, and the mix of several classes."""
    kin = Kin(*(getattr(held, name) for name in Kin._fields))
    return kin, SimulatedMix(tuple(held.request_share.items()), held.in_doubt) if held.request_share else None


def lowered_in(found: Simulation, policy: Policy) -> tuple[LoweredRate, ...]:
    """All that was lowered for the plan under that policy which was simulated last."""
    solved = [item for item in found.rounds if not item.left_no_plan]
    own = (rate for item in solved for rate in lowered_rates(item.lowered, policy))
    others = (
        LoweredRate(name, None, share, policy.highest_load)
        for item in solved
        for name, share in item.others_counted_share.items()
    )
    return last_of_each((*own, *others))


def _held_alone(claim: Claim, service: ServedWorkload, look: Look, known: Sequence[LoweredRate]) -> Iterator[HeldRate]:
    """The deployments of a workload that do not hold what they are sent."""
    offers = {id(d): offer for d, _, offer in claim.placed}
    highest, classes = claim.policy.highest_load, range(len(service.names))
    for number, d in enumerate(service.deployments):
        of_sent = _largest_share(service, number, look)
        if of_sent == 1:
            continue
        own = kin_of(configuration(d, offers[id(d)]))
        running = d.schedule[service.period]
        mix = _mix_of(service, number, look.promises)
        share = np.array([running.requests_per_second_by_class.get(name, 0.0) for name in service.names])
        counted = counted_shares(known, service.workload, [own], highest).at(classes, share / share.sum())
        held_per_s = of_sent * running.requests_per_second / running.replicas
        predicted_per_s = running.max_requests_per_second / running.replicas / float(counted[0])
        yield _held(d, own, mix, held_per_s, predicted_per_s, highest)


def _mix_of(service: ServedWorkload, number: int, names: Set[PromiseName]) -> SimulatedMix | None:
    """What a deployment is sent, and whose promises are in doubt there; None where it says something of every mix.

    That is so of one class, and over a week: its busiest hours alone are simulated, and in others replicas are sent
    other mixes, of which nobody would ever know.
    """
    if len(service.names) == 1 or len(service.deployments[number].schedule) > 1:
        return None
    sent = service.servers[number].rate_per_s
    share = {name: round(float(part), DIGITS) for name, part in zip(service.names, sent / sent.sum(), strict=True)}
    served = {name: part for name, part in share.items() if part}
    doubted = {name for workload, name, *_ in names if workload == service.workload.name}
    return SimulatedMix(tuple(served.items()), tuple(name for name in served if name in doubted))


def _largest_share(service: ServedWorkload, number: int, look: Look) -> float:
    """Of what a deployment is sent, the most that it holds alone, from below; 1 where it holds all of it."""
    if len(service.deployments) > 1 and holds_alone(service.one_at(number, 1.0), look.promises, look.requests):
        return 1.0
    low, high, below = 0.0, 1.0, OFTEN_WITHIN
    while high - low > 0.5**HALVINGS:
        if (limit := look.clock.reached) is not None:
            raise LimitReached(limit)
        # most replicas hold nearly all that they are sent, so from there down until one holds, twice as far each time
        middle = 1.0 - below if not low and below < 1.0 else (low + high) / 2
        below *= 2
        if holds_alone(service.one_at(number, middle), look.promises, look.requests):
            low = middle
        else:
            high = middle
    return low


def _held(
    d: Deployment,
    of: Kin,
    mix: SimulatedMix | None,
    held_per_s: float,
    predicted_per_s: float,
    highest_load: float,
) -> HeldRate:
    """What is found, and the share of the predicted rate at which no replica is sent more."""
    share = math.floor(held_per_s / (predicted_per_s * highest_load) * 10**DIGITS) / 10**DIGITS
    formats = " ".join(filter(None, (d.precision, d.speculation)))
    sent = f" of {_in_words(mix)}" if mix else ""
    text = (
        f"{d.workload}{sent} on {d.gpus_per_replica}× {d.gpu} {formats}: a replica holds {figure(held_per_s)} of the "
        f"{figure(predicted_per_s * highest_load)} requests/s that it was to be sent at most"
    )
    return HeldRate(
        workload=d.workload,
        **of._asdict(),
        predicted_requests_per_second=predicted_per_s,
        held_requests_per_second=held_per_s,
        counted_share=share,
        request_share=dict(mix.share) if mix else {},
        in_doubt=mix.in_doubt if mix else (),
        text=text,
    )


def _in_words(mix: SimulatedMix) -> str:
    """The classes of a mix with their shares."""
    return ", ".join(f"{share:.0%} {name}" if share < 1 else name for name, share in mix.share)

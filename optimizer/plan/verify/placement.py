"""What stands on which instance, again: it adds up to what runs, fits, and any one instance may be lost."""

from collections import defaultdict
from collections.abc import Sequence

from optimizer.plan.record.fleet import PlacedInstances
from optimizer.plan.verify.claim import Claim, Findings, place_of_deployment, place_of_offer

Carried = dict[tuple[str, str], float]
"""Requests/s by workload and class."""


def placement(claim: Claim) -> Findings:
    """The placement that the plan lists, where the loss of an instance matters; nowhere else is one shown."""
    placed = claim.fleet.placement
    survived, spared = "instance" in claim.policy.losses, claim.policy.spare_on_other_instances
    if not (survived or spared):
        if placed:
            yield False, "a placement is shown where no instance need be lost"
        return
    strangers = [item.instance for item in placed if not _known(claim, item)]
    yield not strangers, f"what stands on {', '.join(strangers) or 'every instance'} is part of the plan"
    if strangers:
        return
    for period in range(len(claim.fleet.periods)):
        now = [item for item in placed if item.period == period]
        yield from _adds_up(claim, period, now)
        if survived:
            yield from _outlasts_each(claim, period, now)
        if spared:
            yield from _serves_without_each(claim, period, now)


def _known(claim: Claim, item: PlacedInstances) -> bool:
    """Whether a period, an offer bought and deployments on it are named, each once and with replicas."""
    offers = {purchase.offer: offer for purchase, offer in claim.bought}
    numbers = [each.deployment for each in item.contents]
    fleet = claim.fleet
    if item.instance not in offers or not 0 <= item.period < len(fleet.periods) or item.count < 1 or not numbers:
        return False
    if len(set(numbers)) < len(numbers) or not all(0 <= number < len(fleet.deployments) for number in numbers):
        return False
    place = place_of_offer(offers[item.instance])
    return all(
        each.replicas > 0
        and each.workload == fleet.deployments[each.deployment].workload
        and place_of_deployment(fleet.deployments[each.deployment]) == place
        for each in item.contents
    )


def _adds_up(claim: Claim, period: int, placed: Sequence[PlacedInstances]) -> Findings:
    """Every replica that runs stands on one instance that is there and has room for all that stands on it."""
    deployments = claim.fleet.deployments
    for number, d in enumerate(deployments):
        standing = sum(
            item.count * each.replicas for item in placed for each in item.contents if each.deployment == number
        )
        running = d.schedule[period].replicas
        yield standing == running, f"{standing} of {running} replicas of {d.workload} on {d.gpu} stand on an instance"
    for purchase, offer in claim.bought:
        there = [item for item in placed if item.instance == purchase.offer]
        used, bought = sum(item.count for item in there), purchase.schedule[period].instances
        yield used <= bought, f"{used} of {bought} × {purchase.offer} hold something"
        for item in there:
            gpus = sum(each.replicas * deployments[each.deployment].gpus_per_replica for each in item.contents)
            yield gpus <= offer.gpu_count, f"{gpus} of {offer.gpu_count} GPUs of an instance of {purchase.offer}"


def _outlasts_each(claim: Claim, period: int, placed: Sequence[PlacedInstances]) -> Findings:
    """Without what stands on any one instance, the rest at full rate carries every class's demand.

    Every deployment serves one mix of classes, so at full rate it serves each class most. What hosted APIs are sent
    stays as it was.
    """
    needed, carried = _needed(claim, period), _carried(claim, period)
    for item in placed:
        lost = _lost(claim, item)
        for (name, asked), wanted in needed.items():
            got = carried[name, asked] - lost[name, asked]
            text = f"after losing an instance of {item.instance}: {got:g} of {wanted:g} requests/s of {name} {asked}"
            yield got >= wanted * (1 - claim.precision.figure), text


def _serves_without_each(claim: Claim, period: int, placed: Sequence[PlacedInstances]) -> Findings:
    """Without its replicas on any one instance a deployment at full rate still serves what it is sent."""
    robust = claim.policy.robust
    for number, d in enumerate(claim.fleet.deployments):
        running = d.schedule[period]
        together = [each.replicas for item in placed for each in item.contents if each.deployment == number]
        left = running.replicas - max(together, default=0)
        most = d.max_requests_per_second / d.replicas * robust.throughput * left
        sent = running.requests_per_second * robust.demand
        text = f"{d.workload} on {d.gpu}: {left} of {running.replicas} replicas serve {most:g} of {sent:g} requests/s"
        yield sent <= most * (1 + claim.precision.figure), f"{text} without the fullest instance"


def _needed(claim: Claim, period: int) -> Carried:
    planned, demand = claim.fleet.periods[period].requests_per_second, claim.policy.robust.demand
    return {
        (name, item.name): planned[name] * item.share * demand
        for name, workload in claim.workloads.items()
        for item in workload.classes()
    }


def _carried(claim: Claim, period: int) -> Carried:
    """By all replicas of a period at full rate, and by hosted APIs."""
    carried: Carried = defaultdict(float)
    for number, d in enumerate(claim.fleet.deployments):
        for key, rate in _rate_of_replica(claim, number).items():
            carried[key] += rate * d.schedule[period].replicas
    for api in claim.fleet.hosted:
        sent = api.schedule[period].requests_per_second * claim.policy.robust.demand
        carried[api.workload, api.request_class] += sent
    return carried


def _lost(claim: Claim, item: PlacedInstances) -> Carried:
    """What stands on one of these instances carries at full rate."""
    lost: Carried = defaultdict(float)
    for each in item.contents:
        for key, rate in _rate_of_replica(claim, each.deployment).items():
            lost[key] += rate * each.replicas
    return lost


def _rate_of_replica(claim: Claim, number: int) -> Carried:
    """Requests/s of each class that one replica of a deployment sustains."""
    d = claim.fleet.deployments[number]
    rate = d.max_requests_per_second / d.replicas * claim.policy.robust.throughput
    return {(d.workload, item.name): rate * item.share for item in d.classes}

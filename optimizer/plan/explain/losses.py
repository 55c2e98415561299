"""What a plan still serves after it lost something: the least share of any class's demand, and after which loss."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from optimizer.inputs.catalog.entries.terms import Terms
from optimizer.inputs.catalog.kinds import SPOT
from optimizer.inputs.scenario.scenario import Scenario
from optimizer.plan.record.explanation import InstanceLost
from optimizer.plan.record.fleet import Deployment, PlacedInstances, PlannedFleet

Lost = Callable[[int, Deployment, int], int]
"""Replicas of a deployment that a loss takes: its number, the deployment, how many run."""


@dataclass(frozen=True)
class Loss:
    """One place that may be lost: a provider, a region, all of a spot offer."""

    kind: str
    place: tuple[str, ...]

    @property
    def words(self) -> str:
        """As people say it."""
        return " ".join(self.place)

    def lost(self, number: int, d: Deployment, replicas: int) -> int:
        """All replicas of a deployment that stands there."""
        del number
        return replicas if _place(self.kind, d) == self.place else 0


def by_operator(bought: PlannedFleet, terms: Terms) -> PlannedFleet:
    """The plan with whoever runs the machines in the place of providers, whose loss takes all of it."""
    return replace(
        bought,
        deployments=tuple(d.model_copy(update={"provider": terms.run_by(d.provider)}) for d in bought.deployments),
        hosted=tuple(api.model_copy(update={"provider": terms.run_by(api.provider)}) for api in bought.hosted),
    )


def share_left(scenario: Scenario, bought: PlannedFleet) -> tuple[float, str]:
    """The least share of a class's demand, in any period, that survives any loss named, and the loss in words."""
    places = sorted(
        {(kind, _place(kind, d)) for kind in scenario.policy.losses for d in bought.deployments}
        | {("provider", (api.provider,)) for api in bought.hosted if "provider" in scenario.policy.losses}
    )
    events = [Loss(kind, place) for kind, place in places if place]
    left = [
        (share, loss.words)
        for loss in events
        for period in range(len(bought.periods))
        for share, _ in _shares(scenario, bought, period, loss.lost, loss.place if loss.kind == "provider" else ())
    ]
    # nothing is placed where no instance need be lost
    left += [
        (share, f"an instance of {item.instance}")
        for item in bought.placement
        for share, _ in _shares(scenario, bought, item.period, _standing_on(item), ())
    ]
    return min(left, default=(1.0, ""))


def instance_lost(scenario: Scenario, bought: PlannedFleet) -> InstanceLost | None:
    """What the loss of any one instance would leave of the workload that it hits hardest; None where none is rented.

    Where the plan does not say what stands on which instance, one is taken to be full of each of its deployments, so
    that no placement leaves less.
    """
    placed = [
        (item.period, _machine_of(bought.deployments[item.contents[0].deployment], bought), _standing_on(item))
        for item in bought.placement
    ]
    full = [
        (period, _machine_of(on, bought), _full_of(on))
        for on in bought.deployments
        for period in range(len(bought.periods))
        if on.schedule[period].replicas
    ]
    left = [
        (share, workload, machine)
        for period, machine, lost in placed or full
        for share, workload in _shares(scenario, bought, period, lost, ())
    ]
    if not left:
        return None
    share, workload, machine = min(left)
    if share >= 1:
        effect = "all demand is still served"
    elif share > 0:
        effect = f"the rest serves {share:.0%} of the demand of {workload} within the limits"
    else:
        effect = f"nothing serves {workload}"
    text = f"if one {machine} fails, {effect}"
    return InstanceLost(instance=machine, workload=workload, share_left=share, text=text)


def _machine_of(d: Deployment, bought: PlannedFleet) -> str:
    """Its type and seller; with its size where machines of several sizes go by one name."""
    sizes = {
        each.gpus_per_instance
        for each in bought.deployments
        if (each.provider, each.instance_type) == (d.provider, d.instance_type)
    }
    size = f"{d.gpus_per_instance}-GPU " if len(sizes) > 1 else ""
    return f"{size}{d.instance_type} at {d.provider}"


def _full_of(on: Deployment) -> Lost:
    """The loss of an instance of a deployment's offer, full of the replicas of any deployment there."""
    offer = _offer(on)
    return lambda _, d, replicas: min(replicas, d.gpus_per_instance // d.gpus_per_replica) if _offer(d) == offer else 0


def _offer(d: Deployment) -> tuple[str | int, ...]:
    return (d.provider, d.region, d.instance_type, d.gpu, d.gpus_per_instance, d.pricing_term, d.commitment_months)


def _place(kind: str, d: Deployment) -> tuple[str, ...]:
    """What of a deployment goes together when that kind of place is lost; empty where it is not one."""
    if kind == "provider":
        return (d.provider,)
    if kind == "region":
        return (d.provider, d.region)
    if kind == "spot_offer" and d.pricing_term == SPOT:
        return (d.provider, d.region, d.instance_type, d.pricing_term)
    return ()


def _standing_on(item: PlacedInstances) -> Lost:
    """The loss of one of these instances."""
    together = {each.deployment: each.replicas for each in item.contents}
    return lambda number, _, replicas: min(together.get(number, 0), replicas)


def _shares(
    scenario: Scenario, bought: PlannedFleet, period: int, lost: Lost, provider: tuple[str, ...]
) -> Iterator[tuple[float, str]]:
    """By class, with its workload's name, what is left at full rate in a period, over what is asked.

    Hosted APIs are sent what they were.

    Args:
        scenario: What is asked.
        bought: The plan.
        period: Which.
        lost: What the loss takes of each deployment.
        provider: The one that is lost with its hosted APIs, if one is.
    """
    robust = scenario.policy.robust
    for workload in scenario.workloads:
        for item in workload.classes():
            asked = bought.periods[period].requests_per_second[workload.name] * item.share * robust.demand
            full_rate = sum(
                d.max_requests_per_second / d.replicas * (running - lost(number, d, running)) * served.share
                for number, d in enumerate(bought.deployments)
                for running in (d.schedule[period].replicas,)
                for served in d.classes
                if (d.workload, served.name) == (workload.name, item.name)
            )
            by_api = sum(
                api.schedule[period].requests_per_second
                for api in bought.hosted
                if (api.workload, api.request_class) == (workload.name, item.name) and (api.provider,) != provider
            )
            if asked:
                yield (full_rate * robust.throughput + by_api * robust.demand) / asked, workload.name

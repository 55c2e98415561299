"""What a plan still serves after it lost something: the least share of any class's demand, and after which loss."""

from collections.abc import Iterator
from dataclasses import dataclass

from optimizer.inputs.catalog.kinds import SPOT
from optimizer.inputs.scenario.scenario import Scenario
from optimizer.plan.record.fleet import Deployment, PlannedFleet


@dataclass(frozen=True)
class Loss:
    """One thing that may be lost: a provider, a region, all of a spot offer, or an instance of an offer."""

    kind: str
    place: tuple[str, ...]

    @property
    def words(self) -> str:
        """As people say it."""
        article = "an instance at " if self.kind == "instance" else ""
        return article + " ".join(self.place)

    def left(self, d: Deployment, replicas: int) -> int:
        """Replicas of a deployment that still run; an instance takes along as many as it can hold."""
        if _place(self.kind, d) != self.place:
            return replicas
        lost = d.gpus_per_instance // d.gpus_per_replica if self.kind == "instance" else replicas
        return max(replicas - lost, 0)


def share_left(scenario: Scenario, bought: PlannedFleet) -> tuple[float, str]:
    """The least share of a class's demand, in any period, that survives any loss named, and the loss in words."""
    losses = sorted(
        {(kind, _place(kind, d)) for kind in scenario.policy.survive.loss_of for d in bought.deployments}
        | {("provider", (api.provider,)) for api in bought.hosted if "provider" in scenario.policy.survive.loss_of}
    )
    events = [Loss(kind, place) for kind, place in losses if place]
    return min(((share, loss.words) for loss in events for share in _shares(scenario, bought, loss)), default=(1.0, ""))


def _place(kind: str, d: Deployment) -> tuple[str, ...]:
    """What of a deployment goes together when that kind of thing is lost; empty where it is not one."""
    if kind == "provider":
        return (d.provider,)
    if kind == "region":
        return (d.provider, d.region)
    if kind == "spot_offer" and d.pricing_term != SPOT:
        return ()
    return (d.provider, d.region, d.instance_type, d.pricing_term)


def _shares(scenario: Scenario, bought: PlannedFleet, loss: Loss) -> Iterator[float]:
    """By period and class what is left at full rate, over what is asked; hosted APIs are sent what they were."""
    robust = scenario.policy.robust
    for t, period in enumerate(bought.periods):
        for workload in scenario.workloads:
            for item in workload.classes():
                asked = period.requests_per_second[workload.name] * item.share * robust.demand
                full_rate = sum(
                    d.max_requests_per_second / d.replicas * loss.left(d, d.schedule[t].replicas) * served.share
                    for d in bought.deployments
                    for served in d.classes
                    if (d.workload, served.name) == (workload.name, item.name)
                )
                by_api = sum(
                    api.schedule[t].requests_per_second
                    for api in bought.hosted
                    if (api.workload, api.request_class) == (workload.name, item.name)
                    and (loss.kind, loss.place) != ("provider", (api.provider,))
                )
                if asked:
                    yield (full_rate * robust.throughput + by_api * robust.demand) / asked

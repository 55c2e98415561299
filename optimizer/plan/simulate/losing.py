"""What of a plan is lost in the middle of the simulated time, until servers in its place have started."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from optimizer.base.units import BYTES_PER_GB, SECONDS_PER_MINUTE
from optimizer.inputs.catalog.kinds import SPOT
from optimizer.performance.per_second.sales import start_seconds
from optimizer.performance.physics.memory import memory_use
from optimizer.performance.simulation.arrivals import Stream
from optimizer.performance.simulation.outage import Outage
from optimizer.plan.record.fleet import Deployment
from optimizer.plan.simulate.servers import ServedWorkload
from optimizer.plan.verify.claim import Claim


@dataclass(frozen=True)
class SimulatedLoss:
    """What is lost of each workload at half of the time.

    Attributes:
        of: One instance of the deployment that is sent most; all of a region; or all spot instances of one provider's
            region, those that are sent most, which were seen to go nearly together.
        region: Which one, with or without its provider before it: aws/us-east-1.
    """

    of: Literal["instance", "region", "spot"]
    region: str = ""

    def takes(self, d: Deployment) -> bool:
        """Whether a deployment of a plan may be lost so."""
        if self.of == "region":
            return self.region in (d.region, f"{d.provider}/{d.region}")
        return self.of == "instance" or d.pricing_term == SPOT


def outages(claim: Claim, service: ServedWorkload, stream: Stream, loss: SimulatedLoss) -> Mapping[int, Outage]:
    """The replicas that are lost, by the position of their deployment; back when a server with their weights has
    started, of spot after the policy's recovery where it says one."""
    sent = [float(server.rate_per_s.sum()) for server in service.servers]
    may = [number for number, d in enumerate(service.deployments) if loss.takes(d)]
    if not may:
        return {}
    most = service.deployments[max(may, key=lambda number: sent[number])]
    if loss.of == "instance":
        may = [int(np.argmax(sent))]
    if loss.of == "spot":
        may = [number for number in may if _place(service.deployments[number]) == _place(most)]
    at_s = float(stream.arrived_s[0]) + stream.span_s / 2
    return {number: _outage(claim, service, number, at_s, loss) for number in may}


def _place(d: Deployment) -> tuple[str, str]:
    return d.provider, d.region


def _outage(claim: Claim, service: ServedWorkload, number: int, at_s: float, loss: SimulatedLoss) -> Outage:
    d, server = service.deployments[number], service.servers[number]
    weights_gb = float(memory_use(server.costs.setup).weights[0]) * d.gpus_per_replica / BYTES_PER_GB
    to_s = at_s + start_seconds(claim.catalogs, claim.policy, d.engine, weights_gb)
    if loss.of == "spot" and claim.policy.spot is not None:
        to_s = at_s + claim.policy.spot.recovery_minutes * SECONDS_PER_MINUTE
    of_instance = min(max(d.gpus_per_instance // d.gpus_per_replica, 1), server.replicas)
    return Outage(of_instance if loss.of == "instance" else server.replicas, from_s=at_s, to_s=to_s)


def loss_in_words(service: ServedWorkload, stream: Stream, lost: Mapping[int, Outage]) -> Iterator[str]:
    """What was lost, from when until when."""
    for number, outage in lost.items():
        d, server = service.deployments[number], service.servers[number]
        minutes = [(each - float(stream.arrived_s[0])) / SECONDS_PER_MINUTE for each in (outage.from_s, outage.to_s)]
        yield (
            f"{d.workload}: {outage.replicas} of {server.replicas} replicas on {d.gpu} at {d.provider} lost from "
            f"minute {minutes[0]:,.1f} to {minutes[1]:,.1f}, when a server in their place has started"
        )

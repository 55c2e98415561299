"""An instance of a plan that is lost in the middle of the simulated time, until one in its place has started."""

import numpy as np

from optimizer.base.units import BYTES_PER_GB, SECONDS_PER_MINUTE
from optimizer.performance.per_second.sales import start_seconds
from optimizer.performance.physics.memory import memory_use
from optimizer.performance.simulation.arrivals import Stream
from optimizer.performance.simulation.outage import Outage
from optimizer.plan.simulate.servers import ServedWorkload
from optimizer.plan.verify.claim import Claim


def instance_lost(claim: Claim, service: ServedWorkload, stream: Stream) -> Outage:
    """The replicas that stand on one instance of the deployment that a workload sends most, lost at half of the time.

    Back they are when a server has started that has their weights to load.
    """
    number = int(np.argmax([server.rate_per_s.sum() for server in service.servers]))
    d, server = service.deployments[number], service.servers[number]
    weights_gb = float(memory_use(server.costs.setup).weights[0]) * d.gpus_per_replica / BYTES_PER_GB
    at_s = float(stream.arrived_s[0]) + stream.span_s / 2
    return Outage(
        server=number,
        replicas=min(max(d.gpus_per_instance // d.gpus_per_replica, 1), server.replicas),
        from_s=at_s,
        to_s=at_s + start_seconds(claim.catalogs, claim.policy, d.engine, weights_gb),
    )


def loss_in_words(service: ServedWorkload, stream: Stream, outage: Outage) -> str:
    """What was lost, from when until when."""
    d, server = service.deployments[outage.server], service.servers[outage.server]
    minutes = [(each - float(stream.arrived_s[0])) / SECONDS_PER_MINUTE for each in (outage.from_s, outage.to_s)]
    return (
        f"{d.workload}: {outage.replicas} of {server.replicas} replicas on {d.gpu} at {d.provider} lost from minute "
        f"{minutes[0]:,.1f} to {minutes[1]:,.1f}, when a server in their place has started"
    )

"""How long a replica takes from being asked for to its first answer, and who says so."""

from typing import Final, NamedTuple

from optimizer.base.units import BYTES_PER_GB, SECONDS_PER_MINUTE
from optimizer.inputs.scenario.policy import DEFAULT_START_UP_MINUTES
from optimizer.performance.per_second.sales import start_seconds
from optimizer.performance.physics.memory import memory_use
from optimizer.performance.simulation.costs import ReplicaCosts
from optimizer.plan.record.fleet import Deployment
from optimizer.plan.verify.claim import Claim

STATED: Final = "as policy.elastic.start_up_minutes says"
KNOWN: Final = "as catalogs/start_up.csv has it of a server with these weights"


class ReplicaStart(NamedTuple):
    """Of a replica: seconds, and in words how they are known."""

    seconds: float
    known: str


def start_of(claim: Claim, d: Deployment, costs: ReplicaCosts) -> ReplicaStart:
    """What the policy says where it says something of its own, else what the catalogs know of such weights."""
    stated = claim.policy.elastic.start_up_minutes
    if stated != DEFAULT_START_UP_MINUTES:
        return ReplicaStart(stated * SECONDS_PER_MINUTE, STATED)
    weights_gb = float(memory_use(costs.setup).weights[0]) * d.gpus_per_replica / BYTES_PER_GB
    return ReplicaStart(start_seconds(claim.catalogs, claim.policy, d.engine, weights_gb), KNOWN)

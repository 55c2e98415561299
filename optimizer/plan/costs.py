"""Where the month's money goes."""

from collections.abc import Sequence
from decimal import Decimal

from optimizer.plan.plan import Costs, Deployment, Purchase, cents


def costs(deployments: Sequence[Deployment], purchases: Sequence[Purchase]) -> Costs:
    """Compute by what it is paid for; storage and transfer are not priced and say so."""
    compute = sum((p.monthly_cost_usd for p in purchases), Decimal(0))
    idle = sum((p.monthly_cost_usd * p.idle_gpus / p.gpus for p in purchases), Decimal(0))
    spare = sum((_headroom(d) for d in deployments), Decimal(0))
    return Costs(
        compute_usd=compute,
        storage_usd=None,
        egress_usd=None,
        idle_gpus_usd=cents(idle),
        headroom_usd=cents(spare),
        unpriced=["storage", "egress"],
    )


def _headroom(d: Deployment) -> Decimal:
    """The part of a deployment's working GPUs that the planned load does not use."""
    working = d.monthly_cost_usd * d.replicas * d.gpus_per_replica / d.total_gpus
    return working * Decimal(repr(1 - d.utilization))

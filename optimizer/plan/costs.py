"""Where the month's money goes, and how each deployment's price ages."""

from collections.abc import Sequence
from decimal import Decimal

from optimizer.inputs.scenario import Policy
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


def warnings(deployments: Sequence[Deployment], policy: Policy) -> list[str]:
    """What a reader must know before signing: old or derived prices, rates that change over time."""
    found = [
        f"the price of {d.instance_type} at {d.provider} is {d.provenance.price_age_days} days old: ask for a quote"
        for d in deployments
        if d.provenance.price_age_days > policy.flag_price_age_days
    ]
    found += [
        f"the price of {d.instance_type} at {d.provider} is {d.provenance.price_confidence}, not listed"
        for d in deployments
        if d.provenance.price_confidence != "listed"
    ]
    return list(dict.fromkeys(found))

"""Where the month's money goes."""

from collections.abc import Iterable
from decimal import Decimal

from optimizer.base.units import HOURS_PER_MONTH, HOURS_PER_WEEK
from optimizer.plan.record.fields import cents
from optimizer.plan.record.fleet import Costs, Deployment, PlannedFleet, Purchase


def costs(fleet: PlannedFleet) -> Costs:
    """The bill by kind; storage and egress are not priced where none is asked for, and say so."""
    purchases = fleet.purchases
    storage = _sum(_exact(p.instance_hours_per_month) * p.storage_usd_per_hour for p in purchases)
    egress = [d.egress_usd for d in fleet.deployments if d.egress_usd is not None]
    return Costs(
        compute_usd=_sum(p.monthly_cost_usd for p in purchases) - storage,
        storage_usd=storage or None,
        egress_usd=_sum(egress) if egress else None,
        idle_gpus_usd=cents(_sum(p.monthly_cost_usd * p.idle_gpus / p.gpus for p in purchases)),
        headroom_usd=cents(_sum(_headroom(fleet, d) for d in fleet.deployments)),
        start_up_usd=cents(_sum(p.price_usd_per_hour * _start_up_hours(fleet, p) for p in purchases)),
        minimum_billing_usd=cents(_sum(p.price_usd_per_hour * _billed_idle_hours(fleet, p) for p in purchases)),
        serverless_usd=_sum(h.monthly_cost_usd for h in fleet.hosted),
        migration_usd=fleet.migration.one_time_cost_usd if fleet.migration else Decimal(0),
        unpriced=[name for name, amount in (("storage", storage), ("egress", egress)) if not amount],
    )


def _sum(amounts: Iterable[Decimal]) -> Decimal:
    return sum(amounts, Decimal(0))


def _exact(value: float) -> Decimal:
    return Decimal(repr(value))


def _running_hours(fleet: PlannedFleet, purchase: Purchase) -> Decimal:
    """Instance hours of a month."""
    pairs = zip(purchase.schedule, fleet.periods, strict=True)
    return _exact(sum(item.instances * period.hours_per_month for item, period in pairs))


def _billed_idle_hours(fleet: PlannedFleet, purchase: Purchase) -> Decimal:
    """Instance hours of a month that are paid for only because a least time is not over."""
    paid = Decimal(sum(run.hours * run.instances for run in purchase.runs)) * HOURS_PER_MONTH / HOURS_PER_WEEK
    return max(Decimal(0), paid - _running_hours(fleet, purchase))


def _start_up_hours(fleet: PlannedFleet, purchase: Purchase) -> Decimal:
    """Instance hours of a month that are paid for while an instance starts and does not serve."""
    if purchase.always_paid:
        return Decimal(0)
    running = _running_hours(fleet, purchase) + _billed_idle_hours(fleet, purchase)
    return max(Decimal(0), _exact(purchase.instance_hours_per_month) - running)


def _headroom(fleet: PlannedFleet, d: Deployment) -> Decimal:
    """The part of a deployment's working GPUs that the planned load does not use, over all hours of the month."""
    working = (d.monthly_cost_usd - (d.egress_usd or 0)) * d.replicas * d.gpus_per_replica / d.total_gpus
    # Replica hours of a month by period, then the busy ones
    running = [item.replicas * period.hours_per_month for item, period in zip(d.schedule, fleet.periods, strict=True)]
    busy = sum(hours * item.utilization for hours, item in zip(running, d.schedule, strict=True))
    return working * _exact(1 - busy / sum(running))

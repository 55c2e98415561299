"""Where the month's money goes."""

from collections.abc import Iterable
from decimal import Decimal

from optimizer.base.units import HOURS_PER_MONTH, HOURS_PER_WEEK
from optimizer.plan.record.fields import cents
from optimizer.plan.record.fleet import Costs, Deployment, PlannedFleet, Purchase


def costs(fleet: PlannedFleet) -> Costs:
    """The bill by kind; storage and egress are not priced where none is asked for, and say so."""
    purchases, hosted = fleet.purchases, fleet.hosted
    storage = _sum(Decimal(repr(p.instance_hours_per_month)) * p.storage_usd_per_hour for p in purchases)
    sent = [d.egress_usd for d in fleet.deployments if d.egress_usd is not None]
    unpriced = [name for name, missing in (("storage", not storage), ("egress", not sent)) if missing]
    idle = _sum(p.monthly_cost_usd * p.idle_gpus / p.gpus for p in purchases)
    return Costs(
        compute_usd=_sum(p.monthly_cost_usd for p in purchases) - storage,
        storage_usd=storage if storage else None,
        egress_usd=_sum(sent) if sent else None,
        idle_gpus_usd=cents(idle),
        headroom_usd=cents(_sum(_headroom(fleet, d) for d in fleet.deployments)),
        start_up_usd=cents(_sum(_start_up(fleet, p) for p in purchases)),
        minimum_billing_usd=cents(_sum(p.price_usd_per_hour * _lingering_hours(fleet, p) for p in purchases)),
        serverless_usd=_sum(h.monthly_cost_usd for h in hosted),
        migration_usd=fleet.migration.one_time_cost_usd if fleet.migration else Decimal(0),
        unpriced=unpriced,
    )


def _sum(amounts: Iterable[Decimal]) -> Decimal:
    return sum(amounts, Decimal(0))


def _start_up(fleet: PlannedFleet, purchase: Purchase) -> Decimal:
    """What is paid for hours in which an instance starts and does not serve."""
    if purchase.always_paid:
        return Decimal(0)
    running = _running_hours(fleet, purchase) + _lingering_hours(fleet, purchase)
    return purchase.price_usd_per_hour * max(Decimal(0), Decimal(repr(purchase.instance_hours_per_month)) - running)


def _running_hours(fleet: PlannedFleet, purchase: Purchase) -> Decimal:
    pairs = zip(purchase.schedule, fleet.periods, strict=True)
    return Decimal(repr(sum(item.instances * period.hours_per_month for item, period in pairs)))


def _lingering_hours(fleet: PlannedFleet, purchase: Purchase) -> Decimal:
    """Instance hours of a month that are paid for only because a least time is not over."""
    if not purchase.runs:
        return Decimal(0)
    paid = Decimal(sum(run.hours * run.instances for run in purchase.runs)) * HOURS_PER_MONTH / HOURS_PER_WEEK
    return max(Decimal(0), paid - _running_hours(fleet, purchase))


def _headroom(fleet: PlannedFleet, d: Deployment) -> Decimal:
    """The part of a deployment's working GPUs that the planned load does not use, over all hours of the month."""
    working = (d.monthly_cost_usd - (d.egress_usd or 0)) * d.replicas * d.gpus_per_replica / d.total_gpus
    hours = [period.hours_per_month for period in fleet.periods]
    running = sum(item.replicas * h for item, h in zip(d.schedule, hours, strict=True))
    busy = sum(item.replicas * item.utilization * h for item, h in zip(d.schedule, hours, strict=True))
    return working * Decimal(repr(1 - busy / running))

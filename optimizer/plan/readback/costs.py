"""Where the month's money goes."""

from collections.abc import Iterable
from decimal import Decimal
from typing import NamedTuple

from optimizer.base.units import HOURS_PER_MONTH, HOURS_PER_WEEK
from optimizer.inputs.scenario.policy import Policy
from optimizer.plan.readback.summary import offer_of
from optimizer.plan.record.fields import cents
from optimizer.plan.record.fleet import Costs, Deployment, PlannedFleet, Purchase


def costs(fleet: PlannedFleet, policy: Policy) -> Costs:
    """The bill by kind; storage and egress are not priced where none is asked for, and say so."""
    purchases = fleet.purchases
    idle_share = {p.offer: Decimal(p.idle_gpus) / p.gpus for p in purchases}
    by_use = [_by_use(fleet, d, idle_share[offer_of(d)], policy) for d in fleet.deployments]
    storage = _sum(_exact(p.instance_hours_per_month) * p.storage_usd_per_hour for p in purchases)
    egress = [d.egress_usd for d in fleet.deployments if d.egress_usd is not None]
    return Costs(
        compute_usd=_sum(p.monthly_cost_usd for p in purchases) - storage,
        storage_usd=storage or None,
        egress_usd=_sum(egress) if egress else None,
        idle_gpus_usd=cents(_sum(p.monthly_cost_usd * p.idle_gpus / p.gpus for p in purchases)),
        headroom_usd=cents(_sum(item.burst_reserve + item.unused for item in by_use)),
        burst_reserve_usd=cents(_sum(item.burst_reserve for item in by_use)),
        unused_usd=cents(_sum(item.unused for item in by_use)),
        at_prediction_usd=cents(_sum(item.at_prediction for item in by_use)),
        confidence_usd=cents(_sum(item.confidence for item in by_use)),
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


class _ByUse(NamedTuple):
    """What a deployment's working GPUs cost by what they are there for, USD a month."""

    at_prediction: Decimal
    confidence: Decimal
    burst_reserve: Decimal
    unused: Decimal


def _by_use(fleet: PlannedFleet, d: Deployment, idle_share: Decimal, policy: Policy) -> _ByUse:
    """From the limit to the load: replicas as fast as predicted, at the bound, with the reserve, and as they are used.

    Each is a share of the same money, over all hours of the month. With u the share that is used of what replicas
    sustain at the bound, k of the rate at the bound in the predicted one, and m the utilization that the policy allows:
    u·k, u·(1 − k), u·(1/m − 1) as far as that is free, and the rest. Of what is paid for GPUs that idle each deployment
    on an offer bears the same share as of all that is bought there.
    """
    working = (d.monthly_cost_usd - (d.egress_usd or 0)) * (1 - idle_share)
    # replica hours of a month by period, then the busy ones
    running = [item.replicas * period.hours_per_month for item, period in zip(d.schedule, fleet.periods, strict=True)]
    busy = sum(hours * item.utilization for hours, item in zip(running, d.schedule, strict=True))
    used = busy / sum(running)
    at_bound = d.max_requests_per_second / (d.predicted_max_requests_per_second or d.max_requests_per_second)
    allowed = policy.max_utilization * policy.robust.throughput / policy.robust.demand
    kept_free = min(used * (1 / allowed - 1), 1 - used)
    return _ByUse(
        at_prediction=working * _exact(used * at_bound),
        confidence=working * _exact(used * (1 - at_bound)),
        burst_reserve=working * _exact(kept_free),
        unused=working * _exact(1 - used - kept_free),
    )

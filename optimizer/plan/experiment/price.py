"""What a benchmark run costs: the instances of a replica, from their start to the run's end, at their offer's price."""

from collections.abc import Sequence
from decimal import Decimal
from typing import NamedTuple

from optimizer.base.units import HOURS_PER_MONTH, MINUTES_PER_HOUR, SECONDS_PER_HOUR
from optimizer.inputs.catalog.kinds import OWNED
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.scenario.policy import Policy
from optimizer.plan.benchmark.commands import WARM_UPS
from optimizer.plan.benchmark.runs import BenchmarkRun
from optimizer.plan.record.fields import cents
from optimizer.plan.record.fleet import Deployment


class RunPrice(NamedTuple):
    """Of all runs of a deployment, which are made beside each other.

    Attributes:
        usd: To be paid.
        hours: That are paid for.
        instances: That hold one replica.
        pricing_term: On which they are rented for it.
    """

    usd: Decimal
    hours: float
    instances: int
    pricing_term: str


def price_of(runs: Sequence[BenchmarkRun], policy: Policy, catalogs: Catalogs) -> RunPrice:
    """Starting up, warming up and the requests, or the least time that is billed where that is more.

    What is committed to for months is rented on demand for the run where its seller has the same machine so; else the
    whole commitment is the price. Hardware of one's own is paid for already.

    Args:
        runs: Of one deployment.
        policy: How long a start takes, and the least time that a provider bills.
        catalogs: What is for sale.
    """
    d, rate_per_s = runs[0].d, sum(run.rate_per_s for run in runs)
    busy_s = max(run.duration_s for run in runs) + WARM_UPS / rate_per_s
    hours = policy.elastic.start_up_minutes / MINUTES_PER_HOUR + busy_s / SECONDS_PER_HOUR
    instances, usd_per_hour, term = runs[0].instances, d.price_usd_per_hour, d.pricing_term
    if term == OWNED:
        return RunPrice(Decimal(0), hours, instances, term)
    least_hours = float(policy.elastic.billed_hours(d.provider))
    if d.commitment_months:
        on_demand = _on_demand_usd_per_hour(d, catalogs)
        if on_demand is None:
            least_hours = float(d.commitment_months * HOURS_PER_MONTH)
        else:
            usd_per_hour, term = on_demand, "on_demand"
    paid = max(hours, least_hours)
    return RunPrice(cents(Decimal(repr(paid)) * instances * usd_per_hour), paid, instances, term)


def _on_demand_usd_per_hour(d: Deployment, catalogs: Catalogs) -> Decimal | None:
    """Of the same machine from the same seller; the lowest of several."""
    prices = [
        offer.price_usd_per_hour
        for offer in catalogs.offers
        if offer.pricing_term == "on_demand"
        and (offer.provider, offer.region, offer.instance_type) == (d.provider, d.region, d.instance_type)
        and (offer.gpu, offer.gpu_count) == (d.gpu, d.gpus_per_instance)
    ]
    return min(prices, default=None)

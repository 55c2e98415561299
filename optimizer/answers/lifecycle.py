"""Lifetime arithmetic: training once, serving by the month, and where one hosting choice overtakes another.

All money is Decimal and nothing is rounded here; the reader decides how many places to show.
"""

from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal

from optimizer.base.units import HOURS_PER_MONTH, SECONDS_PER_MONTH


@dataclass(frozen=True)
class Training:
    """One training or fine-tuning run.

    Attributes:
        gpus: GPUs rented for the run.
        hours: Duration.
        usd_per_gpu_hour: Rental price.
        overhead_share: Failed runs, evaluation and data work as a share of the run itself.
    """

    gpus: int
    hours: Decimal
    usd_per_gpu_hour: Decimal
    overhead_share: Decimal = Decimal(0)

    @property
    def usd_per_hour(self) -> Decimal:
        """Price of the whole cluster per hour."""
        return self.gpus * self.usd_per_gpu_hour

    @property
    def cost_usd(self) -> Decimal:
        """gpus × hours × rate × (1 + overhead)."""
        return self.usd_per_hour * self.hours * (1 + self.overhead_share)


def serving_usd_per_month(gpus: int, usd_per_gpu_hour: Decimal) -> Decimal:
    """GPUs that run all month: gpus × rate × 730 h."""
    return gpus * usd_per_gpu_hour * HOURS_PER_MONTH


def usd_per_request(usd_per_month: Decimal, requests_per_second: Decimal) -> Decimal:
    """A month's cost spread over the requests of a constant rate."""
    return usd_per_month / (requests_per_second * SECONDS_PER_MONTH)


def cumulative_usd(training_usd: Decimal, usd_per_month: Decimal, months: int) -> Decimal:
    """Spend from the start of training to the end of that month of serving."""
    return training_usd + usd_per_month * months


def overtaking_month(training_usd: Decimal, usd_per_month: Decimal) -> int:
    """The first month, counted from 1, by whose end serving has cost more than training did."""
    return int(training_usd / usd_per_month) + 1


def break_even_requests_per_month(self_hosted_usd_per_month: Decimal, serverless_usd_per_request: Decimal) -> int:
    """Monthly requests from which a fixed self-hosted bill is no dearer than paying per request."""
    return int((self_hosted_usd_per_month / serverless_usd_per_request).to_integral_value(ROUND_CEILING))


def break_even_hours_share(committed_usd_per_hour: Decimal, on_demand_usd_per_hour: Decimal) -> Decimal:
    """Share of the hours that an instance must run for a commitment, paid always, to beat paying by the hour."""
    return committed_usd_per_hour / on_demand_usd_per_hour

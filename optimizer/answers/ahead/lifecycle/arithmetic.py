"""Lifetime arithmetic: what training costs, what is spent by month, and when serving overtakes training.

All money is Decimal and nothing is rounded here; the reader decides how many places to show.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal


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


def cumulative_usd(before_usd: Decimal, by_month: Sequence[Decimal | None]) -> tuple[Decimal | None, ...]:
    """Spend up to the end of each month; not known from the first month on whose own spend is not."""
    total: Decimal | None = before_usd
    totals = []
    for usd in by_month:
        total = None if total is None or usd is None else total + usd
        totals.append(total)
    return tuple(totals)


def overtaking_month(training: Sequence[Decimal | None], serving: Sequence[Decimal | None]) -> int | None:
    """The first month, counted from 1, by whose end serving has cost more than training did.

    Args:
        training: Cumulative, by month.
        serving: Cumulative, by month.
    """
    for month, (spent, served) in enumerate(zip(training, serving, strict=True), start=1):
        if spent is not None and served is not None and served > spent:
            return month
    return None


def checkpoints_held(initial_runs: int, runs_per_month: Decimal, keep_months: int | None, month: int) -> Decimal:
    """Checkpoints in storage in a month, counted from 1: one per run, those before the first month at month 0.

    A run's checkpoint is paid from the month of the run for `keep_months` months; None keeps it for good.
    """
    first = 0 if keep_months is None else max(0, month - keep_months + 1)
    before = Decimal(initial_runs) if first == 0 else Decimal(0)
    return before + runs_per_month * (month - max(first, 1) + 1)


def scaling_efficiency(gpus: int, hours: Decimal, fewer_gpus: int, longer_hours: Decimal) -> Decimal:
    """How much of each GPU's work is kept when a run is spread wider: GPU-hours before over GPU-hours after."""
    return (fewer_gpus * longer_hours) / (gpus * hours)


def inference_share(training_usd: Decimal, serving_usd: Decimal) -> Decimal:
    """Share of serving in all spend."""
    return serving_usd / (training_usd + serving_usd)

"""The answer of `optimizer lifecycle`: training, serving by month, and what the whole adds up to."""

from datetime import date

from optimizer.base.model import Strict
from optimizer.plan.record.fields import Figure, Outcome, UnitUsd, Usd


class RunSize(Strict):
    """A training run on one number of GPUs."""

    gpus: int
    hours: Figure
    cost_usd: Usd
    efficiency: Figure
    """GPU-hours of the smallest size over those of this one."""
    chosen: bool


class TrainingCost(Strict):
    """A training run: price, frequency, and what all its runs cost over the months."""

    name: str
    gpus: int
    gpu: str | None
    hours: Figure
    usd_per_gpu_hour: UnitUsd
    price_source: str
    """`scenario`, or the offer that the policy admits."""
    price_as_of: date | None
    """Of an offer."""
    cost_per_run_usd: Usd
    overhead_share: Figure
    runs: Figure
    cost_usd: Usd
    """All runs."""
    energy_kwh_per_run: Figure | None
    """At the GPUs' rated power; None where the GPU or its power is not known."""
    carbon_kg_per_run: Figure | None
    scaling: list[RunSize]


class MonthOfLife(Strict):
    """One month of serving, the runs that fall into it, and all spend up to its end."""

    month: int
    requests_per_second: Figure
    """Peak of all workloads together."""
    outcome: Outcome
    reason: str = ""
    """Why its plan is not proven to be the cheapest, or why there is none; empty where it is."""
    bound_usd: Usd | None = None
    """No plan serves the month for less; None where nothing is known."""
    relative_gap: Figure | None = None
    """What is left open of the cheapest plan that was found, as a share of its cost."""
    plan: str
    """What runs, or why nothing can."""
    gpus: int | None
    serving_usd: Usd | None
    training_usd: Usd
    storage_usd: Usd
    cumulative_usd: Usd | None
    """Training before the first month included; None once a month has no plan."""
    cost_per_million_output_tokens_usd: UnitUsd | None
    power_kw: Figure | None
    """The GPUs' rated power times the facility's PUE, where `policy.grid` gives one."""
    energy_kwh: Figure | None
    carbon_kg: Figure | None
    output_tokens_per_second: Figure
    """At the peak."""
    tokens_per_second_per_watt: Figure | None


class LifecycleReport(Strict):
    """The whole life of a deployment as the scenario describes it."""

    scenario: str
    outcome: Outcome
    catalog_as_of: date
    months: int
    growth_percent_per_month: Figure
    training: list[TrainingCost]
    by_month: list[MonthOfLife]
    training_before_serving_usd: Usd
    training_usd: Usd
    storage_usd: Usd
    serving_usd: Usd | None
    total_usd: Usd | None
    inference_share: Figure | None
    """Of all spend."""
    overtaking_month: int | None
    """The first month by whose end serving has cost more than all training up to then."""
    first_month_without_plan: int | None
    energy_kwh: Figure | None
    carbon_kg: Figure | None
    pue: Figure | None
    """What power is multiplied by; None: the GPUs alone are counted."""
    notes: list[str]

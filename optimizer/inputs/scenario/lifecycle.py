"""What a scenario says of a model's life beside serving it: training runs, checkpoints kept, growth by the month."""

from typing import Annotated, Self

from pydantic import Field, model_validator

from optimizer.base.model import Strict
from optimizer.base.signs import look
from optimizer.inputs.scenario.fields import Name, Number, PositiveWhole, Whole, repeated
from optimizer.inputs.scenario.horizon import Horizon

MAX_MONTHS = 120

Hours = Annotated[float, Number, Field(gt=0, le=1e6)]
UsdPerHour = Annotated[float, Number, Field(gt=0, le=1e4)]
Overhead = Annotated[float, Number, Field(ge=0, le=100)]
Months = Annotated[int, Number, Field(ge=1, le=MAX_MONTHS)]
Growth = Annotated[float, Number, Field(gt=-100, le=1000)]
Gigabytes = Annotated[float, Number, Field(gt=0, le=1e9)]


class MeasuredRun(Strict):
    """The same training on another number of GPUs: how long it took."""

    gpus: PositiveWhole
    hours: Hours


class Checkpoints(Strict):
    """What every training run leaves in storage."""

    gb_per_run: Gigabytes
    usd_per_gb_month: Annotated[float, Number, Field(ge=0, le=100)]
    keep_months: Months | None = None
    """Older ones are deleted; without it all are kept."""


class TrainingRun(Strict):
    """A training or fine-tuning job: what it takes, what it costs, how often it runs."""

    name: Name
    gpus: PositiveWhole
    hours: Hours
    gpu: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    """Catalog id; prices the run where no price is given, and says what power it draws."""
    usd_per_gpu_hour: UsdPerHour | None = None
    """Without it the cheapest offer of the GPU that the policy admits."""
    overhead_share: Overhead = 0.0
    """Failed runs, evaluation and data work, as a share of the run."""
    initial_runs: Whole = 1
    """Before the first month of serving."""
    runs_per_month: Annotated[float, Number, Field(ge=0, le=10_000)] = 0.0
    """From the first month on."""
    region: Annotated[str, Field(max_length=200)] = ""
    """Where it runs; decides which grid it draws from."""
    checkpoints: Checkpoints | None = None
    scaling: Annotated[tuple[MeasuredRun, ...], Field(max_length=100)] = ()
    """Other numbers of GPUs that were tried, to set time against cost."""

    @model_validator(mode="after")
    def _has_a_price(self) -> Self:
        if self.gpu is None and self.usd_per_gpu_hour is None:
            raise ValueError("give gpu or usd_per_gpu_hour")
        twice = repeated(run.gpus for run in self.scaling)
        if twice:
            raise ValueError(f"{twice} GPUs stand twice in scaling")
        return self


class Lifecycle(Strict):
    """The months that `optimizer lifecycle` adds up, and what `optimizer horizon` plans purchases over."""

    months: Months
    growth_percent_per_month: Growth = 0.0
    """Of every workload's rate, compounded; the scenario's own rates are those of the first month."""
    replan_every_months: Months = 1
    """How long a fleet is kept; it is planned for the busiest of its months."""
    training: Annotated[tuple[TrainingRun, ...], Field(max_length=50)] = ()
    horizon: Horizon | None = None
    """What is not known of the months ahead, and on what terms machines are had; read by `optimizer horizon` alone."""

    @model_validator(mode="after")
    def _names_are_unique(self) -> Self:
        twice = repeated(look(run.name) for run in self.training)
        if twice:
            raise ValueError(f"two training runs are named {twice}")
        return self

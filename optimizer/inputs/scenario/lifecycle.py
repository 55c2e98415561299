"""What a scenario says of a model's life beside serving it: training, growth, and what is not known of the months."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from optimizer.base.model import Strict
from optimizer.base.signs import look
from optimizer.inputs.catalog.kinds import OfferTerm, PricingTerm, SellerKind
from optimizer.inputs.scenario.fields import (
    Name,
    NameOf,
    Names,
    Number,
    PositiveShare,
    PositiveWhole,
    Share,
    Usd,
    Whole,
    repeated,
)

MAX_MONTHS = 120
MAX_HORIZON_MONTHS = 60
MAX_BRANCHES = 12

Hours = Annotated[float, Number, Field(gt=0, le=1e6)]
UsdPerHour = Annotated[float, Number, Field(gt=0, le=1e4)]
Overhead = Annotated[float, Number, Field(ge=0, le=100)]
Months = Annotated[int, Number, Field(ge=1, le=MAX_MONTHS)]
Growth = Annotated[float, Number, Field(gt=-100, le=1000)]
LaterMonth = Annotated[int, Number, Field(ge=2, le=MAX_HORIZON_MONTHS)]
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
    gpu: Annotated[Annotated[str, Field(min_length=1, max_length=200)] | None, NameOf("gpu", wildcards=False)] = None
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


class PriceChange(Strict):
    """How prices of some offers change: evenly over the year, in one step, or both. Names may hold wildcards."""

    gpus: Annotated[Names, NameOf("gpu")] = ()
    """All where left away; so the next three."""
    providers: Annotated[Names, NameOf("seller")] = ()
    sellers: Annotated[tuple[SellerKind, ...], Field(max_length=10)] = ()
    pricing_terms: Annotated[tuple[OfferTerm, ...], Field(max_length=10)] = ()
    percent_per_year: Growth | Literal["observed"] = 0.0
    """Compounded month by month; `observed` is the median of what `price_trends.csv` holds of an offer's kind of seller
    and generation of GPU, and no change where it holds nothing."""
    until_month: LaterMonth | None = None
    """The last month in which it changes; without it the last of all."""
    step_percent: Growth | None = None
    """Once, from `step_month` on."""
    step_month: LaterMonth | None = None

    @model_validator(mode="after")
    def _step_has_a_month(self) -> Self:
        if (self.step_percent is None) != (self.step_month is None):
            raise ValueError("step_percent and step_month go together")
        return self


class GrowthBranch(Strict):
    """One course that demand and prices may take, and how likely it is."""

    name: Name
    weight: PositiveShare
    from_month: LaterMonth
    """The first month in which it is told apart; before, demand and prices are those of all branches."""
    growth_percent_per_month: Growth
    """From that month on."""
    price_changes: Annotated[tuple[PriceChange, ...], Field(max_length=50)] = ()
    """From that month on, before those of all branches."""


class Horizon(Strict):
    """What `optimizer horizon` plans purchases over."""

    months: Annotated[int, Number, Field(ge=1, le=MAX_HORIZON_MONTHS)] | None = None
    """Without it the months of the lifecycle."""
    branches: Annotated[tuple[GrowthBranch, ...], Field(max_length=MAX_BRANCHES)] = ()
    """Without any the lifecycle's growth is certain."""
    price_changes: Annotated[tuple[PriceChange, ...], Field(max_length=50)] = ()
    """The first that matches an offer counts; where none does its price stays."""
    pricing_terms: Annotated[tuple[PricingTerm, ...], Field(min_length=1, max_length=10)] | None = None
    """In place of the policy's."""
    prepayment_discount_percent: Annotated[float, Number, Field(ge=0, lt=100)] | None = None
    """Off the whole term where it is paid when it is signed; without it terms are paid by the month."""
    discount_percent_per_year: Annotated[float, Number, Field(ge=0, le=100)] = 0.0
    """By how much less a dollar counts that is paid a year later."""
    switch_usd_per_instance: Usd = 0.0
    """What it costs, once, to begin serving on an instance that did not serve in the month before."""
    used_after_share: Share = 0.0
    """How much of what is owed after the last month counts as still of use, and so not as a cost."""
    regret_quantile: PositiveShare = 0.9

    @model_validator(mode="after")
    def _branches_go_together(self) -> Self:
        twice = repeated(look(branch.name) for branch in self.branches)
        if twice:
            raise ValueError(f"two branches are named {twice}")
        total = sum(branch.weight for branch in self.branches)
        if self.branches and abs(total - 1) > 1e-6:
            raise ValueError(f"the weights of the branches add up to {total:g}, not to 1")
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

    @model_validator(mode="after")
    def _branches_part_in_time(self) -> Self:
        horizon = self.horizon or Horizon()
        months = horizon.months or self.months
        late = [branch.name for branch in horizon.branches if branch.from_month > months]
        if late:
            raise ValueError(f"{', '.join(late)} would be known after the last month, {months}")
        return self

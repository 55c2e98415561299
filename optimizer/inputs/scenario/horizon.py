"""What a scenario says of the months over which purchases are planned: branches, prices, terms of payment."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from optimizer.base.model import Strict
from optimizer.base.signs import look
from optimizer.inputs.catalog.kinds import OfferTerm, PricingTerm, SellerKind
from optimizer.inputs.scenario.fields import Name, Names, Number, PositiveShare, Share, Usd, repeated

MAX_HORIZON_MONTHS = 60
MAX_BRANCHES = 12

Growth = Annotated[float, Number, Field(gt=-100, le=1000)]
PercentAYear = Annotated[float, Number, Field(gt=-100, le=1000)]
LaterMonth = Annotated[int, Number, Field(ge=2, le=MAX_HORIZON_MONTHS)]


class PriceChange(Strict):
    """How prices of some offers change: evenly over the year, in one step, or both. Names may hold wildcards."""

    gpus: Names = ()
    """All where left away; so the next three."""
    providers: Names = ()
    sellers: Annotated[tuple[SellerKind, ...], Field(max_length=10)] = ()
    pricing_terms: Annotated[tuple[OfferTerm, ...], Field(max_length=10)] = ()
    percent_per_year: PercentAYear | Literal["observed"] = 0.0
    """Compounded month by month; `observed` is the median of what `price_trends.csv` holds of an offer's kind of seller
    and generation of GPU, and no change where it holds nothing."""
    until_month: LaterMonth | None = None
    """The last month in which it changes; without it the last of all."""
    step_percent: PercentAYear | None = None
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

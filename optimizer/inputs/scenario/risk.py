"""What a scenario says of what nobody knows yet: how far demand, prices, capacity and predictions may be off."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from optimizer.base.model import Strict
from optimizer.inputs.catalog.kinds import SellerKind
from optimizer.inputs.scenario.fields import Number, Share

Percent = Annotated[float, Number, Field(gt=-100, le=1000)]
Days = Annotated[float, Number, Field(ge=0, le=3650)]
Correlation = Annotated[float, Number, Field(ge=0, le=1)]
MAX_MONTHS_AHEAD = 60
MOST_GROWTH = 1000
"""Times today's demand that it may have grown to in one of ten draws; beyond that figures are no longer exact."""


class Spread(Strict):
    """Three points of a distribution in percent; between and beyond them the logarithm of 1 + percent is normal."""

    p10: Percent
    """One in ten lies below."""
    p50: Percent = 0.0
    p90: Percent
    """One in ten lies above."""

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if not self.p10 <= self.p50 <= self.p90:
            raise ValueError("p10, p50 and p90 must not fall")
        return self


class DaysSpread(Strict):
    """Three points of a distribution in days, straight between and beyond them, never below 0."""

    p10: Days
    p50: Days
    p90: Days

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if not self.p10 <= self.p50 <= self.p90:
            raise ValueError("p10, p50 and p90 must not fall")
        return self


class PriceSpread(Strict):
    """How prices of some kinds of seller may change in a year."""

    sellers: Annotated[tuple[SellerKind, ...], Field(max_length=10)] = ()
    """All where left away; so the next."""
    pricing_terms: Annotated[tuple[Literal["on_demand", "spot"], ...], Field(max_length=2)] = ()
    percent_per_year: Spread


class Correlations(Strict):
    """How much of what is drawn is drawn together: 0 each for itself, 1 all alike."""

    workloads: Correlation = 0.5
    """Demand of one workload and another."""
    sellers: Correlation = 0.0
    """Prices of one kind of seller and another, at least `demand_and_prices`; those of one kind move together."""
    demand_and_prices: Correlation = 0.0
    """What all workloads have in common, and what all prices have."""
    regions: Correlation = 0.0
    """Spot capacity of one region and another; within a region it comes and goes together."""
    same_gpu: Correlation | None = None
    """Errors of predictions on one GPU; without it what the catalogs hold of them."""


class Risk(Strict):
    """What `optimizer risk` draws; what is left away is drawn as published series spread."""

    months_ahead: Annotated[int, Number, Field(ge=0, le=MAX_MONTHS_AHEAD)] = 12
    """The month that is drawn, counted from today: prices change and demand grows until then."""
    demand_percent: Spread | None = None
    """Level of each workload's rate over the scenario's."""
    growth_percent_per_month: Spread | None = None
    """Of all workloads, compounded over the months ahead; without it none."""
    prices: Annotated[tuple[PriceSpread, ...], Field(max_length=50)] = ()
    """The first that matches an offer counts, before what was published."""
    commitment_start_days: DaysSpread | None = None
    """From signing until machines are there, of all commitments alike; without it they are there at once."""
    spot_available_share: Share | None = None
    """Share of the time in which a region has spot capacity."""
    prediction_errors: bool = True
    """Whether predictions are off as measurements showed them to be."""
    correlation: Correlations = Correlations()
    top_up_premium_percent: Annotated[float, Number, Field(ge=0, le=1000)] = 0.0
    """What renting more at short notice costs beyond the price on demand."""
    unserved_usd_per_million_requests: Annotated[float, Number, Field(gt=0, le=1e12)] | None = None
    """What requests cost that are not served; without it all of them are, by renting more."""
    longest_term_months: Annotated[int, Number, Field(ge=1, le=120)] = 12
    """Commitments for longer are not considered, nor those that end before the month that is drawn."""
    tail_level: Annotated[float, Number, Field(ge=0.5, lt=1)] = 0.9
    """The tail is the mean of the dearest draws beyond this share."""
    tail_weight: Share = 0.5
    """What is minimized: so much of the tail, the rest of the mean."""

    @model_validator(mode="after")
    def _within_reason(self) -> Self:
        growth = self.growth_percent_per_month
        if growth is not None and (1 + growth.p90 / 100) ** self.months_ahead > MOST_GROWTH:
            raise ValueError(
                f"growth_percent_per_month: {growth.p90:g} % a month is more than {MOST_GROWTH:,} times today's demand "
                f"after {self.months_ahead} months"
            )
        return self

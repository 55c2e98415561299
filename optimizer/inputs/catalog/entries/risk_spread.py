"""How far what nobody knows was seen to spread: demand, prices and spot capacity, as published series tell."""

from datetime import date
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from optimizer.base.model import Strict
from optimizer.inputs.catalog.kinds import SellerKind


class RiskSpread(Strict):
    """Three points of a distribution, as so many published series were seen to spread."""

    quantity: Literal["demand", "price", "spot_available"]
    """Level of a peak over what was expected, change of a price, share of the time in which spot capacity is there."""
    seller: SellerKind | Literal[""] = ""
    """Of a price: whose."""
    pricing_term: Literal["", "on_demand", "spot"] = ""
    unit: Literal["percent", "percent_per_year", "share"]
    p10: Annotated[float, Field(gt=-100, le=1000)]
    """One in ten lies below; so half below `p50`, and one in ten above `p90`."""
    p50: Annotated[float, Field(gt=-100, le=1000)]
    p90: Annotated[float, Field(gt=-100, le=1000)]
    series: Annotated[int, Field(ge=1)]
    source: str
    as_of: date
    note: str = ""

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if not self.p10 <= self.p50 <= self.p90:
            raise ValueError("p10, p50 and p90 must not fall")
        if self.unit == "share" and not 0 <= self.p10 <= self.p90 <= 1:
            raise ValueError("shares lie between 0 and 1")
        return self

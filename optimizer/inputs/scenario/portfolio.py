"""What several scenarios share when they are planned together: quotas, a budget, pools of machines paid all month."""

from typing import Annotated, Self

from pydantic import Field, model_validator

from optimizer.base.model import Strict
from optimizer.inputs.catalog.kinds import OfferTerm
from optimizer.inputs.scenario.fields import MAX_NAMES, Name, PositiveUsd, PositiveWhole, Whole, repeated
from optimizer.inputs.scenario.policy import Quota


class MachinePool(Strict):
    """Instances paid all month, of which every service may use any in any hour: a commitment, or hardware of one's own.

    The offer is named as the catalogs do; what is left out must not be needed to tell it apart.
    """

    name: Name
    provider: str
    region: str | None = None
    instance_type: str
    pricing_term: OfferTerm
    commitment_months: Whole | None = None
    max_instances: PositiveWhole
    """No more are signed for."""
    min_instances: Whole = 0
    """Already signed for, and paid whether used or not."""

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.min_instances > self.max_instances:
            raise ValueError("min_instances is more than max_instances")
        return self


class Portfolio(Strict):
    """What stands in `portfolio.yaml` beside the scenarios; every field is optional."""

    name: str = ""
    quotas: Annotated[tuple[Quota, ...], Field(max_length=MAX_NAMES)] = ()
    """Of all services together, in every hour."""
    max_gpus: Whole | None = None
    max_monthly_usd: PositiveUsd | None = None
    """Of all services together, pools included."""
    pools: Annotated[tuple[MachinePool, ...], Field(max_length=MAX_NAMES)] = ()

    @model_validator(mode="after")
    def _distinct(self) -> Self:
        for what, names in (("quotas", [q.name for q in self.quotas]), ("pools", [p.name for p in self.pools])):
            if twice := repeated(names):
                raise ValueError(f"two {what} are the same: {twice}")
        return self

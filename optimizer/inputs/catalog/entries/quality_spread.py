"""How much models of one size keep of their quality in one format: what a model that nobody evaluated may be like."""

import math
from datetime import date
from typing import Annotated, Final, Self

from pydantic import Field, model_validator

from optimizer.base.figures import exactly
from optimizer.base.model import Strict

Positive = Annotated[float, Field(gt=0)]
Count = Annotated[int, Field(ge=1)]

FEWEST_MODELS: Final = 3
"""Where no recipe was tried on so many, they say nothing of another model."""
ENOUGH_FOR_A_TENTH: Final = 10
"""Evaluations from which on a tenth of them is one."""


class QualitySpread(Strict):
    """Shares of the 16-bit score that evaluations of such models found: each the mean over its benchmarks."""

    scheme: str
    recipe: str = ""
    """How the weights were made, where that tells spreads apart."""
    from_params_b: Annotated[float, Field(ge=0)]
    """Of the smallest model that counts, in billions, experts included."""
    below_params_b: Positive | None = None
    evaluations: Count
    models: Count
    least_share: Positive
    tenth_percentile_share: Positive
    median_share: Positive
    most_share: Positive
    worst_benchmark_share: Positive | None = None
    """The least that was kept of any one benchmark."""
    source: str
    as_of: date
    note: str = ""

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        shares = (self.least_share, self.tenth_percentile_share, self.median_share, self.most_share)
        if list(shares) != sorted(shares):
            raise ValueError("shares must rise from the least over the tenth percentile and the median to the most")
        return self

    def speaks_for(self, scheme: str, params_b: float) -> bool:
        """Whether it is of that format, and of models of that size."""
        return self.scheme == scheme and self.from_params_b <= params_b < (self.below_params_b or math.inf)

    @property
    def low_share(self) -> float:
        """What nine of ten evaluations keep at least; of fewer than ten evaluations the least."""
        return self.tenth_percentile_share if self.evaluations >= ENOUGH_FOR_A_TENTH else self.least_share

    @property
    def low_worst_share(self) -> float | None:
        """The least that any of them keeps of one benchmark; None where nobody published benchmarks one by one."""
        return None if self.worst_benchmark_share is None else min(self.worst_benchmark_share, self.least_share)

    @property
    def words(self) -> str:
        """Whose figures these are and how far they spread."""
        by = f" by {self.recipe}" if self.recipe else ""
        low = f", 9 of 10 evaluations at least {exactly(self.low_share)}" if self.low_share > self.least_share else ""
        kept = f"{exactly(self.least_share)} to {exactly(self.most_share)} of the 16-bit score"
        return f"{self.models} models of its size keep {kept}{by}{low}"

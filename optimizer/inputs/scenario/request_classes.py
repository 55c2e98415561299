"""Requests by length: classes that a scenario tells apart, and how requests differ within one."""

from typing import Annotated, Final, Self

from pydantic import Field, model_validator

from optimizer.base.model import Strict
from optimizer.inputs.scenario.fields import FieldError, PositiveShare, Tokens

SHARE_TOLERANCE: Final = 1e-6
MEAN_TOLERANCE: Final = 0.01
"""By how much lengths may miss the mean that is said of them."""


class RequestLengths(Strict):
    """Some requests of a class: their share of it, and how long they are."""

    share: PositiveShare
    input_tokens: Tokens
    output_tokens: Tokens


class RequestClass(Strict):
    """A share of a workload's requests with lengths of its own."""

    share: PositiveShare
    input_tokens: Tokens
    """Mean of its requests; so the next."""
    output_tokens: Tokens
    lengths: Annotated[tuple[RequestLengths, ...], Field(min_length=1, max_length=400)] | None = None
    """How long which of its requests are; all alike where nothing is said."""

    @model_validator(mode="after")
    def _lengths_have_its_means(self) -> Self:
        if self.lengths is None:
            return self
        total = sum(item.share for item in self.lengths)
        if abs(total - 1) > SHARE_TOLERANCE:
            raise FieldError("lengths", f"the shares add up to {total:g}, not 1", "give the share of each in its class")
        for field in ("input_tokens", "output_tokens"):
            mean, said = sum(item.share * getattr(item, field) for item in self.lengths), getattr(self, field)
            if abs(mean - said) > max(1.0, MEAN_TOLERANCE * said):
                raise FieldError(field, f"{said} is not the mean of its lengths, {mean:,.1f}", f"give {round(mean)}")
        return self

    @property
    def longest_tokens(self) -> int:
        """Prompt and answer of its longest requests."""
        return max(item.input_tokens + item.output_tokens for item in self.lengths or (self,))

    @property
    def name(self) -> str:
        """The class as people write it: prompt length by answer length."""
        return f"{self.input_tokens}x{self.output_tokens}"

"""How long prompts and answers are: of published traffic, and how much longer answers are with thinking."""

from datetime import date
from itertools import pairwise
from typing import Annotated, Final, Self

from pydantic import Field, model_validator

from optimizer.base.model import Strict

Tokens = Annotated[float, Field(gt=0)]

CUTS: Final = (0.0, 0.10, 0.25, 0.50, 0.75, 0.90, 0.95, 0.99, 1.0)
"""Shares of the requests between which the published percentiles lie."""


class LengthProfile(Strict):
    """Percentiles and means of the tokens of prompts and answers, and how far long ones go together."""

    profile: str
    requests: Annotated[int, Field(ge=1)] | None = None
    """That were counted; blank where only their rates are known."""
    input_tokens_mean: Tokens
    input_tokens_p10: Tokens
    input_tokens_p25: Tokens
    input_tokens_p50: Tokens
    input_tokens_p75: Tokens
    input_tokens_p90: Tokens
    input_tokens_p95: Tokens
    input_tokens_p99: Tokens
    input_tokens_max: Tokens | None = None
    """Blank where nobody published it; the longest hundredth is then as long as the 99th percentile."""
    output_tokens_mean: Tokens
    output_tokens_p10: Tokens
    output_tokens_p25: Tokens
    output_tokens_p50: Tokens
    output_tokens_p75: Tokens
    output_tokens_p90: Tokens
    output_tokens_p95: Tokens
    output_tokens_p99: Tokens
    output_tokens_max: Tokens | None = None
    rank_correlation: Annotated[float, Field(gt=-1, lt=1)] | None = None
    """Of prompt and answer (Spearman's); blank where nobody published it, and prompts then say nothing of answers."""
    source: str
    as_of: date
    note: str = ""

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        for name in ("input_tokens", "output_tokens"):
            points = self.points(name)
            if list(points) != sorted(points):
                raise ValueError(f"percentiles of {name} must rise from p10 to the longest")
            low, high = least_and_most(points)
            if not low <= self.mean(name) <= high:
                raise ValueError(f"{name}_mean cannot lie beside these percentiles: {low:,.0f} to {high:,.0f}")
        return self

    def mean(self, name: str) -> float:
        """Of `input_tokens` or `output_tokens`."""
        return float(getattr(self, f"{name}_mean"))

    def points(self, name: str) -> tuple[float, ...]:
        """(8,) the lengths at the cuts after the first, of `input_tokens` or `output_tokens`."""
        known = [float(getattr(self, f"{name}_p{percent}")) for percent in (10, 25, 50, 75, 90, 95, 99)]
        longest = getattr(self, f"{name}_max")
        return (*known, known[-1] if longest is None else float(longest))


class ThinkingLength(Strict):
    """How long a model's answers to the same prompts are with its thinking and without, mean tokens."""

    model: str
    output_tokens_thinking: Annotated[float, Field(gt=0)]
    output_tokens_plain: Annotated[float, Field(gt=0)]
    prompts: str
    """What it was asked."""
    source: str
    as_of: date
    note: str = ""

    @property
    def factor(self) -> float:
        """How many times as many tokens it writes."""
        return self.output_tokens_thinking / self.output_tokens_plain


def least_and_most(points: tuple[float, ...]) -> tuple[float, float]:
    """The least and the largest mean that requests with these lengths at the cuts can have."""
    ends = list(zip(pairwise(CUTS), pairwise((0.0, *points)), strict=True))
    least = sum((above - below) * low for (below, above), (low, _) in ends)
    most = sum((above - below) * high for (below, above), (_, high) in ends)
    return least, most

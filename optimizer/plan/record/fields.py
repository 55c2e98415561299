"""How a plan's numbers are kept and written: money in Decimal to the cent, other figures to six digits."""

from decimal import ROUND_HALF_EVEN, Decimal
from typing import Annotated, Literal

from pydantic import PlainSerializer

CENT = Decimal("0.01")
UNIT_PRICE_DIGITS, UNIT_PRICE_LEAST_PLACES = 4, 2


def cents(amount: Decimal) -> Decimal:
    """Money rounded to two places, half to even."""
    return amount.quantize(CENT, rounding=ROUND_HALF_EVEN)


def difference_of_cents(amount: Decimal, other: Decimal) -> Decimal:
    """By how much an amount is above another as readers see both, each to the cent."""
    return cents(amount) - cents(other)


def usd(amount: float) -> Decimal:
    """Money as it is added up."""
    return Decimal(repr(float(amount)))


def significant(amount: Decimal) -> str:
    """A per-unit price in plain notation with its significant digits, at least two places."""
    rounded = Decimal(f"{amount:.{UNIT_PRICE_DIGITS}g}")
    places = -int(rounded.normalize().as_tuple().exponent)
    return f"{rounded:f}" if places > UNIT_PRICE_LEAST_PLACES else f"{rounded:.{UNIT_PRICE_LEAST_PLACES}f}"


Usd = Annotated[Decimal, PlainSerializer(lambda amount: f"{cents(amount):.2f}", return_type=str)]
UnitUsd = Annotated[Decimal, PlainSerializer(significant, return_type=str)]
Ms = Annotated[float, PlainSerializer(lambda value: round(value, 3), return_type=float)]
ByStatistic = dict[str, Ms]
"""Latencies by statistic: mean, p50, p90, p95, p99."""
Figure = Annotated[float, PlainSerializer(lambda value: float(f"{value:.6g}"), return_type=float)]

Outcome = Literal["optimal", "feasible", "infeasible", "unproven", "failed"]

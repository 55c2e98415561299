"""Kinds of numbers that a catalog holds."""

from decimal import Decimal
from typing import Annotated, Final

from pydantic import Field

Positive = Annotated[float, Field(gt=0)]
NonNegative = Annotated[float, Field(ge=0)]
UnitShare = Annotated[float, Field(ge=0, le=1)]
Count = Annotated[int, Field(ge=1, le=10**12)]

LEAST_USD_PER_HOUR: Final = Decimal("0.001")
MOST_USD_PER_HOUR: Final = Decimal(100_000)
"""Between these lies the price of every instance that anybody rents out; beyond them a point or a unit is wrong."""
MOST_GPUS: Final = 10_000
"""Of one instance."""
MOST_DISCOUNT_PERCENT: Final = 99

GpuCount = Annotated[int, Field(ge=1, le=MOST_GPUS)]
UsdPerHour = Annotated[Decimal, Field(ge=LEAST_USD_PER_HOUR, le=MOST_USD_PER_HOUR)]
Usd = Annotated[Decimal, Field(ge=0, le=10**12)]
UsdPerUnit = Annotated[Decimal, Field(ge=0, le=10**6)]
"""Of a hosted API: a million tokens, or a request."""

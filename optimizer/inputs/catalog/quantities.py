"""Kinds of numbers that a catalog holds."""

from typing import Annotated

from pydantic import Field

Positive = Annotated[float, Field(gt=0)]
NonNegative = Annotated[float, Field(ge=0)]
UnitShare = Annotated[float, Field(ge=0, le=1)]
Count = Annotated[int, Field(ge=1)]

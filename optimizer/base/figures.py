"""Numbers as people write them: significant digits, thousands apart, never an exponent."""

import math
from decimal import Decimal

USUAL_DIGITS = 3
EXACT_DIGITS = 6


def figure(value: float, digits: int = USUAL_DIGITS) -> str:
    """A number with so many significant digits, or all of a whole part that has more."""
    if value == 0 or not math.isfinite(value):
        return f"{value:.0f}"
    places = max(digits - 1 - math.floor(math.log10(abs(value))), 0)
    text = f"{value:,.{places}f}"
    return text.rstrip("0").rstrip(".") if places else text


def exactly(value: float | Decimal | str) -> str:
    """A number with six significant digits: limits, and what is held against them."""
    return figure(float(value), EXACT_DIGITS)

"""How money, shares and quantities are written in every report."""

from decimal import Decimal
from typing import Final

from optimizer.base.figures import figure

DAYS: Final = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")


def money(amount: Decimal | float | None, unknown: str = "") -> str:
    """US dollars and cents with thousands separators."""
    return unknown if amount is None else f"${amount:,.2f}"


def change(amount: Decimal | None, places: int = 2) -> str:
    """A signed difference in US dollars; blank where there is none to tell."""
    return "" if amount is None else f"{'−' if amount < 0 else '+'}${abs(amount):,.{places}f}"


def price(amount: Decimal) -> str:
    """Every digit that was published, two places at least."""
    return f"{amount:.2f}" if amount == round(amount, 2) else f"{amount:f}"


def percent(share: float) -> str:
    """A share in percent, with as many digits as it has."""
    return f"{figure(share * 100, 6)} %"


def number(value: float) -> str:
    """A quantity with as many digits as it has."""
    return f"{value:,.6f}".rstrip("0").rstrip(".")


def rounded(value: float) -> str:
    """A quantity to four significant digits, never fewer than the units."""
    return figure(value, 4)


def plural(noun: str, count: int) -> str:
    """The noun behind a count."""
    return noun if count == 1 else f"{noun}s"

"""What every report is made of: titled sections of lines and a table, and how money is written in them."""

from dataclasses import dataclass
from decimal import Decimal


@dataclass(frozen=True)
class Table:
    """Rows under headings; headings that start with '>' are right-aligned."""

    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Section:
    """A titled part of a report: lines, then an optional table."""

    title: str
    lines: tuple[str, ...] = ()
    table: Table | None = None


def money(amount: Decimal) -> str:
    """US dollars and cents with thousands separators."""
    return f"${amount:,.2f}"


def change(amount: Decimal) -> str:
    """A signed difference in US dollars."""
    return f"{'−' if amount < 0 else '+'}${abs(amount):,.2f}"

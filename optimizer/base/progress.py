"""How long work says where it is: one callable told the name of each step as it begins, one what is known by then."""

from collections.abc import Callable
from typing import TypeAlias

Progress = Callable[[str], None]

BestAndBound: TypeAlias = Callable[[float | None, float], None]
"""Told what the best plan so far costs, None before there is one, and what no plan undercuts; in one unit of both."""


def silent(_: str) -> None:
    """No-op progress callback."""

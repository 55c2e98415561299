"""Amounts as bars of text, which read alike in a terminal, a document and a comment."""

from decimal import Decimal
from typing import Final

BAR_CELLS: Final = 30
FULL, EMPTY = "█", "·"


def bar(amount: Decimal | None, highest: Decimal) -> str:
    """A bar as long as the amount's part of the highest, one cell at least; a dot where there is no amount."""
    if amount is None:
        return EMPTY
    return FULL * max(round(amount / highest * BAR_CELLS) if highest else 0, 1)

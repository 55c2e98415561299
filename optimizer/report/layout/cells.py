"""Cells of sheets that spreadsheets open: what a cell says is shown, never run."""

import math
import re
from typing import Final

NUMBER: Final = re.compile(r"[-+]?\d+(\.\d+)?(e[-+]?\d+)?", re.IGNORECASE | re.ASCII)
RUN: Final = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
"""Signs by which spreadsheets know a formula, of full width, too (OWASP, CSV injection)."""


def csv_cell(cell: str) -> str:
    """The cell of a sheet in CSV: text that would be run begins with an apostrophe, which makes it text again."""
    return f"'{cell}" if cell.startswith(RUN) and number_in(cell) is None else cell


def number_in(cell: str) -> float | None:
    """The figure that a cell is, so that a spreadsheet can add it up; None where it is text."""
    figure = float(cell) if NUMBER.fullmatch(cell) else math.inf
    return figure if math.isfinite(figure) else None

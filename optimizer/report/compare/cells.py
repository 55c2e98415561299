"""Text in a cell of a spreadsheet, which must never be taken for a formula."""

import re
from typing import Final

FORMULA: Final = re.compile(r"[=+\-@\t\r]")
NUMBER: Final = re.compile(r"[+-]?[\d.]+(e[+-]?\d+)?", re.IGNORECASE)


def begins_a_formula(text: str) -> bool:
    """Whether a spreadsheet that reads the text would work it out: `=1+1`, `@SUM`, but not -5.20."""
    return FORMULA.match(text) is not None and NUMBER.fullmatch(text) is None


def as_text(value: object) -> object:
    """A cell of a CSV file: what would be a formula gets an apostrophe, the spreadsheets' own mark of text."""
    return f"'{value}" if isinstance(value, str) and begins_a_formula(value) else value

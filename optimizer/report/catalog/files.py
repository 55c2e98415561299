"""Catalog rows as the CSV files that hold them."""

import csv
import io
from collections.abc import Iterable
from decimal import Decimal

from optimizer.base.model import Strict


def catalog_csv(kind: type[Strict], rows: Iterable[Strict]) -> str:
    """The rows as a catalog file holds them, headings first; a blank cell stands for what is unknown."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    names = list(kind.model_fields)
    writer.writerow(names)
    writer.writerows([_cell(getattr(row, name)) for name in names] for row in rows)
    return text.getvalue()


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return repr(value).removesuffix(".0")
    if isinstance(value, Decimal):
        return f"{value:f}"
    return " ".join(value) if isinstance(value, tuple) else str(value)

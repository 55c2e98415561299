"""Records as the rows of a table: every column is a heading with what stands in its cells."""

from collections.abc import Callable, Iterable, Mapping
from operator import attrgetter
from string import Formatter
from typing import Any, Final

from optimizer.base.figures import figure
from optimizer.plan.record.fields import significant
from optimizer.report.layout.amounts import change, money, number, price, rounded
from optimizer.report.layout.elements import Table

Cell = str | Callable[[Any], object]
"""A template of the record's own fields, `{gpu_count}× {gpu}`, or a function of the record."""

FORMATS: Final[Mapping[str, Callable[[Any], str]]] = {
    "change": change,
    "money": money,
    "number": number,
    "price": price,
    "rounded": rounded,
    "figure": lambda value: figure(float(value)).replace("-", "−"),
    "unit_price": significant,
    "words": lambda name: str(name).replace("_", " "),
    "list": " ".join,
    "yes_no": lambda flag: "yes" if flag else "no",
}
"""How a template may write a field, beside Python's own formats."""


def table_of(records: Iterable[Any], columns: Mapping[str, Cell]) -> Table:
    """One row a record, one column a heading."""
    rows = (tuple(_written(cell, record) for cell in columns.values()) for record in records)
    return Table(tuple(columns), tuple(rows))


def filled(template: str, record: object) -> str:
    """The template with the record's fields in their places."""
    return _TEMPLATES.vformat(template, (record,), {})


def _written(cell: Cell, record: object) -> str:
    return filled(cell, record) if isinstance(cell, str) else str(cell(record))


class _Templates(Formatter):
    """Fields of a record by name, nested ones with dots; None is blank, or what stands behind `|` in the format."""

    def get_field(self, field_name: str, args: Any, kwargs: Any) -> tuple[Any, str]:
        del kwargs
        return attrgetter(field_name)(args[0]), field_name

    def format_field(self, value: Any, format_spec: str) -> str:
        written, _, unknown = format_spec.partition("|")
        if value is None:
            return unknown
        return FORMATS[written](value) if written in FORMATS else format(value, written)


_TEMPLATES: Final = _Templates()

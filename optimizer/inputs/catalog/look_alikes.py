"""Names in the catalogs that deceive the eye: two that look like one, or one that mixes scripts of the same shapes."""

from collections.abc import Hashable, Iterator, Mapping
from typing import Any, Final

from optimizer.base.errors import Finding
from optimizer.base.signs import look, mixed_scripts, unseen
from optimizer.inputs.catalog.csv_tables import AllRows, CsvTable, LocatedRow

SHARED_NAMES: Final = (("provider",), ("provider", "region"))
"""What several tables call by the same name, whichever row declares it."""

HINT: Final = "write one name one way, or call them apart"


def look_alikes(rows: AllRows, tables: Mapping[str, CsvTable[Any]]) -> Iterator[Finding]:
    """Each name that looks like one declared before it, with the row that declares it.

    Args:
        rows: Of all tables, shipped ones before the user's own.
        tables: By name, with the columns that a row is known by.
    """
    shared: dict[Hashable, tuple[str, LocatedRow[Any]]] = {}
    for name, table in tables.items():
        known: dict[Hashable, tuple[str, LocatedRow[Any]]] = {}
        columns = set(table.row.model_fields)
        groups = [(table.key_fields.split(", "), known)]
        groups += [(list(fields), shared) for fields in SHARED_NAMES if columns.issuperset(fields)]
        for placed in rows[name].values():
            for fields, before in groups:
                yield from _alike(placed, fields, before)


def _alike(
    placed: LocatedRow[Any], fields: list[str], before: dict[Hashable, tuple[str, LocatedRow[Any]]]
) -> Iterator[Finding]:
    """Whether what a row is known by looks like what another is known by; the same words are the same name."""
    names = [str(getattr(placed.row, field)) for field in fields]
    written = "/".join(names)
    first, other = before.setdefault((len(fields), look(written)), (written, placed))
    if first != written:
        yield placed.finding(fields[-1], f"'{written}' looks like '{first}' of {other.file}:{other.line}", HINT)
    if unseen(written) or (other is placed and not written.isascii()):
        for field, name in zip(fields, names, strict=True):
            if problem := unseen(name):
                yield placed.finding(field, problem, "write it without")
            if scripts := mixed_scripts(name):
                yield placed.finding(field, f"'{name}' mixes {scripts} letters, which look alike", HINT)

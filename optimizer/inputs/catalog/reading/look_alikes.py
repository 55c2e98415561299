"""Names in the catalogs that deceive the eye: two that look like one, or one that mixes scripts of the same shapes."""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any, Final

from optimizer.base.errors import Finding
from optimizer.base.signs import look, mixed_scripts, unseen
from optimizer.inputs.catalog.reading.csv_tables import AllRows, CsvTable, LocatedRow

SHARED_NAMES: Final = (("provider",), ("provider", "region"))
"""What several tables call by the same name, whichever row declares it."""

HINT: Final = "write one name one way, or call them apart"


@dataclass
class NamesSeen:
    """Names of one kind: by how each looks, as it was first written and where; and cells without a problem."""

    before: dict[str, tuple[str, LocatedRow[Any]]] = field(default_factory=dict)
    sound: set[Hashable] = field(default_factory=set)


def look_alikes(rows: AllRows, tables: Mapping[str, CsvTable[Any]]) -> Iterator[Finding]:
    """Each name that looks like one declared before it, with the row that declares it.

    Args:
        rows: Of all tables, shipped ones before the user's own.
        tables: By name, with the columns that a row is known by.
    """
    shared = {fields: NamesSeen() for fields in SHARED_NAMES}
    for name, table in tables.items():
        columns, key = set(table.row.model_fields), tuple(table.key_fields.split(", "))
        groups = [
            (key, attrgetter(*key), NamesSeen()),
            *((fields, attrgetter(*fields), known) for fields, known in shared.items() if columns.issuperset(fields)),
        ]
        for placed in rows[name].values():
            for fields, cells_of, known in groups:
                # most rows say what one before them says
                cells = cells_of(placed.row)
                if cells not in known.sound:
                    names = [str(getattr(placed.row, name_of)) for name_of in fields]
                    problems = list(_alike(placed, fields, names, "/".join(names), known.before))
                    if not problems:
                        known.sound.add(cells)
                    yield from problems


def _alike(
    placed: LocatedRow[Any],
    fields: Sequence[str],
    names: Sequence[str],
    written: str,
    before: dict[str, tuple[str, LocatedRow[Any]]],
) -> Iterator[Finding]:
    """Whether what a row is known by looks like what another is known by; the same words are the same name."""
    first, other = before.setdefault(look(written), (written, placed))
    if first != written:
        yield placed.finding(fields[-1], f"'{written}' looks like '{first}' of {other.file}:{other.line}", HINT)
    if unseen(written) or (other is placed and not written.isascii()):
        for field, name in zip(fields, names, strict=True):
            if problem := unseen(name):
                yield placed.finding(field, problem, "write it without")
            if scripts := mixed_scripts(name):
                yield placed.finding(field, f"'{name}' mixes {scripts} letters, which look alike", HINT)

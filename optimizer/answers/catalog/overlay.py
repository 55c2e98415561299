"""Catalog rows as the CSV files that hold them, and folders of such files that are laid over the shipped ones."""

import csv
import io
from collections.abc import Iterable, Mapping
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

from optimizer.base.errors import Finding, InputError, refuse
from optimizer.base.files import reason, write_text
from optimizer.base.model import Strict
from optimizer.inputs.catalog.loading import TABLES


def write_overlay(folder: Path, tables: Mapping[str, Iterable[Strict]], *, afresh: bool = False) -> dict[Path, int]:
    """Writes rows into a folder of catalog files, which `load_catalogs` lays over the shipped ones.

    Args:
        folder: Made where it is not there.
        tables: Rows by table; a row takes the place of one with the same key.
        afresh: Whether rows that are in the files already are dropped.

    Returns:
        The files written, each table's first, with the number of rows that each now holds.

    Raises:
        InputError: a file that is there can't be read, or one can't be written; where it is the first, nothing is.
    """
    findings: list[Finding] = []
    merged: dict[Path, tuple[type[Strict], list[Strict]]] = {}
    for name, rows in tables.items():
        table = replace(TABLES[name], files=TABLES[name].files[:1])
        kept = {} if afresh else {key: placed.row for key, placed in table.read(folder, str(folder), findings).items()}
        by_key = kept | {table.key(row): row for row in rows}
        if name == "catalog":
            # the day from which ages are measured never goes back: prices would be from after it
            by_key = {"": max((*kept.values(), *rows), key=lambda row: row.as_of)}
        merged[folder / table.files[0]] = table.row, [row for _, row in sorted(by_key.items())]
    refuse(findings)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError([Finding("--output", 0, "", f"cannot make {folder}: {reason(error)}")]) from error
    for path, (kind, rows) in merged.items():
        write_text(path, catalog_csv(kind, rows), over_inputs=True)
    return {path: len(rows) for path, (_, rows) in merged.items()}


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

"""Newer prices laid over the catalogs in one go: only rows that are newer are taken, and what moved is told."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from optimizer.answers.catalog.diff import CatalogDiff, catalog_diff
from optimizer.answers.catalog.imported import (
    NOTHING_MORE,
    OF_NEWEST,
    ImportedPrices,
    PriceListTerms,
    refuse_nothing,
)
from optimizer.answers.catalog.importing import import_prices
from optimizer.answers.catalog.overlay import write_overlay
from optimizer.answers.catalog.snapshot import PRICES, snapshot
from optimizer.base.errors import Finding, InputError, refuse
from optimizer.base.model import Strict
from optimizer.inputs.catalog.loading import TABLES, CatalogDate, load_catalogs
from optimizer.inputs.catalog.records import Catalogs

Tables = dict[str, dict[Any, Strict]]
"""Rows by table and key."""


@dataclass(frozen=True)
class CatalogUpdate:
    """What a newer list changed.

    Attributes:
        imported: What became of each price list, by file.
        older: Rows left out because what is known is newer.
        diff: Between what was known and what is known now.
        files: Files written, with the rows that each now holds.
        as_of_before: The day from which ages were measured.
        as_of: The day from which they are now.
    """

    imported: Mapping[str, ImportedPrices]
    older: int
    diff: CatalogDiff
    files: Mapping[Path, int]
    as_of_before: date
    as_of: date


def update_catalogs(newer: Path, own: Path, terms: PriceListTerms = NOTHING_MORE) -> CatalogUpdate:
    """Takes newer rows into a folder of one's own catalogs.

    Args:
        newer: A price list, or a folder of price lists and catalog files.
        own: The folder, made where it is not there.
        terms: What price lists do not say of themselves.

    Returns:
        What was taken in and what moved by it.

    Raises:
        InputError: nothing there can be read, or what is read does not fit together.
    """
    overlay = own if own.is_dir() and any(own.glob("*.csv")) else None
    known, before = load_catalogs(overlay), snapshot(overlay)
    tables: Tables = {}
    imported = {}
    for file in _files(newer):
        table = next((name for name, each in TABLES.items() if newer.is_dir() and file.name in each.files), None)
        if table is None:
            imported[file.name] = import_prices(file, known, terms)
            refuse_nothing(file, imported[file.name])
            for name, rows in imported[file.name].tables.items():
                _join(tables, name, rows)
        else:
            _join(tables, table, _rows(file, table))
    older = _without_known(tables, known)
    days = (_day(row) for name in PRICES.keys() & tables.keys() for row in tables[name].values())
    as_of = max(days, default=known.as_of)
    if as_of > known.as_of:
        _join(tables, "catalog", [CatalogDate(as_of=as_of, note=OF_NEWEST)])
    taken = {name: rows.values() for name, rows in tables.items() if rows}
    files = write_overlay(own, taken) if taken else {}
    diff = catalog_diff(before, snapshot(own if files else overlay))
    return CatalogUpdate(imported, older, diff, files, known.as_of, max(as_of, known.as_of))


def _files(newer: Path) -> list[Path]:
    found = sorted(newer.glob("*.csv")) if newer.is_dir() else [newer]
    if not found:
        raise InputError([Finding(str(newer), 0, "", "holds no CSV file", "give a price list, or a folder of them")])
    return found


def _rows(file: Path, table: str) -> Iterable[Strict]:
    """The rows of a catalog file."""
    findings: list[Finding] = []
    kind = TABLES[table]
    placed = kind.read(file.parent, str(file.parent), findings)
    refuse(findings)
    return [item.row for item in placed.values() if item.file.endswith(f"/{file.name}")]


def _join(tables: Tables, name: str, rows: Iterable[Strict]) -> None:
    """Rows added to a table, the newest of each key kept."""
    held = tables.setdefault(name, {})
    for row in rows:
        key = TABLES[name].key(row)
        if key not in held or _day(row) >= _day(held[key]):
            held[key] = row


def _without_known(tables: Tables, known: Catalogs) -> int:
    """Drops rows that say what is known, and those older than what is known; how many of the latter."""
    priced = {"offers": known.offers, "serverless": known.serverless}
    priced |= {"per_second": known.per_second, "ancillary": known.ancillary}
    dropped = 0
    for name in priced.keys() & tables.keys():
        days = {TABLES[name].key(row): _day(row) for row in priced[name]}
        said = {TABLES[name].key(row) for row in priced[name] if tables[name].get(TABLES[name].key(row)) == row}
        old = {key for key, row in tables[name].items() if key in days and _day(row) < days[key]}
        dropped += len(old)
        tables[name] = {key: row for key, row in tables[name].items() if key not in old | said}
    return dropped


def _day(row: Strict) -> date:
    day: date = getattr(row, "as_of", date.min)
    return day

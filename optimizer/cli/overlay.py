"""Rows written into a folder of own catalog files, laid over those that are there already."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from optimizer.base.errors import Finding, InputError
from optimizer.base.model import Strict
from optimizer.cli.options import write
from optimizer.inputs.catalog.loading import TABLES
from optimizer.report.catalog.files import catalog_csv


def write_overlay(folder: Path, tables: Mapping[str, Iterable[Strict]], *, afresh: bool) -> list[str]:
    """Writes each table's first file; returns what was written, with the rows that each now holds.

    Args:
        folder: Made where it is not there.
        tables: Rows by table; a row takes the place of one with the same key.
        afresh: Whether rows that are in the files already are dropped.

    Raises:
        InputError: a file that is there can't be read, or the folder can't be made; nothing is written then.
    """
    findings: list[Finding] = []
    texts: dict[Path, tuple[str, int]] = {}
    for name, rows in tables.items():
        table = replace(TABLES[name], files=TABLES[name].files[:1])
        there = {} if afresh else {key: placed.row for key, placed in table.read(folder, str(folder), findings).items()}
        merged = there | {table.key(row): row for row in rows}
        in_order = [row for _, row in sorted(merged.items())]
        texts[folder / table.files[0]] = catalog_csv(table.row, in_order), len(in_order)
    if findings:
        raise InputError(findings)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError([Finding("--output", 0, "", f"cannot make {folder}: {error.strerror}")]) from error
    for path, (text, _) in texts.items():
        write(text, path)
    return [f"{path} ({count:,} {'row' if count == 1 else 'rows'})" for path, (_, count) in texts.items()]

"""What became of a price list: how many offers, and what was left out and why."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any, Final

from optimizer.answers.catalog.imported import ImportedPrices, LeftOutPrices
from optimizer.answers.catalog.update import CatalogUpdate
from optimizer.report.catalog.diff import diff_content, diff_sections
from optimizer.report.layout.amounts import plural
from optimizer.report.layout.columns import Cell, table_of
from optimizer.report.layout.elements import Section

SHOWN_REASONS: Final = 20
MANY_DAYS: Final = 366
"""By which a day of the catalogs is not expected to move at once."""
REASONS: Final[Mapping[str, Cell]] = {
    "left out because": "{reason}",
    "as listed": "{about}",
    ">prices": "{rows:,}",
    ">first line": "{place}",
    "to take it in": "{hint}",
}


def import_sections(imported: ImportedPrices, file: str, written: Sequence[str]) -> tuple[Section, ...]:
    """The verdict with the files written, then everything that was left out, most frequent first."""
    counts = f"{imported.prices:,} {plural('price', imported.prices)} of {file}, read as {imported.format_name}"
    left_out = f"{_prices(imported.left_out):,} left out"
    offers, apis = len(imported.offers), len(imported.apis)
    taken = f"{apis:,} {plural('price', apis)} of hosted APIs" if apis else f"{offers:,} {plural('offer', offers)}"
    joined = "of the same model and host" if apis else "of several zones or hosts"
    unknown = ", ".join(row.provider for row in imported.sellers if row.kind == "unknown")
    hint = f"nobody says what kind of seller {unknown} is: plans leave its offers out, unless --seller says"
    verdict = Section(
        f"{taken} imported",
        (
            f"{counts}: {imported.merged:,} {joined} joined, {left_out}",
            *(f"{prices:,} {plural('price', prices)}: {remark}" for remark, prices in imported.remarks),
            hint if unknown else "",
            f"written: {', '.join(written)}" if written else "",
        ),
    )
    if not imported.left_out:
        return (verdict,)
    table = table_of(imported.left_out[:SHOWN_REASONS], REASONS)
    rest = imported.left_out[SHOWN_REASONS:]
    if rest:
        last = (f"and {len(rest):,} more reasons", "", f"{_prices(rest):,}", "", "--format json")
        table = replace(table, rows=(*table.rows, last))
    return verdict, Section("Left out", table=table)


def _prices(left_out: Sequence[LeftOutPrices]) -> int:
    return sum(item.rows for item in left_out)


def import_content(imported: ImportedPrices, file: str, written: Sequence[str]) -> dict[str, Any]:
    """The same for machines, every reason included."""
    return {
        "file": file,
        "format": imported.format_name,
        "prices": imported.prices,
        "offers": len(imported.offers),
        "apis": len(imported.apis),
        "merged": imported.merged,
        "sellers": [row.provider for row in imported.sellers],
        "remarks": [{"remark": remark, "prices": prices} for remark, prices in imported.remarks],
        "left_out": [asdict(item) for item in imported.left_out],
        "written": list(written),
    }


def update_sections(update: CatalogUpdate, written: Sequence[str], limit: int) -> tuple[Section, ...]:
    """What moved first, then what became of each list; `limit` 0 shows all."""
    days = (update.as_of - update.as_of_before).days
    verdict = Section(
        f"Catalogs of {update.as_of}",
        (
            f"that is {days:,} days after {update.as_of_before}, and every other price is older by as much: see "
            "whether a date slipped"
            if days > MANY_DAYS
            else "",
            f"{update.older:,} {plural('row', update.older)} left out: what is known is newer" if update.older else "",
            f"written: {', '.join(written)}" if written else "nothing is newer than what is known: nothing written",
        ),
    )
    lists = (part for name, imported in update.imported.items() for part in import_sections(imported, name, ()))
    return (verdict, *diff_sections(update.diff, limit), *lists)


def update_content(update: CatalogUpdate, written: Sequence[str]) -> dict[str, Any]:
    """The same for machines."""
    return {
        "as_of": str(update.as_of),
        "as_of_before": str(update.as_of_before),
        "older": update.older,
        "moved": diff_content(update.diff),
        "imported": [import_content(imported, name, ()) for name, imported in update.imported.items()],
        "written": list(written),
    }

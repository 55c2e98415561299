"""What became of a price list: how many offers, and what was left out and why."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from optimizer.answers.catalog.importing import ImportedPrices
from optimizer.report.layout.elements import Section, Table

SHOWN_REASONS = 20


def import_sections(imported: ImportedPrices, file: str, written: Sequence[str]) -> tuple[Section, ...]:
    """The verdict with the files written, then everything that was left out, most frequent first."""
    lost = sum(item.rows for item in imported.left_out)
    counts = f"{imported.prices:,} prices of {file}, read as {imported.format_name}"
    lines = [
        f"{counts}: {imported.merged:,} of several zones or hosts joined, {lost:,} left out",
        f"written: {', '.join(written)}",
    ]
    verdict = Section(
        f"{len(imported.offers):,} offer{'' if len(imported.offers) == 1 else 's'} imported", tuple(lines)
    )
    if not imported.left_out:
        return (verdict,)
    shown = imported.left_out[:SHOWN_REASONS]
    rows = [(item.reason, item.about, f"{item.rows:,}", str(item.first_line), item.hint) for item in shown]
    rest = imported.left_out[SHOWN_REASONS:]
    if rest:
        rows.append(
            (f"and {len(rest):,} more reasons", "", f"{sum(item.rows for item in rest):,}", "", "--format json")
        )
    table = Table(("left out because", "as listed", ">prices", ">first line", "to take it in"), tuple(rows))
    return verdict, Section("Left out", (), table)


def import_content(imported: ImportedPrices, file: str, written: Sequence[str]) -> dict[str, Any]:
    """The same for machines, every reason included."""
    return {
        "file": file,
        "format": imported.format_name,
        "prices": imported.prices,
        "offers": len(imported.offers),
        "merged": imported.merged,
        "left_out": [asdict(item) for item in imported.left_out],
        "written": list(written),
    }

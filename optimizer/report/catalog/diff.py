"""Two states of the catalogs side by side, and one state's hash, in words and tables."""

from collections.abc import Sequence
from dataclasses import asdict
from decimal import Decimal
from typing import Any

from optimizer.answers.catalog.diff import CatalogDiff, Move
from optimizer.answers.catalog.snapshot import Snapshot
from optimizer.report.layout.elements import Section, Table

HASH_SHOWN = 16


def diff_sections(diff: CatalogDiff, limit: int) -> tuple[Section, ...]:
    """The counts first, then the moves by size, then what is gone and what is new; `limit` 0 shows all."""
    up = sum((move.percent or 0) > 0 for move in diff.moves)
    down = sum((move.percent or 0) < 0 for move in diff.moves)
    middle = f", {diff.median_percent:+.1f} % in the median" if diff.median_percent is not None else ""
    title = (
        f"{len(diff.moves):,} price{'' if len(diff.moves) == 1 else 's'} moved ({up:,} up, {down:,} down{middle}), "
        f"{len(diff.gone):,} gone, {len(diff.new):,} new"
    )
    changed = ", ".join(f"{name} ({before:,} → {after:,} rows)" for name, (before, after) in diff.tables.items())
    lines = (
        f"{diff.compared:,} prices stand in both",
        f"tables that say something else: {changed}" if changed else "every table says the same",
        f"not compared, for only one of the two has them: {', '.join(diff.one_sided)}" if diff.one_sided else "",
    )
    sections = [Section(title, lines)]
    if diff.moves:
        shown = diff.moves[:limit] if limit else diff.moves
        table = Table(("price of", "unit", ">before", ">after", ">change"), tuple(_move(move) for move in shown))
        sections.append(Section(_headed("Moved", diff.moves, shown), (), table))
    for name, rows in (("Gone", diff.gone), ("New", diff.new)):
        if rows:
            part = rows[:limit] if limit else rows
            sections.append(Section(_headed(name, rows, part), (), Table(("table", "price of"), tuple(part))))
    return tuple(sections)


def diff_content(diff: CatalogDiff) -> dict[str, Any]:
    """The same for machines: every row, money as text."""
    return {
        "compared": diff.compared,
        "median_percent": None if diff.median_percent is None else round(diff.median_percent, 3),
        "moved": [
            asdict(move)
            | {"before": _amount(move.before) or None, "after": _amount(move.after) or None}
            | {"percent": None if move.percent is None else round(move.percent, 3)}
            for move in diff.moves
        ],
        "gone": [{"table": table, "subject": row} for table, row in diff.gone],
        "new": [{"table": table, "subject": row} for table, row in diff.new],
        "tables": {name: {"rows_before": before, "rows_after": after} for name, (before, after) in diff.tables.items()},
        "one_sided": list(diff.one_sided),
    }


def snapshot_section(snapshot: Snapshot) -> Section:
    """The hash first, then each table with its own."""
    rows = tuple((name, f"{each.rows:,}", each.sha256[:HASH_SHOWN]) for name, each in snapshot.tables.items())
    lines = (f"over {len(snapshot.files)} files; the same rows give the same hash in any order, layout or folder",)
    return Section(snapshot.sha256, lines, Table(("table", ">rows", "SHA-256"), rows))


def _headed(name: str, rows: Sequence[object], shown: Sequence[object]) -> str:
    rest = f"; the first {len(shown)}, all with --limit 0" if len(shown) < len(rows) else ""
    return f"{name}: {len(rows):,}{rest}"


def _move(move: Move) -> tuple[str, ...]:
    change = "" if move.percent is None else f"{move.percent:+.1f} %"
    return move.subject, move.column, _amount(move.before), _amount(move.after), change


def _amount(amount: Decimal | None) -> str:
    return "" if amount is None else f"{amount:f}"

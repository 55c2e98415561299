"""Two states of the catalogs side by side, and one state's hash, in words and tables."""

from collections.abc import Mapping
from dataclasses import asdict
from decimal import Decimal
from operator import itemgetter
from typing import Any, Final

from optimizer.answers.catalog.diff import CatalogDiff, Move
from optimizer.answers.catalog.snapshot import Snapshot
from optimizer.report.layout.amounts import plural
from optimizer.report.layout.columns import Cell, table_of
from optimizer.report.layout.elements import Section, Table

HASH_SHOWN: Final = 16
DOUBTED_TIMES: Final = 3
"""A price that moved by more than this factor is looked at before it is planned on: markets rarely move so far."""
MOVED: Final[Mapping[str, Cell]] = {
    "price of": "{subject}",
    "unit": "{column}",
    ">before": "{before:f}",
    ">after": "{after:f}",
    ">change": lambda move: "" if move.percent is None else f"{move.percent:+.1f} %",
}
ROW: Final[Mapping[str, Cell]] = {"table": itemgetter(0), "price of": itemgetter(1)}


def diff_sections(diff: CatalogDiff, limit: int) -> tuple[Section, ...]:
    """The counts first, then the moves by size, then what is gone and what is new; `limit` 0 shows all."""
    sections = [Section(_counts(diff), _scope(diff))]
    for name, rows, columns in (("Moved", diff.moves, MOVED), ("Gone", diff.gone, ROW), ("New", diff.new, ROW)):
        if rows:
            shown = rows[:limit] if limit else rows
            rest = f"; the first {len(shown)}, all with --limit 0" if len(shown) < len(rows) else ""
            sections.append(Section(f"{name}: {len(rows):,}{rest}", table=table_of(shown, columns)))
    return tuple(sections)


def _counts(diff: CatalogDiff) -> str:
    up = sum((move.percent or 0) > 0 for move in diff.moves)
    down = sum((move.percent or 0) < 0 for move in diff.moves)
    middle = f", {diff.median_percent:+.1f} % in the median" if diff.median_percent is not None else ""
    moved = f"{len(diff.moves):,} {plural('price', len(diff.moves))} moved ({up:,} up, {down:,} down{middle})"
    return f"{moved}, {len(diff.gone):,} gone, {len(diff.new):,} new"


def _scope(diff: CatalogDiff) -> tuple[str, ...]:
    """What was compared and what was not."""
    changed = ", ".join(f"{name} ({before:,} → {after:,} rows)" for name, (before, after) in diff.tables.items())
    doubted = sum(_moved_far(move) for move in diff.moves)
    return (
        f"{doubted:,} of them by more than {DOUBTED_TIMES} times: see whether a unit or a decimal point slipped, or"
        " whether a price is of another number of GPUs"
        if doubted
        else "",
        f"{diff.compared:,} {plural('price', diff.compared)} {'stands' if diff.compared == 1 else 'stand'} in both",
        f"tables that say something else: {changed}" if changed else "every table says the same",
        f"not compared, for only one of the two has them: {', '.join(diff.one_sided)}" if diff.one_sided else "",
    )


def _moved_far(move: Move) -> bool:
    """Whether one of the two prices is several times the other."""
    if move.before is None or move.after is None:
        return False
    return max(move.before, move.after) > DOUBTED_TIMES * min(move.before, move.after) > 0


def diff_content(diff: CatalogDiff) -> dict[str, Any]:
    """The same for machines: every row, money as text."""
    return {
        "compared": diff.compared,
        "median_percent": _to_three_places(diff.median_percent),
        "moved": [
            asdict(move)
            | {"before": _plain(move.before), "after": _plain(move.after), "percent": _to_three_places(move.percent)}
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


def _to_three_places(percent: float | None) -> float | None:
    return None if percent is None else round(percent, 3)


def _plain(amount: Decimal | None) -> str | None:
    return None if amount is None else f"{amount:f}"

"""What happened between two states of the catalogs: prices moved, rows gone and new, tables that say something else."""

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from statistics import median

from optimizer.answers.catalog.snapshot import Snapshot


@dataclass(frozen=True)
class Move:
    """One price that changed.

    Attributes:
        table: Where it stands.
        subject: The row's key.
        column: Which of the row's prices; its name carries the unit.
        before: The old price; None where the row had none.
        after: The new price; None where the row has none any more.
        percent: Of the old price; None where one of the two is missing or the old one was zero.
    """

    table: str
    subject: str
    column: str
    before: Decimal | None
    after: Decimal | None
    percent: float | None


@dataclass(frozen=True)
class CatalogDiff:
    """Everything between two states.

    Attributes:
        moves: Prices that changed, the largest change first.
        gone: (table, row) of prices that are no longer listed, sorted.
        new: (table, row) of prices that were not listed before, sorted.
        tables: Tables whose rows say something else, by name: rows before and after.
        one_sided: Tables that only one of the two holds, and which are therefore not compared.
        compared: Prices that both states list.
    """

    moves: tuple[Move, ...]
    gone: tuple[tuple[str, str], ...]
    new: tuple[tuple[str, str], ...]
    tables: dict[str, tuple[int, int]]
    one_sided: tuple[str, ...]
    compared: int

    @property
    def median_percent(self) -> float | None:
        """Of the moves that have a percentage."""
        shares = [move.percent for move in self.moves if move.percent is not None]
        return median(shares) if shares else None


def catalog_diff(old: Snapshot, new: Snapshot) -> CatalogDiff:
    """Compares two states row by row.

    Args:
        old: The earlier state.
        new: The later one.

    Returns:
        Prices that moved, rows that are gone and new, and tables that say something else.
    """
    priced = sorted(old.prices.keys() & new.prices.keys())
    rows_before = {(table, row) for table in priced for row in old.prices[table]}
    rows_after = {(table, row) for table in priced for row in new.prices[table]}
    shared = sorted(rows_before & rows_after)
    moves = [move for table, row in shared for move in _moves(old, new, table, row)]
    return CatalogDiff(
        moves=tuple(sorted(moves, key=_largest_first)),
        gone=tuple(sorted(rows_before - rows_after)),
        new=tuple(sorted(rows_after - rows_before)),
        tables={
            name: (old.tables[name].rows, new.tables[name].rows)
            for name in sorted(old.tables.keys() & new.tables.keys())
            if old.tables[name].sha256 != new.tables[name].sha256
        },
        one_sided=tuple(sorted(old.tables.keys() ^ new.tables.keys())),
        compared=len(shared),
    )


def _moves(old: Snapshot, new: Snapshot, table: str, row: str) -> Iterator[Move]:
    before, after = old.prices[table][row].amounts, new.prices[table][row].amounts
    for column in sorted(before.keys() | after.keys()):
        was, now = before.get(column), after.get(column)
        if was != now:
            percent = float((now - was) / was * 100) if was and now is not None else None
            yield Move(table, row, column, was, now, percent)


def _largest_first(move: Move) -> tuple[object, ...]:
    size = float("-inf") if move.percent is None else -abs(move.percent)
    return size, move.table, move.subject, move.column

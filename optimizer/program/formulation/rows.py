"""Rows of the program as arrays: what every constraint family returns and the model is assembled from."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TypeAlias, overload

import numpy as np

from optimizer.base.arrays import Floats, Ints

LONGEST_NAME = 240
UNSAFE = re.compile(r"[^!-~]|[][%]")
"""What a name in a model file may not hold."""

NO_NUMBERS, NO_INDICES = np.zeros(0), np.zeros(0, dtype=np.int64)

Numbers: TypeAlias = Floats | Ints | float
Term: TypeAlias = tuple[Ints, Ints, Numbers]
"""Entries of some rows: (row, column, value); columns and values of as many entries, or of a shape that broadcasts."""


class RowNames(Sequence[str]):
    """Names that are written once somebody reads them: most programs are only asked how many they have."""

    def __init__(self, count: int, write: Callable[[], list[str]]) -> None:
        self._count, self._write = count, write

    @cached_property
    def _written(self) -> list[str]:
        return self._write()

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[str]:
        return iter(self._written)

    @overload
    def __getitem__(self, index: int) -> str: ...

    @overload
    def __getitem__(self, index: slice) -> list[str]: ...

    def __getitem__(self, index: int | slice) -> str | list[str]:
        return self._written[index]


@dataclass(frozen=True, eq=False)
class Rows:
    """Linear rows, lower <= sum of value x column <= upper.

    Attributes:
        names: (R,) unique row names.
        lower, upper: (R,) bounds, infinite where absent.
        row, column, value: (N,) the entries, in any order, each (row, column) at most once.
        blocks: Where each named block of rows stands; empty for rows of one kind.
    """

    names: Sequence[str]
    lower: Floats
    upper: Floats
    row: Ints
    column: Ints
    value: Floats
    blocks: Mapping[str, slice] = field(default_factory=dict)

    def moved(self, prefix: str, columns: int) -> "Rows":
        """The same rows on columns so much further on, under names with a prefix."""
        names = RowNames(len(self.names), lambda: [prefix + name for name in self.names])
        return replace(self, names=names, column=self.column + columns)

    def add_products(self, total: Floats, weight: Floats) -> None:
        """Add to the `total` of each column the sum over its rows of weight (R,) x value."""
        np.add.at(total, self.column, weight[self.row] * self.value)


def at_least(names: Sequence[str], lower: Numbers, *terms: Term) -> Rows:
    """Rows bounded from below."""
    return between(names, lower, np.inf, *terms)


def at_most(names: Sequence[str], upper: Numbers, *terms: Term) -> Rows:
    """Rows bounded from above."""
    return between(names, -np.inf, upper, *terms)


def between(names: Sequence[str], lower: Numbers, upper: Numbers, *terms: Term) -> Rows:
    """Rows bounded from both sides."""
    lowest, highest = (np.full(len(names), bound, dtype=np.float64) for bound in (lower, upper))
    entries = [[_flat(part, row) for part in (row, *rest)] for row, *rest in terms]
    row, column, value = (np.concatenate(parts) for parts in zip(*entries, strict=True))
    return Rows(names, lowest, highest, row, column, value.astype(float))


def _flat(part: Numbers, row: Ints) -> Ints | Floats:
    """One number for each entry, in the order of `row`."""
    numbers = np.asarray(part)
    return numbers.ravel() if numbers.size == row.size else np.broadcast_to(numbers, row.shape).ravel()


def one_row_at_most(name: str, upper: float, columns: Ints, values: Floats) -> Rows:
    """A single row bounded from above."""
    return at_most([name], upper, (np.zeros_like(columns), columns, values))


def stacked(blocks: Mapping[str, Rows]) -> Rows:
    """Blocks of rows under one another; each block's row numbers begin behind those of the one before."""
    first = np.cumsum([0, *(len(rows.names) for rows in blocks.values())]).tolist()
    parts = list(blocks.values())
    return Rows(
        names=RowNames(first[-1], lambda: [name for rows in parts for name in rows.names]),
        lower=np.concatenate([NO_NUMBERS, *(rows.lower for rows in parts)]),
        upper=np.concatenate([NO_NUMBERS, *(rows.upper for rows in parts)]),
        row=np.concatenate([NO_INDICES, *(rows.row + start for rows, start in zip(parts, first, strict=False))]),
        column=np.concatenate([NO_INDICES, *(rows.column for rows in parts)]),
        value=np.concatenate([NO_NUMBERS, *(rows.value for rows in parts)]),
        blocks={name: slice(start, end) for name, start, end in zip(blocks, first, first[1:], strict=False)},
    )


def by_name(blocks: Mapping[str, Rows], duals: Floats) -> dict[str, Floats]:
    """The duals of each block of a model's rows."""
    ends = np.cumsum([len(rows.names) for rows in blocks.values()])
    return dict(zip(blocks, np.split(duals, ends[:-1]), strict=True))


def family_of(family: str, **blocks: Rows) -> Rows:
    """The rows of a family that has several blocks."""
    rows = stacked(blocks)
    return replace(rows, names=tagged(family, rows.names))


def numbered(prefix: str, count: int) -> RowNames:
    """Names of rows or columns that nobody looks at."""
    return RowNames(count, lambda: [f"{prefix}[{number}]" for number in range(count)])


def tagged(prefix: str, members: Sequence[str]) -> RowNames:
    """`prefix[member]` for each member, free of blanks and brackets and short enough for a model file."""
    return RowNames(len(members), lambda: _tagged(prefix, members))


def _tagged(prefix: str, members: Sequence[str]) -> list[str]:
    # most names need no change, which one look at all of them tells
    unsafe = UNSAFE.search("".join(members)) is not None
    safe = [UNSAFE.sub(_encoded, member) for member in members] if unsafe else members
    full = [f"{prefix}[{member}]" for member in safe]
    if max(map(len, full), default=0) <= LONGEST_NAME:
        return full
    return [
        name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 12]}~{number}]"
        for number, name in enumerate(full)
    ]


def _encoded(match: re.Match[str]) -> str:
    return "".join(f"%{byte:02x}" for byte in match.group().encode())

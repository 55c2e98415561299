"""A column as categories and codes, so that each distinct value is looked at once."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from optimizer.base.arrays import Flags, Floats, Ints

Category = TypeVar("Category")
Row = TypeVar("Row")


MOST_PER_ROW = 8
"""Combinations for each row up to which a table of all of them takes less time than sorting the rows."""


@dataclass(frozen=True)
class Categorical(Generic[Category]):
    """One property of n rows.

    Attributes:
        categories: The distinct values, in a fixed order.
        codes: (n,) index into `categories`.
    """

    categories: tuple[Category, ...]
    codes: Ints

    @classmethod
    def of(cls, values: Sequence[Category] | NDArray[Any]) -> "Categorical[Category]":
        """The distinct values of a column, in the order of their first rows."""
        if isinstance(values, np.ndarray) and values.dtype != object:
            distinct, first, inverse = np.unique(values, return_index=True, return_inverse=True)
            order = np.argsort(first)
            return cls(tuple(distinct[order]), np.argsort(order)[inverse])
        # a value that is new gets the next number as it is looked up, so that each row is hashed once
        code = defaultdict[Category, int]()
        code.default_factory = code.__len__
        codes = np.fromiter(map(code.__getitem__, values), np.intp, len(values))
        return cls(tuple(code), codes)

    @classmethod
    def joined(cls, *columns: "Categorical[Any]") -> "Categorical[tuple[Any, ...]]":
        """The combinations of several properties that occur among the same rows."""
        codes, count = columns[0].codes, len(columns[0].categories)
        for column in columns[1:]:
            codes, count = codes * len(column.categories) + column.codes, count * len(column.categories)
        if count > MOST_PER_ROW * len(codes):
            _, first, inverse = np.unique(codes, return_index=True, return_inverse=True)
        else:
            every = _first_rows(codes, count)
            occur = np.flatnonzero(every < len(codes))
            first, inverse = every[occur], _numbered(occur, count)[codes]
        values = ([column.categories[code] for code in column.codes[first].tolist()] for column in columns)
        return Categorical(tuple(zip(*values, strict=True)), inverse.reshape(-1))

    @property
    def first(self) -> Ints:
        """(categories,) position of the first row of each."""
        every = _first_rows(self.codes, len(self.categories))
        return every[every < len(self.codes)]

    def take(self, rows: Ints) -> "Categorical[Category]":
        """Some of the rows, in the given order, with the categories that occur among them."""
        codes, count = self.codes[rows], len(self.categories)
        every = _first_rows(codes, count)
        order = np.argsort(every, kind="stable")[: np.count_nonzero(every < len(codes))]
        return Categorical(tuple(self.categories[code] for code in order.tolist()), _numbered(order, count)[codes])

    def by_row(self, values: Sequence[Any] | NDArray[Any], dtype: Any = np.float64) -> NDArray[Any]:
        """(n,) what is known of each row's category, from one value per category."""
        return np.array(values, dtype=dtype)[self.codes]

    def grouped(self, groups: Sequence[str]) -> "Categorical[str]":
        """The coarser property that the categories determine, from the group of each."""
        coarser = Categorical[str].of(groups)
        return Categorical(coarser.categories, coarser.codes[self.codes])

    def passing(self, passes: Callable[[Category], bool]) -> Flags:
        """(n,) whether each row's category passes."""
        return self.by_row([passes(category) for category in self.categories], np.bool_)

    def numbers(self, rows: Sequence[Row], amount: Callable[[Row], Decimal | None]) -> Floats:
        """(n,) an amount of the rows that depends on this property alone; NaN where it is not known."""
        amounts = [amount(rows[position]) for position in self.first.tolist()]
        return self.by_row([np.nan if value is None else float(value) for value in amounts])


def _first_rows(codes: Ints, count: int) -> Ints:
    """(count,) the first row of each code; as many as there are rows where none has it."""
    first = np.full(count, len(codes), dtype=np.intp)
    # of all rows of a code the one that is written last stays
    first[codes[::-1]] = np.arange(len(codes) - 1, -1, -1)
    return first


def _numbered(codes: Ints, count: int) -> Ints:
    """(count,) the position of each code among those given."""
    number = np.zeros(count, dtype=np.intp)
    number[codes] = np.arange(len(codes))
    return number

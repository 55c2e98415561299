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
        codes = columns[0].codes
        for column in columns[1:]:
            codes = codes * len(column.categories) + column.codes
        _, first, inverse = np.unique(codes, return_index=True, return_inverse=True)
        values = ([column.categories[code] for code in column.codes[first].tolist()] for column in columns)
        return Categorical(tuple(zip(*values, strict=True)), inverse.reshape(-1))

    @property
    def first(self) -> Ints:
        """(categories,) position of the first row of each."""
        return np.unique(self.codes, return_index=True)[1]

    def take(self, rows: Ints) -> "Categorical[Category]":
        """Some of the rows, in the given order, with the categories that occur among them."""
        left = Categorical[int].of(self.codes[rows])
        return Categorical(tuple(self.categories[code] for code in left.categories), left.codes)

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

"""A column of many rows told apart by its distinct values, so that each value is looked at once."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Generic, TypeVar

import numpy as np

from optimizer.base.arrays import Flags, Floats, Ints

Label = TypeVar("Label")
Row = TypeVar("Row")


@dataclass(frozen=True)
class Labelled(Generic[Label]):
    """One property of n rows.

    Attributes:
        names: The distinct values, in a fixed order.
        first: Position of the first row of each.
        codes: (n,) index into `names`.
    """

    names: tuple[Label, ...]
    first: Ints
    codes: Ints

    @classmethod
    def of(cls, values: Sequence[Label]) -> "Labelled[Label]":
        """The distinct values of a column."""
        code = {value: number for number, value in enumerate(dict.fromkeys(values))}
        codes = np.array([code[value] for value in values], dtype=np.intp)
        return cls(tuple(code), np.unique(codes, return_index=True)[1], codes)

    @classmethod
    def joined(cls, *columns: "Labelled[Any]") -> "Labelled[tuple[Any, ...]]":
        """The distinct combinations of several properties of the same rows."""
        codes = columns[0].codes
        for column in columns[1:]:
            codes = codes * len(column.names) + column.codes
        _, first, found = np.unique(codes, return_index=True, return_inverse=True)
        named = ([column.names[code] for code in column.codes[first].tolist()] for column in columns)
        return Labelled(tuple(zip(*named, strict=True)), first, found.reshape(-1))

    def passing(self, passes: Callable[[Label], bool]) -> Flags:
        """(n,) whether each row's value passes."""
        return np.array([passes(name) for name in self.names], dtype=np.bool_)[self.codes]

    def numbers(self, rows: Sequence[Row], amount: Callable[[Row], Decimal | None]) -> Floats:
        """(n,) an amount of the rows that depends on this property alone; NaN where it is not known."""
        found = [amount(rows[position]) for position in self.first.tolist()]
        return np.array([np.nan if value is None else float(value) for value in found])[self.codes]

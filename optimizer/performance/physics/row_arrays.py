"""Dataclasses whose arrays have one row a configuration: some rows of all their arrays at once, taken or replaced."""

from dataclasses import dataclass, fields, replace
from typing import Any, Self

import numpy as np

from optimizer.base.arrays import Ints


@dataclass(frozen=True)
class RowArrays:
    """Fields are arrays of n rows, further `RowArrays`, or what is the same for all of them."""

    def take(self, rows: Ints) -> Self:
        """Some of the rows, in the given order."""
        return replace(self, **{field.name: _taken(getattr(self, field.name), rows) for field in fields(self)})

    def put(self, rows: Ints, other: Self) -> Self:
        """The same with some rows as another has them, in the given order."""
        values = {
            field.name: _put(getattr(self, field.name), rows, getattr(other, field.name)) for field in fields(self)
        }
        return replace(self, **values)


def _taken(value: Any, rows: Ints) -> Any:
    if isinstance(value, RowArrays):
        return value.take(rows)
    return value[rows] if isinstance(value, np.ndarray) else value


def _put(value: Any, rows: Ints, other: Any) -> Any:
    if isinstance(value, RowArrays):
        return value.put(rows, other)
    if not isinstance(value, np.ndarray):
        return value
    changed = value.copy()
    changed[rows] = other
    return changed

"""Rows of the program as arrays: what every constraint family returns and the model is assembled from."""

from dataclasses import dataclass

import numpy as np

from optimizer.base.arrays import Floats, Ints


@dataclass(frozen=True, eq=False)
class Rows:
    """A block of linear rows, lower <= sum of value x column <= upper.

    Attributes:
        names: (R,) unique row names.
        lower, upper: (R,) bounds, infinite where absent.
        row, column, value: (N,) the entries, in any order, each (row, column) at most once.
    """

    names: list[str]
    lower: Floats
    upper: Floats
    row: Ints
    column: Ints
    value: Floats


Term = tuple[Ints, Ints, Floats]
"""Entries of a block: (row, column, value)."""


def at_least(names: list[str], lower: Floats, *terms: Term) -> Rows:
    """Rows bounded from below."""
    return _rows(names, lower, np.full(len(names), np.inf), terms)


def at_most(names: list[str], upper: Floats, *terms: Term) -> Rows:
    """Rows bounded from above."""
    return _rows(names, np.full(len(names), -np.inf), upper, terms)


def one_row_at_most(name: str, upper: float, columns: Ints, values: Floats) -> Rows:
    """A single row bounded from above."""
    return at_most([name], np.array([upper]), (np.zeros_like(columns), columns, values))


def _rows(names: list[str], lower: Floats, upper: Floats, terms: tuple[Term, ...]) -> Rows:
    row, column, value = (np.concatenate([np.ravel(term[part]) for term in terms]) for part in range(3))
    return Rows(names, lower.astype(float), upper.astype(float), row, column, value.astype(float))

"""Derivatives of a fit: how each measured figure follows the constants, and which of them it may speak about."""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np

from optimizer.base.arrays import Floats, Ints
from optimizer.performance.fit.fitting import FitProblem, finite, log_predicted
from optimizer.performance.physics.constants import OF_LATENCY

ROWS_AT_ONCE: Final = 2_000
"""Rows that are predicted together: of few measurements a prediction for each constant is mostly its overhead."""

_STEP: Final = 1e-3
"""Of the logarithm of a constant, for its derivative."""


class Nudged(NamedTuple):
    """Constants of which each row uses one, all taken a step further.

    Attributes:
        values: The calibration's vector with them.
        rows: The measured rows that use one of them.
        columns: Of each of these rows, the column of the constant.
    """

    values: Floats
    rows: Ints
    columns: Ints


def jacobian(fitted: FitProblem, x: Floats) -> Floats:
    """Derivatives of `residuals` by x, (figures + f, f)."""
    parameters = fitted.parameters
    values = parameters.values(fitted.calibration, x)
    base = log_predicted(fitted, values)
    derivative = np.zeros((*base.shape, len(parameters.position)))
    for together in _together(_varied(fitted, values)):
        rows = np.concatenate([each.rows for each in together])
        of_row = np.repeat(np.arange(len(together)), [len(each.rows) for each in together])
        moved = log_predicted(fitted.take(rows), np.stack([each.values for each in together]), of_row)
        change = (moved - base[:, rows]) / (_STEP * fitted.scale[:, None])
        derivative[:, rows, np.concatenate([each.columns for each in together])] = finite(change)
    return np.concatenate([derivative[fitted.weight > 0], parameters.precision])


def _varied(fitted: FitProblem, values: Floats) -> Iterator[Nudged]:
    """A row uses one value of each parameter, so all groups of a parameter are varied at once."""
    position = fitted.parameters.position
    # position in the calibration -> column, -1 for constants that stay
    column = np.full(len(values), -1, dtype=np.intp)
    column[position] = np.arange(len(position))
    for index in fitted.deployments.setup.constants.index.values():
        # measured row -> column of the value that it uses
        used = column[index]
        moved = np.flatnonzero(used >= 0)
        if len(moved):
            varied = values.copy()
            varied[position[np.unique(used[moved])]] *= np.exp(_STEP)
            yield Nudged(varied, moved, used[moved])


def _together(each: Iterator[Nudged]) -> Iterator[Sequence[Nudged]]:
    """As many in a row as are predicted at once."""
    waiting: list[Nudged] = []
    for varied in each:
        if waiting and sum(len(one.rows) for one in (*waiting, varied)) > ROWS_AT_ONCE:
            yield waiting
            waiting = []
        waiting.append(varied)
    if waiting:
        yield waiting


def influence(fitted: FitProblem, slope: Floats) -> Floats:
    """What each figure may say about each constant, (figures, f): its derivatives, none by `OF_LATENCY` if no time."""
    entries, position = fitted.calibration.entries, fitted.parameters.position
    of_latency = np.array([entries[each].parameter in OF_LATENCY for each in position.tolist()], dtype=np.bool_)
    timed = fitted.timed[fitted.weight > 0]
    return np.where(timed[:, None] | ~of_latency, slope, 0.0)

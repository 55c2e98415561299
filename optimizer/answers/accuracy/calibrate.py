"""The constants of the performance model fitted to measurements, with errors before and after.

From the priors the whole catalog is fitted, as the shipped one was. From the shipped values a few own rows sharpen it:
kernels of the engine era on the architecture that was measured may move freely, everything broader hardly.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Final, Literal

import numpy as np
import pandas as pd

from optimizer.answers.accuracy.calibration_rows import (
    MetricError,
    Origin,
    error_rows,
    evidence_rows,
    interval_rows,
    metric_errors,
    moved_rows,
    ordered,
    source_of,
)
from optimizer.base.arrays import Floats
from optimizer.base.progress import Progress, silent
from optimizer.inputs.catalog.records import CalibrationEntry, Catalogs
from optimizer.performance.fit.fitting import (
    FIT,
    SPREAD,
    FitProblem,
    FreeConstants,
    drawn_to,
    from_priors,
    problem,
)
from optimizer.performance.fit.solving import believed
from optimizer.performance.physics.constants import calibration_of, group_name
from optimizer.performance.physics.eras import era_of
from optimizer.performance.physics.own import without_own

Start = Literal["priors", "shipped"]
FIT_PHASES: Final = ("fitting", "leaving out")
LOCAL: Final = ("engine_bandwidth_factor", "engine_compute_factor")
"""What a few rows may move for the engine era and architecture they were measured on."""


@dataclass(frozen=True)
class Fit:
    """A fitted calibration.

    Attributes:
        entries: All rows of the new calibration, sorted by parameter and group.
        before: Errors of the calibration that the fit started from, on the rows it was fitted to.
        after: Errors of the new one on the same rows.
        fitted: The measured rows and the constants that could move.
        x: How far each moved, in logarithms.
    """

    entries: tuple[CalibrationEntry, ...]
    before: tuple[MetricError, ...]
    after: tuple[MetricError, ...]
    fitted: FitProblem
    x: Floats


def fit(
    frame: pd.DataFrame,
    catalogs: Catalogs,
    *,
    start: Start = "priors",
    seed: int = 0,
    intervals: bool = True,
    data: str = "",
    as_of: date | None = None,
    near: Sequence[CalibrationEntry] = (),
    progress: Progress | None = None,
) -> Fit:
    """Fit the constants to measurements.

    Args:
        frame: As `load_measurements` reads it.
        catalogs: What is known; its calibration holds priors, spreads and the settings of a fit.
        start: `priors` forgets earlier fits; `shipped` sharpens the present values.
        seed: Decides which groups are left out together for the intervals.
        intervals: Whether to calibrate the intervals anew; else they stay as they are.
        data: What was fitted to, for the notes of the rows.
        as_of: Date of the fitted rows; by default the catalogs' own.
        near: Values that the search begins at instead of the start: how long it takes, not what it looks for.
        progress: Told the name of each phase (`FIT_PHASES`) as it begins.

    Returns:
        All rows of the new calibration, with the errors before and after.

    Raises:
        InputError: no row can be used.
    """
    begin = progress or silent
    begin("fitting")
    origin = Origin(source_of(frame, catalogs), as_of or catalogs.as_of, data or "measurements")
    # what own measurements say of predictions is said of those by the constants of before
    catalogs = replace(catalogs, calibration=without_own(catalogs.calibration))
    known, free = _freed(frame, catalogs, start)
    begun = problem(frame, known, free)
    fitted, x = believed(begun, _moves(begun, near))
    moved = moved_rows(fitted, x, origin)
    before = metric_errors(fitted, fitted.parameters.values(fitted.calibration, np.zeros_like(x)))
    after = metric_errors(fitted, np.array([entry.value for entry in moved]))
    made = [*evidence_rows(fitted, catalogs, origin, keep=start == "shipped"), *error_rows(before, after, origin)]
    if intervals:
        begin("leaving out")
        made += interval_rows(fitted, catalogs, x, seed, origin)
    replaced = {entry.parameter for entry in made}
    entries = ordered([*(entry for entry in moved if entry.parameter not in replaced), *made])
    return Fit(entries, before, after, fitted, x)


def _moves(fitted: FitProblem, near: Sequence[CalibrationEntry]) -> Floats:
    """How far these values are from where each free constant starts, in logarithms, (f,); 0 where they say nothing."""
    value = {(entry.parameter, entry.group): entry.value for entry in near}
    begun = fitted.parameters.start.copy()
    for free, position in enumerate(fitted.parameters.position):
        entry = fitted.calibration.entries[position]
        begun[free] = value.get((entry.parameter, entry.group), begun[free])
    moves: Floats = np.log(begun / fitted.parameters.start)
    return moves


def _freed(frame: pd.DataFrame, catalogs: Catalogs, start: Start) -> tuple[Catalogs, FreeConstants]:
    """The catalogs to fit under, and what may move."""
    if start == "priors":
        return catalogs, from_priors(calibration_of(catalogs))
    known = _with_local_rows(frame, catalogs)
    return known, _sharpening(frame, known)


def _with_local_rows(frame: pd.DataFrame, catalogs: Catalogs) -> Catalogs:
    """The catalogs with rows of their own for the kernels of every measured engine era on its architecture."""
    calibration = calibration_of(catalogs)
    everything = problem(frame, catalogs)
    index = everything.deployments.setup.constants.index
    added: dict[tuple[str, str], CalibrationEntry] = {}
    for row, group in enumerate(_local_groups(everything, catalogs)):
        for parameter in LOCAL:
            applied = calibration.entries[index[parameter][row]]
            if (parameter, group) not in calibration.position:
                added[parameter, group] = applied.model_copy(update={"group": group, "prior": applied.value})
    return replace(catalogs, calibration=ordered([*catalogs.calibration, *added.values()]))


def _local_groups(fitted: FitProblem, catalogs: Catalogs) -> list[str]:
    """The engine era on the architecture, of every row."""
    names, rows = fitted.table.names, fitted.rows
    engines, versions, gpus = (names[column][rows] for column in ("engine", "engine_version", "gpu"))
    eras = {pair: era_of(fitted.calibration, *pair) for pair in set(zip(engines, versions, strict=True))}
    return [
        group_name((eras[engine, version], catalogs.gpus[gpu].architecture))
        for engine, version, gpu in zip(engines, versions, gpus, strict=True)
    ]


def _sharpening(frame: pd.DataFrame, catalogs: Catalogs) -> FreeConstants:
    """What the rows use may move: local kernels by their whole spread, what many measurements fixed by little."""
    calibration = calibration_of(catalogs)
    used = problem(frame, catalogs)
    index = used.deployments.setup.constants.index
    # positions in the calibration: of the measured kernels, and of all that a fit may move
    local = {int(position) for name in LOCAL for position in index[name][: len(used.rows)]}
    free = set(from_priors(calibration).position.tolist())
    little = calibration.lookup(FIT, "sharpened_spread_factor")
    spread = calibration.members(SPREAD)
    spreads = {
        int(position): spread[name] * (1.0 if int(position) in local else little)
        for name in sorted(spread)
        if name in index
        for position in np.unique(index[name])
        if int(position) in free
    }
    return drawn_to(calibration, spreads)

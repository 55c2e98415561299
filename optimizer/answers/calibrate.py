"""The constants of the performance model fitted to measurements, with errors before and after.

From the priors the whole catalog is fitted, as the shipped one was. From the shipped values a few own rows sharpen it:
kernels of the engine era on the architecture that was measured may move freely, everything broader hardly.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Final, Literal

import numpy as np
import pandas as pd

from optimizer.base.extras import optional
from optimizer.inputs.catalog import CalibrationEntry, Catalogs
from optimizer.inputs.measurements import METRICS
from optimizer.performance.calibration import Calibration, Floats, group_name
from optimizer.performance.coverage import interval_tables
from optimizer.performance.eras import era_of
from optimizer.performance.evidence import EVIDENCE, measured_groups, named_pairs
from optimizer.performance.fitting import (
    FIT,
    SPREAD,
    Names,
    Parameters,
    Problem,
    drawn_to,
    from_priors,
    jacobian,
    log_errors,
    loss,
    prior_of,
    problem,
    residuals,
)
from optimizer.performance.intervals import COVERAGE, HALF_WIDTH, UNSEEN
from optimizer.performance.left_out import left_out_rows
from optimizer.performance.measured import REPEAT_NOISE, points, repeat_noise

Start = Literal["priors", "shipped"]
LOCAL: Final = ("engine_bandwidth_factor", "engine_compute_factor")
"""What a few rows may move for the engine era and architecture they were measured on."""

PUBLISHED_SOURCE: Final = "serving-measurements-2026-11"
OWN_SOURCE: Final = "own-measurements"
ERROR: Final = "fit_error"
PERCENT: Final = 100
WORST_SHARE: Final = 0.9
DIGITS: Final = "%.4g"
FIRST_STEP: Final = 4.0
"""Length of the first step that a fit may try, in logarithms, over all constants together."""

EVALUATIONS: Final = 40
TOLERANCE: Final = 1e-4
"""A fit ends when a step lowers its cost by less than this share."""


@dataclass(frozen=True)
class MetricError:
    """Errors of one metric: median over groups of their median, and 90th percentile over rows, in percent."""

    metric: str
    rows: int
    groups: int
    median_percent: float
    p90_percent: float
    bias_percent: float


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
    fitted: Problem
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

    Raises:
        InputError: no row can be used, or scipy is not installed.
    """
    settled = _Origin(_source(frame, catalogs), as_of or catalogs.as_of, data or "measurements")
    known, free = _freed(frame, catalogs, start)
    fitted = problem(frame, known, free)
    x = solve(fitted)
    moved = _moved(fitted, x, settled)
    before = metric_errors(fitted, fitted.parameters.values(fitted.calibration, np.zeros_like(x)))
    after = metric_errors(fitted, np.array([entry.value for entry in moved]))
    made = [*_evidence(fitted, catalogs, settled, keep=start == "shipped"), *_error_rows(before, after, settled)]
    made += _intervals(fitted, catalogs, x, seed, settled) if intervals else []
    anew = {entry.parameter for entry in made}
    entries = _ordered([*(entry for entry in moved if entry.parameter not in anew), *made])
    return Fit(entries, before, after, fitted, x)


def solve(fitted: Problem) -> Floats:
    """How far each free constant moves from its start, in logarithms, (f,): scipy's trust region on the robust loss."""
    least_squares = optional("scipy.optimize", extra="accuracy").least_squares
    found = least_squares(
        lambda x: residuals(fitted, x),
        np.zeros(len(fitted.parameters.start)),
        jac=lambda x: jacobian(fitted, x),
        loss=lambda squared: loss(fitted, squared),
        x_scale=FIRST_STEP,
        ftol=TOLERANCE,
        max_nfev=EVALUATIONS,
    )
    x: Floats = np.asarray(found.x, dtype=np.float64)
    return x


def metric_errors(fitted: Problem, values: Floats) -> tuple[MetricError, ...]:
    """Errors of every metric that was measured, under these constants."""
    errors = log_errors(fitted, values)
    return tuple(
        _metric_error(metric, row[np.isfinite(row)], fitted.group[np.isfinite(row)])
        for metric, row in zip(METRICS, errors, strict=True)
        if np.isfinite(row).any()
    )


def _metric_error(metric: str, errors: Floats, group: Names) -> MetricError:
    share = pd.Series(np.abs(np.expm1(errors)) * PERCENT)
    by_group = share.groupby(group).median()
    bias = float(np.expm1(np.median(errors)) * PERCENT)
    return MetricError(
        metric, len(errors), len(by_group), float(by_group.median()), float(share.quantile(WORST_SHARE)), bias
    )


def _freed(frame: pd.DataFrame, catalogs: Catalogs, start: Start) -> tuple[Catalogs, Parameters]:
    """The catalogs to fit under, and what may move."""
    if start == "priors":
        return catalogs, from_priors(Calibration.of(catalogs.calibration))
    known = _with_local_rows(frame, catalogs)
    return known, _sharpening(frame, known)


def _with_local_rows(frame: pd.DataFrame, catalogs: Catalogs) -> Catalogs:
    """The catalogs with rows of their own for the kernels of every measured engine era on its architecture."""
    calibration = Calibration.of(catalogs.calibration)
    everything = problem(frame, catalogs)
    index = everything.deployments.setup.constants.index
    added: dict[tuple[str, str], CalibrationEntry] = {}
    for at, group in enumerate(_local_groups(everything, catalogs)):
        for parameter in LOCAL:
            applied = calibration.entries[index[parameter][at]]
            if (parameter, group) not in calibration.position:
                added[parameter, group] = applied.model_copy(update={"group": group, "prior": applied.value})
    return replace(catalogs, calibration=_ordered([*catalogs.calibration, *added.values()]))


def _local_groups(fitted: Problem, catalogs: Catalogs) -> list[str]:
    """The engine era on the architecture, of every row."""
    names, rows = fitted.table.names, fitted.rows
    engines, versions, gpus = (names[column][rows] for column in ("engine", "engine_version", "gpu"))
    eras = {pair: era_of(fitted.calibration, *pair) for pair in set(zip(engines, versions, strict=True))}
    return [
        group_name((eras[engine, version], catalogs.gpus[gpu].architecture))
        for engine, version, gpu in zip(engines, versions, gpus, strict=True)
    ]


def _sharpening(frame: pd.DataFrame, catalogs: Catalogs) -> Parameters:
    """What the rows use may move: local kernels by their whole spread, what many measurements fixed by little."""
    calibration = Calibration.of(catalogs.calibration)
    used = problem(frame, catalogs)
    index = used.deployments.setup.constants.index
    local = {index[name][at] for name in LOCAL for at in range(len(used.rows))}
    free = set(from_priors(calibration).position.tolist())
    little = calibration.lookup(FIT, "sharpened_spread_factor")
    spread = calibration.members(SPREAD)
    spreads = {
        int(at): spread[name] * (1.0 if at in local else little)
        for name in sorted(spread)
        if name in index
        for at in np.unique(index[name])
        if int(at) in free
    }
    return drawn_to(calibration, spreads)


@dataclass(frozen=True)
class _Origin:
    """Where fitted rows come from: source id, date and the data in words."""

    source: str
    as_of: date
    data: str


def _source(frame: pd.DataFrame, catalogs: Catalogs) -> str:
    """The published measurements if every row names a source of the catalog, else the user's own."""
    named = set(frame["source"]) if "source" in frame.columns else {""}
    return PUBLISHED_SOURCE if named <= set(catalogs.sources) else OWN_SOURCE


def _moved(fitted: Problem, x: Floats, origin: _Origin) -> list[CalibrationEntry]:
    """All rows of the calibration under the fitted values, rounded to `DIGITS`."""
    index, entries = fitted.deployments.setup.constants.index, list(fitted.calibration.entries)
    values = fitted.parameters.values(fitted.calibration, x)
    for at in fitted.parameters.position:
        entry = entries[at]
        seen = bool(np.any(index[entry.parameter] == at))
        method, note = ("fit", f"fitted to {origin.data}") if seen else ("pooled", "no measurement of its own")
        entries[at] = entry.model_copy(
            update={
                "value": float(DIGITS % values[at]),
                "prior": prior_of(entry),
                "method": method,
                "source": origin.source,
                "as_of": origin.as_of,
                "note": note,
            }
        )
    return entries


def _evidence(fitted: Problem, catalogs: Catalogs, origin: _Origin, *, keep: bool) -> list[CalibrationEntry]:
    """How many measured groups hold each GPU, model and pair, added to what was known before if that is kept."""
    used = np.flatnonzero((fitted.weight > 0).any(axis=0))
    names = {name: fitted.table.names[name][fitted.rows[used]] for name in ("engine", "model", "gpu", "precision")}
    counted = Counter(measured_groups(named_pairs(catalogs, **names), list(fitted.group[used])))
    if keep:
        counted.update({group: int(count) for group, count in fitted.calibration.members(EVIDENCE).items()})
    return [
        CalibrationEntry(
            parameter=EVIDENCE,
            group=group,
            value=counted[group],
            unit="measured groups",
            method="counted",
            source=origin.source,
            as_of=origin.as_of,
        )
        for group in sorted(counted)
    ]


def _intervals(fitted: Problem, catalogs: Catalogs, x: Floats, seed: int, origin: _Origin) -> list[CalibrationEntry]:
    """The widths of intervals, from what fits without a group, a model or a GPU would have predicted."""
    exponent, shrinkage = (fitted.calibration.lookup(FIT, name) for name in ("row_weight_exponent", "shrinkage_groups"))
    tables = interval_tables(left_out_rows(fitted, catalogs, x, seed), exponent, shrinkage)
    same = points(fitted.table, fitted.rows, catalogs)
    point = same.groupby(list(same.columns), dropna=False).ngroup().to_numpy()
    for metric, logs in zip(METRICS, fitted.measured, strict=True):
        tables[REPEAT_NOISE, metric] = repeat_noise(logs, point, COVERAGE)
    return [
        CalibrationEntry(
            parameter=parameter,
            group=group,
            value=float(DIGITS % value),
            unit="logarithm" if parameter in (HALF_WIDTH, UNSEEN, REPEAT_NOISE) else "share of the half-width",
            method="left out",
            source=origin.source,
            as_of=origin.as_of,
            note=f"groups, models and GPUs left out, seed {seed}",
        )
        for (parameter, group), value in tables.items()
    ]


def _error_rows(before: Sequence[MetricError], after: Sequence[MetricError], origin: _Origin) -> list[CalibrationEntry]:
    """The errors before and after as rows of the calibration."""
    return [
        CalibrationEntry(
            parameter=ERROR,
            group=f"{error.metric}@{moment}",
            value=float(DIGITS % error.median_percent),
            unit="percent, median over groups",
            method="in sample",
            source=origin.source,
            as_of=origin.as_of,
            note=f"{error.rows} rows of {error.groups} groups; {origin.data}",
        )
        for moment, errors in (("before", before), ("after", after))
        for error in errors
    ]


def _ordered(entries: Iterable[CalibrationEntry]) -> tuple[CalibrationEntry, ...]:
    return tuple(sorted(entries, key=lambda entry: (entry.parameter, entry.group)))

"""A fit as rows of the calibration catalog: moved constants, evidence, intervals, errors before and after."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Final

import numpy as np
import pandas as pd

from optimizer.base.arrays import Floats, Names
from optimizer.base.figures import exactly
from optimizer.inputs.catalog.records import CalibrationEntry, Catalogs
from optimizer.inputs.metrics import METRICS
from optimizer.performance.fit.coverage import interval_tables
from optimizer.performance.fit.cross_validation import held_out_errors
from optimizer.performance.fit.fitting import FIT, MOST_DEVIATIONS, FitProblem, log_errors, prior_of
from optimizer.performance.measured.measured import points, repeat_noise
from optimizer.performance.physics.constants import rounded
from optimizer.performance.uncertainty.evidence import (
    EVIDENCE,
    PAIRED,
    measured_groups,
    named_pairs,
    pipelines,
    releases,
)
from optimizer.performance.uncertainty.intervals import COVERAGE, FACTOR, HALF_WIDTH, REPEAT_NOISE, UNSEEN
from optimizer.performance.uncertainty.own_updates import OWN_SOURCE

PUBLISHED_SOURCE: Final = "serving-measurements-2026-11"
ERROR: Final = "fit_error"
PRIOR_NOTE: Final = "prior: "
"""How the note of a row begins that says where its prior comes from: a fit keeps it, up to `THEN`."""

THEN: Final = "; then "
INTERVAL_UNITS: Final = {HALF_WIDTH: "logarithm", UNSEEN: "logarithm", FACTOR: "factor"}
PERCENT: Final = 100
WORST_SHARE: Final = 0.9


@dataclass(frozen=True)
class Origin:
    """Where fitted rows come from: source id, date and the data in words."""

    source: str
    as_of: date
    data: str


@dataclass(frozen=True)
class MetricError:
    """Errors of one metric: median over groups of their median, and 90th percentile over rows, in percent."""

    metric: str
    rows: int
    groups: int
    median_percent: float
    p90_percent: float
    bias_percent: float


def source_of(frame: pd.DataFrame, catalogs: Catalogs) -> str:
    """The published measurements if every row names a source of the catalog, else the user's own."""
    named = set(frame["source"]) if "source" in frame.columns else {""}
    return PUBLISHED_SOURCE if named <= set(catalogs.sources) else OWN_SOURCE


def metric_errors(fitted: FitProblem, values: Floats) -> tuple[MetricError, ...]:
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


def moved_rows(fitted: FitProblem, x: Floats, origin: Origin) -> list[CalibrationEntry]:
    """All rows of the calibration under the fitted values, rounded to `DIGITS`; what priors rest on stays told."""
    entries = list(fitted.calibration.entries)
    values = fitted.parameters.values(fitted.calibration, x)
    used = np.unique(np.stack(list(fitted.deployments.setup.constants.index.values())))
    for at, pooled in zip(fitted.parameters.position, fitted.parameters.pooled, strict=True):
        entry = entries[at]
        method, note = ("fit", f"fitted to {origin.data}") if at in used else ("pooled", "no measurement of its own")
        if pooled:
            method, note = (
                "pooled",
                f"{origin.data} moves it over {exactly(MOST_DEVIATIONS)} deviations from its broader group",
            )
        entries[at] = entry.model_copy(
            update={
                "value": rounded(values[at]),
                "prior": prior_of(entry),
                "method": method,
                "source": origin.source,
                "as_of": origin.as_of,
                "note": _about_prior(entry) + note,
            }
        )
    return entries


def _about_prior(entry: CalibrationEntry) -> str:
    """Where a row's prior comes from, in front of what becomes of it; empty where the row does not say."""
    return entry.note.split(THEN)[0] + THEN if entry.note.startswith(PRIOR_NOTE) else ""


TPOT: Final = METRICS.index("tpot")


def evidence_rows(fitted: FitProblem, catalogs: Catalogs, origin: Origin, *, keep: bool) -> list[CalibrationEntry]:
    """How many measured groups hold each GPU, model and pair, by metric, added to what was known if that is kept."""
    counted: Counter[str] = Counter()
    for metric, told, served in zip(METRICS, fitted.told, fitted.served, strict=True):
        rows = np.flatnonzero(told)
        names = {name: fitted.table.names[name][fitted.rows[rows]] for name in PAIRED}
        counted.update(measured_groups(metric, named_pairs(catalogs, **names), list(fitted.group[rows]), served[rows]))
    used = np.flatnonzero((fitted.weight > 0).any(axis=0))
    # pipeline stages count where tokens were timed: a throughput with everything sent at once promises no latency
    staged = used[(fitted.table.layout["pp"][fitted.rows[used]] > 1) & fitted.served[TPOT, used]]
    of_stages = (fitted.table.names[name][fitted.rows[staged]] for name in ("engine", "model", "gpu"))
    counted.update(_by_name(pipelines(catalogs, *of_stages), fitted.group[staged]))
    run_with = (fitted.table.names[name][fitted.rows[used]] for name in ("gpu", "engine", "engine_version"))
    counted.update(_by_name(releases(fitted.calibration, *run_with), fitted.group[used]))
    if keep:
        counted.update({group: int(count) for group, count in fitted.calibration.members(EVIDENCE).items()})
    return [
        entry(origin, EVIDENCE, group, counted[group], unit="measured groups", method="counted")
        for group in sorted(counted)
    ]


def _by_name(names: Sequence[str], group: Names) -> Counter[str]:
    """In how many groups each name occurs."""
    return Counter(name for name, _ in set(zip(names, group, strict=True)))


def interval_rows(
    fitted: FitProblem, catalogs: Catalogs, x: Floats, seed: int, origin: Origin
) -> list[CalibrationEntry]:
    """The widths of intervals, from what fits without a group, model, GPU, cell or source would have predicted."""
    shrinkage = fitted.calibration.lookup(FIT, "shrinkage_groups")
    of_traits = fitted.calibration.lookup(FIT, "shrinkage_groups@trait", "shrinkage_groups")
    tables = interval_tables(held_out_errors(fitted, catalogs, x, seed), shrinkage, of_traits)
    note = f"groups, models, GPUs, cells and sources left out, seed {seed}"
    made = [
        entry(
            origin,
            parameter,
            group,
            rounded(value),
            unit=INTERVAL_UNITS.get(parameter, "share of the half-width"),
            method="left out",
            note=note,
        )
        for (parameter, group), value in tables.items()
    ]
    same = points(fitted.table, fitted.rows, catalogs)
    point = same.groupby(list(same.columns), dropna=False).ngroup().to_numpy()
    note = "points that were measured more than once"
    for metric, logs in zip(METRICS, fitted.measured, strict=True):
        noise = rounded(repeat_noise(logs, point, COVERAGE))
        made.append(entry(origin, REPEAT_NOISE, metric, noise, unit="logarithm", method="observed", note=note))
    return made


def error_rows(before: Sequence[MetricError], after: Sequence[MetricError], origin: Origin) -> list[CalibrationEntry]:
    """The errors before and after as rows of the calibration."""
    return [
        entry(
            origin,
            ERROR,
            f"{error.metric}@{moment}",
            rounded(error.median_percent),
            unit="percent, median over groups",
            method="in sample",
            note=f"{error.rows} rows of {error.groups} groups; {origin.data}",
        )
        for moment, errors in (("before", before), ("after", after))
        for error in errors
    ]


def entry(
    origin: Origin, parameter: str, group: str, value: float, *, unit: str, method: str, note: str = ""
) -> CalibrationEntry:
    return CalibrationEntry(
        parameter=parameter,
        group=group,
        value=value,
        unit=unit,
        method=method,
        source=origin.source,
        as_of=origin.as_of,
        note=note,
    )


def ordered(entries: Iterable[CalibrationEntry]) -> tuple[CalibrationEntry, ...]:
    return tuple(sorted(entries, key=lambda entry: (entry.parameter, entry.group)))

"""The shipped calibration, updated by measurements of one's own: what they tell of deployments, as rows of an overlay.

Of each configuration that was measured, of its model otherwise, and of its engine and GPU otherwise: the factor by
which predictions move and what is left of their intervals, by kind of load (`performance/uncertainty/likeness.py`).
Constants stay as they are.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date

import numpy as np
import pandas as pd

from optimizer.answers.accuracy.calibration_rows import ordered
from optimizer.answers.accuracy.own_rows import OwnPoints, own_points
from optimizer.answers.accuracy.validate import errors
from optimizer.base.figures import exactly
from optimizer.base.model import Strict
from optimizer.inputs.catalog.records import CalibrationEntry, Catalogs
from optimizer.inputs.measurements import deployments_of
from optimizer.inputs.metrics import METRICS
from optimizer.performance.measured.batch import predict_batch
from optimizer.performance.physics.constants import group_name, rounded
from optimizer.performance.physics.own import FACTOR, PLANNING_LOAD, without_own
from optimizer.performance.uncertainty.evidence import OWN_DEPLOYMENT
from optimizer.performance.uncertainty.likeness import Told, shares_of, told_by_the_others
from optimizer.performance.uncertainty.own_updates import OWN_SOURCE, own_entries, own_values
from optimizer.plan.record.fields import Figure


class MovedMetric(Strict):
    """One metric of a configuration, over the rows that measured it."""

    metric: str
    points: int
    """Measured points: repeated runs count once."""
    error_before_percent: Figure
    """Median of what predictions are off."""
    error_after_percent: Figure
    """The same with the overlay, of rows that it was made from."""
    error_by_others_percent: Figure | None
    """The same where each point is predicted from all others; None where there is no other."""
    interval_before: Figure
    """The 90 % interval reaches to the prediction times and divided by about this factor."""
    interval_after: Figure
    plan_factor: Figure
    """By which steps of plans take longer, or tokens/s move; at a given rate TPOT moves further."""


class MovedConfiguration(Strict):
    """A configuration that was measured."""

    engine: str
    """With its era."""
    gpu: str
    model: str
    configuration: str
    """Precisions of weights and cache, and the layout."""
    metrics: tuple[MovedMetric, ...]


class MovedNeighbour(Strict):
    """What was not measured but moves along."""

    engine: str
    gpu: str
    model: str | None
    """None for all other models."""
    factors: dict[str, Figure]
    """On predictions for plans, by metric."""


class OwnCalibration(Strict):
    """What own measurements changed."""

    schema_version: int = 1
    rows: int
    left_out: tuple[str, ...]
    """Rows that say nothing, with the reason."""
    remarks: tuple[str, ...]
    configurations: tuple[MovedConfiguration, ...]
    neighbours: tuple[MovedNeighbour, ...]


@dataclass(frozen=True)
class OwnUpdate:
    """The overlay's rows, and what they change."""

    entries: tuple[CalibrationEntry, ...]
    shown: OwnCalibration


def own_update(
    frame: pd.DataFrame, catalogs: Catalogs, *, file: str, data: str, as_of: date | None = None
) -> OwnUpdate:
    """Update the calibration by measurements of one's own.

    Args:
        frame: As `load_measurements` reads it.
        catalogs: What is known; rows that earlier measurements left are made anew from these.
        file: How findings name the measurements.
        data: What was measured, for the notes of the rows.
        as_of: Date of the rows; by default the catalogs' own.

    Returns:
        The rows, for `write_own`, and what they change.

    Raises:
        InputError: a row that cannot be predicted, rows that contradict each other, or none that says anything.
    """
    before = replace(catalogs, calibration=without_own(catalogs.calibration))
    points = own_points(frame, before, file)
    entries = _entries(points, before, as_of or catalogs.as_of, data)
    after = replace(before, calibration=ordered([*before.calibration, *entries]))
    by_others, was = _by_others(points, before), _judged(points, before)
    shown = OwnCalibration(
        rows=len(frame),
        left_out=points.left_out,
        remarks=(*points.remarks, *_odd(points, by_others, was, file)),
        configurations=tuple(_configurations(points, by_others, was, after)),
        neighbours=tuple(_neighbours(points, entries)),
    )
    return OwnUpdate(entries, shown)


def _entries(points: OwnPoints, catalogs: Catalogs, as_of: date, data: str) -> tuple[CalibrationEntry, ...]:
    values = own_values(shares_of(catalogs.deployment_shares), points.errors, points.places)
    return ordered(own_entries(values, OWN_SOURCE, as_of, f"{OWN_DEPLOYMENT}: {data}"))


def _odd(points: OwnPoints, by_others: Sequence[Told], was: pd.DataFrame, file: str) -> Iterator[str]:
    """Of each metric the point that the others lead one to expect least, where it is outside the interval they give."""
    for metric, error, told_of in zip(METRICS, points.errors, by_others, strict=True):
        of_metric = was[was["metric"] == metric].set_index("at")["half_width"]
        width = np.log(of_metric.reindex(points.row).to_numpy())
        # 1 at the end of the interval; 0 where nothing was measured or nothing else was
        off = np.nan_to_num(np.abs(error - told_of.mean) / (told_of.left * width))
        at = int(np.argmax(off))
        if off[at] > 1:
            seen, led = (exactly(rounded(np.exp(each))) for each in (error[at], told_of.mean[at]))
            yield (
                f"{file}:{points.line[at]}: {metric} is {seen} times the prediction where the other rows lead one to "
                f"expect {led}: measure it again"
            )


def _by_others(points: OwnPoints, catalogs: Catalogs) -> list[Told]:
    """What the other points tell of each, by metric, (n,); NaN where there is none in common with it."""
    shares, found = shares_of(catalogs.deployment_shares), []
    for metric, error in zip(METRICS, points.errors, strict=True):
        known = np.flatnonzero(np.isfinite(error))
        mean, left = np.full(len(error), np.nan), np.full(len(error), np.nan)
        if len(known):
            gpu = points.places.gpu[known]
            shared = (gpu[:, None] == gpu[None, :]).sum(axis=1) > 1
            told_of = told_by_the_others(shares, metric, error[known], points.places.take(known))
            mean[known], left[known] = np.where(shared, told_of.mean, np.nan), told_of.left
        found.append(Told(mean, left))
    return found


def _configurations(
    points: OwnPoints, by_others: Sequence[Told], was: pd.DataFrame, after: Catalogs
) -> Iterator[MovedConfiguration]:
    now = _judged(points, after)
    factors = {each.group: each.value for each in after.calibration if each.parameter == FACTOR}
    for name in sorted(set(points.places.configuration)):
        metrics = []
        for at, metric in enumerate(METRICS):
            mine = (points.places.configuration == name) & np.isfinite(points.errors[at])
            old, new = (each[(each["metric"] == metric) & (each["name"] == name)] for each in (was, now))
            if mine.any():
                others = np.abs(np.expm1(by_others[at].mean - points.errors[at])[mine])
                known = others[np.isfinite(others)]
                metrics.append(
                    MovedMetric(
                        metric=metric,
                        points=int(mine.sum()),
                        error_before_percent=float(old["percent"].median()),
                        error_after_percent=float(new["percent"].median()),
                        error_by_others_percent=100 * float(np.median(known)) if len(known) else None,
                        interval_before=float(old["half_width"].median()),
                        interval_after=float(new["half_width"].median()),
                        plan_factor=factors[group_name((metric, PLANNING_LOAD[metric], name))],
                    )
                )
        engine, gpu, model, *rest = name.split("@")
        yield MovedConfiguration(
            engine=engine, gpu=gpu, model=model, configuration=" ".join(rest), metrics=tuple(metrics)
        )


def _judged(points: OwnPoints, catalogs: Catalogs) -> pd.DataFrame:
    """Every figure against its prediction, with the interval of a deployment that runs as it says."""
    predicted = predict_batch(deployments_of(points.frame), catalogs, look_up=False, foreign=False)
    found = errors(predicted, catalogs)
    return found.assign(name=points.name[found["at"].to_numpy()])


def _neighbours(points: OwnPoints, entries: Sequence[CalibrationEntry]) -> Iterator[MovedNeighbour]:
    """What moves along: other precisions and layouts of the models that were measured, and other models."""
    factors = {each.group: each.value for each in entries if each.parameter == FACTOR}
    for name in sorted({*points.places.gpu, *points.places.model}):
        groups = {metric: group_name((metric, PLANNING_LOAD[metric], name)) for metric in METRICS}
        engine, gpu, *model = name.split("@")
        yield MovedNeighbour(
            engine=engine,
            gpu=gpu,
            model=model[0] if model else None,
            factors={metric: factors[group] for metric, group in groups.items() if group in factors},
        )

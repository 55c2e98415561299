"""How far predictions are from measurements: errors by metric and by what was measured, groups weighted equally."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Final

import numpy as np
import pandas as pd
from pydantic import PlainSerializer

from optimizer.base.errors import Finding, InputError, did_you_mean
from optimizer.base.figures import exactly
from optimizer.base.model import Strict
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.measurements import (
    HEADING_LINES,
    IN_UNITS,
    MOST_TIMES,
    PUBLISHED,
    deployments_of,
    groups,
    observed,
    unread_cells,
)
from optimizer.inputs.metrics import METRICS
from optimizer.performance.measured.batch import predict_batch
from optimizer.performance.measured.rows import text_column
from optimizer.performance.uncertainty.evidence import kind_of

PREDICTED: Final[Mapping[str, str]] = {
    "tpot": "pred_tpot_ms_mean",
    "ttft": "pred_ttft_ms_mean",
    "throughput": "pred_output_tok_s",
}
"""The predicted column of each measured metric."""

FEW: Final = 4
"""Closed loop with at most this many requests in flight counts as lightly loaded: the engine itself, not its queue."""

DIMENSIONS: Final = ("metric", "gpu", "engine", "model_kind", "precision", "parallelism", "load", "source")
DEFAULT_BY: Final = ("metric", "engine+load", "gpu", "model_kind", "precision", "parallelism", "source")
WORST: Final = 10
WORST_ROWS: Final = 3
"""A group is named among the worst only with at least so many rows of the metric."""

Figure = Annotated[float, PlainSerializer(lambda value: float(f"{value:.4g}"), return_type=float)]


class ErrorRow(Strict):
    """Errors of one metric over some rows.

    `median_percent` is the median over groups of a group's median absolute percentage error, `p90_percent` the 90th
    percentile over rows, `bias_percent` the median over groups of a group's median signed log error (above zero:
    predicted too high), `inside_percent` the share of rows inside their 90 % interval and `half_width_factor` that
    interval's typical half-width as a factor.
    """

    metric: str
    label: str
    rows: int
    groups: int
    median_percent: Figure
    p90_percent: Figure
    bias_percent: Figure
    inside_percent: Figure
    half_width_factor: Figure


class ErrorTable(Strict):
    """Errors along one dimension."""

    by: str
    rows: tuple[ErrorRow, ...]


class Refused(Strict):
    """Rows that were not predicted, by reason."""

    reason: str
    rows: int


class Doubtful(Strict):
    """Measured figures that were not read, or that no prediction explains."""

    what: str
    figures: int


class Validation(Strict):
    """Predictions held against measurements."""

    schema_version: int = 1
    rows: int
    predicted: int
    unsupported: tuple[Refused, ...]
    doubtful: tuple[Doubtful, ...] = ()
    tables: tuple[ErrorTable, ...]
    worst_groups: tuple[ErrorRow, ...]


def validate(frame: pd.DataFrame, catalogs: Catalogs, by: Sequence[str] = DEFAULT_BY) -> Validation:
    """Predict every measured row and compare.

    Args:
        frame: Measurements as `load_measurements` gives them.
        catalogs: Holds the calibration that is judged.
        by: Dimensions of the error tables, `+` joining two into one: `engine+load`.

    Returns:
        Errors by metric and along each dimension, the worst groups, and what could not be predicted.

    Raises:
        InputError: a dimension that does not exist.
    """
    check_dimensions(by)
    predicted = predict_batch(deployments_of(frame), catalogs, look_up=False)
    return judged(predicted, errors(predicted, catalogs), by)


def judged(predicted: pd.DataFrame, points: pd.DataFrame, by: Sequence[str] = DEFAULT_BY) -> Validation:
    """The tables of predictions already made, from their compared points."""
    refused = predicted["pred_status"] != "ok"
    reasons = predicted.loc[refused, "pred_reason"].value_counts()
    ordered = sorted(reasons.items(), key=lambda item: (-int(item[1]), str(item[0])))
    return Validation(
        rows=len(predicted),
        predicted=int((~refused).sum()),
        unsupported=tuple(Refused(reason=str(reason), rows=int(count)) for reason, count in ordered),
        doubtful=(*_not_read(predicted), *_mistaken(points)),
        tables=tuple(error_table(points, dimension) for dimension in by),
        worst_groups=worst_groups(points),
    )


def _not_read(frame: pd.DataFrame) -> Iterator[Doubtful]:
    """Cells that are no figure, by column, and columns that look like those of a metric of which there is none."""
    cells = unread_cells(frame)
    for column, count in Counter(cell.column for cell in cells).items():
        first = next(cell for cell in cells if cell.column == column)
        where = f"the first in line {first.row + HEADING_LINES}: '{first.text}'"
        yield Doubtful(what=f"{column}: no latency or throughput, not read, {where}", figures=count)
    for metric, columns in PUBLISHED.items():
        if set(columns) & set(frame.columns):
            continue
        for name in sorted(each for each in frame.columns if each.casefold().startswith(columns[-1].split("_")[0])):
            if count := int(np.isfinite(numbers(frame, name)).sum()):
                yield Doubtful(what=f"{name}: not read, {metric} is {' or '.join(columns)}", figures=count)


def _mistaken(points: pd.DataFrame) -> Iterator[Doubtful]:
    """Figures that are further off than any measurement is, by metric."""
    off = points[np.abs(points["log_error"].to_numpy(float)) > np.log(MOST_TIMES)]
    for metric, count in off["metric"].value_counts().sort_index().items():
        what = f"{metric}: more than {exactly(MOST_TIMES)} times off what is predicted: {IN_UNITS}"
        yield Doubtful(what=what, figures=int(count))


def check_dimensions(by: Sequence[str]) -> None:
    """Raises InputError for every dimension that does not exist."""
    unknown = sorted({name for each in by for name in each.split("+") if name not in DIMENSIONS})
    if unknown or not by:
        known = f"known: {', '.join(DIMENSIONS)}"
        named = [(f"unknown dimension '{name}'", did_you_mean(name, DIMENSIONS) or known) for name in unknown]
        raise InputError(Finding("validate", 0, "--by", *each) for each in named or [("names no dimension", known)])


def errors(predicted: pd.DataFrame, catalogs: Catalogs) -> pd.DataFrame:
    """Every comparable point: one row for each metric that was measured, not excluded, and predicted.

    Args:
        predicted: Measurements with their predictions beside them, as `predict_batch` returns them.
        catalogs: Tell a model's kind.

    Returns:
        `metric`, `at` (position in `predicted`), `group`, `measured`, `predicted`, `log_error`, `percent`, `inside`,
        `half_width` and one column a dimension.
    """
    labels = pd.DataFrame({**_dimensions(predicted, catalogs), "group": groups(predicted)})
    measured = observed(predicted)
    return pd.concat([_points(metric, measured[metric], predicted, labels) for metric in METRICS], ignore_index=True)


def _points(metric: str, measured: np.ndarray, predicted: pd.DataFrame, labels: pd.DataFrame) -> pd.DataFrame:
    """The rows of one metric that were measured and predicted."""
    column = PREDICTED[metric]
    # positions in `predicted` of the points of this metric, (k,)
    finite = np.isfinite(measured) & np.isfinite(predicted[column].to_numpy(float))
    rows = np.flatnonzero(finite & (predicted[column].to_numpy(float) > 0))
    actual, shown = measured[rows], predicted.iloc[rows]
    value, low, high = (shown[name].to_numpy(float) for name in (column, f"{column}_low", f"{column}_high"))
    return labels.iloc[rows].assign(
        metric=metric,
        at=rows,
        measured=actual,
        predicted=value,
        log_error=np.log(value / actual),
        percent=100 * np.abs(value / actual - 1),
        inside=(actual >= low) & (actual <= high),
        half_width=np.sqrt(high / low),
    )


def error_table(points: pd.DataFrame, by: str) -> ErrorTable:
    """Errors along one dimension, largest class first; `metric` alone adds closed loop with few requests."""
    rows: list[ErrorRow] = []
    for metric in METRICS:
        part = points[points["metric"] == metric]
        if part.empty:
            continue
        if by == "metric":
            few = part[part["load"] == _closed(few=True)]
            rows += [error_row(metric, label, each) for label, each in (("all", part), (_closed(few=True), few))]
            continue
        labels = part[by.split("+")].agg(" · ".join, axis=1)
        found = [error_row(metric, str(label), each) for label, each in part.groupby(labels, sort=True)]
        rows += sorted(found, key=lambda row: (-row.rows, row.label))
    return ErrorTable(by=by, rows=tuple(row for row in rows if row.rows))


def error_row(metric: str, label: str, points: pd.DataFrame) -> ErrorRow:
    """The figures of some points of one metric; zeros where there is none."""
    if points.empty:
        return ErrorRow(metric=metric, label=label, rows=0, groups=0, **dict.fromkeys(_FIGURES, 0.0))
    by_group = points.groupby("group")
    figures = (
        by_group["percent"].median().median(),
        points["percent"].quantile(0.9),
        100 * np.expm1(by_group["log_error"].median().median()),
        100 * points["inside"].mean(),
        points["half_width"].median(),
    )
    found = {name: float(value) for name, value in zip(_FIGURES, figures, strict=True)}
    return ErrorRow(metric=metric, label=label, rows=len(points), groups=by_group.ngroups, **found)


_FIGURES: Final = ("median_percent", "p90_percent", "bias_percent", "inside_percent", "half_width_factor")


def worst_groups(points: pd.DataFrame, count: int = WORST) -> tuple[ErrorRow, ...]:
    """The groups with the largest median error of a metric, worst first."""
    keyed = points.groupby(["metric", "group"], as_index=False)["percent"].agg(["median", "size"])
    many = keyed[keyed["size"] >= WORST_ROWS].sort_values(["median", "metric", "group"], ascending=[False, True, True])
    named = zip(many["metric"].head(count), many["group"].head(count), strict=True)
    return tuple(
        error_row(metric, group, points[(points["metric"] == metric) & (points["group"] == group)])
        for metric, group in named
    )


def _closed(few: bool) -> str:
    return f"concurrency {'≤' if few else '>'} {FEW}"


def _dimensions(frame: pd.DataFrame, catalogs: Catalogs) -> dict[str, np.ndarray]:
    """The label of every row along every dimension but the metric, (n,)."""
    models = text_column(frame, "model")
    supported = frame["pred_status"].to_numpy() == "ok"
    kinds = {name: kind_of(catalogs.model(name)) for name in set(models[supported])}
    plain = {name: text_column(frame, column) for name, column in _COLUMNS.items()}
    return {
        **{name: np.where(labels == "", "not stated", labels) for name, labels in plain.items()},
        "model_kind": np.array([kinds.get(name, "unknown") for name in models], dtype=object),
        "parallelism": _parallelism(frame),
        "load": _load(frame),
    }


_COLUMNS: Final = {"gpu": "gpu", "engine": "engine", "precision": "weight_precision", "source": "source"}


def _parallelism(frame: pd.DataFrame) -> np.ndarray:
    """How the model is spread, in a few classes; the first that applies."""
    tensor, stages, experts, spread = (numbers(frame, name) for name in ("tp", "pp", "ep", "attention_dp"))
    classes = [
        (spread > 0, "attention data-parallel"),
        (stages > 1, "pipeline"),
        (experts > 1, "expert-parallel"),
        (np.isnan(tensor), "not stated"),
        (tensor == 1, "one GPU"),
    ]
    named = np.array([f"TP {exactly(value)}" for value in np.nan_to_num(tensor)], dtype=object)
    for holds, label in reversed(classes):
        named = np.where(holds, label, named)
    return named


def _load(frame: pd.DataFrame) -> np.ndarray:
    """The kind of load, closed loop split where queues begin to matter."""
    kind = text_column(frame, "load_type")
    split = np.where(numbers(frame, "load_value") <= FEW, _closed(few=True), _closed(few=False))
    return np.where(kind == "concurrency", split, np.char.replace(kind.astype(str), "_", " ")).astype(object)


def numbers(frame: pd.DataFrame, column: str) -> np.ndarray:
    """A column's numbers, (n,); NaN for everything else."""
    return pd.to_numeric(pd.Series(text_column(frame, column)), errors="coerce").to_numpy(dtype=np.float64)

"""`optimizer predict --batch`: a table of deployments in, the same table with predictions out."""

import numpy as np
import pandas as pd

from optimizer.base.arrays import Flags, Floats, Ints, Names
from optimizer.base.units import MS_PER_S
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.measurements import shipped_measurements
from optimizer.performance.measured.deployments import Deployments, deliver, deployments
from optimizer.performance.measured.measured import REPEAT_NOISE, measured
from optimizer.performance.measured.rows import DeploymentTable, read_table
from optimizer.performance.physics.constants import Calibration
from optimizer.performance.uncertainty.evidence import (
    EVIDENCE,
    HOST_LINK,
    PAIRED,
    estimated,
    host_linked,
    named_pairs,
    pipelines,
    unseen,
)
from optimizer.performance.uncertainty.intervals import bounds, half_width, load_class

PREDICTIONS = {
    "pred_ttft_ms_mean": "ttft",
    "pred_tpot_ms_mean": "tpot",
    "pred_output_tok_s": "throughput",
    "pred_request_throughput": "throughput",
}
"""Predicted columns and the metric whose error they have; each also gets `_low` and `_high`."""

UNPREDICTED = {f"{name}{end}": np.nan for name in PREDICTIONS for end in ("", "_low", "_high")} | {"pred_source": ""}
"""Every column of a prediction, with what it holds where there is none."""


def predict_batch(frame: pd.DataFrame, catalogs: Catalogs, *, look_up: bool = True) -> pd.DataFrame:
    """Predict every row of a table of deployments; never fails on a row.

    Args:
        frame: Columns as documented for batch prediction; others are carried through and not looked at.
        catalogs: What is known.
        look_up: Whether the interval of a row that the measurement catalog holds narrows around what was measured;
            to judge predictions, leave it out.

    Returns:
        The table with `pred_status`, `pred_reason`, the predictions with their 90 % intervals, and `pred_source`.
    """
    table = read_table(frame, catalogs)
    found, rows = deployments(table, catalogs)
    ok = table.problem == ""
    result = frame.assign(
        pred_status=np.where(ok, "ok", "unsupported"), pred_reason=np.where(ok, table.note, table.problem)
    )
    columns = {} if found is None else _predicted(found, table, rows, catalogs, look_up=look_up)
    for name, otherwise in UNPREDICTED.items():
        result[name] = table.column(rows, columns[name], otherwise) if columns else otherwise
    return result


def _predicted(
    found: Deployments, table: DeploymentTable, rows: Ints, catalogs: Catalogs, *, look_up: bool
) -> dict[str, Names]:
    """The columns of the predictable rows: values, the ends of their intervals, and what they rest on."""
    calibration = Calibration.of(catalogs.calibration)
    missing = _missing(table, rows, catalogs, calibration)
    seen = measured(table, rows, catalogs, shipped_measurements()) if look_up else None
    guessed = estimated(missing) | _guessed_stages(table, rows, catalogs, calibration)
    source = np.where(guessed, "estimated", "calibrated").astype(object)
    columns: dict[str, Names] = {"pred_source": source if seen is None else np.where(seen.rows, "measured", source)}
    values, loads = _values(found, table, rows)
    for name, metric in PREDICTIONS.items():
        width = half_width(calibration, metric, loads, table.names["engine"][rows], missing)
        low, high = bounds(calibration, metric, loads, values[name], width)
        if seen is not None:
            per = table.numbers["output_tokens"][rows] if name == "pred_request_throughput" else np.ones(len(rows))
            noise = calibration.lookup(REPEAT_NOISE, metric)
            low, high = seen.narrowed(metric, values[name], (low, high), noise, per)
        columns |= {name: values[name], f"{name}_low": low, f"{name}_high": high}
    return columns


def _values(found: Deployments, table: DeploymentTable, rows: Ints) -> tuple[dict[str, Floats], list[str]]:
    """The predicted columns of the predictable rows, for the whole deployment, in the published units; load classes."""
    point = deliver(found)
    median, output_tokens = table.names["ttft_statistic"][rows] == "p50", table.numbers["output_tokens"][rows]
    requests = point.requests_per_s * found.replicas
    columns = {
        "pred_ttft_ms_mean": np.where(median, point.ttft_median_s, point.ttft_mean_s) * MS_PER_S,
        "pred_tpot_ms_mean": point.tpot_s * MS_PER_S,
        "pred_output_tok_s": requests * output_tokens,
        "pred_request_throughput": requests,
    }
    decoding = (output_tokens - 1) * point.tpot_s
    return columns, load_class(table.names["load_type"][rows], found.value, point.ttft_mean_s, decoding)


def _missing(table: DeploymentTable, rows: Ints, catalogs: Catalogs, calibration: Calibration) -> dict[str, Flags]:
    """What nobody measured about each predictable row."""
    names = {name: table.names[name][rows] for name in PAIRED}
    slow = host_linked(catalogs, names["gpu"], table.layout["tp"][rows])
    return unseen(calibration, named_pairs(catalogs, **names)) | {HOST_LINK: slow}


def _guessed_stages(table: DeploymentTable, rows: Ints, catalogs: Catalogs, calibration: Calibration) -> Flags:
    """Whether each predictable row runs pipeline stages that nobody measured for its kind."""
    guessed = table.layout["pp"][rows] > 1
    names = pipelines(catalogs, *(table.names[name][rows][guessed] for name in ("engine", "model", "gpu")))
    guessed[guessed] = ~np.isin(names, list(calibration.members(EVIDENCE)))
    return guessed

"""`optimizer predict --batch`: a table of deployments in, the same table with predictions out."""

import numpy as np
import pandas as pd

from optimizer.base.units import MS_PER_S
from optimizer.inputs.catalog import Catalogs
from optimizer.performance.calibration import Calibration, Floats, Ints
from optimizer.performance.deployments import Deployments, deliver, deployments
from optimizer.performance.evidence import kind_of, unseen
from optimizer.performance.intervals import bounds, log_sigma
from optimizer.performance.rows import Table, read_table

PREDICTIONS = {
    "pred_ttft_ms_mean": "ttft",
    "pred_tpot_ms_mean": "tpot",
    "pred_output_tok_s": "throughput",
    "pred_request_throughput": "throughput",
}
"""Predicted columns and the metric whose error they have; each also gets `_low` and `_high`."""


def predict_batch(frame: pd.DataFrame, catalogs: Catalogs) -> pd.DataFrame:
    """Predict every row of a table of deployments; never fails on a row.

    Args:
        frame: Columns as documented for batch prediction; others are carried through and not looked at.
        catalogs: What is known.

    Returns:
        The table with `pred_status`, `pred_reason`, the predictions with their 90 % intervals, and `pred_source`.
    """
    result = frame.copy()
    table = read_table(frame, catalogs)
    found, rows = deployments(table, catalogs)
    values = _values(found, table, rows) if found is not None else {}
    unseen, source = _novelty(table, rows, catalogs)
    calibration = Calibration.of(catalogs.calibration)
    loads = list(table.names["load_type"][rows])
    ok = table.problem == ""
    result["pred_status"] = np.where(ok, "ok", "unsupported")
    result["pred_reason"] = np.where(ok, table.note, table.problem)
    for name, metric in PREDICTIONS.items():
        value = values.get(name, np.empty(0))
        low, high = bounds(value, log_sigma(calibration, metric, loads, unseen))
        for column, part in ((name, value), (f"{name}_low", low), (f"{name}_high", high)):
            result[column] = _placed(part, rows, len(frame))
    sources = np.full(len(frame), "", dtype=object)
    sources[rows] = source
    result["pred_source"] = sources
    return result


def _values(found: Deployments, table: Table, rows: Ints) -> dict[str, Floats]:
    """The predicted columns of the predictable rows, for the whole deployment, in the published units."""
    point = deliver(found)
    median = table.names["ttft_statistic"][rows] == "p50"
    requests = point.requests_per_s * found.replicas
    return {
        "pred_ttft_ms_mean": np.where(median, point.ttft_median_s, point.ttft_mean_s) * MS_PER_S,
        "pred_tpot_ms_mean": point.tpot_s * MS_PER_S,
        "pred_output_tok_s": requests * table.numbers["output_tokens"][rows],
        "pred_request_throughput": requests,
    }


def _novelty(table: Table, rows: Ints, catalogs: Catalogs) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """What nobody measured about each row, and whether its prediction is calibrated or only estimated."""
    gpu = [catalogs.gpus[name].architecture for name in table.names["gpu"][rows]]
    kinds = {name: kind_of(catalogs.model(name)) for name in set(table.names["model"][rows])}
    engine = list(table.names["engine"][rows])
    missing = unseen(
        catalogs,
        {
            "precision": (gpu, list(table.names["precision"][rows])),
            "engine": (gpu, engine),
            "model_kind": (engine, [kinds[name] for name in table.names["model"][rows]]),
        },
    )
    estimated = np.logical_or.reduce(list(missing.values()))
    return missing, np.where(estimated, "estimated", "calibrated")


def _placed(values: Floats, rows: Ints, length: int) -> Floats:
    column = np.full(length, np.nan)
    column[rows] = values
    return column

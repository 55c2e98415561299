"""What one configuration delivers under one load, with intervals: a single row of the batch prediction."""

from collections.abc import Iterator
from typing import Final

import numpy as np
import pandas as pd

from optimizer.answers.accuracy.predicted import Interval, Prediction, Setting
from optimizer.answers.accuracy.releases import newer_release, unknown_release
from optimizer.base.errors import Finding, InputError, did_you_mean
from optimizer.inputs.catalog.entries.engines import Engine
from optimizer.inputs.catalog.records import Catalogs
from optimizer.performance.measured.batch import predict_batch
from optimizer.performance.uncertainty.evidence import OWN_DEPLOYMENT, host_linked

COMMAND_LINE = "predict"
"""How findings name their place."""


BOARDS_DIFFER: Final = (
    "these GPUs exchange every layer over PCIe, which is ten times as fast on some boards as on others: hence the "
    "width of TTFT, until you measure your own (optimizer calibrate --own)"
)

COLUMNS = {
    "ttft": ("pred_ttft_ms_mean", "ms"),
    "ttft_p50": ("pred_ttft_ms_p50", "ms"),
    "ttft_p95": ("pred_ttft_ms_p95", "ms"),
    "ttft_p99": ("pred_ttft_ms_p99", "ms"),
    "tpot": ("pred_tpot_ms_mean", "ms"),
    "tpot_p95": ("pred_tpot_ms_p95", "ms"),
    "output_throughput": ("pred_output_tok_s", "tokens/s"),
    "request_throughput": ("pred_request_throughput", "requests/s"),
}
"""Where each interval stands in the table of predictions, and its unit."""


def predict_setting(setting: Setting, catalogs: Catalogs) -> Prediction:
    """Predict one setting.

    Args:
        setting: A deployment and the load on it.
        catalogs: What is known.

    Returns:
        Latencies and throughputs with their 90 % intervals.

    Raises:
        InputError: names that the catalogs do not know and a version that names no release, all at once; or a setting
            that cannot run, with the reason.
    """
    unknown = tuple(_unknown_names(setting, catalogs))
    if unknown:
        raise InputError(unknown)
    row, deployed = (predict_batch(as_rows(setting), catalogs, foreign=known).iloc[0] for known in (True, False))
    if row["pred_status"] != "ok":
        raise InputError([Finding(COMMAND_LINE, 0, "", str(row["pred_reason"]))])
    intervals = {
        name: Interval(
            predicted=float(row[column]),
            low=float(row[f"{column}_low"]),
            high=float(row[f"{column}_high"]),
            deployed_low=float(deployed[f"{column}_low"]),
            deployed_high=float(deployed[f"{column}_high"]),
            unit=unit,
        )
        for name, (column, unit) in COLUMNS.items()
    }
    note = _noted(setting, str(row["pred_reason"]), catalogs)
    return Prediction(setting=setting, **intervals, source=row["pred_source"], note=note)


def as_rows(setting: Setting) -> pd.DataFrame:
    """The setting as a one-row table of deployments: one replica on as many GPUs as its layout needs."""
    row = setting.model_dump() | {
        "num_gpus": setting.tensor_parallel * setting.pipeline_parallel,
        "tp": setting.tensor_parallel,
        "pp": setting.pipeline_parallel,
        "weight_precision": setting.precision,
    }
    return pd.DataFrame([row]).astype(str)


def _unknown_names(setting: Setting, catalogs: Catalogs) -> Iterator[Finding]:
    """Every name that no catalog knows, with the nearest ones."""
    try:
        catalogs.model(setting.model)
    except InputError as error:
        yield from (Finding(COMMAND_LINE, 0, "--model", each.problem, each.hint) for each in error.findings)
    kv_known = sorted({name for engine in catalogs.engines.values() for name in engine.kv_precisions})
    named = (
        ("GPU", "--gpu", setting.gpu, catalogs.gpus),
        ("engine", "--engine", setting.engine, catalogs.engines),
        ("precision", "--precision", setting.precision, catalogs.schemes),
        ("KV precision", "--kv-precision", setting.kv_precision or kv_known[0], kv_known),
    )
    for kind, option, name, known in named:
        if name.casefold() not in {each.casefold() for each in known}:
            hint = did_you_mean(name, known) or f"known: {', '.join(known)}"
            yield Finding(COMMAND_LINE, 0, option, f"unknown {kind} '{name}'", hint)
    engine, version = _engine(setting, catalogs), setting.engine_version
    if engine is not None and (hint := unknown_release(engine, version, catalogs)):
        yield Finding(COMMAND_LINE, 0, "--engine-version", f"'{version}' is no release of {engine.id}", hint)


def _engine(setting: Setting, catalogs: Catalogs) -> Engine | None:
    """The engine that is meant, in whatever case; None where no catalog knows it."""
    named = (each for each in catalogs.engines.values() if each.id.casefold() == setting.engine.casefold())
    return next(named, None)


def _noted(setting: Setting, noted: str, catalogs: Catalogs) -> str:
    """What was assumed, that nobody here knows so new a release, and what makes an interval wide."""
    engine = _engine(setting, catalogs)
    newer = "" if engine is None else newer_release(engine, setting.engine_version)
    gpu = next(name for name in catalogs.gpus if name.casefold() == setting.gpu.casefold())
    over_pcie = host_linked(catalogs, [gpu], np.array([float(setting.tensor_parallel)])).any()
    wide = BOARDS_DIFFER if over_pcie and OWN_DEPLOYMENT not in noted else ""
    return "; ".join(filter(None, (noted, newer, wide)))

"""Which predicted rows somebody measured exactly so, and what they saw.

A row is measured where the measurement catalog holds the same engine of the same era, model, GPU, parallelism, weight
and cache precision, lengths and load. The prediction stays the model's, so that neighbouring configurations stay
comparable; the interval becomes the span from the prediction to the measurement, give or take what repeated runs of one
point differ by (`repeat_noise` in the calibration catalog).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from optimizer.base.arrays import Floats, Ints
from optimizer.inputs.catalog.quality import SIXTEEN_BIT
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.measurements import METRICS, deployments_of, observed
from optimizer.performance.measured.deployments import deployments
from optimizer.performance.measured.rows import DeploymentTable, read_table
from optimizer.performance.physics.constants import Calibration
from optimizer.performance.physics.eras import era_of
from optimizer.performance.physics.facts import PLAIN_PRECISION
from optimizer.performance.uncertainty.intervals import Bools

REPEAT_NOISE: Final = "repeat_noise"
"""By metric, the log half-width around one run that holds 90 % of its repetitions."""

STATISTIC: Final = "ttft_statistic"
_LENGTHS: Final = ("input_tokens", "output_tokens")


@dataclass(frozen=True)
class Measured:
    """What was measured of rows, by metric, (n,): NaN where nothing was; ms, ms and output tokens/s."""

    values: Mapping[str, Floats]

    @property
    def rows(self) -> Bools:
        """Whether anything was measured of a row, (n,)."""
        return np.asarray(np.isfinite(np.stack(list(self.values.values()))).any(axis=0), dtype=np.bool_)

    def narrowed(
        self, metric: str, value: Floats, ends: tuple[Floats, Floats], noise: float, per: Floats
    ) -> tuple[Floats, Floats]:
        """The interval from prediction to measurement, divided by `per`, where there is one, else as it was."""
        seen = self.values[metric] / per
        low = np.where(np.isfinite(seen), np.fmin(value, seen * np.exp(-noise)), ends[0])
        high = np.where(np.isfinite(seen), np.fmax(value, seen * np.exp(noise)), ends[1])
        return low, high


def measured(table: DeploymentTable, rows: Ints, catalogs: Catalogs, measurements: pd.DataFrame) -> Measured:
    """What the measurements hold of these rows of a settled table: the geometric mean of repeated runs."""
    near = _near(table, rows, measurements)
    values = {metric: np.full(len(rows), np.nan) for metric in METRICS}
    if near.empty:
        return Measured(values)
    known = read_table(deployments_of(near), catalogs)
    _, kept = deployments(known, catalogs)
    asked, held = points(table, rows, catalogs), points(known, kept, catalogs)
    for metric, figures in observed(near).items():
        own = [name for name in asked.columns if metric == "ttft" or name != STATISTIC]
        runs = held[own].assign(seen=np.log(figures[kept])).dropna(subset=["seen"])
        means = runs.groupby(own, dropna=False, sort=True, as_index=False)["seen"].mean()
        values[metric] = np.exp(asked[own].merge(means, how="left", on=own)["seen"].to_numpy(dtype=np.float64))
    return Measured(values)


def _near(table: DeploymentTable, rows: Ints, measurements: pd.DataFrame) -> pd.DataFrame:
    """The measurements that share GPU and lengths with some row: few, so that they are read in no time."""
    near = measurements["gpu"].str.casefold().isin({str(name).casefold() for name in set(table.names["gpu"][rows])})
    for name in _LENGTHS:
        length = pd.to_numeric(measurements[name], errors="coerce")
        near &= length.isin(np.unique(table.numbers[name][rows]))
    return measurements[near].reset_index(drop=True)


def points(table: DeploymentTable, rows: Ints, catalogs: Catalogs) -> pd.DataFrame:
    """What makes two rows of settled tables the same deployment under the same load, one column each, (n,)."""
    calibration = Calibration.of(catalogs.calibration)
    names = {name: column[rows] for name, column in table.names.items()}
    versions = list(zip(names["engine"], names["engine_version"], strict=True))
    eras = {pair: era_of(calibration, *pair) for pair in set(versions)}
    models = {name: catalogs.model(name).id for name in set(names["model"])}
    twins = {**{name: name for name in catalogs.schemes}, **dict.fromkeys(SIXTEEN_BIT, PLAIN_PRECISION)}
    columns = {
        "era": [eras[pair] for pair in versions],
        "model": [models[name] for name in names["model"]],
        "gpu": names["gpu"],
        "precision": [twins[name] for name in names["precision"]],
        "kv_precision": [twins.get(name, name) for name in names["kv_precision"]],
        "load_type": names["load_type"],
        STATISTIC: names[STATISTIC],
        **{name: table.numbers[name][rows] for name in (*_LENGTHS, "load_value")},
        **{name: table.layout[name][rows] for name in sorted(table.layout)},
    }
    return pd.DataFrame(columns)


def repeat_noise(logs: Floats, point: NDArray[Any], share: float) -> float:
    """How far a run lies from another of the same point, as the quantile of that share.

    Deviations from the mean of n runs are stretched by √(2n/(n − 1)), to those between two runs.

    Args:
        logs: Logarithm of what was measured, (n,), NaN where it was not.
        point: Which point, (n,).
        share: Of the runs to hold.
    """
    runs = pd.Series(logs[np.isfinite(logs)]).groupby(point[np.isfinite(logs)])
    count = runs.transform("count").to_numpy(dtype=np.float64)
    away = np.abs(logs[np.isfinite(logs)] - runs.transform("mean").to_numpy(dtype=np.float64))
    repeated = count > 1
    stretched = away[repeated] * np.sqrt(2 * count[repeated] / (count[repeated] - 1))
    return float(np.quantile(stretched, share)) if repeated.any() else 0.0

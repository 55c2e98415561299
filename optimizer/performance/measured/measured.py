"""Which predicted rows somebody measured exactly so, and what they saw.

A row is measured where the measurement catalog holds the same engine of the same era, model, GPU, parallelism, weight
and cache precision, lengths and load. The prediction stays the model's, so that neighbouring configurations stay
comparable; the interval becomes the span from the prediction to the measurement, give or take what repeated runs of one
point differ by (`repeat_noise` in the calibration catalog).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
import pandas as pd

from optimizer.base.arrays import Flags, Floats, Ints, Names
from optimizer.inputs.catalog.quality import SIXTEEN_BIT
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.measurements import deployments_of, observed
from optimizer.inputs.metrics import METRICS
from optimizer.performance.measured.deployments import deployments
from optimizer.performance.measured.rows import LENGTHS, STARTED_WITH, DeploymentTable, read_table
from optimizer.performance.physics.categorical import Categorical
from optimizer.performance.physics.constants import calibration_of
from optimizer.performance.physics.eras import era_of
from optimizer.performance.physics.facts import PLAIN_PRECISION

STATISTIC: Final = "ttft_statistic"


@dataclass(frozen=True)
class MeasuredFigures:
    """What was measured of rows, by metric, (n,): NaN where nothing was; ms, ms and output tokens/s."""

    values: Mapping[str, Floats]

    @property
    def rows(self) -> Flags:
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


def measured(table: DeploymentTable, rows: Ints, catalogs: Catalogs, measurements: pd.DataFrame) -> MeasuredFigures:
    """What the measurements hold of these rows of a settled table: the geometric mean of repeated runs."""
    near = _near(table, rows, measurements)
    values = {metric: np.full(len(rows), np.nan) for metric in METRICS}
    if near.empty:
        return MeasuredFigures(values)
    known = read_table(deployments_of(near), catalogs)
    _, kept = deployments(known, catalogs)
    predicted, catalogued = points(table, rows, catalogs), points(known, kept, catalogs)
    for metric, figures in observed(near).items():
        # only a TTFT depends on which statistic it is
        key = [name for name in predicted.columns if metric == "ttft" or name != STATISTIC]
        runs = catalogued[key].assign(log=np.log(figures[kept])).dropna(subset=["log"])
        means = runs.groupby(key, dropna=False, sort=True, as_index=False)["log"].mean()
        # (predicted row) -> mean of the runs of its point
        values[metric] = np.exp(predicted[key].merge(means, how="left", on=key)["log"].to_numpy(dtype=np.float64))
    return MeasuredFigures(values)


def _near(table: DeploymentTable, rows: Ints, measurements: pd.DataFrame) -> pd.DataFrame:
    """The measurements that share GPU and lengths with some row: few, so that they are read in no time."""
    gpus = {name.casefold() for name in set(table.names["gpu"][rows])}
    near = measurements["gpu"].str.casefold().isin(gpus)
    for name in LENGTHS:
        length = pd.to_numeric(measurements[name], errors="coerce")
        near &= length.isin(np.unique(table.numbers[name][rows]))
    return measurements[near].reset_index(drop=True)


def points(table: DeploymentTable, rows: Ints, catalogs: Catalogs) -> pd.DataFrame:
    """What makes two rows of settled tables the same deployment under the same load, one column each, (n,)."""
    calibration = calibration_of(catalogs)
    names = {name: Categorical[str].of(column[rows]) for name, column in table.names.items()}
    versions = Categorical.joined(names["engine"], names["engine_version"])
    plain = dict.fromkeys(SIXTEEN_BIT, PLAIN_PRECISION)

    def by_row(name: str, value: Callable[[str], str]) -> Names:
        return names[name].by_row([value(category) for category in names[name].categories], object)

    columns = {
        "era": versions.by_row([era_of(calibration, *version) for version in versions.categories], object),
        "model": by_row("model", lambda name: catalogs.model(name).id),
        "gpu": table.names["gpu"][rows],
        "precision": by_row("precision", lambda name: plain.get(name, name)),
        "kv_precision": by_row("kv_precision", lambda name: plain.get(name, name)),
        "load_type": table.names["load_type"][rows],
        STATISTIC: table.names[STATISTIC][rows],
        **{name: table.numbers[name][rows] for name in (*LENGTHS, "load_value")},
        **{name: np.nan_to_num(table.numbers[name][rows]) for name in STARTED_WITH},
        **{name: table.layout[name][rows] for name in sorted(table.layout)},
    }
    return pd.DataFrame(columns)


def repeat_noise(logs: Floats, point: Names, share: float) -> float:
    """How far a run lies from another of the same point, as the quantile of that share.

    Deviations from the mean of n runs are stretched by √(2n/(n − 1)), to those between two runs.

    Args:
        logs: Logarithm of what was measured, (n,), NaN where it was not.
        point: Which point, (n,).
        share: Of the runs to hold.
    """
    runs = pd.DataFrame({"log": logs, "point": point}).dropna(subset=["log"])
    of_point = runs.groupby("point")["log"]
    runs = runs.assign(count=of_point.transform("count"), away=(runs["log"] - of_point.transform("mean")).abs())
    repeated = runs[runs["count"] > 1]
    stretched = repeated["away"] * np.sqrt(2 * repeated["count"] / (repeated["count"] - 1))
    return float(np.quantile(stretched, share)) if len(repeated) else 0.0

"""Published or own serving measurements: a table of deployments with what each was seen to deliver."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
import pandas as pd

from optimizer.base.arrays import Floats, Names
from optimizer.base.errors import Finding, InputError
from optimizer.inputs.catalog.rows import read_rows
from optimizer.inputs.catalog.shipped import shipped_dir
from optimizer.inputs.metrics import METRICS

REQUIRED: Final = ("engine", "model", "gpu", "input_tokens", "output_tokens", "load_type", "load_value")
"""Columns without which a measurement says nothing."""

PUBLISHED: Final[Mapping[str, tuple[str, ...]]] = {
    "tpot": ("tpot_ms_mean", "tpot_ms_p50", "itl_ms_mean"),
    "ttft": ("ttft_ms_p50", "ttft_ms_mean"),
    "throughput": ("output_tok_s",),
}
"""The columns that hold a metric, best first."""

HEADING_LINES: Final = 2
"""Line of a file's first row: numbered from 1, behind the headings."""

MOST_TIMES: Final = 50.0
"""Further off a prediction than this no measurement is: a unit was mistaken, or a column."""

IN_UNITS: Final = "latencies are in ms, throughput in output tokens/s of the whole deployment"

MEND: Final = "mend it, or leave it blank"


def load_measurements(path: Path) -> pd.DataFrame:
    """Reads a file of measurements.

    Args:
        path: A CSV file shaped as `catalogs/measurements.csv`.

    Returns:
        Its rows, every cell as text; columns that are not there are blank.

    Raises:
        InputError: no such file, not CSV, a required column is missing, or it holds no row.
    """
    frame = read_rows(path, REQUIRED)
    if frame.empty:
        raise InputError([Finding(str(path), 1, "", "holds no measurement", "one row a measured deployment")])
    return frame


@cache
def shipped_measurements() -> pd.DataFrame:
    """The measurement catalog, read once and never changed."""
    return load_measurements(shipped_dir("catalogs") / "measurements.csv")


def observed(frame: pd.DataFrame) -> dict[str, Floats]:
    """What each row measured, by metric, (n,); NaN where it was not, or where its `exclude_` column says why not.

    Milliseconds for `tpot` and `ttft`, output tokens/s of the whole deployment for `throughput`. TPOT is the mean, else
    the median, else the mean gap between tokens. TTFT is the median where it was published, else the mean
    (`ttft_statistic` tells which); of `offline` rows it is a queue and never used.
    """
    found = {}
    for metric in METRICS:
        value = np.full(len(frame), np.nan)
        for column in PUBLISHED[metric]:
            value = np.where(np.isnan(value), _positive(frame, column), value)
        found[metric] = np.where(_text(frame, f"exclude_{metric}") == "", value, np.nan)
    found["ttft"][_text(frame, "load_type") == "offline"] = np.nan
    return found


class UnreadCell(NamedTuple):
    """A cell that should hold a latency or a throughput and holds neither: words, a negative or an infinite number."""

    row: int
    column: str
    text: str


def unread_cells(frame: pd.DataFrame) -> list[UnreadCell]:
    """Those of a table; blank, `nan` and 0 stand for what was not measured."""
    found = []
    for column in (name for names in PUBLISHED.values() for name in names if name in frame.columns):
        text = frame[column].str.strip()
        value = pd.to_numeric(text, errors="coerce").to_numpy(dtype=np.float64)
        blank = text.str.casefold().isin(("", "nan")).to_numpy()
        wrong = np.flatnonzero(~blank & ~(np.isfinite(value) & (value >= 0)))
        found += [UnreadCell(row, column, text.iloc[row]) for row in wrong.tolist()]
    return found


def unreadable(frame: pd.DataFrame, file: str) -> list[Finding]:
    """The same as findings in the file that they stand in."""
    return [
        Finding(file, cell.row + HEADING_LINES, cell.column, f"'{cell.text}' is no latency or throughput", MEND)
        for cell in unread_cells(frame)
    ]


def ttft_statistic(frame: pd.DataFrame) -> Names:
    """Which statistic of TTFT `observed` gives for each row: `p50` or `mean`, (n,)."""
    return np.where(np.isnan(_positive(frame, "ttft_ms_p50")), "mean", "p50").astype(object)


def deployments_of(frame: pd.DataFrame) -> pd.DataFrame:
    """The rows as batch prediction reads them, asking for the statistic of TTFT that was measured."""
    return frame.assign(ttft_statistic=ttft_statistic(frame))


def groups(frame: pd.DataFrame) -> Names:
    """Which rows count as one in a fair mean, (n,): source | model | GPU | layout | precision."""
    if "group" in frame.columns:
        return _text(frame, "group")
    layout = "tp" + np.where(_text(frame, "tp") == "", "?", _text(frame, "tp"))
    stages = _text(frame, "pp")
    layout = layout + np.where(np.isin(stages, ("", "1")), "", "pp" + stages)
    source, model, gpu, precision = (_text(frame, name) for name in ("source", "model", "gpu", "weight_precision"))
    joined: Names = source + "|" + model + "|" + gpu + "|" + layout + "|" + precision
    return joined


def _text(frame: pd.DataFrame, column: str) -> Names:
    if column not in frame.columns:
        return np.full(len(frame), "", dtype=object)
    return frame[column].str.strip().to_numpy(dtype=object)


def _positive(frame: pd.DataFrame, column: str) -> Floats:
    """A column's positive numbers, NaN for everything else."""
    if column not in frame.columns:
        return np.full(len(frame), np.nan)
    value = pd.to_numeric(frame[column], errors="coerce").to_numpy(dtype=np.float64)
    return np.where(np.isfinite(value) & (value > 0), value, np.nan)

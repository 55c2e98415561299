"""How far two real measurements of one point are apart: no model can be expected to do better."""

from collections.abc import Iterator
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from optimizer.inputs.measurements import observed, ttft_statistic
from optimizer.inputs.metrics import METRICS

POINT = (
    *("model", "gpu", "num_gpus", "tp", "pp", "weight_precision"),
    *("input_tokens", "output_tokens", "load_type", "load_value", "attention_dp"),
)
SAME = 1e-3
"""Closer than this is one measurement published twice, not two."""

KINDS = ("same engine and version", "same engine, another version", "another engine")


def noise_floor(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """By kind of pair and metric: pairs, and the median and 90th percentile of the difference between the two."""
    seen = pd.DataFrame(observed(frame)).assign(engine=frame["engine"], version=frame["engine_version"])
    point = frame[list(POINT)].agg("|".join, axis=1)
    found = []
    for metric in METRICS:
        key = point + "|" + ttft_statistic(frame) if metric == "ttft" else point
        gaps: dict[str, list[float]] = {kind: [] for kind in KINDS}
        for _, part in seen[seen[metric].notna()].groupby(key, sort=True):
            for kind, gap in _gaps(part, metric):
                gaps[kind].append(gap)
        found += [_row(kind, metric, np.array(values)) for kind, values in gaps.items() if values]
    return sorted(found, key=lambda row: (KINDS.index(row["kind"]), METRICS.index(row["metric"])))


def _gaps(part: pd.DataFrame, metric: str) -> Iterator[tuple[str, float]]:
    """Every two measurements of one point: how they are related, and |log ratio|."""
    for one, other in combinations(part.to_dict("records"), 2):
        gap = abs(float(np.log(one[metric] / other[metric])))
        if gap > SAME:
            same = one["version"] == other["version"]
            yield KINDS[2] if one["engine"] != other["engine"] else KINDS[0] if same else KINDS[1], gap


def _row(kind: str, metric: str, gaps: np.ndarray) -> dict[str, Any]:
    median, high = (round(100 * float(np.expm1(np.quantile(gaps, share))), 1) for share in (0.5, 0.9))
    return {"kind": kind, "metric": metric, "pairs": len(gaps), "median_percent": median, "p90_percent": high}

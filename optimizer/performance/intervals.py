"""How far off a prediction may be: log standard deviations by metric and load, wider where nothing was measured."""

import math
from collections.abc import Mapping, Sequence
from statistics import NormalDist
from typing import Final

import numpy as np

from optimizer.performance.calibration import SIGMA, Calibration, Floats, group_name

METRICS: Final = ("ttft", "tpot", "throughput")
EVIDENCE: Final = "evidence"
UNSEEN: Final = "sigma_unseen"
COVERAGE: Final = 0.90
"""Share of measurements that an interval is meant to hold."""


def log_sigma(calibration: Calibration, metric: str, loads: Sequence[str], unseen: Mapping[str, np.ndarray]) -> Floats:
    """Standard deviation of the log error of every row, (n,).

    Args:
        calibration: Holds `sigma` by metric and metric@load, `sigma_unseen` by what was not measured.
        metric: One of `METRICS`.
        loads: Kind of load of each row.
        unseen: For each kind of novelty whether a row has it, (n,); deviations add in squares.
    """
    kinds = {load: _sigma(calibration, metric, load) for load in sorted(set(loads))}
    variance = np.array([kinds[load] ** 2 for load in loads], dtype=np.float64)
    for kind, rows in unseen.items():
        variance = variance + np.where(rows, calibration.lookup(UNSEEN, kind) ** 2, 0.0)
    return np.sqrt(variance)


def bounds(value: Floats, sigma: Floats) -> tuple[Floats, Floats]:
    """Low and high end of the interval of a log-normal error."""
    deviations = NormalDist().inv_cdf((1 + COVERAGE) / 2)
    factor = np.exp(deviations * sigma)
    return value / factor, value * factor


def measured_pairs(calibration: Calibration) -> frozenset[str]:
    """What the calibration has seen: groups such as `hopper@fp8` or `hopper@vllm`."""
    return frozenset(calibration.members(EVIDENCE))


def pair_seen(pairs: frozenset[str], left: Sequence[str], right: Sequence[str]) -> np.ndarray:
    """Whether each row's pair of names was measured, (n,)."""
    found = {pair: group_name(pair) in pairs for pair in set(zip(left, right, strict=True))}
    return np.array([found[pair] for pair in zip(left, right, strict=True)], dtype=np.bool_)


def _sigma(calibration: Calibration, metric: str, load: str) -> float:
    position = calibration.index(SIGMA, (group_name((metric, load)), metric))
    sigma = calibration.entries[position].value
    return sigma if math.isfinite(sigma) else math.inf

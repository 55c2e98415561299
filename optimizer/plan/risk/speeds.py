"""What replicas sustain where their prediction is off: at a few deviations, straight lines between them.

A configuration that lies z standard deviations behind its prediction sustains what is planned with the confidence of z:
a plan at a confidence of 90 % holds as long as errors stay below 1.28 deviations (`performance.uncertainty.learning`).
"""

from dataclasses import replace
from statistics import NormalDist
from typing import Final

import numpy as np

from optimizer.base.arrays import Floats, Ints
from optimizer.inputs.catalog.records import Catalogs
from optimizer.performance.candidates.options import WorkloadOptions
from optimizer.performance.candidates.predict import Mix, sustainable_rate
from optimizer.performance.uncertainty.evidence import Margins, margins
from optimizer.performance.uncertainty.intervals import PLANNING_CONFIDENCE

DEVIATIONS: Final = tuple(step / 4 for step in range(-12, 13))
"""At which rates are predicted: from three below the prediction, faster, to three above it."""


def rates_by_deviation(catalogs: Catalogs, choice: WorkloadOptions, rows: Ints, mix: Mix) -> Floats:
    """(R, deviations) requests/s of a mix that one replica sustains, without interruptions.

    Args:
        catalogs: Hold the calibration.
        choice: The workload's options.
        rows: (R,) configurations.
        mix: The requests.
    """
    configurations = [choice.configurations[row] for row in rows.tolist()]
    planned = vars(margins(catalogs, configurations, PLANNING_CONFIDENCE)).values()
    # margins are exponential in the deviation; all rows at the first deviation, then all at the next
    each, power = np.tile(rows, len(DEVIATIONS)), np.array(DEVIATIONS) / NormalDist().inv_cdf(PLANNING_CONFIDENCE)
    tiled = Margins(*(np.ravel(bound ** power[:, None]) for bound in planned))
    found = sustainable_rate(choice.setup.take(each), mix, replace(choice.limits.take(each), margins=tiled)).rate_per_s
    # rates fall with the deviation; rounding must not let one rise
    return np.asarray(np.minimum.accumulate(found.reshape(len(DEVIATIONS), len(rows)).T, axis=1))


def rates_in_draws(rates: Floats, deviation: Floats) -> Floats:
    """(R, S) what is sustained at (R, S) deviations, on straight lines between (R, deviations) rates."""
    first, step = DEVIATIONS[0], DEVIATIONS[1] - DEVIATIONS[0]
    place = (deviation - first) / step
    left = np.clip(np.floor(place).astype(np.int64), 0, len(DEVIATIONS) - 2)
    part = place - left
    row = np.arange(len(rates))[:, None]
    return np.asarray(rates[row, left] * (1 - part) + rates[row, left + 1] * part)

"""What one benchmark run would teach about a configuration: how likely which result is, and what doubt it leaves.

The logarithm of how far a configuration lies behind its prediction is taken as normal, with the deviation s that plans
leave room for (`margins`). What is served later differs from a run by as much as two runs of one point do, with
deviation r (`repeat_noise` in the calibration catalog). By Bayes' rule what is believed after the run is normal, too:

    w = s² / (s² + r²)      its deviation is s·√(1 − w), and its mean has, before the run, the deviation s·√w

Source: preposterior analysis, Raiffa and Schlaifer, Applied Statistical Decision Theory, 1961. One run decides about
all metrics: a replica that is slower is slower in each, as `sustainable_rate` takes it to be.
"""

from collections.abc import Sequence
from statistics import NormalDist

import numpy as np

from optimizer.base.arrays import Floats
from optimizer.inputs.catalog.records import Catalogs
from optimizer.performance.physics.constants import Calibration
from optimizer.performance.physics.setup import Configuration
from optimizer.performance.uncertainty.evidence import Margins, margins
from optimizer.performance.uncertainty.intervals import COVERAGE, PLANNING_CONFIDENCE, REPEAT_NOISE


def margins_after_run(
    catalogs: Catalogs, configurations: Sequence[Configuration], confidence: float, result: float
) -> Margins:
    """Factors on predicted metrics once a run was made, all (n,): below 1 where it went better than predicted.

    Args:
        catalogs: Hold the calibration.
        configurations: Those that it was made of, each by itself, (n,).
        confidence: Of the promises.
        result: Share of the results that are better than this one: 0.5 is the one in the middle.
    """
    today = margins(catalogs, configurations, PLANNING_CONFIDENCE)
    calibration, normal = Calibration.of(catalogs.calibration), NormalDist()

    def factor(metric: str, bound: Floats) -> Floats:
        doubt = np.log(bound) / normal.inv_cdf(PLANNING_CONFIDENCE)
        noise = calibration.lookup(REPEAT_NOISE, metric) / normal.inv_cdf((1 + COVERAGE) / 2)
        # the part of the variance that a run explains
        told = doubt**2 / np.maximum(doubt**2 + noise**2, np.finfo(np.float64).tiny)
        found, left = normal.inv_cdf(result) * np.sqrt(told), normal.inv_cdf(confidence) * np.sqrt(1 - told)
        return np.asarray(np.exp(doubt * (found + left)))

    return Margins(*(factor(metric, bound) for metric, bound in vars(today).items()))

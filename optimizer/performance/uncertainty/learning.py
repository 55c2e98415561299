"""What one benchmark run would teach: the rows that `calibrate --own` makes of a result, for results that are likely.

Before the run, the logarithm of how far a configuration lies behind its prediction is taken as normal, with the
deviation that plans leave room for (`margins`). One result is better or worse in TTFT and TPOT together; of requests
that arrive by the clock as many are served as arrive, so it tells nothing of throughput.

Source: preposterior analysis, Raiffa and Schlaifer, Applied Statistical Decision Theory, 1961.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from statistics import NormalDist
from typing import Final

import numpy as np

from optimizer.base.arrays import Floats
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.metrics import METRICS
from optimizer.performance.physics.categorical import Categorical
from optimizer.performance.physics.constants import calibration_of
from optimizer.performance.physics.own import PLANNING_LOAD, SAME, DeploymentName, OwnRows, deployment_names
from optimizer.performance.physics.setup import Configuration, categorical
from optimizer.performance.uncertainty.evidence import margins
from optimizer.performance.uncertainty.intervals import PLANNING_CONFIDENCE
from optimizer.performance.uncertainty.likeness import Shares, Strata, shares_of, told_once_more
from optimizer.performance.uncertainty.own_updates import OWN_SOURCE, OwnValues, own_entries, own_pair, own_values

BY_CLOCK: Final = PLANNING_LOAD["tpot"]
"""The load of a run: what it promises is promised under open arrivals."""

SameRun = Sequence[Configuration]
"""Configurations that one run speaks for: they differ in where they stand alone."""


def after_run(catalogs: Catalogs, run: SameRun, result: float) -> Catalogs:
    """The catalogs as a run would leave them, with what it tells of its neighbours.

    Args:
        catalogs: Hold the calibration.
        run: What it is made of.
        result: Share of the results that are better than this one: 0.5 is the one in the middle.
    """
    ((_, values),) = _taught(catalogs, [run], result)
    return _with_rows(catalogs, values)


def after_each_run(catalogs: Catalogs, runs: Sequence[SameRun], result: float) -> Catalogs:
    """The catalogs as runs would leave them if each told of what it was made of alone."""
    found: dict[tuple[str, str], float] = {}
    for name, values in _taught(catalogs, runs, result):
        found |= {row: value for row, value in values.items() if row[1].endswith(name.configuration)}
    return _with_rows(catalogs, found)


def results_of(catalogs: Catalogs, runs: Sequence[SameRun], result: float) -> Floats:
    """What runs would measure, log measured − log predicted, (3, runs); NaN for what they do not tell.

    Where a run speaks for some of which more is known and some of which less, it is one of those.
    """
    first = np.cumsum([0, *map(len, runs)])[:-1]
    room = vars(margins(catalogs, [each for run in runs for each in run], PLANNING_CONFIDENCE))
    normal = NormalDist()
    deviations = normal.inv_cdf(result) / normal.inv_cdf(PLANNING_CONFIDENCE)
    return np.stack(
        [
            deviations * np.log(np.minimum.reduceat(room[metric], first))
            if PLANNING_LOAD[metric] == BY_CLOCK
            else np.full(len(runs), np.nan)
            for metric in METRICS
        ]
    )


def _taught(catalogs: Catalogs, runs: Sequence[SameRun], result: float) -> Iterator[tuple[DeploymentName, OwnValues]]:
    """Of each run by itself, what it is made of and the rows that it leaves."""
    shares, own = shares_of(catalogs.deployment_shares), OwnRows.of(calibration_of(catalogs))
    names = deployment_names(catalogs, categorical([run[0] for run in runs], SAME))
    for code, errors in zip(names.codes, results_of(catalogs, runs, result).T, strict=True):
        name = names.categories[code]
        if own is not None and own.near(name):
            yield name, _once_more(shares, own, name, errors)
        else:
            place = Strata(*(np.array([part], dtype=object) for part in (*name, BY_CLOCK)))
            yield name, own_values(shares, errors[:, None], place)


def _once_more(shares: Shares, own: OwnRows, name: DeploymentName, errors: Floats) -> OwnValues:
    """The rows of a configuration where something near was measured before, by metric as (3,) errors.

    What the run tells of its neighbours then hangs on which points those were, which the rows do not say.
    """
    found: dict[tuple[str, str], float] = {}
    names = Categorical((name,), np.zeros(1, np.intp))
    for metric, error in zip(METRICS, errors, strict=True):
        if np.isfinite(error):
            left, factor = own.widths(metric, [BY_CLOCK], names), own.factors(metric, [BY_CLOCK], names)
            told = told_once_more(shares, metric, np.array([error]), left)
            moved = float(factor[0] * np.exp(told.mean[0]))
            found |= own_pair(metric, BY_CLOCK, name.configuration, factor=moved, left=float(told.left[0]))
    return found


def _with_rows(catalogs: Catalogs, values: OwnValues) -> Catalogs:
    kept = [row for row in catalogs.calibration if (row.parameter, row.group) not in values]
    made = own_entries(values, OWN_SOURCE, catalogs.as_of, "as a run may find")
    return replace(catalogs, calibration=(*kept, *made))

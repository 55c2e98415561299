"""What measurements of one's own leave in the calibration: a factor and a width for what was measured and what is near.

Of each configuration that was measured, of its model otherwise, and of its engine and GPU otherwise, under each kind of
load that was measured, that of plans, and any other (`performance/physics/own.py` reads them).
"""

from collections.abc import Iterator, Mapping
from datetime import date
from typing import Final

import numpy as np

from optimizer.base.arrays import Floats, Names
from optimizer.inputs.catalog.records import CalibrationEntry
from optimizer.inputs.metrics import METRICS
from optimizer.performance.physics.constants import group_name, rounded
from optimizer.performance.physics.own import ANY_LOAD, FACTOR, PLANNING_LOAD, WIDTH
from optimizer.performance.uncertainty.likeness import Shares, Strata, told

NOWHERE: Final = ""
"""The configuration or model of a row that stands for all those that nobody measured."""

OWN_SOURCE: Final = "own-measurements"
UNITS: Final = {FACTOR: "measured/predicted", WIDTH: "share of the half-width"}

OwnValues = Mapping[tuple[str, str], float]
"""By parameter and group, as in the calibration catalog."""


def own_values(shares: Shares, errors: Floats, places: Strata) -> dict[tuple[str, str], float]:
    """What n measured points say of themselves and of what is near them.

    Args:
        shares: Of the catalog.
        errors: log measured − log predicted, (3, n), NaN where nothing was measured.
        places: Where the points stand, n of them.
    """
    made: dict[tuple[str, str], float] = {}
    for metric, error in zip(METRICS, errors, strict=True):
        known = np.flatnonzero(np.isfinite(error))
        if not len(known):
            continue
        measured = places.take(known)
        asked, names = _asked_of(metric, measured)
        found = told(shares, metric, error[known], measured, asked)
        for load, name, mean, left in zip(asked.load, names, found.mean, found.left, strict=True):
            made |= own_pair(metric, load, name, factor=float(np.exp(mean)), left=float(left))
    return made


def own_pair(metric: str, load: str, name: str, *, factor: float, left: float) -> dict[tuple[str, str], float]:
    """The factor and the width of one group."""
    group = group_name((metric, load, name))
    return {(FACTOR, group): rounded(factor), (WIDTH, group): rounded(left)}


def own_entries(values: OwnValues, source: str, as_of: date, note: str) -> Iterator[CalibrationEntry]:
    """The same as rows of the catalog."""
    for (parameter, group), value in values.items():
        yield CalibrationEntry(
            parameter=parameter,
            group=group,
            value=value,
            unit=UNITS[parameter],
            method="own",
            source=source,
            as_of=as_of,
            note=note,
        )


def _asked_of(metric: str, measured: Strata) -> tuple[Strata, Names]:
    """Every deployment that a metric was measured of and those near it, under each kind of load, with their names."""
    rows = []
    for gpu in sorted(set(measured.gpu)):
        there = measured.take(np.flatnonzero(measured.gpu == gpu))
        deployments = {(gpu, NOWHERE, NOWHERE, gpu)}
        deployments |= {(gpu, model, NOWHERE, model) for model in there.model}
        deployments |= {(gpu, *pair, pair[1]) for pair in zip(there.model, there.configuration, strict=True)}
        loads = sorted({*there.load, PLANNING_LOAD[metric], ANY_LOAD})
        rows += [(*deployment[:3], load, deployment[3]) for deployment in sorted(deployments) for load in loads]
    columns = [np.array(column, dtype=object) for column in zip(*rows, strict=True)]
    return Strata(*columns[:4]), columns[4]

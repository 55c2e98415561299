"""Intervals calibrated on what was left out: the widths, by metric, load, engine and novelty, that hold 90 % of it.

Split conformal calibration, normalized: a left-out row's error divided by its half-width has its 90th percentile at 1.
A class of few groups is drawn to the broader one, n groups against the catalog's `fit` row `shrinkage_groups`.
Reference: Papadopoulos et al., Normalized nonconformity measures for regression conformal prediction, 2008.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from optimizer.base.arrays import Flags, Floats, Names
from optimizer.inputs.measurements import METRICS
from optimizer.performance.fit.fitting import group_weights
from optimizer.performance.physics.constants import group_name
from optimizer.performance.uncertainty.intervals import (
    COVERAGE,
    HALF_WIDTH,
    HIGH,
    LOW,
    PLANNING,
    PLANNING_CONFIDENCE,
    UNSEEN,
)

SLOW_IS_HIGH: Final[Mapping[str, bool]] = {"tpot": True, "ttft": True, "throughput": False}
"""Whether a measurement above its prediction breaks a promise."""

LEAST_SHARE: Final = 0.5
"""However one-sided its errors were, an interval leaves this share of the half-width on either side."""

SWEEPS: Final = 4
"""Rounds over the novelties; each is exact given the others."""


@dataclass(frozen=True)
class HeldOutErrors:
    """Rows left out of fits, one way of leaving out after the other, n of them.

    Attributes:
        errors: log predicted − log measured, (3, n), NaN where nothing was measured.
        load: Load class of each row.
        engine: Its engine.
        group: Its group.
        missing: What the fit that left it out had never seen, by kind, (n,).
    """

    errors: Floats
    load: Names
    engine: Names
    group: Names
    missing: Mapping[str, Flags]

    def take(self, rows: Flags) -> "HeldOutErrors":
        """Some of the rows."""
        missing = {kind: flags[rows] for kind, flags in self.missing.items()}
        return HeldOutErrors(self.errors[:, rows], self.load[rows], self.engine[rows], self.group[rows], missing)


Widths = dict[tuple[str, str], float]
"""Value by parameter and group, as the calibration catalog holds it."""


def interval_tables(held_out: HeldOutErrors, exponent: float, shrinkage: float) -> Widths:
    """All rows of the calibration catalog that make intervals and margins.

    Args:
        held_out: Errors on what fits had not seen.
        exponent: Of the number of a group's rows, their weight.
        shrinkage: Groups that a class needs to count as much as the broader one.
    """
    found: Widths = {}
    for at, metric in enumerate(METRICS):
        part = held_out.take(np.isfinite(held_out.errors[at]))
        found.update(_metric_tables(metric, part, -part.errors[at], exponent, shrinkage))
    return found


def _metric_tables(metric: str, part: HeldOutErrors, error: Floats, exponent: float, shrinkage: float) -> Widths:
    """The rows of one metric; `error` is log measured − log predicted, (n,)."""
    weight = group_weights(part.group, np.ones(len(error), dtype=np.bool_), exponent)
    pairs = list(zip(part.load, part.engine, strict=True))
    tables = _classes(metric, part, np.abs(error), weight, shrinkage)
    own = {pair: narrowest(tables, metric, *pair) for pair in set(pairs)}
    base = np.array([own[pair] ** 2 for pair in pairs])
    new = dict.fromkeys(part.missing, 0.0)
    for _ in range(SWEEPS):
        for kind, rows in part.missing.items():
            others = base + _added({name: value for name, value in new.items() if name != kind}, part)
            left = np.sqrt(np.maximum(error**2 - others, 0.0))[rows]
            new[kind] = shrunk(left, weight[rows], part.group[rows], 0.0, shrinkage)
    width = np.sqrt(base + _added(new, part))
    tables |= {(UNSEEN, group_name((metric, kind))): value for kind, value in new.items()}
    return tables | _shares(metric, part, error / width, weight, shrinkage)


def _added(new: Mapping[str, float], part: HeldOutErrors) -> Floats:
    """Sum of the squared half-widths of all novelties of each row, (n,)."""
    total = np.zeros(len(part.group))
    for kind, value in new.items():
        total += value**2 * part.missing[kind]
    return total


def _classes(metric: str, part: HeldOutErrors, size: Floats, weight: Floats, shrinkage: float) -> Widths:
    """Half-widths of the metric, its loads and their engines, from rows whose kind was measured."""
    plain = ~np.logical_or.reduce(list(part.missing.values()))
    overall = quantile(size[plain], weight[plain], COVERAGE)
    tables: Widths = {(HALF_WIDTH, metric): overall}
    for load in sorted(set(part.load)):
        rows = plain & (part.load == load)
        broad = shrunk(size[rows], weight[rows], part.group[rows], overall, shrinkage)
        tables[HALF_WIDTH, group_name((metric, load))] = broad
        for engine in sorted(set(part.engine[rows])):
            own = rows & (part.engine == engine)
            value = shrunk(size[own], weight[own], part.group[own], broad, shrinkage)
            tables[HALF_WIDTH, group_name((metric, load, engine))] = value
    return tables


def narrowest(tables: Widths, metric: str, load: str, engine: str) -> float:
    """The half-width of the most specific class that the tables hold."""
    groups = (group_name((metric, load, engine)), group_name((metric, load)), metric)
    return next(tables[HALF_WIDTH, group] for group in groups if (HALF_WIDTH, group) in tables)


def _shares(metric: str, part: HeldOutErrors, scaled: Floats, weight: Floats, shrinkage: float) -> Widths:
    """Ends of the interval by load, and the planning margin, in half-widths; `scaled` is log measured / predicted."""
    tail = (1 - COVERAGE) / 2
    slow = scaled if SLOW_IS_HIGH[metric] else -scaled
    tables = {(PLANNING, metric): quantile(slow, weight, PLANNING_CONFIDENCE)}
    for parameter, side in ((LOW, -scaled), (HIGH, scaled)):
        overall = quantile(side, weight, 1 - tail)
        tables[parameter, metric] = overall
        for load in sorted(set(part.load)):
            rows = part.load == load
            own = shrunk(side[rows], weight[rows], part.group[rows], overall, shrinkage, 1 - tail)
            tables[parameter, group_name((metric, load))] = max(own, LEAST_SHARE)
    return tables


def shrunk(
    size: Floats, weight: Floats, group: Names, broader: float, shrinkage: float, share: float = COVERAGE
) -> float:
    """A percentile of a class, drawn to the broader class as if that were `shrinkage` more groups."""
    if not len(size):
        return broader
    count = len(set(group))
    return (count * quantile(size, weight, share) + shrinkage * broader) / (count + shrinkage)


def quantile(values: Floats, weight: Floats, share: float) -> float:
    """The least value below which at least that share of the weight lies."""
    order = np.argsort(values, kind="stable")
    below = np.cumsum(weight[order])
    return float(values[order][np.searchsorted(below, share * below[-1])])

"""Intervals calibrated on what was left out: widths by metric, load, engine, trait and novelty that hold 90 % of it.

Split conformal calibration, normalized: a left-out row's error divided by its half-width has its 90th percentile at 1.
A class of few groups is drawn to the broader one, n groups against the catalog's `fit` row `shrinkage_groups`; a trait,
which holds under every load, to none at all, against `shrinkage_groups@trait`. What plans take, novelties and one-sided
shares, is found without traits, as they take it.
Reference: Papadopoulos et al., Normalized nonconformity measures for regression conformal prediction, 2008.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

import numpy as np

from optimizer.base.arrays import Flags, Floats, Names
from optimizer.inputs.metrics import METRICS
from optimizer.performance.fit.fitting import group_weights
from optimizer.performance.physics.categorical import Categorical
from optimizer.performance.physics.constants import group_name
from optimizer.performance.uncertainty.intervals import (
    COVERAGE,
    FACTOR,
    HALF_WIDTH,
    HIGH,
    LOW,
    NOVEL,
    PLANNING,
    PLANNING_CONFIDENCE,
    UNSEEN,
    anything_missing,
    share_groups,
)

SLOW_IS_HIGH: Final[Mapping[str, bool]] = {"tpot": True, "ttft": True, "throughput": False}
"""Whether a measurement above its prediction breaks a promise."""

LEAST_SHARE: Final = 0.5
"""However one-sided its errors were, an interval leaves this share of the half-width on either side."""

OF_STEPS: Final = ("tpot", "request_rate")
"""Errors of steps, as they are in every closed loop: they have the width and the shares of all loads together."""

ALIKE: Final = -1.0
"""Weight of a row by the rows of its group, as an exponent: groups count alike."""

SWEEPS: Final = 4
"""Rounds over the novelties; each is exact given the others."""


@dataclass(frozen=True)
class HeldOutErrors:
    """Errors of cross-validated predictions, one way of leaving rows out after the other, n of them.

    Attributes:
        errors: log predicted − log measured, (3, n), NaN where nothing was measured; as `errors_of_steps` has them.
        load: Load class of each row.
        engine: Its engine.
        traits: What else it is of that may make it more or less certain, a column a trait.
        group: Its group.
        missing: What the fit that left it out had never seen, by kind and metric, (3, n).
    """

    errors: Floats
    load: Names
    engine: Names
    traits: tuple[Names, ...]
    group: Names
    missing: Mapping[str, Flags]

    def take(self, rows: Flags) -> "HeldOutErrors":
        """Some of the rows."""
        missing = {kind: flags[:, rows] for kind, flags in self.missing.items()}
        load, engine, *traits, group = (names[rows] for names in (self.load, self.engine, *self.traits, self.group))
        return HeldOutErrors(self.errors[:, rows], load, engine, tuple(traits), group, missing)


Widths = dict[tuple[str, str], float]
"""Value by parameter and group, as the calibration catalog holds it."""


def interval_tables(held_out: HeldOutErrors, shrinkage: float, of_traits: float) -> Widths:
    """All rows of the calibration catalog that make intervals and margins.

    Args:
        held_out: Errors on what fits had not seen.
        shrinkage: Groups that a class needs to count as much as the broader one.
        of_traits: Groups that a trait needs to count as much as none.
    """
    tables: Widths = {}
    for at, (metric, error) in enumerate(zip(METRICS, held_out.errors, strict=True)):
        part = held_out.take(np.isfinite(error))
        missing = {kind: flags[at] for kind, flags in part.missing.items()}
        weight = group_weights(part.group, np.ones(len(part.group), dtype=np.bool_), ALIKE)
        deviation = -error[np.isfinite(error)]
        rows = _Left(part.load, part.engine, part.traits, missing)
        tables |= _metric_tables(metric, rows, deviation, _Sample(weight, part.group, shrinkage), of_traits)
    return tables


class _Left(NamedTuple):
    """The left-out rows of one metric, n of them: load class, engine, traits, and what their fit had never seen."""

    load: Names
    engine: Names
    traits: tuple[Names, ...]
    missing: Mapping[str, Flags]


@dataclass(frozen=True)
class _Sample:
    """Rows of one metric, n of them: what each weighs and which group it is of; shrinkage as in `interval_tables`."""

    weight: Floats
    group: Names
    shrinkage: float

    def quantile(self, size: Floats, rows: Flags, share: float) -> float:
        """Of some rows."""
        return quantile(size[rows], self.weight[rows], share)

    def shrunk(self, size: Floats, rows: Flags, broader: float, share: float = COVERAGE) -> float:
        """A percentile of a class, drawn to the broader class as if that were `shrinkage` more groups."""
        if not rows.any():
            return broader
        count = len(set(self.group[rows]))
        own = self.quantile(size, rows, share)
        return (count * own + self.shrinkage * broader) / (count + self.shrinkage)


def _metric_tables(metric: str, part: _Left, error: Floats, sample: _Sample, of_traits: float) -> Widths:
    """The rows of one metric; `error` is log measured − log predicted, (n,)."""
    tables = _classes(metric, part, np.abs(error), sample)
    # (load, engine) -> squared half-width of the row
    classes = Categorical.of(list(zip(part.load, part.engine, strict=True)))
    squared = classes.by_row([narrowest(tables, metric, *pair) ** 2 for pair in classes.categories])
    novelties = _novelties(part, error, squared, sample)
    tables |= {(UNSEEN, group_name((metric, kind))): width for kind, width in novelties.items()}
    added = _added(novelties, part)
    tables |= _planned(metric, part, error / np.sqrt(squared + added), sample)
    factors = _factors(part, np.abs(error) / np.sqrt(squared), replace(sample, shrinkage=of_traits))
    tables |= {(FACTOR, group_name((metric, name))): factor for name, factor in factors.items()}
    tables[FACTOR, metric] = 1.0
    return tables | _ends(metric, part, error / np.sqrt(squared * _product(factors, part.traits) ** 2 + added), sample)


def _factors(part: _Left, scaled: Floats, sample: _Sample) -> dict[str, float]:
    """How much wider than others rows of each trait are, by name, found in turns; `scaled` is in half-widths, (n,)."""
    plain = ~anything_missing(part.missing)
    factors = {name: 1.0 for names in part.traits for name in sorted(set(names))}
    for _ in range(SWEEPS):
        for at, names in enumerate(part.traits):
            others = _product(factors, part.traits[:at] + part.traits[at + 1 :])
            for name in sorted(set(names)):
                factors[name] = sample.shrunk(scaled / others, plain & (names == name), 1.0)
    return factors


def _product(factors: Mapping[str, float], traits: Sequence[Names]) -> Floats:
    """Of the factors of each row's traits, (n,); 1 of none."""
    total = np.ones(1)
    for names in traits:
        kinds = Categorical[str].of(names)
        total = total * kinds.by_row([factors[name] for name in kinds.categories])
    return total


def _novelties(part: _Left, error: Floats, squared: Floats, sample: _Sample) -> dict[str, float]:
    """Half-width that each kind of novelty adds to those of the classes, found in turns."""
    novelties = dict.fromkeys(part.missing, 0.0)
    for _ in range(SWEEPS):
        for kind, rows in part.missing.items():
            others = squared + _added({name: width for name, width in novelties.items() if name != kind}, part)
            novelties[kind] = sample.shrunk(np.sqrt(np.maximum(error**2 - others, 0.0)), rows, 0.0)
    return novelties


def _added(novelties: Mapping[str, float], part: _Left) -> Floats:
    """Sum of the squared half-widths of all novelties of each row, (n,)."""
    total = np.zeros(len(part.load))
    for kind, width in novelties.items():
        total += width**2 * part.missing[kind]
    return total


def _classes(metric: str, part: _Left, size: Floats, sample: _Sample) -> Widths:
    """Half-widths of the metric, its loads and their engines, from rows whose kind was measured."""
    plain = ~anything_missing(part.missing)
    overall = sample.quantile(size, plain, COVERAGE)
    tables: Widths = {(HALF_WIDTH, metric): overall}
    for load in _loads_apart(metric, part):
        rows = plain & (part.load == load)
        of_load = sample.shrunk(size, rows, overall)
        tables[HALF_WIDTH, group_name((metric, load))] = of_load
        for engine in sorted(set(part.engine[rows])):
            of_engine = sample.shrunk(size, rows & (part.engine == engine), of_load)
            tables[HALF_WIDTH, group_name((metric, load, engine))] = of_engine
    return tables


def narrowest(tables: Widths, metric: str, load: str, engine: str) -> float:
    """The half-width of the most specific class that the tables hold."""
    groups = (group_name((metric, load, engine)), group_name((metric, load)), metric)
    return next(tables[HALF_WIDTH, group] for group in groups if (HALF_WIDTH, group) in tables)


def _planned(metric: str, part: _Left, scaled: Floats, sample: _Sample) -> Widths:
    """The planning margin in half-widths; `scaled` is log measured / predicted in those that plans take.

    Of rows whose kind was measured and of the others apart: errors of these are more one-sided.
    """
    slow, unmeasured = (scaled if SLOW_IS_HIGH[metric] else -scaled), anything_missing(part.missing)
    measured = sample.quantile(slow, _of_kind(unmeasured, False), PLANNING_CONFIDENCE)
    novel = sample.quantile(slow, _of_kind(unmeasured, True), PLANNING_CONFIDENCE)
    # who knows less leaves no less room
    return {(PLANNING, metric): measured, (PLANNING, group_name((metric, NOVEL))): max(novel, measured)}


def _ends(metric: str, part: _Left, scaled: Floats, sample: _Sample) -> Widths:
    """Ends of the interval by load, in half-widths; `scaled` is log measured / predicted.

    Of rows whose kind was measured and of the others apart, as in `_planned`.
    """
    upper, unmeasured = 1 - (1 - COVERAGE) / 2, anything_missing(part.missing)
    tables: Widths = {}
    for novel in (False, True):
        rows = unmeasured == novel
        for parameter, side in ((LOW, -scaled), (HIGH, scaled)):
            overall = sample.quantile(side, _of_kind(unmeasured, novel), upper)
            for load in _loads_apart(metric, part):
                of_load, of_metric, *_ = share_groups(metric, load, novel)
                found = sample.shrunk(side, rows & (part.load == load), overall, upper)
                tables |= {(parameter, of_metric): overall, (parameter, of_load): max(found, LEAST_SHARE)}
    return tables


def _loads_apart(metric: str, part: _Left) -> list[str]:
    """The loads whose errors are told apart."""
    return sorted(load for load in set(part.load) if (metric, load) != OF_STEPS)


def _of_kind(unmeasured: Flags, novel: bool) -> Flags:
    """The rows of which something was not measured, or the others; those that there are where one kind is missing."""
    rows: Flags = unmeasured == novel
    return rows if rows.any() else ~rows


def quantile(values: Floats, weight: Floats, share: float) -> float:
    """The least value below which at least that share of the weight lies."""
    order = np.argsort(values, kind="stable")
    below = np.cumsum(weight[order])
    return float(values[order][np.searchsorted(below, share * below[-1])])

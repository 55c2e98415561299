"""What one measurement of a deployment tells of its other points, and of its neighbours.

    python benchmarks/own_measurements.py    # predictions of sources that the fit had not seen (six CPU minutes)

Writes catalogs/deployment_shares.csv and prints the table of docs/confirm.md. A share is the correlation of two errors
that have so much in common, groups counting alike, errors beyond their 98th percentile cut to it; one that narrower
things in common do not reach is lowered to theirs. Each source is judged by the shares that the other sources give.
"""

import argparse
import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from own_measurements_page import table

from optimizer.answers.accuracy.calibration_rows import source_of
from optimizer.answers.catalog.overlay import catalog_csv
from optimizer.base.arrays import Flags, Floats, Ints, Names
from optimizer.inputs.catalog.loading import load_catalogs
from optimizer.inputs.catalog.records import Catalogs, DeploymentShare
from optimizer.inputs.measurements import shipped_measurements
from optimizer.inputs.metrics import METRICS
from optimizer.performance.fit.coverage import HeldOutErrors, quantile
from optimizer.performance.fit.cross_validation import held_out_errors
from optimizer.performance.fit.fitting import problem
from optimizer.performance.measured.rows import LOADS, text_column
from optimizer.performance.physics.constants import Calibration
from optimizer.performance.uncertainty.evidence import AUTHOR
from optimizer.performance.uncertainty.intervals import COVERAGE, bounds, half_width
from optimizer.performance.uncertainty.likeness import LEVELS, LOAD, SPREAD, Shares, Strata, told

ROOT = Path(__file__).resolve().parent.parent
FILE = ROOT / "catalogs" / "deployment_shares.csv"
RESULTS = ROOT / "benchmarks" / "results" / "own_measurements.json"
SOURCES = 5
"""Ways of leaving out that `held_out_errors` has; the last one leaves out sources."""

CUT = 0.98
MOST_PAIRS = 200
"""Of one group, drawn with a fixed seed."""

KNOWN = (1, 3)
"""Points of a configuration that are given to predict its others."""
MOST_DRAWS = 8

HELD = ("held_before_percent", "held_after_percent")
SHOWN = (("configuration", 1), ("configuration", 3), ("model", 1), ("gpu", 1))


@dataclass(frozen=True)
class Sample:
    """Measured rows by predictions that had not seen their source, m of them.

    Attributes:
        places: Where they stand; names begin with the source, so that only one author's rows have anything in common.
        source: Who measured.
        engine: Who measured with which engine.
        errors: log measured − log predicted, (3, m), NaN where nothing was measured.
        ends: Logarithms of the ends of the interval over the prediction, (3, 2, m): of somebody's deployment.
        first: The same before anything is known; of a plan those of a deployment that runs as exported.
    """

    places: Strata
    source: Names
    engine: Names
    errors: Floats
    ends: Floats
    first: Floats


def sampled(catalogs: Catalogs) -> tuple[Sample, Sample]:
    """Every measurement with the error of a prediction that knew nothing of its source; the same as plans take it."""
    frame, calibration = shipped_measurements(), Calibration.of(catalogs.calibration)
    fitted = problem(frame, catalogs)
    shipped = np.array([calibration.entries[at].value for at in fitted.parameters.position])
    left = held_out_errors(fitted, catalogs, np.log(shipped / fitted.parameters.start), 0)
    rows = len(fitted.rows)
    alone = left.take(np.arange(len(left.load)) >= (SOURCES - 1) * rows)
    errors = -alone.errors
    # requests that arrive by the clock are served as they arrive
    errors[METRICS.index("throughput"), fitted.deployments.load == LOADS.index("request_rate")] = np.nan
    source = text_column(fitted.table.frame, "source")[fitted.rows]
    names = {name: fitted.table.names[name][fitted.rows] for name in ("engine", "gpu", "model")}
    engine = _joined(source, names["engine"])
    gpu = _joined(engine, names["gpu"])
    model = _joined(gpu, names["model"])
    places = Strata(gpu, model, _joined(model, fitted.group), alone.load)
    ends, planned = (
        np.stack([_ends(calibration, alone, at, without) for at in range(len(METRICS))]) for without in ("", AUTHOR)
    )
    one = Sample(places, source, engine, errors, ends, ends)
    return one, replace(one, first=planned)


def _joined(*columns: Names) -> Names:
    return np.array(["|".join(map(str, row)) for row in zip(*columns, strict=True)], dtype=object)


def _ends(calibration: Calibration, left: HeldOutErrors, at: int, without: str) -> Floats:
    missing = {kind: flags[at] for kind, flags in left.missing.items() if kind != without}
    width = half_width(calibration, METRICS[at], left.load, left.engine, missing, traits=left.traits)
    return np.log(np.stack(bounds(calibration, METRICS[at], left.load, np.ones(len(width)), width, missing)))


def shares(sample: Sample, catalogs: Catalogs, without: str = "") -> list[DeploymentShare]:
    """The rows of the catalog, from all sources but one."""
    known = replace(sample, errors=np.where(sample.source == without, np.nan, sample.errors))
    rows = []
    for at, metric in enumerate(METRICS):
        found = _correlations(known.places, known.errors[at])
        of_metric = {(metric, alike): value for alike, (value, _) in found.items()}
        parts = [judged(known, at, LEVELS[-1], count, dict.fromkeys(known.source, of_metric)) for count in KNOWN]
        # every error over the end of the interval on its side, narrowed as far as the shares say
        excess = [quantile(part.excess, part.weight, COVERAGE) for part in parts]
        found[SPREAD] = max(1.0, *excess), found[LEVELS[-1]][1]
        rows += [_row(catalogs, metric, alike, *each) for alike, each in found.items()]
    return rows


def _correlations(places: Strata, errors: Floats) -> dict[str, tuple[float, int]]:
    """By what is alike: the correlation, and of how many groups it is."""
    error = _cut(errors)
    found: dict[str, tuple[float, int]] = {}
    narrower: Names | None = None
    for level in reversed(LEVELS):
        group = getattr(places, level)
        share, groups = _correlation(places.load, error, group, narrower, same_load=True)
        # a broader level has no more in common than a narrower one
        found[level] = min([share, *(each for each, _ in found.values())]), groups
        narrower = group
    other, groups = _correlation(places.load, error, places.configuration, None, same_load=False)
    return found | {LOAD: (min(other / found[LEVELS[-1]][0], 1.0), groups)}


def _cut(errors: Floats) -> Floats:
    most = np.quantile(np.abs(errors[np.isfinite(errors)]), CUT)
    return np.clip(errors, -most, most)


def further(sample: Sample) -> list[dict[str, Any]]:
    """Correlations beyond what `deployment_shares` holds: the same engine on other GPUs, and other engines."""
    found = []
    for at, metric in enumerate(METRICS):
        for what, group, narrower in (
            ("same engine, another GPU", sample.engine, sample.places.gpu),
            ("another engine", sample.source, sample.engine),
        ):
            share, groups = _correlation(sample.places.load, _cut(sample.errors[at]), group, narrower, same_load=True)
            found.append({"metric": metric, "what": what, "correlation": round(share, 2), "groups": groups})
    return found


def _row(catalogs: Catalogs, metric: str, alike: str, value: float, groups: int) -> DeploymentShare:
    return DeploymentShare.model_validate(
        {
            "metric": metric,
            "alike": alike,
            "value": round(value, 2),
            "groups": groups,
            "source": source_of(shipped_measurements(), catalogs),
            "as_of": catalogs.as_of,
            "note": "errors of sources left out of the fit (benchmarks/own_measurements.py)",
        }
    )


def _correlation(
    load: Names, error: Floats, group: Names, narrower: Names | None, *, same_load: bool
) -> tuple[float, int]:
    """Of pairs that agree in a group and not in the next narrower one, and how many groups they are from."""
    draw, products, squares = np.random.default_rng(0), [], []
    for one, other in _pairs(group, np.isfinite(error), draw):
        kept = (load[one] == load[other]) == same_load
        if narrower is not None:
            kept &= narrower[one] != narrower[other]
        if kept.any():
            products.append(np.mean(error[one[kept]] * error[other[kept]]))
            squares.append(np.mean(error[one[kept]] ** 2 + error[other[kept]] ** 2) / 2)
    return float(np.sum(products) / np.sum(squares)), len(products)


def _pairs(group: Names, usable: Flags, draw: np.random.Generator) -> Iterator[tuple[Ints, Ints]]:
    """Pairs of different rows of every group, at most so many."""
    for name in sorted(set(group[usable])):
        rows = np.flatnonzero((group == name) & usable)
        one, other = (each.ravel() for each in np.meshgrid(rows, rows))
        kept = np.flatnonzero(one != other)
        if len(kept) > MOST_PAIRS:
            kept = draw.choice(kept, MOST_PAIRS, replace=False)
        yield one[kept], other[kept]


@dataclass(frozen=True)
class Judged:
    """Rows predicted with some others known, n of them.

    Attributes:
        before, after: Errors without and with the others.
        held_before, held_after: Whether the interval holds what was measured.
        excess: The error after over what is left of the interval on its side.
        same_load: Whether the others were under loads of that kind.
        weight: Configurations count alike.
    """

    before: Floats
    after: Floats
    held_before: Flags
    held_after: Flags
    excess: Floats
    same_load: Flags
    weight: Floats


def judged(sample: Sample, at: int, level: str, known: int, of_source: dict[str, Shares]) -> Judged:
    """Every group of a level with some of its points known: its points in other groups of the next narrower level.

    Of a configuration these are its other points.
    """
    error, parts = sample.errors[at], []
    for given, asked, weight in _draws(sample.places, np.isfinite(error), level, known):
        source, places = sample.source[given[0]], sample.places
        found = told(of_source[source], METRICS[at], error[given], places.take(given), places.take(asked))
        # (low, high) of the interval before and after, by asked row
        first, widest = sample.first[at][:, asked], sample.ends[at][:, asked]
        left = np.sign(first) * np.minimum(np.abs(first), found.left * np.abs(widest))
        after = error[asked] - found.mean
        parts.append(
            (
                error[asked],
                after,
                np.max(error[asked] / first, axis=0) <= 1,
                np.max(after / left, axis=0) <= 1,
                np.max(after / widest, axis=0) / found.left,
                np.isin(places.load[asked], places.load[given]),
                np.full(len(asked), weight / len(asked)),
            )
        )
    return Judged(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def _draws(places: Strata, usable: Flags, level: str, known: int) -> Iterator[tuple[Ints, Ints, float]]:
    """Of every group of a level some draws of so many points of one configuration, what is asked, and its weight."""
    draw, group = np.random.default_rng(0), getattr(places, level)
    narrower = getattr(places, LEVELS[LEVELS.index(level) + 1]) if level != LEVELS[-1] else None
    for name in sorted(set(group[usable])):
        rows = np.flatnonzero((group == name) & usable)
        found = []
        for _ in range(min(MOST_DRAWS, len(rows))):
            given = draw.permutation(rows)
            given = given[places.configuration[given] == places.configuration[given[0]]][:known]
            asked = np.setdiff1d(rows, given)
            if narrower is not None:
                asked = asked[narrower[asked] != narrower[given[0]]]
            if len(given) == known and len(asked):
                found.append((given, asked))
        yield from ((*each, 1 / len(found)) for each in found)


def _figures(found: Judged, rows: Flags) -> dict[str, float]:
    """Errors in percent, median and 90th percentile, and the share that intervals hold, without and with the others."""

    def percent(errors: Floats, share: float) -> float:
        return round(100 * float(np.expm1(quantile(np.abs(errors[rows]), found.weight[rows], share))), 1)

    return {
        "before_percent": percent(found.before, 0.5),
        "before_p90_percent": percent(found.before, 0.9),
        "after_percent": percent(found.after, 0.5),
        "after_p90_percent": percent(found.after, 0.9),
        "held_before_percent": round(100 * float(np.average(found.held_before[rows], weights=found.weight[rows]))),
        "held_after_percent": round(100 * float(np.average(found.held_after[rows], weights=found.weight[rows]))),
    }


def kept_by_plans(planned: Sample, of_source: dict[str, Shares]) -> list[dict[str, Any]]:
    """What the intervals that plans are held to hold, of other points of what was measured."""
    found = []
    for known in KNOWN:
        for at, metric in enumerate(METRICS):
            one = judged(planned, at, LEVELS[-1], known, of_source)
            figures = _figures(one, np.ones_like(one.same_load))
            found.append({"metric": metric, "known": known} | {name: figures[name] for name in HELD})
    return found


def results(sample: Sample, of_source: dict[str, Shares]) -> list[dict[str, Any]]:
    """How predictions with own measurements do."""
    found = []
    for level, known in SHOWN:
        for at, metric in enumerate(METRICS):
            one = judged(sample, at, level, known, of_source)
            for same_load in (False, True):
                rows = one.same_load if same_load else np.ones_like(one.same_load)
                told_of = {"level": level, "known": known, "metric": metric, "same_load": same_load}
                found.append(told_of | _figures(one, rows))
    return found


def main() -> None:
    """Writes the shares and prints how predictions with own measurements do."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.parse_args()
    catalogs = load_catalogs()
    sample, planned = sampled(catalogs)
    rows = sorted(shares(sample, catalogs), key=lambda row: (row.metric, row.alike))
    FILE.write_text(catalog_csv(DeploymentShare, rows), encoding="utf-8")
    # each source is judged by the shares of the others
    of_source: dict[str, Shares] = {
        name: {(row.metric, row.alike): row.value for row in shares(sample, catalogs, name)}
        for name in sorted(set(sample.source))
    }
    found, beyond, plans = results(sample, of_source), further(sample), kept_by_plans(planned, of_source)
    stored = {"judged": found, "further": beyond, "plans": plans}
    RESULTS.write_text(json.dumps(stored, indent=1) + "\n", encoding="utf-8")
    print(table(found))
    for row in plans:
        print(
            "{metric}, {known} known: plans' intervals held {held_before_percent} → {held_after_percent} %".format(
                **row
            )
        )
    for row in beyond:
        print("{metric}, {what}: correlation {correlation}, {groups} groups".format(**row))


if __name__ == "__main__":
    main()

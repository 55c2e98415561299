"""What one measurement tells of others: as much as they have in common, never more, and nothing of other hardware."""

from collections.abc import Sequence

import numpy as np
import pytest

from optimizer.base.arrays import Floats
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.metrics import METRICS
from optimizer.performance.uncertainty.likeness import (
    LEVELS,
    LOAD,
    SPREAD,
    Shares,
    Strata,
    correlations,
    shares_of,
    told,
    told_by_the_others,
)

Row = tuple[str, str, str, str]
HERE: Row = ("l4", "a", "fp8", "low")
OTHER_LOAD: Row = ("l4", "a", "fp8", "high")
OTHER_PRECISION: Row = ("l4", "a", "bf16", "low")
OTHER_MODEL: Row = ("l4", "b", "fp8", "low")
OTHER_GPU: Row = ("l40s", "a", "fp8", "low")


def strata(rows: Sequence[Row]) -> Strata:
    """Names that hold those of the broader level, as those of deployments do."""
    gpu, model, configuration, load = zip(*rows, strict=True)
    nested = [gpu, map("@".join, zip(gpu, model, strict=True))]
    nested.append(map("@".join, zip(gpu, model, configuration, strict=True)))
    return Strata(*(np.array(list(each), dtype=object) for each in (*nested, load)))


@pytest.fixture(scope="module")
def shares(catalogs: Catalogs) -> Shares:
    return shares_of(catalogs.deployment_shares)


@pytest.mark.parametrize("metric", METRICS)
def test_one_point_tells_of_another_what_they_have_in_common(shares: Shares, metric: str) -> None:
    asked = [HERE, OTHER_LOAD, OTHER_PRECISION, OTHER_MODEL, OTHER_GPU]
    found = told(shares, metric, np.array([0.4]), strata([HERE]), strata(asked))
    gpu, model, configuration = (shares[metric, level] for level in LEVELS)
    common = np.array([configuration, configuration * shares[metric, LOAD], model, gpu, 0.0])
    assert found.mean == pytest.approx(0.4 * common)
    assert found.left == pytest.approx(np.minimum(shares[metric, SPREAD] * np.sqrt(1 - common**2), 1))
    assert found.left[-1] == 1


@pytest.mark.parametrize("metric", METRICS)
def test_the_nearer_the_more_and_no_interval_grows(shares: Shares, metric: str) -> None:
    gpu, model, configuration = (shares[metric, level] for level in LEVELS)
    assert 0 <= gpu <= model <= configuration <= 1
    assert 0 <= shares[metric, LOAD] <= 1 <= shares[metric, SPREAD]


def test_more_points_tell_more_and_those_that_agree_never_all(shares: Shares) -> None:
    left, mean = [], []
    for count in (1, 2, 5, 50):
        found = told(shares, "tpot", np.full(count, 0.2), strata([HERE] * count), strata([HERE]))
        left.append(float(found.left[0]))
        mean.append(float(found.mean[0]))
    assert left == sorted(left, reverse=True)
    assert mean == sorted(mean)
    assert 0 < mean[-1] < 0.2
    assert left[-1] > 0


def random_rows(seed: int, count: int) -> tuple[Floats, list[Row]]:
    draw = np.random.default_rng(seed)
    names = [draw.integers(0, most, count) for most in (2, 2, 2, 3)]
    return draw.normal(size=count), [(f"g{a}", f"m{b}", f"c{c}", f"l{d}") for a, b, c, d in zip(*names, strict=True)]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("metric", METRICS)
def test_what_others_tell_is_what_is_told_without_a_point(shares: Shares, metric: str, seed: int) -> None:
    error, rows = random_rows(seed, 9)
    found = told_by_the_others(shares, metric, error, strata(rows))
    for at, row in enumerate(rows):
        others = [number for number in range(9) if number != at]
        without = told(shares, metric, error[others], strata([rows[each] for each in others]), strata([row]))
        assert (found.mean[at], found.left[at]) == pytest.approx((without.mean[0], without.left[0]))


@pytest.mark.parametrize("metric", METRICS)
def test_correlations_are_those_of_something(shares: Shares, metric: str) -> None:
    """No combination of rows has a variance below 0."""
    _, rows = random_rows(7, 60)
    among = correlations(shares, metric, strata(rows), strata(rows))
    np.fill_diagonal(among, 1.0)
    assert np.linalg.eigvalsh(among).min() > 0

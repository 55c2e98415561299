"""How many requests decide is what textbooks say, and a sample of that size does decide."""

import numpy as np
import pytest
from scipy.stats import beta, binom

from optimizer.performance.simulation.sample_sizes import (
    more_requests,
    proves_at_least,
    proves_below,
    requests_to_prove,
    without_a_violation,
)
from optimizer.performance.simulation.statistics import chance_of_at_most, share_of

SURE = 0.95


@pytest.mark.parametrize(("share", "fewest"), [(0.5, 5), (0.9, 29), (0.95, 59), (0.99, 299)])
def test_without_a_violation_a_share_takes_as_many_as_its_logarithm_says(share: float, fewest: int) -> None:
    assert without_a_violation(share, SURE) == fewest == int(np.ceil(np.log(0.05) / np.log(share)))


def test_no_number_is_given_that_does_not_prove_it() -> None:
    """99.998 % take 149,786 requests without a violation, more than anybody waits for."""
    assert requests_to_prove(0.99998, 1.0, SURE) is None
    with pytest.raises(ValueError, match="no 100,000 requests prove"):
        without_a_violation(0.99998, SURE)


@pytest.mark.parametrize(("kept", "count"), [(0, 10), (8, 10), (57, 59), (58, 59), (590, 600), (600, 600)])
def test_a_verdict_is_the_one_sided_bound_of_clopper_and_pearson(kept: int, count: int) -> None:
    low = 0.0 if kept == 0 else beta.ppf(0.05, kept, count - kept + 1)
    high = 1.0 if kept == count else beta.ppf(0.95, kept + 1, count - kept)
    found = share_of(kept, count, 0.90)
    assert (found.low, found.high) == (pytest.approx(low, abs=1e-9), pytest.approx(high, abs=1e-9))
    for share in (0.5, 0.9, 0.95, 0.99):
        assert proves_at_least(kept, count, share, SURE) == (low >= share)
        assert proves_below(kept, count, share, SURE) == (high <= share)


def test_chances_are_the_binomial_ones() -> None:
    assert chance_of_at_most(3, 59, 0.05) == pytest.approx(binom.cdf(3, 59, 0.05))
    assert chance_of_at_most(-1, 59, 0.05) == 0.0
    assert chance_of_at_most(59, 59, 0.05) == 1.0


@pytest.mark.parametrize(("promised", "expected"), [(0.95, 0.99), (0.95, 0.97), (0.99, 0.999), (0.5, 0.6)])
def test_so_many_requests_prove_it_as_often_as_said_and_hardly_fewer_do(promised: float, expected: float) -> None:
    needed = requests_to_prove(promised, expected, SURE)
    assert needed is not None
    assert _proven(needed, promised, expected) >= SURE > _proven(int(0.9 * needed), promised, expected)


def _proven(count: int, promised: float, expected: float) -> float:
    """How often a sample of so many proves it, by the library's own distribution."""
    kept = np.arange(count + 1)
    enough = beta.ppf(0.05, np.maximum(kept, 1e-12), count - kept + 1) >= promised
    return float(np.sum(binom.pmf(kept[enough], count, expected)))


def test_who_is_expected_to_spare_nothing_proves_nothing() -> None:
    assert requests_to_prove(0.95, 0.95, SURE) is None
    assert requests_to_prove(0.95, 0.9501, SURE) is None
    assert requests_to_prove(0.95, 0.952, SURE) is None
    assert requests_to_prove(0.95, 1.0, SURE) == 59


def test_how_many_more_decide_is_none_where_it_is_decided_and_leads_to_a_verdict_elsewhere() -> None:
    assert more_requests(600, 600, 0.95, SURE) == 0
    assert more_requests(500, 600, 0.95, SURE) == 0
    assert more_requests(95, 100, 0.95, SURE) is None
    more = more_requests(97, 100, 0.95, SURE)
    assert more is not None
    assert 150 < more < 300
    assert proves_at_least(round(0.97 * (100 + more)), 100 + more, 0.95, SURE)
    worse = more_requests(93, 100, 0.95, SURE)
    assert worse is not None
    assert proves_below(round(0.93 * (100 + worse)), 100 + worse, 0.95, SURE)
    assert more_requests(95_001, 100_000, 0.95, SURE) is None

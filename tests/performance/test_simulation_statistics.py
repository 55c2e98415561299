"""Intervals hold what they promise, and are those of the textbook where there is one."""

import numpy as np
import pytest

from optimizer.performance.simulation.arrivals import Classes, ramped, renewal, together, trace
from optimizer.performance.simulation.statistics import mean, quantile, share_within

ONE = Classes(np.array([1.0]), np.array([100]), np.array([10]))


def test_the_interval_of_a_share_is_that_of_clopper_and_pearson() -> None:
    """0 of 10 at 95 %: 1 − 0.025^(1/10) = 0.3085; 8 of 10: 0.4439 to 0.9748."""
    none = share_within(np.zeros(10, dtype=bool), 0.95)
    assert (none.low, none.high) == (0.0, pytest.approx(0.3085, abs=1e-4))
    some = share_within(np.arange(10) < 8, 0.95)
    assert (some.low, some.high) == (pytest.approx(0.4439, abs=1e-4), pytest.approx(0.9748, abs=1e-4))


def test_a_percentile_lies_in_its_interval_as_often_as_promised() -> None:
    rng = np.random.default_rng(7)
    truth = -np.log(0.05)
    found = [quantile(rng.exponential(1.0, 500), 0.95, 0.9) for _ in range(400)]
    assert np.mean([each.low <= truth <= each.high for each in found]) >= 0.87


def test_a_percentile_of_waits_lies_in_its_interval_where_neighbours_are_alike() -> None:
    """Waits before one server at 70 % load, exponential gaps and services: P(W > t) = 0.7 exp(-0.3 t).

    Taken as independent, a third of the intervals held the truth.
    """
    rng, truth, held, count = np.random.default_rng(11), np.log(0.7 / 0.05) / 0.3, 0, 200
    for _ in range(count):
        steps = rng.exponential(1.0, 10_000) - rng.exponential(1 / 0.7, 10_000)
        path = np.cumsum(steps)
        found = quantile((path - np.minimum.accumulate(np.minimum(path, 0.0)))[1000:], 0.95, 0.95)
        held += found.low <= truth <= found.high
    assert held / count >= 0.85


def test_a_share_among_requests_that_are_alike_is_bounded_as_by_fewer() -> None:
    """Each of 500 requests ten times over says no more than once."""
    kept = np.random.default_rng(3).random(500) < 0.9
    once, tenfold = share_within(kept, 0.95), share_within(np.repeat(kept, 10), 0.95)
    assert tenfold.value == once.value
    assert tenfold.high - tenfold.low == pytest.approx(once.high - once.low, rel=0.3)


def test_of_a_record_each_request_counts_as_one() -> None:
    """Bursts of ten that wait alike are no luck there: the interval is that of as many requests by themselves."""
    wait_s = np.repeat(np.random.default_rng(4).exponential(1.0, 500), 10)
    others = np.random.default_rng(5).permutation(wait_s)
    of_record, apart = quantile(wait_s, 0.95, 0.95, alike=False), quantile(others, 0.95, 0.95, alike=False)
    assert (of_record.low, of_record.high) == (apart.low, apart.high)
    drawn = quantile(wait_s, 0.95, 0.95)
    assert drawn.low < of_record.low <= of_record.high < drawn.high
    assert mean(wait_s, 0.95, alike=False).high < mean(wait_s, 0.95).high
    assert quantile(wait_s[:58], 0.95, 0.9, alike=False).high == np.inf


def test_the_mean_of_a_few_normal_values_lies_in_its_interval_as_often_as_promised() -> None:
    """Twenty stretches of two values each: 95 % by Student's t, 93.5 % by the normal distribution."""
    rng = np.random.default_rng(5)
    found = [mean(rng.normal(0.0, 1.0, 40), 0.95) for _ in range(4000)]
    assert np.mean([each.low <= 0.0 <= each.high for each in found]) == pytest.approx(0.95, abs=0.008)


def test_too_few_requests_bound_no_percentile() -> None:
    assert quantile(np.arange(58.0), 0.95, 0.9).high == np.inf
    assert quantile(np.arange(59.0), 0.95, 0.9).high == 58.0


def test_a_mean_of_independent_values_has_its_standard_error() -> None:
    found = mean(np.random.default_rng(2).normal(5.0, 2.0, 40_000), 0.95)
    assert found.low < 5.0 < found.high
    assert found.high - found.low == pytest.approx(2 * 1.96 * 2.0 / 200, rel=0.4)


@pytest.mark.parametrize("cv2", [0.25, 1.0, 4.0])
def test_gaps_vary_as_asked_and_the_same_seed_gives_the_same(cv2: float) -> None:
    stream = renewal(np.random.default_rng(3), ONE, 10.0, 200_000, cv2)
    gaps = np.diff(stream.arrived_s)
    assert gaps.mean() == pytest.approx(0.1, rel=0.02)
    assert gaps.var() / gaps.mean() ** 2 == pytest.approx(cv2, rel=0.05)
    again = renewal(np.random.default_rng(3), ONE, 10.0, 200_000, cv2)
    assert np.array_equal(stream.arrived_s, again.arrived_s)


@pytest.mark.parametrize("ramp", [(0.5, 2.0), (2.0, 0.5), (1.0, 1.0)])
def test_a_ramp_goes_from_one_rate_to_the_other(ramp: tuple[float, float]) -> None:
    stream = ramped(np.random.default_rng(4), ONE, 10.0, 100_000, ramp)
    first, last = ramp
    span_s = 100_000 / 10.0 / ((first + last) / 2)
    assert stream.arrived_s[-1] == pytest.approx(span_s, rel=0.02)
    assert np.all(np.diff(stream.arrived_s) >= 0)
    per_tenth, _ = np.histogram(stream.arrived_s, bins=10, range=(0, span_s))
    middles = first + (last - first) * (np.arange(10) + 0.5) / 10
    assert per_tenth / (span_s / 10) == pytest.approx(10.0 * middles, rel=0.06)


def test_a_crowd_has_all_requests_of_its_time() -> None:
    stream = together(np.random.default_rng(5), ONE, 10.0, 30_000, 30.0)
    at_s, requests = np.unique(stream.arrived_s, return_counts=True)
    assert np.all(at_s % 30.0 == 0)
    assert requests.mean() == pytest.approx(300, rel=0.02)


def test_recorded_requests_come_in_order_and_count_to_the_nearest_class() -> None:
    classes = Classes(np.array([0.5, 0.5]), np.array([100, 4000]), np.array([50, 50]))
    stream = trace(classes, np.array([2.0, 0.0, 1.0]), np.array([120, 3000, 5000]), np.array([40, 60, 50]))
    assert stream.arrived_s.tolist() == [0.0, 1.0, 2.0]
    assert stream.request_class.tolist() == [1, 1, 0]
    assert stream.input_tokens.tolist() == [3000, 5000, 120]

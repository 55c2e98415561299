"""What a sample had luck with is known, so its figures are told as they would be without."""

import numpy as np
import pytest

from optimizer.base.arrays import Floats
from optimizer.performance.simulation.arrivals import Classes, Kinds, renewal
from optimizer.performance.simulation.luck import DrawnFigures, Luck
from optimizer.performance.simulation.statistics import mean, quantile, share_within

LOAD = 0.8
WAIT_S = LOAD / (2 * (1 - LOAD))
"""Mean wait before one server of a second each, Poisson arrivals: Pollaczek and Khinchine."""


def waits(seed: int, requests: int = 10_000) -> tuple[Floats, Luck]:
    """Of requests before one server of a second each, the first tenth left out."""
    gaps = np.random.default_rng(seed).exponential(1 / LOAD, requests)
    path = np.cumsum(1.0 - gaps)
    late = slice(requests // 10, None)
    wait_s = (path - np.minimum.accumulate(np.minimum(path, 0.0)))[late]
    return wait_s, Luck.of_sample(DrawnFigures(gaps[late, None], np.array([1 / LOAD])))


def test_what_goes_with_what_is_known_alone_is_known_exactly() -> None:
    came = np.random.default_rng(1).gamma(2.0, 1.0, (4_000, 2))
    luck = Luck.of_sample(DrawnFigures(came, np.array([2.0, 2.0])))
    found = mean(5.0 + came @ np.array([3.0, -1.0]), 0.95, luck=luck)
    # 5 + 3 · 2 − 2, whatever was drawn
    assert np.array([found.value, found.low, found.high]) == pytest.approx(np.full(3, 9.0))


def test_means_of_waits_are_nearer_to_the_truth_and_lie_in_their_intervals() -> None:
    drawn, known = [], []
    for seed in range(200):
        wait_s, luck = waits(seed)
        drawn.append(mean(wait_s, 0.95))
        known.append(mean(wait_s, 0.95, luck=luck))
    off = [np.std([each.value - WAIT_S for each in found]) for found in (drawn, known)]
    assert off[1] < 0.7 * off[0]
    assert np.mean([each.high - each.low for each in known]) < 0.9 * np.mean([each.high - each.low for each in drawn])
    held = [float(np.mean([each.low <= WAIT_S <= each.high for each in found])) for found in (drawn, known)]
    assert held[1] >= max(held[0], 0.9)
    assert np.mean([each.value for each in known]) == pytest.approx(WAIT_S, rel=0.02)


def test_percentiles_and_shares_are_nearer_to_the_truth() -> None:
    true = float(np.quantile(waits(999, 2_000_000)[0], 0.9))
    found: dict[str, list[float]] = {"drawn": [], "known": []}
    shares: dict[str, list[float]] = {"drawn": [], "known": []}
    for seed in range(100):
        wait_s, luck = waits(seed)
        for name, left_out in (("drawn", None), ("known", luck)):
            bounded = quantile(wait_s, 0.9, 0.95, luck=left_out)
            assert bounded.low <= bounded.value <= bounded.high
            found[name].append(bounded.value - true)
            shares[name].append(share_within(wait_s <= true, 0.95, luck=left_out).value)
    assert np.std(found["known"]) < 0.85 * np.std(found["drawn"])
    assert np.std(shares["known"]) < 0.85 * np.std(shares["drawn"])
    assert np.mean(shares["known"]) == pytest.approx(0.9, abs=0.005)


def test_of_a_class_all_that_came_beside_it_counts() -> None:
    """A tenth of the requests wait as the others do, and what all drew says how long."""
    members = np.random.default_rng(2).random(9_000) < 0.1
    off = []
    for seed in range(100):
        wait_s, luck = waits(seed)
        of_class = wait_s[members]
        off.append((mean(of_class, 0.95).value - WAIT_S, mean(of_class, 0.95, luck=luck.of(members)).value - WAIT_S))
    drawn, known = np.std(off, axis=0)
    assert known < 0.85 * drawn


def test_of_few_requests_nothing_is_left_out() -> None:
    wait_s, luck = waits(3)
    few = np.arange(9_000) < 9_000 // 20 + 5
    assert mean(wait_s[few], 0.95, luck=luck.of(few)) == mean(wait_s[few], 0.95)
    never = np.where(np.arange(9_000) == 7, np.inf, wait_s)
    assert mean(never, 0.95, luck=luck) == mean(never, 0.95)


def test_expected_lengths_are_those_that_are_drawn() -> None:
    kinds = Kinds(np.array([1.0, 3.0]), np.array([100, 500]), np.array([10, 50]))
    classes = Classes(np.array([0.4, 0.6]), np.array([400, 1000]), np.array([40, 200]), {0: kinds})
    stream = renewal(np.random.default_rng(4), classes, 1.0, 200_000, 1.0)
    drawn = stream.input_tokens.mean(), stream.output_tokens.mean()
    assert np.array(classes.expected_tokens) == pytest.approx(np.array(drawn), rel=0.01)

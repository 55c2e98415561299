"""A scaler asks for what Kubernetes' rule says, replicas serve as late as they start, and instances are paid for."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from optimizer.base.arrays import Floats, Ints
from optimizer.performance.simulation.scaling import (
    EVERY_S,
    Timeline,
    asked_for,
    looks,
    observed_per_s,
    paid_seconds,
    serving,
)

LOOKS_A_WINDOW = 20
"""Of five minutes."""
loads = st.lists(st.floats(0, 40), min_size=2, max_size=120)


def after(*parts: tuple[float, int]) -> Floats:
    """A load for so many looks, and so on."""
    return np.concatenate([np.full(many, load) for load, many in parts])


def changes(asked: Ints) -> list[tuple[int, int]]:
    """The looks at which another number was asked for."""
    at = [0, *(np.flatnonzero(np.diff(asked)) + 1).tolist()]
    return [(look, int(asked[look])) for look in at]


@pytest.mark.parametrize(
    ("load", "found"),
    [
        # 1 and 8 at 80 %: two and ten, as many more as are there or four
        (after((1.0, 2), (8.0, 10)), [(0, 1), (1, 2), (2, 6), (3, 10)]),
        # fewer after five minutes in which fewer were enough, the looks at both ends among them
        (after((8.0, 5), (1.0, 40)), [(0, 1), (1, 5), (2, 10), (5 + LOOKS_A_WINDOW, 2)]),
        # the most that was wanted in five minutes stays
        (after((8.0, 5), (1.0, 10), (4.0, 1), (1.0, 40)), [(0, 1), (1, 5), (2, 10), (25, 5), (36, 2)]),
        # within a tenth of the target nothing changes: 0.88 and 0.72 of 0.8
        (after((0.8, 5), (0.879, 5), (0.721, 30)), [(0, 1)]),
        (after((0.8, 5), (0.89, 5)), [(0, 1), (5, 2)]),
    ],
)
def test_replicas_follow_the_load_as_the_rule_says(load: Floats, found: list[tuple[int, int]]) -> None:
    assert changes(asked_for(load, 0.8, first=1, least=1, most=99)) == found


def test_limits_hold_and_nothing_is_woken_by_the_first_request() -> None:
    asked = asked_for(after((0.0, 30), (0.01, 1), (50.0, 10)), 0.8, first=0, least=0, most=7)
    assert changes(asked) == [(0, 0), (30, 1), (31, 5), (32, 7)]
    assert changes(asked_for(after((0.0, 50)), 0.8, first=3, least=2, most=9)) == [(0, 3), (LOOKS_A_WINDOW + 1, 2)]


@given(load=loads, target=st.floats(0.1, 1.0))
def test_what_is_asked_for_is_enough_as_soon_as_it_may_be(load: Sequence[float], target: float) -> None:
    steady = np.concatenate([load, np.full(40, load[-1])])
    asked = asked_for(steady, target, first=1, least=1, most=10**6)
    assert asked[-1] * target * 1.1 >= steady[-1] - 1e-6
    # what is left after five minutes without change is the next whole number, or within the tolerance of it
    assert asked[-1] == 1 or (asked[-1] - 1) * target * 0.9 <= steady[-1] + 1e-6
    assert np.all(asked[1:] <= np.maximum(2 * asked[:-1], asked[:-1] + 4))


@given(st.lists(st.integers(0, 6), min_size=1, max_size=60), st.integers(0, 200))
def test_a_replica_serves_when_it_was_asked_for_long_enough(asked: Sequence[int], start_s: int) -> None:
    until_s = len(asked) * EVERY_S
    there, times_s = serving(np.array(asked), float(start_s), until_s), looks(until_s)
    for time_s in times_s:
        since = [n for at, n in zip(times_s, asked, strict=True) if time_s - start_s - EVERY_S < at <= time_s]
        assert there.at(np.array([time_s + 1.0]))[0] == min(since)
    assert there.most == there.there()[1].max()


def test_what_arrived_is_counted_over_a_minute() -> None:
    arrived = np.sort(np.random.default_rng(0).uniform(0, 600, 3000))
    found = observed_per_s(arrived, looks(600.0))
    assert found[0] == 0
    assert found[2] == np.sum(arrived <= 30) / 30
    assert found[20] == np.sum((arrived > 240) & (arrived <= 300)) / 60


@given(st.lists(st.integers(0, 5), min_size=1, max_size=50), st.integers(0, 30))
def test_instances_are_paid_while_they_run_and_for_the_least_time(running: Sequence[int], least: int) -> None:
    """Told apart one by one: an instance with a number runs while more than that do; the last stretch goes on."""
    paid, at_least = 0, 0
    for number in range(max(running)):
        stretch = 0
        for runs in [each > number for each in running]:
            if not runs and stretch:
                at_least += max(least - stretch, 0)
            stretch = stretch + 1 if runs else 0
            paid += runs
    assert paid_seconds(np.array(running), 0.0) == paid * EVERY_S
    assert paid_seconds(np.array(running), least * EVERY_S) == (paid + at_least) * EVERY_S


def test_a_timeline_tells_who_is_there() -> None:
    there = Timeline(np.array([0.0, 30.0]), np.array([2, 5]), 60.0)
    assert there.at(np.array([0.0, 29.9, 30.0, 99.0])).tolist() == [2, 2, 5, 5]
    assert there.most == 5

"""Containers that start with a request and stop when idle: formulas against arithmetic and against event by event."""

import numpy as np
import pytest

from optimizer.base.arrays import Floats
from optimizer.performance.per_second.cycles import cycle

REQUESTS = 100_000


def simulated(rate: float, start: float, held: list[float], share: list[float]) -> tuple[float, float, float]:
    """Share of time down, share of requests that wait, and their mean wait, request by request."""
    draw = np.random.default_rng(7)
    arrivals: Floats = np.cumsum(draw.exponential(1 / rate, REQUESTS))
    holding = draw.choice(held, REQUESTS, p=share)
    up_until, ready, down, waits, waited = 0.0, 0.0, 0.0, 0, 0.0
    for at, hold in zip(arrivals.tolist(), holding.tolist(), strict=True):
        if at > up_until:
            down += at - up_until
            ready = at + start
        wait = max(ready - at, 0.0)
        waits += wait > 0
        waited += wait
        up_until = max(up_until, at + wait + hold)
    return down / up_until, waits / REQUESTS, waited / REQUESTS


@pytest.mark.parametrize(
    ("rate", "start", "held", "share"),
    [
        (0.02, 30.0, [65.0], [1.0]),
        (0.01, 120.0, [10.0, 90.0], [0.7, 0.3]),
        (0.05, 8.0, [6.0, 20.0, 31.0], [0.5, 0.3, 0.2]),
    ],
)
def test_shares_are_those_of_requests_served_one_by_one(
    rate: float, start: float, held: list[float], share: list[float]
) -> None:
    found = cycle(np.array([rate]), np.array([start]), np.array([held]), np.array(share))
    down, waiting, waited = simulated(rate, start, held, share)
    assert found.down[0] == pytest.approx(down, rel=0.02)
    assert found.waiting[0] == pytest.approx(waiting, rel=0.02)
    assert found.mean_wait_s[0] == pytest.approx(waited, rel=0.03)


def test_without_a_start_the_share_down_is_that_of_an_empty_system() -> None:
    held, share = np.array([[4.0, 30.0]]), np.array([0.25, 0.75])
    found = cycle(np.array([0.07]), np.zeros(1), held, share)
    assert found.down[0] == pytest.approx(np.exp(-0.07 * (held @ share)[0]), rel=1e-12)
    assert found.waiting[0] == pytest.approx(found.down[0], rel=1e-12)


def test_rates_from_nothing_to_busy_give_shares() -> None:
    rates = np.array([0.0, 1e-9, 0.1, 10.0, 1e4])
    found = cycle(rates, np.full(5, 60.0), np.full((5, 1), 70.0), np.ones(1))
    assert (found.down[0], found.waiting[0], found.starts_per_s[0]) == (1, 0, 0)
    assert found.waiting[1] == pytest.approx(1, rel=1e-6)
    assert np.all(np.diff(found.down) <= 0)
    assert found.down[-1] == 0
    assert np.all((found.down + found.starting <= 1 + 1e-12) & (found.waiting <= 1 + 1e-12))


def test_classes_alike_are_one_class() -> None:
    rate, start = np.array([0.03]), np.array([45.0])
    one = cycle(rate, start, np.array([[50.0]]), np.ones(1))
    three = cycle(rate, start, np.full((1, 3), 50.0), np.array([0.2, 0.5, 0.3]))
    assert three.down[0] == pytest.approx(one.down[0], rel=1e-12)

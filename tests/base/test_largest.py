"""The largest number within a limit is the one that halving finds, wherever excesses bend or jump."""

from collections.abc import Callable

import numpy as np
import pytest

from optimizer.base.arrays import Floats
from optimizer.base.largest import beyond, largest

HALVINGS = 26
ROWS = 400
ROOT = np.random.default_rng(7).uniform(-0.1, 1.1, ROWS)
HIGH = np.random.default_rng(8).uniform(0.0, 300.0, ROWS)
SCALE = np.maximum(HIGH, 1e-9)


def halved(excess: Callable[[Floats], Floats]) -> Floats:
    """By halving the cube root of the range."""
    low, top = np.zeros(ROWS), np.ones(ROWS)
    low = np.where(excess(HIGH) <= 0, top, low)
    for _ in range(HALVINGS):
        middle = (low + top) / 2
        good = excess(HIGH * middle**3) <= 0
        low, top = np.where(good, middle, low), np.where(good, top, middle)
    return HIGH * low**3


EXCESSES: dict[str, Callable[[Floats], Floats]] = {
    "straight": lambda x: x / SCALE - ROOT,
    "steep at the end": lambda x: beyond(1 / np.maximum(1.02 - x / SCALE, 1e-3), 1 / np.maximum(1.02 - ROOT, 1e-2)),
    "flat, then steep": lambda x: np.maximum(x / SCALE - 0.5, 0.0) ** 3 - np.maximum(ROOT - 0.5, -1e-3) ** 3,
    "a jump": lambda x: np.where(x / SCALE < ROOT, -1e-9, 1.0),
    "stairs": lambda x: np.floor(20 * x / SCALE) - 20 * ROOT,
    "no number beyond it": lambda x: np.where(x / SCALE < ROOT, x / SCALE - ROOT, np.nan),
    "always within": lambda x: -1 - x,
    "never within": lambda x: 1 + x,
}


@pytest.mark.parametrize("name", EXCESSES)
def test_it_is_what_halving_finds(name: str) -> None:
    excess = EXCESSES[name]
    found = largest(excess, HIGH)
    some = excess(np.zeros(ROWS)) <= 0
    np.testing.assert_array_equal(found[some], halved(excess)[some])
    assert not found[~some & ~(excess(HIGH) <= 0)].any()


def test_a_smooth_excess_is_looked_at_less_than_half_as_often() -> None:
    looks = []

    def excess(x: Floats) -> Floats:
        looks.append(x)
        return np.exp(x / SCALE) - np.exp(ROOT)

    largest(excess, HIGH)
    assert len(looks) < HALVINGS / 2


def test_beyond_has_the_sign_of_the_difference() -> None:
    value = np.array([1.0, 2.0, 2.0, 1e300, 1.0])
    limit = np.array([2.0, 2.0, np.nextafter(2.0, 1.0), 1.0, -1.0])
    np.testing.assert_array_equal(np.sign(beyond(value, limit)), [-1, 0, 1, 1, 1])

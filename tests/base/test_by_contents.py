"""What a function found is remembered for the same contents, and for no others."""

from dataclasses import dataclass

import numpy as np

from optimizer.base import by_contents
from optimizer.base.arrays import Floats
from optimizer.base.by_contents import OnceByContents


@dataclass(frozen=True)
class Told:
    """Numbers in a record, as functions are told them."""

    numbers: Floats


def test_the_same_contents_are_asked_once() -> None:
    asked = []

    def total(told: Told, factor: float) -> float:
        asked.append(told)
        return float(told.numbers.sum() * factor)

    once = OnceByContents(total)
    assert once(Told(np.array([1.0, 2.0])), 2.0) == once(Told(np.array([1.0, 2.0])), 2.0) == 6.0
    assert len(asked) == 1
    assert once(Told(np.array([1.0, 2.0])), 3.0) == 9.0
    assert once(Told(np.array([1.0, np.nextafter(2.0, 3.0)])), 2.0) > 6.0
    assert once(Told(np.array([[1.0, 2.0]])), 2.0) == 6.0
    assert len(asked) == 4


def test_nothing_is_a_finding_of_another_function() -> None:
    assert OnceByContents(np.negative)(1.0) == -1.0
    assert OnceByContents(np.abs)(1.0) == 1.0


def test_what_was_told_last_is_kept_within_its_bytes() -> None:
    asked = []

    def size(numbers: Floats) -> int:
        asked.append(numbers)
        return len(numbers)

    once, large = OnceByContents(size), np.zeros(by_contents.MOST_TOLD_BYTES // 8)
    assert once(np.ones(3)) == 3
    assert once(large) == once(large) == len(large)
    assert once(np.ones(3)) == 3
    assert len(asked) == 3

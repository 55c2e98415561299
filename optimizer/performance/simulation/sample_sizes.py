"""How many requests decide between two shares: what is promised, and what is expected or was seen."""

from collections.abc import Callable
from functools import cache
from typing import Final

from optimizer.performance.simulation.statistics import chance_of_at_most

MOST_REQUESTS: Final = 100_000
"""Beyond that nobody waits for a verdict."""


def proves_at_least(kept: int, count: int, share: float, sure: float) -> bool:
    """Whether a sample leaves no doubt that at least that share holds: the lower bound of Clopper and Pearson."""
    return count > 0 and 1 - chance_of_at_most(kept - 1, count, share) <= 1 - sure


def proves_below(kept: int, count: int, share: float, sure: float) -> bool:
    """Whether a sample leaves no doubt that less than that share holds."""
    return count > 0 and chance_of_at_most(kept, count, share) <= 1 - sure


@cache
def without_a_violation(share: float, sure: float) -> int:
    """The fewest requests that prove a share if all of them keep it: 59 for 95 %, 299 for 99 % at 95 %.

    Raises:
        ValueError: more than `MOST_REQUESTS` would be needed.
    """
    fewest = _fewest_that_all_keep(share, sure)
    if fewest is None:
        raise ValueError(f"no {MOST_REQUESTS:,} requests prove a share of {share:g}")
    return fewest


@cache
def requests_to_prove(promised: float, expected: float, sure: float) -> int | None:
    """The fewest requests of which a sample proves what is promised as often as `sure`, if the truth is `expected`.

    Args:
        promised: Share of requests that must keep a limit.
        expected: Share that is thought to keep it.
        sure: Of the verdict, and how often such a sample is to reach it.

    Returns:
        None where nothing is expected to spare, or so little that more than `MOST_REQUESTS` would be needed.
    """
    if expected <= promised:
        return None
    if expected >= 1:
        return _fewest_that_all_keep(promised, sure)
    return _fewest(lambda count: _usually_proves(count, promised, expected, sure))


def more_requests(kept: int, count: int, share: float, sure: float) -> int | None:
    """How many more requests decide, if the share that was seen stays: 0 where a sample decides already.

    Returns:
        None where what was seen is what is promised, or so near that more than `MOST_REQUESTS` would be needed.
    """
    seen = kept / count
    if seen == share:
        return None
    decides = proves_at_least if seen > share else proves_below

    def decided(larger: int) -> bool:
        return decides(round(seen * larger), larger, share, sure)

    needed = _fewest(decided, count)
    return None if needed is None else needed - count


def _fewest_that_all_keep(share: float, sure: float) -> int | None:
    return _fewest(lambda count: proves_at_least(count, count, share, sure))


def _usually_proves(count: int, promised: float, expected: float, sure: float) -> bool:
    """Whether a sample of that size proves it in as many cases as `sure`."""
    most_violations = _most_violations(count, promised, sure)
    return chance_of_at_most(most_violations, count, 1 - expected) >= sure


def _most_violations(count: int, promised: float, sure: float) -> int:
    """The most violations with which a sample still proves a share; -1 where none will do."""
    low, high = -1, count
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if proves_at_least(count - middle, count, promised, sure) else (low, middle)
    return low


def _fewest(enough: Callable[[int], bool], start: int = 1) -> int | None:
    """The smallest number from `start` that is enough, found by doubling and halving; None beyond `MOST_REQUESTS`.

    Counts are whole, so what is enough may not be for one more; the answer is enough, and nearly the smallest.
    """
    low, high = start - 1, start
    while not enough(high):
        if high >= MOST_REQUESTS:
            return None
        low, high = high, min(2 * high, MOST_REQUESTS)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high

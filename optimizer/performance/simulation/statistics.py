"""What a sample says of all requests: shares and percentiles with exact binomial intervals."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from optimizer.base.arrays import Flags, Floats, Ints

HALVINGS = 60
STRETCHES = 40
"""Parts of a sample whose means are taken as independent."""


@dataclass(frozen=True)
class Bounded:
    """A figure, and between which two it lies with the chosen probability."""

    value: float
    low: float
    high: float


def share_within(within: Flags, likely: float) -> Bounded:
    """The share of requests for which something holds."""
    return share_of(int(np.sum(within)), len(within), likely)


def share_of(kept: int, count: int, likely: float) -> Bounded:
    """The share of requests for which something holds that holds for so many of a sample.

    Bounded of Clopper and Pearson (1934), which no distribution is assumed for.
    """
    if not count:
        return Bounded(float("nan"), 0.0, 1.0)
    tail = (1 - likely) / 2
    below = _log_factorials(count)
    fewer, so_many = (_chance_of_at_most(below, most) for most in (kept - 1, kept))
    low = 0.0 if kept == 0 else _solved(lambda p: 1 - fewer(p), tail)
    high = 1.0 if kept == count else _solved(lambda p: -so_many(p), -tail)
    return Bounded(kept / count, low, high)


def quantile(values: Floats, level: float, likely: float) -> Bounded:
    """A percentile between two order statistics: how many of n values lie below it is binomial."""
    ordered, count = np.sort(values), len(values)
    if not count:
        return Bounded(float("nan"), 0.0, float("inf"))
    tail = (1 - likely) / 2
    cumulated = np.cumsum(_probabilities(_log_factorials(count), np.arange(count + 1))(level))
    # the largest rank that leaves at most `tail` below it, the smallest that leaves at most `tail` above
    first = int(np.searchsorted(cumulated, tail, side="right"))
    last = int(np.searchsorted(cumulated, 1 - tail, side="left")) + 1
    return Bounded(
        float(ordered[min(int(np.ceil(level * count)), count) - 1]),
        float(ordered[first - 1]) if first else 0.0,
        float(ordered[last - 1]) if last <= count else float("inf"),
    )


def mean(values: Floats, likely: float) -> Bounded:
    """A mean with its standard errors to both sides, from stretches of the sample in the order of arrival.

    Waits of neighbours resemble each other, so the stretches' means are what is independent: batch means, Law and
    Kelton (2000).
    """
    if not len(values):
        return Bounded(float("nan"), 0.0, float("inf"))
    own = float(np.mean(values))
    if len(values) < STRETCHES or not np.isfinite(own):
        return Bounded(own, 0.0, float("inf"))
    means = [float(np.mean(part)) for part in np.array_split(values, STRETCHES)]
    error = NormalDist().inv_cdf((1 + likely) / 2) * float(np.std(means, ddof=1)) / math.sqrt(STRETCHES)
    return Bounded(own, own - error, own + error)


def chance_of_at_most(most: int, count: int, share: float) -> float:
    """How likely at most so many of all are, each with the probability `share`, above 0 and below 1."""
    return 0.0 if most < 0 else 1.0 if most >= count else _chance_of_at_most(_log_factorials(count), most)(share)


def _log_factorials(count: int) -> Floats:
    logs: Floats = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, count + 1)))])
    return logs


def _probabilities(log_factorials: Floats, ranks: Ints) -> Callable[[float], Floats]:
    """Of so many of all that are below, each with a probability that is then asked for; what it changes not, once."""
    count = len(log_factorials) - 1
    ways = log_factorials[count] - log_factorials[ranks] - log_factorials[count - ranks]
    below, others = ranks.astype(np.float64), (count - ranks).astype(np.float64)

    def shares(share: float) -> Floats:
        found: Floats = np.exp(ways + below * np.log(share) + others * np.log1p(-share))
        return found

    return shares


def _chance_of_at_most(log_factorials: Floats, most: int) -> Callable[[float], float]:
    """How likely at most so many of all are, each with a probability that is then asked for."""
    shares = _probabilities(log_factorials, np.arange(most + 1))
    return lambda share: float(np.sum(shares(share)))


def _solved(rising: Callable[[float], float], level: float) -> float:
    """Where a function that rises over (0, 1) takes a level."""
    low, high = 0.0, 1.0
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if rising(middle) < level else (low, middle)
    return (low + high) / 2

"""What a sample says of all requests: shares and percentiles with binomial intervals, as wide as neighbours are alike.

Who waits behind the same burst waits alike, so a sample says as much as fewer requests that know nothing of each other.
Of a record the bursts themselves are given: `alike` is then False, and each request counts as one. Where it is known
what a sample had luck with, figures are told as they would be without.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from optimizer.base.arrays import Flags, Floats, Ints
from optimizer.performance.simulation.luck import STRETCHES, Luck

HALVINGS = 60
FEWEST_BOUNDED = 2 * STRETCHES
"""Values: of fewer nobody says how far a mean may be off."""
FEWEST_ALIKE = 10 * STRETCHES
"""Of fewer requests stretches are too short to tell how alike neighbours are."""
TINY = 1e-300
"""A variance that is none."""


@dataclass(frozen=True)
class Bounded:
    """A figure, and between which two it lies with the chosen probability."""

    value: float
    low: float
    high: float


def share_within(within: Flags, likely: float, *, alike: bool = True, luck: Luck | None = None) -> Bounded:
    """The share of requests, in the order of arrival, for which something holds."""
    if not len(within):
        return share_of(0, 0, likely)
    share, count = _as_expected(within, luck) if alike else (float(np.mean(within)), len(within))
    bounds = share_of(round(share * count), count, likely)
    return Bounded(share, min(bounds.low, share), max(bounds.high, share))


def _as_expected(holds: Flags, luck: Luck | None) -> tuple[float, int]:
    """The share of requests for which something holds, and as many that know nothing of each other as say as much of it
    as these, in the order of arrival.

    The variance of the shares of stretches is this many times less than that of one request: the effective sample size
    of Heidelberger and Lewis (1984), who bound quantiles of dependent sequences by it.
    """
    count, share = len(holds), float(np.mean(holds))
    if count < FEWEST_ALIKE or share in (0.0, 1.0):
        return share, count
    known = None if luck is None else luck.left_out_of(holds.astype(np.float64))
    if known is None or not 0 < known.mean < 1:
        shares = [float(np.mean(part)) for part in np.array_split(holds, STRETCHES)]
        variance = float(np.var(shares, ddof=1)) / STRETCHES
    else:
        share, variance = known.mean, known.error**2
    return share, max(int(min(count, share * (1 - share) / max(variance, TINY))), 1)


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


def quantile(values: Floats, level: float, likely: float, *, alike: bool = True, luck: Luck | None = None) -> Bounded:
    """A percentile between two order statistics: how many of n values lie below it is binomial.

    Where fewer would lie below it without luck than of the sample, it is as much farther up in it.

    Args:
        values: (n,) in the order of arrival.
        level: Of the percentile.
        likely: Of the interval.
        alike: Whether neighbours are so by luck.
        luck: Of the sample, where it is known.
    """
    ordered, count = np.sort(values), len(values)
    if not count:
        return Bounded(float("nan"), 0.0, float("inf"))
    own = float(ordered[min(int(np.ceil(level * count)), count) - 1])
    tail, independent, up = (1 - likely) / 2, count, 0
    if alike:
        expected, independent = _as_expected(values <= own, luck)
        up = 0 if luck is None else round((float(np.mean(values <= own)) - expected) * count)
        own = float(ordered[min(max(int(np.ceil(level * count)) + up, 1), count) - 1])
    cumulated = np.cumsum(_probabilities(_log_factorials(independent), np.arange(independent + 1))(level))
    # the largest rank that leaves at most `tail` below it, the smallest that leaves at most `tail` above
    first = int(np.searchsorted(cumulated, tail, side="right"))
    last = int(np.searchsorted(cumulated, 1 - tail, side="left")) + 1
    lowest, highest = first * count // independent + up, -(-last * count // independent) + up
    return Bounded(
        own,
        float(ordered[lowest - 1]) if first and lowest > 0 else 0.0,
        float(ordered[max(highest, 1) - 1]) if last <= independent and highest <= count else float("inf"),
    )


def mean(values: Floats, likely: float, *, alike: bool = True, luck: Luck | None = None) -> Bounded:
    """A mean with its standard errors to both sides, from stretches of the sample in the order of arrival.

    Waits of neighbours resemble each other, so the stretches' means are what is independent; without luck in it, each.
    """
    if not len(values):
        return Bounded(float("nan"), 0.0, float("inf"))
    own = float(np.mean(values))
    if len(values) < FEWEST_BOUNDED or not np.isfinite(own):
        return Bounded(own, 0.0, float("inf"))
    if alike and luck is not None and (known := luck.left_out_of(values)) is not None:
        error = student(likely, known.freedom) * known.error
        return Bounded(known.mean, known.mean - error, known.mean + error)
    means = [float(np.mean(part)) for part in np.array_split(values, STRETCHES)] if alike else values
    error = student(likely, len(means) - 1) * float(np.std(means, ddof=1)) / math.sqrt(len(means))
    return Bounded(own, own - error, own + error)


def student(likely: float, freedom: float) -> float:
    """Student's t within which so many lie on both sides, by the expansion of Fisher and Cornish (1960)."""
    z = NormalDist().inv_cdf((1 + likely) / 2)
    return z + (z**3 + z) / (4 * freedom) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)


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

"""What counts and buckets bound: a rate, the mean of a histogram, between which values a percentile lies."""

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import Final

import numpy as np

from optimizer.answers.running.watch.window import Histogram
from optimizer.performance.simulation.statistics import FEWEST_BOUNDED
from optimizer.plan.benchmark.runs import SURE

Z: Final = NormalDist().inv_cdf(SURE)
SAME_EDGE: Final = 1e-9
"""Relative: edges pass through text."""


@dataclass(frozen=True)
class Between:
    """A figure, and between which two it lies."""

    value: float
    low: float
    high: float


def rate_between(count: float, cv2: float, seconds: float) -> Between:
    """Requests a second, from how many came in so many seconds: the score interval of a Poisson mean.

    Args:
        count: Requests.
        cv2: Squared variation of the gaps between them, 1 for Poisson arrivals.
        seconds: Of all replicas together.
    """
    spread = Z * Z * cv2
    middle, half = count + spread / 2, math.sqrt(count * spread + spread * spread / 4)
    return Between(count / seconds, (middle - half) / seconds, (middle + half) / seconds)


def mean_between(h: Histogram, together: float = 1.0) -> Between | None:
    """The mean of what is behind a histogram, which its sum tells exactly, and how far it may be from that of all.

    The error is that of the widest spread that buckets and sum allow: all values at the lower ends of their buckets,
    and what the sum holds more spent on moving values to the upper ends, the largest first, since squares grow fastest
    there. In the last bucket one value may take all that is left.

    Args:
        h: Non-negative values.
        together: So many values at a time resemble each other and count as one.

    Returns:
        None where it has no sum, or too few values to say how far they spread.
    """
    independent = h.count / max(together, 1.0)
    if not math.isfinite(h.total) or independent < FEWEST_BOUNDED:
        return None
    mean = h.total / h.count
    error = Z * math.sqrt(max(_widest_squares(h) / h.count - mean**2, 0.0) / independent)
    return Between(mean, max(mean - error, 0.0), mean + error)


def _widest_squares(h: Histogram) -> float:
    """The largest sum of squares that the values behind buckets and sum may have."""
    low = np.concatenate([[0.0], h.edges[:-1]])
    spare = max(h.total - float(np.sum(h.counts * low)), 0.0)
    high = np.where(np.isinf(h.edges), low + spare, h.edges)
    # (b,) from the highest bucket down: by how much its values are moved up
    room = (h.counts * (high - low))[::-1]
    moved = np.clip(spare - (np.cumsum(room) - room), 0.0, room)[::-1]
    return float(np.sum(h.counts * low**2) + np.sum(moved * (low + high)))


def within_between(h: Histogram, limit: float) -> tuple[int, int]:
    """How many values are within a limit, at least and at most: those in the limit's own bucket may be or not."""
    cumulated = np.cumsum(h.counts)
    sure = h.edges <= limit * (1 + SAME_EDGE)
    at_least = cumulated[sure][-1] if np.any(sure) else 0.0
    at_most = cumulated[h.edges >= limit * (1 - SAME_EDGE)][0]
    return round(float(at_least)), round(float(at_most))


def percentile_between(h: Histogram, share: float) -> tuple[float, float]:
    """The bucket in which a percentile of the values lies, infinite above where it is the last."""
    cumulated = np.cumsum(h.counts)
    bucket = int(np.argmax(cumulated >= share * cumulated[-1]))
    return float(h.edges[bucket - 1]) if bucket else 0.0, float(h.edges[bucket])


def share_between(share: float, lengths: Histogram) -> Between | None:
    """A share of all tokens, from prompts of different lengths: a score interval.

    No shares of prompts spread further than all or nothing. Long prompts weigh more, so that all together tell as much
    as (Σ length)² / Σ length² of one length would, at the widest spread of lengths that buckets and sum allow. A
    prompt's share is taken not to depend on its length.

    Args:
        share: Of the tokens of these prompts.
        lengths: Of the prompts.

    Returns:
        None where the lengths have no sum, or prompts are too few.
    """
    if not math.isfinite(lengths.total) or lengths.total <= 0:
        return None
    alike = lengths.total**2 / max(_widest_squares(lengths), lengths.total**2 / lengths.count)
    if alike < FEWEST_BOUNDED:
        return None
    kept = min(max(share, 0.0), 1.0)
    spread = Z * Z / alike
    middle, half = kept + spread / 2, math.sqrt(spread * (kept * (1 - kept) + spread / 4))
    return Between(share, (middle - half) / (1 + spread), (middle + half) / (1 + spread))

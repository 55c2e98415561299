"""How unevenly the requests of a trace arrive, at the scale of time at which their queue builds.

Counts over t seconds say it at every scale: their variance over their mean, the index of dispersion for counts, is 1
for Poisson arrivals at any t, k for batches of k, and rises with t where bursts last. Queues see it at the time that
they take to build. Sources: Whitt and You (2018), Using robust queueing to expose the impact of dependence in
single-server queues, Operations Research 66(1); Fendick and Whitt (1989), Measurements and approximations to describe
the offered traffic, Proceedings of the IEEE 77(1).
"""

import math
from statistics import NormalDist
from typing import Final, NamedTuple

import numpy as np

from optimizer.base.arrays import Floats

SHORTER: Final = (1, 2, 4, 8)
"""Counts are looked at over the critical scale and these parts of it."""
FEWEST_PARTS: Final = 2
"""Of a window, between which counts vary."""
POISSON_DOUBT: Final = NormalDist().inv_cdf(0.999)
"""Standard deviations of Poisson's own luck that count as none: Fisher's test of dispersion, one of a thousand."""
PER_STAMP: Final = 2.0
"""Requests with one and the same time, on average, from which times are looked at as rounded."""
ON_STEP: Final = 0.9
"""Share of the gaps between times that are whole steps, within a hundredth, where times are rounded."""


class Dispersion(NamedTuple):
    """Variance over mean of counts, and how many independent squares it rests on."""

    of_counts: float
    freedom: float


def critical_scale_s(limit_s: float, mean_per_s: float, peak_per_s: float, most_utilization: float) -> float:
    """Seconds over which arrivals decide whether a wait passes its limit.

    Capacity c keeps up with the peak, so the load on average is ρ ≤ most_utilization · mean / peak. A wait of more than
    L takes over c (s + L) arrivals in some s seconds before; with ρ c s of them on average, and a variance in
    proportion to s, that is likeliest at s = L / (1 − ρ), where (c (s + L) − ρ c s)² / s is least.
    Source: the dominant (critical) time scale of Gaussian queues, Norros (1994), A storage model with self-similar
    input, Queueing Systems 16; Ryu and Elwalid (1996), SIGCOMM.

    Args:
        limit_s: The wait that a request may have.
        mean_per_s: Requests over the whole trace.
        peak_per_s: The rate that is planned for.
        most_utilization: Share of a capacity that a plan uses.

    Returns:
        Infinity where a plan may use all of a capacity that is asked for all of the time: every burst counts then.
    """
    load = min(most_utilization * mean_per_s / peak_per_s, most_utilization)
    return limit_s / (1 - load) if load < 1 else math.inf


def squared_variation(arrived_s: Floats, scale_s: float, window_s: float) -> float:
    """Squared variation of gaps whose counts vary as a trace's do, over the scale given or a shorter one; at least 1.

    The largest index of dispersion of these scales, since a gamma process of so large a variation varies no less at
    any; one that Poisson arrivals have by luck counts as theirs.

    Args:
        arrived_s: (N,) seconds from the first request, rising.
        scale_s: The longest scale, at most half of the window.
        window_s: Each window is held against its own rate, for plans take all of them at that of the busiest.
    """
    found = (dispersion(arrived_s, scale_s / part, window_s) for part in SHORTER)
    return max([each.of_counts for each in found if each.of_counts > _poisson_at_most(each.freedom)], default=1.0)


def dispersion(arrived_s: Floats, scale_s: float, window_s: float) -> Dispersion:
    """Variance over mean of the counts in equal parts of a window, about the window's own mean, unbiased.

    Windows weigh by their requests. The last one is left out where it is not complete.

    Args:
        arrived_s: (N,) seconds from the first request, rising.
        scale_s: Length of a part; rounded so that parts fill a window.
        window_s: Length of a window.
    """
    parts = max(FEWEST_PARTS, round(window_s / scale_s))
    whole = arrived_s[-1] // window_s * window_s
    inside = arrived_s[arrived_s < whole] if whole else arrived_s
    # a cell is a part of a window in which something arrived
    cell, count = np.unique((inside * (parts / window_s)).astype(np.int64), return_counts=True)
    _, window = np.unique(cell // parts, return_inverse=True)
    requests, squares = np.bincount(window, count), np.bincount(window, count**2)
    variance = (squares - requests**2 / parts) / (parts - 1)
    freedom = (parts - 1) * requests.sum() ** 2 / np.sum(requests**2)
    return Dispersion(float(variance.sum() / (requests.sum() / parts)), float(freedom))


def step_of_times_s(arrived_s: Floats) -> float:
    """Seconds to which times were rounded where many requests share one; 0 where they were not.

    Args:
        arrived_s: (N,) seconds from the first request, rising.
    """
    gaps = np.diff(np.unique(arrived_s))
    if not len(gaps) or len(arrived_s) < PER_STAMP * (len(gaps) + 1):
        return 0.0
    steps = gaps / np.median(gaps)
    on_step = np.mean(np.abs(steps - np.round(steps)) <= 0.01)
    return float(np.median(gaps)) if on_step >= ON_STEP else 0.0


def _poisson_at_most(freedom: float) -> float:
    """The index that counts of Poisson arrivals pass by luck once in a thousand.

    Source: Wilson and Hilferty (1931), cube root of a chi-square over its degrees of freedom.
    """
    spread = 2 / (9 * freedom)
    return float((1 - spread + POISSON_DOUBT * np.sqrt(spread)) ** 3)

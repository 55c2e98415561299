"""By how much an open loop may serve less than it offers without having fallen behind: its own end, and chance."""

from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from optimizer.base.arrays import Floats

RATE_TOLERANCE: Final = 0.05
"""At least this: the last answers come after the last request was sent."""

CHANCE: Final = 1.645
"""Standard deviations of a Poisson count beyond which 1 in 20 runs falls by chance."""


def rate_tolerance(requests: ArrayLike) -> Floats:
    """The share by which the rate of a run may miss the rate asked for, (n,); NaN and no request stand for unknown."""
    return np.asarray(RATE_TOLERANCE + np.nan_to_num(CHANCE / np.sqrt(_known(requests))))


def shortfall_tolerance(requests: ArrayLike, rate_per_s: ArrayLike, answering_s: ArrayLike) -> Floats:
    """The share that a whole run may serve less than it offers, (n,), its end counted; NaN stands for what is unknown.

    A run lasts from its first request to its last answer: N requests at a rate, and what the last answer takes. Of that
    the time between its tokens counts and not the wait before them: that is the queue which is looked for.

    Args:
        requests: How many were sent.
        rate_per_s: Requests/s offered.
        answering_s: Seconds from the first token of an answer to its last.
    """
    end = np.asarray(answering_s) * np.asarray(rate_per_s) / _known(requests)
    return np.asarray(rate_tolerance(requests) + np.fmax(0.0, end / (1 + end) - RATE_TOLERANCE))


def _known(requests: ArrayLike) -> Floats:
    sent = np.asarray(requests, dtype=np.float64)
    return np.where(sent > 0, sent, np.nan)

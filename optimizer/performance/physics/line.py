"""The line in which a request stands before its first token: two waits, one after the other."""

from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from optimizer.base.arrays import Floats
from optimizer.performance.physics.queueing import Wait

_NEVER: Final = 1e-300
"""A probability below which there is no wait."""
_AT_ONCE: Final = 1e-12
"""Seconds below which a wait is none."""


@dataclass(frozen=True)
class Line:
    """Two independent waits, for the prompts ahead and for a place; seconds, (n,)."""

    prompts: Wait
    place: Wait

    def statistic(self, name: str) -> Floats:
        """(n,) a statistic of the sum: means add, percentiles add in squares."""
        if name == "mean":
            return self.mean
        return np.hypot(self.prompts.statistic(name), self.place.statistic(name))

    @property
    def mean(self) -> Floats:
        """(n,) over all requests."""
        return self.prompts.mean + self.place.mean

    def times(self, factor: Floats) -> "Line":
        """The same line where all of it takes `factor` (n,) times as long."""
        return Line(*(replace(each, mean_if_any=factor * each.mean_if_any) for each in (self.prompts, self.place)))

    def later(self, seconds: Floats) -> Floats:
        """(n, P) share of requests that wait for longer than so many seconds, (n, P): all where these are negative.

        The percentile at e^(−s) from the top is hypot(m (s − a)⁺, n (s − b)⁺), where waits of mean m and n if any have
        the probabilities e^(−a) and e^(−b); what is wanted is the s at which it is so many seconds.
        """
        waits = self.prompts, self.place
        rare = np.array([-np.log(np.maximum(each.probability, _NEVER)) for each in waits])
        long = np.array([np.maximum(each.mean_if_any, _AT_ONCE) for each in waits])
        # (2, n) the wait that more requests have stands first
        order = np.argsort(rare, axis=0, kind="stable")
        (a, b), (m, n) = (np.take_along_axis(each, order, axis=0)[:, :, None] for each in (rare, long))
        wanted = np.maximum(seconds, 0.0)
        one_alone = a + wanted / m
        square, middle = m**2 + n**2, m**2 * a + n**2 * b
        # m² (s − a)² + n² (s − b)² = seconds²
        both = middle + np.sqrt(np.maximum(square * wanted**2 - (m * n * (b - a)) ** 2, 0.0))
        return np.where(seconds < 0, 1.0, np.exp(-np.where(one_alone <= b, one_alone, both / square)))

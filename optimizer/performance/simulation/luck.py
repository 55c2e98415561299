"""What a sample of requests had luck with: how fast they came and how long they were, beside what is expected of all.

Latencies of a stretch of requests go with how many came in it, and how much they asked. What is expected of both is
known, so the part of a figure that goes with them is no news: what it would be at the rate and the lengths that were
asked, and how far off it may be, is told from the rest alone.
Source: control variates with batch means, Lavenberg and Welch (1981), A perspective on the use of control variables to
increase the efficiency of Monte Carlo simulations; their regression.
"""

from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from optimizer.base.arrays import Flags, Floats, Ints

STRETCHES: Final = 20
"""Parts of a sample, by arrival, whose means are taken as independent: batch means (Law and Kelton, 2000), 10 to 30 of
them by Schmeiser (1982)."""
FEWEST_OF_STRETCH: Final = 10
"""Values of each stretch: of fewer its mean says nothing of what came with them."""


class DrawnFigures(NamedTuple):
    """What requests came with that chance decides, (n, c), and what is expected of it, (c,)."""

    figures: Floats
    expected: Floats

    def of(self, members: Flags) -> "DrawnFigures":
        """Of some of the requests."""
        return DrawnFigures(self.figures[members], self.expected)


class WithoutLuck(NamedTuple):
    """What would be seen of a figure: the mean of all requests, its standard error and its degrees of freedom."""

    mean: float
    error: float
    freedom: int


@dataclass(frozen=True)
class Luck:
    """Of a sample in the order of arrival.

    Attributes:
        stretch: (n,) to which of the sample's stretches a request belongs.
        off: (B, c) by which share of what is expected a stretch had more of each figure that is known.
    """

    stretch: Ints
    off: Floats

    @classmethod
    def of_sample(cls, drawn: DrawnFigures) -> "Luck":
        """Of requests that are as many as a sample has stretches, or more."""
        count = len(drawn.figures)
        stretch = np.arange(count) * STRETCHES // count
        means = np.array([drawn.figures[stretch == number].mean(axis=0) for number in range(STRETCHES)])
        return cls(stretch, means / drawn.expected - 1)

    def of(self, members: Flags) -> "Luck":
        """Of some of the requests, beside which the others came."""
        return Luck(self.stretch[members], self.off)

    def left_out_of(self, values: Floats) -> WithoutLuck | None:
        """What figures of requests (n,) would have as a mean, had there been no luck; None where they are too few."""
        counts = np.bincount(self.stretch, minlength=STRETCHES)
        if counts.min() < FEWEST_OF_STRETCH or not np.isfinite(values).all():
            return None
        means = np.bincount(self.stretch, values, minlength=STRETCHES) / counts
        # a stretch counts for as many requests as it has
        weight = np.sqrt(counts / counts.mean())
        known = np.column_stack([np.ones(STRETCHES), self.off]) * weight[:, None]
        inverse = np.linalg.pinv(known)
        found = inverse @ (means * weight)
        left = means * weight - known @ found
        freedom = STRETCHES - int(np.linalg.matrix_rank(known))
        error = np.sqrt(float(left @ left) / freedom * float(inverse[0] @ inverse[0]))
        return WithoutLuck(float(found[0]), float(error), freedom)

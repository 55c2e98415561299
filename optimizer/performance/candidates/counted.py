"""What of predicted rates is counted on: all, unless a simulation found replicas to hold less of a mix of classes."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, Self

import numpy as np

from optimizer.base.arrays import Flags, Floats
from optimizer.performance.physics.row_arrays import RowArrays

REACH: Final = 0.5
"""Share of a replica's requests that are of other classes than in a simulated mix, from which on what was found there
says nothing of it alone."""

UNLIKE: Final = 0.25
"""The same between two mixes, beyond which both together say that predictions are off for all."""


class FoundMix(NamedTuple):
    """A mix that was simulated: the share of each of a workload's classes, and whose promises were in doubt, (K,)."""

    share: Floats
    in_doubt: Flags


@dataclass(frozen=True)
class CountedShares(RowArrays):
    """Of the rate that is predicted of each configuration, by mix of classes.

    What was found of a mix counts for those that serve a class whose promise was in doubt, the less the more of their
    requests are of other classes; a mix that serves none of these breaks no such promise. Where two unlike mixes held
    less, the most that any did is counted on far from all.

    Attributes:
        everywhere: (n,) of every mix.
        found: (n, F) at each mix that was simulated, 1 for configurations of which nothing was found there.
        mixes: (F,) those.
    """

    everywhere: Floats
    found: Floats
    mixes: tuple[FoundMix, ...] = ()

    @classmethod
    def of_all(cls, rows: int) -> Self:
        """All that is predicted of so many."""
        return cls(np.ones(rows), np.ones((rows, 0)))

    def at(self, classes: Sequence[int], share: Floats) -> Floats:
        """(n,) of a mix of some classes, in shares (K,) or (n, K) that add up to 1."""
        if not self.mixes:
            return self.everywhere
        shares, in_doubt = (np.array(each) for each in zip(*self.mixes, strict=True))
        # (n or 1, K) -> (n or 1, F) how far each found mix is, and whether what was in doubt there is served
        sent = np.zeros((*share.shape[:-1], shares.shape[1]))
        sent[..., list(classes)] = share
        sent = np.atleast_2d(sent)
        faded = np.minimum(_apart(sent, shares) / REACH, 1.0)
        says = (sent @ in_doubt.T > 0) & (self.found < 1)
        unlike = np.einsum("nf,fg,ng->n", says, _apart(shares, shares) > UNLIKE, says, dtype=float) > 0
        far = np.where(unlike, np.where(says, self.found, 0.0).max(axis=1), 1.0)[:, None]
        lowered: Floats = np.where(says, self.found + (far - self.found) * faded, 1.0).min(axis=1)
        return np.minimum(self.everywhere, lowered)


def _apart(ones: Floats, others: Floats) -> Floats:
    """(n, m) the share of requests that are of other classes in one mix than in another."""
    distance: Floats = np.abs(ones[:, None] - others[None]).sum(axis=2) / 2
    return distance

"""Which purchases no plan needs: of another so many serve as much for no more, in every draw.

k instances of one purchase replace each instance of another that serves the same workload where they sustain as much
and cost no more in every draw. Demand is then served as before and no draw costs more, so neither mean nor tail does.
What only so many can be had of replaces nothing. Of two that replace each other the cheaper by the request stays, of
equals the first.
"""

import numpy as np

from optimizer.base.arrays import Flags, Floats, Ints
from optimizer.program.risk.problem import RiskProblem

SAME = 1e-12
"""Relative difference within which two figures are one."""


def undominated(problem: RiskProblem) -> Ints:
    """The purchases that are needed, in their order."""
    return needed(problem.workload, problem.usd, problem.rate_per_s, problem.most)


def needed(group: Ints, usd: Floats, rate_per_s: Floats, most: Floats) -> Ints:
    """The rows that no other one of their group replaces.

    Args:
        group: (U,) rows of different groups are not compared.
        usd: (U, S) what one costs.
        rate_per_s: (U, S) what one sustains; (U, any) where it is compared elsewhere than it is paid.
        most: (U,) how many can be had.
    """
    keep: Flags = np.asarray((rate_per_s > 0).any(axis=1))
    replacing = np.isinf(most)
    # the dearest first, so that of a chain of rows the cheapest stays
    price = usd.sum(axis=1) / np.maximum(rate_per_s.sum(axis=1), SAME)
    for row in np.lexsort((np.arange(len(price)), price))[::-1].tolist():
        if not keep[row]:
            continue
        rivals = np.flatnonzero(keep & replacing & (group == group[row]))
        rivals = rivals[rivals != row]
        asked = rate_per_s[row] > 0
        with np.errstate(divide="ignore"):
            times = np.ceil((rate_per_s[row, asked] / rate_per_s[np.ix_(rivals, asked)]).max(axis=1) * (1 - SAME))
        enough = np.isfinite(times)
        times = np.where(enough, times, 1.0)
        enough &= (times[:, None] * usd[rivals] <= usd[row] * (1 + SAME)).all(axis=1)
        keep[row] = not enough.any()
    return np.flatnonzero(keep)

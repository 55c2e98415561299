"""What each draw would cost had it been known: the cheapest purchases for it, draw by draw."""

from dataclasses import dataclass
from typing import Final

import numpy as np

from optimizer.base.arrays import Floats, Ints
from optimizer.base.clock import Clock
from optimizer.program.risk.measure import Aim
from optimizer.program.risk.problem import RiskProblem
from optimizer.program.risk.sample_average import best_purchases

MEAN: Final = Aim(weight=0.0, level=0.5)
"""Of one draw there is no tail."""


@dataclass(frozen=True, eq=False)
class KnownDraws:
    """The cheapest purchases of each draw, as far as the clock went.

    Attributes:
        usd: (n,) what the first n draws cost at least.
        counts: (n, U).
    """

    usd: Floats
    counts: Ints


NOTHING_KNOWN: Final = KnownDraws(np.zeros(0), np.zeros((0, 0), dtype=np.int64))
"""Of no draw."""


def known_draws(problem: RiskProblem, clock: Clock) -> KnownDraws:
    """Every draw solved as if it were the only one, up to the first that a limit ends.

    Workloads share nothing in a draw, so each is solved alone.
    """
    usd, counts = list[float](), list[Ints]()
    members = [np.flatnonzero(problem.workload == w) for w in range(len(problem.demand_per_s))]
    for draw in range(problem.draws):
        if clock.expired:
            break
        alone, total, own = problem.during(np.array([draw])), 0.0, np.zeros(len(problem.workload), dtype=np.int64)
        for w, units in enumerate(members):
            found = best_purchases(alone.of_workload(w, units), MEAN, clock)
            if found.status != "optimal":
                # its bound is what the search had got to, not what the draw costs at least
                return _known(usd, counts, problem)
            own[units] = found.counts
            total += found.bound_usd
        usd.append(total)
        counts.append(own)
    return _known(usd, counts, problem)


def _known(usd: list[float], counts: list[Ints], problem: RiskProblem) -> KnownDraws:
    return KnownDraws(np.array(usd), np.array(counts, dtype=np.int64).reshape(len(usd), len(problem.workload)))

"""Purchases that are decided before a draw is known, as plain numbers: what each sustains and costs in every draw.

An instance serves one workload. What the purchases do not sustain in a draw is met by renting more of one machine in
that draw, whole instances at its price, or is not served and costs what the scenario says.
"""

from dataclasses import dataclass, replace

import numpy as np

from optimizer.base.arrays import Flags, Floats, Ints


@dataclass(frozen=True, eq=False)
class TopUp:
    """The one machine that more is rented of in each of S draws, for each of W workloads.

    Attributes:
        usd: (W, S) a month of an instance.
        rate_per_s: (W, S) requests/s that one sustains; 0 where it keeps no promise in that draw.
        unserved_usd: (W,) a month of one request/s that is not served; infinite where all must be.
    """

    usd: Floats
    rate_per_s: Floats
    unserved_usd: Floats

    def during(self, draws: Ints) -> "TopUp":
        """In the draws listed."""
        return replace(self, usd=self.usd[:, draws], rate_per_s=self.rate_per_s[:, draws])


@dataclass(frozen=True, eq=False)
class RiskProblem:
    """U ways to buy an instance for one of W workloads, in S equally likely draws.

    Attributes:
        workload: (U,) whom an instance serves.
        usd: (U, S) a month of an instance; 0 where it has not begun or was taken back.
        rate_per_s: (U, S) requests/s that it sustains; 0 where it is not there.
        most: (U,) instances that can be had; infinite where nobody says.
        demand_per_s: (W, S).
        top_up: What is rented beside them.
    """

    workload: Ints
    usd: Floats
    rate_per_s: Floats
    most: Floats
    demand_per_s: Floats
    top_up: TopUp

    @property
    def draws(self) -> int:
        """S."""
        return int(self.demand_per_s.shape[1])

    def select(self, kept: Ints) -> "RiskProblem":
        """With the purchases listed."""
        return replace(
            self,
            workload=self.workload[kept],
            usd=self.usd[kept],
            rate_per_s=self.rate_per_s[kept],
            most=self.most[kept],
        )

    def of_workload(self, workload: int, units: Ints) -> "RiskProblem":
        """One workload alone, with its purchases."""
        own = self.select(units)
        rows = np.array([workload])
        return replace(
            own,
            workload=np.zeros_like(own.workload),
            demand_per_s=self.demand_per_s[rows],
            top_up=TopUp(self.top_up.usd[rows], self.top_up.rate_per_s[rows], self.top_up.unserved_usd[rows]),
        )

    def during(self, draws: Ints) -> "RiskProblem":
        """In the draws listed."""
        return replace(
            self,
            usd=self.usd[:, draws],
            rate_per_s=self.rate_per_s[:, draws],
            demand_per_s=self.demand_per_s[:, draws],
            top_up=self.top_up.during(draws),
        )


@dataclass(frozen=True, eq=False)
class CostInDraws:
    """What purchases come to in each draw.

    Attributes:
        bought_usd: (S,) a month of what was bought.
        short_per_s: (W, S) requests/s that it does not sustain.
        instances: (W, S) rented beside it.
        top_up_usd: (W, S) a month of these.
        unserved_per_s: (W, S) requests/s that are served neither way.
        unserved_usd: (S,) what these cost.
        cost_usd: (S,) of all of it.
    """

    bought_usd: Floats
    short_per_s: Floats
    instances: Ints
    top_up_usd: Floats
    unserved_per_s: Floats
    unserved_usd: Floats
    cost_usd: Floats


def outcome(problem: RiskProblem, counts: Ints) -> CostInDraws:
    """What purchases come to, (U,) instances of each."""
    served = np.zeros_like(problem.demand_per_s)
    np.add.at(served, problem.workload, problem.rate_per_s * counts[:, None])
    short = shortfall(problem.demand_per_s, served)
    return topped_up(problem.top_up, short, np.asarray(counts @ problem.usd))


ROUNDING = 1e-9
"""Share of a demand below which nothing is missing, and of an instance below which none is rented."""


def shortfall(demand_per_s: Floats, served_per_s: Floats) -> Floats:
    """Requests/s that are missing, of the same shape."""
    missing = demand_per_s - served_per_s
    return np.where(missing > ROUNDING * demand_per_s, missing, 0.0)


def topped_up(top_up: TopUp, short_per_s: Floats, bought_usd: Floats) -> CostInDraws:
    """The cheapest whole number of instances beside what was bought, and what is better left unserved.

    Costs are linear between whole instances, so that no instance, all but the last, or all that is needed is the
    cheapest. Where all must be served and the machine sustains nothing, the cost is infinite.

    Args:
        top_up: What may be rented.
        short_per_s: (W, S) what is missing.
        bought_usd: (S,) what was bought.
    """
    rate, lost = top_up.rate_per_s, top_up.unserved_usd[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        all_of_it = np.where(short_per_s > 0, np.ceil(short_per_s / rate * (1 - ROUNDING)), 0.0)
    serving: Flags = np.isfinite(all_of_it)
    whole = np.where(serving, all_of_it, 0.0)
    # (choices, W, S) instances, what they leave open, and what both cost
    counts = np.stack([whole, np.maximum(whole - 1, 0.0), np.zeros_like(whole)])
    left = np.where((counts >= whole) & serving, 0.0, short_per_s - counts * rate)
    usd = counts * top_up.usd + np.multiply(left, lost, where=left > 0, out=np.zeros_like(left))
    best = usd.argmin(axis=0)[None]
    count, unserved, least = (np.take_along_axis(each, best, axis=0)[0] for each in (counts, left, usd))
    return CostInDraws(
        bought_usd=bought_usd,
        short_per_s=short_per_s,
        instances=count.astype(np.int64),
        top_up_usd=count * top_up.usd,
        unserved_per_s=unserved,
        unserved_usd=np.asarray((least - count * top_up.usd).sum(axis=0)),
        cost_usd=np.asarray(bought_usd + least.sum(axis=0)),
    )

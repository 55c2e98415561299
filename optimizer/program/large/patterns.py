"""A sharper bound for large problems: what whole instances can be filled with, priced by column generation.

Relaxing the demands y >= 0 and the limits on instances m >= 0 leaves one knapsack per unit (see `knapsack`):

    sum price n + api cost  >=  y.demand - m.limits + sum over units of min(0, min over whole n >= 1 of p n - V(n))
                                + sum over API streams of min(0, price - worth of the reach)

with p the price plus the limits' charges and V(n) the most worth that n instances hold, less what sending its answers
costs. Counts are whole on the right, so a fraction of an instance earns nothing, which is what separates this bound
from the linear relaxation's. The right side holds for any y and m and is computed here from them alone; column
generation only finds good ones. Its master problem mixes patterns (a unit, a whole count and what it carries) at the
least cost, at most one pattern's worth per unit; its duals, pulled towards the best multipliers so far to keep them
from swinging, ask for the next patterns.
Periods that ask for the same are one to it: only starts, which the bound leaves out, tell them apart.
At its best multipliers each hour is rounded up to whole instances, too (see `covering`); the higher bound counts.
Every plan with an instance of a unit costs at least the right side plus the unit's term where that is positive.
"""

from dataclasses import dataclass, replace

import numpy as np

from optimizer.base.arrays import Flags, Floats, Ints
from optimizer.base.clock import Clock
from optimizer.program.large.column_generation import Master
from optimizer.program.large.knapsack import Worth
from optimizer.program.large.pricing import PricedBound, Pricing
from optimizer.program.large.unlinked import kinds_of_periods, unlinked
from optimizer.program.problem.problem import Problem
from optimizer.program.proof.relaxation import Bound

PATTERNS_PER_ROUND, PATTERNS_PER_DEMAND = 150, 1.5
MOST_ROUNDS = 80
FIRST_PULL, LEAST_PULL = 0.9, 0.2
"""How many patterns a round adds, at least and for each demand, how many rounds there are at most, and the weight of
the best multipliers so far."""

CONVERGED = 2e-4
"""Relative distance between the master problem and the bound at which the rounds end."""

SLOW_ROUNDS, SLOW = 10, 0.1
"""They end, too, where so many rounds make that distance smaller by no more than such a share of it. With machines that
are paid all month it stays wide to the last round, and whole instances say more by the prices of an early one."""


@dataclass(frozen=True, eq=False)
class PatternBound:
    """The bound, and where it was found.

    Attributes:
        bound: What no plan can undercut.
        mixed: (O,) offers in the master problem's solution.
        counts: (O,) instances of each in it, in the period of most of them; of those paid all month the whole numbers
            for which `covering` finds the bound, where that is the higher one.
        worth: Of requests, at the best multipliers.
        demand: (D,) the best multipliers of demands.
        instances: (T, O) fractional counts of a relaxation over all periods, 0 for offers that it did not hold; None
            where none was solved.
        moved: (O, X) what starts move from the price of an offer in one period to another's, see `start_costs`.
    """

    bound: Bound
    mixed: Flags
    counts: Floats
    worth: Worth
    demand: Floats
    instances: Floats | None = None
    moved: Floats | None = None


def pattern_bound(problem: Problem, clock: Clock, converged: float = CONVERGED) -> PatternBound:
    """The bound from the best multipliers that column generation finds.

    Args:
        problem: Every wanted class is served by some candidate or API.
        clock: After which the best bound so far is taken.
        converged: Relative distance to the best possible bound of this kind at which to stop.
    """
    pricing, kind = Pricing(problem), kinds_of_periods(problem)
    # what is charged for limits of a period is not told of others
    fewer = kind.max() + 1 < len(kind) and not len(pricing.limits.upper)
    generating = Pricing(unlinked(problem, kind)) if fewer else pricing
    best, master = generated(generating, generating.at_first(), clock, converged)
    rounded, whole = generating.whole(best)
    if fewer:
        best = pricing.at(_by_period(problem, generating.problem, kind, best.demand), best.charge)
    counts = np.zeros(len(problem.offers))
    np.maximum.at(counts, generating.units.offer, master.mixed_counts())
    found = PatternBound(pricing.bound(best), counts > 0, counts, pricing.worth(best.demand), best.demand)
    if rounded <= best.value:
        return found
    always = problem.offers.always_paid
    return replace(
        found,
        bound=found.bound.raised_to(Bound(rounded, np.full(len(problem.candidates), rounded))),
        mixed=found.mixed | (whole > 0),
        counts=np.where(always, whole, counts),
    )


def _by_period(problem: Problem, merged: Problem, kind: Ints, demand: Floats) -> Floats:
    """(D,) the prices of demands of the week from those of its kinds of periods (T,): each its share of the hours."""
    demands, hours = problem.demands, problem.traffic.share_of_month
    price = demand[merged.demands.row[kind[demands.period], demands.request_class]]
    return np.asarray(price * (hours / merged.traffic.share_of_month[kind])[demands.period])


def generated(pricing: Pricing, first: PricedBound, clock: Clock, converged: float) -> tuple[PricedBound, Master]:
    """Column generation from some multipliers: the best ones, and the master problem of the patterns that led there."""
    artificial_cost = pricing.artificial_cost()
    must = pricing.counts.least > 0
    master = Master(must, pricing.limits, pricing.api_rows, pricing.api_cost, artificial_cost)
    most = max(PATTERNS_PER_ROUND, int(PATTERNS_PER_DEMAND * len(artificial_cost)))
    best, pull = first, FIRST_PULL
    new, gaps = master.add(pricing.closest_patterns(best, most), most, np.inf), list[float]()
    for _ in range(MOST_ROUNDS):
        mixture = master.solve(clock)
        if mixture is None:
            break
        gap, pulled = mixture.value - best.value, pull
        closed = gap <= converged * mixture.value
        gaps.append(gap)
        slow = len(gaps) > SLOW_ROUNDS and gap > (1 - SLOW) * gaps[-1 - SLOW_ROUNDS]
        if not closed:
            demand = pull * best.demand + (1 - pull) * mixture.demand
            trial = pricing.at(demand, pull * best.charge + (1 - pull) * mixture.charge)
            new = master.add(pricing.patterns(trial.knapsacks), most, gap)
            pull = _next_pull(pull, trial.value > best.value, new)
            best = max(best, trial, key=lambda priced: priced.value)
        if closed or slow or (not new and not pulled):
            if not master.price_out_artificials():
                break
            gaps.clear()
    return best, master


def _next_pull(pull: float, improved: bool, found: int) -> float:
    """Weaker after success; stronger when the bound fell; released in steps when the prices asked for nothing new."""
    if not found:
        return pull / 2 if pull > LEAST_PULL else 0.0
    return max(pull * 0.7, LEAST_PULL) if improved else max(pull, 1 - (1 - pull) * 0.8)

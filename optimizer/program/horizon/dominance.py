"""Which offers no plan over months needs: others serve as much for no more in every month.

k instances of one offer replace each instance of another, in whatever month and for whatever mix, where they sustain
as much of every mix, cost no more in any node, weigh no more under any limit, and are held for as long. Demand is then
served as before and nothing costs more. An offer of which only so many can be had weighs under a limit of its own,
under which no other weighs, so it replaces none. Of two that replace each other the last stays.

Where it costs something to begin serving on an instance, which is counted by machine and mix, k is 1, and offers
replace each other on one machine; a machine is replaced as a whole by another that has a replacement for each of its
offers. What began on either then begins on the other, and a sum rises by no more than its parts do.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from optimizer.base.arrays import Flags, Floats, Ints
from optimizer.program.horizon.problem import HorizonProblem

SAME = 1e-12
"""Relative difference within which two figures are one."""


class _Compared(NamedTuple):
    """Offers: (O,) machine and term, (O, N) cost by node, (R, O) weight under each limit, (O, M) capacity."""

    machine: Ints
    term: Ints
    usd: Floats
    weight: Floats
    capacity: Floats

    def replacing(self, offer: int, most: float) -> Flags:
        """(O,) the offers of which at most so many instances replace one of an offer; never itself."""
        served = self.capacity[offer] > 0
        with np.errstate(divide="ignore"):
            # how many instances of each sustain as much of every mix
            times = np.ceil((self.capacity[offer, served] / self.capacity[:, served]).max(axis=1) * (1 - SAME))
        enough: Flags = (times <= most) & (self.term == self.term[offer])
        times = np.where(enough, times, 1.0)
        enough &= (times[:, None] * self.usd <= self.usd[offer] * (1 + SAME)).all(axis=1)
        enough &= (times * self.weight <= self.weight[:, offer, None] * (1 + SAME)).all(axis=0)
        enough[offer] = False
        return enough


def undominated(problem: HorizonProblem) -> HorizonProblem:
    """The problem with the offers that are needed."""
    hourly, deals, limits = problem.hourly, problem.deals, problem.ceilings
    capacity, forever = problem.machines.capacity_per_s, np.zeros(len(hourly.ids), dtype=np.int64)
    kinds = (
        _Compared(hourly.machine, forever, hourly.usd, limits.hourly, capacity[hourly.machine]),
        _Compared(deals.machine, deals.term_months, deals.usd, limits.deals, capacity[deals.machine]),
    )
    kept = [_needed(offers, problem.switches) for offers in kinds]
    if problem.switches:
        machines = _needed_machines(kinds, kept, len(capacity))
        kept = [keep & machines[offers.machine] for offers, keep in zip(kinds, kept, strict=True)]
    return problem.select(np.flatnonzero(kept[0]), np.flatnonzero(kept[1]))


def _needed(offers: _Compared, same_machine: bool) -> Flags:
    """(O,) the offers that no other one replaces, optionally on its own machine one for one."""
    keep: Flags = np.asarray((offers.capacity > 0).any(axis=1))
    for offer in np.flatnonzero(keep).tolist():
        rivals = keep & ((offers.machine == offers.machine[offer]) | (not same_machine))
        keep[offer] = not (rivals & offers.replacing(offer, 1.0 if same_machine else np.inf)).any()
    return keep


def _needed_machines(kinds: Sequence[_Compared], kept: Sequence[Flags], count: int) -> Flags:
    """(X,) the machines that no other one replaces, each of its offers that are kept by one of the other's."""
    # (X, X) whether the second has a replacement for every offer of the first
    replaced = np.ones((count, count), dtype=np.bool_)
    for offers, keep in zip(kinds, kept, strict=True):
        for offer in np.flatnonzero(keep).tolist():
            having = np.zeros(count, dtype=np.bool_)
            having[offers.machine[offers.replacing(offer, 1.0) & keep]] = True
            replaced[offers.machine[offer]] &= having
    needed: Flags = np.ones(count, dtype=np.bool_)
    for machine in range(count):
        others = needed & replaced[machine]
        others[machine] = False
        needed[machine] = not others.any()
    return needed

"""Which offers no plan over months needs: others serve as much for no more in every month.

k instances of one offer replace each instance of another, in whatever month and for whatever mix, where they sustain
as much of every mix, cost no more in any node, weigh no more under any limit, and are held for as long. Demand is then
served as before and nothing costs more. An offer of which only so many can be had weighs under a limit of its own,
under which no other weighs, so it replaces none. Of two that replace each other the last stays.

Where it costs something to begin serving on an instance, which is counted by kind of machine, one machine stands in for
another only in all that is held of it; offers are then compared on the same machine, one for one.
"""

import numpy as np

from optimizer.base.arrays import Flags, Floats, Ints
from optimizer.program.horizon.problem import HorizonProblem

SAME = 1e-12
"""Relative difference within which two figures are one."""


def undominated(problem: HorizonProblem) -> HorizonProblem:
    """The problem with the offers that are needed."""
    hourly, deals, limits = problem.hourly, problem.deals, problem.ceilings
    fixed = problem.switches
    term = np.zeros(len(hourly.ids), dtype=np.int64)
    kept_hourly = _needed(problem, hourly.machine, hourly.usd, limits.hourly, term, fixed)
    kept_deals = _needed(problem, deals.machine, deals.usd, limits.deals, deals.term_months, fixed)
    return problem.select(np.flatnonzero(kept_hourly), np.flatnonzero(kept_deals))


def _needed(
    problem: HorizonProblem, machine: Ints, usd: Floats, weight: Floats, term: Ints, same_machine: bool
) -> Flags:
    """(O,) the offers that no other one replaces.

    Args:
        problem: Whose machines they are.
        machine: (O,) of which kind an instance is.
        usd: (O, N) its cost by node.
        weight: (R, O) under each limit.
        term: (O,) only offers of one term replace each other.
        same_machine: Whether only those on one machine do, one for one.
    """
    capacity, count = problem.machines.capacity_per_s[machine], len(machine)
    keep: Flags = np.asarray((capacity > 0).any(axis=1))
    for offer in range(count):
        if not keep[offer]:
            continue
        rivals = keep & (term == term[offer]) & ((machine == machine[offer]) | (not same_machine))
        served = capacity[offer] > 0
        with np.errstate(divide="ignore"):
            # (O,) how many instances of each sustain as much of every mix
            times = np.ceil((capacity[offer, served] / capacity[:, served]).max(axis=1) * (1 - SAME))
        if same_machine:
            times = np.where(times <= 1, 1.0, np.inf)
        rivals &= np.isfinite(times)
        times = np.where(rivals, times, 1.0)
        rivals &= (times[:, None] * usd <= usd[offer] * (1 + SAME)).all(axis=1)
        rivals &= (times * weight <= weight[:, offer, None] * (1 + SAME)).all(axis=0)
        rivals[offer] = False
        keep[offer] = not rivals.any()
    return keep

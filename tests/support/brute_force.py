"""The cheapest plan of a tiny problem by trying every one.

Replicas (and, where starts cost, instances) are enumerated in each period; whether they carry the traffic, and for how
much of hosted APIs, is asked of SciPy.
"""

from collections.abc import Callable, Iterator
from functools import cache, lru_cache
from itertools import product

import numpy as np

from optimizer.base.arrays import Flags, Ints
from optimizer.base.units import HOURS_PER_MONTH
from optimizer.program.problem.problem import Problem
from support.promises import (
    Carrying,
    Counts,
    bought,
    fewest_bins,
    is_present,
    keeps_limits,
    machine_cost,
    restarts_usd_per_hour,
)

MOST_COMBINATIONS = 60_000


def cheapest_by_enumeration(problem: Problem) -> float | None:
    """USD per hour of the month of the cheapest plan; None when none is feasible; NaN when there are too many."""
    return Enumeration(problem).cheapest(problem)


class Enumeration:
    """Every plan of a tiny problem that keeps its limits on counts, and what its machines cost.

    Attributes:
        too_many: Whether there are more than can be looked at.
    """

    def __init__(self, problem: Problem) -> None:
        """Goes through all of them."""
        if not len(problem.candidates):
            states = [[((), (0,) * len(problem.offers))] for _ in range(problem.traffic.periods)]
        else:
            states = [list(_states(problem, t)) for t in range(problem.traffic.periods)]
        self.too_many = bool(np.prod([len(each) for each in states]) > MOST_COMBINATIONS)
        self._any = all(states) and not self.too_many
        if not self._any:
            return
        chosen = np.array(list(product(*(range(len(each)) for each in states))))
        replicas = np.stack([np.array([r for r, _ in each])[chosen[:, t]] for t, each in enumerate(states)], axis=1)
        instances = np.stack([np.array([n for _, n in each])[chosen[:, t]] for t, each in enumerate(states)], axis=1)
        replicas = replicas.reshape(len(chosen), len(states), len(problem.candidates))
        instances = bought(problem, replicas, instances)
        kept = keeps_limits(problem, replicas, instances)
        self._replicas, self._instances = replicas[kept], instances[kept]
        self._cost = machine_cost(problem, self._replicas, self._instances)
        traffic = [Carrying(problem, t) for t in range(problem.traffic.periods)]
        self._api_cost = [lru_cache(maxsize=None)(each.api_cost) for each in traffic]

    def of_each(self, told: Callable[[Ints, Ints], bool]) -> Flags:
        """Whether something is so of each plan, told of its (T, C) replicas and (T, O) instances."""
        plans = zip(self._replicas, self._instances, strict=True) if self._any else ()
        return np.array([told(*plan) for plan in plans], dtype=np.bool_)

    def cheapest(self, problem: Problem, among: Flags | None = None) -> float | None:
        """As `cheapest_by_enumeration`, of the same problem or of one that allows fewer of what is counted.

        Args:
            problem: It.
            among: By plan, whether it is one of those that are compared; all of them unless said.
        """
        if self.too_many:
            return float("nan")
        if not self._any:
            return None
        kept = keeps_limits(problem, self._replicas, self._instances)
        if among is not None:
            kept &= among
        replicas, instances, cost = self._replicas[kept], self._instances[kept], self._cost[kept]
        best = np.inf
        for at in np.argsort(cost, kind="stable").tolist():
            if cost[at] >= best:
                break
            total = float(cost[at])
            for t, share in enumerate(problem.traffic.share_of_month.tolist()):
                total += share * self._api_cost[t](tuple(replicas[at, t].tolist()), tuple(instances[at, t].tolist()))
                if total >= best:
                    break
            if total < best:
                best = min(best, total + restarts_usd_per_hour(problem, replicas[at], instances[at]))
        budget = problem.limits.max_monthly_usd
        if np.isinf(best) or (budget is not None and best * HOURS_PER_MONTH > budget * (1 + 1e-9) + 1e-6):
            return None
        return best


def _states(problem: Problem, period: int) -> Iterator[tuple[Counts, Counts]]:
    """Replicas and instances that may run in a period: as few as hold them, more where starting or a loss costs."""
    sizes, home = problem.candidates.gpus_per_replica.tolist(), problem.candidates.offer.tolist()

    @cache
    def fewest(o: int, replicas: Counts) -> int:
        parts = [sizes[c] for c, n in enumerate(replicas) if home[c] == o for _ in range(n)]
        return fewest_bins(parts, int(problem.offers.gpus_per_instance[o]))

    def instances(replicas: Counts) -> Counts:
        return tuple(
            fewest(o, tuple(n if home[c] == o else 0 for c, n in enumerate(replicas)))
            for o in range(len(problem.offers))
        )

    ceilings = [_most(problem, t) for t in range(problem.traffic.periods)]
    top = instances(tuple(max(each) for each in zip(*ceilings, strict=True)))
    idle, apart = bool(problem.traffic.start_share.any()), _apart(problem)
    for replicas in product(*(range(ceiling + 1) for ceiling in ceilings[period])):
        if not is_present(problem, replicas):
            continue
        needed = instances(replicas)
        spread = [sum(n for c, n in enumerate(replicas) if home[c] == o) * apart for o in range(len(needed))]
        more = [
            range(n, max(most if idle and not always else n, alone) + 1)
            for n, most, alone, always in zip(needed, top, spread, problem.offers.always_paid.tolist(), strict=True)
        ]
        yield from ((replicas, extra) for extra in product(*more))


def _apart(problem: Problem) -> bool:
    """Whether it matters which replicas stand on one instance."""
    return "instance" in problem.limits.survive or problem.limits.spare_on_other_instances


def _most(problem: Problem, period: int) -> Counts:
    """Replicas of each candidate beyond which more are of no use to anyone."""
    traffic, limits, most = problem.traffic, problem.limits, []
    for c, rates in enumerate(problem.candidates.rate_per_s):
        load = 0.0
        for m in np.flatnonzero(rates):
            load += max(traffic.demand_per_s[period, k] / s for k, s in enumerate(traffic.mixes[m]) if s > 0) / rates[m]
        room = problem.offers.gpus_per_instance[problem.candidates.offer[c]] // problem.candidates.gpus_per_replica[c]
        held = int(room) * _apart(problem)
        whole = int(np.ceil(load - 1e-9))
        useful = max(int(np.ceil(load / limits.max_utilization - 1e-9)), whole + limits.spare_replicas, whole + held)
        floor = max(1 + limits.spare_replicas * (limits.spare_replicas > 0), int(traffic.least_replicas.max()))
        most.append(max(useful, floor, standing(problem, c)))
    return tuple(most)


def standing(problem: Problem, c: int) -> int:
    """Replicas in force of a candidate's configuration on its offer, whichever candidate they are put down to."""
    kinds = list(zip(problem.candidates.offer.tolist(), problem.candidates.configuration, strict=True))
    return sum(int(n) for kind, n in zip(kinds, problem.candidates.replicas_in_force, strict=True) if kind == kinds[c])

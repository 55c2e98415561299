"""A week whose hours nothing joins, by few of its levels of demand: what serves more serves less, and costs no less.

Let s ask for no more than t, class by class. What serves t serves s, each workload's requests sent where they are sent
in t and fewer of them: replicas and instances stay, so every limit on them holds, and so does what is left after a
loss. Sending fewer answers costs no more. So the cheapest plan of an hour of s costs no more than one of t, where an
hour of an instance costs the same in both. A level that is solved bounds those above it from below and has a plan for
those beneath; the next one is looked for where the two are farthest apart, and mostly few levels tell all of them.

Limits on the shares of places in what is sent are the exception: with less of one workload, the share of a place that
serves the others rises. Nor does it hold where machines are paid all month, whose price the hours share, or where a
limit adds up what all hours run.
"""

from dataclasses import replace
from typing import Final

import numpy as np

from optimizer.base.arrays import Flags, Floats
from optimizer.program.large.period_programs import Search, own_state, single_period
from optimizer.program.problem.problem import Problem
from optimizer.program.proof.state import Incumbent, SearchResult, SearchState

CLOSE: Final = 2e-3
"""Share of the week's cost by which the bounds of all levels may miss what their plans cost."""

SHARE_OF_LEVEL: Final = 0.4
"""Of what is left on the clock, for one level."""


def has_levels(problem: Problem) -> bool:
    """Whether what serves a level of demand serves every lower one, at the same price of an hour."""
    shares = any(item.unit == "share" and item.over == "fleet" for item in problem.limits.in_force)
    dearer = problem.offers.always_paid.any() or problem.tolls_usd_per_hour.size
    return not (shares or dearer or problem.ceiling.in_force)


class Levels:
    """What is known of the levels of demand of a week, one a period: K of them.

    Attributes:
        problem: The week, see `has_levels`, its periods not joined.
        lower, upper: (K,) USD/h that an hour of a level costs at least and at most, once all month long.
        plans: What was found: the number of a level, and a plan of it.
    """

    def __init__(self, problem: Problem) -> None:
        traffic = problem.traffic
        asked = [traffic.demand_per_s, traffic.least_replicas]
        if traffic.paid_share.size:
            asked.append(traffic.demand_per_s * traffic.paid_share)
        levels = np.hstack(asked)
        self.hours = traffic.share_of_month
        # as if each level lasted all month: costs are those of its hours
        self.problem = replace(problem, traffic=replace(traffic, share_of_month=np.ones(len(levels))))
        # (K, K) whether the first asks for no more than the second
        self.within: Flags = np.asarray((levels[:, None] <= levels[None]).all(axis=2))
        self.lower, self.upper = np.zeros(len(levels)), np.full(len(levels), np.inf)
        self.plans: list[tuple[int, Incumbent]] = []
        self._asked, self._solved = levels.sum(axis=1), np.zeros(len(levels), dtype=np.bool_)

    def solve(self, state: SearchState, search: Search) -> bool:
        """Solve levels until they tell enough of the others or time is up; whether every level may have a plan."""
        while not state.clock.expired and (level := self._next()) is not None:
            own = own_state(state, state.clock.share(SHARE_OF_LEVEL))
            own.cutoff_usd_per_hour = float(self.upper[level])
            result = search(single_period(self.problem, level, self.problem.offers.price_usd_per_hour), own)
            if result.status == "infeasible" and np.isinf(self.upper[level]):
                return False
            self._learn(level, result)
        return True

    def _next(self) -> int | None:
        """The level in the middle of those that the same two levels bound, where these are farthest apart in all."""
        open_levels = np.flatnonzero(~self._solved & (self.upper > self.lower))
        unserved = open_levels[np.isinf(self.upper[open_levels])]
        if len(unserved):
            return int(unserved[self._asked[unserved].argmax()])
        missing = self.hours * (self.upper - self.lower)
        if not len(open_levels) or missing.sum() <= CLOSE * (self.hours @ self.upper):
            return None
        unbounded = open_levels[self.lower[open_levels] == 0]
        if len(unbounded):
            return int(unbounded[self._asked[unbounded].argmin()])
        between = np.stack([self.lower, self.upper], axis=1)[open_levels]
        number = np.unique(between, axis=0, return_inverse=True)[1].reshape(-1)
        widest = np.bincount(number, weights=missing[open_levels]).argmax()
        members = open_levels[number == widest]
        members = members[np.argsort(self._asked[members], kind="stable")]
        passed = np.cumsum(self.hours[members])
        return int(members[np.searchsorted(passed, passed[-1] / 2)])

    def _learn(self, level: int, result: SearchResult) -> None:
        """What a search of one level says of all."""
        self._solved[level] = True
        if result.incumbent is not None and result.incumbent.usd_per_hour < self.upper[level]:
            self.add(level, result.incumbent)
            lower_levels, cost = self.within[:, level], result.incumbent.usd_per_hour
            self.upper = np.where(lower_levels, np.minimum(self.upper, cost), self.upper)
        least = min(result.bound.usd_per_hour, self.upper[level])
        if np.isfinite(least):
            self.lower = np.where(self.within[level], np.maximum(self.lower, least), self.lower)

    def add(self, level: int, plan: Incumbent) -> None:
        """One more plan of a level, unless the same machines with the same replicas are known for it."""
        for own, other in self.plans:
            alike = (other.replicas == plan.replicas).all() and (other.instances == plan.instances).all()
            if alike and self.within[level, own]:
                return
        self.plans.append((level, plan))

    def costs(self) -> Floats:
        """(K, P) USD/h at most of a level by each plan found, in the order of their levels; infinite where it is none.

        What sending requests costs is counted as at the plan's own level.
        """
        cost = np.array([plan.usd_per_hour for _, plan in self.plans])
        return np.where(self.within[:, [level for level, _ in self.plans]], cost, np.inf)

    def plan_at(self, level: int, number: int) -> Incumbent:
        """A plan in the place of another level, its hosted APIs sent the same shares of the demand."""
        own, plan = self.plans[number]
        streams, reach = self.problem.api_streams, self.problem.reach_per_s[:, self.problem.apis.mix]
        here, there = streams.server[streams.period == level], streams.server[streams.period == own]
        share = np.zeros(len(self.problem.apis))
        share[there] = plan.api_flow_per_s / reach[own, there]
        return replace(plan, api_flow_per_s=share[here] * reach[level, here])

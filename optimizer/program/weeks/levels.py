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

from collections.abc import Callable
from dataclasses import replace
from typing import Final

import numpy as np

from optimizer.base.arrays import Flags, Floats, Ints
from optimizer.base.clock import Clock
from optimizer.program.large.covering import Cover
from optimizer.program.large.knapsack import Worth
from optimizer.program.large.several_prices import SeveralPrices
from optimizer.program.problem.problem import Problem, Sorted, compacted
from optimizer.program.problem.quantities import serves_all
from optimizer.program.proof.state import Incumbent, Known, SearchResult, SearchState
from optimizer.program.proof.steps import cheaper
from optimizer.program.refine.routing import carries
from optimizer.program.weeks.period_programs import PeriodSearch, own_state, single_period

CLOSE: Final = 2e-3
"""Share of the week's cost by which the bounds of all levels may miss what their plans cost."""

SHARE_OF_LEVEL: Final = 0.4
"""Of what is left on the clock, for one level."""

NEAR: Final = 0.05
"""How much more than a level's bound a plan with an offer may cost at least for that offer to be looked at first."""


def has_levels(problem: Problem) -> bool:
    """Whether what serves a level of demand serves every lower one, at the same price of an hour."""
    shares = any(item.unit == "share" and item.over == "fleet" for item in problem.limits.in_force)
    dearer = problem.offers.always_paid.any() or problem.tolls_usd_per_hour.size
    return not (shares or dearer or problem.ceiling.in_force)


def as_if_all_month(problem: Problem) -> Problem:
    """The levels as if each lasted all month: costs are those of its hours."""
    traffic = problem.traffic
    return replace(problem, traffic=replace(traffic, share_of_month=np.ones(traffic.periods)))


class Levels:
    """What is known of the levels of demand of a week, one a period: K of them.

    Attributes:
        problem: The week, see `has_levels`, its periods not joined.
        lower, upper: (K,) USD/h that an hour of a level costs at least and at most, once all month long.
        worth: Of the requests of an hour of each level, once all month long, where that is known.
        several: What each level needs at several prices of demand, where that is known.
        plans: What was found: the number of a level, and a plan of it.
    """

    def __init__(
        self,
        problem: Problem,
        worth: Worth | None = None,
        several: SeveralPrices | None = None,
        rose: Floats | None = None,
    ) -> None:
        """Nothing solved yet.

        Args:
            problem: The week, its periods not joined.
            worth: Of its requests, at some prices of demand, where these are known.
            several: Of its levels and offers, where prices of demand are known.
            rose: (K,) by how much solving a level raised what all cost, the last time that it was; kept up to date.
        """
        traffic = problem.traffic
        asked = [traffic.demand_per_s, traffic.least_replicas]
        if traffic.paid_share.size:
            asked.append(traffic.demand_per_s * traffic.paid_share)
        levels = np.hstack(asked)
        self.hours = traffic.share_of_month
        self.problem = as_if_all_month(problem)
        # (K, K) whether the first asks for no more than the second
        self.within: Flags = np.asarray((levels[:, None] <= levels[None]).all(axis=2))
        self.lower, self.upper = np.zeros(len(levels)), np.full(len(levels), np.inf)
        self.plans: list[tuple[int, Incumbent]] = []
        self._asked, self._solved = levels.sum(axis=1), np.zeros(len(levels), dtype=np.bool_)
        self.worth = None if worth is None else worth.scaled(1.0 / self.hours)
        self._cover = None if self.worth is None else self._covered(self.worth)
        self.several, self._rose = several, np.zeros(len(levels)) if rose is None else rose

    def begin_with(self, wider: "Levels", candidates: Ints, offers: Ints) -> None:
        """What is known of levels of which these have a part: their bounds, and what was found that is in the part.

        Args:
            wider: Those levels.
            candidates: (C,) of the part, where each is in the whole.
            offers: (O,) the same.
        """
        self.lower = np.maximum(self.lower, wider.lower)
        for level, plan in wider.plans:
            instances, replicas = plan.instances[:, offers], plan.replicas[:, candidates]
            whole = instances.sum() == plan.instances.sum() and replicas.sum() == plan.replicas.sum()
            if not whole or len(plan.placed):
                continue
            # what costs least of the whole costs least of its part
            self.plans.append((level, replace(plan, instances=instances, replicas=replicas)))
            self._solved[level] = True
            self._serves(level, plan.usd_per_hour)

    def solve(self, state: SearchState, search: PeriodSearch, too_dear: Callable[[Floats], bool] | None = None) -> bool:
        """Solve levels until they tell enough of the others or time is up; whether every level may have a plan.

        Args:
            state: Of the search.
            search: Solves one level.
            too_dear: Whether no more is asked where levels cost so much (K,) at least.
        """
        while not state.clock.expired and (level := self._next()) is not None:
            if too_dear is not None and too_dear(self.lower):
                break
            own = own_state(state, state.clock.share(SHARE_OF_LEVEL))
            own.cutoff_usd_per_hour = float(self.upper[level])
            result = self._searched(level, own, search)
            if result.status == "infeasible" and np.isinf(self.upper[level]):
                return False
            self._learn(level, result)
        return True

    def bound_at_several_prices(self, clock: Clock, rise_usd_per_hour: float = np.inf) -> None:
        """What each level costs at least by whole numbers, before any is solved; the dearest ones first.

        Args:
            clock: After which no more is asked.
            rise_usd_per_hour: Nor once the week costs so much more.
        """
        if self.several is None:
            return
        offers, began = self.problem.offers, float(self.hours @ self.lower)
        for level in np.argsort(-self.hours * self.lower, kind="stable").tolist():
            if self.hours @ self.lower - began >= rise_usd_per_hour:
                break
            least = self.several.least(level, offers.price_usd_per_hour, offers.available, clock).usd_per_hour
            # no more is known of a level that nothing serves than that it may have no plan
            if np.isfinite(least):
                self.lower[level] = max(self.lower[level], least)
        self.lower = np.where(self.within, self.lower[:, None], 0.0).max(axis=0)

    def _covered(self, worth: Worth) -> Cover:
        """What whole instances cost that are worth what a level asks for, which bounds it before it is solved."""
        price = np.tile(self.problem.offers.price_usd_per_hour, (len(self.hours), 1))
        cover = Cover(self.problem, worth, price)
        least = cover.by_period(np.zeros(len(self.problem.offers), dtype=np.int64))
        # no more is known of a level that nothing covers than that it may have no plan
        self.lower = np.where(np.isfinite(least), least, 0.0)
        return cover

    def _searched(self, level: int, state: SearchState, search: PeriodSearch) -> SearchResult:
        """The search of one level: among offers with which a plan may cost least first, then those that may beat it."""
        problem = single_period(self.problem, level, self.problem.offers.price_usd_per_hour)
        known = Known(float(self.lower[level]))
        if self._cover is None:
            return search(problem, state, known=known)
        least = self._cover.with_one(level)
        near = least <= (1 + NEAR) * max(self.lower[level], least.min(initial=np.inf))
        part = compacted(problem, near[problem.candidates.offer])
        if len(part.candidates) == len(problem.candidates) or not serves_all(part.problem):
            return search(problem, state, known=known)
        found = _in_whole(search(part.problem, own_state(state, state.clock), known=known), part, problem)
        most = state.cutoff_usd_per_hour if found.incumbent is None else found.incumbent.usd_per_hour
        left = near | (least <= most)
        if (left == near).all():
            # what runs another offer costs more
            return found
        own = replace(own_state(state, state.clock), cutoff_usd_per_hour=most)
        part = compacted(problem, left[problem.candidates.offer])
        more = _in_whole(search(part.problem, own, known=known), part, problem)
        plan = cheaper(found.incumbent, more.incumbent)
        if plan is None:
            return more
        lower = min(more.bound.usd_per_hour, plan.usd_per_hour)
        return SearchResult("feasible", replace(more.bound, usd_per_hour=lower), plan)

    def _next(self) -> int | None:
        """The level in the middle of those that the same two levels bound, where these are farthest apart in all.

        First those that told most when they were solved beside something else.
        """
        open_levels = np.flatnonzero(~self._solved & (self.upper > self.lower))
        if self._rose[open_levels].any():
            return int(open_levels[self._rose[open_levels].argmax()])
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
        plan = result.incumbent
        if plan is not None and plan.usd_per_hour < self.upper[level] and self.add(level, plan):
            self._serves(level, plan.usd_per_hour)
        least = min(result.bound.usd_per_hour, self.upper[level])
        if np.isfinite(least):
            raised = np.where(self.within[level], np.maximum(self.lower, least), self.lower)
            self._rose[level] = self.hours @ (raised - self.lower)
            self.lower = raised

    def _serves(self, level: int, usd_per_hour: float) -> None:
        """What a plan of one level says of those beneath it."""
        self.upper = np.where(self.within[:, level], np.minimum(self.upper, usd_per_hour), self.upper)

    def add(self, level: int, plan: Incumbent) -> bool:
        """One more plan of a level, unless the same machines with the same replicas are known for it.

        Returns:
            Whether it carries what the level asks for.
        """
        for own, other in self.plans:
            alike = (other.replicas == plan.replicas).all() and (other.instances == plan.instances).all()
            if alike and self.within[level, own]:
                return True
        carried = carries(self.problem, plan, level)
        if carried:
            self.plans.append((level, plan))
        return carried

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


def _in_whole(result: SearchResult, part: Sorted, problem: Problem) -> SearchResult:
    """What a search of a part says, in the index order of the whole."""
    plan = None if result.incumbent is None else result.incumbent.for_whole(part, problem)
    return replace(result, bound=result.bound.for_whole(part.candidates, len(problem.candidates)), incumbent=plan)

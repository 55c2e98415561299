"""A plan of few configurations for several workloads over a week, each looked at alone and put together after.

The simplest plan of several workloads is a search over all their configurations at once, which a large week has no time
for. Where no limit adds up over the fleet, plans of each workload alone are a plan of all. So the cheapest plan of one
configuration is looked for among all of a workload's, those of two and three among the ones that a known plan runs of
it; of these the fewest that cost no more than allowed are taken, and then as few places and instances as they need.
That no plan is simpler is not proven by it.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations, product
from typing import Final

import numpy as np

from optimizer.program.laid_out import search_laid_out
from optimizer.program.large.decomposition import alone, together
from optimizer.program.large.joined_periods import between_hours_usd_per_hour
from optimizer.program.large.patterns import pattern_bound
from optimizer.program.problem.problem import Problem, Sorted, compacted
from optimizer.program.problem.quantities import labels, serves_all
from optimizer.program.problem.single_instances import on_a_single_instance
from optimizer.program.proof.dominance import undominated
from optimizer.program.proof.state import Incumbent, SearchState
from optimizer.program.proof.steps import cheaper, within_cutoff
from optimizer.program.refine.loading import with_restarts
from optimizer.program.simplest import (
    NEAR,
    Complexity,
    Simplest,
    complexity_of,
    held_to_configurations,
    search_simplest,
)

MOST_CONFIGURATIONS: Final = 3
"""Of a workload."""

MOST_CHOICES: Final = 10_000
"""Numbers of configurations by workload beyond which they are not looked at."""


def search_few(problem: Problem, state: SearchState, known: Complexity, own: frozenset[str]) -> Simplest:
    """A plan of fewer configurations than a known one, if it costs no more than the state's cutoff.

    Args:
        problem: In canonical order.
        state: Its cutoff is what a plan may cost.
        known: Of a known plan.
        own: The configurations that it runs.
    """
    workloads = len(labels(problem.traffic.workload))
    joined = any(item.over == "fleet" for item in problem.limits.in_force) or problem.has_minimum_billing
    if joined or problem.tolls_usd_per_hour.size or MOST_CONFIGURATIONS**workloads > MOST_CHOICES:
        return Simplest(None, proven=False)
    every = np.ones(len(problem.candidates), dtype=np.bool_)
    parts = [alone(problem, every, np.arange(workloads) == number) for number in range(workloads)]
    least = [_least_usd_per_hour(part.problem, state) for part in parts]
    spare = state.cutoff_usd_per_hour - sum(least)
    few = [
        _Few(part.problem, replace(state, cutoff_usd_per_hour=spare + alone_usd), own, alone_usd)
        for part, alone_usd in zip(parts, least, strict=True)
    ]
    chosen = _fewest(few, state.cutoff_usd_per_hour)
    plan = _put_together(problem, parts, chosen) if chosen else None
    if plan is None or complexity_of(problem, plan) >= known:
        return Simplest(None, proven=False)
    return Simplest(_at_fewer_places(problem, plan, state), proven=False)


def _put_together(problem: Problem, parts: Sequence[Sorted], plans: Sequence[Incumbent]) -> Incumbent | None:
    """One plan of all workloads, its starts paid for as those of one fleet; None where an offer has not as many."""
    plan = together(problem, parts, plans)
    if plan is None or (plan.instances > problem.offers.available).any():
        return None
    apart = sum(
        each.restarts_usd_per_hour + between_hours_usd_per_hour(part.problem, each.instances)
        for part, each in zip(parts, plans, strict=True)
    )
    started = between_hours_usd_per_hour(problem, plan.instances)
    free = replace(plan, usd_per_hour=plan.usd_per_hour - apart + started, restarts_usd_per_hour=0.0)
    return with_restarts(problem, free)[0]


def _least_usd_per_hour(week: Problem, state: SearchState) -> float:
    """What no plan of a workload alone undercuts, as far as is soon known."""
    return pattern_bound(compacted(week, undominated(week)).problem, state.clock).bound.usd_per_hour


class _Few:
    """The cheapest plans of a workload alone with so many configurations, each looked for when it is asked for."""

    def __init__(self, week: Problem, state: SearchState, own: frozenset[str], least_usd_per_hour: float) -> None:
        """Nothing looked for yet.

        Args:
            week: Of the workload.
            state: Its cutoff is what the workload may cost.
            own: Configurations of which those of two and more are made, beside the best alone.
            least_usd_per_hour: What no plan undercuts.
        """
        self._least = least_usd_per_hour
        self._week, self._state, self._own = week, state, own
        self._found = dict[int, Incumbent | None]()

    def at_least(self, count: int) -> float:
        """USD/h of a plan of so many: what it costs, or what is known before it is looked for."""
        if count not in self._found:
            return self._least
        plan = self._found[count]
        return np.inf if plan is None else plan.usd_per_hour

    def plan_of(self, count: int) -> Incumbent | None:
        """The cheapest of so many configurations, or of fewer; None where all that was seen costs too much."""
        if count not in self._found:
            one = _searched(held_to_configurations(self._week, 1), self._state) if count == 1 else None
            self._found[count] = one if count == 1 else self._of_several(count)
        return self._found[count]

    def _of_several(self, count: int) -> Incumbent | None:
        """The cheapest of so many of the known configurations, each choice of them searched for less than the last."""
        names, plan = self._week.candidates.configuration, self.plan_of(count - 1)
        alone_best = self._found[1]
        ran = set() if alone_best is None else {names[c] for c in np.flatnonzero(alone_best.used).tolist()}
        for kept in combinations(sorted((self._own | ran) & set(names)), count):
            most = self._state.cutoff_usd_per_hour if plan is None else plan.usd_per_hour
            part = _of_configurations(self._week, kept)
            inner = replace(self._state, cutoff_usd_per_hour=most, relative_gap=NEAR, eliminated={})
            if serves_all(part.problem) and (more := _searched(part.problem, inner)) is not None:
                plan = cheaper(plan, more.for_whole(part, self._week))
        return plan


def _searched(week: Problem, state: SearchState) -> Incumbent | None:
    """The cheapest plan within the state's cutoff."""
    return within_cutoff(search_laid_out(week, state).result, state).incumbent


def _of_configurations(problem: Problem, kept: Sequence[str]) -> Sorted:
    """The part of a problem that runs some configurations alone."""
    return compacted(problem, np.array([label in kept for label in problem.candidates.configuration]))


def _fewest(few: Sequence[_Few], most_usd_per_hour: float) -> list[Incumbent] | None:
    """A plan of each workload, of fewest configurations in all and then of least cost; None where all cost too much."""
    by_total = defaultdict[int, list[tuple[int, ...]]](list)
    for counts in product(range(1, MOST_CONFIGURATIONS + 1), repeat=len(few)):
        by_total[sum(counts)].append(counts)
    best, most = None, most_usd_per_hour
    for total in sorted(by_total):
        # of as many in all those of few for each first, which take least to know
        for counts in sorted(by_total[total], key=max):
            if sum(each.at_least(count) for each, count in zip(few, counts, strict=True)) > most:
                continue
            plans = [each.plan_of(count) for each, count in zip(few, counts, strict=True)]
            there = [plan for plan in plans if plan is not None]
            cost = sum(plan.usd_per_hour for plan in there)
            if len(there) == len(few) and cost <= most:
                best, most = there, cost
        if best is not None:
            return best
    return None


def _at_fewer_places(problem: Problem, plan: Incumbent, state: SearchState) -> Incumbent:
    """A plan of the same configurations, at fewer places or on fewer instances where that may be."""
    part = _of_configurations(
        problem, [problem.candidates.configuration[c] for c in np.flatnonzero(plan.used).tolist()]
    )
    found = search_simplest(
        part.problem,
        state,
        complexity_of(problem, plan),
        break_ties=False,
        single=on_a_single_instance(problem, plan.replicas, plan.instances),
        counts=("places", "instances"),
    )
    return plan if found.plan is None else found.plan.for_whole(part, problem)

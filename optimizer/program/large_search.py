"""The search of a large problem: a bound by patterns, a first plan from what it points to, then what is left."""

from dataclasses import dataclass, replace

import numpy as np

from optimizer.base.arrays import Flags
from optimizer.program.formulation.model import Program
from optimizer.program.formulation.variables import lay_out
from optimizer.program.large.patterns import PatternBound, pattern_bound
from optimizer.program.large.restriction import WEEK_COLUMNS, promising_part, with_one_group
from optimizer.program.large.start_costs import bound_over_the_week
from optimizer.program.large.unlinked import kinds_of_periods
from optimizer.program.problem.problem import Problem, Sorted, compacted
from optimizer.program.proof.relaxation import Bound
from optimizer.program.proof.state import Incumbent, Known, SearchResult, SearchState, incumbent_of
from optimizer.program.proof.steps import (
    can_beat,
    cheaper,
    final_solve,
    ready_for_final,
    result_of,
    ruled_out,
    solve_part,
    within_gap,
)
from optimizer.program.solver import SolverResult, Status
from optimizer.program.weeks.paid_all_month import plan_of_levels
from optimizer.program.weeks.period_programs import PeriodSearch, bound_by_periods, first_prices, may_part
from optimizer.program.weeks.rolling_horizon import counted_by_period, planned_by_windows

WIDE_GAP = 2e-3
"""Relative gap beyond which each period gets a program of its own."""

SHARE_OF_PERIODS, SHARE_OF_UNLINKED_PERIODS = 0.5, 0.8
"""Of what is left on the clock: what programs of single periods may use, where starts join these, and else."""

SHARE_OF_LEVELS = 0.7
"""The same: for a first plan of a week made of those of its levels."""

LARGE_PARTS = ((0, 200, 3), (100, 200, 5), (400, 400, 5))
"""The same for a large problem: parts tried for a first plan, by candidates besides the mixture, nodes and mixes."""


def search_large(problem: Problem, keep: Flags, state: SearchState, search: PeriodSearch, known: Known) -> SearchResult:
    """The same with the sharper bound, and a first plan from the part of the problem that it points to."""
    asked = _LargeSearch(problem, compacted(problem, keep), state, search)
    # nobody is told a bound of a first plan, which is made of levels sooner than starts are counted
    bounded = state.proof or state.relative_gap > 0 or np.isfinite(state.cutoff_usd_per_hour)
    with state.phase("relaxation"):
        found = pattern_bound(asked.part.problem, state.clock)
        found = asked.with_starts(found) if bounded else found
        bound = known.raises(found.bound.for_whole(asked.part.candidates, len(problem.candidates)))
    state.best_and_bound(known.plan, bound.usd_per_hour)
    if ruled_out(problem, bound.usd_per_hour, state):
        return SearchResult("infeasible", bound, None)
    if ready_for_final(problem, keep, bound, state) and not state.clock.expired:
        return final_solve(problem, keep, bound, known.plan, state)
    with state.phase("incumbent"):
        levels = asked.planned_by_levels(found)
        incumbent = cheaper(levels, known.plan)
        if levels is None:
            found = found if bounded else asked.with_starts(found)
            incumbent = asked.first_plan(found, incumbent, bound)
    if _worth_parting(problem, bound, incumbent, state):
        bound, incumbent = asked.parted(found, bound, incumbent)
        state.best_and_bound(incumbent, bound.usd_per_hour)
    if incumbent is None and ruled_out(problem, bound.usd_per_hour, state):
        return SearchResult("infeasible", bound, None)
    remaining = keep & can_beat(problem, bound, incumbent, state)
    state.eliminated["reduced_cost"] = int((keep & ~remaining).sum())
    # a first plan made of levels is near the cheapest, and what the program of all periods finds beside it is little
    enough = levels is not None and not state.proof
    if within_gap(bound, incumbent, state) or state.clock.expired or enough:
        ended: Status = "unproven" if incumbent is None else "feasible"
        return result_of(problem, keep, bound, SolverResult(ended, bound.usd_per_hour), incumbent, state)
    return final_solve(problem, keep, bound, incumbent, state)


@dataclass(frozen=True)
class _LargeSearch:
    """A large problem under search.

    Attributes:
        problem: The whole, in the index order of which plans are.
        part: Of its candidates those that are kept.
        state: Of the search.
        search: Solves one period or level.
    """

    problem: Problem
    part: Sorted
    state: SearchState
    search: PeriodSearch

    def with_starts(self, found: PatternBound) -> PatternBound:
        """The bound with what starts add to it, where any is paid for."""
        part = self.part.problem
        return bound_over_the_week(part, found, self.state.clock) if part.traffic.start_share.any() else found

    def planned_by_levels(self, found: PatternBound) -> Incumbent | None:
        """A plan made of those of the week's levels."""
        own = replace(self.state, clock=self.state.clock.share(SHARE_OF_LEVELS))
        return plan_of_levels(self.part, found, kinds_of_periods(self.problem), self.problem, own, self.search)

    def first_plan(self, found: PatternBound, known: Incumbent | None, bound: Bound) -> Incumbent | None:
        """The cheaper of a known plan and those that the bound points to; none is looked for long where periods, each
        with a program of its own, will say more.
        """
        incumbent = cheaper(self.planned_over_the_week(found), known)
        if incumbent is not None or not (may_part(self.problem) and self.state.proof):
            incumbent = self.planned_on_parts(found, incumbent, bound)
        return incumbent

    def planned_over_the_week(self, found: PatternBound) -> Incumbent | None:
        """A first plan by windows, where starts count and each promise can be held against a few periods at a time."""
        if found.instances is None or not counted_by_period(self.problem):
            return None
        inner = promising_part(self.part, found, WEEK_COLUMNS)
        lowest = found.bound.for_whole(self.part.candidates, len(self.problem.candidates)).with_candidate_usd_per_hour
        inner = with_one_group(inner, lowest[inner.candidates])
        estimate = found.instances[:, np.searchsorted(self.part.offers, inner.offers)]
        target = found.bound.usd_per_hour / (1 - self.state.relative_gap)
        result = planned_by_windows(inner.problem, estimate, self.state.clock, target)
        if result is None:
            return None
        program = Program(inner.problem, lay_out(inner.problem, relaxed=False), {}, relaxed=False)
        return incumbent_of(result, program, inner, self.problem)

    def planned_on_parts(self, found: PatternBound, known: Incumbent | None, bound: Bound) -> Incumbent | None:
        """The cheaper of a known plan and those of parts that the bound points to.

        Wider parts are looked at as long as there is no plan, and to the last where a gap was asked for, save in a
        week, whose programs of wide parts take longer than all else.
        """
        state, incumbent = self.state, known
        to_the_last = state.relative_gap and self.problem.traffic.periods == 1
        for tried, (candidates, nodes, mixes) in enumerate(LARGE_PARTS):
            enough = tried and incumbent is not None and not to_the_last
            if enough or within_gap(bound, incumbent, state) or state.clock.expired:
                break
            promising = promising_part(self.part, found, candidates, mixes)
            _, plan = solve_part(promising, self.problem, state, nodes, bound.usd_per_hour)
            incumbent = cheaper(plan, incumbent)
            state.best_and_bound(incumbent, bound.usd_per_hour)
        return incumbent

    def parted(self, found: PatternBound, bound: Bound, incumbent: Incumbent | None) -> tuple[Bound, Incumbent | None]:
        """The bound that programs of single periods raise, and the cheapest of a known plan and those they point to."""
        part, problem, state = self.part, self.problem, self.state
        with state.phase("periods"):
            prices, of_part = first_prices(part.problem, found), _within(part, incumbent)
            linked = problem.traffic.start_share.any()
            share = SHARE_OF_PERIODS if linked else SHARE_OF_UNLINKED_PERIODS
            own = replace(state, clock=state.clock.share(share))
            lower, runs, joined = bound_by_periods(part.problem, prices, of_part, own, self.search)
            found = replace(found, mixed=found.mixed | runs)
            bound = bound.raised_to(Bound(lower, np.full(len(problem.candidates), lower)))
        with state.phase("incumbent"):
            week = None if joined is None else joined.for_whole(part, problem)
            incumbent = cheaper(self.planned_over_the_week(found), week, incumbent)
            if incumbent is None:
                incumbent = self.planned_on_parts(found, incumbent, bound)
        return bound, incumbent


def _worth_parting(problem: Problem, bound: Bound, incumbent: Incumbent | None, state: SearchState) -> bool:
    """Whether programs of single periods are likely to tell more than is known."""
    wide = incumbent is None or incumbent.usd_per_hour - bound.usd_per_hour > WIDE_GAP * incumbent.usd_per_hour
    open_still = wide and not within_gap(bound, incumbent, state) and not state.clock.expired
    return may_part(problem) and state.proof and open_still


def _within(part: Sorted, incumbent: Incumbent | None) -> Incumbent | None:
    """A plan in the index order of a part; None where it runs something else."""
    if incumbent is None:
        return None
    instances, replicas = incumbent.instances[:, part.offers], incumbent.replicas[:, part.candidates]
    whole = instances.sum() == incumbent.instances.sum() and replicas.sum() == incumbent.replicas.sum()
    return replace(incumbent, instances=instances, replicas=replicas) if whole else None

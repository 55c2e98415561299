"""The search where instances keep what is loaded: offers whose plan would change it are counted by layout, and again.

What is paid all month is held to what is loaded from the start. For offers paid by the hour it is left out at first: to
change what an instance holds costs a start, and most plans hold one configuration on an offer anyway. That is a
relaxation, so its bound holds, and a plan whose layouts ask for no further start is as good in the whole program. Where
one does, its offers' instances are counted by layout and the search is repeated; each round adds an offer, so it ends.
The plan of a round, its starts paid for, is known to the next one, and stands where that is cut short. Where no proof
is wanted it is not looked for again if they cost hardly anything.
"""

from dataclasses import replace
from typing import Final, NamedTuple

import numpy as np

from optimizer.base.arrays import Flags
from optimizer.base.clock import Clock
from optimizer.base.units import HOURS_PER_MONTH
from optimizer.program.outset import hardly_open, known_at_outset
from optimizer.program.problem.data import LayoutTerms
from optimizer.program.problem.layouts import layouts_of
from optimizer.program.problem.problem import Problem, compacted
from optimizer.program.proof.dominance import undominated
from optimizer.program.proof.relaxation import no_bound
from optimizer.program.proof.state import EQUAL_COST, NOTHING_KNOWN, Incumbent, SearchResult, SearchState
from optimizer.program.proof.steps import ruled_out, within_gap
from optimizer.program.refine.loading import with_restarts
from optimizer.program.refine.tie_break import break_ties
from optimizer.program.search import search

NEAR: Final = 0.01
"""Share of what a plan costs that its starts may add before another one is looked for where no proof is wanted."""


class LaidOut(NamedTuple):
    """The end of a search, and the problem with the offers that it counted by layout."""

    problem: Problem
    result: SearchResult


def search_laid_out(problem: Problem, state: SearchState, eliminate: bool = True) -> LaidOut:
    """The cheapest plan for a sorted problem, every start that its layouts ask for paid.

    Args:
        problem: In canonical order.
        state: Written as the search goes.
        eliminate: Whether to leave out by proof what the cheapest plan does not need; the optimum is the same.
    """
    if not eliminate:
        problem = _by_layout(problem, ~problem.offers.always_paid)
    if eliminate and _too_many_layouts(problem):
        return _bounded_from_outside(problem, state)
    known = known_at_outset(problem, state) if eliminate else NOTHING_KNOWN
    while True:
        bound = known.raises(no_bound(problem))
        if known.plan is None and ruled_out(problem, known.usd_per_hour, state):
            return LaidOut(problem, SearchResult("infeasible", bound, None))
        if known.usd_per_hour and state.clock.expired:
            # all that was worth asking in no time has been
            result = SearchResult("unproven", bound, known.plan)
        elif within_gap(bound, known.plan, state) or hardly_open(problem, known, state):
            result = SearchResult("unproven" if known.plan is None else "feasible", bound, known.plan)
        else:
            result = search(problem, state, eliminate, known)
        if result.incumbent is None:
            return LaidOut(problem, result)
        plan, turned = with_restarts(problem, result.incumbent)
        if plan.usd_per_hour <= result.incumbent.usd_per_hour * (1 + EQUAL_COST):
            return LaidOut(problem, replace(result, incumbent=plan))
        more, paid = turned & ~_counted(problem), paid_for(problem, result, plan)
        enough = state.clock.expired or within_gap(result.bound, plan, state) or _near(result, paid, state)
        if not more.any() or enough:
            return LaidOut(problem, paid)
        # what was found stands at the price of its starts, should the next search be cut short
        problem, known = _by_layout(problem, more), replace(known, plan=paid.incumbent)
        state.eliminated.clear()


def _near(result: SearchResult, paid: SearchResult, state: SearchState) -> bool:
    """Whether a plan without a proof costs hardly more for its starts than was found without them."""
    if state.proof or result.incumbent is None or paid.incumbent is None:
        return False
    return paid.incumbent.usd_per_hour <= (1 + NEAR) * result.incumbent.usd_per_hour


def preferred(found: LaidOut, plan: Incumbent, clock: Clock) -> Incumbent:
    """The preferred one among the plans that cost as little as `plan`, with no more starts for its layouts.

    As far as the clock allows.
    """
    problem = found.problem
    while True:
        tidy = break_ties(problem, plan, found.result.bound.with_candidate_usd_per_hour, clock)
        paid, turned = with_restarts(problem, tidy)
        if paid.usd_per_hour <= plan.usd_per_hour * (1 + EQUAL_COST):
            return paid
        more = turned & ~_counted(problem)
        if not more.any() or clock.expired:
            return plan
        problem = _by_layout(problem, more)


def paid_for(problem: Problem, result: SearchResult, plan: Incumbent) -> SearchResult:
    """A plan that pays for starts which a search left out; none where the budget does not allow it."""
    budget = problem.limits.max_monthly_usd
    if budget is not None and plan.usd_per_hour * HOURS_PER_MONTH > budget:
        return replace(result, status="unproven", incumbent=None)
    return replace(result, status="feasible", incumbent=plan)


def _counted(problem: Problem) -> Flags:
    """(O,) offers paid by the hour that are counted by layout already."""
    counted = problem.layouts.by_layout
    return counted if len(counted) else np.zeros(len(problem.offers), dtype=np.bool_)


def _by_layout(problem: Problem, more: Flags) -> Problem:
    """The problem with more offers (O,) counted by layout."""
    return replace(problem, layouts=replace(problem.layouts, by_layout=_counted(problem) | more))


def _too_many_layouts(problem: Problem) -> bool:
    """Whether machines that are paid all month and may be repartitioned have more layouts than the program counts."""
    if not problem.layouts.followed.any():
        return False
    return bool(layouts_of(compacted(problem, undominated(problem)).problem).unlisted.any())


def _bounded_from_outside(problem: Problem, state: SearchState) -> LaidOut:
    """A plan whose machines with too many layouts keep theirs, with the bound of one in which all change freely."""
    free = search(replace(problem, layouts=LayoutTerms(kept=False)), state)
    if free.status == "infeasible":
        return LaidOut(problem, free)
    state.eliminated.clear()
    found = search(problem, state)
    if found.incumbent is None:
        return LaidOut(problem, replace(found, status="unproven", bound=free.bound))
    plan, _ = with_restarts(problem, found.incumbent)
    return LaidOut(problem, paid_for(problem, replace(found, bound=free.bound), plan))

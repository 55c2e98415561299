"""A simple plan of a large week, asked for before every hour is: where it is near enough, the search ends there.

The plan that is asked for is the simplest that costs little more than the cheapest. So where a simple one costs at most
the percentage more than a bound of the cheapest, the proof of the cheapest has nothing more to say about it: what it
would take minutes to find is a patchwork that is not shown. The bound is one of every hour of the week; the plan is one
of few periods, as every plan that is shown for its simplicity.
"""

from dataclasses import replace
from functools import partial
from typing import Final

import numpy as np

from optimizer.performance.candidates.periods import exact_hours
from optimizer.plan.question.holding import holding
from optimizer.plan.question.inquiry import Answer, Inquiry
from optimizer.plan.question.make_weights import without_make_weights
from optimizer.program.few_configurations import search_few
from optimizer.program.proof.state import EQUAL_COST
from optimizer.program.proof.steps import MOST_CELLS_OF_EQUALS
from optimizer.program.simplest import least_complexity, search_simplest

ENOUGH: Final = "no plan costs so much less that a simpler one would not be shown in its place"

SHARE_OF_SIMPLE: Final = 0.4
"""Of what is left of a limit, for the simple plan."""


def may_end_simply(inquiry: Inquiry) -> bool:
    """Whether a simple plan is what a question of a week is after, and nothing that runs today stays in its place."""
    policy = inquiry.scenario.policy
    runs = inquiry.running or (policy.migration is not None and policy.migration.in_force)
    wanted = inquiry.simplifies and policy.simplicity_percent > 0 and inquiry.shown is None and not inquiry.close_enough
    return bool(inquiry.over_time and wanted and not runs)


def simple_first(inquiry: Inquiry, coarse: Answer) -> Answer | None:
    """The simplest plan of few periods that costs little more than the cheapest of these, if it is simpler.

    Nothing is asked where every hour is proven soon, as that of a small week is, and where request classes are mixed.

    Args:
        inquiry: The question.
        coarse: Its cheapest plan of few periods, as far as it was searched.
    """
    cost_usd = coarse.solution.cost_usd_per_month
    if cost_usd is None or inquiry.mixes_between() or inquiry.clock.expired or not is_large(coarse):
        return None
    asked = replace(inquiry, clock=inquiry.clock.share(SHARE_OF_SIMPLE), looks_ahead=False)
    search = partial(
        search_simplest, known=coarse.complexity, break_ties=not inquiry.any_of_equals, single=coarse.single
    )
    if len(inquiry.scenario.workloads) > 1:
        search = partial(search_few, known=coarse.complexity, own=_configurations(coarse))
    found, proven = holding(asked, None, search, cost_usd * _times(inquiry))
    if found is None or found.complexity >= coarse.complexity:
        return None
    return replace(found, simplicity_proven=proven, enough=asked.clock.reached is None)


def is_near(simple: Answer, cheapest: Answer) -> bool:
    """Whether a simple plan costs little more than the cheapest that was found."""
    return (cheapest.solution.cost_usd_per_month or 0.0) >= enough_usd(simple) * (1 - EQUAL_COST)


def is_refuted(simple: Answer, every: Answer) -> bool:
    """Whether every hour has a plan beside which a simple one costs too much, found before a limit was reached."""
    found = every.solution
    return found.cost_usd_per_month is not None and found.ended_by is None and not is_near(simple, every)


def is_settled(simple: Answer, every: Answer) -> bool:
    """Whether every hour says of a simple plan that it is near enough, or that it is not."""
    return is_refuted(simple, every) or (every.solution.bound_usd_per_month or 0.0) >= enough_usd(simple)


def simpler_of_its_own(cheapest: Answer) -> Answer | None:
    """A plan of fewer of the cheapest plan's own configurations that costs little more than no plan undercuts.

    None where there is none.
    """
    inquiry, bound_usd = cheapest.inquiry, cheapest.solution.bound_usd_per_month or 0.0
    asked = replace(inquiry, clock=inquiry.clock.share(SHARE_OF_SIMPLE), looks_ahead=False)
    found = without_make_weights(cheapest, asked, bound_usd * _times(inquiry))
    if found is None:
        return None
    return replace(found, simplicity_proven=False, enough=asked.clock.reached is None)


def enough_usd(simple: Answer) -> float:
    """What the cheapest plan must cost a month at least for a simple one to be within the percentage of it."""
    return (simple.solution.cost_usd_per_month or 0.0) / _times(simple.inquiry)


def within_percentage(cheapest: Answer) -> Answer | None:
    """The simple plan that was found first, where it costs little more than the cheapest that was found.

    Where dollars are allowed for each configuration less, one that has more than it must may give way to another.
    """
    simple = cheapest.simple_first
    if simple is None or not is_near(simple, cheapest):
        return None
    fewest = least_complexity(simple.formulation.problem).configurations
    by_dollars = simple.inquiry.scenario.policy.simplicity_usd_per_configuration
    return None if by_dollars and simple.complexity.configurations > fewest else simple


def ended_simply(shown: Answer, simple: Answer) -> Answer:
    """The simple plan as it is shown, which ended the search for the cheapest where that need not be proven."""
    found = shown.solution
    near = (found.bound_usd_per_month or 0.0) >= enough_usd(simple) * (1 - EQUAL_COST)
    if not near or found.outcome == "optimal" or found.ended_by is not None or not simple.enough:
        return shown
    return replace(shown, solution=replace(found, reason=ENOUGH), enough=True)


def _configurations(coarse: Answer) -> frozenset[str]:
    """The names of those that a plan runs."""
    named = coarse.formulation.problem.candidates.configuration
    return frozenset(named[c] for c in np.flatnonzero(coarse.solution.replicas.any(axis=0)).tolist())


def _times(inquiry: Inquiry) -> float:
    """What a plan may cost for its simplicity, as a multiple of the cheapest."""
    return 1 + inquiry.scenario.policy.simplicity_percent / 100


def is_large(coarse: Answer) -> bool:
    """Whether the program of every hour may take long: by what is left of the candidates of few periods."""
    candidates = len(coarse.formulation.problem.candidates) - coarse.solution.eliminated.get("dominance", 0)
    periods = int(exact_hours(coarse.inquiry.scenario).max()) + 1
    return candidates * periods > MOST_CELLS_OF_EQUALS

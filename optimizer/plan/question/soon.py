"""The answer whose plan is simulated first: of a large week of classes that may mix, one that is found soon.

Simulated requests refute most first plans of such a week. What was proven by then is of rates that nobody counts on any
more, so every hour is asked once a plan of few periods holds.
"""

from dataclasses import replace
from typing import Final

from optimizer.performance.candidates.periods import joined_hours
from optimizer.plan.question.asking import answered, first_with_a_plan
from optimizer.plan.question.by_second import containers_of
from optimizer.plan.question.enlarging import enlarged
from optimizer.plan.question.inquiry import Answer, Inquiry
from optimizer.plan.question.mixes_held import SHARE_OF_LARGER
from optimizer.plan.question.simple_first import is_large, may_end_simply
from optimizer.plan.question.solving import EXACT_NODES, less_than

MOST_PERIODS: Final = 6
"""Of a plan that is found soon."""


def first_answer(asked: Inquiry) -> Answer:
    """The answer, or of a large week of classes that may mix a plan of few periods without a bound."""
    if not _may_begin_soon(asked):
        return answered(asked)
    soon = first_with_a_plan(asked, found_soon)
    if soon.solution.cost_usd_per_month is None or not is_large(soon):
        return answered(asked)
    # what few periods say is true of these alone
    return replace(soon, solution=soon.solution.above(0.0, None), every_hour_is_due=True)


def _may_begin_soon(asked: Inquiry) -> bool:
    """Whether classes may mix over a week, of which every hour is asked for after few periods are."""
    due = any(each.deadline is not None for each in asked.scenario.workloads)
    mixes = asked.over_time and not asked.week.exact and asked.mixes_between() > 0
    return mixes and may_end_simply(asked) and not due and not containers_of(asked)


def found_soon(inquiry: Inquiry, known: Inquiry | None = None, most_periods: int = MOST_PERIODS) -> Answer:
    """A plan of few periods of the week, whose replicas hold what they are sent as far as predictions tell.

    Where a mix of classes is more than shares add up to, it is predicted and the plan made larger, or if that leads to
    none, nothing is mixed. Whoever asks on knows such mixes, which make a program larger than is soon solved.

    Args:
        inquiry: The question.
        known: The same with the mixes that were predicted for plans before this one; None if it is the first.
        most_periods: How many there are at most.
    """
    hours = joined_hours(inquiry.scenario, min(most_periods, inquiry.scenario.policy.elastic.max_periods))
    asked = replace(inquiry, hour_to_period=hours, node_limit=EXACT_NODES, proves=False, any_of_equals=True)
    wide = replace(asked, options=(known or inquiry).options)
    # of equals the one that mixes nothing breaks a promise less often
    plain = asked.apart().solved_once(None) if known is None else None
    plain_usd = None if plain is None else less_than(plain.solution.cost_usd_per_month)
    found = asked.solved_once(None, plain_usd)
    if plain is not None and plain_usd is not None and found.solution.cost_usd_per_month is None:
        found = replace(plain, inquiry=asked)
    if broken := found.broken():
        wide = wide.with_predicted(broken)
        larger = enlarged(found, replace(wide, clock=wide.clock.share(SHARE_OF_LARGER)))
        found = (plain or asked.apart().solved_once(None)) if larger is None else larger
        wide = wide if larger is None else larger.inquiry
    own = replace(wide, proves=inquiry.proves, node_limit=inquiry.node_limit, any_of_equals=inquiry.any_of_equals)
    return replace(found, inquiry=replace(own, clock=inquiry.clock), looked_between=True, simplicity_proven=False)

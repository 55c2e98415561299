"""The answer whose plan is simulated first: of a large week of classes that may mix, one that is found soon.

Simulated requests refute most first plans of such a week. What was proven by then is of rates that nobody counts on any
more, so every hour is asked once a plan of few periods holds.
"""

from dataclasses import replace

from optimizer.plan.question.asking import answered, first_with_a_plan
from optimizer.plan.question.by_second import containers_of
from optimizer.plan.question.inquiry import Answer, Inquiry
from optimizer.plan.question.simple_first import is_large, may_end_simply
from optimizer.plan.question.solving import of_few_periods


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


def found_soon(inquiry: Inquiry) -> Answer:
    """A plan of few periods that mixes what is added up between predicted mixes only where it holds at once."""
    found = of_few_periods(replace(inquiry, most_rounds=1))
    return replace(found, inquiry=replace(found.inquiry, options=inquiry.options, most_rounds=None))

"""What a scenario asks, decided in one place: plans on what was measured and published, or on more if there are none.

Every answer asks its question through here, so that all of them mean the same by it. Plans beside an answer, under a
change or a sweep, are of the question as it was decided.
"""

from collections.abc import Callable

from optimizer.inputs.requirements.avoided import avoided, kept_to
from optimizer.plan.question.batches import at_best_hours, solved_at_best_hours
from optimizer.plan.question.inquiry import Answer, Inquiry
from optimizer.plan.question.solving import solved_for_least_cost


def answered(inquiry: Inquiry) -> Answer:
    """The simplest plan that is as good as cheapest, of the first question that has one."""
    return first_with_a_plan(inquiry, solved_at_best_hours)


def decided(inquiry: Inquiry) -> Inquiry:
    """The first question that has a plan, for answers that begin with none of their own."""
    if not avoided(inquiry.scenario):
        return at_best_hours(inquiry)
    found = first_with_a_plan(inquiry, lambda asked: solved_for_least_cost(at_best_hours(asked).for_comparison()))
    return as_decided(inquiry, found)


def as_decided(inquiry: Inquiry, answer: Answer) -> Inquiry:
    """A question as its answer decided it: what is avoided, what replicas hold, and when batches are worked on."""
    asked = inquiry.keeping_to(answer.inquiry.avoided).with_lowered(answer.inquiry.lowered)
    return asked.changed(answer.inquiry.scenario)


def first_with_a_plan(inquiry: Inquiry, solve: Callable[[Inquiry], Answer]) -> Answer:
    """The answer to the question that keeps to all that the scenario avoids, or where that has no plan to less of it.

    Only a proof that there is none leads on: a search that was cut short says nothing about plans on estimates. Where
    no question has a plan the last answer stands, which admits all that the scenario does.

    Args:
        inquiry: The question with all that the scenario admits.
        solve: How it is answered.
    """
    for fields in kept_to(inquiry.scenario):
        answer = solve(inquiry.keeping_to(fields))
        if answer.solution.outcome != "infeasible":
            break
    return answer

"""What a scenario asks, decided in one place: plans on what was measured and published, or on more if there are none.

Every answer asks its question through here, so that all of them mean the same by it. Plans beside an answer, under a
change or a sweep, are of the question as it was decided.
"""

from collections.abc import Callable

from optimizer.inputs.requirements.avoided import acceptable
from optimizer.plan.question.batches import at_best_hours
from optimizer.plan.question.inquiry import Answer, Inquiry
from optimizer.plan.question.solving import solved, solved_for_least_cost


def answered(inquiry: Inquiry) -> Answer:
    """The simplest plan that is as good as cheapest, of the first question that has one."""
    return first_with_a_plan(inquiry, lambda asked: solved(at_best_hours(asked)))


def decided(inquiry: Inquiry) -> Inquiry:
    """The first question that has a plan, for answers that begin with none of their own."""
    if len(set(acceptable(inquiry.scenario))) == 1:
        return at_best_hours(inquiry)
    found = first_with_a_plan(inquiry, lambda asked: solved_for_least_cost(at_best_hours(asked).for_comparison()))
    return as_decided(inquiry, found)


def as_decided(inquiry: Inquiry, answer: Answer) -> Inquiry:
    """A question as its answer decided it: what was accepted, and when batches are worked on."""
    return inquiry.accepting(answer.inquiry.accepted).changed(answer.inquiry.scenario)


def first_with_a_plan(inquiry: Inquiry, solve: Callable[[Inquiry], Answer]) -> Answer:
    """The answer to the question as it stands, or where that has no plan with what the scenario avoids accepted.

    Only a proof that there is none leads on: a search that was cut short says nothing about plans on estimates. Where
    no step has a plan the last answer stands, which admits all that the scenario does.

    Args:
        inquiry: The question as the scenario states it.
        solve: How it is answered.
    """
    for fields in acceptable(inquiry.scenario):
        answer = solve(inquiry.accepting(fields))
        if answer.solution.outcome != "infeasible":
            break
    return answer

"""The plan of a solved question, shown by no answer before independent arithmetic has confirmed it."""

from optimizer.answers.planning.optimize import verified
from optimizer.plan.explain.simplicity import simplicity_of
from optimizer.plan.question.inquiry import Answer
from optimizer.plan.readback.readback import read_back
from optimizer.plan.record.fleet import PlannedFleet


def verified_plan(answer: Answer) -> PlannedFleet | None:
    """What is bought; None where there is no plan.

    Raises:
        VerificationFailed: the plan did not survive independent arithmetic.
    """
    if answer.solution.outcome not in ("optimal", "feasible"):
        return None
    bought = read_back(answer)
    verified(answer.inquiry, bought, simplicity_of(answer, bought))
    return bought

"""The exit code of an answer: the same on the command line and wherever else the question is asked."""

from typing import Final, TypeAlias

from optimizer.answers.accuracy.predicted import Prediction
from optimizer.answers.ahead.lifecycle.types import LifecycleReport
from optimizer.answers.compare.types import Comparison
from optimizer.answers.gate.types import GateReport
from optimizer.answers.planning.frontier import Frontier
from optimizer.answers.planning.why_not import WhyNot
from optimizer.base.errors import EXIT_BY_OUTCOME, Exit
from optimizer.plan.record.report import PlanReport
from optimizer.plan.record.simulation import Simulation

EXIT_BY_VERDICT: Final = {True: Exit.ANSWERED, False: Exit.BROKEN, None: Exit.UNPROVEN}

Answered: TypeAlias = (
    PlanReport | LifecycleReport | WhyNot | Frontier | Comparison | Simulation | GateReport | Prediction
)


def exit_of(answer: Answered) -> Exit:
    """What the command that gave this answer ends with."""
    match answer:
        case PlanReport():
            return _of_plan(answer)
        case LifecycleReport():
            return EXIT_BY_OUTCOME[answer.outcome]
        case WhyNot():
            return _of_why_not(answer)
        case Frontier():
            return _of_frontier(answer)
        case Comparison():
            return _of_comparison(answer)
        case Simulation():
            return EXIT_BY_VERDICT[answer.holds]
        case GateReport():
            return _of_gate(answer)
        case Prediction():
            return Exit.ANSWERED


def _of_plan(answer: PlanReport) -> Exit:
    """A simple plan that ended the search for the cheapest is an answer: no limit had a part in it."""
    enough = answer.simplicity is not None and answer.simplicity.enough
    return Exit.ANSWERED if enough else EXIT_BY_OUTCOME[answer.outcome]


def _of_why_not(answer: WhyNot) -> Exit:
    """That of the plan which the choice is held against, unless it is not known whether the choice has one."""
    exit_of_plan = Exit.ANSWERED if answer.enough else EXIT_BY_OUTCOME[answer.optimal_outcome]
    undecided = answer.verdict == "undecided" and exit_of_plan == Exit.ANSWERED
    return Exit.UNPROVEN if undecided else exit_of_plan


def _of_frontier(answer: Frontier) -> Exit:
    """That there is no plan anywhere is only said where that is proven."""
    if answer.plans:
        return Exit.ANSWERED
    return Exit.NO_PLAN if answer.complete else Exit.UNPROVEN


def _of_comparison(answer: Comparison) -> Exit:
    if not any(row.rank for row in answer.choices):
        return EXIT_BY_OUTCOME[answer.outcome]
    return Exit.ANSWERED if answer.outcome == "optimal" or answer.enough else Exit.UNPROVEN


def _of_gate(answer: GateReport) -> Exit:
    """The gravest of what broke the gate: no plan, then no proof, then a demand."""
    rules = {reason.rule for reason in answer.reasons}
    if "no_plan" in rules:
        return Exit.NO_PLAN
    if "unproven" in rules:
        return Exit.UNPROVEN
    return Exit.BROKEN if rules else Exit.ANSWERED

"""The cheapest fleet for a scenario, verified, without the comparisons that a full plan makes."""

from dataclasses import dataclass

from optimizer.answers.gate.baseline import GatePlan
from optimizer.answers.optimize import optimize, verified
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.scenario.checks import check_scenario
from optimizer.inputs.scenario.scenario import Scenario
from optimizer.plan.question.inquiry import Answer, Inquiry
from optimizer.plan.readback.readback import read_back
from optimizer.plan.record.fields import cents
from optimizer.plan.record.origin import inputs_of


@dataclass(frozen=True)
class Planned:
    """A fleet, how far it is from proven, and in words what stands in the way where there is none."""

    fleet: GatePlan
    relative_gap: float | None
    summary: str


def planned(scenario: Scenario, catalogs: Catalogs, time_limit_s: float | None) -> Planned:
    """Plans a scenario; where no plan exists, the summary says why and names the cheapest way out.

    Raises:
        VerificationFailed: the plan did not survive independent arithmetic.
    """
    answer = Inquiry.of(scenario, catalogs, time_limit_s).solved()
    if answer.solution.outcome in ("optimal", "feasible"):
        return Planned(_fleet(answer), answer.solution.relative_gap, "")
    report = optimize(scenario, catalogs, time_limit_s=time_limit_s)
    return Planned(GatePlan.model_validate(report.model_dump()), None, report.explanation.summary)


def proven(scenario: Scenario, catalogs: Catalogs, time_limit_s: float | None) -> GatePlan | None:
    """The cheapest fleet; None where these catalogs do not know what is asked, have no plan, or time ran out."""
    if check_scenario(scenario, catalogs):
        return None
    answer = Inquiry.of(scenario, catalogs, time_limit_s).solved()
    return _fleet(answer) if answer.solution.outcome == "optimal" else None


def _fleet(answer: Answer) -> GatePlan:
    inquiry, bought = answer.inquiry, read_back(answer)
    verified(inquiry, bought)
    return GatePlan.model_validate(
        {
            "scenario": inquiry.scenario.name,
            "outcome": answer.solution.outcome,
            "monthly_cost_usd": cents(bought.monthly_cost_usd),
            "deployments": [each.model_dump() for each in bought.deployments],
            "purchases": [each.model_dump() for each in bought.purchases],
            "hosted": [each.model_dump() for each in bought.hosted],
            "inputs": inputs_of(inquiry.scenario, inquiry.catalogs),
        }
    )

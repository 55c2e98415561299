"""The plan for a scenario, verified, without the comparisons that a full plan makes."""

from dataclasses import dataclass, replace
from decimal import Decimal

from optimizer.answers.gate.baseline import GatePlan
from optimizer.answers.planning.optimize import optimized
from optimizer.answers.planning.tried import SimulatedPlan, confirmed_answer, confirmed_plan
from optimizer.answers.planning.verified_plan import verified_plan
from optimizer.base.clock import Clock
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.scenario.checks import check_scenario
from optimizer.inputs.scenario.policy import InForce
from optimizer.inputs.scenario.scenario import Scenario
from optimizer.plan.question.inquiry import Inquiry
from optimizer.plan.question.price_free import PriceFree
from optimizer.plan.record.fields import cents
from optimizer.plan.record.origin import inputs_of
from optimizer.plan.record.report import SCHEMA_VERSION


@dataclass(frozen=True)
class Planned:
    """A plan, how far it is from proven, and in words what stands in the way where there is none.

    Attributes:
        proven: Whether every search for it came to its end, so that the same question has the same plan.
    """

    plan: GatePlan
    relative_gap: float | None
    summary: str
    proven: bool = False


def planned(
    scenario: Scenario,
    catalogs: Catalogs,
    clock: Clock,
    running: tuple[InForce, ...] = (),
    kept: PriceFree | None = None,
) -> Planned:
    """Plans a scenario; where no plan exists, the summary says why and names the cheapest way out.

    Args:
        scenario: What is asked.
        catalogs: What is known today.
        clock: Of this plan.
        running: What runs today, which stays where it costs little more than the cheapest plan.
        kept: Predictions and simulations of scenarios before.

    Raises:
        VerificationFailed: the plan did not survive independent arithmetic.
    """
    found = confirmed_plan(replace(Inquiry.of(scenario, catalogs, clock, kept), running=running))
    plan = plan_of(found) if isinstance(found, SimulatedPlan) else None
    if plan is None or not isinstance(found, SimulatedPlan):
        report = optimized(scenario, catalogs, clock, kept=kept).report
        return Planned(GatePlan.model_validate(report.model_dump()), None, report.explanation.summary)
    return Planned(plan, found.answer.solution.relative_gap, "", proven=found.proven)


def plan_of(found: SimulatedPlan) -> GatePlan | None:
    """What a gate knows of a plan; None where there is none.

    Raises:
        VerificationFailed: the plan did not survive independent arithmetic.
    """
    answer, bought = found.answer, verified_plan(found.answer)
    if bought is None:
        return None
    content = {
        "schema_version": SCHEMA_VERSION,
        "scenario": answer.inquiry.scenario.name,
        "outcome": answer.solution.outcome,
        "monthly_cost_usd": cents(bought.monthly_cost_usd),
        "deployments": [each.model_dump() for each in bought.deployments],
        "purchases": [each.model_dump() for each in bought.purchases],
        "hosted": [each.model_dump() for each in bought.hosted],
        "simplicity": {"proven": answer.simplicity_proven, "enough": answer.enough},
        "simulation": found.simulation and found.simulation.model_dump(mode="json"),
        "inputs": inputs_of(answer.inquiry.scenario, answer.inquiry.catalogs),
    }
    return GatePlan.model_validate(content)


def planned_usd(
    scenario: Scenario,
    catalogs: Catalogs,
    clock: Clock,
    running: tuple[InForce, ...] = (),
    kept: PriceFree | None = None,
) -> Decimal | None:
    """A month of the plan; None where these catalogs do not know what is asked, or nothing is proven in time."""
    if check_scenario(scenario, catalogs):
        return None
    answer = confirmed_answer(replace(Inquiry.of(scenario, catalogs, clock, kept), running=running))
    if answer.solution.outcome != "optimal" and not answer.enough:
        return None
    bought = verified_plan(answer)
    return None if bought is None else cents(bought.monthly_cost_usd)


def afresh_usd(scenario: Scenario, catalogs: Catalogs, clock: Clock, kept: PriceFree | None = None) -> Decimal | None:
    """A month of the plan that `plan` shows, as if nothing ran; None where any part of its choice is not proven."""
    found = confirmed_plan(Inquiry.of(scenario, catalogs, clock, kept))
    if not isinstance(found, SimulatedPlan) or not found.proven:
        return None
    bought = verified_plan(found.answer)
    return None if bought is None else cents(bought.monthly_cost_usd)

"""Scenarios changed as a person would edit them, and their proven plans."""

from dataclasses import replace
from decimal import Decimal

from optimizer.answers.planning.optimize import optimized, verified
from optimizer.answers.planning.tried import SimulatedPlan, confirmed_plan
from optimizer.base.clock import Clock
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.scenario.scenario import Scenario
from optimizer.plan.question.inquiry import Inquiry
from optimizer.plan.question.solving import solved_for_least_cost
from optimizer.plan.readback.readback import read_back
from optimizer.plan.record.fleet import PlannedFleet
from optimizer.plan.record.report import PlanReport

BY_FAMILY = [
    "api-at-night",
    "eu-residency",
    "model-choice",
    "moving-day",
    "account-limits",
    "billed-by-the-day",
    "power-pledge",
    "office-hours",
    "one-engine",
    "own-rack",
    "spot-summaries",
    "three-clouds",
    "token-scores",
]
"""Planned and verified in test_families_change_the_answer.py, without everything else that a report compares."""


SAME_COST = 1e-8
"""Gap within which two costs are the same money: a bound is proven to that."""


def proven(inquiry: Inquiry) -> PlannedFleet:
    """The plan, proven optimal and verified."""
    answer = solved_for_least_cost(inquiry)
    assert answer.solution.outcome == "optimal"
    assert answer.solution.relative_gap is not None
    assert answer.solution.relative_gap <= SAME_COST
    bought = read_back(answer)
    assert verified(inquiry, bought).passed
    return bought


def monthly_cost(scenario: Scenario, catalogs: Catalogs) -> Decimal | None:
    """What the cheapest plan costs; None without a plan."""
    answer = solved_for_least_cost(Inquiry.of(scenario, catalogs))
    return read_back(answer).monthly_cost_usd if answer.solution.outcome == "optimal" else None


def shown(scenario: Scenario, catalogs: Catalogs) -> SimulatedPlan:
    """The plan that `plan` shows, beside no other."""
    found = confirmed_plan(Inquiry.of(scenario, catalogs))
    assert isinstance(found, SimulatedPlan)
    return found


def on_first_page(scenario: Scenario, catalogs: Catalogs) -> PlanReport:
    """The report of the plan that `plan` shows, beside no more than its first page tells of."""
    return optimized(scenario, catalogs, Clock(), first_page=True).report


def accepting(scenario: Scenario) -> Scenario:
    """The scenario that plans on what nobody measured or published like on anything else, as `Inquiry.of` does."""
    accepts = {"unknown_quality": "accept"}
    workloads = tuple(each if each.min_quality else each.model_copy(update=accepts) for each in scenario.workloads)
    changed = with_policy(scenario, unmeasured_performance="accept")
    return changed.model_copy(update={"workloads": workloads})


def with_policy(scenario: Scenario, **changes: object) -> Scenario:
    """The scenario under a changed policy, validated as if it had been written so."""
    return Scenario.model_validate(scenario.model_dump() | {"policy": scenario.policy.model_dump() | changes})


def with_workload(scenario: Scenario, **changes: object) -> Scenario:
    """The scenario with its first workload changed, validated as if it had been written so."""
    first, *others = (workload.model_dump() for workload in scenario.workloads)
    return Scenario.model_validate(scenario.model_dump() | {"workloads": [first | changes, *others]})


def sold_little(catalogs: Catalogs) -> Catalogs:
    """One size of container, a few machines, and all hosted APIs."""
    sold = tuple(row for row in catalogs.per_second if (row.provider, row.gpu) == ("runpod", "l4"))
    offers = tuple(each for each in catalogs.offers if each.provider == "runpod" and each.gpu == "l4")
    return replace(catalogs, per_second=sold, offers=offers)

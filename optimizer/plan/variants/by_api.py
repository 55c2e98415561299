"""The cheapest hosted API for the same demand beside a plan: what it would cost, and what nobody promises of it."""

from collections.abc import Iterator

from optimizer.base.clock import LimitReached
from optimizer.inputs.scenario.scenario import Scenario
from optimizer.plan.explain.comparing import told, without_plan
from optimizer.plan.grounds.second_prices import of_hosted
from optimizer.plan.question.inquiry import Inquiry
from optimizer.plan.question.solving import solved
from optimizer.plan.readback.outline import outlined
from optimizer.plan.record.explanation import Alternative
from optimizer.plan.record.fleet import PlannedFleet
from optimizer.plan.variants.choices import SOLVED
from optimizer.plan.variants.hosting import SERVERLESS, hosted, missing

KIND = "hosted_api"


def by_api(inquiry: Inquiry, chosen: PlannedFleet) -> Iterator[Alternative]:
    """The best plan of hosted APIs alone, or why there is none; nothing where the plan is that already."""
    if not chosen.deployments:
        return
    unpromised = " or ".join(_unpromised(inquiry.scenario))
    change = f"by APIs that promise no {unpromised}" if unpromised else "by APIs alone"
    try:
        question = hosted(inquiry, SERVERLESS)
        stops = missing(question, SERVERLESS)
        answer = None if stops else solved(question)
    except LimitReached as reached:
        yield without_plan(KIND, change, "unproven", f"not compared, {reached}")
        return
    if answer is None:
        yield without_plan(KIND, change, "infeasible", "; ".join(stop.text for stop in stops))
        return
    row = told(KIND, change, chosen, answer)
    if row.outcome in SOLVED:
        doubts = dict.fromkeys(of_hosted(inquiry.catalogs, outlined(answer).hosted))
        row = row.model_copy(update={"text": "; ".join([row.text, *doubts])})
    yield row


def _unpromised(scenario: Scenario) -> Iterator[str]:
    """What the scenario asks for and no API is held to."""
    if scenario.promises_latency:
        yield "latency"
    if any(workload.has_quality_floor for workload in scenario.workloads):
        yield "precision"

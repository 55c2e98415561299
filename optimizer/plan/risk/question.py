"""The question behind a risk: what a scenario asks that purchases in draws do not keep, and the offers they may use."""

from collections.abc import Iterator
from typing import Final

from optimizer.base.clock import Clock
from optimizer.base.errors import Finding
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.requirements.stated import stated_requirements
from optimizer.inputs.scenario.demand import POISSON_CV2
from optimizer.inputs.scenario.policy import DEALING
from optimizer.inputs.scenario.scenario import Scenario
from optimizer.plan.question.inquiry import Answer, Inquiry
from optimizer.plan.question.terms import stated_terms

HELD: Final = frozenset(
    {
        "demand",
        "max_monthly_usd",
        "start_up_minutes",
        "max_utilization",
        "robust",
        "storage_gb_per_instance",
        "mix_classes",
    }
)
"""Requirements of the fleet that hold in every draw, are margins of the plan that is judged, or are judged themselves,
as a budget is; so are all that decide which offers and candidates there are."""

DEPENDS: Final = "makes what a replica sustains depend on how many there are, which draws do not"


def not_held(scenario: Scenario) -> Iterator[Finding]:
    """Everything that was written down and that purchases in draws do not keep."""
    hint = "leave it away to ask for the risk"
    for item in stated_requirements(scenario):
        own = item.requirement
        if item.written and (own.name == "egress" or (own.decides == "fleet" and own.name not in HELD)):
            yield Finding("scenario", 0, item.field, "is not kept by purchases in draws", hint)
    if scenario.policy.router in DEALING:
        hint = "say `by_chance` to ask for the risk"
        yield Finding("scenario", 0, "policy.router", DEPENDS, hint)
    for workload in scenario.workloads:
        path = f"workloads[{workload.name}]"
        if workload.demand is not None:
            hint = "give requests_per_second, the peak"
            yield Finding("scenario", 0, f"{path}.demand", "demand over the week is not drawn yet", hint)
        if workload.arrival_cv2 != POISSON_CV2:
            yield Finding("scenario", 0, f"{path}.arrivals", DEPENDS, "say `process: poisson` to ask for the risk")
    for hosted in sorted({"serverless", "per_second"} & set(scenario.policy.hosting)):
        problem = f"'{hosted}' is paid by the request or the second, which is not drawn yet"
        yield Finding("scenario", 0, "policy.hosting", problem, "leave it away to ask for the risk")


def asked_in_draws(answer: Answer, scenario: Scenario, catalogs: Catalogs, clock: Clock) -> Inquiry:
    """The scenario's question with the terms that are considered, avoiding what its plan avoids."""
    terms = stated_terms(scenario.policy)
    if terms == scenario.policy.pricing_terms:
        return answer.inquiry
    policy = scenario.policy.model_copy(update={"pricing_terms": terms})
    wider = Inquiry.of(scenario.model_copy(update={"policy": policy}), catalogs, clock)
    kept = wider.keeping_to(answer.inquiry.avoided)
    return kept.with_lowered(answer.inquiry.lowered)

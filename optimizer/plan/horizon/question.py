"""The question behind a horizon: the offers that may be signed for, and what the scenario asks that it cannot hold."""

from collections.abc import Iterator
from typing import Final

from optimizer.base.clock import Clock
from optimizer.base.errors import Finding
from optimizer.inputs.catalog.kinds import PricingTerm
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.requirements.stated import StatedRequirement, stated_requirements
from optimizer.inputs.scenario.demand import POISSON_CV2
from optimizer.inputs.scenario.policy import DEALING
from optimizer.inputs.scenario.scenario import Lifecycle, Scenario
from optimizer.plan.horizon.branches import demand_factor, horizon_of, tree_of
from optimizer.plan.question.asking import decided
from optimizer.plan.question.batches import at_best_hours, in_hours_of
from optimizer.plan.question.growing import grown
from optimizer.plan.question.inquiry import Inquiry
from optimizer.plan.question.terms import stated_terms

HELD: Final = frozenset(
    {
        "max_gpus",
        "start_up_minutes",
        "quotas",
        "max_power_kw",
        "max_utilization",
        "robust",
        "storage_gb_per_instance",
        "mix_classes",
        "demand",
    }
)
"""Requirements of the fleet that every node keeps; so are all that decide which offers and candidates there are."""

DEPENDS: Final = "makes what a replica sustains depend on how many there are, which purchases over months do not"


def asked_over_months(scenario: Scenario, catalogs: Catalogs, clock: Clock) -> Inquiry:
    """The scenario's first month with the terms that a horizon considers, what it avoids decided."""
    life = scenario.lifecycle
    terms = terms_considered(scenario, life) if life is not None else scenario.policy.pricing_terms
    policy = scenario.policy.model_copy(update={"pricing_terms": terms})
    return decided(Inquiry.of(scenario.model_copy(update={"policy": policy}), catalogs, clock))


def in_hours_to_try(first: Inquiry, life: Lifecycle) -> tuple[Inquiry, ...]:
    """The first month's question with batches in the hours that are best in it, and in those of the busiest month.

    A batch is worked on in the same hours in all months. What is best for a small one may leave no room for a large
    one, and the other way round more machines than are needed may be signed for.
    """
    if all(workload.deadline is None for workload in first.scenario.workloads):
        return (first,)
    busiest = at_best_hours(first.changed(grown(first.scenario, float(demand_factor(life, tree_of(life)).max()))))
    other = in_hours_of(first, busiest)
    same = [each.demand for each in first.scenario.workloads] == [each.demand for each in other.scenario.workloads]
    return (first,) if same else (first, other)


def terms_considered(scenario: Scenario, life: Lifecycle) -> tuple[PricingTerm, ...]:
    """The horizon's own, the policy's where those name more than the default, else everything that stays."""
    own = horizon_of(life).pricing_terms
    if own is not None:
        return own
    return stated_terms(scenario.policy)


def defaults_left_out(scenario: Scenario) -> tuple[StatedRequirement, ...]:
    """What applies to plans of one month by default and is no part of a horizon."""
    return tuple(item for item in _left_out(scenario) if not item.written)


def not_held(scenario: Scenario) -> Iterator[Finding]:
    """Every requirement that was written down and that purchases over months do not keep."""
    hint = "leave it away to plan purchases over months; `optimizer lifecycle` keeps it, a month at a time"
    for item in _left_out(scenario):
        if item.written:
            yield Finding("scenario", 0, item.field, "is not kept by purchases over months", hint)
    if scenario.policy.router in DEALING:
        hint = "say `by_chance`; `optimizer lifecycle` keeps it"
        yield Finding("scenario", 0, "policy.router", DEPENDS, hint)
    for workload in scenario.workloads:
        if workload.arrival_cv2 != POISSON_CV2:
            path = f"workloads[{workload.name}].arrivals"
            yield Finding("scenario", 0, path, DEPENDS, "say `process: poisson`; `optimizer lifecycle` keeps it")


def _left_out(scenario: Scenario) -> Iterator[StatedRequirement]:
    for item in stated_requirements(scenario):
        own = item.requirement
        if own.name == "egress" or (own.decides == "fleet" and own.name not in HELD):
            yield item

"""Every requirement at the finished plan: its value, its slack in its own unit, and whether it binds."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.requirements.stated import StatedRequirement, stated_requirements, waivable
from optimizer.inputs.scenario.scenario import Scenario
from optimizer.plan.explain.conflict import plan_without
from optimizer.plan.explain.measures import BINDS_WITHIN, MEASURES, Facts, Measured
from optimizer.plan.explain.pricing import SAME_COST
from optimizer.plan.question.inquiry import Inquiry
from optimizer.plan.record.explanation import Alternative, MeasuredRequirement
from optimizer.plan.record.fleet import PlannedFleet

BUDGET: Final = "policy.max_monthly_usd"
"""Rules out only plans that are dearer, so no plan without it costs less."""


def requirements(scenario: Scenario, catalogs: Catalogs, bought: PlannedFleet) -> list[MeasuredRequirement]:
    """All that is asked and can be measured at the plan, in the registry's order."""
    facts = Facts(scenario, catalogs, bought)
    return [
        _record(item, measured)
        for item in stated_requirements(scenario)
        if item.requirement.name in MEASURES
        for measured in MEASURES[item.requirement.name](facts, item)
    ]


def deciding(
    inquiry: Inquiry, chosen: PlannedFleet, limits: Sequence[MeasuredRequirement], promises: Mapping[str, Alternative]
) -> Iterator[str]:
    """The fields of limits without which another plan costs less: they bind, whatever slack whole replicas leave.

    Args:
        inquiry: The question.
        chosen: Its plan.
        limits: As measured.
        promises: What plans without each promise cost, by field; only other limits on the fleet are solved without.
    """
    priced = {field: without.difference_usd for field, without in promises.items()}
    yield from (field for field, difference_usd in priced.items() if (difference_usd or 0) < 0)
    slack = tuple(item.requirement for item in limits if not item.binding)
    unpriced = [item for item in waivable(inquiry.scenario) if not item.field.startswith((*priced, BUDGET))]
    written = [item for item in unpriced if item.written and item.requirement.step]
    for item in (item for item in written if item.requirement.decides == "fleet"):
        if any(field.startswith(item.field) for field in slack):
            plan = plan_without(inquiry, [item])
            if plan and plan.monthly_cost_usd < chosen.monthly_cost_usd - SAME_COST:
                yield item.field


def with_deciding(limits: Sequence[MeasuredRequirement], fields: Sequence[str]) -> list[MeasuredRequirement]:
    """The limits where those that decide bind, too."""
    return [
        item.model_copy(update={"binding": item.binding or item.requirement.startswith(tuple(fields))})
        for item in limits
    ]


def _record(item: StatedRequirement, measured: Measured) -> MeasuredRequirement:
    """Slack is what is left before the requirement breaks, whichever side of the limit that is."""
    limit = measured.limit if measured.limit is not None else float(item.value)
    slack = limit - measured.value if item.requirement.sense == "at_most" else measured.value - limit
    step = item.requirement.step
    near = 0.0 if step is not None and step.kind == "whole" else BINDS_WITHIN * abs(limit)
    return MeasuredRequirement(
        requirement=measured.field or item.field,
        limit=limit,
        value=measured.value,
        slack=slack,
        unit=item.unit,
        binding=slack <= near if measured.binding is None else measured.binding,
        text=measured.text,
    )

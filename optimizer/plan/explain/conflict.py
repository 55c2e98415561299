"""Which requirements cannot hold together: a deletion filter over the scenario's requirements, each test a solve."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from optimizer.inputs.requirements.stated import StatedRequirement, waivable, with_field
from optimizer.inputs.scenario.scenario import Scenario
from optimizer.plan.question.batches import any_plan_at_any_hours, solved_at_best_hours
from optimizer.plan.question.inquiry import Inquiry
from optimizer.plan.readback.outline import outlined
from optimizer.plan.record.fleet import Outline

MAX_CONFLICTS = 4
"""More at once and the scenario is better written anew."""


def conflict_of(inquiry: Inquiry, beside: Iterable[StatedRequirement] = ()) -> tuple[StatedRequirement, ...]:
    """A minimal set of requirements without any plan; empty when even the bare demand has none.

    Starting from all that the scenario asks, each requirement is left out in turn; it stays out if there is still no
    plan. What remains has no plan together, and leaving out any one of it gave one: that is what minimal means here.
    Defaults that nobody wrote count as asked only where the written requirements alone do not explain it.

    Args:
        inquiry: An infeasible scenario.
        beside: Askeds to leave out from the start: conflicts found before.
    """
    out = list(beside)
    candidates = [item for item in waivable(inquiry.scenario) if item not in out]
    everything = [item for item in candidates if item.written]
    if not any_plan_without(inquiry, [*out, *everything]):
        everything = [*everything, *(item for item in candidates if not item.written)]
        if not any_plan_without(inquiry, [*out, *everything]):
            return ()
    conflict = []
    for item in reversed(everything):
        if any_plan_without(inquiry, [*out, item]):
            conflict.append(item)
        else:
            out.append(item)
    return tuple(reversed(conflict))


def conflicts_of(inquiry: Inquiry) -> Iterator[tuple[StatedRequirement, ...]]:
    """Independent conflicts, up to `MAX_CONFLICTS`: no two share a requirement, and each alone rules out every plan."""
    found: list[tuple[StatedRequirement, ...]] = []
    while len(found) < MAX_CONFLICTS:
        before = [item for conflict in found for item in conflict]
        if found and any_plan_without(inquiry, before):
            break
        further = conflict_of(inquiry, before)
        if not further:
            break
        found.append(further)
        yield further


def any_plan_without(inquiry: Inquiry, left_out: Iterable[StatedRequirement]) -> bool:
    """Whether there is a plan when those requirements are not asked, whichever of those that cost least."""
    return any_plan_at_any_hours(replace(inquiry, any_of_equals=True).changed(_without(inquiry.scenario, left_out)))


def plan_without(inquiry: Inquiry, left_out: Iterable[StatedRequirement]) -> Outline | None:
    """The cheapest plan when those requirements are not asked; None when there is none."""
    return plan_of(inquiry, _without(inquiry.scenario, left_out))


def _without(scenario: Scenario, left_out: Iterable[StatedRequirement]) -> Scenario:
    for item in left_out:
        scenario = with_field(scenario, item.field, item.without)
    return scenario


def plan_of(inquiry: Inquiry, scenario: Scenario) -> Outline | None:
    """The cheapest plan of a changed scenario; None when there is none."""
    answer = solved_at_best_hours(inquiry.changed(scenario))
    return outlined(answer) if answer.solution.outcome in ("optimal", "feasible") else None

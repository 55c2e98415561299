"""What the month costs after one natural step of a limit, tighter or looser, each step solved to its own optimum."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Final

from optimizer.inputs.requirements.stated import shown, with_field
from optimizer.plan.explain.comparing import NONE_CHEAPER
from optimizer.plan.explain.levers import Direction, Lever, is_demand
from optimizer.plan.explain.pricing import SAME_COST
from optimizer.plan.question.batches import solved_at_best_hours
from optimizer.plan.question.inquiry import Answer, Inquiry
from optimizer.plan.question.narrowing import restricted
from optimizer.plan.readback.outline import outlined
from optimizer.plan.readback.summary import summarized
from optimizer.plan.record.explanation import MarginalValue, MeasuredRequirement
from optimizer.plan.record.fields import Outcome
from optimizer.plan.record.fleet import Outline, PlannedFleet

DIRECTIONS: Final[tuple[Direction, ...]] = ("tighter", "looser")


@dataclass(frozen=True)
class Varied:
    """The proven best plan of a varied scenario; None where there is none."""

    outcome: Outcome
    plan: Outline | None
    answer: Answer | None = None
    """What the plan is of, where that was solved here."""

    def beside(self, chosen: Outline) -> "Varied":
        """The same where the chosen plan is still to be had: one that is simpler and dearer changes nothing."""
        dearer = self.plan is not None and self.plan.monthly_cost_usd > chosen.monthly_cost_usd
        return replace(self, plan=chosen) if dearer else self


def marginal_values(
    inquiry: Inquiry, chosen: PlannedFleet, limits: Sequence[MeasuredRequirement], moved: Sequence[Lever]
) -> Iterator[MarginalValue]:
    """One value per lever and direction.

    Args:
        inquiry: The question, narrowed or whole.
        chosen: Its optimal plan.
        limits: Every limit at that plan, which tells what a step cannot change without a solve.
        moved: What to move.
    """
    at_plan = {item.requirement: item.value for item in limits}
    own = restricted(replace(inquiry, simplifies=False, any_of_equals=True), [name for name, _ in bought(chosen)])
    for lever in moved:
        for direction in DIRECTIONS:
            if direction in lever.steps:
                settled = _settled_without_a_solve(at_plan, lever, direction) or (
                    direction == "tighter" and no_dearer(own, lever, chosen, lever.steps[direction])
                )
                still_there = chosen if direction == "looser" else None
                value = lever.steps[direction]
                found = Varied("optimal", chosen) if settled else varied(inquiry, lever.field, value, still_there)
                yield _marginal_value(chosen, found, lever, direction)


def no_dearer(own: Inquiry, lever: Lever, chosen: PlannedFleet, value: float) -> bool:
    """Whether the plan's own offers still do at its cost; then a tighter limit leaves it the best of fewer plans."""
    return varied_cost_usd(own, lever.field, value) <= float(chosen.monthly_cost_usd + SAME_COST)


def worth_moving(moved: Sequence[Lever], limits: Sequence[MeasuredRequirement]) -> tuple[Lever, ...]:
    """The levers of what binds, and the demand."""
    binding = {item.requirement for item in limits if item.binding}
    return tuple(lever for lever in moved if lever.field in binding or is_demand(lever.field))


def varied(inquiry: Inquiry, field: str, value: float, still_there: Outline | None = None) -> Varied:
    """The best plan with one field of the scenario set anew; of no more cost than one that is still to be had."""
    known_usd = None if still_there is None else float(still_there.monthly_cost_usd)
    answer = solved_at_best_hours(inquiry.changed(with_field(inquiry.scenario, field, value)), known_usd=known_usd)
    outcome = answer.solution.outcome
    if still_there is not None and outcome in NONE_CHEAPER:
        return Varied(NONE_CHEAPER[outcome], still_there)
    found = Varied(outcome, outlined(answer), answer) if outcome in ("optimal", "feasible") else Varied(outcome, None)
    return found if still_there is None else found.beside(still_there)


def varied_cost_usd(inquiry: Inquiry, field: str, value: float) -> float:
    """The month's cost of the best plan with one field set anew; infinite where there is none."""
    varying = solved_at_best_hours(inquiry.changed(with_field(inquiry.scenario, field, value)))
    cost = varying.solution.cost_usd_per_month
    return math.inf if cost is None else cost


def bought(plan: Outline) -> tuple[tuple[str, int], ...]:
    """What makes two plans the same purchase: how many instances of which offers, and which hosted APIs."""
    apis = dict.fromkeys((item.api, 0) for item in plan.hosted)
    return (*((purchase.offer, purchase.instances) for purchase in plan.purchases), *apis)


def _marginal_value(chosen: PlannedFleet, found: Varied, lever: Lever, direction: Direction) -> MarginalValue:
    to, plan = lever.steps[direction], found.plan
    difference = None if plan is None else plan.monthly_cost_usd - chosen.monthly_cost_usd
    # what is looser admits the chosen plan, so that a dearer one only shows where a search ended
    unmoved = direction == "looser" and difference is not None and difference > -SAME_COST
    # the same machines in other hours cost something else; what is paid by the request does for another demand
    as_dear = difference is not None and (abs(difference) < SAME_COST or bool(chosen.hosted))
    same = unmoved or (plan is not None and as_dear and bought(plan) == bought(chosen))
    summary = "" if plan is None else summarized(chosen if same else plan)
    step = f"{lever.what}: {shown(to)} instead of {shown(lever.value, lever.unit)}"
    if plan is None or difference is None:
        effect = "no plan meets it" if found.outcome == "infeasible" else "no plan found in time"
    elif same:
        effect = "the same plan"
    else:
        sign = "−" if difference < 0 else "+"
        effect = f"${plan.monthly_cost_usd:,.2f} a month ({sign}${abs(difference):,.2f}), {summary}"
    return MarginalValue.model_validate(
        {
            "field": lever.field,
            "what": lever.what,
            "direction": direction,
            "from": lever.value,
            "to": to,
            "unit": lever.unit,
            "outcome": found.outcome,
            "same_plan": same,
            "monthly_cost_usd": chosen.monthly_cost_usd if unmoved else plan and plan.monthly_cost_usd,
            "change_usd": Decimal(0) if unmoved else difference,
            "summary": summary,
            "text": f"{step}: {effect}",
        }
    )


def _settled_without_a_solve(at_plan: Mapping[str, float], lever: Lever, direction: Direction) -> bool:
    """Whether the chosen plan is still the best for sure.

    A plan that keeps the tighter value of a limit on the fleet is best among fewer; a larger budget admits only dearer
    plans. How fast candidates are and which there are takes a solve to know, and so does a demand.
    """
    requirement = lever.requirement
    if direction == "looser":
        return requirement.name == "max_monthly_usd"
    if requirement.decides != "fleet" or not requirement.waivable or lever.field not in at_plan:
        return False
    value, to = at_plan[lever.field], lever.steps[direction]
    return value <= to if requirement.sense == "at_most" else value >= to

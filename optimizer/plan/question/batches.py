"""Batches with a deadline: in how many of the hours that they have it costs least to work on them, or little more."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from optimizer.inputs.scenario.restating import worked_on_in
from optimizer.plan.question.inquiry import Answer, Inquiry
from optimizer.plan.question.simplifying import allowed_usd, in_place_of
from optimizer.plan.question.solving import solved, solved_for_least_cost
from optimizer.program.proof.state import EQUAL_COST


class _Tried(NamedTuple):
    """A number of hours, and the best plan in them to within the gap of plans that are compared."""

    asked: Inquiry
    found: Answer

    @property
    def usd(self) -> float:
        """Of a month; infinite where there is no plan."""
        cost_usd = self.found.solution.cost_usd_per_month
        return math.inf if cost_usd is None else cost_usd


def at_best_hours(inquiry: Inquiry) -> Inquiry:
    """The question whose batches are worked on at one rate in as many hours, from their start, as cost least.

    Instances are whole and are paid by the hour, so a batch that leaves the last one half idle may cost less in fewer
    hours. Every number of hours is solved, for one workload after the other; of equals the most hours stay.
    """
    for position in _due(inquiry):
        inquiry = _cheapest(_every_number(inquiry, position)).asked
    return inquiry


def solved_at_best_hours(inquiry: Inquiry) -> Answer:
    """The simplest plan that is as good as cheapest, in the hours that cost least.

    A single batch is worked on in other hours where that is simpler for as little more as simplicity may cost.
    """
    due = _due(inquiry)
    if len(due) != 1 or not inquiry.scenario.policy.simplicity_percent:
        return solved(at_best_hours(inquiry))
    tried = _every_number(inquiry, due[0])
    return _in_simpler_hours(solved(_cheapest(tried).asked), tried)


def _in_simpler_hours(answer: Answer, tried: Sequence[_Tried]) -> Answer:
    """The plan in the hours whose own cheapest is the simplest, if it is simpler than that in the cheapest hours."""
    cheapest = answer.cheapest or answer
    if answer.solution.outcome != "optimal" or answer.kept:
        return answer

    def may_stand(found: Answer, usd: float) -> bool:
        return usd <= allowed_usd(cheapest, found.complexity.configurations) and found.complexity < answer.complexity

    simpler = [each for each in tried if math.isfinite(each.usd) and may_stand(each.found, each.usd)]
    if not simpler:
        return answer
    found = solved(min(simpler, key=lambda each: (each.found.complexity, each.usd)).asked)
    cost_usd = found.solution.cost_usd_per_month
    if cost_usd is None or not may_stand(found, cost_usd):
        return answer
    return replace(in_place_of(cheapest, found, found.simplicity_proven), inquiry=found.inquiry)


def _due(inquiry: Inquiry) -> list[int]:
    """The workloads that have a deadline."""
    return [position for position, each in enumerate(inquiry.scenario.workloads) if each.deadline is not None]


def _every_number(inquiry: Inquiry, position: int) -> list[_Tried]:
    """Each number of hours in which a workload's batch may be worked on, the most first."""
    deadline = inquiry.scenario.workloads[position].deadline
    hours = range(0 if deadline is None else deadline.window_hours, 0, -1)
    return [_Tried(asked, _compared(asked)) for asked in (_in_hours(inquiry, position, each) for each in hours)]


def _cheapest(tried: Sequence[_Tried]) -> _Tried:
    """The first that costs least."""
    enough = min(each.usd for each in tried) * (1 + EQUAL_COST)
    return next(each for each in tried if each.usd <= enough)


def _in_hours(inquiry: Inquiry, position: int, hours: int) -> Inquiry:
    workloads = list(inquiry.scenario.workloads)
    workloads[position] = worked_on_in(workloads[position], hours)
    return inquiry.changed(inquiry.scenario.model_copy(update={"workloads": tuple(workloads)}))


def _compared(inquiry: Inquiry) -> Answer:
    """The best plan, to within the gap of plans that are compared."""
    return solved_for_least_cost(replace(inquiry.for_comparison(), best_and_bound=None, falls_back=False))

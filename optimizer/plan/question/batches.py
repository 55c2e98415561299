"""Batches with a deadline: in how many of the hours that they have it costs least to work on them."""

import math
from dataclasses import replace

from optimizer.inputs.scenario.restating import worked_on_in
from optimizer.plan.question.inquiry import Inquiry
from optimizer.plan.question.solving import solved_for_least_cost
from optimizer.program.proof.state import EQUAL_COST


def at_best_hours(inquiry: Inquiry) -> Inquiry:
    """The question whose batches are worked on at one rate in as many hours, from their start, as cost least.

    Instances are whole and are paid by the hour, so a batch that leaves the last one half idle may cost less in fewer
    hours. Every number of hours is solved, for one workload after the other; of equals the most hours stay.
    """
    for position, workload in enumerate(inquiry.scenario.workloads):
        if workload.deadline is not None:
            tried = [_in_hours(inquiry, position, hours) for hours in range(workload.deadline.window_hours, 0, -1)]
            costs_usd = [_cost_usd(each) for each in tried]
            enough = min(costs_usd) * (1 + EQUAL_COST)
            inquiry = next(each for each, cost in zip(tried, costs_usd, strict=True) if cost <= enough)
    return inquiry


def _in_hours(inquiry: Inquiry, position: int, hours: int) -> Inquiry:
    workloads = list(inquiry.scenario.workloads)
    workloads[position] = worked_on_in(workloads[position], hours)
    return inquiry.changed(inquiry.scenario.model_copy(update={"workloads": tuple(workloads)}))


def _cost_usd(inquiry: Inquiry) -> float:
    """Of the best plan, to within the gap of plans that are compared; infinite where there is none."""
    compared = replace(inquiry.for_comparison(), best_and_bound=None, falls_back=False)
    found = solved_for_least_cost(compared).solution.cost_usd_per_month
    return math.inf if found is None else found

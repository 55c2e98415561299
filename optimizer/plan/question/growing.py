"""A scenario with so many times the demand, as a month that comes later has it."""

from optimizer.inputs.scenario.scenario import Scenario, Workload


def grown(scenario: Scenario, factor: float) -> Scenario:
    """The scenario with every workload's rate multiplied."""
    return scenario.model_copy(update={"workloads": tuple(_grown(each, factor) for each in scenario.workloads)})


def _grown(workload: Workload, factor: float) -> Workload:
    deadline = None if workload.deadline is None else workload.deadline.times(factor)
    if workload.requests_per_second is not None:
        rate = workload.requests_per_second * factor
        return workload.model_copy(update={"requests_per_second": rate, "deadline": deadline})
    demand = workload.demand
    if demand is None:
        raise ValueError(f"the trace of workload {workload.name} was not loaded")
    week, peak = demand.weekly_requests_per_second, demand.peak_requests_per_second
    scaled = {
        "weekly_requests_per_second": None if week is None else tuple(rate * factor for rate in week),
        "peak_requests_per_second": None if peak is None else peak * factor,
    }
    return workload.model_copy(update={"demand": demand.model_copy(update=scaled), "deadline": deadline})

"""Who answers in hours without demand where no replica is up: hosted APIs, which are paid by the request."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from optimizer.inputs.scenario.scenario import Scenario
from optimizer.performance.candidates.apis import Api
from optimizer.performance.candidates.periods import Periods


def on_call(scenario: Scenario, hosted: Sequence[Api]) -> Mapping[str, tuple[Api, ...]]:
    """The cheapest API of each class, of the workloads of which every class has one.

    Args:
        scenario: What is asked.
        hosted: APIs that its policy admits, the cheaper ones of a class first.
    """
    cheapest: dict[str, dict[str, Api]] = {}
    for api in hosted:
        cheapest.setdefault(api.workload, {}).setdefault(api.request_class, api)
    counts = {workload.name: len(workload.classes()) for workload in scenario.workloads}
    return {name: tuple(by_class.values()) for name, by_class in cheapest.items() if len(by_class) == counts[name]}


def with_apis_on_call(scenario: Scenario, hosted: Sequence[Api], week: Periods) -> Periods:
    """The week in which no replica stays warm in hours without demand for a workload that APIs may serve whole.

    What comes all the same goes there, without a start and at the price of a request; none of it is planned, so it
    costs nothing. `min_replicas` of the scenario stays.

    The floor is a number of the purchase problem, and whatever proves something of plans reads it there: dominance and
    trimming replace replicas or take away those beyond a floor, bounds drop rows or add up those that are. None asks
    why a floor is what it is, and hours of no demand without a floor are what workloads that wait for a start have.
    """
    least, served = week.min_replicas.copy(), on_call(scenario, hosted)
    for number, workload in enumerate(scenario.workloads):
        if workload.name in served:
            least[:, number] = np.minimum(least[:, number], workload.min_replicas)
    return replace(week, min_replicas=least)

"""Containers in a purchase problem: they serve all of a workload, and nothing else serves any of it."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from optimizer.base.arrays import Flags
from optimizer.performance.candidates.apis import Api
from optimizer.performance.candidates.options import WorkloadOptions
from optimizer.performance.candidates.periods import Periods
from optimizer.performance.per_second.containers import ServedBySecond


def with_containers(
    served: Sequence[ServedBySecond],
    options: Sequence[WorkloadOptions],
    keep: Sequence[Flags] | None,
    hosted: Sequence[Api],
    week: Periods,
) -> tuple[Sequence[Flags] | None, Sequence[Api], Periods]:
    """What the problem is made of where these containers serve their workloads.

    Their cost is that of all requests, so a part of them would not cost its share: they get all, as the only API of
    the workload, whose price of a request is the month over its requests. They keep themselves up where a start would
    come too late.

    Args:
        served: One for each workload that containers serve.
        options: Of all workloads.
        keep: Optionally one mask (P,) per entry of `options`: configurations to consider at all.
        hosted: APIs that the policy admits.
        week: Its periods.

    Returns:
        The masks, the APIs and the periods; as they are where no workload is served by containers.
    """
    if not served:
        return keep, hosted, week
    taken = sorted(each.choice.workload_index for each in served)
    others = (api for api in hosted if api.workload_index not in taken)
    masks = [np.ones(len(choice.configurations), np.bool_) for choice in options] if keep is None else list(keep)
    for number, choice in enumerate(options):
        if choice.workload_index in taken:
            masks[number] = np.zeros(len(choice.configurations), np.bool_)
    least = week.min_replicas.copy()
    least[:, taken] = 0
    apis = (*others, *(api for each in served for api in each.as_apis()))
    return masks, apis, replace(week, min_replicas=least)

"""Which workloads stand on a single instance, whose loss takes all of a model down, and on what they could."""

from typing import Final

import numpy as np

from optimizer.base.arrays import Flags, Floats, Ints
from optimizer.program.problem.losses import rates_per_demand
from optimizer.program.problem.problem import Problem
from optimizer.program.problem.quantities import label_numbers, labels, workload_of_candidate

EQUAL_LOAD: Final = 1e-6
"""Relative difference below which a load is all that is carried."""


def on_a_single_instance(problem: Problem, replicas: Ints, instances: Ints) -> frozenset[str]:
    """The workloads that never have more than one instance with a replica, of those that have any.

    Args:
        problem: In whose index order the rest is.
        replicas: (T, C).
        instances: (T, O).
    """
    offer, periods = problem.candidates.offer, len(replicas)
    found = []
    for number, name in enumerate(labels(problem.traffic.workload)):
        # (T, O) whether a replica of the workload runs on an offer
        runs = np.zeros((periods, len(problem.offers)), dtype=np.bool_)
        period, candidate = np.nonzero(replicas * (workload_of_candidate(problem) == number))
        runs[period, offer[candidate]] = True
        if (instances * runs).sum(axis=1).max(initial=0) == 1:
            found.append(name)
    return frozenset(found)


def kept_on_several(problem: Problem, single: frozenset[str]) -> Flags:
    """(C,) the candidates without those of which one instance carries a whole workload, of workloads not in `single`.

    What is lost and must be survived keeps workloads on several instances by itself, so all are kept there.
    """
    limits = problem.limits
    if limits.survive or limits.spare_on_other_instances or limits.min_providers > 1 or limits.min_regions > 1:
        return np.ones(len(problem.candidates), dtype=np.bool_)
    workload, names = workload_of_candidate(problem), labels(problem.traffic.workload)
    free = np.isin(workload, [number for number, name in enumerate(names) if name in single])
    return np.asarray(free | ~_carries_all(problem, workload))


def _carries_all(problem: Problem, workload: Ints) -> Flags:
    """(C,) whether replicas on one instance carry all that is asked of their workload (C,), in every period."""
    candidates, limits = problem.candidates, problem.limits
    held = problem.offers.gpus_per_instance[candidates.offer] // candidates.gpus_per_replica
    # (C,) replicas at full rate whose load one instance takes
    loaded = np.minimum(held * limits.max_utilization, held - limits.spare_replicas)
    # (D, C) how often it carries a demand
    times: Floats = rates_per_demand(problem) * loaded
    of_demand = label_numbers(problem.traffic.workload)[problem.demands.request_class]
    return np.asarray(np.where(of_demand[:, None] == workload, times >= 1 - EQUAL_LOAD, True).all(axis=0))

"""Numbers that the program derives from a problem before it writes a single constraint.

Trimming. Whatever a plan routes beyond the demand can be cut without breaking any promise: less flow loosens capacity,
spare and spot limits, and demand stays met. So every plan has a trimmed twin of equal cost in which
(a) flow[c] <= reach[c] for each candidate, and
(b) for each class k, the flows of the candidates that serve k alone sum to at most demand[k].
The bounds below hold for trimmed plans, so adding them excludes no cost and no set of machines.
"""

import numpy as np

from optimizer.program.problem import Flags, Floats, Ints, Problem

ROUNDING_SLACK = 1e-9
"""Relative slack when a ratio of floats is rounded up to whole replicas."""


def reach_per_s(problem: Problem) -> Floats:
    """(C,) requests/s beyond which a candidate serves more than the whole demand for every class of its mix.

    reach[c] = max over classes k in the mix of demand[k] / mix[c, k]
    """
    served = problem.mix > 0
    ratio = np.divide(problem.demand_per_s, problem.mix, out=np.zeros_like(problem.mix), where=served)
    return np.asarray(ratio.max(axis=1, initial=0.0))


def most_replicas(problem: Problem) -> Ints:
    """(C,) replicas beyond which one more is useless: they serve reach[c], and do so with the spare ones lost."""
    limits, rate, reach = problem.limits, problem.replica_rate_per_s, reach_per_s(problem)
    shrink = 1.0 - ROUNDING_SLACK
    busy = np.ceil(reach / (limits.max_utilization * rate) * shrink)
    spared = np.ceil(reach / rate * shrink) + limits.spare_replicas
    whole: Ints = np.maximum(np.maximum(busy, spared), limits.spare_replicas + 1).astype(np.int64)
    return whole


def best_rate_per_s(problem: Problem) -> Floats:
    """(C,) the most requests/s per replica that any trimmed plan draws from a candidate.

    best_rate = max over whole r >= spare + 1 of min(max_utilization rate r, rate (r - spare), reach) / r

    The numerator's first two terms grow at least as fast as r and the third is constant, so the maximum lies next to
    the crossing r* = max(reach / (max_utilization rate), reach / rate + spare).
    """
    limits, rate, reach = problem.limits, problem.replica_rate_per_s, reach_per_s(problem)
    spare = limits.spare_replicas
    crossing = np.maximum(reach / (limits.max_utilization * rate), reach / rate + spare)
    best = np.zeros_like(rate)
    for whole in (np.floor(crossing), np.ceil(crossing)):
        count = np.maximum(whole, spare + 1)
        flow = np.minimum(np.minimum(limits.max_utilization * rate * count, rate * (count - spare)), reach)
        best = np.maximum(best, flow / count)
    return best


def mix_kind(problem: Problem) -> Ints:
    """(C,) candidates with the same mix of classes share a number."""
    if not len(problem.candidates):
        return np.zeros(0, dtype=np.int64)
    return np.unique(problem.mix, axis=0, return_inverse=True)[1].reshape(-1).astype(np.int64)


def serves_one_class(problem: Problem) -> Flags:
    """(C,) whether the candidate serves a single request class."""
    return np.asarray((problem.mix > 0).sum(axis=1) == 1)


def trimming_groups(problem: Problem, place: Ints) -> Ints:
    """(C,) group numbers such that in a trimmed plan sum of flow[c] / reach[c] over a group is at most 1.

    Candidates that serve the same single class share the group of their place; a mixed candidate is alone.

    Args:
        problem: The problem.
        place: (C,) non-negative number of the offer or configuration each candidate belongs to.
    """
    alone = len(problem.request_classes) + np.arange(len(problem.candidates))
    part = np.where(serves_one_class(problem), problem.mix.argmax(axis=1), alone)
    pairs = np.stack([place, part], axis=1)
    return np.unique(pairs, axis=0, return_inverse=True)[1].reshape(-1).astype(np.int64)

"""Numbers that the program derives from a problem before it writes a single constraint.

Trimming. Whatever a plan routes beyond the demand can be cut without breaking any promise: less flow loosens capacity,
spare, spot and provider limits and costs no more, and demand stays met. So every plan has a trimmed twin of no more
cost in which, in each period t,
(a) flow[t,c,m] <= reach[t,m] for each stream, and
(b) for each class k, the flows of the streams that serve k alone sum to at most demand[t,k].
The bounds below hold for trimmed plans, so adding them excludes no cost and no set of machines.
"""

import numpy as np

from optimizer.base.arrays import Flags, Floats, Ints
from optimizer.program.problem.indices import Groups, grouped
from optimizer.program.problem.problem import Problem

ROUNDING_SLACK = 1e-9
"""Relative slack when a ratio of floats is rounded up to whole replicas."""


def useful_replicas(problem: Problem) -> Ints:
    """(T, C) replicas that serve all that is wanted of a candidate, with the spare ones unused; no more of any use.

    Those in force may stay beyond that, since stopping them may cost or count.
    """
    limits, load = problem.limits, _load(problem)
    shrink = 1.0 - ROUNDING_SLACK
    busy = np.ceil(load / limits.max_utilization * shrink)
    spared = np.ceil(load * shrink) + limits.spare_replicas
    least = problem.traffic.least_replicas.max(initial=0)
    floor = np.maximum(replicas_in_force(problem), max(limits.spare_replicas + 1, least))
    useful: Ints = np.maximum(np.maximum(busy, spared), floor).astype(np.int64)
    return useful


def held_by_instance(problem: Problem) -> Ints:
    """(C,) the most replicas that one instance holds and that are of any use on it, in some period."""
    room: Ints = problem.offers.gpus_per_instance[problem.candidates.offer] // problem.candidates.gpus_per_replica
    held: Ints = np.minimum(room, useful_replicas(problem).max(axis=0, initial=0))
    return held


def most_replicas(problem: Problem) -> Ints:
    """(T, C) replicas beyond which one more is useless: the same after the loss of an instance, where one may be lost.

    After the loss of its whole place none is left, however many there were.
    """
    useful = useful_replicas(problem)
    if not ("instance" in problem.limits.survive or problem.limits.spare_on_other_instances):
        return useful
    carrying = np.ceil(_load(problem) * (1.0 - ROUNDING_SLACK)).astype(np.int64)
    most: Ints = np.maximum(useful, carrying + held_by_instance(problem))
    return most


def _load(problem: Problem) -> Floats:
    """(T, C) replicas at full rate that carry the reach of every stream of a candidate."""
    streams = problem.streams
    load = np.zeros((problem.traffic.periods, len(problem.candidates)))
    np.add.at(load, (streams.period, streams.server), streams.reach_per_s / problem.rate_of_stream_per_s)
    return load


def best_rate_per_s(problem: Problem) -> Floats:
    """(N,) the most requests/s per replica that any trimmed plan draws from a candidate for one stream.

    best_rate = max over whole r >= spare + 1 of min(max_utilization rate r, rate (r - spare), reach) / r

    The numerator's first two terms grow at least as fast as r and the third is constant, so the maximum lies next to
    the crossing r* = max(reach / (max_utilization rate), reach / rate + spare).
    """
    limits, rate, reach = problem.limits, problem.rate_of_stream_per_s, problem.streams.reach_per_s
    spare = limits.spare_replicas
    crossing = np.maximum(reach / (limits.max_utilization * rate), reach / rate + spare)
    best = np.zeros_like(rate)
    for whole in (np.floor(crossing), np.ceil(crossing)):
        count = np.maximum(whole, spare + 1)
        flow = np.minimum(np.minimum(limits.max_utilization * rate * count, rate * (count - spare)), reach)
        best = np.maximum(best, flow / count)
    return best


def deployments(problem: Problem) -> tuple[Ints, Ints]:
    """(C,) the group of each candidate, (G,) replicas of each group in force: one configuration on one offer.

    Which requests a replica is sent may change without starting or stopping it, so changes are counted by group.
    """
    candidates = problem.candidates
    groups = grouped(candidates.offer, label_numbers(candidates.configuration))
    in_force = np.zeros(len(groups.first), dtype=np.int64)
    np.add.at(in_force, groups.number, candidates.replicas_in_force)
    return groups.number, in_force


def replicas_in_force(problem: Problem) -> Ints:
    """(C,) replicas of a candidate's configuration that run on its offer today, whatever they are sent."""
    if not problem.candidates.replicas_in_force.any():
        return problem.candidates.replicas_in_force
    deployment, in_force = deployments(problem)
    return in_force[deployment]


def stands_in_force(problem: Problem) -> Flags:
    """(C,) whether replicas of a candidate's configuration run on its offer today."""
    stands: Flags = replicas_in_force(problem) > 0
    return stands


def streams_per_cell(problem: Problem) -> Ints:
    """(T, C) how many streams a candidate has in a period."""
    count = np.zeros((problem.traffic.periods, len(problem.candidates)), dtype=np.int64)
    np.add.at(count, (problem.streams.period, problem.streams.server), 1)
    return count


def class_alone(problem: Problem) -> Ints:
    """(M,) the class that a mix serves alone, -1 for a mix of several."""
    mixes = problem.traffic.mixes
    alone: Ints = np.where((mixes > 0).sum(axis=1) == 1, mixes.argmax(axis=1), -1)
    return alone


def workload_of_candidate(problem: Problem) -> Ints:
    """(C,) position of its workload among the sorted labels."""
    number = label_numbers(problem.traffic.workload)[problem.traffic.mixes.argmax(axis=1)]
    found: Ints = number[(problem.candidates.rate_per_s > 0).argmax(axis=1)]
    return found


def trimming_groups(problem: Problem, place: Ints) -> Groups:
    """Groups of streams such that in a trimmed plan sum of flow / reach over a group is at most 1.

    Streams of one period that serve the same single class share the group of their place; any other is alone.

    Args:
        problem: The problem.
        place: (C,) non-negative number of the offer or configuration each candidate belongs to.
    """
    streams, alone = problem.streams, class_alone(problem)[problem.streams.mix]
    several = len(problem.traffic.classes) + np.arange(len(streams))
    return grouped(streams.period, place[streams.server], np.where(alone >= 0, alone, several))


def labels(names: tuple[str, ...]) -> tuple[str, ...]:
    """The distinct labels, sorted."""
    return tuple(sorted(set(names)))


def providers_of(problem: Problem) -> tuple[str, ...]:
    """(O + A,) the provider of each offer, then of each hosted API."""
    return (*problem.offers.provider, *problem.apis.provider)


def places_of(problem: Problem) -> tuple[str, ...]:
    """The places that a plan may use: providers, of machines and of hosted APIs, then regions of machines."""
    kinds = {"provider": labels(providers_of(problem)), "region": labels(problem.offers.region)}
    return tuple(f"{kind}|{name}" for kind, names in kinds.items() for name in names)


def label_numbers(names: tuple[str, ...]) -> Ints:
    """The position of each name among the sorted distinct labels."""
    position = {label: number for number, label in enumerate(labels(names))}
    return np.array([position[name] for name in names], dtype=np.int64)


def busiest_period(problem: Problem) -> int:
    """The first period of those with the most requests/s, in which changes are counted."""
    return int(problem.traffic.demand_per_s.sum(axis=1).argmax())


def may_not_serve(problem: Problem) -> Flags:
    """(C,) candidates that no request may be routed to: on spot, where none of the demand may be."""
    spot: Flags = problem.offers.spot[problem.candidates.offer] & (problem.limits.max_spot_share == 0)
    return spot


def serves_all(problem: Problem) -> bool:
    """Whether something serves each class."""
    served = np.asarray((problem.candidates.rate_per_s > 0).any(axis=0))
    served[problem.apis.mix] = True
    return bool((problem.traffic.mixes[served] > 0).any(axis=0).all())

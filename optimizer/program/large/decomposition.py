"""Workloads that share nothing are problems of their own: split before the search, joined after it.

Two workloads are joined where an offer could serve both better than two offers like it would: where an instance holds
replicas of both, where only so many instances can be had, or where a start or a least time is paid for when one stops
and the other starts. They are joined all together under any limit that adds up over the fleet. Otherwise every plan is
one plan for each part and every part's plans can be put together: requests, replicas and instances add up, each
instance of an offer holds replicas of one part alone, and every family has its rows within a part. So costs and bounds
add up; a plan with a candidate costs at least its part's bound with the candidate plus the bounds of the others.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from optimizer.base.arrays import Flags, Floats, Ints
from optimizer.program.problem.data import take_labels
from optimizer.program.problem.problem import Problem, Sorted, compacted
from optimizer.program.problem.quantities import label_numbers, labels, workload_of_candidate
from optimizer.program.proof.state import Found, Machines
from optimizer.program.solver import Status


def separable_parts(problem: Problem, keep: Flags) -> list[Sorted]:
    """The parts of a sorted problem, with the candidates where `keep` (C,) is true alone; one where all is joined."""
    part_of = _part_of_workload(problem, keep)
    parts = []
    for number in np.unique(part_of).tolist():
        parts.append(_only(problem, keep, part_of == number))
    return parts


def _part_of_workload(problem: Problem, keep: Flags) -> Ints:
    """(W,) the number of the part each workload is in; the lowest of its workloads."""
    part = np.arange(len(labels(problem.traffic.workload)))
    if any(item.over == "fleet" for item in problem.limits.in_force):
        return np.zeros_like(part)
    home, workload = problem.candidates.offer[keep], workload_of_candidate(problem)[keep]
    shared = _may_be_shared(problem, keep)
    for offer in np.flatnonzero(shared).tolist():
        together = np.unique(part[workload[home == offer]])
        part[np.isin(part, together)] = together[:1].sum()
    return part


def _may_be_shared(problem: Problem, keep: Flags) -> Flags:
    """(O,) offers of which one instance, one start or one of few may serve several workloads."""
    offers, smallest = problem.offers, problem.offers.gpus_per_instance.copy()
    np.minimum.at(smallest, problem.candidates.offer[keep], problem.candidates.gpus_per_replica[keep])
    holds_several = offers.gpus_per_instance >= 2 * smallest
    starts = ~offers.always_paid & (problem.traffic.start_share.any() or problem.has_minimum_billing)
    # what is paid all month may serve one workload by day and another by night
    lent = offers.always_paid & (problem.traffic.periods > 1)
    return np.asarray(holds_several | np.isfinite(offers.available) | starts | lent)


def _only(problem: Problem, keep: Flags, number: Flags) -> Sorted:
    """The problem of the workloads where `number` (W,) is true."""
    traffic = problem.traffic
    classes = np.flatnonzero(number[label_numbers(traffic.workload)])
    mixes = np.flatnonzero((traffic.mixes[:, classes] > 0).any(axis=1))
    apis = np.flatnonzero(np.isin(problem.apis.mix, mixes))
    position = np.full(len(traffic.mixes), -1, dtype=np.int64)
    position[mixes] = np.arange(len(mixes))
    part = compacted(problem, keep & number[workload_of_candidate(problem)])
    candidates, hosted = part.problem.candidates, problem.apis.take(apis)
    return replace(
        part,
        problem=replace(
            part.problem,
            traffic=replace(
                traffic,
                classes=take_labels(traffic.classes, classes),
                workload=take_labels(traffic.workload, classes),
                demand_per_s=traffic.demand_per_s[:, classes],
                mixes=traffic.mixes[np.ix_(mixes, classes)],
                least_replicas=traffic.least_replicas[:, number],
            ),
            candidates=replace(candidates, rate_per_s=candidates.rate_per_s[:, mixes]),
            apis=replace(hosted, mix=position[hosted.mix]),
            sending=part.problem.sending.take(classes, np.arange(len(part.offers))),
        ),
        classes=classes,
        mixes=mixes,
        apis=apis,
    )


def better(one: Found, other: Found) -> Found:
    """What two searches of one problem say together."""
    known = [found for found in (one, other) if found.machines is not None]
    best = min(known, key=lambda found: found.machines.usd_per_hour if found.machines else np.inf, default=other)
    each = np.maximum(one.with_candidate_usd_per_hour, other.with_candidate_usd_per_hour)
    status = "optimal" if "optimal" in (one.status, other.status) else best.status
    return Found(status, max(one.bound_usd_per_hour, other.bound_usd_per_hour), best.machines, each)


def joined(problem: Problem, parts: Sequence[Sorted], founds: Sequence[Found]) -> Found:
    """What the searches of the parts say about the whole."""
    lower = sum(found.bound_usd_per_hour for found in founds)
    statuses = {found.status for found in founds}
    if "infeasible" in statuses:
        return Found("infeasible", lower, None, np.full(len(problem.candidates), np.inf))
    machines = _together(problem, parts, [found.machines for found in founds])
    each = np.full(len(problem.candidates), np.inf)
    for part, found in zip(parts, founds, strict=True):
        others = lower - found.bound_usd_per_hour
        alone = found.with_candidate_usd_per_hour
        # what could not undercut its part's plan may yet be in a plan that undercuts them all
        each[part.candidates] = others + np.where(np.isfinite(alone) | (statuses == {"optimal"}), alone, 0.0)
    proven: Status = "optimal" if statuses == {"optimal"} else "feasible"
    return Found("unproven" if machines is None else proven, lower, machines, each)


def _together(problem: Problem, parts: Sequence[Sorted], plans: Sequence[Machines | None]) -> Machines | None:
    """The plans of all parts as one; None where a part has none."""
    periods = problem.traffic.periods
    instances = np.zeros((periods, len(problem.offers)), dtype=np.int64)
    replicas = np.zeros((periods, len(problem.candidates)), dtype=np.int64)
    sent: Floats = np.zeros((periods, len(problem.apis)))
    cost = 0.0
    for part, plan in zip(parts, plans, strict=True):
        if plan is None:
            return None
        instances[:, part.offers] += plan.instances
        replicas[:, part.candidates] = plan.replicas
        streams = part.problem.api_streams
        sent[streams.period, part.apis[streams.server]] = plan.api_flow_per_s
        cost += plan.usd_per_hour
    streams = problem.api_streams
    return Machines(instances, replicas, sent[streams.period, streams.server], cost)

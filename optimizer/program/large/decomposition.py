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

from optimizer.base.arrays import Flags, Ints
from optimizer.program.problem.instance_contents import Placed
from optimizer.program.problem.problem import Problem, Sorted, compacted, with_traffic
from optimizer.program.problem.quantities import label_numbers, labels, workload_of_candidate
from optimizer.program.proof.relaxation import Bound
from optimizer.program.proof.state import Incumbent, SearchResult
from optimizer.program.proof.steps import cheaper
from optimizer.program.solver import Status


def separable_parts(problem: Problem, keep: Flags) -> list[Sorted]:
    """The parts of a sorted problem, with the candidates where `keep` (C,) is true alone; one where all is joined."""
    part_of = _part_of_workload(problem, keep)
    return [alone(problem, keep, part_of == number) for number in np.unique(part_of).tolist()]


def _part_of_workload(problem: Problem, keep: Flags) -> Ints:
    """(W,) the number of the part each workload is in; the lowest of its workloads."""
    part = np.arange(len(labels(problem.traffic.workload)))
    if any(item.over == "fleet" for item in problem.limits.in_force):
        return np.zeros_like(part)
    offer, workload = problem.candidates.offer[keep], workload_of_candidate(problem)[keep]
    for shared in np.flatnonzero(_may_be_shared(problem, keep)).tolist():
        together = np.unique(part[workload[offer == shared]])
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


def alone(problem: Problem, keep: Flags, chosen: Flags) -> Sorted:
    """The problem of the workloads where `chosen` (W,) is true, with the candidates where `keep` (C,) is alone."""
    traffic = problem.traffic
    classes = np.flatnonzero(chosen[label_numbers(traffic.workload)])
    mixes = np.flatnonzero((traffic.mixes[:, classes] > 0).any(axis=1))
    apis = np.flatnonzero(np.isin(problem.apis.mix, mixes))
    part = compacted(problem, keep & chosen[workload_of_candidate(problem)])
    inner = with_traffic(part.problem, classes, mixes, apis)
    warm = replace(inner.traffic, least_replicas=traffic.least_replicas[:, chosen])
    return replace(part, problem=replace(inner, traffic=warm), classes=classes, mixes=mixes, apis=apis)


def better(one: SearchResult, other: SearchResult) -> SearchResult:
    """What two searches of one problem say together."""
    incumbent = cheaper(one.incumbent, other.incumbent)
    best = one if incumbent is one.incumbent and incumbent is not None else other
    status = "optimal" if "optimal" in (one.status, other.status) else best.status
    return SearchResult(status, one.bound.raised_to(other.bound), incumbent)


def joined(problem: Problem, parts: Sequence[Sorted], results: Sequence[SearchResult]) -> SearchResult:
    """What the searches of the parts say about the whole."""
    lower = sum(result.bound.usd_per_hour for result in results)
    statuses = {result.status for result in results}
    with_candidate = np.full(len(problem.candidates), np.inf)
    if "infeasible" in statuses:
        return SearchResult("infeasible", Bound(lower, with_candidate), None)
    incumbent, proven = together(problem, parts, [result.incumbent for result in results]), statuses == {"optimal"}
    for part, result in zip(parts, results, strict=True):
        others, alone = lower - result.bound.usd_per_hour, result.bound.with_candidate_usd_per_hour
        # what could not undercut its part's plan may yet be in a plan that undercuts them all
        with_candidate[part.candidates] = others + np.where(np.isfinite(alone) | proven, alone, 0.0)
    status: Status = "unproven" if incumbent is None else "optimal" if proven else "feasible"
    return SearchResult(status, Bound(lower, with_candidate), incumbent)


def together(problem: Problem, parts: Sequence[Sorted], plans: Sequence[Incumbent | None]) -> Incumbent | None:
    """The plans of all parts as one; None where a part has none."""
    periods, streams = problem.traffic.periods, problem.api_streams
    instances = np.zeros((periods, len(problem.offers)), dtype=np.int64)
    replicas = np.zeros((periods, len(problem.candidates)), dtype=np.int64)
    # (T, A) requests/s sent to hosted APIs
    sent, cost, restarts, egress, idle = np.zeros((periods, len(problem.apis))), 0.0, 0.0, 0.0, 0.0
    placed = Placed(replicas=np.zeros((0, len(problem.candidates)), dtype=np.int64))
    for part, plan in zip(parts, plans, strict=True):
        if plan is None:
            return None
        instances[:, part.offers] += plan.instances
        replicas[:, part.candidates] = plan.replicas
        part_streams = part.problem.api_streams
        sent[part_streams.period, part.apis[part_streams.server]] = plan.api_flow_per_s
        cost += plan.usd_per_hour
        restarts += plan.restarts_usd_per_hour
        egress += plan.egress_usd_per_hour
        idle += plan.billed_idle_usd_per_hour
        placed = placed.and_also(plan.placed.for_whole(part.offers, part.candidates, len(problem.candidates)))
    flow = sent[streams.period, streams.server]
    return Incumbent(instances, replicas, flow, cost, restarts, placed, egress, idle)

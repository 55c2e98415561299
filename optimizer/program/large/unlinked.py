"""A week whose hours nothing links but what is paid all month: a bound of the linked week, and a plan to start from.

Without starts, least billed times and a limit on the month's carbon, hours of equal demand may all do what the cheapest
of them does: neither the bill nor the instances paid all month rise, nor do what may be spent, the configurations and
the engines, and every promise on a period is kept in each of them. So they are one period, a week has few of those, and
no plan of the linked week costs less than the cheapest of this one. What is held by an instance that is paid all month
still fits into it. Changes are counted in one of several busiest periods, so limits on them and their price are left
out, too.

The other way round a plan of the unlinked week is one of the linked week, once its starts and the hours that are billed
though nothing runs are paid for.
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from optimizer.base.arrays import Floats, Ints
from optimizer.base.units import HOURS_PER_MONTH
from optimizer.program.large.joined_periods import between_hours_usd_per_hour
from optimizer.program.problem.data import Billing, LayoutTerms, Traffic
from optimizer.program.problem.instance_contents import Placed
from optimizer.program.problem.problem import NO_TOLLS, Problem
from optimizer.program.proof.state import Incumbent


def kinds_of_periods(problem: Problem) -> Ints:
    """(T,) the same number for periods that ask for the same, at the same tolls."""
    traffic = problem.traffic
    asked = [traffic.demand_per_s, traffic.least_replicas]
    if traffic.paid_share.size:
        asked.append(traffic.paid_share)
    if problem.tolls_usd_per_hour.size:
        asked.append(problem.tolls_usd_per_hour / traffic.share_of_month[:, None])
    return np.unique(np.hstack(asked), axis=0, return_inverse=True)[1].reshape(-1).astype(np.int64)


def unlinked(problem: Problem, kind: Ints) -> Problem:
    """The problem with one period for each kind (T,), and nothing that joins them but what is paid all month."""
    kinds, first = np.unique(kind, return_index=True)
    merged: Traffic = replace(
        problem.traffic.during(first),
        share_of_month=np.bincount(kind, weights=problem.traffic.share_of_month).astype(float),
        start_share=np.zeros((len(kinds), len(kinds))),
    )
    # where an instance that is paid all month may change what it holds, only hours tell when
    kept = problem.layouts.kept and not problem.layouts.followed.any()
    tolls = np.zeros((len(kinds), problem.tolls_usd_per_hour.shape[1]))
    if problem.tolls_usd_per_hour.size:
        np.add.at(tolls, kind, problem.tolls_usd_per_hour)
    return replace(
        problem,
        traffic=merged,
        limits=replace(problem.limits, max_carbon_kg_per_month=None, max_changes=None, usd_per_change=0.0),
        billing=Billing(),
        layouts=LayoutTerms(kept=kept),
        tolls_usd_per_hour=tolls if tolls.size else NO_TOLLS,
    )


def linked_again(problem: Problem, kind: Ints, plan: Incumbent) -> Incumbent | None:
    """A plan of the unlinked week with its starts and idle hours paid for; None where it may break a limit.

    Args:
        problem: The linked week.
        kind: (T,) of its periods, see `kinds_of_periods`.
        plan: Of the unlinked week.
    """
    limits, instances = problem.limits, plan.instances[kind]
    if limits.max_carbon_kg_per_month is not None or limits.max_changes is not None or limits.usd_per_change:
        return None
    cost = plan.usd_per_hour + between_hours_usd_per_hour(problem, instances)
    if limits.max_monthly_usd is not None and cost * HOURS_PER_MONTH > limits.max_monthly_usd:
        return None
    sent = np.concatenate([plan.api_flow_per_s[:0], *_by_period(problem, kind, plan)])
    return replace(
        plan,
        instances=instances,
        replicas=plan.replicas[kind],
        api_flow_per_s=sent,
        usd_per_hour=cost,
        restarts_usd_per_hour=0.0,
        placed=_placed(plan.placed, kind),
    )


def _by_period(problem: Problem, kind: Ints, plan: Incumbent) -> Iterator[Floats]:
    """What is sent to hosted APIs in each period (T,): what its kind sends, whose streams are in the same order."""
    wanted = np.bincount(problem.api_streams.period, minlength=len(kind))
    # kind -> its first stream in the unlinked week
    first = np.concatenate([[0], np.cumsum(wanted[np.unique(kind, return_index=True)[1]])])
    for number, count in zip(kind.tolist(), wanted.tolist(), strict=True):
        yield plan.api_flow_per_s[first[number] : first[number] + count]


def _placed(placed: Placed, kind: Ints) -> Placed:
    """What stands on instances in each period (T,): what does in its kind."""
    period, entry = np.nonzero(kind[:, None] == placed.period)
    return Placed(period, placed.offer[entry], placed.instances[entry], placed.replicas[entry])

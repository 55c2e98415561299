"""A plan of the week from one for each period: what joins the periods is paid for on top of what each costs alone."""

from collections.abc import Sequence

import numpy as np

from optimizer.base.arrays import Floats, Ints
from optimizer.base.units import HOURS_PER_MONTH
from optimizer.program.problem.layouts import load_groups
from optimizer.program.problem.problem import Problem
from optimizer.program.proof.state import Incumbent
from optimizer.program.refine.paid_runs import billed_idle_usd_per_hour


def joined_periods(problem: Problem, plans: Sequence[Incumbent | None], usd_per_hour: Floats) -> Incumbent | None:
    """The plans put together; None where a period has none, or the week asks for more than each period does alone.

    Args:
        problem: Of several periods.
        plans: (T,) each in the index order of the problem, with one period; without contents of single instances.
        usd_per_hour: (T,) what each adds to the month's bill, but for instances paid all month.
    """
    known = [plan for plan in plans if plan is not None]
    limits = problem.limits
    over_time = {item.name for item in limits.in_force if item.scope != "period"} - {"max_monthly_usd"}
    if len(known) < len(plans) or over_time or any(len(plan.placed) for plan in known):
        return None
    offers = problem.offers
    instances = np.concatenate([plan.instances for plan in known])
    replicas = np.concatenate([plan.replicas for plan in known])
    # what is paid all month is there all month, beside what else a period runs
    idle = instances[:, offers.always_paid].max(axis=0) - instances[:, offers.always_paid]
    instances[:, offers.always_paid] += idle
    if (counts_what_idles(problem) and idle.any()) or changes_what_is_held(problem, replicas):
        return None
    always = float(instances[0] @ np.where(offers.always_paid, offers.price_usd_per_hour, 0.0))
    cost = float(usd_per_hour.sum()) + always + between_hours_usd_per_hour(problem, instances)
    if limits.max_monthly_usd is not None and cost * HOURS_PER_MONTH > limits.max_monthly_usd:
        return None
    sent, egress = np.concatenate([plan.api_flow_per_s for plan in known]), sum(p.egress_usd_per_hour for p in known)
    return Incumbent(instances, replicas, sent, cost, egress_usd_per_hour=egress)


def counts_what_idles(problem: Problem) -> bool:
    """Whether a limit besides the budget may count an instance that is there and serves nobody."""
    return problem.ceiling.in_force or any(item.name != "max_monthly_usd" for item in problem.limits.in_force)


def changes_what_is_held(problem: Problem, replicas: Ints) -> bool:
    """Whether an offer that is paid all month runs several groups in the (T, C) replicas, of which each is held."""
    groups = load_groups(problem)
    ever = np.unique(groups.number[replicas.any(axis=0)])
    return bool((np.bincount(groups.offer[ever], minlength=len(problem.offers))[problem.offers.always_paid] > 1).any())


def between_hours_usd_per_hour(problem: Problem, instances: Ints) -> float:
    """What (T, O) instances paid by the hour cost beyond the hours that they run: starts, and least billed times."""
    offers, traffic = problem.offers, problem.traffic
    by_hour = np.where(offers.always_paid, 0.0, offers.price_usd_per_hour)
    before, after = traffic.changes
    started = np.maximum(instances[after] - instances[before], 0)
    cost = float(traffic.start_share[before, after] @ started @ by_hour)
    return cost + billed_idle_usd_per_hour(problem, instances)

"""A plan made larger: its own configurations on its own offers, with as many more replicas as every hour takes now."""

from dataclasses import replace
from functools import partial
from math import ceil

import numpy as np

from optimizer.base.arrays import Ints
from optimizer.inputs.scenario.scenario import Policy
from optimizer.plan.question.inquiry import Answer, Inquiry
from optimizer.plan.question.service import LOAD_TOLERANCE, Service, services_of
from optimizer.plan.question.solving import own_configurations
from optimizer.program.larger import search_larger


def enlarged(known: Answer, inquiry: Inquiry) -> Answer | None:
    """A plan of what a known one runs, for a question in which its replicas sustain less.

    What it runs is kept, and what is sent to it takes so many more replicas: with these the program has a plan at once,
    where the search for the cheapest may take long. None where a limit allows no such plan.

    Args:
        known: The plan.
        inquiry: The question, over the same candidates.
    """
    hours = inquiry.week.hour_to_period
    by_hour = _replicas_needed(known, inquiry)[known.formulation.periods.hour_to_period]
    # (T, used) the most that an hour of the period takes
    needed = np.array([by_hour[hours == period].max(axis=0) for period in range(int(hours.max()) + 1)])
    ran = np.flatnonzero(known.solution.replicas.any(axis=0)).tolist()
    ids = [known.formulation.problem.candidates.ids[c] for c in ran]
    search = partial(search_larger, least=dict(zip(ids, needed.T, strict=True)))
    found, _ = inquiry.simpler_once(own_configurations(known), search, np.inf)
    return None if found is None or found.broken() else replace(found, simplicity_proven=False)


def _replicas_needed(known: Answer, inquiry: Inquiry) -> Ints:
    """(T, used) replicas that serve what the plan sends to each, and no fewer than it runs."""
    needed = []
    for use in known.used:
        share = float(inquiry.market.serving_share[use.column.offer])
        by_period = services_of(inquiry.options[use.column.workload], use, share)
        own = [_needed(inquiry.scenario.policy, service) for service in by_period]
        needed.append(np.maximum(own, use.replicas))
    return np.array(needed, dtype=np.int64).T


def _needed(policy: Policy, service: Service) -> int:
    """The fewest replicas that are not overloaded, see `overload`; none where a replica sustains nothing any more."""
    if not service.flow_per_s or not service.rate_per_s:
        return 0
    busy = service.flow_per_s * policy.robust.demand / (service.rate_per_s * policy.robust.throughput)
    busy *= 1 - LOAD_TOLERANCE
    return max(ceil(busy / policy.max_utilization), ceil(busy) + policy.spare_replicas)

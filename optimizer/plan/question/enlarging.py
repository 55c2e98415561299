"""A plan made larger: its own configurations on its own offers, with as many more replicas as every hour takes now."""

from dataclasses import replace
from functools import partial
from math import ceil

import numpy as np

from optimizer.base.arrays import Ints
from optimizer.inputs.scenario.scenario import Policy
from optimizer.plan.question.inquiry import Answer, Inquiry
from optimizer.plan.question.make_weights import own_configurations
from optimizer.plan.question.service import LOAD_TOLERANCE, Service, services_of
from optimizer.program.larger import search_larger
from optimizer.program.problem.columns import Column
from optimizer.program.problem.formulate import Formulation


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
    # (T, kinds used) the most that an hour of the period takes
    needed = np.array([by_hour[hours == period].max(axis=0) for period in range(int(hours.max()) + 1)])
    own = own_configurations(known)
    # replicas that are sent one predicted mix each hold, whatever lies between
    for asked in (inquiry, inquiry.apart()):
        search = partial(search_larger, kind=_kinds(known, asked.formulated(own, counts=True)), least=needed)
        found, _ = asked.simpler_once(own, search, np.inf)
        if found is not None and not found.broken():
            return replace(found, inquiry=inquiry, simplicity_proven=False)
    return None


def _kinds(known: Answer, formulation: Formulation) -> dict[str, int]:
    """By id of a candidate its position in `_kinds_used`, where it is one of these."""
    place = {kind: number for number, kind in enumerate(_kinds_used(known))}
    ids = zip(formulation.problem.candidates.ids, formulation.columns, strict=True)
    return {name: place[_kind(column)] for name, column in ids if _kind(column) in place}


def _kinds_used(known: Answer) -> list[tuple[int, int, int]]:
    """What the plan uses, whichever mixes it is sent."""
    return sorted({_kind(use.column) for use in known.used})


def _kind(column: Column) -> tuple[int, int, int]:
    return column.workload, column.configuration, column.offer


def _replicas_needed(known: Answer, inquiry: Inquiry) -> Ints:
    """(T, kinds used) replicas that serve what the plan sends to each, and no fewer than it runs."""
    kinds = _kinds_used(known)
    needed = np.zeros((known.solution.replicas.shape[0], len(kinds)), dtype=np.int64)
    for use in known.used:
        share = float(inquiry.market.serving_share[use.column.offer])
        by_period = services_of(inquiry.options[use.column.workload], use, share)
        own = [_needed(inquiry.scenario.policy, service) for service in by_period]
        needed[:, kinds.index(_kind(use.column))] += np.maximum(own, use.replicas)
    return needed


def _needed(policy: Policy, service: Service) -> int:
    """The fewest replicas that are not overloaded, see `overload`; none where a replica sustains nothing any more."""
    if not service.flow_per_s or not service.rate_per_s:
        return 0
    busy = service.flow_per_s * policy.robust.demand / (service.rate_per_s * policy.robust.throughput)
    busy *= 1 - LOAD_TOLERANCE
    return max(ceil(busy / policy.max_utilization), ceil(busy) + policy.spare_replicas)

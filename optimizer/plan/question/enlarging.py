"""A plan made larger: its own configurations on its own offers, with as many more replicas as every hour takes now."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from math import ceil
from typing import Final

import numpy as np

from optimizer.base.arrays import Ints
from optimizer.inputs.scenario.scenario import Policy
from optimizer.plan.question.inquiry import Answer, Inquiry
from optimizer.plan.question.make_weights import own_configurations
from optimizer.plan.question.service import LOAD_TOLERANCE, Service, services_of
from optimizer.program.larger import NODES, search_larger
from optimizer.program.problem.columns import Column
from optimizer.program.problem.formulate import Formulation

FREE_NODES: Final = 2_000
"""Of branch and bound where what is sent to each is open, which takes more of them."""


def enlarged(known: Answer, inquiry: Inquiry) -> Answer | None:
    """A plan of what a known one runs, for a question in which its replicas sustain less.

    What it runs is kept. With as many more replicas as what is sent to each of them takes, the program has a plan at
    once, where the search for the cheapest may take long; whatever is sent where, and fewer more are often enough. None
    where a limit allows no such plan.

    Args:
        known: The plan.
        inquiry: The question, over the same candidates.
    """
    needed, running = _replicas(known, inquiry, _needed), _replicas(known, inquiry, lambda *_: 0)
    # replicas that are sent one predicted mix each hold, whatever lies between
    for asked in (inquiry, inquiry.apart()):
        plans = [_with_standing(known, asked, needed), _with_standing(known, asked, running, FREE_NODES)]
        held = [found for found in plans if found is not None and not found.broken()]
        if held:
            cheapest = min(held, key=lambda found: found.solution.cost_usd_per_month or np.inf)
            return replace(cheapest, inquiry=inquiry, simplicity_proven=False)
    return None


def _with_standing(known: Answer, asked: Inquiry, least: Ints, nodes: int = NODES) -> Answer | None:
    """A plan of a known one's configurations on its offers with at least so many (T, kinds used) replicas."""
    own = own_configurations(known)
    kinds = _kinds(known, asked.formulated(own, counts=True))
    found, _ = asked.simpler_once(own, partial(search_larger, kind=kinds, least=least, nodes=nodes), np.inf)
    return found


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


def _replicas(known: Answer, inquiry: Inquiry, more: Callable[[Policy, Service], int]) -> Ints:
    """(T, kinds used) replicas in the periods of a question: no fewer than the plan runs in any hour, and than `more`
    says of what it sends to each."""
    kinds, hours = _kinds_used(known), inquiry.week.hour_to_period
    by_period = np.zeros((known.solution.replicas.shape[0], len(kinds)), dtype=np.int64)
    for use in known.used:
        share = float(inquiry.market.serving_share[use.column.offer])
        own = [
            more(inquiry.scenario.policy, service)
            for service in services_of(inquiry.options[use.column.workload], use, share)
        ]
        by_period[:, kinds.index(_kind(use.column))] += np.maximum(own, use.replicas)
    by_hour = by_period[known.formulation.periods.hour_to_period]
    return np.array([by_hour[hours == period].max(axis=0) for period in range(int(hours.max()) + 1)])


def _needed(policy: Policy, service: Service) -> int:
    """The fewest replicas that are not overloaded, see `overload`; none where a replica sustains nothing any more."""
    if not service.flow_per_s or not service.rate_per_s:
        return 0
    busy = service.flow_per_s * policy.robust.demand / (service.rate_per_s * policy.robust.throughput)
    busy *= 1 - LOAD_TOLERANCE
    return max(ceil(busy / policy.max_utilization), ceil(busy) + policy.spare_replicas)

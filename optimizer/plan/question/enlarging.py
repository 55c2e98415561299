"""A plan made larger: its own configurations on its own offers, with as many more replicas as every hour takes now."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from math import ceil
from typing import Final

import numpy as np

from optimizer.base.arrays import Ints
from optimizer.inputs.scenario.scenario import Policy
from optimizer.performance.candidates.periods import told_apart
from optimizer.plan.question.inquiry import Answer, Inquiry
from optimizer.plan.question.make_weights import own_configurations
from optimizer.plan.question.service import LOAD_TOLERANCE, Service, services_of
from optimizer.program.larger import NODES, search_larger
from optimizer.program.problem.columns import Column
from optimizer.program.problem.formulate import Formulation

FREE_NODES: Final = 500
"""Of branch and bound where what is sent to each is open, which takes more of them."""

MOST_PERIODS: Final = 24
"""Of a plan that is made larger period by period; of more, those that run and need the same are one."""

NEAR: Final = 1.02
"""Times the cost of a plan up to which one in which what is sent to each is open is not compared with others."""

MOST_PREDICTED: Final = 6
"""Times that mixes are predicted which a larger plan would send to replicas that do not hold them."""


def enlarged(known: Answer, inquiry: Inquiry) -> Answer | None:
    """A plan of what a known one runs, for a question in which its replicas sustain less.

    What it runs is kept, and what is sent where is open. Where a mix that the plan sends is more than its replicas hold
    it is predicted, and so again. With as many more replicas as what was sent to each of them takes, the program has a
    plan at once, where that for fewer more takes longer than a limit leaves. None where a limit allows no such plan.

    Args:
        known: The plan.
        inquiry: The question, over the same candidates.
    """
    asked = inquiry
    if known.formulation.periods.hour_to_period.max() >= MOST_PERIODS:
        asked = replace(inquiry, hour_to_period=_alike_in_need(known, inquiry))
    found = _cheapest_that_holds(known, asked)
    own = None if found is None else replace(found.inquiry, hour_to_period=inquiry.hour_to_period)
    return None if found is None or own is None else replace(found, inquiry=own, simplicity_proven=False)


def _cheapest_that_holds(known: Answer, inquiry: Inquiry) -> Answer | None:
    """The same in the periods of the question."""
    running = _replicas(known, inquiry, lambda *_: 0)
    asked, free = inquiry, _with_standing(known, inquiry, running, FREE_NODES)
    for _ in range(MOST_PREDICTED):
        if free is None or inquiry.clock.expired or not (broken := free.broken()):
            break
        asked = asked.with_predicted(broken)
        free = _with_standing(known, asked, running, FREE_NODES)
    if free is not None and not free.broken() and _usd(free) <= NEAR * _usd(known):
        return free
    needed = _replicas(known, inquiry, _needed)
    plans = [free, _with_standing(known, inquiry, needed)]
    if free is not None:
        # what this one sends is served by as many as its own mixes take
        plans.append(_with_standing(free, asked, _replicas(free, asked, _needed)))
    held = [found for found in plans if found is not None and not found.broken()]
    if not held:
        # replicas that are sent one predicted mix each hold, whatever lies between
        apart = [_with_standing(known, inquiry.apart(), *each) for each in ((needed, NODES), (running, FREE_NODES))]
        held = [replace(found, inquiry=inquiry) for found in apart if found is not None and not found.broken()]
    return min(held, key=_usd, default=None)


def _usd(found: Answer) -> float:
    """What a plan costs a month."""
    return found.solution.cost_usd_per_month or np.inf


def _alike_in_need(known: Answer, inquiry: Inquiry) -> Ints:
    """(168,) the period of each hour where hours that run the same instances and need as many replicas are one."""
    state = np.hstack([known.solution.instances, _by_period(known, inquiry, _needed)])
    number = np.unique(state, axis=0, return_inverse=True)[1].reshape(-1)
    return told_apart(number[known.formulation.periods.hour_to_period])


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
    hours = inquiry.week.hour_to_period
    by_hour = _by_period(known, inquiry, more)[known.formulation.periods.hour_to_period]
    return np.array([by_hour[hours == period].max(axis=0) for period in range(int(hours.max()) + 1)])


def _by_period(known: Answer, inquiry: Inquiry, more: Callable[[Policy, Service], int]) -> Ints:
    """The same in the plan's own periods."""
    kinds = _kinds_used(known)
    by_period = np.zeros((known.solution.replicas.shape[0], len(kinds)), dtype=np.int64)
    services = services_of(inquiry.options, known.used, inquiry.market.serving_share)
    for use, of_use in zip(known.used, services, strict=True):
        own = [more(inquiry.scenario.policy, service) for service in of_use]
        by_period[:, kinds.index(_kind(use.column))] += np.maximum(own, use.replicas)
    return by_period


def _needed(policy: Policy, service: Service) -> int:
    """The fewest replicas that are not overloaded, see `overload`; none where a replica sustains nothing any more."""
    if not service.flow_per_s or not service.rate_per_s:
        return 0
    busy = service.flow_per_s * policy.robust.demand / (service.rate_per_s * policy.robust.throughput)
    busy *= 1 - LOAD_TOLERANCE
    return max(ceil(busy / policy.max_utilization), ceil(busy) + policy.spare_replicas)

"""Which workloads containers paid by the second serve: every choice of them is a question of its own."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from operator import attrgetter

import numpy as np

from optimizer.performance.candidates.periods import weekly_requests_per_second
from optimizer.performance.per_second.containers import ServedBySecond, cheapest
from optimizer.performance.per_second.sales import PER_SECOND, refusals, sold_by_second
from optimizer.plan.question.inquiry import Answer, Inquiry


def containers_of(inquiry: Inquiry) -> tuple[ServedBySecond, ...]:
    """The cheapest containers of each workload that they may serve, by workload; none where they are not admitted.

    Raises:
        LimitReached: nobody insists on an answer, for which no time is left.
    """
    if PER_SECOND not in inquiry.scenario.policy.hosting or refusals(inquiry.scenario):
        return ()
    inquiry.still_wanted()
    question, best = sold_to(inquiry), dict[int, ServedBySecond]()
    for choice in question.options:
        week = np.array(weekly_requests_per_second(choice.workload))
        found = cheapest(choice, question.market, inquiry.catalogs, inquiry.scenario.policy, week)
        known = best.get(choice.workload_index)
        if found is not None and (known is None or found.usd_per_month < known.usd_per_month):
            best[choice.workload_index] = found
    return tuple(best[index] for index in sorted(best))


def sold_to(inquiry: Inquiry) -> Inquiry:
    """The same question where what is sold by the second stands for all that is rented."""
    asked, catalogs = sold_by_second(inquiry.scenario, inquiry.catalogs)
    return Inquiry.of(asked, catalogs, inquiry.clock).keeping_to(inquiry.avoided)


def choices_of(served: Sequence[ServedBySecond]) -> Iterator[tuple[ServedBySecond, ...]]:
    """Every choice of workloads that containers serve, fewest first; none of them is the question without any."""
    return (chosen for count in range(1, len(served) + 1) for chosen in combinations(served, count))


def usd_of(chosen: Sequence[ServedBySecond]) -> float:
    """What containers cost a month; whatever serves the other workloads comes on top."""
    return float(sum(map(attrgetter("usd_per_month"), chosen)))


def without_containers(inquiry: Inquiry) -> Inquiry:
    """The same question, none of whose workloads is decided to be served by the second."""
    return replace(inquiry, by_second=()) if inquiry.by_second else inquiry


def cheaper(known: Answer, other: Answer) -> Answer:
    """The cheaper of two answers to a part of the choices each, with what is proven of both; of equals the first."""
    one, two = known.solution, other.solution
    if one.cost_usd_per_month is None and two.cost_usd_per_month is None:
        return known if one.outcome == "unproven" else other
    if two.cost_usd_per_month is None or (one.cost_usd_per_month or np.inf) <= two.cost_usd_per_month:
        best, beside = known, two
    else:
        best, beside = other, one
    if beside.outcome in ("optimal", "infeasible"):
        return best
    return replace(best, solution=best.solution.bounded_by(beside))

"""Prices of starts for a week told by its levels: a sharper bound, and plans of levels that go well together.

Hours of one level that follow one level and precede another pay the same for an instance, at prices of starts that
depend on the two levels of a change alone. So they are one kind of hour, a week has few of them, and the bound of
`period_programs` takes one program for each. Prices come from mixing the plans of all levels found so far, each in
every kind of hour that it serves; what the programs find joins these.
"""

from dataclasses import replace
from typing import Final

import numpy as np

from optimizer.base.arrays import Floats, Ints
from optimizer.program.large.covering import Cover
from optimizer.program.large.levels import Levels
from optimizer.program.large.period_master import PeriodPlan, mixture_of
from optimizer.program.large.period_programs import Prices, Search, own_state, price_of_instance, single_period
from optimizer.program.problem.data import Billing, LayoutTerms
from optimizer.program.problem.problem import Problem, compacted
from optimizer.program.problem.quantities import serves_all
from optimizer.program.proof.state import SearchState

MOST_ROUNDS: Final = 6
CLOSE: Final = 1e-3
"""How often prices are moved, and how near the mixture the bound need not be raised."""

PULL: Final = 0.5
"""Weight of the best prices so far beside the mixture's."""


def follows_itself(problem: Problem) -> bool:
    """Whether each period has one before it and one after it that a start may be paid between."""
    linked = problem.traffic.start_share > 0
    return bool((linked.sum(axis=0) == 1).all() and (linked.sum(axis=1) == 1).all())


def bound_with_starts(problem: Problem, kind: Ints, levels: Levels, state: SearchState, search: Search) -> float:
    """USD/h that no plan of the week undercuts; more plans join the levels'.

    Args:
        problem: The week, which `follows_itself`.
        kind: (T,) the level of each of its periods.
        levels: With a plan for each.
        state: Whose clock ends the rounds.
        search: Solves one kind of hour.
    """
    hours, level = _kinds_of_hours(problem, kind)
    best, best_moved = 0.0, None
    for _ in range(MOST_ROUNDS):
        mixture = mixture_of(hours, _plans(hours, level, levels), state.clock)
        least = np.inf if mixture is None else min(mixture.value, state.cutoff_usd_per_hour)
        near = least - best <= CLOSE * least or best >= state.enough_usd_per_hour
        if mixture is None or state.clock.expired or near:
            break
        moved = _by_levels(hours, level, mixture.moved)
        if best_moved is not None:
            moved = PULL * best_moved + (1 - PULL) * moved
        found = _bound_at(hours, level, moved, levels, state, search)
        if found > best:
            best, best_moved = found, moved
    return best


def _kinds_of_hours(problem: Problem, kind: Ints) -> tuple[Problem, Ints]:
    """The week with one period for hours of one level, between the same two, that last as long; and (Q,) its level."""
    traffic = problem.traffic
    before, after = traffic.start_share.argmax(axis=0), traffic.start_share.argmax(axis=1)
    terms = [traffic.share_of_month, traffic.start_share.max(axis=0), traffic.start_share.max(axis=1)]
    lasting = np.unique(np.stack(terms).round(12), axis=1, return_inverse=True)[1].reshape(-1)
    key = np.stack([kind[before], kind, kind[after], lasting])
    _, first, number = np.unique(key, axis=1, return_index=True, return_inverse=True)
    number, count = number.reshape(-1), len(first)
    starts = np.zeros((count, count))
    np.add.at(starts, (number[:, None], number[None]), traffic.start_share)
    # what an hour of a kind pays for following another one of its own it gets back at once
    np.fill_diagonal(starts, 0.0)
    merged = replace(
        traffic.during(first),
        share_of_month=np.bincount(number, weights=traffic.share_of_month, minlength=count).astype(float),
        start_share=starts,
    )
    return replace(problem, traffic=merged, billing=Billing(), layouts=LayoutTerms(kept=False)), kind[first]


def _plans(hours: Problem, level: Ints, levels: Levels) -> list[PeriodPlan]:
    """Every plan of a level in every kind of hour that it serves."""
    cost, share = levels.costs()[level], hours.traffic.share_of_month
    kinds, numbers = np.nonzero(np.isfinite(cost))
    runs = [plan.instances[0].astype(float) for _, plan in levels.plans]
    return [
        PeriodPlan(q, float(share[q] * cost[q, number]), runs[number])
        for q, number in zip(kinds.tolist(), numbers.tolist(), strict=True)
    ]


def _by_levels(hours: Problem, level: Ints, moved: Floats) -> Floats:
    """(O, X) prices of starts that are the same share of what a start costs at every change between two levels."""
    before, after = hours.traffic.changes
    costs = hours.traffic.start_share[before, after]
    _, pair = np.unique(np.stack([level[before], level[after]]), axis=1, return_inverse=True)
    pair = pair.reshape(-1)
    total = np.array([np.bincount(pair, weights=row) for row in moved])
    # USD/h by share of the month billed for a start, of all changes between the two levels
    rate = total / np.bincount(pair, weights=costs)
    most = hours.offers.price_usd_per_hour[:, None] * costs
    return np.asarray(np.clip(rate[:, pair] * costs, 0.0, most))


def _bound_at(hours: Problem, level: Ints, moved: Floats, levels: Levels, state: SearchState, search: Search) -> float:
    """The sum of what each kind of hour costs at least, at prices of starts (O, X); what was found joins the levels."""
    share, offers = hours.traffic.share_of_month, hours.offers
    price = price_of_instance(hours, Prices(np.zeros((len(share), len(offers))), moved)) / share[:, None]
    alone = replace(hours, traffic=replace(hours.traffic, share_of_month=np.ones(len(share))))
    extra, total = price - offers.price_usd_per_hour, 0.0
    cost, runs = levels.costs()[level], np.array([plan.instances[0] for _, plan in levels.plans])
    # (Q, P) what known plans cost at these prices
    known = cost + extra @ runs.T
    cover = None if levels.worth is None else Cover(alone, levels.worth.at(level), price)
    for q in range(len(share)):
        if state.clock.expired:
            return 0.0
        own = own_state(state, state.clock.share(2 / (len(share) - q + 1)))
        own.cutoff_usd_per_hour = float(known[q].min())
        whole = single_period(alone, q, price[q])
        # what runs another offer costs more than a known plan
        able = np.ones(len(offers), dtype=np.bool_) if cover is None else cover.with_one(q) <= own.cutoff_usd_per_hour
        part = compacted(whole, able[whole.candidates.offer])
        if not serves_all(part.problem):
            total += share[q] * max(own.cutoff_usd_per_hour, 0.0)
            continue
        result = search(part.problem, own)
        total += share[q] * max(min(result.bound.usd_per_hour, own.cutoff_usd_per_hour), 0.0)
        if result.incumbent is not None:
            plan = result.incumbent.for_whole(part, whole)
            levels.add(
                int(level[q]), replace(plan, usd_per_hour=plan.usd_per_hour - float(plan.instances[0] @ extra[q]))
            )
    return float(total)

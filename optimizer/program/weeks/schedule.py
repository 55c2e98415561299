"""A plan of the week from plans of a few levels of its demand: which of them runs when, its starts paid for.

Every period runs a plan of its own level or of one that asks for more. Keeping the larger one through a dip may cost
less than stopping machines and starting them again. Where each period follows one other and precedes one, the cheapest
round of the week is found to the end, hour by hour: the least that leads to each plan of an hour from each of the first
(Bellman's recursion on a ring). In other weeks, and where least billed times count beside starts, each period in turn
takes the plan that costs least beside what its neighbours run, until none changes. That ends where it began nearby, so
it begins with each of the plans as the least that any period runs: with as much as the busiest hour all week, with as
little as every hour allows, and between.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from optimizer.base.arrays import Floats, Ints
from optimizer.base.units import HOURS_PER_MONTH
from optimizer.program.formulation.objective import api_cost_usd_per_hour, egress_table_usd_per_hour
from optimizer.program.large.joined_periods import between_hours_usd_per_hour
from optimizer.program.problem.instance_contents import Placed
from optimizer.program.problem.problem import Problem
from optimizer.program.proof.state import Incumbent
from optimizer.program.refine.routing import balanced_flows
from optimizer.program.weeks.levels import Levels

MOST_PASSES: Final = 10
"""How often all periods are gone through."""


def scheduled(problem: Problem, kind: Ints, levels: Levels) -> Incumbent | None:
    """The cheapest week of the plans of levels that is found; None where they make none within the limits.

    Args:
        problem: The week, joined as it is.
        kind: (T,) the level of each of its periods.
        levels: Of which every one has a plan, or one above it has.
    """
    longer = {item.scope for item in problem.limits.in_force if item.name != "max_monthly_usd"} - {"period"}
    if not levels.plans or np.isinf(levels.upper).any() or not longer <= {"ever"}:
        return None
    best, least = None, np.inf
    for choice in _choices(problem, kind, levels):
        if longer and (choice != choice[0]).any():
            # each plan alone keeps what limits all that ever runs
            continue
        instances = np.concatenate([levels.plans[number][1].instances for number in choice.tolist()])
        # requests count as at the plans' own levels
        hourly = problem.traffic.share_of_month @ levels.costs()[kind, choice]
        cost = float(hourly) + between_hours_usd_per_hour(problem, instances)
        if cost < least:
            best, least = choice, cost
    plan = None if best is None else _week_of(problem, kind, levels, best)
    budget = problem.limits.max_monthly_usd
    over = plan is not None and budget is not None and plan.usd_per_hour * HOURS_PER_MONTH > budget
    return None if over else plan


def _choices(problem: Problem, kind: Ints, levels: Levels) -> Iterator[Ints]:
    """(T,) the number of the plan of each period, for each plan as the least; each schedule once."""
    traffic, price = problem.traffic, problem.offers.price_usd_per_hour
    hourly = levels.costs()[kind]
    # (P, P) USD/h of the instances that the second plan starts after the first
    rise = _started(problem, [plan for _, plan in levels.plans]) @ price
    cost, seen = traffic.share_of_month[:, None] * hourly, set[bytes]()
    of_plan = np.array([plan.usd_per_hour for _, plan in levels.plans])
    # (L, P) the plans that are at least as dear as each one
    dear = of_plan[None] >= np.unique(of_plan)[:, None]
    # (L, T, P) of these, where one such serves the period
    floored = np.where(dear[:, None], hourly, np.inf)
    served = np.isfinite(floored).any(axis=2)
    first = np.where(served, floored.argmin(axis=2), hourly.argmin(axis=1))
    ring = None if problem.has_minimum_billing else _ring(cost, traffic.start_share)
    if ring is None:
        bettered = _settled(first, cost, rise, traffic.start_share)
    else:
        bettered = _cheapest_round(ring, cost, rise, traffic.start_share)[None]
    for choice in (*first, *bettered):
        if choice.tobytes() not in seen:
            seen.add(choice.tobytes())
            yield choice


def _started(problem: Problem, plans: Sequence[Incumbent]) -> Floats:
    """(P, P, O) instances that the second plan starts after the first, those that change what they hold among them."""
    runs, replicas = (np.array([getattr(plan, name)[0] for plan in plans]) for name in ("instances", "replicas"))
    more: Floats = np.maximum(runs[None] - runs[:, None], 0).astype(float)
    if not problem.layouts.kept:
        return more
    # (C, O) GPUs of a replica on its offer
    taken = np.zeros((len(problem.candidates), len(problem.offers)))
    taken[np.arange(len(taken)), problem.candidates.offer] = problem.candidates.gpus_per_replica
    new = np.maximum(replicas[None] - replicas[:, None], 0) @ taken
    return np.asarray(np.maximum(more, np.ceil(new / problem.offers.gpus_per_instance)))


def _ring(cost: Floats, start_share: Floats) -> Ints | None:
    """(T,) the periods one after the other, from the one that the fewest plans (T, P) serve; None where they are no
    ring in which each follows one other."""
    after = start_share > 0
    if not ((after.sum(axis=0) == 1).all() and (after.sum(axis=1) == 1).all()):
        return None
    following = after.argmax(axis=1)
    ring = [int(np.isfinite(cost).sum(axis=1).argmin())]
    while (period := int(following[ring[-1]])) != ring[0]:
        ring.append(period)
    return np.array(ring) if len(ring) == len(cost) else None


def _cheapest_round(ring: Ints, cost: Floats, rise: Floats, start_share: Floats) -> Ints:
    """(T,) the plans of all periods that cost least together, see `_settled`."""
    starts = np.flatnonzero(np.isfinite(cost[ring[0]]))
    # (S, P) the least that leads to each plan of a period from each of the first
    least = np.full((len(starts), cost.shape[1]), np.inf)
    least[np.arange(len(starts)), starts] = cost[ring[0], starts]
    came_from = []
    for since, period in zip(ring[:-1].tolist(), ring[1:].tolist(), strict=True):
        here, there = np.isfinite(cost[since]), np.isfinite(cost[period])
        steps = least[:, here, None] + start_share[since, period] * rise[np.ix_(here, there)]
        came_from.append((np.flatnonzero(there), np.flatnonzero(here)[steps.argmin(axis=1)]))
        least = np.full_like(least, np.inf)
        least[:, there] = steps.min(axis=1) + cost[period, there]
    closed = least + start_share[ring[-1], ring[0]] * rise[:, starts].T
    start, plan = np.unravel_index(closed.argmin(), closed.shape)
    choice = np.full(len(ring), plan)
    for place in range(len(ring) - 1, 0, -1):
        there, before = came_from[place - 1]
        choice[ring[place]] = plan
        plan = before[start, np.searchsorted(there, plan)]
    choice[ring[0]] = plan
    return choice


def _settled(first: Ints, cost: Floats, rise: Floats, start_share: Floats) -> Ints:
    """(L, T) each period's choice once no period alone does better with another one, from several beginnings at once.

    Args:
        first: (L, T) to begin with.
        cost: (T, P) of a plan in a period, infinite where it does not serve.
        rise: (P, P) what the second plan starts after the first, in USD/h.
        start_share: (T, T) share of the month billed for a start between two periods.
    """
    choices = first.copy()
    # of a week of hours each follows one and precedes one: all other shares are 0
    earlier, later = ([np.flatnonzero(row) for row in each > 0] for each in (start_share.T, start_share))
    for _ in range(MOST_PASSES):
        before = choices.copy()
        for t, (since, until) in enumerate(zip(earlier, later, strict=True)):
            into = start_share[since, t] @ rise[choices[:, since]]
            out = start_share[t, until] @ rise.T[choices[:, until]]
            choices[:, t] = (cost[t] + into + out).argmin(axis=1)
        if (choices == before).all():
            break
    return choices


def _week_of(problem: Problem, kind: Ints, levels: Levels, choice: Ints) -> Incumbent:
    """The plans one after the other, at what they cost together."""
    chosen = [levels.plan_at(level, number) for level, number in zip(kind.tolist(), choice.tolist(), strict=True)]
    instances = np.concatenate([plan.instances for plan in chosen])
    sent = np.concatenate([plan.api_flow_per_s for plan in chosen])
    cost = float(problem.traffic.share_of_month @ (instances @ problem.offers.price_usd_per_hour))
    cost += float(api_cost_usd_per_hour(problem) @ (sent / problem.api_streams.reach_per_s))
    replicas, placed = np.concatenate([plan.replicas for plan in chosen]), _placed([plan.placed for plan in chosen])
    week = Incumbent(instances, replicas, sent, cost + between_hours_usd_per_hour(problem, instances), placed=placed)
    if not problem.egress.charged:
        return week
    alike = np.unique(np.stack([kind, choice]), axis=1, return_inverse=True)[1].reshape(-1)
    return replace(week, usd_per_hour=week.usd_per_hour + _answers_usd_per_hour(problem, week, alike))


def _answers_usd_per_hour(problem: Problem, week: Incumbent, alike: Ints) -> float:
    """What sending answers costs, routed as it will be; (T,) periods of one number ask for and run the same."""
    _, first = np.unique(alike, return_index=True)
    few = replace(problem, traffic=problem.traffic.during(first))
    sent = [week.api_flow_per_s[:0], *(week.api_flow_per_s[problem.api_streams.period == t] for t in first.tolist())]
    plan = replace(
        week,
        instances=week.instances[first],
        replicas=week.replicas[first],
        api_flow_per_s=np.concatenate(sent),
        placed=_placed([week.placed.during(t) for t in first.tolist()]),
    )
    reach_usd = egress_table_usd_per_hour(few)
    share = problem.traffic.share_of_month
    weight = np.bincount(alike, weights=share) / share[first]
    return sum(
        float(weight[flow.period] * reach_usd[flow.period, problem.candidates.offer[flow.candidate], flow.mix])
        * flow.flow_per_s
        / float(few.reach_per_s[flow.period, flow.mix])
        for flow in balanced_flows(few, plan)
    )


def _placed(placed: list[Placed]) -> Placed:
    """What stands on instances in each period."""
    every = [replace(each, period=np.full(len(each), t)) for t, each in enumerate(placed) if len(each)]
    whole = every[0] if every else Placed()
    for each in every[1:]:
        whole = whole.and_also(each)
    return whole

"""A bound of a week from one exact program for each period, with prices for what joins the periods.

What is paid all month and the starts are all that joins periods once limits over the month are left out. Take any

    p[t,o] >= 0 that sum over t to the month's price of an offer o that is paid all month, and
    f[o,t,u] from 0 to what a start of an offer o paid by the hour costs at the change from period t to u.

Let every period pay p[t,o] for an instance of the first kind, and for one of the second its price by the hour and f at
each change into the period less f at each change out of it, where that is not negative. Then every plan costs at least
the sum over the periods of the least that each costs alone: the counts of an offer paid all month are the same in every
period, so the p add up to its price; a start costs at least f times what the count rises by (see `start_costs`); and
what a plan runs in one period is a plan for that period, which keeps every promise that counts by period. Nothing is
asked of p and f but their signs and sums, which are made to hold here whatever a solver said.

The first prices are what an instance earns at the prices of demand; the next ones come from mixing the plans of the
periods found so far (Dantzig and Wolfe's decomposition), see `period_master`.
"""

from dataclasses import dataclass, fields, replace
from typing import Protocol

import numpy as np

from optimizer.base.arrays import Flags, Floats
from optimizer.base.clock import Clock
from optimizer.program.formulation.objective import api_cost_usd_per_hour
from optimizer.program.large.joined_periods import joined_periods
from optimizer.program.large.knapsack import units_of, worth_of_one
from optimizer.program.large.patterns import PatternBound
from optimizer.program.problem.data import Billing, Limits
from optimizer.program.problem.problem import Problem
from optimizer.program.proof.state import NOTHING_KNOWN, Incumbent, Known, SearchResult, SearchState
from optimizer.program.proof.steps import cheaper
from optimizer.program.weeks.period_master import PeriodMixture, PeriodPlan, mixture_of


class PeriodSearch(Protocol):
    """Solves one period, of which something may be known."""

    def __call__(self, problem: Problem, state: SearchState, *, known: Known = NOTHING_KNOWN) -> SearchResult:
        """What is found of it."""


MOST_ROUNDS, CLOSE = 8, 1e-3
"""How often prices are moved, and how near the best bound of this kind, or a plan, they need not be moved any more;
where a wider gap is asked for, that."""

MOST_PERIODS, MOST_UNLINKED_PERIODS = 30, 60
"""Periods of which each has a program of its own; with more starts each is so short that these join them."""

PERIOD_GAP, PERIOD_NODES = 2e-3, 30
"""Where the search of a period ends; what is proven of it by then counts."""

BY_HOURS = 0.01
"""Share of the price that a period pays by its hours alone, so that nothing is free."""

FIRST_PULL, LEAST_PULL = 0.7, 0.2
"""Weight of the best prices so far beside the mixture's."""


@dataclass(frozen=True, eq=False)
class Prices:
    """What periods pay for what joins them.

    Attributes:
        always: (T, O) p, in USD/h over the month; 0 for offers paid by the hour.
        moved: (O, X) f by change; 0 for offers paid all month.
    """

    always: Floats
    moved: Floats


@dataclass(frozen=True, eq=False)
class PeriodPlans:
    """The bound at some prices, the cheapest plans of periods alone that were found, and the week that they make."""

    usd_per_hour: float
    plans: list[PeriodPlan]
    joined: Incumbent | None


def may_part(problem: Problem) -> bool:
    """Whether a problem has several periods, and few enough of them."""
    linked = problem.traffic.start_share.any()
    return 1 < problem.traffic.periods <= (MOST_PERIODS if linked else MOST_UNLINKED_PERIODS)


def first_prices(problem: Problem, found: PatternBound) -> Prices:
    """Each period pays for an instance in proportion to what the first one earns there, and a little by its hours."""
    offers, hours = problem.offers, problem.traffic.share_of_month[:, None]
    earned = np.maximum(worth_of_one(units_of(problem), found.worth), 0.0)
    total = earned.sum(axis=0)
    share = (1 - BY_HOURS) * np.where(total > 0, earned / np.where(total > 0, total, 1.0), hours) + BY_HOURS * hours
    moved = np.zeros((len(offers), len(problem.traffic.changes[0]))) if found.moved is None else found.moved
    return Prices(np.where(offers.always_paid, offers.price_usd_per_hour * share, 0.0), moved)


def price_of_instance(problem: Problem, prices: Prices) -> Floats:
    """(T, O) what a period pays for an instance, nowhere negative: where it would be, all f of the offer are scaled."""
    offers, (before, after) = problem.offers, problem.traffic.changes
    by_hour = problem.traffic.share_of_month[:, None] * offers.price_usd_per_hour
    into, out = np.zeros_like(by_hour), np.zeros_like(by_hour)
    np.add.at(into, after, prices.moved.T)
    np.add.at(out, before, prices.moved.T)
    short = (by_hour + into - out < 0).any(axis=0)
    scale = np.where(short, (by_hour / np.maximum(out, by_hour)).min(axis=0), 1.0)
    return np.asarray(np.where(offers.always_paid, prices.always, by_hour + scale * (into - out)))


def bound_by_periods(
    problem: Problem, prices: Prices, known: Incumbent | None, state: SearchState, search: PeriodSearch
) -> tuple[float, Flags, Incumbent | None]:
    """The best bound of some rounds, (O,) the offers of the last mixture of periods' plans, and the best week of these.

    A period that was not solved in time counts with what is known of it. Mixing the plans found so far gives the next
    prices, pulled towards the best ones so far to keep them from swinging.

    Args:
        problem: Of several periods.
        prices: To begin with.
        known: A plan, whose periods are the first to be mixed.
        state: Whose clock ends the rounds.
        search: Solves one period.
    """
    best, best_prices, pull = 0.0, prices, FIRST_PULL
    plans, plan, close = _plans_of(problem, known), known, max(CLOSE, state.relative_gap)
    runs = np.zeros(len(problem.offers), dtype=np.bool_)
    for number in range(MOST_ROUNDS):
        found = period_plans(problem, prices, state, search)
        plans, plan = plans + found.plans, cheaper(plan, found.joined)
        if found.usd_per_hour > best or not number:
            best, best_prices, pull = found.usd_per_hour, prices, max(pull * 0.7, LEAST_PULL)
        else:
            pull = 1 - (1 - pull) * 0.7
        mixture = mixture_of(problem, plans, state.clock)
        if mixture is None:
            break
        runs, least = mixture.runs, np.inf if plan is None else plan.usd_per_hour
        if min(mixture.value, least) - best <= close * best or state.clock.expired:
            break
        prices = _between(problem, best_prices, mixture, pull)
    return best, runs, plan


def _plans_of(problem: Problem, known: Incumbent | None) -> list[PeriodPlan]:
    """The periods of a known plan; none where what its requests cost in each is not known."""
    if known is None or problem.egress.charged:
        return []
    hours, streams = problem.traffic.share_of_month, problem.api_streams
    by_hour = np.where(problem.offers.always_paid, 0.0, problem.offers.price_usd_per_hour)
    cost = (known.instances @ by_hour) * hours
    np.add.at(cost, streams.period, api_cost_usd_per_hour(problem) * known.api_flow_per_s / streams.reach_per_s)
    return [PeriodPlan(t, float(cost[t]), known.instances[t].astype(float)) for t in range(len(hours))]


def _between(problem: Problem, best: Prices, mixture: PeriodMixture, pull: float) -> Prices:
    """Prices between the best ones and the mixture's, with the sums and signs that the bound asks for."""
    offers, (before, after) = problem.offers, problem.traffic.changes
    hours = problem.traffic.share_of_month[:, None] * offers.price_usd_per_hour
    asked = np.maximum(pull * best.always + (1 - pull) * mixture.always, BY_HOURS * hours)
    # what the mixture leaves of a price is spread as it is
    always = np.where(offers.always_paid, asked * (offers.price_usd_per_hour / asked.sum(axis=0)), 0.0)
    start = offers.price_usd_per_hour[:, None] * problem.traffic.start_share[before, after]
    moved = np.clip(pull * best.moved + (1 - pull) * mixture.moved, 0.0, start)
    return Prices(always, np.where(offers.always_paid[:, None], 0.0, moved))


def period_plans(problem: Problem, prices: Prices, state: SearchState, search: PeriodSearch) -> PeriodPlans:
    """The sum of what each period costs at least, and its best plan; each has an equal share of what time is left."""
    price, total, periods = price_of_instance(problem, prices), 0.0, problem.traffic.periods
    by_hour = np.where(problem.offers.always_paid, 0.0, problem.offers.price_usd_per_hour)
    plans, found = [], list[Incumbent | None]()
    for t in range(periods):
        result = search(single_period(problem, t, price[t]), own_state(state, state.clock.share(1 / (periods - t))))
        found.append(result.incumbent)
        if np.isfinite(result.bound.usd_per_hour):
            total += max(result.bound.usd_per_hour, 0.0)
        if result.incumbent is not None:
            instances = result.incumbent.instances[0]
            hour = problem.traffic.share_of_month[t]
            # what it costs at these prices, but for what is paid for elsewhere
            cost = result.incumbent.usd_per_hour + float(instances @ (hour * by_hour - price[t]))
            plans.append(PeriodPlan(t, cost, instances.astype(float)))
    alone = np.array([plan.usd_per_hour for plan in plans])
    return PeriodPlans(total, plans, joined_periods(problem, found, alone))


def own_state(state: SearchState, clock: Clock) -> SearchState:
    """A state for one period, in which the plan of the week is of no matter."""
    return replace(
        state,
        clock=clock,
        progress=None,
        relative_gap=PERIOD_GAP,
        node_limit=PERIOD_NODES,
        cutoff_usd_per_hour=np.inf,
        phase_wall_s={},
        eliminated={},
        columns_solved=0,
    )


def single_period(problem: Problem, t: int, price_usd_per_hour: Floats) -> Problem:
    """One period as a problem of its own, paid for as a month is; without limits over the month and without a past."""
    traffic, candidates = problem.traffic.during(np.array([t])), problem.candidates
    share = float(problem.traffic.share_of_month[t])
    return replace(
        problem,
        traffic=replace(traffic, share_of_month=np.ones(1), start_share=np.zeros((1, 1))),
        candidates=replace(candidates, replicas_in_force=np.zeros_like(candidates.replicas_in_force)),
        offers=replace(
            problem.offers,
            price_usd_per_hour=price_usd_per_hour,
            always_paid=np.zeros_like(problem.offers.always_paid),
        ),
        limits=_by_period(problem.limits),
        apis=replace(problem.apis, usd_per_request=problem.apis.usd_per_request * share),
        egress=replace(problem.egress, usd_per_gb=problem.egress.usd_per_gb * share),
        billing=Billing(),
    )


def _by_period(limits: Limits) -> Limits:
    """The limits that each period keeps alone."""
    neutral = Limits(limits.max_utilization)
    longer = {item.name for item in limits.in_force if item.scope not in ("period", "ever")}
    return replace(limits, **{item.name: getattr(neutral, item.name) for item in fields(Limits) if item.name in longer})

"""What an hour costs at least at several prices of demand: no plan costs less, whatever the prices are."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from support.fleets import NO_LIMIT
from support.instances import by_day_and_night, paid_all_month, problems
from support.plain import plain_candidates, plain_offers

from optimizer.base.clock import Clock
from optimizer.base.units import HOURS_PER_MONTH
from optimizer.program.large.several_prices import SeveralPrices
from optimizer.program.problem.data import Limits, steady_traffic
from optimizer.program.problem.problem import Problem, sorted_problem
from optimizer.program.solve import solve_plainly
from optimizer.program.weeks.levels import Levels, as_if_all_month


@settings(max_examples=30)
@given(problems("any", most_candidates=4, several=3), st.integers(0, 10**6), st.booleans())
def test_no_plan_costs_less_at_any_prices(problem: Problem, seed: int, counted: bool) -> None:
    """By rows of whole numbers hour by hour, and beside what is paid all month."""
    problem, random = by_day_and_night(problem), np.random.default_rng(seed)
    problem = sorted_problem(paid_all_month(problem, random) if counted else problem).problem
    solution = solve_plainly(problem)
    assume(solution.cost_usd_per_month is not None)
    most = (solution.cost_usd_per_month or 0.0) / HOURS_PER_MONTH * (1 + 1e-6)
    prices = random.exponential(1.0, problem.traffic.demand_per_s.shape) * random.integers(0, 2)
    several, offers, hours = (
        SeveralPrices(as_if_all_month(problem), prices),
        problem.offers,
        problem.traffic.share_of_month,
    )
    count = np.where(offers.always_paid, solution.instances.max(axis=0), 0)
    paid, by_hour = float(count @ offers.price_usd_per_hour), np.where(offers.always_paid, count, offers.available)
    price = np.where(offers.always_paid, 0.0, offers.price_usd_per_hour)
    least = [several.least(level, price, by_hour, NO_LIMIT).usd_per_hour for level in range(len(hours))]
    assert paid + hours @ least <= most
    covers = several.covers(np.tile(offers.price_usd_per_hour, (len(hours), 1)), NO_LIMIT)
    assert paid + covers.by_period(count) @ hours <= most


def _two_classes() -> Problem:
    """One machine for each class, 3 USD/h, which hardly serves the other; 1.2 of each are asked for."""
    return Problem(
        traffic=steady_traffic(("w/a", "w/b"), np.array([1.2, 1.2])),
        candidates=plain_candidates([0, 1], [[1.0, 0.01], [0.01, 1.0]]),
        offers=plain_offers([3.0, 3.0]),
        limits=Limits(max_utilization=1.0),
    )


def test_rows_at_two_prices_say_more_than_one() -> None:
    """At equal prices three machines of any kind are worth 2.4, but each class needs two of its own."""
    several, problem = SeveralPrices(_two_classes(), np.ones((1, 2))), _two_classes()
    told = several.least(0, problem.offers.price_usd_per_hour, problem.offers.available, NO_LIMIT)
    assert (told.usd_per_hour, told.instances.tolist()) == (pytest.approx(12.0), [2.0, 2.0])
    cost = solve_plainly(problem).cost_usd_per_month
    assert cost is not None
    assert told.usd_per_hour <= cost / HOURS_PER_MONTH * (1 + 1e-6)


def test_what_cannot_be_had_serves_nothing_and_no_time_tells_nothing() -> None:
    problem = _two_classes()
    several, price = SeveralPrices(problem, np.ones((1, 2))), problem.offers.price_usd_per_hour
    assert several.least(0, price, np.zeros(2), NO_LIMIT).usd_per_hour == np.inf
    assert several.least(0, price, problem.offers.available, Clock(0.0)).usd_per_hour == 0.0
    nothing = replace(problem, traffic=replace(problem.traffic, demand_per_s=np.zeros((1, 2))))
    assert SeveralPrices(nothing, np.ones((1, 2))).least(0, price, np.zeros(2), NO_LIMIT).usd_per_hour == 0.0


def test_some_offers_keep_their_rows() -> None:
    """A part tells at least what the whole does, and finds rows for both."""
    problem = _two_classes()
    several, offers = SeveralPrices(problem, np.ones((1, 2))), problem.offers
    one = several.of_offers(np.array([0]))
    assert one.least(0, offers.price_usd_per_hour[:1], np.full(1, np.inf), NO_LIMIT).usd_per_hour > 12.0


def test_the_dearest_levels_are_asked_first_and_none_once_the_week_costs_enough() -> None:
    problem = by_day_and_night(_two_classes())
    hours, count = problem.traffic.share_of_month, problem.traffic.periods
    several = SeveralPrices(as_if_all_month(problem), np.ones((count, 2)))
    known = np.arange(1, count + 1) / hours

    def bounded(rise_usd_per_hour: float) -> list[bool]:
        levels = Levels(problem, several=several)
        # no level tells of another one
        levels.within = np.eye(count, dtype=np.bool_)
        levels.lower = 1e-3 * known
        levels.bound_at_several_prices(NO_LIMIT, rise_usd_per_hour)
        return list((levels.lower > 1e-3 * known).tolist())

    assert bounded(0.0) == [False] * count
    assert bounded(1e-6) == [*[False] * (count - 1), True]
    assert bounded(np.inf) == [True] * count

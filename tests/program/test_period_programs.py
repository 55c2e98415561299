"""Whatever periods pay for what joins them, what each costs alone adds up to no more than the cheapest plan."""

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from support.instances import by_day_and_night, problems, tiny_problem

from optimizer.base.clock import Clock
from optimizer.base.units import HOURS_PER_MONTH
from optimizer.program.large.patterns import pattern_bound
from optimizer.program.problem.problem import Problem, sorted_problem
from optimizer.program.proof.state import SearchState
from optimizer.program.search import search
from optimizer.program.solve import solve_plainly
from optimizer.program.weeks.period_master import PeriodPlan, mixture_of
from optimizer.program.weeks.period_programs import Prices, bound_by_periods, first_prices, period_plans


def _state() -> SearchState:
    return SearchState(Clock(None))


def _any_prices(problem: Problem, random: np.random.Generator) -> Prices:
    offers, traffic = problem.offers, problem.traffic
    share = random.dirichlet(np.ones(traffic.periods), len(offers)).T
    before, after = traffic.changes
    start = offers.price_usd_per_hour[:, None] * traffic.start_share[before, after] * ~offers.always_paid[:, None]
    always = np.where(offers.always_paid, offers.price_usd_per_hour * share, 0.0)
    return Prices(always, start * random.random(start.shape))


@settings(max_examples=25)
@given(problems("any", "starts", most_candidates=5, several=3), st.integers(0, 10**6))
def test_any_prices_give_a_bound(problem: Problem, seed: int) -> None:
    problem = sorted_problem(problem).problem
    cost = solve_plainly(problem).cost_usd_per_month
    assume(cost is not None)
    found = period_plans(problem, _any_prices(problem, np.random.default_rng(seed)), _state(), search)
    assert found.usd_per_hour <= (cost or 0.0) / HOURS_PER_MONTH * (1 + 1e-6)


@settings(max_examples=15)
@given(problems("any", "starts", most_candidates=5, several=3))
def test_the_best_of_the_rounds_is_a_bound(problem: Problem) -> None:
    problem = sorted_problem(problem).problem
    cost = solve_plainly(problem).cost_usd_per_month
    assume(cost is not None)
    prices = first_prices(problem, pattern_bound(problem, Clock(None)))
    np.testing.assert_allclose(
        prices.always.sum(axis=0), problem.offers.price_usd_per_hour * problem.offers.always_paid
    )
    lower, _, _ = bound_by_periods(problem, prices, None, _state(), search)
    assert lower <= (cost or 0.0) / HOURS_PER_MONTH * (1 + 1e-6)


def test_a_mixture_of_one_plan_in_each_period_costs_what_the_plans_cost_together() -> None:
    problem = sorted_problem(by_day_and_night(tiny_problem())).problem
    periods, offers = problem.traffic.periods, len(problem.offers)
    instances = np.arange(periods * offers).reshape(periods, offers).astype(float)
    plans = [PeriodPlan(t, 1.0, instances[t]) for t in range(periods)]
    mixture = mixture_of(problem, plans, Clock(None))
    before, after = problem.traffic.changes
    always, price = problem.offers.always_paid, problem.offers.price_usd_per_hour
    rise = np.maximum(instances[after] - instances[before], 0.0) * problem.traffic.start_share[before, after][:, None]
    expected = periods + (price * np.where(always, instances.max(axis=0), rise.sum(axis=0))).sum()
    assert mixture is not None
    assert np.isclose(mixture.value, expected)
    assert (mixture.always.sum(axis=0) <= price * always + 1e-9).all()
    assert mixture_of(problem, plans[:1], Clock(None)) is None or periods == 1

"""The bound by patterns holds for every plan, and the search that relies on it finds the same plans."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.optimize import linprog
from support.fleets import NO_LIMIT, STEADY, fleets
from support.instances import problems
from support.plain import plain_candidates, plain_offers

from optimizer.base.units import HOURS_PER_MONTH
from optimizer.program import search
from optimizer.program.large.knapsack import Counts, Units, Worth, fill, reduced_cost_floor, worth_of_one
from optimizer.program.large.patterns import pattern_bound
from optimizer.program.large.pricing import Pricing
from optimizer.program.problem.data import EgressPrices, Limits, steady_traffic
from optimizer.program.problem.problem import Problem, sorted_problem
from optimizer.program.proof.state import SearchState
from optimizer.program.search import relaxation_bound
from optimizer.program.solve import solve, solve_plainly


@STEADY
@given(st.one_of(problems("any", 4), problems("availability"), fleets()))
def test_no_plan_costs_less_than_the_bound(problem: Problem) -> None:
    problem = sorted_problem(problem).problem
    solution = solve_plainly(problem)
    assume(solution.cost_usd_per_month is not None)
    cost = (solution.cost_usd_per_month or 0.0) / HOURS_PER_MONTH
    bound = pattern_bound(problem, NO_LIMIT).bound
    assert bound.usd_per_hour <= cost * (1 + 1e-9)
    used = (solution.replicas > 0).any(axis=0)
    assert (bound.with_candidate_usd_per_hour[used] <= cost * (1 + 1e-9)).all()


@STEADY
@given(st.one_of(problems("any", 6), fleets()))
def test_the_search_of_large_problems_finds_the_same_cost(problem: Problem) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(search, "MANY_STREAMS", 0)
        patch.setattr(search, "MANY_STREAMS_WITH_STARTS", 0)
        large = solve(problem)
    plain = solve_plainly(problem)
    assert large.outcome == plain.outcome
    assert (large.cost_usd_per_month or 0.0) == pytest.approx(plain.cost_usd_per_month or 0.0, rel=1e-6)


@STEADY
@given(st.one_of(problems("", 6), fleets()), st.sampled_from([0.01, 0.1, 0.5]))
def test_a_gap_asked_for_is_kept_and_told_truly(problem: Problem, gap: float) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(search, "MANY_STREAMS", 0)
        patch.setattr(search, "MANY_STREAMS_WITH_STARTS", 0)
        found = solve(problem, relative_gap=gap)
    best = solve_plainly(problem).cost_usd_per_month
    assume(best is not None)
    assert best is not None
    assert found.cost_usd_per_month is not None
    assert found.bound_usd_per_month is not None
    assert found.bound_usd_per_month <= best * (1 + 1e-9)
    assert found.cost_usd_per_month <= best / (1 - gap) * (1 + 1e-9)


@pytest.mark.parametrize("share", [0.4, 2.0])
def test_whole_instances_are_filled_with_what_is_worth_most(share: float) -> None:
    random = np.random.default_rng(0)
    load = np.where(random.random((2, 3, 4)) < 0.2, np.inf, random.uniform(0.1, 2.0, (2, 3, 4)))
    of_reach, price = random.uniform(0.0, 3.0, (2, 4)), np.array([1.0, 1.5, 2.0, 0.7])
    # of what all mixes are worth, so much is what serving all that is wanted is worth
    worth = Worth(of_reach, share * of_reach.sum(axis=1))
    # offer 0 is bought by period, the others for both
    units = Units(price, np.array([[0, 2, 3], [1, 2, 3]]), np.array([0, 0, 1, 2]), load)
    every = Counts(np.zeros(4), np.full(4, np.inf))
    found = fill(units, worth, price, np.arange(4), every)
    for unit, count, reduced in zip(found.unit, found.count, found.reduced_cost, strict=True):
        each = [_left(units, worth, price[unit], unit, n) for n in range(1, 9)]
        assert reduced == pytest.approx(min(each))
        assert each[int(count) - 1] == pytest.approx(min(each))
    for dear in (price, 4 * price):
        floor, exact = (
            reduced_cost_floor(units, worth, dear),
            fill(units, worth, dear, np.arange(4), every).reduced_cost,
        )
        assert (exact[floor >= 0] >= floor[floor >= 0] - 1e-12).all()


def _left(units: Units, worth: Worth, price: float, unit: int, count: int) -> float:
    """Price of the instances less the worth of what they hold, by a linear program in each cell."""
    total = price * count
    for t, o in zip(*np.nonzero(units.unit == unit), strict=True):
        served = np.isfinite(units.load[t, o])
        if served.any():
            each = worth.of_reach[t][served]
            rows, most = [units.load[t, o][served], each], [count, worth.of_all[t]]
            total += linprog(-each, A_ub=rows, b_ub=most, bounds=(0, 1)).fun
    return total


@given(problems("any", 4, several=3), st.integers(0, 10**6))
def test_a_class_is_worth_nothing_beyond_what_is_wanted_of_it(problem: Problem, seed: int) -> None:
    """What one instance is worth with mixes in parts: no less than it truly is, no more than with mixes taken whole."""
    problem = replace(problem, egress=EgressPrices())
    pricing = Pricing(problem)
    demand = np.random.default_rng(seed).uniform(0, 3, len(problem.demands))
    worth = pricing.worth(demand)
    held = worth_of_one(pricing.units, worth)
    whole = worth_of_one(pricing.units, Worth(worth.of_reach, worth.of_all))
    assert (held <= whole * (1 + 1e-9) + 1e-12).all()
    traffic = problem.traffic
    for t, o in np.ndindex(held.shape):
        served = np.flatnonzero(np.isfinite(pricing.units.load[t, o]))
        classes = np.flatnonzero(traffic.demand_per_s[t] > 0)
        if not (len(served) and len(classes)):
            continue
        # of each class no more than is wanted, and no more than the mixes on the instance hold
        price = demand[problem.demands.row[t, classes]]
        sent = traffic.mixes[np.ix_(served, classes)] * problem.reach_per_s[t, served, None]
        rows = np.block([[np.eye(len(classes)), -(sent / traffic.demand_per_s[t, classes]).T]])
        load = np.concatenate([np.zeros(len(classes)), pricing.units.load[t, o, served]])
        found = linprog(
            np.concatenate([-price, np.zeros(len(served))]),
            A_ub=np.vstack([rows, load]),
            b_ub=np.append(np.zeros(len(classes)), 1.0),
            bounds=[(0, 1)] * (len(classes) + len(served)),
        )
        assert -found.fun <= held[t, o] * (1 + 1e-7) + 1e-9


def test_whole_counts_lift_the_bound() -> None:
    """One class, replicas of 1/s at 1 USD/h, 3.4/s wanted: fractions say 3.40, patterns 4.00."""
    problem = Problem(
        traffic=steady_traffic(("w/k",), np.array([3.4])),
        candidates=plain_candidates([0], [[1.0]]),
        offers=plain_offers([1.0]),
        limits=Limits(max_utilization=1.0),
    )
    assert pattern_bound(problem, NO_LIMIT, converged=1e-9).bound.usd_per_hour == pytest.approx(4.0)


def test_a_machine_that_is_nearly_free_serves_no_more_than_one_can() -> None:
    """Two classes of 1/s each, 1/s an instance: the one that costs next to nothing serves either, not both."""
    problem = Problem(
        traffic=steady_traffic(("w/a", "w/b"), np.array([1.0, 1.0])),
        candidates=plain_candidates([0, 1], [[1.0, 1.0], [1.0, 1.0]]),
        offers=plain_offers([1e-5, 1.0], available=np.array([1.0, np.inf])),
        limits=Limits(max_utilization=1.0),
    )
    assert pattern_bound(problem, NO_LIMIT, converged=1e-9).bound.usd_per_hour == pytest.approx(1.00001)


def test_several_mixes_of_a_class_serve_no_more_than_is_wanted() -> None:
    """One instance at 1 USD/h may serve twice what is wanted of two classes: half of one is no plan."""
    problem = Problem(
        traffic=steady_traffic(("w/a", "w/b"), np.array([1.0, 1.0]), np.array([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]])),
        candidates=plain_candidates([0], [[2.0, 2.0, 4.0]]),
        offers=plain_offers([1.0]),
        limits=Limits(max_utilization=1.0),
    )
    assert pattern_bound(problem, NO_LIMIT).bound.usd_per_hour == pytest.approx(1.0)
    relaxed = relaxation_bound(problem, np.ones(1, dtype=np.bool_), SearchState(NO_LIMIT))
    assert relaxed is not None
    assert relaxed.usd_per_hour == pytest.approx(1.0)


def test_a_pattern_serves_nothing_of_a_class_of_which_a_rounding_error_is_left() -> None:
    # one such share led a linear program of 315 columns in circles for half a minute
    problem = Problem(
        traffic=steady_traffic(("w/a", "w/b"), np.array([1.0, 1.0])),
        candidates=plain_candidates([0], [[2.0, 1.0]]),
        offers=plain_offers([1.0]),
        limits=Limits(max_utilization=1.0),
    )
    pricing = Pricing(problem)
    knapsacks = pricing.at(np.ones(2), np.zeros(len(pricing.limits.upper))).knapsacks
    left = replace(knapsacks, share=np.array([[1.0, 1e-17]]))
    row, _, share = pricing.patterns(left).served
    assert (row.tolist(), share.tolist()) == ([0], [1.0])

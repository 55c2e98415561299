"""The bound holds for any multipliers, and what dominance and the bound remove is never needed."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from support.instances import TINY, problems, tiny_problem

from optimizer.base.clock import Clock
from optimizer.base.units import HOURS_PER_MONTH
from optimizer.program import search
from optimizer.program.formulation.model import build_program, hourly_cost, model_proto
from optimizer.program.formulation.rows import tagged
from optimizer.program.problem.problem import Problem, restricted, sorted_problem
from optimizer.program.problem.quantities import best_rate_per_s, most_replicas
from optimizer.program.proof import sifting
from optimizer.program.proof.cheapest_rates import bound_at_cheapest_rates, bound_at_prices
from optimizer.program.proof.dominance import undominated
from optimizer.program.proof.relaxation import bound_from, read_multipliers
from optimizer.program.proof.state import SearchState
from optimizer.program.solve import solve, solve_plainly
from optimizer.program.solver import solve_linear

STEADY = settings(max_examples=25)


@STEADY
@given(problems("any", most_candidates=4, several=6), st.integers(0, 10**6))
def test_any_multipliers_give_a_bound(problem: Problem, seed: int) -> None:
    problem = sorted_problem(problem).problem
    random, solution = np.random.default_rng(seed), solve_plainly(problem)
    assume(solution.cost_usd_per_month is not None)
    program = build_program(problem, relaxed=True)
    rows = sum(len(family.names) for family in program.families.values())
    cost = (solution.cost_usd_per_month or 0.0) / HOURS_PER_MONTH
    for scale in (0.1, 1.0, 10.0):
        duals = random.exponential(scale, rows) * (random.random(rows) < 0.5)
        bound = bound_from(problem, read_multipliers(program, duals))
        assert bound.usd_per_hour <= cost * (1 + 1e-9)
        used = (solution.replicas > 0).any(axis=0)
        assert (bound.with_candidate_usd_per_hour[used] <= cost * (1 + 1e-9)).all()


@pytest.mark.parametrize("family", sorted(TINY))
def test_the_bound_of_each_family_is_the_relaxation(family: str) -> None:
    problem = sorted_problem(TINY[family]()).problem
    program = build_program(problem, relaxed=True)
    relaxed = solve_linear(model_proto(program, hourly_cost(program)), Clock())
    bound = bound_from(problem, read_multipliers(program, relaxed.duals))
    assert bound.usd_per_hour == pytest.approx(relaxed.bound, rel=1e-6)


@STEADY
@given(problems("any", most_candidates=4, several=4))
def test_no_plan_undercuts_the_cheapest_rates(problem: Problem) -> None:
    problem = sorted_problem(problem).problem
    solution = solve_plainly(problem)
    assume(solution.cost_usd_per_month is not None)
    cost = (solution.cost_usd_per_month or 0.0) / HOURS_PER_MONTH
    bound = bound_at_cheapest_rates(problem)
    assert 0.0 < bound.usd_per_hour <= cost * (1 + 1e-9)
    used = (solution.replicas > 0).any(axis=0)
    assert (bound.with_candidate_usd_per_hour[used] <= cost * (1 + 1e-9)).all()


@STEADY
@given(problems("any", most_candidates=4, several=4), st.integers(0, 10**6))
def test_no_plan_undercuts_what_prices_of_demand_say(problem: Problem, seed: int) -> None:
    problem = sorted_problem(problem).problem
    random, solution = np.random.default_rng(seed), solve_plainly(problem)
    assume(solution.cost_usd_per_month is not None)
    cost = (solution.cost_usd_per_month or 0.0) / HOURS_PER_MONTH
    used = (solution.replicas > 0).any(axis=0)
    for scale in (0.1, 1.0, 10.0):
        bound = bound_at_prices(problem, random.exponential(scale, len(problem.demands)))
        assert bound.usd_per_hour <= cost * (1 + 1e-9)
        assert (bound.with_candidate_usd_per_hour[used] <= cost * (1 + 1e-9)).all()
    within = search.not_too_dear(problem, SearchState(Clock(), cutoff_usd_per_hour=cost))
    assert within[used].all()


def test_what_is_too_large_to_be_solved_in_no_time_has_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "MOST_RELAXED_STREAMS", 0)
    problem = sorted_problem(tiny_problem()).problem
    late = SearchState(Clock(0.0))
    bound = search.relaxation_bound(problem, np.ones(len(problem.candidates), dtype=np.bool_), late)
    assert bound is not None
    assert bound.usd_per_hour == bound_at_cheapest_rates(problem).usd_per_hour > 0.0


def test_no_plan_undercuts_a_sifted_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sifting, "FIRST", 1)
    monkeypatch.setattr(sifting, "MORE", 1)

    @settings(max_examples=15)
    @given(problems("any", most_candidates=8, several=6))
    def check(problem: Problem) -> None:
        problem = sorted_problem(problem).problem
        sifted, solution = sifting.sifted_bound(problem, Clock(None)), solve_plainly(problem)
        assume(sifted is not None and solution.cost_usd_per_month is not None)
        assert sifted is not None
        cost = (solution.cost_usd_per_month or 0.0) / HOURS_PER_MONTH
        assert sifted.usd_per_hour <= cost * (1 + 1e-9)
        used = (solution.replicas > 0).any(axis=0)
        assert (sifted.with_candidate_usd_per_hour[used] <= cost * (1 + 1e-9)).all()

    check()


@STEADY
@given(problems("any", most_candidates=8, several=6))
def test_what_dominance_removes_is_not_needed(problem: Problem) -> None:
    problem = sorted_problem(problem).problem
    whole, rest = solve_plainly(problem), solve_plainly(restricted(problem, undominated(problem)))
    assert whole.outcome == rest.outcome
    assert (rest.cost_usd_per_month or 0.0) == pytest.approx(whole.cost_usd_per_month or 0.0, rel=1e-7)


def test_what_dominance_removes_is_worked_out_once_of_a_problem() -> None:
    problem = _one_candidate_in_each_region(prices=(1.0, 2.0, 3.0, 4.0), min_regions=2)
    keep = undominated(problem)
    assert undominated(problem) is keep
    assert not keep.flags.writeable
    assert undominated(replace(problem)) is not keep


def test_where_a_number_of_regions_is_asked_for_as_many_offers_stand_in_for_the_others() -> None:
    problem = _one_candidate_in_each_region(prices=(1.0, 2.0, 3.0, 4.0), min_regions=2)
    assert undominated(problem).tolist() == [True, True, False, False]
    assert undominated(_one_candidate_in_each_region((1.0, 2.0, 3.0, 4.0), min_regions=3)).sum() == 3
    # a region counts by itself where losing it does
    assert undominated(_one_candidate_in_each_region((1.0, 2.0, 3.0, 4.0), min_regions=2, survive=("region",))).all()
    # and where hours are joined by starts
    traffic = replace(problem.traffic.during(np.array([0, 0])), share_of_month=np.full(2, 0.5))
    joined = replace(traffic, start_share=np.array([[0.0, 0.1], [0.1, 0.0]]))
    assert undominated(replace(problem, traffic=joined)).all()


def _one_candidate_in_each_region(prices: tuple[float, ...], **limits: Any) -> Problem:
    """The same candidate on offers that differ in region and price."""
    problem, alike = tiny_problem(**limits), np.zeros(len(prices), dtype=np.int64)
    offers, candidates = problem.offers.select(alike), problem.candidates.select(alike)
    named = tuple(f"r{number}" for number in range(len(prices)))
    return replace(
        problem,
        offers=replace(offers, ids=named, region=named, price_usd_per_hour=np.array(prices)),
        candidates=replace(candidates, ids=named, offer=np.arange(len(prices))),
    )


def test_quantities_by_hand() -> None:
    problem = tiny_problem(spare_replicas=1)
    # long: 2/s, short: 5/s; mixed 40:60 covers both from max(2/0.4, 5/0.6)
    np.testing.assert_allclose(problem.reach_per_s, [[2.0, 25 / 3, 5.0]])
    # a-tp1-long: 0.8 x 1/s needs 3 replicas for 2/s, and 2 + 1 spare
    assert most_replicas(problem).tolist() == [[3, 4, 3, 3]]
    # the best of r = 2, 3: min(0.8 r, r - 1, 2) / r
    np.testing.assert_allclose(best_rate_per_s(problem)[0], 2.0 / 3.0)


def test_the_solver_prints_nothing(capfd) -> None:
    solve(tiny_problem())
    assert capfd.readouterr() == ("", "")


def test_a_hopeless_budget_is_infeasible() -> None:
    assert solve(tiny_problem(max_monthly_usd=1.0)).outcome == "infeasible"


def test_names_in_a_model_file_have_no_blank_or_bracket_and_stay_short() -> None:
    names = tagged("flow", ["a b[0]", "é%", "x" * 300, "x" * 301])
    assert names[0] == "flow[a%20b%5b0%5d]"
    assert all(len(name) <= 255 for name in names)
    assert len(set(names)) == len(names)


def test_a_bound_is_a_plain_number_wherever_it_comes_from() -> None:
    """What is printed and hashed is written by `repr`, which is another for a number of an array's kind."""
    found = solve(tiny_problem())
    for number in (found.bound_usd_per_month, found.above(np.float64(1.0), None).bound_usd_per_month):
        assert type(number) is float

"""The bound holds for any multipliers, and what dominance and the bound remove is never needed."""

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from program_instances import problems, tiny_problem

from optimizer.base.units import HOURS_PER_MONTH
from optimizer.program.bounds import Multipliers, bound_from
from optimizer.program.dominance import undominated
from optimizer.program.problem import Problem, restricted, sorted_problem
from optimizer.program.quantities import best_rate_per_s, most_replicas, reach_per_s
from optimizer.program.solve import solve, solve_plainly
from optimizer.program.variables import tagged

STEADY = settings(deadline=None, derandomize=True, max_examples=40, database=None)


@STEADY
@given(problems("any", 4), st.integers(0, 10**6))
def test_any_multipliers_give_a_bound(problem: Problem, seed: int) -> None:
    problem = sorted_problem(problem).problem
    random, solution = np.random.default_rng(seed), solve_plainly(problem)
    assume(solution.cost_usd_per_month is not None)
    limits, price = problem.limits, problem.price_usd_per_hour.copy()
    charged = 0.0
    if limits.max_gpus is not None:
        dual = random.exponential(0.5)
        price, charged = price + dual * problem.gpus_per_instance, charged + dual * limits.max_gpus
    spot = random.exponential(1.0) if limits.max_spot_share is not None else 0.0
    charged += spot * (limits.max_spot_share or 0.0)
    demand = random.exponential(3.0, len(problem.request_classes))
    group = random.exponential(1.0, len(problem.candidates))
    bound = bound_from(problem, Multipliers(demand, spot, price, charged, group))
    cost = (solution.cost_usd_per_month or 0.0) / HOURS_PER_MONTH
    assert bound.usd_per_hour <= cost * (1 + 1e-9)
    used = np.array(solution.replicas) > 0
    assert (bound.with_candidate_usd_per_hour[used] <= cost * (1 + 1e-9)).all()


@STEADY
@given(problems("any", 8))
def test_what_dominance_removes_is_not_needed(problem: Problem) -> None:
    problem = sorted_problem(problem).problem
    whole, rest = solve_plainly(problem), solve_plainly(restricted(problem, undominated(problem)))
    assert whole.outcome == rest.outcome
    assert abs((whole.cost_usd_per_month or 0.0) - (rest.cost_usd_per_month or 0.0)) < 1e-6


def test_quantities_by_hand() -> None:
    problem = tiny_problem(spare_replicas=1)
    # long: 2/s, short: 5/s; mixed 40:60 covers both from max(2/0.4, 5/0.6)
    np.testing.assert_allclose(reach_per_s(problem), [2.0, 25 / 3, 5.0, 2.0])
    # a-tp1-long: 0.8 x 1/s needs 3 replicas for 2/s, and 2 + 1 spare
    assert most_replicas(problem).tolist() == [3, 4, 3, 3]
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

"""What must hold for any problem: prices, offers and limits move the cost the right way, and order never matters."""

import os
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.instances import TINY, neutral, problems, shuffled, tiny_problem
from support.paths import ROOT, TESTS

from optimizer.base.clock import Clock
from optimizer.program.formulation.model import build_program, hourly_cost, model_proto
from optimizer.program.problem.data import HostedApis
from optimizer.program.problem.problem import Problem, restricted, sorted_problem
from optimizer.program.solve import Solution, solve

STEADY = settings(max_examples=15)


def cost(solution: Solution) -> float:
    assert solution.outcome in ("optimal", "infeasible"), solution.reason
    return np.inf if solution.cost_usd_per_month is None else solution.cost_usd_per_month


@STEADY
@given(problems("any", most_candidates=6), st.data())
def test_a_higher_price_never_lowers_the_cost(problem: Problem, data: st.DataObject) -> None:
    offer = data.draw(st.integers(0, len(problem.offers) - 1))
    price = problem.offers.price_usd_per_hour.copy()
    price[offer] *= 1.3
    dearer = replace(problem, offers=replace(problem.offers, price_usd_per_hour=price))
    assert cost(solve(dearer)) >= cost(solve(problem)) * (1 - 1e-9)


@STEADY
@given(problems("any", most_candidates=6), st.data())
def test_one_more_candidate_never_raises_the_cost(problem: Problem, data: st.DataObject) -> None:
    without = np.ones(len(problem.candidates), dtype=bool)
    without[data.draw(st.integers(0, len(without) - 1))] = False
    assert cost(solve(problem)) <= cost(solve(restricted(problem, without))) * (1 + 1e-9)


@pytest.mark.parametrize("family", sorted(TINY))
def test_dropping_a_limit_never_raises_the_cost(family: str) -> None:
    @settings(max_examples=5)
    @given(problems(family, "any", most_candidates=5, several=2))
    def check(problem: Problem) -> None:
        assert cost(solve(neutral(problem, family))) <= cost(solve(problem)) * (1 + 1e-9)

    check()


@STEADY
@given(problems("any", most_candidates=6, several=6), st.integers(0, 1000))
def test_order_of_input_does_not_matter(problem: Problem, seed: int) -> None:
    other, order = shuffled(problem, seed)
    assert model_bytes(problem) == model_bytes(other)
    first, second = solve(problem), solve(other)
    assert cost(first) == cost(second)
    if first.instances.size:
        assert (second.instances == first.instances[:, order["offers"]]).all()
        assert (second.replicas == first.replicas[:, order["candidates"]]).all()
        assert (second.api_flow_per_s == first.api_flow_per_s[:, order["apis"]]).all()
        candidates, mixes = order["candidates"], order["mixes"]
        there = {(f.period, candidates[f.candidate], mixes[f.mix], f.flow_per_s) for f in second.flows}
        assert there == {(f.period, f.candidate, f.mix, f.flow_per_s) for f in first.flows}


def model_bytes(problem: Problem) -> bytes:
    program = build_program(sorted_problem(problem).problem)
    return model_proto(program, hourly_cost(program), named=True).SerializeToString(deterministic=True)


def test_same_bytes_under_any_hash_seed() -> None:
    """Two processes, since this one's own seed may be either."""
    script = (
        "from support.instances import tiny_problem; from optimizer.program.solve import solve;"
        "s = solve(tiny_problem(spare_replicas=1, min_regions=2));"
        "print(s.outcome, s.cost_usd_per_month, s.instances.tolist(), s.replicas.tolist(), s.flows, s.eliminated)"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", script],
            env=os.environ | {"PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(map(str, (TESTS, ROOT)))},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "4242")
    }
    assert len(outputs) == 1
    assert outputs.pop().startswith("optimal")


def test_no_candidate_for_a_class_is_infeasible_with_its_name() -> None:
    problem = tiny_problem()
    solution = solve(restricted(problem, problem.candidates.rate_per_s[:, 1:].sum(axis=1) == 0))
    assert (solution.outcome, solution.reason) == ("infeasible", "no candidate serves chat/short")


def test_no_candidate_at_all_is_infeasible() -> None:
    problem = tiny_problem()
    solution = solve(restricted(problem, np.zeros(4, dtype=bool)))
    assert solution.outcome == "infeasible"
    assert solution.cost_usd_per_month is None


def test_no_time_is_unproven_not_infeasible() -> None:
    solution = solve(tiny_problem(), Clock(0.0))
    assert solution.outcome == "feasible"
    assert solution.ended_by == "time limit"


@pytest.mark.parametrize("scale", [1e-2, 1.0, 1e4])
def test_demand_of_any_size_is_proven(scale: float) -> None:
    problem = tiny_problem()
    traffic = replace(problem.traffic, demand_per_s=problem.traffic.demand_per_s * scale)
    solution = solve(replace(problem, traffic=traffic))
    assert solution.outcome == "optimal", solution.reason
    assert solution.relative_gap == 0.0


def test_hosted_apis_alone_make_a_plan() -> None:
    problem = tiny_problem()
    hosted = replace(problem, apis=HostedApis(("a", "b"), np.array([0, 2]), np.array([1e-4, 1e-4]), ("saas", "saas")))
    solution = solve(restricted(hosted, np.zeros(4, dtype=bool)))
    assert solution.outcome == "optimal"
    np.testing.assert_allclose(solution.api_flow_per_s, [[2.0, 5.0]])
    assert cost(solution) == pytest.approx(7.0 * 1e-4 * 3600 * 730)


def test_progress_tells_the_best_plan_and_the_bound() -> None:
    told: list[tuple[float | None, float]] = []
    solution = solve(tiny_problem(), progress=lambda best, bound: told.append((best, bound)))
    assert told[0][0] is None
    assert [730 * number for number in told[-1] if number] == pytest.approx([cost(solution)] * 2)


def test_a_malformed_problem_is_refused_with_every_fault() -> None:
    problem = tiny_problem()
    traffic = replace(problem.traffic, demand_per_s=np.ones((2, 2)), share_of_month=np.ones(3))
    with pytest.raises(ValueError, match="demand_per_s has shape") as refused:
        solve(replace(problem, traffic=traffic))
    assert "start_share has shape" in str(refused.value)
    odd = replace(problem.candidates, gpus_per_replica=np.array([1, 3, 1, 1]))
    with pytest.raises(ValueError, match="power of two"):
        solve(replace(problem, candidates=odd))
    strangers = replace(problem.traffic, workload=("v", "w"), least_replicas=np.zeros((1, 2), dtype=np.int64))
    hosted = HostedApis(("a",), np.array([3]), np.array([np.inf]), ("saas",))
    with pytest.raises(ValueError, match="a candidate serves several workloads") as refused:
        solve(replace(problem, traffic=strangers, apis=hosted, limits=replace(problem.limits, usd_per_change=-1.0)))
    for fault in ("apis.mix points outside", "an API costs something", "usd_per_change must not be negative"):
        assert fault in str(refused.value)

"""The program's optimum equals brute force; what brute force calls infeasible is infeasible; per family."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from program_instances import TINY_LIMITS, carries_demand, cheapest_by_enumeration, fewest_bins, problems

from optimizer.base.units import HOURS_PER_MONTH
from optimizer.program.problem import Problem
from optimizer.program.solve import solve, solve_plainly

STEADY = settings(deadline=None, derandomize=True, max_examples=25, database=None)


@pytest.mark.parametrize("family", ["", *TINY_LIMITS, "any"])
def test_optimum_equals_enumeration(family: str) -> None:
    @STEADY
    @given(problems(family))
    def check(problem: Problem) -> None:
        expected, solution = cheapest_by_enumeration(problem), solve(problem)
        if expected is None:
            assert solution.outcome == "infeasible"
            return
        assert solution.outcome == "optimal", solution.reason
        assert solution.cost_usd_per_month == pytest.approx(expected * HOURS_PER_MONTH, rel=1e-9)
        assert solution.bound_usd_per_month == solution.cost_usd_per_month
        assert carries_demand(problem, tuple(solution.replicas[0].tolist()))

    check()


@STEADY
@given(problems("any", most_candidates=8))
def test_elimination_keeps_the_optimum(problem: Problem) -> None:
    with_elimination, plain = solve(problem), solve_plainly(problem)
    assert with_elimination.outcome == plain.outcome
    assert (with_elimination.cost_usd_per_month or 0.0) == pytest.approx(plain.cost_usd_per_month or 0.0, rel=1e-9)


@STEADY
@given(problems("", most_candidates=8))
def test_flows_meet_demand_within_capacity(problem: Problem) -> None:
    solution = solve(problem)
    assume(solution.outcome == "optimal")
    served, load = np.zeros(len(problem.traffic.classes)), np.zeros(len(problem.candidates))
    for flow in solution.flows:
        served += flow.flow_per_s * problem.traffic.mixes[flow.mix]
        load[flow.candidate] += flow.flow_per_s / problem.candidates.rate_per_s[flow.candidate, flow.mix]
    assert (served >= problem.traffic.demand_per_s[0] * (1 - 1e-6)).all()
    assert (load <= problem.limits.max_utilization * solution.replicas[0] * (1 + 1e-6)).all()


@STEADY
@given(
    st.lists(st.sampled_from([1, 2, 4, 8]), max_size=7),
    st.integers(1, 9),
)
def test_nested_slot_counts_are_exactly_packing(sizes: list[int], gpus: int) -> None:
    assume(all(size <= gpus for size in sizes))
    by_slots = max((-(-sum(g // s for g in sizes if g >= s) // (gpus // s)) for s in sizes), default=0)
    assert by_slots == fewest_bins(sizes, gpus)

"""The program's optimum equals brute force; what brute force calls infeasible is infeasible; per family."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from program_brute_force import cheapest_by_enumeration
from program_instances import KINDS, TINY, problems
from program_promises import faults, fewest_bins

from optimizer.base.units import HOURS_PER_MONTH
from optimizer.program.problem import Problem
from optimizer.program.solve import solve, solve_plainly

NAMES = ("", *TINY, *KINDS)


def few(examples: int) -> settings:
    return settings(deadline=None, derandomize=True, max_examples=examples, database=None)


def agrees(problem: Problem) -> None:
    """The program finds what enumeration finds, and its plan keeps every promise."""
    expected = cheapest_by_enumeration(problem)
    assume(expected is None or not np.isnan(expected))
    solution = solve(problem)
    if expected is None:
        assert solution.outcome == "infeasible"
        return
    assert solution.outcome == "optimal", solution.reason
    assert not faults(problem, solution)
    assert solution.cost_usd_per_month == pytest.approx(expected * HOURS_PER_MONTH, rel=1e-7)
    assert solution.bound_usd_per_month == pytest.approx(solution.cost_usd_per_month, rel=1e-6)


@pytest.mark.parametrize("family", NAMES)
def test_optimum_equals_enumeration(family: str) -> None:
    few(12)(given(problems(family))(agrees))()


@pytest.mark.parametrize("first", range(len(NAMES)))
def test_optimum_equals_enumeration_for_pairs_of_families(first: int) -> None:
    for second in NAMES[first + 1 :]:
        few(2)(given(problems(NAMES[first], second))(agrees))()


@few(50)
@given(problems("any", most_candidates=8, several=6))
def test_elimination_keeps_the_optimum(problem: Problem) -> None:
    with_elimination, plain = solve(problem), solve_plainly(problem)
    assert with_elimination.outcome == plain.outcome
    assert (with_elimination.cost_usd_per_month or 0.0) == pytest.approx(plain.cost_usd_per_month or 0.0, rel=1e-7)
    for solution in (with_elimination, plain):
        assert solution.outcome != "optimal" or not faults(problem, solution)


@few(25)
@given(
    st.lists(st.sampled_from([1, 2, 4, 8]), max_size=7),
    st.integers(1, 9),
)
def test_nested_slot_counts_are_exactly_packing(sizes: list[int], gpus: int) -> None:
    assume(all(size <= gpus for size in sizes))
    by_slots = max((-(-sum(g // s for g in sizes if g >= s) // (gpus // s)) for s in sizes), default=0)
    assert by_slots == fewest_bins(sizes, gpus)

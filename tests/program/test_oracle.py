"""The program's optimum equals brute force; what brute force calls infeasible is infeasible; per family."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from support.brute_force import cheapest_by_enumeration
from support.instances import KINDS, TINY, problems
from support.promises import faults, fewest_bins

from optimizer.base.units import HOURS_PER_MONTH
from optimizer.program import search
from optimizer.program.problem.problem import Problem
from optimizer.program.solve import solve, solve_plainly


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


@pytest.mark.parametrize("family", ["", *TINY, *KINDS])
def test_optimum_equals_enumeration(family: str) -> None:
    settings(max_examples=10)(given(problems(family))(agrees))()


def covering(names: tuple[str, ...], size: int) -> list[tuple[str, ...]]:
    """Blocks of names such that every pair is in at least one."""
    missing, blocks = set(combinations(names, 2)), []
    while missing:
        block = min(missing)
        while len(block) < size:
            block += (max(set(names) - set(block), key=lambda name: (_new_pairs(block, name, missing), name)),)
        missing -= {pair for pair in missing if set(pair) <= set(block)}
        blocks.append(tuple(sorted(block)))
    return blocks


def _new_pairs(block: tuple[str, ...], name: str, missing: set[tuple[str, str]]) -> int:
    return sum((other, name) in missing or (name, other) in missing for other in block)


@pytest.mark.slow("enumerates every plan of problems with each pair of families")
@pytest.mark.parametrize("families", covering((*TINY, *KINDS), 4), ids="+".join)
def test_optimum_equals_enumeration_for_every_pair_of_families(families: tuple[str, ...]) -> None:
    settings(max_examples=4)(given(problems(*families))(agrees))()


@settings(max_examples=50)
@given(problems("any", most_candidates=8, several=6))
def test_elimination_keeps_the_optimum(problem: Problem) -> None:
    with_elimination, plain = solve(problem), solve_plainly(problem)
    assert with_elimination.outcome == plain.outcome
    assert (with_elimination.cost_usd_per_month or 0.0) == pytest.approx(plain.cost_usd_per_month or 0.0, rel=1e-7)
    for solution in (with_elimination, plain):
        assert solution.outcome != "optimal" or not faults(problem, solution)


def test_the_search_of_large_problems_keeps_the_optimum(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "MANY_STREAMS", -1)

    @settings(max_examples=30)
    @given(problems("any", most_candidates=6))
    def check(problem: Problem) -> None:
        large, plain = solve(problem), solve_plainly(problem)
        assert large.outcome == plain.outcome, large.reason
        assert (large.cost_usd_per_month or 0.0) == pytest.approx(plain.cost_usd_per_month or 0.0, rel=1e-7)

    check()


@settings(max_examples=25)
@given(
    st.lists(st.sampled_from([1, 2, 4, 8]), max_size=7),
    st.integers(1, 9),
)
def test_nested_slot_counts_are_exactly_packing(sizes: list[int], gpus: int) -> None:
    assume(all(size <= gpus for size in sizes))
    by_slots = max((-(-sum(g // s for g in sizes if g >= s) // (gpus // s)) for s in sizes), default=0)
    assert by_slots == fewest_bins(sizes, gpus)

"""What the fullest place carries is divided until a plan is proven: the same as by one program of all candidates."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.placements import at_places
from support.promises import faults

from optimizer.base.clock import Clock
from optimizer.program import search as whole_search
from optimizer.program.problem.data import Fullest
from optimizer.program.problem.losses import losses, shares_at_full_rate
from optimizer.program.problem.problem import Problem, sorted_problem
from optimizer.program.proof import first_plan, fullest_place
from optimizer.program.proof.fullest_place import divides_fullest_place, search_by_fullest_place
from optimizer.program.proof.relaxation import no_bound
from optimizer.program.proof.state import SearchResult, SearchState
from optimizer.program.search import relaxation_bound
from optimizer.program.solve import solve, solve_plainly
from optimizer.program.solver import SolverResult

CASES = (
    (2, ("region",)),
    (5, ("region",)),
    (0, ("provider",)),
    (12, ("provider", "region")),
    (5, ("region", "spot_offer")),
)


def divided(problem: Problem, node_limit: int | None = None) -> SearchResult:
    """The search of all slices, of which nothing is known."""
    keep = np.ones(len(problem.candidates), dtype=np.bool_)
    state = SearchState(Clock(), node_limit=node_limit)
    return search_by_fullest_place(problem, keep, no_bound(problem), None, state, relaxation_bound)


@pytest.mark.parametrize(("seed", "survive"), CASES)
def test_the_cheapest_plan_is_that_of_one_program(
    seed: int, survive: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With so few nodes that slices are cut."""
    monkeypatch.setattr(fullest_place, "NODES", 30)
    problem = sorted_problem(at_places(seed, survive)).problem
    found, plain = divided(problem), solve_plainly(problem)
    if plain.cost_usd_per_month is None:
        assert (found.status, found.incumbent) == ("infeasible", None)
        return
    assert found.incumbent is not None
    assert found.status == "optimal"
    assert found.incumbent.usd_per_hour * 730.0 == pytest.approx(plain.cost_usd_per_month, rel=1e-6)
    assert found.bound.usd_per_hour * 730.0 == pytest.approx(plain.cost_usd_per_month, rel=1e-6)


def test_a_search_that_is_wide_open_divides_what_the_fullest_place_carries(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = list[SearchResult]()

    def noted(*arguments: object) -> SearchResult:
        asked.append(search_by_fullest_place(*arguments))  # type: ignore[arg-type]
        return asked[-1]

    monkeypatch.setattr(whole_search, "search_by_fullest_place", noted)
    monkeypatch.setattr(first_plan, "INCUMBENT_COLUMNS", 0)
    monkeypatch.setattr(fullest_place, "WIDE", -1.0)
    for seed, survive in CASES:
        problem = at_places(seed, survive)
        found, plain = solve(problem), solve_plainly(problem)
        assert found.outcome == plain.outcome
        if plain.cost_usd_per_month is not None:
            assert found.cost_usd_per_month == pytest.approx(plain.cost_usd_per_month, rel=1e-6)
            assert not faults(problem, found)
    assert asked


def test_a_slice_has_the_plans_whose_fullest_place_carries_as_much_and_no_others() -> None:
    """The cheapest plan of all is in the slice around what its own fullest place carries, and dearer ones in others."""
    problem = sorted_problem(at_places(5, ("region",))).problem
    best = divided(problem).incumbent
    assert best is not None
    share, gone = shares_at_full_rate(problem), losses(problem).gone
    fullest = np.array([[float(each @ (best.replicas[0] * lost)) for lost in gone] for each in share]).max(axis=1)

    def cheapest(least: float, most: float) -> float | None:
        told = Fullest(
            np.append(fullest[:1] + least, fullest[1:] * 0), np.append(fullest[:1] + most, fullest[1:] + np.inf)
        )
        found = solve_plainly(replace(problem, fullest_place=told)).cost_usd_per_month
        return None if found is None else found / 730.0

    assert cheapest(-1e-6, 1e-6) == pytest.approx(best.usd_per_hour)
    for least, most in ((-fullest[0], -1e-3), (1e-3, np.inf)):
        other = cheapest(least, most)
        assert other is None or other >= best.usd_per_hour * (1 - 1e-9)


def test_a_limit_on_nodes_ends_the_search_with_what_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fullest_place, "NODES", 1)
    problem = sorted_problem(at_places(5, ("region",))).problem
    found, cost = divided(problem, node_limit=2), solve_plainly(problem).cost_usd_per_month
    assert cost is not None
    assert found.status in ("unproven", "feasible")
    assert 0.0 < found.bound.usd_per_hour <= cost / 730.0


@given(
    st.lists(st.floats(0.0, 1.5), min_size=2, max_size=3), st.integers(0, 1), st.lists(st.integers(0, 1), max_size=12)
)
def test_every_plan_is_in_a_slice_and_in_one_half_of_it(carried: list[float], leading: int, halves: list[int]) -> None:
    at = np.array(carried)

    def holds(fullest: Fullest) -> bool:
        return bool(((fullest.least <= at) & (at <= fullest.most)).all())

    slices = list(fullest_place._first(len(at), leading))
    assert any(holds(each) for each in slices)
    own = next(each for each in slices if holds(each))
    for _ in halves:
        cut = list(fullest_place._halves(own, np.arange(1.0, len(at) + 1)))
        assert any(holds(each) for each in cut)
        own = next(each for each in cut if holds(each))


def test_what_loses_no_place_or_an_instance_too_is_not_divided() -> None:
    problem = at_places(0, ("region",))
    every = np.ones(len(problem.candidates), dtype=np.bool_)
    assert divides_fullest_place(problem, every)
    for survive in ((), ("instance",), ("spot_offer",), ("instance", "region")):
        assert not divides_fullest_place(replace(problem, limits=replace(problem.limits, survive=survive)), every)


def test_what_stands_is_among_the_candidates_of_every_slice() -> None:
    """A program without it says nothing, however often its slice is cut."""
    problem = at_places(0, ("region",))
    in_force = np.arange(len(problem.candidates)) == 3
    standing = replace(problem, candidates=replace(problem.candidates, replicas_in_force=in_force.astype(np.int64)))
    priced = replace(standing, limits=replace(problem.limits, usd_per_change=1.0))
    assert divides_fullest_place(priced, np.ones_like(in_force))
    assert not divides_fullest_place(priced, ~in_force)


def test_slices_that_a_solver_says_nothing_of_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fullest_place, "MOST_SLICES", 5)
    monkeypatch.setattr(fullest_place, "solve_on", lambda *_: (SolverResult("unproven", -np.inf), None))
    problem = sorted_problem(at_places(5, ("region",))).problem
    found, cost = divided(problem), solve_plainly(problem).cost_usd_per_month
    assert cost is not None
    assert (found.status, found.incumbent) == ("unproven", None)
    assert 0.0 < found.bound.usd_per_hour <= cost / 730.0

"""What is loaded on an instance stays there while it is paid for: the program against every way to load instances."""

from dataclasses import replace
from itertools import combinations_with_replacement, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.brute_force import cheapest_by_enumeration
from support.plain import plain_candidates, plain_offers
from support.promises import faults, fewest_bins

from optimizer.base.units import HOURS_PER_MONTH
from optimizer.program import laid_out
from optimizer.program.problem.data import LayoutTerms, Limits, steady_traffic
from optimizer.program.problem.layouts import list_layouts
from optimizer.program.problem.problem import Problem
from optimizer.program.proof.relaxation import no_bound
from optimizer.program.proof.state import Incumbent, Known, SearchResult, SearchState
from optimizer.program.search import search
from optimizer.program.solve import solve, solve_plainly

FREE = LayoutTerms(kept=False)


def day_and_night(
    demand_per_s: list[list[float]],
    rates: list[list[float]],
    sizes: list[int],
    *,
    gpus: int = 8,
    always_paid: bool = True,
    start_share: float = 0.01,
) -> Problem:
    """One offer of so many GPUs with a configuration for each of the rates, over periods that follow each other."""
    demand = np.array(demand_per_s)
    periods, classes = demand.shape
    traffic = steady_traffic(tuple(f"w/{k}" for k in range(classes)), np.ones(classes))
    following = np.roll(np.eye(periods), 1, axis=1)
    return Problem(
        traffic=replace(
            traffic,
            demand_per_s=demand,
            share_of_month=np.full(periods, 1 / periods),
            start_share=start_share * following,
            least_replicas=np.zeros((periods, 1), dtype=np.int64),
        ),
        candidates=plain_candidates(
            [0] * len(rates),
            rates,
            gpus_per_replica=np.array(sizes),
            configuration=tuple(f"k{number}" for number in range(len(rates))),
        ),
        offers=plain_offers([10.0], gpus_per_instance=np.array([gpus]), always_paid=np.array([always_paid])),
        limits=Limits(max_utilization=1.0),
    )


ALTERNATING = day_and_night([[8.0, 0.0], [0.0, 8.0]], [[1.0, 0.0], [0.0, 4.0]], [1, 4])
"""By day eight small replicas fill a machine, by night two large ones of another configuration do."""


def cost_usd_per_hour(problem: Problem) -> float:
    solution = solve(problem)
    assert solution.outcome == "optimal"
    assert problem.layouts.followed.any() or not faults(problem, solution)
    return (solution.cost_usd_per_month or 0.0) / HOURS_PER_MONTH


def test_a_machine_paid_all_month_is_not_loaded_anew_twice_a_day() -> None:
    assert cost_usd_per_hour(replace(ALTERNATING, layouts=FREE)) == pytest.approx(10.0)
    assert cost_usd_per_hour(ALTERNATING) == pytest.approx(20.0)


def test_a_machine_paid_by_the_hour_is_started_anew_for_other_contents() -> None:
    by_the_hour = replace(ALTERNATING, offers=replace(ALTERNATING.offers, always_paid=np.array([False])))
    free = cost_usd_per_hour(replace(by_the_hour, layouts=FREE))
    assert free == pytest.approx(10.0)
    # two changes, each with a start that costs a hundredth of a month
    assert cost_usd_per_hour(by_the_hour) == pytest.approx(10.0 + 2 * 0.01 * 10.0)
    for solution in (solve(by_the_hour), solve_plainly(by_the_hour)):
        (held,) = solution.loaded
        assert held.standing.sum(axis=1).tolist() == [1, 1]
        assert np.abs(np.diff(held.standing, axis=0)).sum() == 2


def test_a_plan_of_other_contents_stands_at_the_price_of_its_starts_where_the_next_search_is_cut_short(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    by_the_hour = replace(ALTERNATING, offers=replace(ALTERNATING.offers, always_paid=np.array([False])))
    known_plans: list[Incumbent | None] = []

    def once(problem: Problem, state: SearchState, eliminate: bool, known: Known) -> SearchResult:
        known_plans.append(known.plan)
        if len(known_plans) == 1:
            return search(problem, state, eliminate, known)
        return SearchResult("unproven", no_bound(problem), known.plan)

    monkeypatch.setattr(laid_out, "search", once)
    found = solve(by_the_hour)
    assert [plan is None for plan in known_plans] == [True, False]
    assert (found.outcome, found.cost_usd_per_month) == ("feasible", pytest.approx(10.2 * HOURS_PER_MONTH))
    assert not faults(by_the_hour, found)


def test_a_first_plan_whose_starts_cost_hardly_more_is_not_looked_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    rarely = day_and_night(
        [[8.0, 0.0], [0.0, 8.0]], [[1.0, 0.0], [0.0, 4.0]], [1, 4], always_paid=False, start_share=1e-3
    )
    searches: list[Problem] = []

    def counted(problem: Problem, state: SearchState, eliminate: bool, known: Known) -> SearchResult:
        searches.append(problem)
        return search(problem, state, eliminate, known)

    monkeypatch.setattr(laid_out, "search", counted)
    first, first_searches = solve(rarely, proof=False), len(searches)
    proven = solve(rarely)
    assert (first_searches, len(searches)) == (1, 3)
    assert (
        first.cost_usd_per_month == pytest.approx(proven.cost_usd_per_month) == pytest.approx(10.02 * HOURS_PER_MONTH)
    )


def test_machines_that_serve_nobody_for_a_period_may_be_repartitioned() -> None:
    """Day, evening and night: what the evening does without holds something else by night."""
    followed = np.roll(np.eye(3, dtype=bool), 1, axis=1) | np.roll(np.eye(3, dtype=bool), -1, axis=1)
    problem = day_and_night([[16.0, 0.0], [0.0, 0.0], [0.0, 16.0]], [[1.0, 0.0], [0.0, 4.0]], [1, 4])
    assert cost_usd_per_hour(problem) == pytest.approx(40.0)
    # night follows upon day and day upon night through an empty evening
    through_the_evening = np.array([[False, True, False], [True, False, True], [False, True, False]])
    rested = replace(problem, layouts=LayoutTerms(followed=through_the_evening))
    assert cost_usd_per_hour(rested) == pytest.approx(20.0)
    # where night is followed by day at once, nothing rests between them
    at_once = replace(problem, layouts=LayoutTerms(followed=followed))
    assert cost_usd_per_hour(at_once) == pytest.approx(40.0)


@settings(max_examples=30)
@given(st.lists(st.sampled_from([1, 2, 4, 8]), min_size=1, max_size=4), st.integers(1, 8))
def test_layouts_are_all_ways_to_fill_an_instance(sizes: list[int], gpus: int) -> None:
    sizes = [size for size in sizes if size <= gpus] or [1]
    fits = [
        held
        for held in product(*(range(gpus // size + 1) for size in sizes))
        if fewest_bins([size for size, n in zip(sizes, held, strict=True) for _ in range(n)], gpus) <= 1
    ]
    full = {a for a in fits if not any(a != b and all(x <= y for x, y in zip(a, b, strict=True)) for b in fits)}
    assert {tuple(held) for held in list_layouts(np.array(sizes), gpus).tolist()} == full


@st.composite
def weeks(draw: st.DrawFn) -> Problem:
    """One or two offers, two or three configurations on the first, two or three periods, starts that cost."""
    periods, kinds = draw(st.integers(2, 3)), draw(st.integers(2, 3))
    rate = [[0.0, 0.0] for _ in range(kinds)]
    for number, each in enumerate(rate):
        each[number % 2] = draw(st.integers(8, 30)) / 10
        each[1 - number % 2] = draw(st.sampled_from([0.0, 0.0, 1.1]))
    demand = [[draw(st.sampled_from([0.0, 0.6, 1.5, 3.0])) for _ in range(2)] for _ in range(periods)]
    demand[0][0] = demand[-1][1] = 2.0
    gpus = draw(st.sampled_from([1, 2, 4]))
    sizes = [draw(st.sampled_from([size for size in (1, 2, 4) if size <= gpus])) for _ in range(kinds)]
    share = draw(st.sampled_from([0.001, 0.05, 0.3]))
    return day_and_night(demand, rate, sizes, gpus=gpus, always_paid=draw(st.booleans()), start_share=share)


@settings(max_examples=25)
@given(weeks())
def test_the_optimum_is_that_of_every_way_to_load_instances(problem: Problem) -> None:
    expected = cheapest_by_enumeration(problem)
    if expected is None or np.isnan(expected):
        return
    for solution in (solve(problem), solve_plainly(problem)):
        assert solution.outcome == "optimal"
        assert not faults(problem, solution)
        assert solution.cost_usd_per_month == pytest.approx(expected * HOURS_PER_MONTH, rel=1e-7)


@settings(max_examples=25)
@given(weeks())
def test_resting_machines_are_repartitioned_as_cheaply_as_by_every_way(problem: Problem) -> None:
    periods = problem.traffic.periods
    followed = np.roll(np.eye(periods, dtype=bool), 1, axis=1)
    offers = replace(problem.offers, always_paid=np.array([True]))
    problem = replace(problem, offers=offers, layouts=LayoutTerms(followed=followed))
    solution = solve(problem)
    assert solution.outcome == "optimal"
    cost = (solution.cost_usd_per_month or 0.0) / HOURS_PER_MONTH
    fewer = round(cost / 10.0) - 1
    assert cost == pytest.approx(10.0 * (fewer + 1))
    assert not _enough(problem, fewer)
    assert _enough(problem, fewer + 1)


def _enough(problem: Problem, instances: int) -> bool:
    """Whether so many instances do, by every way to load them; each holds nothing before it changes."""
    sizes = problem.candidates.gpus_per_replica.tolist()
    gpus = int(problem.offers.gpus_per_instance[0])
    layouts = [tuple(held) for held in list_layouts(np.array(sizes), gpus).tolist()]
    nothing = (0,) * len(sizes)
    fleets = [
        [fleet for fleet in combinations_with_replacement([nothing, *layouts], instances) if _serves(problem, t, fleet)]
        for t in range(problem.traffic.periods)
    ]
    return any(
        all(_goes_on(week[t], week[(t + 1) % len(week)], nothing) for t in range(len(week)))
        for week in product(*fleets)
    )


def _serves(problem: Problem, period: int, fleet: tuple[tuple[int, ...], ...]) -> bool:
    """Whether what the instances hold carries both classes: what serves the second best goes to the first last."""
    replicas = np.array(fleet).sum(axis=0) if fleet else np.zeros(len(problem.candidates))
    missing, rate = problem.traffic.demand_per_s[period].copy(), problem.candidates.rate_per_s
    for c in sorted(range(len(rate)), key=lambda c: rate[c, 1] / max(rate[c, 0], 1e-9)):
        busy = min(float(replicas[c]), max(missing[0], 0.0) / rate[c, 0]) if rate[c, 0] else 0.0
        missing -= [busy * rate[c, 0], (float(replicas[c]) - busy) * rate[c, 1]]
    return bool((missing <= 1e-9).all())


def _goes_on(before: tuple[tuple[int, ...], ...], after: tuple[tuple[int, ...], ...], nothing: tuple[int, ...]) -> bool:
    """Whether what rises held nothing before."""
    rises = sum(max(0, after.count(held) - before.count(held)) for held in set(after) - {nothing})
    return rises <= before.count(nothing)

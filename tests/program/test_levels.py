"""A week told by few levels of its demand: its bound is one of the week, and its plan keeps what the week asks."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from support.instances import by_day_and_night, paid_all_month, problems, tiny_problem
from support.plain import plain_candidates, plain_offers
from support.promises import keeps_limits

from optimizer.base.arrays import Floats, Ints
from optimizer.base.clock import Clock
from optimizer.base.units import HOURS_PER_MONTH
from optimizer.program.large.counts import bound_by_counts
from optimizer.program.large.knapsack import Counts
from optimizer.program.large.patterns import generated, pattern_bound
from optimizer.program.large.pricing import Pricing
from optimizer.program.large.unlinked import kinds_of_periods, unlinked
from optimizer.program.problem.data import Billing, Limits, steady_traffic
from optimizer.program.problem.problem import Problem, compacted, sorted_problem
from optimizer.program.problem.quantities import serves_all
from optimizer.program.proof.state import NOTHING_KNOWN, Incumbent, Known, SearchResult, SearchState
from optimizer.program.refine.loading import with_restarts
from optimizer.program.search import search
from optimizer.program.solve import solve, solve_plainly
from optimizer.program.weeks.level_prices import bound_with_starts, follows_itself
from optimizer.program.weeks.levels import Levels, has_levels
from optimizer.program.weeks.looks import Looks
from optimizer.program.weeks.paid_all_month import _told_by_each, plan_of_levels
from optimizer.program.weeks.rises import rises_of, with_rises
from optimizer.program.weeks.schedule import scheduled


def _check(problem: Problem) -> None:
    """No plan is below the bound, and the schedule is a plan at a cost that the cheapest does not exceed."""
    by_hour = replace(problem.offers, always_paid=np.zeros(len(problem.offers), dtype=np.bool_))
    problem = sorted_problem(replace(problem, offers=by_hour)).problem
    assume(problem.traffic.periods > 1 and has_levels(problem))
    kind, cheapest = kinds_of_periods(problem), solve_plainly(problem).cost_usd_per_month
    levels = Levels(unlinked(problem, kind))
    if not levels.solve(SearchState(Clock(None)), search):
        assert cheapest is None
        return
    state, bound = SearchState(Clock(None)), 0.0
    if follows_itself(problem):
        bound = bound_with_starts(problem, kind, levels, state, search).usd_per_hour
    plan = scheduled(problem, kind, levels)
    if cheapest is None:
        assert plan is None
        return
    least = cheapest / HOURS_PER_MONTH
    assert max(bound, with_rises(problem, levels.lower[kind], Clock(None))) <= least * (1 + 1e-6)
    if plan is not None:
        assert plan.usd_per_hour >= least * (1 - 1e-6)
        assert keeps_limits(problem, plan.replicas[None], plan.instances[None]).all()


@settings(max_examples=15)
@given(problems("any", "starts", most_candidates=4, several=3))
def test_levels_of_a_week_with_starts_are_true_of_it(problem: Problem) -> None:
    _check(problem)


@settings(max_examples=10)
@given(problems("any", "minimum_billing", most_candidates=3, several=3))
def test_levels_of_a_week_with_least_billed_times_are_true_of_it(problem: Problem) -> None:
    _check(problem)


@settings(max_examples=10)
@given(problems("any", "survive", "starts", most_candidates=4, several=3))
def test_levels_of_a_week_that_survives_a_loss_are_true_of_it(problem: Problem) -> None:
    _check(problem)


@pytest.mark.parametrize("limit", ["max_engines", "max_distinct_configurations"])
def test_what_limits_all_that_ever_runs_is_kept_by_the_plan_of_one_level(limit: str) -> None:
    problem = by_day_and_night(tiny_problem(**{limit: 1}))
    kind = kinds_of_periods(problem)
    levels = Levels(unlinked(problem, kind))
    assert levels.solve(SearchState(Clock(None)), search)
    plan = scheduled(problem, kind, levels)
    assert plan is not None
    assert keeps_limits(problem, plan.replicas[None], plan.instances[None]).all()


def _rising(count: int) -> Problem:
    """The same service with demand that rises from hour to hour by a hundredth."""
    problem = sorted_problem(tiny_problem()).problem
    traffic = problem.traffic.during(np.zeros(count, dtype=np.int64))
    risen = traffic.demand_per_s * (1 + np.arange(count) / 100)[:, None]
    changes = np.roll(np.eye(count), 1, axis=1) * 0.01
    even = np.full(count, 1 / count)
    return replace(problem, traffic=replace(traffic, demand_per_s=risen, share_of_month=even, start_share=changes))


def test_few_levels_are_solved_of_many() -> None:
    problem, solved = _rising(40), []

    def counted(problem: Problem, state: SearchState, *, known: Known = NOTHING_KNOWN) -> SearchResult:
        solved.append(problem.traffic.demand_per_s.sum())
        return search(problem, state, known=known)

    kind = kinds_of_periods(problem)
    levels = Levels(unlinked(problem, kind))
    assert levels.solve(SearchState(Clock(None)), counted)
    assert solved[0] == problem.traffic.demand_per_s.sum(axis=1).max()
    assert len(solved) < 15
    missing = levels.hours @ (levels.upper - levels.lower)
    assert missing <= 0.005 * (levels.hours @ levels.upper)
    plan = scheduled(problem, kind, levels)
    assert plan is not None
    assert keeps_limits(problem, plan.replicas[None], plan.instances[None]).all()


def test_a_start_and_a_least_billed_time_raise_the_bound() -> None:
    problem = by_day_and_night(tiny_problem())
    periods = problem.traffic.periods
    least = np.where(np.arange(periods) == 0, 1.0, 4.0)
    hours = problem.traffic.share_of_month
    changes = np.roll(np.eye(periods), 1, axis=1) * 0.02
    started = replace(problem, traffic=replace(problem.traffic, start_share=changes))
    # one rise of 3 USD/h, and one back down
    rises = rises_of(started, least, Clock(None))
    assert rises.usd_per_hour == pytest.approx(hours @ least + 0.02 * 3)
    # of a start at the one rise all that is billed for it; an instance is that much dearer after it and cheaper before
    before, after = started.traffic.changes
    dearer = np.bincount(after, rises.worth, periods) - np.bincount(before, rises.worth, periods)
    assert rises.worth.tolist() == pytest.approx([0.02, 0.0])
    assert (hours + dearer) @ least == pytest.approx(rises.usd_per_hour)
    even = replace(problem.traffic, share_of_month=np.full(periods, 1 / periods), start_share=np.zeros_like(changes))
    billing = Billing(np.full(len(problem.offers), periods), np.arange(periods))
    billed = replace(problem, traffic=even, billing=billing)
    assert periods == 2
    # of two hours to be paid for at least: machines worth 2 USD/h begin each week and stay for three
    assert with_rises(billed, least, Clock(None)) == pytest.approx((2.0 + 4.0) / 2)


@settings(max_examples=15)
@given(problems("any", most_candidates=4, several=3), st.integers(0, 10**6))
def test_no_plan_costs_less_than_the_bound_of_a_box_with_its_numbers_of_machines(problem: Problem, seed: int) -> None:
    random = np.random.default_rng(seed)
    problem = sorted_problem(paid_all_month(by_day_and_night(problem), random)).problem
    solution = solve_plainly(problem)
    assume(solution.cost_usd_per_month is not None)
    cost = (solution.cost_usd_per_month or 0.0) / HOURS_PER_MONTH
    assert bound_by_counts(problem, cost * (1 + 1e-6), Clock(None)).usd_per_hour <= cost * (1 + 1e-6)
    pricing = Pricing(problem)
    runs = solution.instances.max(axis=0)[pricing.units.offer]
    always = problem.offers.always_paid[pricing.units.offer]
    least = np.where(always, np.maximum(runs - random.integers(0, 2, len(runs)), 0), 0).astype(float)
    most = np.where(always, runs + random.integers(0, 2, len(runs)), np.inf)
    held = pricing.held_to(Counts(least, most))
    best, _ = generated(held, held.at_first(), Clock(None), 1e-3)
    assert best.value <= cost * (1 + 1e-9)


def test_half_a_machine_that_is_paid_all_month_is_no_plan() -> None:
    """Of 1/s at 1 USD/h and 3/s at 2.5, 1.5/s: one of the first and a third of the second cost less than two."""
    alone = Problem(
        traffic=steady_traffic(("w/k",), np.array([1.5])),
        candidates=plain_candidates([0, 1], [[1.0], [3.0]]),
        offers=plain_offers([1.0, 2.5]),
        limits=Limits(max_utilization=1.0),
    )
    problem = by_day_and_night(alone)
    always = np.ones(2, dtype=np.bool_)
    problem = replace(
        problem,
        traffic=replace(problem.traffic, demand_per_s=np.array([[1.5], [0.5]])),
        offers=replace(problem.offers, always_paid=always),
    )
    cost = (solve_plainly(problem).cost_usd_per_month or 0.0) / HOURS_PER_MONTH
    pricing = Pricing(problem)
    mixed, _ = generated(pricing, pricing.at_first(), Clock(None), 1e-9)
    told = bound_by_counts(problem, cost, Clock(None))
    assert mixed.value == pytest.approx(1 + 2.5 / 3)
    assert told.usd_per_hour == pytest.approx(2.0) == pytest.approx(cost)


@settings(max_examples=10)
@given(problems("starts", most_candidates=4, several=3), st.integers(0, 10**6))
def test_a_plan_of_levels_beside_machines_paid_all_month_keeps_what_the_week_asks(problem: Problem, seed: int) -> None:
    problem = sorted_problem(paid_all_month(problem, np.random.default_rng(seed))).problem
    cheapest = solve_plainly(problem).cost_usd_per_month
    assume(cheapest is not None)
    whole = compacted(problem, np.ones(len(problem.candidates), dtype=np.bool_))
    found, kind = pattern_bound(whole.problem, Clock(None)), kinds_of_periods(problem)
    plan = plan_of_levels(whole, found, kind, problem, SearchState(Clock(None)), search)
    if plan is not None:
        # what is paid by the hour may change what it holds, which costs starts
        paid, _ = with_restarts(problem, plan)
        assert plan.usd_per_hour == pytest.approx(paid.usd_per_hour)
        assert paid.usd_per_hour >= (cheapest or 0.0) / HOURS_PER_MONTH * (1 - 1e-6)
        assert keeps_limits(problem, plan.replicas[None], plan.instances[None]).all()


@pytest.mark.parametrize(
    ("spare_per_s", "usd_per_hour"), [(0.01, 10 + 2 * 0.05 * 10), (0.1, 10 + 0.3 / 3 + 0.05 * 0.3)]
)
def test_levels_hold_one_configuration_on_a_machine_where_that_is_cheaper_than_to_load_it_anew(
    spare_per_s: float, usd_per_hour: float
) -> None:
    # by day eight small replicas fill the machine; a large one serves all of the night, and nearly all of the day
    starts = 0.05 * np.roll(np.eye(3), 1, axis=1)
    traffic = steady_traffic(("w/day", "w/night"), np.ones(2))
    problem = Problem(
        traffic=replace(
            traffic,
            demand_per_s=np.array([[8.0, 0.0], [0.0, 8.0], [0.0, 8.0]]),
            share_of_month=np.full(3, 1 / 3),
            start_share=starts,
            least_replicas=np.zeros((3, 1), dtype=np.int64),
        ),
        candidates=plain_candidates(
            [0, 0, 1],
            [[1.0, 0.0], [7.9, 8.0], [spare_per_s, 0.0]],
            gpus_per_replica=np.array([1, 8, 1]),
            configuration=("small", "large", "small"),
        ),
        offers=plain_offers([10.0, 0.3], gpus_per_instance=np.array([8, 1])),
        limits=Limits(max_utilization=1.0),
    )
    whole = compacted(problem, np.ones(3, dtype=np.bool_))
    found = pattern_bound(whole.problem, Clock(None))
    plan = plan_of_levels(whole, found, kinds_of_periods(problem), problem, SearchState(Clock(None)), search)
    assert plan is not None
    assert plan.usd_per_hour == pytest.approx(usd_per_hour)
    assert plan.usd_per_hour == pytest.approx((solve(problem).cost_usd_per_month or 0.0) / HOURS_PER_MONTH)


def test_a_plan_that_a_solver_lets_carry_more_than_there_is_is_no_plan_of_a_level() -> None:
    problem = Problem(
        traffic=replace(steady_traffic(("w/chat",), np.ones(1)), demand_per_s=np.array([[1.0]])),
        candidates=plain_candidates([0], [[1.0]]),
        offers=plain_offers([1.0]),
        limits=Limits(max_utilization=0.9),
    )
    levels = Levels(problem)
    short, enough = (Incumbent(np.array([[n]]), np.array([[n]]), np.zeros(0), float(n)) for n in (1, 2))
    assert [levels.add(0, plan) for plan in (short, enough)] == [False, True]
    assert levels.plans == [(0, enough)]


@pytest.mark.parametrize(
    ("open_times", "closer", "least"),
    [(1.0, [], 99.0), (1.5, [(0, "end", 0.005), (1, "end", 0.005)], 99.25)],
    ids=["a large week may end so", "further open than a large week may be"],
)
def test_each_number_of_machines_has_its_turn_before_one_is_told_to_the_end(
    open_times: float, closer: list[tuple[int, str, float]], least: float
) -> None:
    asked: list[tuple[int, str, float]] = []

    class Scripted:
        """Numbers of which the end leaves so many times as much open as it is told that it may."""

        def with_starts(self, *_: object) -> float:
            return 90.0

        def by_whole_numbers(self, *_: object) -> float:
            return 92.0

        def by_levels(self, count: Ints, *_: object, open_share: float) -> tuple[float, None]:
            asked.append((int(count[0]), "levels", open_share))
            return 97.0 - 100 * open_share, None

        def to_the_end(self, count: Ints, *_: object, close: float) -> tuple[float, None]:
            asked.append((int(count[0]), "end", close))
            return 100.0 * (1 - open_times * close), None

    nothing: Any = None
    looks: Any = Scripted()
    counts, beside = np.array([[0], [1]]), np.array([80.0, 81.0])
    state = SearchState(Clock(None), cutoff_usd_per_hour=100.0)
    found = _told_by_each(nothing, nothing, looks, counts, beside, NOTHING_KNOWN, state, search)
    levels = [(0, "levels", 0.01), (1, "levels", 0.01), (0, "levels", 0.0), (1, "levels", 0.0)]
    assert asked == [*levels, (0, "end", 0.01), (1, "end", 0.01), *closer]
    assert found.usd_per_hour == pytest.approx(least)


@settings(max_examples=15)
@given(problems("starts", most_candidates=6, several=3), st.data())
def test_levels_of_a_part_may_begin_with_what_is_known_of_the_whole(problem: Problem, data: st.DataObject) -> None:
    problem = sorted_problem(by_day_and_night(problem)).problem
    kind, state = kinds_of_periods(problem), SearchState(Clock(None))
    week = unlinked(problem, kind)
    whole, out = Levels(week), data.draw(st.integers(0, len(week.candidates) - 1))
    part = compacted(week, np.arange(len(week.candidates)) != out)
    if not has_levels(problem) or not whole.solve(state, search) or not serves_all(part.problem):
        return
    again = Levels(part.problem)
    again.begin_with(whole, part.candidates, part.offers)
    cheapest = solve_plainly(part.problem).cost_usd_per_month
    if not again.solve(state, search):
        assert cheapest is None
        return
    assert cheapest is not None
    assert (again.lower >= whole.lower * (1 - 1e-9)).all()
    least = cheapest / HOURS_PER_MONTH
    assert again.hours @ again.lower <= least * (1 + 1e-6)
    assert again.hours @ again.upper >= least * (1 - 1e-6)


def test_levels_that_cost_too_much_are_left_at_that() -> None:
    problem = sorted_problem(by_day_and_night(tiny_problem())).problem
    by_hour = replace(problem.offers, always_paid=np.zeros(len(problem.offers), dtype=np.bool_))
    week = replace(problem, offers=by_hour)
    levels, asked = Levels(unlinked(week, kinds_of_periods(week))), list[float]()

    def too_dear(least: Floats) -> bool:
        asked.append(float(least.sum()))
        return len(asked) > 1

    assert levels.solve(SearchState(Clock(None)), search, too_dear)
    assert len(levels.plans) == 1
    assert asked[1] > asked[0]


def test_levels_that_told_most_beside_something_else_are_solved_first() -> None:
    problem = sorted_problem(by_day_and_night(tiny_problem())).problem
    by_hour = replace(problem.offers, always_paid=np.zeros(len(problem.offers), dtype=np.bool_))
    week = replace(problem, offers=by_hour)
    kind, asked = kinds_of_periods(week), list[float]()
    of_levels = unlinked(week, kind)
    lowest = int(of_levels.traffic.demand_per_s.sum(axis=1).argmin())
    rose = np.where(np.arange(of_levels.traffic.periods) == lowest, 1.0, 0.0)

    def recorded(problem: Problem, *of: Any, **more: Any) -> SearchResult:
        asked.append(float(problem.traffic.demand_per_s.sum()))
        return search(problem, *of, **more)

    levels = Levels(of_levels, rose=rose)
    assert levels.solve(SearchState(Clock(None)), recorded)
    assert asked[0] == pytest.approx(of_levels.traffic.demand_per_s[lowest].sum())
    assert rose[lowest] == pytest.approx(levels.hours @ np.where(levels.within[lowest], levels.lower[lowest], 0.0))


def test_a_number_of_machines_is_gone_on_with_where_more_was_to_be_left_open() -> None:
    problem = sorted_problem(paid_all_month(by_day_and_night(tiny_problem()), np.random.default_rng(0))).problem
    kind, asked = kinds_of_periods(problem), list[int]()
    found = pattern_bound(problem, Clock(None))

    def counted(problem: Problem, *of: Any, **more: Any) -> SearchResult:
        asked.append(1)
        return search(problem, *of, **more)

    def looks() -> Looks:
        return Looks(problem, kind, found, Clock(None))

    count = np.rint(found.counts).astype(np.int64) * problem.offers.always_paid
    whole, plan = looks().by_levels(count, SearchState(Clock(None)), search)
    assert plan is not None
    state, again = SearchState(Clock(None), cutoff_usd_per_hour=1.01 * whole), looks()
    part, none = again.by_levels(count, state, counted, 0.9)
    solved = len(asked)
    assert none is None
    assert part <= whole
    assert again.by_levels(count, state, counted, 0.9) == (part, None)
    assert len(asked) == solved
    closer, same = again.by_levels(count, state, counted)
    assert closer == pytest.approx(whole)
    assert same is not None
    assert same.usd_per_hour == pytest.approx(plan.usd_per_hour)

"""What is known of a week before it is searched is true of it: a bound, a plan, or that there is none."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from support.instances import by_day_and_night, problems, tiny_problem
from support.plain import plain_candidates, plain_offers
from support.promises import keeps_limits

from optimizer.base.arrays import Ints
from optimizer.base.clock import Clock
from optimizer.base.units import HOURS_PER_MONTH
from optimizer.program import outset
from optimizer.program.large.joined_periods import joined_periods
from optimizer.program.large.patterns import pattern_bound
from optimizer.program.large.unlinked import kinds_of_periods, linked_again, unlinked
from optimizer.program.outset import _known_at_peak, _known_without_links, hardly_open
from optimizer.program.problem.data import Limits, steady_traffic
from optimizer.program.problem.problem import Problem, sorted_problem
from optimizer.program.proof.peak import at_peak, peaks_at_once
from optimizer.program.proof.state import NOTHING_KNOWN, Incumbent, Known, SearchState
from optimizer.program.search import search
from optimizer.program.solve import solve_plainly
from optimizer.program.weeks import looks
from optimizer.program.weeks.paid_all_month import told_by_counts
from optimizer.program.weeks.period_programs import first_prices, period_plans


def _week_of_two_days(problem: Problem) -> Problem:
    """The same week with every period in two halves, one after the other, as on two days alike."""
    traffic = problem.traffic
    twice = np.tile(np.arange(traffic.periods), 2)
    halved = traffic.during(twice)
    halved = replace(halved, share_of_month=halved.share_of_month / 2, start_share=halved.start_share / 2)
    hours = problem.billing.hour_to_period
    billing = replace(
        problem.billing, hour_to_period=np.concatenate([hours, hours + traffic.periods * (hours.size > 0)])
    )
    return replace(problem, traffic=halved, billing=billing)


def _optimum(problem: Problem) -> float | None:
    cost = solve_plainly(problem).cost_usd_per_month
    return None if cost is None else cost / HOURS_PER_MONTH


def _is_true_of(known: Known, problem: Problem) -> bool:
    """No plan of the problem is below the bound, and the known one is a plan that costs no less than the cheapest."""
    optimum, plan = _optimum(problem), known.plan
    if optimum is None:
        return plan is None
    kept = plan is None or keeps_limits(problem, plan.replicas[None], plan.instances[None]).all()
    dearer = plan is None or plan.usd_per_hour >= optimum * (1 - 1e-6)
    return bool(known.usd_per_hour <= optimum * (1 + 1e-6) and dearer and kept)


@settings(max_examples=30)
@given(problems("any", "starts", most_candidates=4, several=3))
def test_hours_with_nothing_joining_them_cost_no_more(problem: Problem) -> None:
    problem = sorted_problem(_week_of_two_days(problem)).problem
    kind = kinds_of_periods(problem)
    free = unlinked(problem, kind)
    assert free.traffic.periods == kind.max() + 1 < problem.traffic.periods
    result = search(free, SearchState(Clock(None)))
    if result.incumbent is None:
        assert _optimum(problem) is None
        return
    assert _is_true_of(Known(result.bound.usd_per_hour, linked_again(problem, kind, result.incumbent)), problem)


@settings(max_examples=20)
@given(problems("any", "minimum_billing", most_candidates=3, several=3))
def test_what_least_billed_times_add_is_paid_for(problem: Problem) -> None:
    problem = sorted_problem(problem).problem
    assert _is_true_of(_known_without_links(problem, SearchState(Clock(None))), problem)


@settings(max_examples=20)
@given(problems("any", "starts", most_candidates=5, several=2))
def test_plans_of_single_periods_put_together_keep_what_the_week_asks(problem: Problem) -> None:
    problem = sorted_problem(problem).problem
    assume(problem.traffic.periods > 1 and _optimum(problem) is not None)
    prices = first_prices(problem, pattern_bound(problem, Clock(None)))
    found = period_plans(problem, prices, SearchState(Clock(None)), search)
    assert _is_true_of(Known(found.usd_per_hour, found.joined), problem)


def test_what_is_paid_all_month_counts_beside_what_another_period_runs() -> None:
    problem = sorted_problem(by_day_and_night(tiny_problem())).problem
    offers = replace(problem.offers, always_paid=np.arange(len(problem.offers)) == 0)
    problem = replace(problem, offers=offers)
    other = len(problem.offers) - 1
    plans = []
    for offer in (0, other):
        instances = np.zeros((1, len(problem.offers)), dtype=np.int64)
        instances[0, offer] = 2
        replicas = np.zeros((1, len(problem.candidates)), dtype=np.int64)
        plans.append(Incumbent(instances, replicas, np.zeros(0), 1.0))
    plans = plans[: problem.traffic.periods] + plans[-1:] * (problem.traffic.periods - 2)
    week = joined_periods(problem, plans, np.ones(problem.traffic.periods))
    assert week is not None
    assert (week.instances[:, 0] == 2).all()
    few = int(offers.gpus_per_instance[[0, other]].max()) * 2
    tight = replace(problem, limits=replace(problem.limits, max_gpus=few))
    assert joined_periods(tight, plans, np.ones(problem.traffic.periods)) is None


@settings(max_examples=30)
@given(problems("any", "survive", most_candidates=4, several=3))
def test_the_busiest_moment_rules_out_and_serves(problem: Problem) -> None:
    problem = sorted_problem(problem).problem
    known = _known_at_peak(problem, SearchState(Clock(None)))
    assert _is_true_of(known, problem)
    if known.usd_per_hour == np.inf and not peaks_at_once(problem):
        assert outset._none_for_the_busiest(problem, SearchState(Clock(None)))


def test_the_busiest_moment_is_one_of_the_week_only_where_all_peaks_meet() -> None:
    problem = by_day_and_night(tiny_problem())
    peak = at_peak(problem)
    assert (peak.traffic.demand_per_s == problem.traffic.demand_per_s.max(axis=0)).all()
    demand = problem.traffic.demand_per_s.copy()
    demand[0], demand[1] = demand.min(axis=0) / 2, demand.max(axis=0)
    assert peaks_at_once(replace(problem, traffic=replace(problem.traffic, demand_per_s=demand)))
    if demand.shape[1] > 1:
        demand[0, 0], demand[1, 0] = 2.0 * demand[1, 0], demand[1, 0]
        assert not peaks_at_once(replace(problem, traffic=replace(problem.traffic, demand_per_s=demand)))


@settings(max_examples=6)
@given(problems("any", "periods", most_candidates=3, several=3), st.sampled_from([None, 1, 20, 100]))
def test_every_number_of_machines_paid_all_month_is_a_week(problem: Problem, work_limit: int | None) -> None:
    """What is told is true also where work ends before all numbers were looked at."""
    problem = sorted_problem(_each_after_the_other(problem)).problem
    optimum = _optimum(problem)
    assume(optimum is not None and problem.offers.always_paid.any())
    state = SearchState(Clock(None, work_limit), cutoff_usd_per_hour=1.3 * (optimum or 0.0))
    found = told_by_counts(problem, kinds_of_periods(problem), NOTHING_KNOWN, state, search)
    assert _is_true_of(found, problem)


def _base_all_month_and_peak_by_the_hour() -> Problem:
    """Two days of three requests and one by turns, on machines paid all month and dearer ones paid by the hour."""
    day_and_night = replace(
        steady_traffic(("w/0",), np.array([3.0])),
        demand_per_s=np.array([[3.0], [1.0], [3.0], [1.0]]),
        share_of_month=np.full(4, 0.25),
        start_share=np.zeros((4, 4)),
        least_replicas=np.zeros((4, 1), dtype=np.int64),
    )
    offers = plain_offers([1.0, 1.6], always_paid=np.array([True, False]))
    return _each_after_the_other(Problem(day_and_night, plain_candidates([0, 1], [[1.0], [1.0]]), offers, Limits(1.0)))


def test_a_week_is_told_by_what_is_paid_all_month() -> None:
    """The base on one machine that is paid all month, the day's peak by the hour, and a start of it paid for."""
    problem, known = _base_all_month_and_peak_by_the_hour(), Known(0.0, None)
    state = SearchState(Clock(None), cutoff_usd_per_hour=10.0)
    found = told_by_counts(problem, kinds_of_periods(problem), known, state, search)
    assert found.plan is not None
    # one all month and two more for half of it, each started twice a week
    assert found.plan.instances.tolist() == [[1, 2], [1, 0], [1, 2], [1, 0]]
    assert found.plan.usd_per_hour == pytest.approx(_optimum(problem))
    assert found.usd_per_hour == pytest.approx(found.plan.usd_per_hour, rel=2e-3)


def test_numbers_are_looked_at_no_further_once_a_plan_costs_less_than_was_to_be_known(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whether every plan costs 9 is asked; the first that costs less says no, and what is known of the least stands."""
    problem, asked = _base_all_month_and_peak_by_the_hour(), list[bytes]()
    real = looks.Looks.by_levels

    def recorded(own: looks.Looks, count: Ints, *of: Any, **more: Any) -> tuple[float, Incumbent | None]:
        asked.append(count.tobytes())
        return real(own, count, *of, **more)

    monkeypatch.setattr(looks.Looks, "by_levels", recorded)
    state, kind = SearchState(Clock(None), cutoff_usd_per_hour=10.0), kinds_of_periods(problem)
    to_the_end = told_by_counts(problem, kind, NOTHING_KNOWN, state, search)
    numbers = len(set(asked))
    asked.clear()
    found = told_by_counts(problem, kind, NOTHING_KNOWN, replace(state, enough_usd_per_hour=9.0), search)
    assert len(set(asked)) <= numbers
    assert found.plan is not None
    assert found.plan.usd_per_hour < 9.0
    assert found.usd_per_hour <= to_the_end.usd_per_hour
    assert _is_true_of(found, problem)
    assert state.refuted_by(found.plan) is False
    assert replace(state, enough_usd_per_hour=9.0).refuted_by(found.plan)
    monkeypatch.setattr(outset, "MOST_CELLS_OF_EQUALS", 1)
    for enough, ends in ((9.0, True), (found.plan.usd_per_hour, False)):
        wide = replace(state, enough_usd_per_hour=enough)
        assert outset.hardly_open(problem, replace(found, usd_per_hour=0.0), wide) is ends


def test_what_is_paid_all_month_is_counted_before_all_hours_are_solved_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A box that is owned and bursts to a cloud over a week: all hours at once took the time that its counts needed."""
    problem = _base_all_month_and_peak_by_the_hour()
    monkeypatch.setattr(outset, "MOST_PERIODS", 0)
    monkeypatch.setattr(outset, "MOST_CELLS_OF_EQUALS", 0)
    monkeypatch.setattr(outset, "_known_of_hours", lambda *_: pytest.fail("all hours were solved at once"))
    known = _known_without_links(problem, SearchState(Clock(None), cutoff_usd_per_hour=10.0))
    assert known.plan is not None
    assert known.plan.usd_per_hour == pytest.approx(_optimum(problem))


@pytest.mark.parametrize(
    ("known", "cutoff", "ends"), [(0.0, np.inf, False), (np.inf, np.inf, False), (5.0, 9.0, False), (8.999, 9.0, True)]
)
def test_a_large_week_is_not_searched_where_next_to_nothing_is_open(
    known: float, cutoff: float, ends: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outset, "MOST_CELLS_OF_EQUALS", 1)
    problem = by_day_and_night(tiny_problem())
    state = SearchState(Clock(None), cutoff_usd_per_hour=cutoff)
    for always in (True, False):
        offers = replace(problem.offers, always_paid=np.full(len(problem.offers), always))
        assert outset.hardly_open(replace(problem, offers=offers), Known(known), state) == (ends and always)


@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(problems("any", "minimum_billing", most_candidates=3, several=3), st.booleans())
def test_levels_without_shares_bound_a_week_with_them(
    monkeypatch: pytest.MonkeyPatch, problem: Problem, several: bool
) -> None:
    monkeypatch.setattr(outset, "MOST_STREAMS_TOGETHER", 0)
    offers = replace(problem.offers, always_paid=np.zeros(len(problem.offers), dtype=np.bool_))
    share = 0.5 if several else 0.8
    limits = replace(problem.limits, max_provider_share=share)
    problem = sorted_problem(replace(problem, offers=offers, limits=limits)).problem
    assert _is_true_of(_known_without_links(problem, SearchState(Clock(None))), problem)


@pytest.mark.parametrize(
    ("limits", "proof", "cutoff", "wanted"),
    [
        ({"max_provider_share": 0.5}, False, np.inf, True),
        ({"max_provider_share": 0.5}, False, 9.0, False),
        ({"max_provider_share": 0.5}, True, 9.0, True),
        # levels of demand have plans under it
        ({"min_providers": 2}, True, np.inf, False),
        ({"survive": ("region",)}, True, 9.0, True),
        ({"survive": ("region",)}, False, np.inf, False),
        ({"max_gpus": 8}, True, np.inf, False),
    ],
)
def test_the_busiest_moment_is_planned_where_a_plan_of_the_week_takes_long(
    limits: dict[str, Any], proof: bool, cutoff: float, wanted: bool
) -> None:
    problem = by_day_and_night(tiny_problem())
    offers = replace(problem.offers, always_paid=np.zeros(len(problem.offers), dtype=np.bool_))
    problem = replace(problem, offers=offers, limits=Limits(1.0, **limits))
    assert outset._wants_peak(problem, SearchState(Clock(None), cutoff_usd_per_hour=cutoff, proof=proof)) == wanted


def _each_after_the_other(problem: Problem) -> Problem:
    """The same week whose periods follow one another, a start paid at each change."""
    periods = problem.traffic.periods
    linked = np.roll(np.eye(periods), 1, axis=1) * 0.01
    return replace(problem, traffic=replace(problem.traffic, start_share=linked))


def test_a_steady_problem_of_which_nothing_is_known_is_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    """A large program of machines paid all month: what costs infinitely much was taken for nearly proven."""
    monkeypatch.setattr("optimizer.program.outset.MOST_CELLS_OF_EQUALS", 0)
    problem = sorted_problem(
        Problem(
            traffic=steady_traffic(("w/0",), np.array([4.0])),
            candidates=plain_candidates(range(2), [[1.0]] * 2),
            offers=replace(plain_offers(np.array([1.0, 2.0])), always_paid=np.ones(2, dtype=np.bool_)),
            limits=Limits(1.0),
        )
    ).problem
    assert not hardly_open(problem, NOTHING_KNOWN, SearchState(Clock()))

"""The bound that rounds every hour up to whole instances: no plan undercuts it, whatever is paid all month."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from support.fleets import NO_LIMIT, fleets
from support.instances import by_day_and_night, paid_all_month, problems
from support.plain import plain_candidates, plain_offers

from optimizer.base.arrays import Floats
from optimizer.base.units import HOURS_PER_MONTH
from optimizer.program.large import covering
from optimizer.program.large.covering import Cover, Covers, least_counts, listed_beside, listed_counts
from optimizer.program.large.patterns import pattern_bound
from optimizer.program.problem.data import Limits, steady_traffic
from optimizer.program.problem.problem import Problem, sorted_problem
from optimizer.program.solve import solve_plainly


def _covered(problem: Problem) -> Cover:
    """At the prices of demand of the bound by patterns."""
    price = problem.traffic.share_of_month[:, None] * problem.offers.price_usd_per_hour
    return Cover(problem, pattern_bound(problem, NO_LIMIT).worth, price)


@settings(max_examples=40)
@given(st.one_of(problems("any", most_candidates=4, several=3), fleets()), st.integers(0, 10**6))
def test_no_week_costs_less_than_its_hours_rounded_up(problem: Problem, seed: int) -> None:
    problem = by_day_and_night(problem) if problem.traffic.periods == 1 else problem
    problem = sorted_problem(paid_all_month(problem, np.random.default_rng(seed))).problem
    solution = solve_plainly(problem)
    assume(solution.cost_usd_per_month is not None)
    most = (solution.cost_usd_per_month or 0.0) / HOURS_PER_MONTH * (1 + 1e-9)
    cover, offers = _covered(problem), problem.offers
    count = np.where(offers.always_paid, solution.instances.max(axis=0), 0)
    paid = float(count @ offers.price_usd_per_hour)
    assert cover.beside(count[None], offers.price_usd_per_hour)[0] <= most
    assert least_counts(cover, problem, offers.price_usd_per_hour)[0] <= most
    each = cover.by_period(count)
    assert paid + each.sum() == pytest.approx(cover.beside(count[None], offers.price_usd_per_hour)[0])
    if offers.always_paid.any():
        return
    for period, offer in zip(*np.nonzero(solution.instances), strict=True):
        assert each.sum() - each[period] + cover.with_one(period)[offer] <= most


@settings(max_examples=40)
@given(
    st.lists(st.tuples(st.integers(0, 60), st.integers(1, 9)), min_size=1, max_size=7), st.sampled_from([0.2, np.inf])
)
def test_offers_that_others_replace_are_left_out_of_no_least_cost(
    offers: list[tuple[int, int]], step_usd: float
) -> None:
    """Against every offer at each number of steps."""
    served, price = np.array([offers, offers[::-1]], dtype=np.float64).transpose(2, 0, 1)
    found = covering._filled(served.astype(np.int64), price, np.array([step_usd, step_usd]))
    least = [0.0]
    for step in range(1, 200):
        each = [least[max(step - n, 0)] + usd for n, usd in offers if n]
        least.append(min([*each, least[-1] + step_usd]))
    for row in found:
        assert row[:200].tolist() == pytest.approx(least)


def _served_alone(wanted_per_s: float, rates: list[float], offers: list[float], **scarce: Floats) -> Problem:
    return Problem(
        traffic=steady_traffic(("w/k",), np.array([wanted_per_s])),
        candidates=plain_candidates([*range(len(rates))], [[rate] for rate in rates]),
        offers=plain_offers(offers, **scarce),
        limits=Limits(max_utilization=1.0),
    )


def test_an_hour_is_rounded_up_where_patterns_mix_counts() -> None:
    """Of 2/s at 1.9 USD/h and 5/s at 4 USD/h, 8.9/s: a mixture of two of both costs less than any whole numbers."""
    problem = _served_alone(8.9, [2.0, 5.0], [1.9, 4.0])
    assert pattern_bound(problem, NO_LIMIT).bound.usd_per_hour == pytest.approx(7.8)
    one = _covered(problem).with_one(0)
    # two of the small one beside one large; a large one beside that
    assert one == pytest.approx([7.8, 7.8])
    none = np.zeros((1, 2), dtype=np.int64)
    assert _covered(problem).beside(none, problem.offers.price_usd_per_hour) == pytest.approx([7.8])


def test_a_scarce_offer_serves_no_more_often_than_it_can_be_had() -> None:
    problem = _served_alone(3.0, [1.0, 1.0], [0.1, 1.0], available=np.array([2.0, np.inf]))
    assert _covered(problem).by_period(np.zeros(2, dtype=np.int64)) == pytest.approx([1.2])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(covering, "MOST_SCARCE", 1)
        assert _covered(problem).by_period(np.zeros(2, dtype=np.int64)) == pytest.approx([0.3])


def test_every_number_within_a_cost_is_listed_once() -> None:
    price, available = np.array([2.0, np.inf, 3.0, 0.5]), np.array([np.inf, np.inf, 1.0, 2.0])
    found = listed_counts(price, available, 7.0)
    assert found is not None
    every = [(a, 0, b, c) for a in range(4) for b in range(2) for c in range(3) if 2 * a + 3 * b + 0.5 * c <= 7]
    assert sorted(map(tuple, found.tolist())) == sorted(every)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(covering, "MOST_LISTED", len(every) - 1)
        assert listed_counts(price, available, 7.0) is None


def _all_month_but_the_first(problem: Problem) -> Problem:
    """By day and night, all offers but the first paid all month."""
    by_day = by_day_and_night(problem)
    return replace(by_day, offers=replace(by_day.offers, always_paid=np.arange(len(by_day.offers)) > 0))


@settings(max_examples=40)
@given(
    st.lists(st.tuples(st.integers(1, 6), st.integers(1, 4), st.integers(1, 4)), min_size=2, max_size=4),
    st.integers(0, 3),
    st.floats(1.0, 2.5),
)
def test_numbers_of_offers_that_others_stand_in_for_are_listed_like_all(
    offers: list[tuple[int, int, int]], scarce: int, times: float
) -> None:
    """Against every number within the cost, whatever stands in for what; one that is scarce stands for none."""
    price, by_day, by_night = (np.array(each, dtype=np.float64) for each in zip(*offers, strict=True))
    available = np.where(np.arange(len(price)) == scarce, 2.0, np.inf)
    every_available = np.append(np.inf, available)
    problem = _served_alone(6.0, [1.0, *by_day], [2.0, *price], available=every_available)
    problem = _all_month_but_the_first(problem)
    cover = _covered(problem)
    # prices are those of a period's hours
    hours, price = np.ones(2), np.append(np.inf, price)
    # what one serves differs by night, so that not all stand in for each other in every hour
    cover.share[1, 1:] = cover.share[1, 1:] * by_night / by_day
    every = listed_counts(price, every_available, 8.0)
    assert every is not None
    usd = every @ np.where(np.isfinite(price), price, 0.0) + Covers([cover]).by_period(every) @ hours
    most = min(8.0, times * float(usd.min()))
    found = listed_beside(Covers([cover]), price, every_available, hours, most)
    assert found is not None
    assert sorted(map(tuple, found[0].tolist())) == sorted(map(tuple, every[usd <= most].tolist()))
    assert found[1] == pytest.approx(
        found[0] @ np.where(np.isfinite(price), price, 0.0) + cover.by_period(found[0]) @ hours
    )


def test_too_many_numbers_are_listed_by_those_that_stand_in_for_them() -> None:
    """Of machines with one, two and four of the same GPU 8 are to be had, or the hour is dear."""
    problem = _all_month_but_the_first(_served_alone(8.0, [1.0, 1.0, 2.0, 4.0], [9.0, 0.5, 1.0, 2.0]))
    cover, hours = _covered(problem), np.ones(2)
    price, available = np.array([np.inf, 0.5, 1.0, 2.0]), np.full(4, np.inf)
    least = float(cover.beside(np.array([[0, 8, 0, 0]]), np.array([0.0, 0.5, 1.0, 2.0]))[0])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(covering, "MOST_LISTED", 30)
        assert listed_counts(price, available, least) is None
        found = listed_beside(Covers([cover]), price, available, hours, least)
    assert found is not None
    gpus = found[0] @ np.array([0, 1, 2, 4])
    assert len(found[0]) == 9
    assert set(gpus.tolist()) == {8}


def test_a_week_is_told_by_the_number_paid_all_month_for_which_it_costs_least() -> None:
    """Three by night and five by day: three all month at 0.6 USD/h and two by the hour, a quarter of the time."""
    problem = by_day_and_night(_served_alone(5.0, [1.0, 1.0], [1.0, 0.6]))
    problem = replace(
        problem,
        traffic=replace(problem.traffic, demand_per_s=np.array([[5.0], [3.0]])),
        offers=replace(problem.offers, always_paid=np.array([False, True])),
    )
    least, counts = least_counts(_covered(problem), problem, problem.offers.price_usd_per_hour)
    assert counts.tolist() == [0, 3]
    assert least == pytest.approx(1.8 + 2 * 0.25)
    assert pattern_bound(problem, NO_LIMIT).bound.usd_per_hour == pytest.approx(least)

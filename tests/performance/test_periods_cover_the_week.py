"""Periods: every hour of the week is covered, peaks stay exact, small weeks lose nothing, hours add up to a month."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from optimizer.base.units import HOURS_PER_MONTH, HOURS_PER_WEEK
from optimizer.inputs.scenario.scenario import Scenario
from optimizer.performance.candidates.periods import Periods, _periods_of, periods, starts_in_time

CHAT = {"model": "llama-3.1-8b", "input_tokens": 100, "output_tokens": 50}

levels = st.lists(st.floats(0, 100), min_size=1, max_size=40).filter(lambda rates: max(rates) > 0)
weeks = levels.flatmap(
    lambda rates: st.lists(st.sampled_from([*rates, max(rates)]), min_size=168, max_size=168)
).filter(lambda week: max(week) > 0)


def scenario(*weekly: list[float], max_periods: int = 24, **of_workload: object) -> Scenario:
    workloads = [
        {"name": f"w{k}", **CHAT, "demand": {"weekly_requests_per_second": week}, **of_workload}
        for k, week in enumerate(weekly)
    ]
    return Scenario.model_validate(
        {"name": "s", "workloads": workloads, "policy": {"elastic": {"max_periods": max_periods}}}
    )


def covering(found: Periods) -> np.ndarray:
    return found.demand_requests_per_second[found.hour_to_period]


@settings(max_examples=40)
@given(st.lists(weeks, min_size=1, max_size=3), st.integers(1, 30))
def test_every_hour_is_covered_and_every_peak_is_exact(weekly: list[list[float]], most: int) -> None:
    found, week = periods(scenario(*weekly, max_periods=most)), np.array(weekly).T
    different = len(np.unique(week, axis=0))
    assert found.count <= min(most, different)
    assert (covering(found) >= week).all()
    assert found.demand_requests_per_second.max(axis=0) == pytest.approx(week.max(axis=0), rel=0)
    assert found.hours_per_month.sum() == pytest.approx(HOURS_PER_MONTH)
    assert np.bincount(found.hour_to_period) * HOURS_PER_MONTH / HOURS_PER_WEEK == pytest.approx(found.hours_per_month)
    assert found.added_share == pytest.approx(covering(found).sum(axis=0) / week.sum(axis=0) - 1)
    if different <= most:
        assert (covering(found) == week).all()
        assert found.added_share == pytest.approx(0, abs=1e-12)


def test_a_week_that_was_asked_before_is_grouped_as_if_it_were_the_first() -> None:
    day, night = [1.0] * 84 + [5.0] * 84, [4.0] * 42 + [1.0] * 84 + [2.0] * 42
    asked = [scenario(day, night), scenario(night, day), scenario(day), scenario(day, night, max_periods=2)]
    known = [periods(each).hour_to_period for each in asked]
    _periods_of.cache_clear()
    anew = [periods(each).hour_to_period for each in reversed(asked)][::-1]
    assert all(map(np.array_equal, known, anew))
    assert [each.max() + 1 for each in known] == [4, 4, 2, 2]
    with pytest.raises(ValueError, match="read-only"):
        known[0][0] = 1


@settings(max_examples=40)
@given(weeks, st.integers(1, 12))
def test_whatever_starts_a_period_ends_it_again(week: list[float], most: int) -> None:
    found = periods(scenario(week, max_periods=most))
    hours = found.hour_to_period.tolist()
    changes = sum(one != next_one for one, next_one in pairwise([*hours, hours[0]]))
    assert found.transitions_per_month.sum() == pytest.approx(changes * HOURS_PER_MONTH / HOURS_PER_WEEK)
    assert found.transitions_per_month.sum(axis=0) == pytest.approx(found.transitions_per_month.sum(axis=1))
    assert (np.diag(found.transitions_per_month) == 0).all()


def test_periods_are_numbered_by_their_first_hour() -> None:
    found = periods(scenario([5.0, 5.0, 1.0] + [3.0] * 165))
    assert found.hour_to_period[:4].tolist() == [0, 0, 1, 2]
    assert found.demand_requests_per_second[:, 0].tolist() == [5, 1, 3]
    assert found.transitions_per_month[2, 0] == pytest.approx(HOURS_PER_MONTH / HOURS_PER_WEEK)


def test_without_a_profile_there_is_one_period() -> None:
    constant = {"name": "w", **CHAT, "requests_per_second": 3}
    found = periods(Scenario.model_validate({"name": "s", "workloads": [constant, constant | {"name": "v"}]}))
    assert found.hours_per_month.tolist() == [HOURS_PER_MONTH]
    assert found.demand_requests_per_second.tolist() == [[3, 3]]
    assert found.transitions_per_month.tolist() == [[0]]


def test_more_periods_add_less_demand() -> None:
    week = [50 + 40 * np.sin(hour / 24 * 2 * np.pi) + hour / 10 for hour in range(168)]
    added = [periods(scenario(week, max_periods=most)).added_share[0] for most in (1, 4, 24, 168)]
    assert added == sorted(added, reverse=True)
    assert added[2] < 0.03
    assert added[3] == pytest.approx(0)


def test_rounding_does_not_lift_the_highest_hour_of_all_workloads_together() -> None:
    day = [50 + 40 * np.sin(hour / 24 * 2 * np.pi) + (hour * 7 % 11) for hour in range(168)]
    night = [50 - 40 * np.sin(hour / 24 * 2 * np.pi) + (hour * 5 % 13) for hour in range(168)]
    found, week = periods(scenario(day, night)), np.array([day, night])
    assert found.demand_requests_per_second.sum(axis=1).max() <= 1.01 * week.sum(axis=0).max()
    assert found.added_share.max() < 0.15


def test_the_two_nearest_levels_are_joined_first() -> None:
    found = periods(scenario([10.0] * 80 + [9.5] * 8 + [1.0] * 80, max_periods=2))
    assert found.demand_requests_per_second[:, 0].tolist() == [10, 1]
    assert found.hours_per_month[1] == pytest.approx(80 * HOURS_PER_MONTH / HOURS_PER_WEEK)


@pytest.mark.parametrize(("ttft_ms", "warm"), [(500, 1), (600_000, 0), (None, 0)])
def test_a_replica_stays_warm_where_starting_one_takes_too_long(ttft_ms: float | None, warm: int) -> None:
    nights_off = ([0.0] * 8 + [4.0] * 16) * 7
    asked = scenario(nights_off, slo={"ttft_ms": ttft_ms})
    assert starts_in_time(asked.workloads[0], 10) == (not warm)
    assert periods(asked).min_replicas.tolist() == [[warm], [0]]


def test_the_floor_holds_in_every_period() -> None:
    nights_off = ([0.0] * 8 + [4.0] * 16) * 7
    assert periods(scenario(nights_off, min_replicas=2)).min_replicas.tolist() == [[2], [2]]


@settings(max_examples=40)
@given(weeks, weeks, st.integers(1, 30), st.floats(1e-3, 1e3), st.floats(1e-3, 1e3), st.booleans())
def test_a_profile_times_any_factor_is_grouped_alike(
    one: list[float], other: list[float], most: int, factor: float, other_factor: float, dear: bool
) -> None:
    # values of few digits, as people write them, tie often; those below them are not scaled within rounding
    first, second = [round(rate, 1) + 1 for rate in one], [round(rate, 1) + 1 for rate in other]
    scaled = [rate * factor for rate in first], [rate * other_factor for rate in second]
    minutes = 90 if dear else 10
    written = hours_of(first, second, max_periods=most, start_up_minutes=minutes)
    assert hours_of(*scaled, max_periods=most, start_up_minutes=minutes) == written


def test_equal_steps_are_joined_alike_at_every_scale() -> None:
    """Every two levels next to each other are as dear to join as any other two."""
    week = [float(1 + hour % 12) for hour in range(168)]
    groupings = {tuple(hours_of([rate * k / 100 for rate in week], max_periods=7)) for k in range(1, 101)}
    assert len(groupings) == 1


def hours_of(*weekly: list[float], **elastic: float) -> list[int]:
    return periods(elastic_scenario(*weekly, **elastic)).hour_to_period.tolist()


def elastic_scenario(*weekly: list[float], **elastic: float) -> Scenario:
    asked = scenario(*weekly)
    return Scenario.model_validate(asked.model_dump() | {"policy": {"elastic": elastic}})


DIPS = [1.0] * 8 + [4.0] * 4 + [2.0] * 1 + [4.0] * 5 + [1.0] * 6


@pytest.mark.parametrize("elastic", [{"start_up_minutes": 60}, {"minimum_billing_hours": 1}])
def test_hours_of_equal_demand_are_one_period_where_idling_never_pays(elastic: dict[str, float]) -> None:
    assert periods(elastic_scenario(DIPS * 7, **elastic)).count == 3


@pytest.mark.parametrize("elastic", [{"start_up_minutes": 61}, {"minimum_billing_hours": {"aws": 2}}])
def test_a_run_of_equal_hours_is_a_period_where_idling_can_pay(elastic: dict[str, float]) -> None:
    day, night = [0] * 8 + [1] * 4 + [2] + [3] * 5, [0] * 6
    assert hours_of(DIPS * 7, **elastic) == (day + night) * 7
    every_run = periods(elastic_scenario(DIPS * 7, max_periods=28, **elastic))
    assert every_run.count == 28
    assert every_run.hour_to_period[-6:].tolist() == night
    assert (every_run.added_share == 0).all()


def test_runs_are_told_apart_by_their_neighbours_as_far_as_there_is_room() -> None:
    """Of the days of a working week with a short dip, the first and the last differ from those between."""
    week = DIPS * 5 + [1.0] * 48
    counts = {most: len({*hours_of(week, max_periods=most, start_up_minutes=90)}) for most in (3, 5, 6, 7, 11, 20)}
    assert counts == {3: 3, 5: 5, 6: 6, 7: 7, 11: 11, 20: 20}
    hours = hours_of(week, max_periods=7, start_up_minutes=90)
    assert hours[24:48] == hours[48:72] == hours[72:96]
    assert hours[8] != hours[32]
    assert hours[4 * 24 + 17] != hours[3 * 24 + 17]


@settings(max_examples=40)
@given(weeks, st.integers(1, 30))
def test_runs_add_no_more_demand_than_equal_hours_do(week: list[float], most: int) -> None:
    equal = periods(elastic_scenario(week, max_periods=most))
    runs = periods(elastic_scenario(week, max_periods=most, start_up_minutes=90))
    assert equal.count <= runs.count <= most
    assert runs.added_share == pytest.approx(equal.added_share)
    assert len({*zip(equal.hour_to_period.tolist(), runs.hour_to_period.tolist(), strict=True)}) == runs.count

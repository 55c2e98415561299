"""Starts inside the bound hold for every plan, and plans found window by window keep every promise."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from support.fleets import NO_LIMIT, STEADY, fleets
from support.plain import plain_candidates, plain_offers

from optimizer.base.units import HOURS_PER_MONTH
from optimizer.program.formulation.model import build_program, hourly_cost
from optimizer.program.large.patterns import PatternBound, pattern_bound
from optimizer.program.large.restriction import with_one_group
from optimizer.program.large.start_costs import bound_over_the_week
from optimizer.program.problem.data import Limits, steady_traffic
from optimizer.program.problem.problem import Problem, compacted, sorted_problem
from optimizer.program.solve import solve_plainly
from optimizer.program.weeks.rolling_horizon import counted_by_period, planned_by_windows


def _dear_starts(problem: Problem, share: float) -> Problem:
    """Each change of periods costs a start of that share of the month; four periods where there were two."""
    traffic, periods = problem.traffic, 2 * problem.traffic.periods
    following = np.roll(np.eye(periods), 1, axis=1) * (periods > 1)
    demand = np.concatenate([traffic.demand_per_s, 0.4 * traffic.demand_per_s])
    return sorted_problem(
        replace(
            problem,
            traffic=replace(
                traffic,
                demand_per_s=demand,
                share_of_month=np.full(periods, 1 / periods),
                start_share=share * following,
                least_replicas=np.zeros((periods, 1), dtype=np.int64),
            ),
        )
    ).problem


def _week(problem: Problem) -> PatternBound:
    week = bound_over_the_week(problem, pattern_bound(problem, NO_LIMIT), NO_LIMIT)
    assert week.instances is not None
    return week


@STEADY
@given(fleets(), st.sampled_from([0.01, 0.3, 2.0]))
def test_no_plan_costs_less_than_the_bound_with_starts(problem: Problem, share: float) -> None:
    problem = _dear_starts(problem, share)
    solution = solve_plainly(problem)
    assume(solution.cost_usd_per_month is not None)
    cost = (solution.cost_usd_per_month or 0.0) / HOURS_PER_MONTH
    bound = _week(problem).bound
    assert bound.usd_per_hour <= cost * (1 + 1e-9)
    used = (solution.replicas > 0).any(axis=0)
    assert (bound.with_candidate_usd_per_hour[used] <= cost * (1 + 1e-9)).all()


@STEADY
@given(fleets())
def test_a_plan_by_windows_keeps_every_promise(problem: Problem) -> None:
    problem = _dear_starts(problem, 0.05)
    every = np.ones(len(problem.candidates), dtype=np.bool_)
    problem = with_one_group(compacted(problem, every), np.arange(len(every)).astype(float)).problem
    best = solve_plainly(problem).cost_usd_per_month
    assume(best is not None)
    assert counted_by_period(problem)
    estimate = _week(problem).instances
    assert estimate is not None
    answer = planned_by_windows(problem, estimate, NO_LIMIT, 0.0)
    if answer is None:
        assert problem.limits.max_gpus is not None
        return
    program = build_program(problem)
    for rows in program.families.values():
        left = np.zeros(len(rows.names))
        np.add.at(left, rows.row, rows.value * answer.values[rows.column])
        assert (left >= rows.lower - 1e-6).all()
        assert (left <= rows.upper + 1e-6).all()
    assert float(hourly_cost(program) @ answer.values) >= (best or 0.0) / HOURS_PER_MONTH * (1 - 1e-9)


def test_starts_lift_the_bound() -> None:
    """One machine is wanted half of the time, and each start costs as much as the other half."""
    problem = Problem(
        traffic=steady_traffic(("w/k",), np.ones(1)),
        candidates=plain_candidates([0], [[1.0]]),
        offers=plain_offers([1.0]),
        limits=Limits(max_utilization=1.0),
    )
    traffic = replace(
        problem.traffic,
        demand_per_s=np.array([[1.0], [0.0]]),
        share_of_month=np.full(2, 0.5),
        start_share=np.array([[0.0, 0.5], [0.5, 0.0]]),
        least_replicas=np.zeros((2, 1), dtype=np.int64),
    )
    problem = replace(problem, traffic=traffic)
    assert pattern_bound(problem, NO_LIMIT).bound.usd_per_hour == pytest.approx(0.5)
    assert _week(problem).bound.usd_per_hour == pytest.approx(1.0)

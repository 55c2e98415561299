"""What is known of a week before it is searched is true of it: a bound, a plan, or that there is none."""

from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from support.instances import by_day_and_night, problems, tiny_problem

from optimizer.base.clock import Clock
from optimizer.base.units import HOURS_PER_MONTH
from optimizer.program.large.unlinked import kinds_of_periods, linked_again, unlinked
from optimizer.program.outset import _known_at_peak, _known_without_links
from optimizer.program.problem.problem import Problem, sorted_problem
from optimizer.program.proof.peak import at_peak, peaks_at_once
from optimizer.program.proof.state import Known, SearchState
from optimizer.program.search import search
from optimizer.program.solve import solve_plainly


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


def _is_true_of(known: Known, optimum: float | None) -> bool:
    if optimum is None:
        return known.plan is None
    dearer = known.plan is None or known.plan.usd_per_hour >= optimum * (1 - 1e-6)
    return known.usd_per_hour <= optimum * (1 + 1e-6) and dearer


@settings(max_examples=30)
@given(problems("any", "starts", most_candidates=4, several=3))
def test_hours_with_nothing_joining_them_cost_no_more(problem: Problem) -> None:
    problem = sorted_problem(_week_of_two_days(problem)).problem
    kind = kinds_of_periods(problem)
    free = unlinked(problem, kind)
    assert free.traffic.periods == kind.max() + 1 < problem.traffic.periods
    result, optimum = search(free, SearchState(Clock(None))), _optimum(problem)
    if result.incumbent is None:
        assert optimum is None
        return
    assert _is_true_of(Known(result.bound.usd_per_hour, linked_again(problem, kind, result.incumbent)), optimum)


@settings(max_examples=20)
@given(problems("any", "minimum_billing", most_candidates=3, several=3))
def test_what_least_billed_times_add_is_paid_for(problem: Problem) -> None:
    problem = sorted_problem(problem).problem
    assert _is_true_of(_known_without_links(problem, SearchState(Clock(None))), _optimum(problem))


@settings(max_examples=30)
@given(problems("any", "survive", most_candidates=4, several=3))
def test_the_busiest_moment_rules_out_and_serves(problem: Problem) -> None:
    problem = sorted_problem(problem).problem
    known, optimum = _known_at_peak(problem, SearchState(Clock(None))), _optimum(problem)
    assert _is_true_of(known, optimum)
    if known.usd_per_hour == np.inf:
        assert peaks_at_once(problem)


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

"""A week is planned for every hour of it: few periods steer the search, never the answer."""

import math
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from support.paths import ROOT
from support.scenarios import proven, with_policy

from optimizer import load_scenario
from optimizer.answers.planning.optimize import verified
from optimizer.base.clock import Clock
from optimizer.base.units import HOURS_PER_MONTH, HOURS_PER_WEEK, SECONDS_PER_HOUR
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.scenario.scenario import Scenario
from optimizer.performance.candidates.periods import exact_hours, grouped, periods, weekly_requests_per_second
from optimizer.plan.question import inquiry as question
from optimizer.plan.question.inquiry import Inquiry
from optimizer.plan.question.solving import solved_for_least_cost
from optimizer.plan.readback.readback import read_back
from optimizer.program.formulation.model import build_program, hourly_cost, model_proto
from optimizer.program.problem.formulate import formulate
from optimizer.program.problem.problem import Problem
from optimizer.program.solve import Solution, solve
from optimizer.program.solver import HIGHS, SCIP, solve_integer

CHAT: dict[str, Any] = {
    "name": "chat", "model": "llama-3.1-8b", "input_tokens": 900, "output_tokens": 250,
    "slo": {"ttft_ms": 4000, "tpot_ms": 60}, "min_quality": 0.99,
}  # fmt: skip
ONE_PLACE: dict[str, Any] = {
    "providers": {"allow": ["aws"]}, "regions": {"allow": ["us-east-1"]}, "gpus": {"allow": ["l4", "l40s"]},
    "engines": ["vllm"],
}  # fmt: skip
DAY = [1.0] * 6 + [2.0, 4.0] + [6.0] * 4 + [5.0] + [6.0] * 4 + [4.0, 2.0] + [1.0] * 5


def noisy(seed: int, step: float = 0.25, **elastic: float) -> Scenario:
    """A week of hours that are all different but for the step that they are rounded to."""
    week = np.tile(DAY, 7) * np.exp(np.random.default_rng(seed).normal(0, 0.15, HOURS_PER_WEEK))
    demand = {"weekly_requests_per_second": (np.rint(week / step) * step).tolist()}
    policy = ONE_PLACE | {"elastic": elastic}
    return Scenario.model_validate({"name": "noisy", "workloads": [CHAT | {"demand": demand}], "policy": policy})


def of_every_hour(scenario: Scenario, catalogs: Catalogs) -> float:
    """The least cost of a program in which each hour of the week is a period."""
    whole = replace(Inquiry.of(scenario, catalogs), hour_to_period=np.arange(HOURS_PER_WEEK), any_of_equals=True)
    solution = solved_for_least_cost(whole).solution
    assert solution.outcome == "optimal"
    return solution.cost_usd_per_month or math.inf


def of_each_hour_alone(scenario: Scenario, catalogs: Catalogs) -> float:
    """The same where nothing links hours: what each would cost by itself, without any week."""
    (workload,), whole = scenario.workloads, Inquiry.of(scenario, catalogs)
    weekly = weekly_requests_per_second(workload)
    cost_usd = {}
    for rate in sorted(set(weekly)):
        steady = workload.model_copy(update={"demand": None, "requests_per_second": rate})
        alone = solved_for_least_cost(whole.changed(scenario.model_copy(update={"workloads": (steady,)})))
        cost_usd[rate] = alone.solution.cost_usd_per_month or math.inf
    return sum(cost_usd[rate] for rate in weekly) / HOURS_PER_WEEK


def of_few_periods(scenario: Scenario, catalogs: Catalogs) -> float:
    """The least cost in the first week alone."""
    few = replace(Inquiry.of(scenario, catalogs), hour_to_period=periods(scenario).hour_to_period)
    return solved_for_least_cost(few).solution.cost_usd_per_month or math.inf


@pytest.mark.parametrize(("seed", "most"), [(0, 3), (1, 6)])
def test_few_periods_cost_no_more_than_every_hour(seed: int, most: int, catalogs: Catalogs) -> None:
    scenario = noisy(seed, max_periods=most, start_up_minutes=0)
    planned = float(proven(Inquiry.of(scenario, catalogs)).monthly_cost_usd)
    assert planned < of_few_periods(scenario, catalogs) * (1 - 1e-3)
    assert math.isclose(planned, of_each_hour_alone(scenario, catalogs), rel_tol=1e-8)


def test_no_budget_that_a_plan_of_every_hour_meets_is_called_too_small(catalogs: Catalogs) -> None:
    scenario = noisy(2, max_periods=3, start_up_minutes=0)
    cost_usd = float(proven(Inquiry.of(scenario, catalogs)).monthly_cost_usd)
    assert cost_usd < of_few_periods(scenario, catalogs) - 2
    just_enough = with_policy(scenario, max_monthly_usd=math.ceil(cost_usd))
    assert float(proven(Inquiry.of(just_enough, catalogs)).monthly_cost_usd) <= math.ceil(cost_usd)
    too_small = with_policy(scenario, max_monthly_usd=math.floor(0.95 * cost_usd))
    assert solved_for_least_cost(Inquiry.of(too_small, catalogs)).solution.outcome == "infeasible"


def test_a_search_that_ends_early_shows_the_plan_of_few_periods_with_a_bound_of_all(
    catalogs: Catalogs, monkeypatch: pytest.MonkeyPatch
) -> None:
    scenario = noisy(0, max_periods=3, start_up_minutes=0)
    proven_usd = float(proven(Inquiry.of(scenario, catalogs)).monthly_cost_usd)

    def ends_early(problem: Problem, *args: Any, **kwargs: Any) -> Solution:
        """Without a node for many periods."""
        return solve(problem, *args, **kwargs | {"node_limit": 0 if problem.traffic.periods > 3 else None})

    monkeypatch.setattr(question, "solve", ends_early)
    answer = solved_for_least_cost(Inquiry.of(scenario, catalogs))
    assert answer.solution.outcome == "feasible"
    bound_usd = answer.solution.bound_usd_per_month or 0.0
    assert 0 < bound_usd <= proven_usd * (1 + 1e-9)
    assert verified(answer.inquiry, read_back(answer)).passed


@pytest.mark.parametrize("most", [1, 4, 168])
def test_hosted_apis_are_paid_for_what_is_asked(most: int, catalogs: Catalogs) -> None:
    """However far the demand of a period's hours is rounded up, and whatever demand the plan must be robust against."""
    shipped = load_scenario("api-at-night")
    elastic = {"max_periods": most}
    by_api = with_policy(shipped, hosting=["serverless"], elastic=elastic, robust={"demand": 1.5})
    asked = sum(by_api.workloads[0].demand.weekly()) * SECONDS_PER_HOUR * HOURS_PER_MONTH / HOURS_PER_WEEK
    few = replace(Inquiry.of(by_api, catalogs), hour_to_period=periods(by_api).hour_to_period)
    answer = solved_for_least_cost(few)
    fleet = read_back(answer)
    assert verified(few, fleet).passed
    (item,) = fleet.hosted
    assert math.isclose(item.requests_per_month, asked, rel_tol=1e-9)
    assert fleet.monthly_cost_usd == item.monthly_cost_usd
    assert math.isclose(answer.solution.cost_usd_per_month, float(item.monthly_cost_usd), rel_tol=1e-9)
    assert math.isclose(item.monthly_cost_usd, item.usd_per_request * Decimal(repr(asked)), rel_tol=1e-9)


def test_variations_of_a_plan_are_never_dearer_for_telling_fewer_hours_apart(catalogs: Catalogs) -> None:
    scenario = noisy(1, max_periods=3, start_up_minutes=0)
    answer = solved_for_least_cost(Inquiry.of(scenario, catalogs))
    again = solved_for_least_cost(answer.inquiry.changed(with_policy(scenario, max_gpus=1000)))
    assert math.isclose(again.solution.cost_usd_per_month, answer.solution.cost_usd_per_month, rel_tol=1e-9)


def test_a_plan_of_many_different_hours_is_shown_in_as_many_periods_as_it_runs_differently(catalogs: Catalogs) -> None:
    fleet = proven(Inquiry.of(noisy(0, max_periods=3, start_up_minutes=0), catalogs))
    counts = {tuple(item.schedule[t].instances for item in fleet.purchases) for t in range(len(fleet.periods))}
    assert len(counts) == len(fleet.periods) < 24


def test_exactness_is_claimed_of_periods_that_lose_no_plan_alone() -> None:
    week = [3.0, 3.0, 1.0, 1.0, 3.0, 3.0] * 28

    def asked(**policy: Any) -> Scenario:
        workload = CHAT | {"demand": {"weekly_requests_per_second": week}}
        return Scenario.model_validate({"name": "s", "workloads": [workload], "policy": policy})

    unlinked, started = asked(elastic={"start_up_minutes": 0}), asked()
    billed = asked(elastic={"start_up_minutes": 0, "minimum_billing_hours": 6})
    limited = asked(max_carbon_kg_per_month=100, grid={"g_co2_per_kwh": 100, "pue": 1.2})
    counts = [int(exact_hours(scenario).max()) + 1 for scenario in (unlinked, started, billed, limited)]
    assert counts == [2, 56, HOURS_PER_WEEK, HOURS_PER_WEEK]
    two = exact_hours(unlinked)
    assert [grouped(scenario, two).exact for scenario in (unlinked, started)] == [True, False]
    assert grouped(started, np.arange(HOURS_PER_WEEK)).exact


@pytest.mark.skipif(not (ROOT / "benchmarks").is_dir(), reason="the benchmarks stand in the checkout")
def test_both_solvers_agree_on_a_week_that_one_of_them_got_wrong(
    script: Callable[[str], ModuleType], catalogs: Catalogs
) -> None:
    """With its dual reductions SCIP called a plan of $728.74 optimal here."""
    scenario = script("weeks").week(0)
    whole = Inquiry.of(scenario, catalogs)
    week = grouped(scenario, exact_hours(scenario))
    program = build_program(formulate(scenario, whole.options, whole.market, week=week).problem)
    cost = hourly_cost(program)
    results = [solve_integer(model_proto(program, cost), Clock(), solver) for solver in (SCIP, HIGHS)]
    found_usd = [float(cost @ result.values) * HOURS_PER_MONTH for result in results]
    assert math.isclose(*found_usd, rel_tol=1e-6)


@pytest.mark.slow("proves programs of 168 periods with starts and least billed times")
@pytest.mark.parametrize(
    ("seed", "elastic"),
    [
        (3, {"start_up_minutes": 10}),
        (4, {"start_up_minutes": 60}),
        (7, {"start_up_minutes": 30, "minimum_billing_hours": 3}),
    ],
)
def test_few_periods_cost_no_more_than_every_hour_where_hours_are_linked(
    seed: int, elastic: dict[str, float], catalogs: Catalogs
) -> None:
    scenario = with_policy(noisy(seed, 0.001, max_periods=5, **elastic), gpus={"allow": ["l4"]})
    planned = float(proven(Inquiry.of(scenario, catalogs)).monthly_cost_usd)
    assert math.isclose(planned, of_every_hour(scenario, catalogs), rel_tol=1e-8)
    assert planned < of_few_periods(scenario, catalogs)

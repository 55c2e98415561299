"""Hours in which nothing is asked: a replica stays warm, unless a start is in time or a hosted API answers."""

from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any

import numpy as np
import pytest
from support.brute_force import cheapest_by_enumeration
from support.scenarios import proven

from optimizer.base.clock import Clock
from optimizer.base.units import HOURS_PER_MONTH
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.scenario.scenario import Scenario
from optimizer.plan.grounds.on_call import called_at_no_demand
from optimizer.plan.question.inquiry import Inquiry
from optimizer.program.formulation.model import build_program, hourly_cost, model_proto
from optimizer.program.problem.problem import compacted, sorted_problem
from optimizer.program.proof.state import incumbent_of
from optimizer.program.solve import solve
from optimizer.program.solver import integer_solver, solve_integer

HOSTED, NOT_HOSTED = "llama-3.1-8b", "granite-3.1-8b"
CARDS = {"gpus": {"allow": ["a100-80-sxm"]}, "engines": ["vllm"], "max_tensor_parallel": 4}
WAYS = (["rented"], ["serverless"], ["rented", "serverless"])
NIGHTS_OFF = [0] * 8 + [1] * 16
LENGTHS = {"input_tokens": 1000, "output_tokens": 200}


@pytest.fixture(scope="module")
def few(market_of: Callable[..., Catalogs]) -> Catalogs:
    return market_of("lambda", "nebius", "verda")


def by_day(hosting: list[str], *workloads: dict[str, Any], **policy: Any) -> Scenario:
    """Workloads that are asked nothing in a third of the hours, unless they say otherwise."""
    demand = {"hourly": NIGHTS_OFF, "peak_requests_per_second": 1}
    asked = [
        {"name": f"w{number}", "demand": demand, "slo": {"ttft_ms": 1000}, **LENGTHS, **each}
        for number, each in enumerate(workloads)
    ]
    return Scenario.model_validate({"name": "s", "workloads": asked, "policy": CARDS | {"hosting": hosting} | policy})


def drawn(random: Random) -> Scenario:
    """One workload or two, of a model that somebody hosts or nobody does, kept warm for one reason or another."""
    hosting = random.choice(WAYS)
    workloads: list[dict[str, Any]] = [
        {
            "model": random.choice((HOSTED, HOSTED, NOT_HOSTED)) if "rented" in hosting else HOSTED,
            "min_replicas": random.choice((0, 0, 0, 1)),
            "slo": {"ttft_ms": random.choice((2000, 2000, 900_000))},
            "demand": {
                "hourly": random.choice((NIGHTS_OFF, [1] * 24)),
                "peak_requests_per_second": random.choice((0.1, 1, 8)),
            },
        }
        for _ in range(random.randint(1, 2))
    ]
    return by_day(hosting, *workloads, elastic={"max_periods": 2})


def floors(scenario: Scenario, hosted: set[str]) -> list[list[int]]:
    """By workload the replicas that run whatever is asked, in hours that ask nothing and in others."""
    found = []
    for workload in scenario.workloads:
        in_time = workload.slo.ttft_ms is not None and workload.slo.ttft_ms.limits_ms()["p95"] > 600_000
        by_api = "serverless" in scenario.policy.hosting and workload.model in hosted
        found.append([max(workload.min_replicas, not (in_time or by_api)), workload.min_replicas])
    return found


@pytest.mark.parametrize("seed", range(24))
def test_the_cheapest_plan_is_that_of_enumeration_whoever_answers_at_night(seed: int, few: Catalogs) -> None:
    scenario = drawn(Random(seed))
    inquiry = Inquiry.of(scenario, few)
    # enumeration goes through few: of each workload the fastest configuration, on the offers that it fits
    rates = [choice.pools[0].rate_per_s for choice in inquiry.options]
    problem = inquiry.formulated([np.arange(len(rate)) == np.nanargmax(rate) for rate in rates]).problem
    asked = np.array([problem.traffic.demand_per_s[:, k] for k in range(len(scenario.workloads))])
    expected = np.array(floors(scenario, {HOSTED}))
    least = np.where(asked == 0, expected[:, :1], expected[:, 1:]).T
    own = replace(problem, traffic=replace(problem.traffic, least_replicas=least))
    usd_per_hour, solution = cheapest_by_enumeration(own), solve(problem)
    assert usd_per_hour is None or not np.isnan(usd_per_hour)
    assert (solution.outcome == "infeasible") == (usd_per_hour is None)
    if usd_per_hour is not None:
        assert solution.cost_usd_per_month == pytest.approx(usd_per_hour * HOURS_PER_MONTH, rel=1e-7)


def test_a_plan_of_apis_alone_keeps_nothing_warm(few: Catalogs) -> None:
    alone, beside = (proven(Inquiry.of(by_day(hosting, {"model": HOSTED}), few)) for hosting in (WAYS[1], WAYS[2]))
    assert not alone.deployments
    assert len(alone.hosted) == 1
    assert (beside.hosted, beside.deployments) == (alone.hosted, ())


def test_what_comes_at_night_of_a_plan_by_day_is_said_to_go_to_an_api(few: Catalogs) -> None:
    demand = {"hourly": NIGHTS_OFF, "peak_requests_per_second": 8}
    spot = {"pricing_terms": ["spot"], "elastic": {"max_periods": 2}}
    scenario = by_day(WAYS[2], {"model": HOSTED, "demand": demand}, **spot)
    bought = proven(Inquiry.of(scenario, few))
    assert not bought.hosted
    (said,) = called_at_no_demand(scenario, few, bought)
    assert "nothing runs in 56 hours of the week in which nothing is asked" in said
    rented = by_day(WAYS[0], {"model": HOSTED, "demand": demand}, **spot)
    warm = proven(Inquiry.of(rented, few))
    assert not list(called_at_no_demand(rented, few, warm))
    assert warm.monthly_cost_usd > bought.monthly_cost_usd
    kept_warm = by_day(WAYS[2], {"model": HOSTED, "demand": demand, "min_replicas": 1}, **spot)
    assert proven(Inquiry.of(kept_warm, few)).monthly_cost_usd == warm.monthly_cost_usd


def test_what_a_solver_sends_an_api_by_rounding_is_sent_nowhere(few: Catalogs) -> None:
    formulated = Inquiry.of(by_day(WAYS[1], {"model": HOSTED}), few).formulated()
    problem = sorted_problem(formulated.problem).problem
    part = compacted(problem, np.ones(len(problem.candidates), dtype=np.bool_))
    program = build_program(part.problem)
    result = solve_integer(model_proto(program, hourly_cost(program)), Clock(), integer_solver(1))
    plan = incumbent_of(result, program, part, problem)
    assert plan is not None
    values, sent = result.values.copy(), program.variables.bought
    assert len(sent) > 1
    values[sent] += 2.85e-9
    rounded = incumbent_of(replace(result, values=values), program, part, problem)
    assert rounded is not None
    assert np.count_nonzero(rounded.api_flow_per_s) == np.count_nonzero(plan.api_flow_per_s) == 1

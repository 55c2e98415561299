"""The estimates told are those with the most money at stake, and the benchmark would settle the largest of them."""

import re
from collections.abc import Callable
from decimal import Decimal

import numpy as np
import pytest
from support.scenarios import with_policy

from optimizer import load_scenario
from optimizer.answers.planning.until_it_holds import held_answer
from optimizer.inputs.catalog.records import Catalogs
from optimizer.plan.explain.alternatives import next_best
from optimizer.plan.explain.comparing import compared
from optimizer.plan.grounds.exposure import exposure
from optimizer.plan.question.inquiry import Answer, Inquiry
from optimizer.plan.question.solving import solved
from optimizer.plan.readback.readback import read_back
from optimizer.plan.record.explanation import Exposure
from optimizer.plan.record.fleet import PlannedFleet


@pytest.fixture(scope="module")
def asked(market_of: Callable[..., Catalogs]) -> Inquiry:
    """Of a seller whose cheapest cards nobody measured in the precision that costs least; dearer ones somebody did."""
    scenario = with_policy(load_scenario("chat-70b"), unmeasured_performance="accept")
    (assistant,) = scenario.workloads
    slower = assistant.model_copy(update={"requests_per_second": 3.0})
    return Inquiry.of(scenario.model_copy(update={"workloads": (slower,)}), market_of("crusoe"))


@pytest.fixture(scope="module")
def answer(asked: Inquiry) -> Answer:
    return solved(asked)


@pytest.fixture(scope="module")
def plan(answer: Answer) -> PlannedFleet:
    return read_back(answer)


@pytest.fixture(scope="module")
def found(answer: Answer, plan: PlannedFleet) -> Exposure:
    return exposure(answer, plan)


def test_the_largest_stakes_come_first(found: Exposure) -> None:
    stakes = [max(item.saves_usd or 0, item.costs_usd or 0) for item in found.estimates]
    assert stakes
    assert stakes == sorted(stakes, reverse=True)
    assert len(stakes) <= 3


def test_a_quality_that_fails_costs_what_the_plan_without_its_precision_costs(
    found: Exposure, asked: Inquiry, plan: PlannedFleet
) -> None:
    told = [item for item in found.estimates if item.kind == "quality"]
    assert told
    for item in told:
        precision = item.what.rsplit(" ", maxsplit=1)[1]
        keep = tuple([c.precision != precision for c in choice.configurations] for choice in asked.options)
        without = solved(asked, [*map(_flags, keep)]).solution.cost_usd_per_month
        assert without is not None
        assert without > float(plan.monthly_cost_usd)
        assert item.costs_usd == pytest.approx(without - float(plan.monthly_cost_usd), abs=0.01)


def test_a_plan_on_estimates_stands_beside_the_cheapest_one_on_what_was_measured(
    asked: Inquiry, plan: PlannedFleet
) -> None:
    """It is the plan of the policy that rejects estimates, and rests on none."""
    assert any(d.provenance.performance == "estimated" for d in plan.deployments)
    ((beside,),) = compared(plan, held_answer, [item for item in next_best(asked, plan) if item.kind == "measured"])
    strict = solved(asked.changed(with_policy(asked.scenario, unmeasured_performance="reject")))
    assert beside.monthly_cost_usd is not None
    assert beside.monthly_cost_usd > plan.monthly_cost_usd
    assert beside.monthly_cost_usd == pytest.approx(
        Decimal(str(strict.solution.cost_usd_per_month)), abs=Decimal("0.01")
    )
    assert {d.provenance.performance for d in read_back(strict).deployments} == {"calibrated"}


def _flags(keep: list[bool]) -> np.ndarray:
    return np.array(keep, dtype=bool)


def test_the_benchmark_runs_the_scenarios_load_on_a_configuration_at_stake(found: Exposure) -> None:
    assert found.benchmark is not None
    speeds = [item.what for item in found.estimates if item.kind == "performance"]
    assert speeds
    assert found.benchmark.settles == speeds[0]
    command = found.benchmark.command
    assert command.startswith("vllm bench serve ")
    assert "--model meta-llama/Llama-3.1-70B-Instruct" in command
    assert "--random-input-len 1500 --random-output-len 300" in command
    rate = re.search(r"--request-rate ([\d.]+)", command)
    assert rate is not None
    assert 0 < float(rate[1]) <= 3 / 0.85 + 0.01
    assert "TTFT p95 ≤ 1,000 ms, TPOT mean ≤ 50 ms" in found.benchmark.text

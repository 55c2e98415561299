"""Whatever is asked in vain: each conflict alone rules out every plan, and the way out leads to the plan it says."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from optimizer.answers.planning.tried import confirmed_answer
from optimizer.answers.planning.until_it_holds import held_plan
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.requirements.stated import waivable, with_field
from optimizer.inputs.scenario.scenario import Scenario
from optimizer.plan.explain.ways_out import ways_out
from optimizer.plan.question.inquiry import Inquiry
from optimizer.plan.question.solving import solved
from optimizer.plan.readback.readback import read_back

ASKED = st.fixed_dictionaries(
    {},
    optional={
        "ttft_ms": st.sampled_from([3.0, 20.0, 400.0]),
        "tpot_ms": st.sampled_from([0.5, 4.0, 40.0]),
        "min_quality": st.sampled_from([0.95, 1.0]),
        "min_quality_worst": st.sampled_from([0.95, 1.0]),
        "max_gpus": st.sampled_from([0, 1, 16]),
        "max_monthly_usd": st.sampled_from([50.0, 1500.0]),
        "spare_replicas": st.sampled_from([1, 4]),
        "precisions": st.sampled_from([["int4"], ["bf16"]]),
    },
)
FLOORS = ("min_quality", "min_quality_worst")


@pytest.fixture(scope="module")
def few(market_of: Callable[..., Catalogs]) -> Catalogs:
    return market_of("lambda")


def scenario_of(asked: dict[str, Any]) -> Scenario:
    slo = {name: asked[name] for name in ("ttft_ms", "tpot_ms") if name in asked}
    workload = {
        "name": "a", "model": "llama-3.1-8b", "requests_per_second": 20, "input_tokens": 800, "output_tokens": 200,
        "slo": slo, **{name: asked[name] for name in FLOORS if name in asked},
    }  # fmt: skip
    policy = {name: value for name, value in asked.items() if name not in (*slo, *FLOORS)}
    return Scenario.model_validate({"name": "vain", "workloads": [workload], "policy": policy})


def test_conflicts_rule_out_and_ways_out_lead_out(few: Catalogs) -> None:
    @given(asked=ASKED)
    @settings(max_examples=3, phases=[Phase.generate])
    def holds(asked: dict[str, Any]) -> None:
        leads_out(scenario_of(asked), few)

    holds()


def leads_out(scenario: Scenario, few: Catalogs) -> None:
    inquiry = Inquiry.of(scenario, few)
    if solved(inquiry).solution.outcome == "optimal":
        return
    conflict, ways, *_ = ways_out(inquiry, held_plan)
    assert conflict
    for number in {item.conflict for item in conflict}:
        named = {item.requirement for item in conflict if item.conflict == number}
        unwritten = any(not item.written for item in conflict if item.conflict == number)
        asked = tuple(item for item in waivable(scenario) if item.written or unwritten)
        everything = {item.field: item for item in asked}
        alone = scenario
        for field, item in everything.items():
            if field not in named:
                alone = with_field(alone, field, item.without)
        assert solved(inquiry.changed(alone)).solution.outcome == "infeasible"
    assert ways
    changed = scenario
    for change in ways[0].changes:
        changed = with_field(changed, change.field, change.to)
    assert read_back(confirmed_answer(Inquiry.of(changed, few))).monthly_cost_usd == ways[0].monthly_cost_usd

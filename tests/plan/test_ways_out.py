"""A way out, written into the scenario, gives the plan it promised; a conflict alone gives none."""

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from support.command import Command
from support.scenarios import monthly_cost, shown

from optimizer import optimize
from optimizer.base.clock import Clock
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.requirements.stated import rounded_up, waivable, with_field
from optimizer.inputs.scenario.scenario import Scenario
from optimizer.plan.explain.conflict import conflicts_of
from optimizer.plan.explain.ways_out import WaysFound, ways_out
from optimizer.plan.question.inquiry import Inquiry
from optimizer.plan.readback.outline import outlined
from optimizer.plan.record.fleet import Outline
from optimizer.plan.record.report import PlanReport

TPOT = "workloads[chat].slo.tpot_ms.mean"
BIG = {"name": "a", "model": "llama-3.1-70b", "requests_per_second": 4.0, "input_tokens": 1500, "output_tokens": 300}
SMALL = {"name": "b", "model": "llama-3.1-8b", "requests_per_second": 8.0, "input_tokens": 600, "output_tokens": 150}

INFEASIBLE: dict[str, tuple[list[dict[str, Any]], dict[str, Any], set[str]]] = {
    "latency": ([BIG | {"slo": {"ttft_ms": {"p95": 20}}}], {}, {"workloads[a].slo.ttft_ms.p95"}),
    "speed": ([BIG | {"slo": {"tpot_ms": {"mean": 2}}}], {}, {"workloads[a].slo.tpot_ms.mean"}),
    "completion": ([BIG | {"slo": {"e2e_ms": {"p95": 900}}}], {}, {"workloads[a].slo.e2e_ms.p95"}),
    "budget": ([BIG], {"max_monthly_usd": 900.0}, {"policy.max_monthly_usd"}),
    "quota": ([BIG], {"quotas": [{"max_gpus": 0}]}, {"policy.quotas"}),
    "gpus": ([SMALL | {"requests_per_second": 300.0}], {"max_gpus": 1}, {"policy.max_gpus"}),
    "power": ([BIG], {"max_power_kw": 0.1}, {"policy.max_power_kw"}),
    "residency": (
        [SMALL],
        {"regions": {"allow": ["us"]}, "providers": {"allow": ["verda"]}},
        {"policy.regions", "policy.providers"},
    ),
    "country": ([SMALL], {"countries": {"allow": ["eu"]}}, {"policy.countries"}),
    "hosting": ([SMALL], {"hosting": ["owned"]}, {"policy.hosting"}),
    "pins": (
        [SMALL | {"regions": {"allow": ["us"]}, "providers": {"allow": ["verda"]}}],
        {},
        {"workloads[b].regions", "workloads[b].providers"},
    ),
    "quality": (
        [BIG | {"min_quality": 1.0}],
        {"precisions": ["int4"]},
        {"workloads[a].min_quality", "policy.precisions"},
    ),
    "resilience": ([SMALL], {"spare_replicas": 3, "max_gpus": 2}, {"policy.spare_replicas", "policy.max_gpus"}),
    "variety": ([BIG, SMALL], {"max_distinct_configurations": 1}, {"policy.max_distinct_configurations"}),
    "two at once": (
        [SMALL | {"requests_per_second": 300.0}],
        {"max_gpus": 1, "max_monthly_usd": 20.0},
        {"policy.max_gpus", "policy.max_monthly_usd"},
    ),
}


@pytest.fixture(scope="module")
def few(market_of: Callable[..., Catalogs]) -> Catalogs:
    """A handful of providers: enough to choose from, fast to solve many times."""
    return market_of("lambda", "nebius", "verda")


def raw_case(name: str) -> dict[str, Any]:
    workloads, policy, _ = INFEASIBLE[name]
    return {"name": "case", "workloads": workloads, "policy": policy}


@pytest.fixture(scope="module")
def reported(few: Catalogs) -> Callable[[str], PlanReport]:
    """Each case once."""
    return cache(lambda name: optimize(Scenario.model_validate(raw_case(name)), few))


@pytest.fixture(scope="module", params=sorted(INFEASIBLE))
def case(
    request: pytest.FixtureRequest, reported: Callable[[str], PlanReport]
) -> tuple[str, dict[str, Any], PlanReport]:
    return request.param, raw_case(request.param), reported(request.param)


def edited(raw: dict[str, Any], field: str, value: Any) -> dict[str, Any]:
    """The scenario as a person would edit it; written apart from the tool's own way of doing so."""
    scenario = Scenario.model_validate(raw).model_dump(exclude_defaults=True)
    scenario.setdefault("policy", {})
    node, trail = scenario, []
    *steps, last = field.replace("]", "").split(".")
    for step in steps:
        name, *element = step.split("[")
        trail.append((node, name))
        node = node[name]
        if element:
            node = next(item for item in node if item["name"] == element[0])
    if value is not None:
        node[last] = value
        return scenario
    del node[last]
    parent, name = trail[-1]
    if not node:
        del parent[name]
    return scenario


def cost_shown(raw: dict[str, Any], catalogs: Catalogs) -> Decimal:
    """Of the plan that `plan` shows."""
    return shown(Scenario.model_validate(raw), catalogs).bought.monthly_cost_usd


def test_the_cause_is_named(case: tuple[str, dict[str, Any], PlanReport]) -> None:
    name, _, report = case
    assert report.outcome == "infeasible"
    assert {item.requirement for item in report.explanation.conflict} == INFEASIBLE[name][2]


def test_every_way_out_keeps_its_word(case: tuple[str, dict[str, Any], PlanReport], few: Catalogs) -> None:
    _, raw, report = case
    ways = report.explanation.relaxations
    assert ways
    assert [way.monthly_cost_usd for way in ways] == sorted(way.monthly_cost_usd for way in ways)
    for way in ways:
        changed = raw
        for change in way.changes:
            changed = edited(changed, change.field, change.to)
        assert cost_shown(changed, few) == way.monthly_cost_usd


@pytest.mark.slow("plans a scenario again for each of its ways out, with simulations of those that do not hold")
def test_no_way_out_is_told_at_the_price_of_a_plan_that_breaks_its_promise(market_of: Callable[..., Catalogs]) -> None:
    """Found by an architect: $2,686.40 was promised of a plan that does not hold, and $2,905.40 paid for one that does.

    A budget of 3,212 USD was offered, too, for a plan that breaks its promise and has none beside it that keeps it.
    """
    catalogs = market_of("hotaisle", "digitalocean")
    workload = {"name": "chat", "model": "llama-3.3-70b", "requests_per_second": 3.7, "slo": {"tpot_ms": 40}}
    workload |= {"input_tokens": 1500, "output_tokens": 400}
    policy = {"max_monthly_usd": 3000, "engines": ["sglang"], "gpus": {"allow": ["mi300x", "mi350x"]}}
    raw = {"name": "case", "workloads": [workload], "policy": policy}
    ways = optimize(Scenario.model_validate(raw), catalogs).explanation.relaxations
    assert [change.field for way in ways for change in way.changes] == [TPOT, "policy.max_monthly_usd"]
    for way in ways:
        (change,) = way.changes
        found = shown(Scenario.model_validate(edited(raw, change.field, change.to)), catalogs)
        assert found.bought.monthly_cost_usd == way.monthly_cost_usd
        assert found.simulation is not None
        assert found.simulation.holds


def found_where(held: Callable[[Scenario, Outline], Outline | None], catalogs: Catalogs) -> WaysFound:
    """The ways out of a speed that a small budget does not buy, where simulated requests would leave those plans."""
    workload = SMALL | {"name": "chat", "slo": {"tpot_ms": 4}}
    asked = Scenario.model_validate({"name": "case", "workloads": [workload], "policy": {"max_monthly_usd": 500}})
    return ways_out(Inquiry.of(asked, catalogs), lambda inquiry, answer: held(inquiry.scenario, outlined(answer)))


def as_it_is(_: Scenario, plan: Outline) -> Outline:
    return plan


def set_to(found: WaysFound, field: str) -> list[float]:
    """The numbers that ways out set a field to."""
    changes = (change for way in found.ways for change in way.changes if change.field == field)
    return [change.to for change in changes if isinstance(change.to, float)]


def test_a_way_out_whose_plan_does_not_hold_goes_further_until_one_does(few: Catalogs) -> None:
    def held(scenario: Scenario, plan: Outline) -> Outline | None:
        tpot_ms = scenario.workloads[0].slo.tpot_ms
        return plan if tpot_ms is None or tpot_ms.limits_ms()["mean"] > strictest * 1.07 else None

    every = found_where(as_it_is, few)
    (strictest,) = set_to(every, TPOT)
    assert every.conflict[0].text == f"{TPOT} = 4 ms; the rest of the scenario needs {strictest:g} ms"
    some = found_where(held, few)
    (looser,) = set_to(some, TPOT)
    assert strictest * 1.07 < looser < strictest * 1.2
    # what is needed at least is not known then
    assert some.conflict[0].text == f"{TPOT} = 4 ms"


def test_a_budget_is_what_a_plan_costs_that_holds(few: Catalogs) -> None:
    def dearer(scenario: Scenario, plan: Outline) -> Outline | None:
        budget = scenario.policy.max_monthly_usd
        return replace(plan, monthly_cost_usd=Decimal(5000)) if budget is None or budget >= 5000 else None

    (least,) = set_to(found_where(as_it_is, few), "policy.max_monthly_usd")
    assert least < 5000
    found = found_where(dearer, few)
    assert set_to(found, "policy.max_monthly_usd") == [5000]
    assert [way.monthly_cost_usd for way in found.ways] == [5000]
    assert [text.partition(" to ")[0] for text in found.broken] == [f"set {TPOT}"]


def test_what_a_limit_leaves_out_is_said_not_to_be_worked_out(few: Catalogs) -> None:
    inquiry = Inquiry.of(Scenario.model_validate(raw_case("gpus")), few).beside_a_plan(Clock(time_limit_s=0))
    found = ways_out(inquiry, lambda _, answer: outlined(answer))
    named = ("conflicts beyond those named", "ways out beyond those named")
    assert found.left_out == [f"{what}: not worked out, the time limit was reached" for what in named]


def test_what_has_no_plan_that_holds_is_no_way_out(few: Catalogs) -> None:
    found = found_where(lambda *_: None, few)
    assert not found.ways
    assert found.conflict
    assert all(text.endswith("when requests arrive one by one") for text in found.broken)


def test_the_conflict_alone_has_no_plan_and_without_any_one_of_it_there_is_one(few: Catalogs) -> None:
    raw = raw_case("resilience")
    scenario = Scenario.model_validate(raw | {"policy": raw["policy"] | {"max_power_kw": 90.0}})
    (conflict,) = conflicts_of(Inquiry.of(scenario, few))
    alone = scenario
    for item in (item for item in waivable(scenario) if item.written):
        if item.field not in {named.field for named in conflict}:
            alone = with_field(alone, item.field, item.without)
    assert monthly_cost(alone, few) is None
    for item in (item for item in waivable(alone) if item.written):
        assert monthly_cost(with_field(alone, item.field, item.without), few) is not None


def test_scales_go_from_strict_to_loose_in_values_people_would_write() -> None:
    def values(field: str) -> tuple[float, ...]:
        policy = {"spare_replicas": 3, "max_utilization": 0.85}
        workload = SMALL | {"slo": {"ttft_ms": {"p95": 50.0}}}
        asked = waivable(Scenario.model_validate({"name": "case", "workloads": [workload], "policy": policy}))
        return next(item for item in asked if item.field.endswith(field)).looser_values()

    assert values("spare_replicas") == (2, 1, 0)
    assert values("max_utilization") == (0.9, 0.95, 1.0)
    latencies = values("ttft_ms.p95")
    assert latencies[0] == pytest.approx(52.5)
    assert latencies[-1] >= 50 * 4096
    assert list(latencies) == sorted(latencies)
    assert rounded_up(1234.5) == 1240
    assert rounded_up(0.01234) == pytest.approx(0.0124)


def test_independent_conflicts_are_told_apart_and_loosened_together(reported: Callable[[str], PlanReport]) -> None:
    report = reported("two at once")
    numbers = {item.requirement: item.conflict for item in report.explanation.conflict}
    assert sorted(numbers.values()) == [1, 2]
    cheaper, strictest = report.explanation.relaxations
    for way in (cheaper, strictest):
        assert {change.field for change in way.changes} == set(numbers)
    gpus, fewest = ({c.field: c.to for c in way.changes}["policy.max_gpus"] for way in (cheaper, strictest))
    assert float(str(gpus)) > float(str(fewest))
    assert cheaper.monthly_cost_usd < strictest.monthly_cost_usd


def test_latencies_are_not_loosened_together_to_values_that_nobody_would_pay_for(few: Catalogs) -> None:
    """The least that has a plan cost 870 million dollars a month of a budget of 5,000, and was the only way out."""
    asked = BIG | {"slo": {"ttft_ms": {"p95": 20}, "tpot_ms": {"mean": 2}}}
    named = {"name": "x", "workloads": [asked], "policy": {"max_monthly_usd": 500}}
    report = optimize(Scenario.model_validate(named), few)
    cheapest = report.explanation.relaxations[0]
    assert {change.field for change in cheapest.changes} == {item.requirement for item in report.explanation.conflict}
    plain = optimize(Scenario.model_validate(named | {"workloads": [BIG], "policy": {}}), few)
    assert cheapest.monthly_cost_usd is not None
    assert plain.cheapest_usd is not None
    assert cheapest.monthly_cost_usd <= plain.cheapest_usd * Decimal("1.15")


def test_the_nearest_candidates_say_what_limits_them(case: tuple[str, dict[str, Any], PlanReport]) -> None:
    for miss in case[2].explanation.nearest_misses:
        if miss.criterion in ("ttft", "tpot", "e2e", "memory"):
            assert sum(miss.spent_on.values()) == pytest.approx(1, abs=1e-4)
            assert f"mostly {next(iter(miss.spent_on))}" in miss.text


def test_a_conflict_tells_the_line_that_asks_for_it(optimizer: Command, tmp_path: Path) -> None:
    scenario = tmp_path / "tight.yaml"
    scenario.write_text(
        "name: tight\nworkloads:\n  - name: a\n    model: llama-3.1-8b\n    requests_per_second: 400\n"
        "    input_tokens: 600\n    output_tokens: 150\npolicy:\n  providers: {allow: [verda]}\n  max_gpus: 1\n",
        encoding="utf-8",
    )
    result = optimizer("plan", scenario)
    assert result.code == 3
    assert "line 10: policy.max_gpus = 1 GPUs; the rest of the scenario needs" in result.out

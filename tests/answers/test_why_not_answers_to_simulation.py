"""What stands beside the plan in `why-not` answers to its simulation, as the plan does: plans, prices and ways out."""

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest

from optimizer.answers.planning import entry_price, until_it_holds
from optimizer.answers.planning import why_not as why_not_module
from optimizer.answers.planning.tried import confirmed_answer
from optimizer.answers.planning.why_not import WhyNot, why_not
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.requirements.stated import with_field
from optimizer.inputs.scenario.scenario import Scenario
from optimizer.performance.candidates.lowering import LoweredRate, kin_of
from optimizer.plan.question.forcing import Choice
from optimizer.plan.question.inquiry import Answer, Inquiry
from optimizer.plan.readback.readback import read_back
from optimizer.plan.simulate.simulated import confirmed
from optimizer.report.plan.why_not import why_not_answer

TIGHT = {"ttft_ms": 175, "tpot_ms": 34}
"""Limits at which a formula passes replicas of an L40S that break them when requests arrive one by one."""

ROOMY = {"ttft_ms": 400, "tpot_ms": 34}
"""Limits that its replicas keep as a formula says."""


@pytest.fixture(scope="module")
def two(market_of: Callable[..., Catalogs]) -> Catalogs:
    return market_of("runpod", "scaleway")


def question(gpus: list[str], requests_per_second: float, slo: dict[str, Any]) -> Scenario:
    workload = {
        "name": "chat", "model": "llama-3.1-8b", "input_tokens": 1024, "output_tokens": 256,
        "requests_per_second": requests_per_second, "slo": slo,
    }  # fmt: skip
    policy = {"gpus": {"allow": gpus}, "precisions": ["fp8", "bf16"], "engines": ["vllm"]}
    return Scenario.model_validate({"name": "beside", "workloads": [workload], "policy": policy})


LATE = question(["l4", "h100-sxm"], 1, {"ttft_ms": 250, "tpot_ms": {"p95": 60}})
"""An L4 does not keep it."""


@pytest.fixture(scope="module")
def dearer(two: Catalogs) -> WhyNot:
    return why_not(question(["l40s", "h100-sxm"], 40, TIGHT), two, Choice(gpu="l40s"))


def test_a_choice_costs_what_its_plan_costs_that_keeps_its_promises(dearer: WhyNot, two: Catalogs) -> None:
    """By formulas it costs 13,731.30 USD a month, for which it breaks one."""
    alone = confirmed_answer(Inquiry.of(question(["l40s"], 40, TIGHT), two))
    assert dearer.verdict == "dearer"
    assert dearer.monthly_cost_usd == read_back(alone).monthly_cost_usd
    (entry,) = (each for each in dearer.entries if each.way == "alone")
    assert dearer.optimal_monthly_cost_usd is not None
    paid = dearer.monthly_cost_usd * (1 - Decimal(str(entry.discount_percent)) / 100)
    assert float(paid) == pytest.approx(float(dearer.optimal_monthly_cost_usd))


def test_the_price_that_lets_it_in_beside_others_is_of_a_plan_that_holds(
    two: Catalogs, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A plan that breaks a promise at the first price leads to a lower one; where none holds it is said."""
    scenario, choice, tried = question(["l40s", "h100-sxm"], 11.8, ROOMY), Choice(gpu="l40s"), []
    simulated = why_not(scenario, two, choice)

    def less_at_first(asked: Inquiry, answer: Answer) -> tuple[LoweredRate, ...]:
        tried.append(answer)
        (chat,), load = asked.options, scenario.policy.highest_load
        kin = {kin_of(each) for each in chat.configurations if each.gpu == "l40s"} if len(tried) == 1 else ()
        return tuple(LoweredRate("chat", each, 0.3, load) for each in kin)

    monkeypatch.setattr(entry_price, "counted_on_for_less", less_at_first)
    again = why_not(scenario, two, choice)
    (before,), (after,) = ([each for each in found.entries if each.way == "beside"] for found in (simulated, again))
    assert len(tried) == 2
    assert after.discount_percent > before.discount_percent
    monkeypatch.setattr(entry_price, "counted_on_for_less", lambda _asked, _answer: None)
    none_holds = why_not(scenario, two, choice)
    assert [each.way for each in none_holds.entries] == ["alone"]
    (said,) = none_holds.broken_ways
    assert "keeps every promise when requests arrive one by one" in said
    prices = next(s for s in why_not_answer(none_holds).sections if s.title.startswith("The price that lets it in"))
    assert said in prices.lines


def test_ways_out_lead_to_plans_that_hold(two: Catalogs) -> None:
    """By formulas the cheapest cost 715.40 USD a month, for which its plan breaks a promise."""
    answer = why_not(LATE, two, Choice(gpu="l4"))
    assert answer.verdict == "fails"
    assert answer.relaxations
    for way in answer.relaxations:
        (change,) = way.changes
        changed = with_field(LATE, change.field, change.to)
        policy = changed.policy.model_dump(exclude_defaults=True) | {"gpus": {"allow": ["l4"]}}
        alone = Scenario.model_validate(changed.model_dump(exclude_defaults=True) | {"policy": policy})
        bought = read_back(confirmed_answer(Inquiry.of(alone, two)))
        assert confirmed(alone, two, bought).holds is not False
        assert bought.monthly_cost_usd == way.monthly_cost_usd


def test_ways_out_whose_plans_break_a_promise_are_said_to_be_none(
    two: Catalogs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(why_not_module, "held_plan", lambda _asked, _answer: None)
    answer = why_not(LATE, two, Choice(gpu="l4"))
    assert answer.relaxations == []
    assert any("slo.ttft_ms.p95" in each for each in answer.broken_ways)
    possible = next(s for s in why_not_answer(answer).sections if s.title == "What would make it possible")
    assert possible.lines == answer.broken_ways
    int4 = why_not(LATE, two, Choice(precision="int4"))
    assert (int4.admitted_monthly_cost_usd, int4.broken_ways) == (None, (why_not_module.NOT_ADMITTED,))


def test_a_choice_whose_every_plan_breaks_a_promise_has_none(two: Catalogs, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is loosened for it is that promise."""
    monkeypatch.setattr(until_it_holds, "MOST_ROUNDS", 0)
    answer = why_not(question(["l40s", "h100-sxm"], 40, TIGHT), two, Choice(gpu="l40s"))
    assert (answer.verdict, answer.monthly_cost_usd) == ("fails", None)
    assert "breaks workloads[chat].slo." in answer.summary
    assert {change.field.partition(".slo.")[0] for way in answer.relaxations for change in way.changes} == {
        "workloads[chat]"
    }

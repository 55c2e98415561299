"""The text of a plan is a page for who decides: question, plan, what else there is, what to settle before signing."""

import re
from collections.abc import Callable

import pytest

from optimizer import load_scenario
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.scenario.scenario import Scenario
from optimizer.plan.grounds.filters import idle_filters
from optimizer.plan.grounds.question import asked
from optimizer.plan.question.inquiry import Inquiry
from optimizer.plan.record.report import PlanReport
from optimizer.report.layout.text import answer_text
from optimizer.report.plan.sections import plan_answer, plan_sections

MAX_LINES = {1: 22, 2: 29}
"""Lines with words of a plan with so many deployments."""
PAGE = ["Question", "Plan", "What else it could cost a month", "Before you sign", "How sure"]


@pytest.mark.parametrize("name", ["chat-8b", "qwen3-32b", "shared-replicas"])
def test_the_page_is_short_and_in_the_order_of_a_decision(name: str, planned: Callable[[str], PlanReport]) -> None:
    report = planned(name)
    assert [section.title for section in plan_sections(report)] == PAGE
    text = answer_text(plan_answer(report, verbose=False))
    assert len([line for line in text.splitlines() if line]) <= MAX_LINES[len(report.deployments)]
    assert not re.search(r"\de[+-]\d", text)
    assert "measure first: one replica of " in text
    assert len(answer_text(plan_answer(report, verbose=True)).splitlines()) > 2 * len(text.splitlines())


def test_the_question_is_restated_with_what_the_policy_asks() -> None:
    chat, policy = asked(load_scenario("chat-8b"))
    assert chat.startswith("chat: llama-3.1-8b, 5 requests/s, 1,024 tokens in and 256 out, TTFT p95 ≤ 500 ms")
    assert policy == "policy: planned on 90 % bounds"
    *_, policy = asked(load_scenario("three-clouds"))
    assert "providers allow aws, gcp, azure; regions allow us-*, eastus*, centralus" in policy
    assert "survive loss of provider; max provider share 0.4" in policy


def test_a_list_that_lets_nothing_in_is_told_with_what_keeps_its_offers_out(catalogs: Catalogs) -> None:
    raw = load_scenario("chat-8b").model_dump()
    raw["policy"] |= {"gpus": {"allow": ["l4", "rtx5090"]}, "providers": {"allow": ["aws", "gcp"]}}
    scenario = Scenario.model_validate(raw)
    told = list(idle_filters(scenario, Inquiry.of(scenario, catalogs).market))
    assert len(told) == 1
    assert told[0].startswith("policy.gpus: rtx5090 lets nothing in, what else is asked excludes its offers (")

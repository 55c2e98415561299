"""What is asked of plans without a machine: an answer about what they pay for, or a refusal in words."""

import re
from dataclasses import replace

import pytest
from support.scenarios import sold_little

from optimizer import load_catalogs, optimize
from optimizer.answers.planning.frontier import frontier, sweep_of
from optimizer.answers.planning.why_not import why_not
from optimizer.answers.running.simulate import simulate
from optimizer.base.errors import InputError
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.scenario.scenario import Scenario
from optimizer.plan.question.forcing import Choice
from optimizer.report.layout.text import answer_text
from optimizer.report.plan.sections import plan_answer
from optimizer.report.plan.why_not import why_not_answer

SHAPE = {"model": "llama-3.1-8b", "input_tokens": 1000, "output_tokens": 200}


@pytest.fixture(scope="module")
def few(catalogs: Catalogs) -> Catalogs:
    return sold_little(catalogs)


def rarely(*hosting: str, requests_per_second: float = 0.0005) -> Scenario:
    named = [{"name": "chat", "requests_per_second": requests_per_second, **SHAPE}]
    return Scenario.model_validate({"name": "rarely", "workloads": named, "policy": {"hosting": hosting}})


@pytest.mark.parametrize("hosting", ["per_second", "serverless"])
def test_there_is_nothing_to_leave_out_and_nothing_to_simulate(few: Catalogs, hosting: str) -> None:
    report = optimize(rarely(hosting), few)
    assert report.hosted
    assert not report.deployments
    assert [item.change for item in report.explanation.alternatives if item.change.strip() == "without"] == []
    with pytest.raises(InputError, match="nothing of the plan can be simulated: chat: "):
        simulate(report, rarely(hosting), few)


def test_a_plan_paid_by_its_use_changes_where_another_takes_over_and_not_with_its_bill(few: Catalogs) -> None:
    scenario = rarely("rented", "per_second")
    found = frontier(scenario, few, [sweep_of("requests_per_second=0.003:0.02:2", scenario)])
    (change,) = found.breakpoints
    assert (change.before_plan, change.after_plan) == (0, 1)
    assert ["by the second" in plan for plan in found.plans] == [True, False]


def test_why_not_speaks_of_machines_where_the_same_seller_is_paid_by_the_second(few: Catalogs) -> None:
    by_the_hour = replace(few, offers=tuple(each for each in load_catalogs().offers if each.provider == "modal"))
    said = why_not(rarely("per_second"), by_the_hour, Choice(provider="modal"))
    assert said.summary.startswith("provider modal: no plan on machines meets rarely, it fails policy.hosting")
    written = str(why_not_answer(said))
    assert "price of instance let it in" in written


def test_pages_of_hosted_apis_alone_speak_of_no_machines(few: Catalogs) -> None:
    """Columns of replicas stood empty, utilization and confidence were moved to no effect, what a tenth more costs was
    told as the same plan, and the proof was of machines."""
    report = optimize(rarely("serverless", requests_per_second=2), few, thorough=True)
    assert [step.what for step in report.explanation.marginal_values] == ["chat demand"] * 2
    assert report.explanation.breakpoints == report.explanation.baselines == []
    assert report.bound_of == "the scenario"
    for verbose in (False, True):
        page = answer_text(plan_answer(report, verbose), 400)
        assert "proven optimal; 21 of 21" in page or "proven optimal: no plan costs less" in page
        assert all(
            word not in page for word in ("replicas", "of max", "Latencies are", "utilization 0", "rule of thumb")
        )
    assert "chat demand 2.2, not 2 requests/s" in page
    assert "the same plan at" not in page


def test_beside_machines_that_may_be_rented_a_proof_speaks_of_both(few: Catalogs) -> None:
    report = optimize(rarely("serverless", "rented"), few)
    assert not report.deployments
    (how_sure,) = (each for each in plan_answer(report, verbose=False).sections if each.title == "How sure")
    assert how_sure.lines[0].startswith("proven optimal among hosted APIs and machines of measured speed")
    rules = [item for item in report.explanation.baselines if item.kind == "rule_of_thumb"]
    assert [item.monthly_cost_usd for item in rules] != [report.monthly_cost_usd]


def test_counts_of_a_thousand_and_more_have_their_thousands_apart(few: Catalogs) -> None:
    named = [{"name": "chat", "requests_per_second": 20_000, **SHAPE}]
    report = optimize(Scenario.model_validate({"name": "many", "workloads": named}), few)
    page = answer_text(plan_answer(report, verbose=True), 400)
    (d,) = report.deployments
    assert d.replicas >= 1_000
    assert f"{d.replicas:,}" in page
    assert f"{d.instances:,}× {d.instance_type}" in page
    assert "chat: llama-3.1-8b, 20,000 requests/s, 1,000 tokens in" in page
    found = set(re.findall(r"(?<![\w.,/-])[1-9]\d{4,}(?![\w.%-])", page))
    assert found == set(), "numbers of five digits without separators"

"""`experiment`: the run to buy first, in words and as JSON; what is over the budget, out of time or without a plan."""

import json
from dataclasses import replace
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import pytest
from support.command import Command
from support.scenarios import with_workload

from optimizer.answers.running.experiment import ExperimentReport, _becomes, _not_worked_out, experiment
from optimizer.base.clock import LimitReached
from optimizer.base.errors import InputError
from optimizer.base.memory import Memory
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.scenario.scenario import Scenario
from optimizer.plan.experiment.prospects import Prospect
from optimizer.plan.experiment.subjects import Subject
from optimizer.plan.experiment.trials import Trials
from optimizer.plan.question.asking import answered
from optimizer.plan.question.inquiry import Inquiry
from optimizer.plan.readback.readback import read_back
from optimizer.plan.readback.summary import summarized
from optimizer.report.export import as_json, rendered
from optimizer.report.running.experiment import experiment_answer

MEASURED, UNMEASURED = "l40s", "l40"
CHAT = {
    "name": "chat", "model": "llama-3.1-8b", "requests_per_second": 5, "input_tokens": 1000, "output_tokens": 300,
}  # fmt: skip

PLAIN = {"engines": ["vllm"], "precisions": ["fp8"], "kv_precisions": ["bf16"]}


def asked(tpot_ms: float = 20, **policy: Any) -> Scenario:
    workload = CHAT | {"slo": {"ttft_ms": 3000, "tpot_ms": tpot_ms}}
    return Scenario.model_validate({"name": "worth", "workloads": [workload], "policy": PLAIN | policy})


@pytest.fixture(scope="module")
def few(catalogs: Catalogs) -> Catalogs:
    """A card that was measured and a cheaper one that nobody measured."""
    wanted = {f"secure-{MEASURED}", f"secure-{UNMEASURED}"}
    offers = (o for o in catalogs.offers if o.provider == "runpod" and o.instance_type in wanted)
    return replace(catalogs, offers=tuple(offers))


@pytest.fixture(scope="module")
def found(few: Catalogs) -> ExperimentReport:
    return experiment(asked(), few)


def test_a_card_that_nobody_measured_is_let_in_by_a_run(found: ExperimentReport) -> None:
    assert found.plan.endswith(f"{MEASURED} fp8 (runpod)")
    let_in = next(run for run in found.runs if run.gpu == UNMEASURED)
    assert (let_in.in_plan, let_in.performance) == (False, "estimated")
    assert let_in.net_usd > 0
    assert f"{UNMEASURED} fp8" in let_in.results[0].becomes


def test_runs_stand_in_the_order_of_what_they_save_less_their_price(found: ExperimentReport) -> None:
    worth = [run.net_usd for run in found.runs]
    assert worth == sorted(worth, reverse=True)
    for run in found.runs:
        assert run.net_usd == run.expected_saving_usd_per_month - run.price_usd
        assert run.expected_saving_usd_per_month == sum(result.saves_usd for result in run.results) / len(run.results)
        assert run.chance_plan_changes == pytest.approx(
            sum(result.probability for result in run.results if result.becomes)
        )
        assert run.results_left_out == 0


def test_better_results_never_lead_to_dearer_plans(found: ExperimentReport) -> None:
    for run in found.runs:
        knowing = [result.knowing_usd for result in run.results]
        assert knowing == sorted(knowing, key=lambda usd: usd or 0)


def test_the_same_question_has_the_same_bytes(found: ExperimentReport, few: Catalogs) -> None:
    assert as_json(experiment(asked(), few)) == as_json(found)


def test_a_budget_that_allows_nothing_says_so(found: ExperimentReport, few: Catalogs) -> None:
    none = experiment(asked(), few, budget_usd=0.5)
    assert none.runs == []
    assert [run.configuration for run in none.over_budget] == [run.configuration for run in found.runs]
    text = rendered(experiment_answer(none, "FILE"), none, "text")
    assert text.startswith("No run within $0.50 is expected to save its price; ")
    assert "Over the budget of $0.50" in text
    assert "How to run it" not in text


def test_what_there_was_no_time_for_is_left_out_and_named(few: Catalogs) -> None:
    cut = experiment(asked(), few, time_limit_s=0.001)
    assert cut.monthly_cost_usd is not None
    assert all(run.expected_saving_usd_per_month == 0 for run in cut.runs)
    assert [run.results_left_out for run in cut.runs if run.in_plan] != [0]
    assert any("time limit was reached" in line for line in cut.not_worked_out)
    text = rendered(experiment_answer(cut, "FILE"), cut, "text")
    assert "that could be worked out in time" in text


def test_the_text_names_the_run_and_how_to_make_it(found: ExperimentReport) -> None:
    text = rendered(experiment_answer(found, "FILE"), found, "text")
    first = found.runs[0]
    assert text.startswith(f"Measure first: {first.configuration}, for ${first.price_usd:,.2f}")
    assert "`vllm bench serve" in text
    markdown = rendered(experiment_answer(found, "FILE"), found, "markdown")
    assert f"- `{first.command}`" in markdown
    assert "would save nothing" in text
    assert max(map(len, text.splitlines())) <= 120


def test_what_the_plan_runs_is_written_by_benchmark(few: Catalogs) -> None:
    own = experiment(asked(tpot_ms=27, gpus={"allow": [MEASURED]}), few)
    text = rendered(experiment_answer(own, "'my file.yaml'", " --catalogs mine"), own, "text")
    assert "optimizer plan 'my file.yaml' --catalogs mine --format json --output plan.json" in text
    assert "optimizer benchmark plan.json --tool vllm --output runs --catalogs mine" in text
    (only,) = own.runs
    assert (only.in_plan, only.at_todays_load) == (True, True)
    assert only.chance_plan_too_small == pytest.approx(0.2)
    assert "that the plan is too small has a chance of 20%" in text


def test_the_command_answers_with_exit_code_0_though_nothing_is_worth_measuring(optimizer: Command) -> None:
    said = optimizer("experiment", "model-choice", "--format", "json", "--budget-usd", 5)
    told = json.loads(said.out)
    assert (said.code, said.err, told["outcome"]) == (0, "", "optimal")
    assert [run["net_usd"] < "0" for run in told["runs"]] == [True]


def test_without_a_plan_there_is_nothing_to_save(optimizer: Command) -> None:
    said = optimizer("experiment", "infeasible-latency")
    assert said.code == 3
    assert said.out.startswith("infeasible-latency has no plan, so no measurement makes it cheaper")


def test_nothing_is_claimed_of_results_that_were_not_worked_out(found: ExperimentReport) -> None:
    whole = found.runs[0]
    unknown = whole.model_copy(update={"results": [], "results_left_out": 5})
    text = _said(found.model_copy(update={"runs": [unknown], "not_worked_out": ["5 results of runs: not worked out"]}))
    assert "not worked out" in text
    assert "no other plan" not in text
    assert "0%" not in text.split("How it was counted")[0]
    part = whole.model_copy(update={"results": whole.results[:2], "results_left_out": 3})
    assert "expected to save at least $" in _said(found.model_copy(update={"runs": [part]}))
    unmoved = whole.model_copy(update={"results": [whole.results[-1].model_copy(update={"becomes": ""})]})
    assert "no other plan" in _said(found.model_copy(update={"runs": [unmoved]}))
    unmoved = unmoved.model_copy(update={"results_left_out": 4})
    assert "no other plan" not in _said(found.model_copy(update={"runs": [unmoved]}))


def test_a_plan_that_is_not_proven_and_what_is_only_compared_are_said(found: ExperimentReport) -> None:
    week = found.model_copy(update={"outcome": "feasible", "compared_within_percent": 1.0})
    assert "Today's plan for worth, not proven to be the cheapest: $" in _said(week).replace("\n", " ")
    assert "would save nothing, within 1 %" in _said(week)


def test_hardware_of_ones_own_is_not_rented_for_a_run(found: ExperimentReport) -> None:
    own = found.runs[0].model_copy(update={"pricing_term": "owned", "provider": "owned", "price_usd": Decimal(0)})
    assert f"{own.instances} instance of your own for " in _said(found.model_copy(update={"runs": [own]}))


def _said(found: ExperimentReport) -> str:
    return rendered(experiment_answer(found, "FILE"), found, "text")


def test_the_same_machines_in_other_shares_are_not_told_by_their_engine(few: Catalogs) -> None:
    answer = answered(Inquiry.of(asked(), few))
    bought = read_back(answer)
    prospect = Prospect(
        too_small=False,
        blind_usd=Decimal(2),
        knowing_usd=Decimal(1),
        changes=True,
        answer=answer,
        without_usd=Decimal(0),
    )
    assert _becomes(prospect, bought) == f"{summarized(bought)}, in other shares"
    other = tuple(d.model_copy(update={"engine": "sglang"}) for d in bought.deployments)
    assert _becomes(prospect, replace(bought, deployments=other)) == f"{summarized(bought)} with vllm"


def test_one_result_is_one_and_the_plans_own_runs_are_named() -> None:
    subject = Subject("chat", "m", "vllm", "l4", "fp8", "bf16", 1, 1)
    left_out = Trials([SimpleNamespace(results_left_out=1)], "time limit", (subject,))  # type: ignore[list-item]
    first, second, *_ = _not_worked_out(left_out)
    assert first == "1 result of runs: not worked out, the time limit was reached"
    assert second == "m fp8 on 1×l4 with vllm, in the plan: not worked out, the time limit was reached"


def test_the_memory_of_the_machine_is_a_limit(few: Catalogs, monkeypatch: pytest.MonkeyPatch) -> None:
    """Looked at where anything is predicted, so of a question that nobody asked here before."""
    monkeypatch.setattr("optimizer.answers.running.experiment.Memory", lambda: Memory(0.001))
    with pytest.raises(LimitReached, match="memory limit"):
        experiment(with_workload(asked(), input_tokens=777), few)


@pytest.mark.parametrize("budget", [float("inf"), float("nan"), -1.0])
def test_a_budget_is_a_finite_number_in_python_too(budget: float, few: Catalogs) -> None:
    with pytest.raises(InputError, match=r"budget_usd: '.*' is not a finite number of at least 0"):
        experiment(asked(), few, budget_usd=budget)


@pytest.mark.parametrize("budget", ["inf", "nan", "-1", "much"])
def test_a_budget_is_a_finite_number(budget: str, optimizer: Command) -> None:
    said = optimizer("experiment", "ci-gate", "--budget-usd", budget)
    assert (said.code, said.out) == (2, "")
    assert "--budget-usd" in said.err


def test_what_was_not_worked_out_is_exit_code_4(optimizer: Command) -> None:
    said = optimizer("experiment", "ci-gate", "--work-limit", 1, "--format", "json")
    told = json.loads(said.out)
    assert (said.code, told["monthly_cost_usd"] is not None, told["not_worked_out"] != []) == (4, True, True)

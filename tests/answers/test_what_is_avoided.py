"""Plans rest on what was measured and published where such a plan exists; every command means the same question."""

import json
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from support.scenarios import on_first_page

from optimizer.answers.ahead.lifecycle.lifecycle import lifecycle
from optimizer.answers.certificate import certificate_of, checks_of
from optimizer.answers.compare.compare import compare
from optimizer.answers.gate.plan import planned
from optimizer.answers.planning.frontier import frontier
from optimizer.answers.planning.optimize import optimize
from optimizer.answers.planning.why_not import why_not
from optimizer.answers.verify import verify_plan
from optimizer.base.clock import Clock
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.scenario.scenario import Scenario
from optimizer.plan.question.asking import answered
from optimizer.plan.question.forcing import Choice
from optimizer.plan.question.inquiry import Inquiry
from optimizer.plan.record.report import PlanReport
from optimizer.plan.variants.frontier import Sweep
from optimizer.report.export import as_json
from optimizer.report.plan.sections import plan_answer

CHAT = {
    "name": "chat", "model": "llama-3-70b", "requests_per_second": 0.05, "input_tokens": 1024, "output_tokens": 256,
    "slo": {"ttft_ms": 20_000, "tpot_ms": 900},
}  # fmt: skip
LIFE = {"months": 1, "growth_percent_per_month": 0}
SPEED = "policy.unmeasured_performance"
MEASURED, UNMEASURED, RENTED = "l40s", "l40", {"runpod"}
UNPUBLISHED = "deepseek-r1-distill-llama-70b"
"""Fits the cards in 4 bit alone, of which nobody published what it keeps."""


def asked(own: dict[str, Any] | None = None, **policy: Any) -> Scenario:
    raw = {"name": "avoiding", "workloads": [CHAT | (own or {})], "policy": policy, "lifecycle": LIFE}
    return Scenario.model_validate(raw)


@pytest.fixture(scope="module")
def few(catalogs: Catalogs) -> Catalogs:
    """A card that was measured and a cheaper one that nobody measured, one of each to an instance."""
    cards = {MEASURED, UNMEASURED}
    return replace(catalogs, offers=tuple(o for o in catalogs.offers if o.provider in RENTED and o.gpu in cards))


@pytest.fixture(scope="module")
def kept(few: Catalogs) -> PlanReport:
    return optimize(asked(), few)


ONLY_UNMEASURED = {"gpus": {"allow": [UNMEASURED]}}


@pytest.fixture(scope="module")
def accepted(few: Catalogs) -> PlanReport:
    return optimize(asked(**ONLY_UNMEASURED), few)


def outcome(scenario: Scenario, catalogs: Catalogs) -> str:
    """How the search for a plan ends, whatever would be said of ways out."""
    return answered(Inquiry.of(scenario, catalogs)).solution.outcome


def test_a_plan_rests_on_what_was_measured_and_says_what_estimates_would_save(kept: PlanReport, few: Catalogs) -> None:
    assert {d.gpu for d in kept.deployments} == {MEASURED}
    assert kept.accepted == ()
    assert kept.bound_of.startswith("plans on machines of measured speed")
    assert kept.bound_of.removeprefix("plans") in kept.scope.statement
    assert "on measured speeds" in kept.explanation.summary
    bold = on_first_page(asked(unmeasured_performance="accept"), few)
    (row,) = (item for item in kept.explanation.opportunities if item.kind == "unmeasured")
    assert {d.gpu for d in bold.deployments} == {UNMEASURED}
    assert row.monthly_cost_usd == bold.monthly_cost_usd
    assert (row.difference_usd or Decimal(0)) < 0


def test_a_plan_on_estimates_is_made_where_there_is_no_other_and_says_so(accepted: PlanReport) -> None:
    assert accepted.outcome == "optimal"
    assert [item.field for item in accepted.accepted] == [SPEED]
    second = plan_answer(accepted, verbose=False).beside
    assert second.startswith(f"No plan rests on measured speeds alone: nobody measured {UNMEASURED}")
    assert " Measure first: one replica of llama-3-70b" in second
    assert "measured speed" not in accepted.bound_of
    assert "unmeasured_performance" not in str(accepted.inputs.scenario)


def test_there_is_no_plan_only_where_estimates_have_none(few: Catalogs) -> None:
    assert outcome(asked(unmeasured_performance="reject", **ONLY_UNMEASURED), few) == "infeasible"
    nobody = optimize(asked({"slo": {"tpot_ms": 0.01}}), few)
    assert nobody.outcome == "infeasible"
    assert SPEED not in {item.requirement for item in nobody.explanation.conflict}


def test_weights_of_few_bits_need_published_quality_where_anything_else_has_a_plan(
    few: Catalogs, catalogs: Catalogs
) -> None:
    unknown = on_first_page(asked({"model": UNPUBLISHED}), few)
    assert {(d.gpu, d.precision, d.quality) for d in unknown.deployments} == {(MEASURED, "int4", None)}
    assert [item.field for item in unknown.accepted] == ["workloads[chat].unknown_quality"]
    assert "no plan does without weights whose quality nobody published (int4)" in unknown.accepted[0].text
    together = next(o for o in catalogs.offers if (o.provider, o.gpu, o.gpu_count) == ("aws", MEASURED, 4))
    wide = optimize(asked({"model": UNPUBLISHED}), replace(few, offers=(*few.offers, together)))
    assert {d.precision for d in wide.deployments} == {"fp8"}
    rows = {item.change.partition(" (")[0]: item.monthly_cost_usd for item in wide.explanation.opportunities}
    assert rows["accepting int4 without published quality"] == unknown.monthly_cost_usd


def test_a_floor_is_passed_by_nothing_that_nobody_published(few: Catalogs) -> None:
    assert outcome(asked({"model": UNPUBLISHED, "min_quality": 0.9}), few) == "infeasible"


def test_what_is_rejected_never_serves_with_or_without_a_floor(few: Catalogs) -> None:
    strict = optimize(asked({"model": UNPUBLISHED, "unknown_quality": "reject"}), few)
    assert strict.outcome == "infeasible"
    assert "workloads[chat].unknown_quality" in {item.requirement for item in strict.explanation.conflict}


@pytest.mark.parametrize("policy", [{}, ONLY_UNMEASURED], ids=["measured", "accepted"])
def test_every_command_asks_the_question_that_the_plan_answers(
    policy: dict[str, Any], few: Catalogs, request: pytest.FixtureRequest
) -> None:
    report: PlanReport = request.getfixturevalue("accepted" if policy else "kept")
    scenario, cost = asked(**policy), report.monthly_cost_usd
    (gpu,) = {d.gpu for d in report.deployments}
    assert planned(scenario, few, Clock()).plan.monthly_cost_usd == cost
    best = compare(scenario, few, "gpu").choices[0]
    assert (best.choice, best.monthly_cost_usd) == (gpu, cost)
    assert why_not(scenario, few, Choice(gpu=gpu)).verdict == "chosen"
    rate = CHAT["requests_per_second"]
    assert isinstance(rate, float)
    swept = frontier(scenario, few, [Sweep("requests_per_second", rate, 2 * rate, 2)])
    assert swept.points[0].monthly_cost_usd == cost
    assert lifecycle(scenario, few).by_month[0].serving_usd == cost


@pytest.mark.parametrize("name", ["kept", "accepted"])
def test_a_plan_file_and_its_certificate_hold_what_was_kept_to(
    name: str, few: Catalogs, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    report: PlanReport = request.getfixturevalue(name)
    scenario = asked(**ONLY_UNMEASURED) if name == "accepted" else asked()
    plan, proof = tmp_path / "plan.json", tmp_path / "certificate.json"
    plan.write_text(as_json(report), encoding="utf-8")
    assert verify_plan(plan, few).passed
    found = certificate_of(report, scenario, few, Clock())
    assert found is not None
    proof.write_text(json.dumps(found.content), encoding="utf-8")
    assert all(check.passed for check in checks_of(proof, report, scenario, few))


@pytest.mark.parametrize(
    ("own", "policy", "check", "text"),
    [
        ({}, ONLY_UNMEASURED, "offers", f"somebody measured {UNMEASURED}"),
        ({"model": UNPUBLISHED}, {}, "quality", "quality of int4 with a fp8 KV cache is unknown"),
    ],
    ids=["speed", "quality"],
)
def test_a_plan_that_does_not_say_what_it_accepted_is_refused(
    own: dict[str, Any], policy: dict[str, Any], check: str, text: str, few: Catalogs, tmp_path: Path
) -> None:
    honest, silent = optimize(asked(own, **policy), few), tmp_path / "silent.json"
    silent.write_text(as_json(honest.model_copy(update={"accepted": ()})), encoding="utf-8")
    broken = [found for found in verify_plan(silent, few).checks if not found.passed]
    assert [found.name for found in broken] == [check]
    assert text in broken[0].text

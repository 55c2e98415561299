"""The plan shown is the simplest within a percentage of the cheapest, says what that costs, and stays while it may."""

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from support.gate_cases import baseline, judged, scenario, world
from support.scenarios import with_policy

from optimizer import load_scenario, optimize
from optimizer.inputs.catalog.records import Catalogs
from optimizer.plan.question.inquiry import Inquiry
from optimizer.plan.question.solving import solved
from optimizer.plan.record.report import PlanReport
from optimizer.plan.verify.report import verify_report
from optimizer.report.layout.text import answer_text
from optimizer.report.plan.sections import plan_answer

CHAT = "chat-8b"
Planned = Callable[[str], PlanReport]


def of(name: str, catalogs: Catalogs, **policy: Any) -> PlanReport:
    return optimize(with_policy(load_scenario(name), **policy), catalogs)


def test_the_first_line_is_the_simplest_and_the_second_what_the_cheapest_takes(planned: Planned) -> None:
    plan: PlanReport = planned(CHAT)
    found = plan.simplicity
    assert found is not None
    assert found.cheapest is not None
    assert plan.outcome == "optimal"
    assert (found.configurations, found.providers, found.regions, found.instances) == (1, 1, 1, 1)
    assert (found.cheapest.configurations, found.cheapest.instances) == (2, 2)
    assert plan.cheapest_usd == plan.bound_usd == found.cheapest.monthly_cost_usd
    assert plan.monthly_cost_usd == plan.cheapest_usd + found.premium_usd
    assert 0 < found.premium_percent <= found.percent
    assert found.proven
    first, second, *_ = answer_text(plan_answer(plan, verbose=False)).splitlines()
    assert "% of the cheapest, which is proven" in first
    assert second.startswith(f"${found.premium_usd:,.2f} less a month, ${plan.cheapest_usd:,.2f}, takes 2 config")


def test_without_a_percentage_it_is_the_bare_optimum(planned: Planned, catalogs: Catalogs) -> None:
    bare = of(CHAT, catalogs, simplicity_percent=0)
    assert bare.simplicity is not None
    assert bare.simplicity.cheapest is None
    assert bare.simplicity.text == ""
    assert bare.monthly_cost_usd == bare.cheapest_usd == planned(CHAT).cheapest_usd
    assert "proven optimal" in bare.explanation.summary


def test_what_admits_more_is_never_dearer(planned: Planned) -> None:
    plan: PlanReport = planned(CHAT)
    costs = [item.difference_usd for item in plan.explanation.opportunities if item.kind in ("spot", "sellers", "seed")]
    assert costs
    assert all(cost <= 0 for cost in costs if cost is not None)
    looser = [item.change_usd for item in plan.explanation.marginal_values if item.direction == "looser"]
    assert all(change <= 0 for change in looser if change is not None)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("configurations", 2),
        ("instances", 3),
        ("premium_usd", Decimal("7.00")),
        ("premium_percent", 0.1),
        ("percent", 9.0),
    ],
)
def test_verification_counts_again(field: str, value: object, planned: Planned, catalogs: Catalogs) -> None:
    plan: PlanReport = planned(CHAT)
    assert plan.simplicity is not None
    other = plan.model_copy(update={"simplicity": plan.simplicity.model_copy(update={field: value})})
    verdict = verify_report(other, load_scenario(CHAT), catalogs)
    assert [check.name for check in verdict.checks if not check.passed] == ["simplicity"]


def test_a_premium_beyond_the_percentage_is_refused(planned: Planned, catalogs: Catalogs) -> None:
    plan: PlanReport = planned(CHAT)
    strict = with_policy(load_scenario(CHAT), simplicity_percent=0.5)
    failed = {check.name for check in verify_report(plan, strict, catalogs).checks if not check.passed}
    assert "simplicity" in failed


def test_cut_short_it_is_said(catalogs: Catalogs) -> None:
    inquiry = Inquiry.of(load_scenario(CHAT), catalogs)
    cheapest = solved(replace(inquiry, simplifies=False))
    assert cheapest.cheapest is None
    plan = optimize(load_scenario(CHAT), catalogs, work_limit=1)
    assert plan.simplicity is None or plan.simplicity.proven or "simpler plans" in " ".join(plan.scope.not_considered)


@pytest.mark.parametrize(("price", "kept"), [("0.501", True), ("0.52", True), ("0.54", False)])
def test_a_price_that_moves_a_little_swaps_no_fleet(price: str, kept: bool, catalogs: Catalogs, tmp_path: Path) -> None:
    """An L4 ran before; today an L40S costs 0.50 USD/h."""
    file = scenario(tmp_path)
    before = baseline(file, world(catalogs, l4="0.50", l40s="0.60"))
    assert {d.gpu for d in before.plan.deployments} == {"l4"}
    today = world(catalogs, l4=price, l40s="0.50")
    report = judged(file, today, before)
    usd = Decimal(price) * 730 if kept else Decimal("0.50") * 730
    assert report.after_usd == usd.quantize(Decimal("0.01"))
    assert report.scenarios[0].after_usd == report.after_usd


def test_what_no_longer_keeps_its_promises_does_not_stay(catalogs: Catalogs, tmp_path: Path) -> None:
    today = world(catalogs, l4="0.50", l40s="0.52")
    before = baseline(scenario(tmp_path), today)
    report = judged(scenario(tmp_path, ttft=60), today, before)
    assert report.after_usd == Decimal("379.60")


def test_what_runs_today_stays_without_a_change(catalogs: Catalogs, tmp_path: Path) -> None:
    file = scenario(tmp_path)
    before = baseline(file, world(catalogs, l4="0.50", l40s="0.60"))
    moving = with_policy(file.scenario, migration={"in_force": before.running, "usd_per_change": 1.0})
    plan = optimize(moving, world(catalogs, l4="0.51", l40s="0.50"))
    assert plan.simplicity is not None
    assert plan.simplicity.kept
    assert plan.migration is not None
    assert (plan.migration.started, plan.migration.stopped) == (0, 0)
    assert {d.gpu for d in plan.deployments} == {"l4"}

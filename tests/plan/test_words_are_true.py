"""What a reader is told is what was tried: whole conflicts, the cheapest way out, every limit that binds."""

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from support.scenarios import on_first_page, with_policy
from support.shared import MOST_WORK

from optimizer import load_scenario, optimize
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.scenario.scenario import Scenario
from optimizer.plan.explain.binding import requirements
from optimizer.plan.question.inquiry import Inquiry
from optimizer.plan.record.fleet import PlannedFleet
from optimizer.plan.record.report import PlanReport

CHAT: dict[str, Any] = {
    "name": "chat", "model": "llama-3.1-8b", "requests_per_second": 2, "input_tokens": 1024, "output_tokens": 256,
    "slo": {"ttft_ms": 800, "tpot_ms": 50},
}  # fmt: skip
NIGHTS_OFF = {"hourly": [0.0] * 8 + [1.0] * 2 + [0.0] * 14, "peak_requests_per_second": 2.5}


def case(policy: dict[str, Any], **own: Any) -> Scenario:
    return Scenario.model_validate({"name": "case", "workloads": [CHAT | own], "policy": policy})


def answered(catalogs: Catalogs, policy: dict[str, Any], **own: Any) -> PlanReport:
    return optimize(case(policy, **own), catalogs)


def blamed(report: PlanReport) -> set[str]:
    return {item.requirement for item in report.explanation.conflict}


@pytest.mark.parametrize(
    ("field", "asked"),
    [("storage_gb_per_instance", 100), ("egress", {"bytes_per_output_token": 300})],
)
def test_a_price_that_nobody_knows_is_part_of_the_conflict(field: str, asked: Any, catalogs: Catalogs) -> None:
    """hotaisle sells what is wanted; it is the storage, or the egress, whose price nobody knows there."""
    policy = {"providers": {"allow": ["hotaisle"]}}
    free = on_first_page(case(policy), catalogs)
    report = answered(catalogs, policy | {field: asked})
    assert blamed(report) == {"policy.providers", f"policy.{field}"}
    ways = {tuple(change.field for change in way.changes): way for way in report.explanation.relaxations}
    assert ways[f"policy.{field}",].monthly_cost_usd == free.monthly_cost_usd


def test_a_least_billed_time_is_part_of_the_conflict_under_a_budget(catalogs: Catalogs) -> None:
    own = {"requests_per_second": None, "demand": NIGHTS_OFF, "slo": {"tpot_ms": 50}}
    cards = tuple(offer for offer in catalogs.offers if (offer.provider, offer.gpu) == ("runpod", "l4"))
    few = replace(catalogs, offers=cards)
    policy: dict[str, Any] = {"elastic": {"start_up_minutes": 0}}
    free = on_first_page(case(policy, **own), few)
    assert free.monthly_cost_usd is not None
    policy["elastic"]["minimum_billing_hours"] = 24
    policy["max_monthly_usd"] = float(free.monthly_cost_usd * Decimal("1.2"))
    report = answered(few, policy, **own)
    assert blamed(report) == {"policy.max_monthly_usd", "policy.elastic.minimum_billing_hours"}
    assert any(
        [change.field for change in way.changes] == ["policy.elastic.minimum_billing_hours"]
        and way.monthly_cost_usd == free.monthly_cost_usd
        for way in report.explanation.relaxations
    )


def test_the_cheapest_way_out_is_no_dearer_than_dropping_what_it_loosens(market_of: Callable[..., Catalogs]) -> None:
    """The tightest limit with a plan is absurdly dear; the knee and the removal stand beside it."""
    few = market_of("lambda", "nebius", "verda")
    report = answered(few, {}, slo={"ttft_ms": 5, "tpot_ms": 50})
    dropped = on_first_page(case({}, slo={"tpot_ms": 50}), few).monthly_cost_usd
    ways = report.explanation.relaxations
    assert dropped is not None
    assert ways[0].monthly_cost_usd <= dropped * Decimal("1.05")
    assert [way.monthly_cost_usd for way in ways] == sorted(way.monthly_cost_usd for way in ways)


def test_nothing_is_said_to_have_failed_where_nothing_was_verified(market_of: Callable[..., Catalogs]) -> None:
    report = answered(market_of("lambda"), {"max_gpus": 0})
    assert report.outcome == "infeasible"
    assert report.verification.passed is None
    assert report.verification.checks == []


def test_the_share_of_a_provider_is_among_what_binds(catalogs: Catalogs) -> None:
    """As shipped it costs a seventh of a month; to tell that takes more work than what is shipped is planned with."""
    report = optimize(load_scenario("three-clouds"), catalogs, work_limit=2 * MOST_WORK)
    binding = {item.requirement for item in report.explanation.binding}
    assert "policy.max_provider_share" in binding


def test_hosted_apis_are_neither_spot_nor_replicas(
    asked: Callable[[str], Inquiry], fleet: Callable[[str], PlannedFleet]
) -> None:
    """They serve most of the night here; a plan of nothing else has no replica to spare."""
    inquiry, plan = asked("api-at-night"), fleet("api-at-night")
    assert plan.hosted
    scenario = with_policy(inquiry.scenario, max_spot_share=0.5, spare_replicas=1)
    measured = {item.requirement: item.value for item in requirements(scenario, inquiry.catalogs, plan)}
    assert measured["policy.max_spot_share"] == 0
    by_apis = replace(plan, deployments=(), purchases=())
    fields = {item.requirement for item in requirements(scenario, inquiry.catalogs, by_apis)}
    assert "policy.spare_replicas" not in fields
    assert "policy.max_spot_share" in fields

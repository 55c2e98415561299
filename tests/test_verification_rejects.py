"""A plan that was tampered with in any way is rejected, and the check that rejects it is the right one."""

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal

import pytest
from conftest import with_policy, with_workload

from optimizer import load_scenario
from optimizer.inputs.catalog import Catalogs
from optimizer.inputs.scenario import Scenario
from optimizer.plan.fleet import Deployment
from optimizer.plan.plan import PlanReport
from optimizer.plan.verify import Claim, verify


@pytest.fixture(scope="module")
def claim(catalogs: Catalogs, planned: Callable[[str], PlanReport]) -> Claim:
    report = planned("chat-8b")
    assert report.monthly_cost_usd is not None
    return Claim(load_scenario("chat-8b"), catalogs, report.deployments, report.purchases, report.monthly_cost_usd)


def failed(claim: Claim) -> set[str]:
    return {check.name for check in verify(claim).checks if not check.passed}


def tampered(claim: Claim, **changes: object) -> Claim:
    first, *others = claim.deployments
    return replace(claim, deployments=[first.model_copy(update=changes), *others])


def test_the_untouched_plan_passes(claim: Claim) -> None:
    assert failed(claim) == set()


def test_a_lower_total_is_noticed(claim: Claim) -> None:
    assert "cost" in failed(replace(claim, monthly_cost_usd=claim.monthly_cost_usd - Decimal("0.02")))


def test_fewer_instances_than_replicas_need_are_noticed(claim: Claim) -> None:
    fewer = [claim.purchases[0].model_copy(update={"instances": 0})]
    assert {"cost", "instances"} <= failed(replace(claim, purchases=fewer))


def test_more_replicas_than_fit_are_noticed(claim: Claim) -> None:
    assert "instances" in failed(tampered(claim, replicas=claim.deployments[0].replicas + 100))


def test_a_deployment_nobody_bought_is_noticed(claim: Claim) -> None:
    assert "instances" in failed(tampered(claim, region="nowhere-1"))


def test_less_traffic_served_is_noticed(claim: Claim) -> None:
    classes = [
        item.model_copy(update={"requests_per_second": 0.9 * item.requests_per_second}) for item in served(claim)
    ]
    assert "demand" in failed(tampered(claim, classes=classes))


def test_more_traffic_than_latency_allows_is_noticed(claim: Claim) -> None:
    classes = [item.model_copy(update={"requests_per_second": 10 * item.requests_per_second}) for item in served(claim)]
    assert "service_levels" in failed(tampered(claim, classes=classes))


def served(claim: Claim) -> list[object]:
    return list(claim.deployments[0].classes)


def test_running_too_close_to_the_maximum_is_noticed(claim: Claim) -> None:
    load = claim.deployments[0].max_requests_per_second
    assert "utilization" in failed(tampered(claim, requests_per_second=load))


def test_a_model_that_does_not_fit_is_noticed(claim: Claim) -> None:
    assert "memory" in failed(tampered(claim, precision="bf16", gpu="rtx5090", model="llama-3.1-70b"))


@pytest.mark.parametrize(
    ("policy", "check"),
    [
        ({"providers": {"deny": ["*"]}}, "offers"),
        ({"regions": {"allow": ["mars-*"]}}, "offers"),
        ({"gpus": {"deny": ["*"]}}, "offers"),
        ({"pricing_terms": ["spot"]}, "offers"),
        ({"provider_kinds": ["marketplace"]}, "offers"),
        ({"max_price_age_days": 1}, "offers"),
        ({"engines": ["no-such-engine"]}, "offers"),
        ({"precisions": ["fp4"]}, "offers"),
        ({"max_gpus": 0}, "totals"),
        ({"max_monthly_usd": 1.0}, "totals"),
        ({"max_power_kw": 0.01}, "totals"),
        ({"min_providers": 3}, "spread"),
        ({"min_regions": 3}, "spread"),
        ({"quotas": [{"provider": "*", "max_gpus": 0}]}, "spread"),
        ({"spare_replicas": 50}, "service_levels"),
        ({"max_utilization": 0.1}, "utilization"),
        ({"confidence": 0.999}, "service_levels"),
    ],
)
def test_a_stricter_policy_rejects_the_same_plan(claim: Claim, policy: dict[str, object], check: str) -> None:
    assert check in failed(replace(claim, scenario=with_policy(claim.scenario, **policy)))


@pytest.mark.parametrize(
    ("workload", "check"),
    [
        ({"requests_per_second": 500.0}, "demand"),
        ({"slo": {"ttft_ms": {"p95": 1.0}}}, "service_levels"),
        ({"slo": {"tpot_ms": {"mean": 0.01}}}, "service_levels"),
        ({"slo": {"e2e_ms": {"p99": 1.0}}}, "service_levels"),
        ({"min_quality": 1.0}, "quality"),
    ],
)
def test_a_stricter_workload_rejects_the_same_plan(claim: Claim, workload: dict[str, object], check: str) -> None:
    assert check in failed(replace(claim, scenario=with_workload(claim.scenario, **workload)))


def test_distinct_configurations_and_spot_are_counted(claim: Claim) -> None:
    first: Deployment = claim.deployments[0]
    other = first.model_copy(update={"precision": "bf16", "pricing_term": "spot"})
    scenario: Scenario = with_policy(claim.scenario, max_distinct_configurations=1, max_spot_share=0.1)
    assert {"totals", "spread"} <= failed(replace(claim, scenario=scenario, deployments=[first, other]))

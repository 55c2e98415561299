"""Each family of the program has a shipped scenario whose plan is another one without it."""

from collections.abc import Callable
from pathlib import Path
from shutil import copytree

import pytest
from support.scenarios import BY_FAMILY, proven

from optimizer import load_catalogs, load_scenario
from optimizer.inputs.catalog.shipped import shipped_dir
from optimizer.inputs.scenario.scenario import Scenario
from optimizer.plan.question.inquiry import Inquiry
from optimizer.plan.record.fleet import PlannedFleet

StatedRequirement = Callable[[str], Inquiry]
Fleet = Callable[[str], PlannedFleet]

WITHOUT: list[tuple[str, str, dict[str, object], str]] = [
    ("office-hours", "demand over time", {"demand": None, "requests_per_second": 24.0}, "dearer"),
    ("office-hours", "least replicas", {"min_replicas": 0}, "cheaper"),
    ("office-hours", "committed terms", {"policy.pricing_terms": ["on_demand"]}, "dearer"),
    ("office-hours", "starts", {"policy.elastic.start_up_minutes": 0}, "cheaper"),
    ("spot-summaries", "spot", {"policy.pricing_terms": ["on_demand"]}, "dearer"),
    ("spot-summaries", "survived loss of a spot offer", {"policy.survive.loss_of": []}, "cheaper"),
    ("spot-summaries", "interruptions", {"policy.spot": None}, "cheaper"),
    ("spot-summaries", "share on spot", {"policy.max_spot_share": None}, "cheaper"),
    ("own-rack", "owned hardware", {"policy.hosting": ["rented"]}, "dearer"),
    ("own-rack", "survived loss of an instance", {"policy.survive.loss_of": []}, "cheaper"),
    ("api-at-night", "hosted APIs", {"policy.hosting": ["rented"]}, "dearer"),
    ("api-at-night", "rented GPUs", {"policy.hosting": ["serverless"]}, "dearer"),
    ("three-clouds", "survived loss of a provider", {"policy.survive.loss_of": []}, "cheaper"),
    ("three-clouds", "share of a provider", {"policy.max_provider_share": None}, "cheaper"),
    ("eu-residency", "countries of a workload", {"countries": {}}, "cheaper"),
    ("eu-residency", "carbon", {"policy.max_carbon_kg_per_month": None}, "cheaper"),
    ("eu-residency", "storage", {"policy.storage_gb_per_instance": 0}, "cheaper"),
    ("model-choice", "alternative models", {"alternatives": []}, "dearer"),
    ("one-engine", "number of engines", {"policy.max_engines": None}, "cheaper"),
    ("one-engine", "robustness", {"policy.robust": {}}, "cheaper"),
    ("moving-day", "plan in force", {"policy.migration": None}, "cheaper"),
    ("account-limits", "quotas", {"policy.quotas": []}, "cheaper"),
    ("account-limits", "least regions", {"policy.min_regions": 1}, "cheaper"),
    ("shared-replicas", "mixes of classes", {"policy.mix_classes": False}, "dearer"),
    ("power-pledge", "power", {"policy.max_power_kw": None}, "cheaper"),
    ("power-pledge", "least providers", {"policy.min_providers": 1}, "cheaper"),
    ("billed-by-the-day", "minimum billing", {"policy.elastic.minimum_billing_hours": {}}, "cheaper"),
    ("two-shifts", "machines keep what is loaded", {"policy.elastic.repartition_minutes": 0}, "cheaper"),
    ("token-scores", "egress", {"policy.egress": None}, "cheaper"),
    ("moving-day", "limit on changes", {"policy.migration.max_changes": None}, "cheaper"),
]
"""Scenario, family, fields of its first workload or its policy as they are without it, and what the plan is then."""


def changed(scenario: Scenario, fields: dict[str, object]) -> Scenario:
    """The scenario with some fields of its policy, or of its first workload, set."""
    content = scenario.model_dump()
    for path, value in fields.items():
        *outer, last = path.split(".")
        record = content if outer else content["workloads"][0]
        for step in outer:
            record = record[step]
        record[last] = value
    return Scenario.model_validate(content)


@pytest.mark.parametrize("name", BY_FAMILY)
def test_the_plan_is_proven_verified_and_described(name: str, fleet: Fleet) -> None:
    assert fleet(name).monthly_cost_usd > 0
    assert load_scenario(name).description


@pytest.mark.parametrize(("name", "family", "fields", "effect"), WITHOUT, ids=[f"{w[0]}-{w[1]}" for w in WITHOUT])
def test_without_the_family_the_plan_is_another(
    name: str, family: str, fields: dict[str, object], effect: str, asked: StatedRequirement, fleet: Fleet
) -> None:
    with_it = fleet(name).monthly_cost_usd
    without = proven(asked(name).changed(changed(asked(name).scenario, fields))).monthly_cost_usd
    assert (without > with_it) if effect == "dearer" else (without < with_it), f"{family}: {with_it} then {without}"


@pytest.mark.parametrize(("file", "effect"), [("availability.csv", "cheaper"), ("discounts.csv", "dearer")])
def test_without_a_file_of_ones_own_terms_the_plan_is_another(
    file: str, effect: str, tmp_path: Path, fleet: Fleet
) -> None:
    overlay = copytree(shipped_dir("scenarios") / "overlays" / "own-rack", tmp_path / "overlay")
    (overlay / file).unlink()
    with_it = fleet("own-rack").monthly_cost_usd
    without = proven(Inquiry.of(load_scenario("own-rack"), load_catalogs(overlay))).monthly_cost_usd
    assert (without > with_it) if effect == "dearer" else (without < with_it)


def test_each_family_shows_in_its_fleet(fleet: Fleet) -> None:
    week = fleet("office-hours")
    assert {p.always_paid for p in week.purchases} == {True, False}
    assert any(len({entry.instances for entry in p.schedule}) > 1 for p in week.purchases)
    assert sum(p.offer.endswith("/spot") for p in fleet("spot-summaries").purchases) > 1
    assert any(p.offer.startswith("owned/") for p in fleet("own-rack").purchases)
    evening = fleet("api-at-night")
    assert evening.hosted
    assert evening.deployments
    assert len({d.provider for d in fleet("three-clouds").deployments}) == 3
    assert {d.model for d in fleet("model-choice").deployments} == {"qwen2.5-32b"}
    assert len({d.engine for d in fleet("one-engine").deployments}) == 1
    by_the_day = fleet("billed-by-the-day").purchases
    assert {p.offer.split("/")[0]: bool(p.runs) for p in by_the_day} == {"aws": False, "nebius": True}
    assert all(run.hours >= 24 for p in by_the_day for run in p.runs)
    assert {d.provider: bool(d.egress_usd) for d in fleet("token-scores").deployments} == {
        "aws": True,
        "coreweave": False,
    }
    moved = fleet("moving-day").migration
    assert moved is not None
    assert (moved.started, moved.stopped) == (2, 0)

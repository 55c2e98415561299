"""What stands together is lost together: plans say what, buy no more than a loss takes, and reports show it."""

from collections.abc import Callable
from typing import Any

import pytest
from support.scenarios import proven

from optimizer import load_catalogs
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.scenario.scenario import Scenario
from optimizer.performance.candidates.periods import periods
from optimizer.plan.grounds.warnings import warnings
from optimizer.plan.question.inquiry import Inquiry
from optimizer.plan.record.fleet import PlannedFleet
from optimizer.report.layout.elements import Table
from optimizer.report.plan.placement import placement_section

TWO_MODELS = [
    {
        "name": name, "model": model, "requests_per_second": 12, "input_tokens": 1024, "output_tokens": 256,
        "slo": {"ttft_ms": 2000, "tpot_ms": 50},
    }
    for name, model in (("chat", "llama-3.1-8b"), ("other", "qwen2.5-7b"))
]  # fmt: skip
ONE_BOX = {"gpus": {"allow": ["l40s"]}, "providers": {"allow": ["coreweave"]}}
"""Boxes of eight GPUs, at 13,140 USD a month."""

Boxes = Callable[..., PlannedFleet]


@pytest.fixture
def boxes(catalogs: Catalogs) -> Boxes:
    def plan(workloads: int = 2, **policy: Any) -> PlannedFleet:
        said = {"name": "boxes", "workloads": TWO_MODELS[:workloads], "policy": ONE_BOX | policy}
        return proven(Inquiry.of(Scenario.model_validate(said), catalogs))

    return plan


def test_two_boxes_survive_the_loss_of_either(boxes: Boxes) -> None:
    """Each model may be all that an instance could hold of it, but not both of them at once."""
    fleet = boxes(survive={"loss_of": "instance"}, max_gpus=16)
    assert fleet.monthly_cost_usd == 26280
    (placed,) = fleet.placement
    assert placed.count == 2
    assert {each.workload for each in placed.contents} == {"chat", "other"}
    table = placement_section(fleet.placement, fleet.deployments, len(fleet.periods)).table
    ((_, count, words),) = table.rows
    assert count == "2"
    assert words.startswith("1× chat fp8")


def test_nothing_is_placed_where_no_instance_need_be_lost(boxes: Boxes) -> None:
    fleet = boxes(survive={"loss_of": "region"}, providers={"allow": ["coreweave", "lambda"]}, gpus={})
    assert fleet.placement == ()
    assert placement_section(fleet.placement, fleet.deployments, len(fleet.periods)).table == Table()


def test_a_spare_on_the_same_instance_is_named_as_none(boxes: Boxes) -> None:
    said = "spare replicas are no help when the instance fails"
    asked = {"name": "boxes", "workloads": TWO_MODELS[:1], "policy": ONE_BOX | {"spare_replicas": 1}}
    apart = {"spare_replicas": 1, "spare_on_other_instances": True}
    for policy, boxes_bought in (({"spare_replicas": 1}, 1), (apart, 2)):
        scenario = Scenario.model_validate(asked | {"policy": ONE_BOX | policy})
        fleet = boxes(workloads=1, **policy)
        assert sum(purchase.instances for purchase in fleet.purchases) == boxes_bought
        assert sum(item.count for item in fleet.placement) == boxes_bought * ("spare_on_other_instances" in policy)
        found = warnings(scenario, load_catalogs(), fleet, periods(scenario))
        assert any(said in text for text in found) == (boxes_bought == 1)

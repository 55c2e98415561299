"""A baseline is believed only where it fits together: an edit is refused with what does not fit."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.command import Command

from optimizer.answers.gate.reading import read_baselines
from optimizer.base.errors import InputError
from optimizer.plan.record.report import PlanReport
from optimizer.report.export import as_json

Edit = Callable[[dict[str, Any]], object]


def all_but_what_is_bought(plan: dict[str, Any], factor: float) -> None:
    """The month, what runs and the bill by kind by the same factor, so that these still add up."""
    for record in (plan, *plan["deployments"]):
        record["monthly_cost_usd"] = f"{float(record['monthly_cost_usd']) * factor:.2f}"
    plan["costs"]["compute_usd"] = f"{float(plan['costs']['compute_usd']) * factor:.2f}"


def everything(plan: dict[str, Any], factor: float, *, price: bool) -> None:
    """Every cost of a plan of instances by the same factor, by way of its prices or of its hours."""
    all_but_what_is_bought(plan, factor)
    for paid in plan["purchases"]:
        paid["monthly_cost_usd"] = f"{float(paid['monthly_cost_usd']) * factor:.2f}"
        if price:
            paid["price_usd_per_hour"] = str(float(paid["price_usd_per_hour"]) * factor)
            for d in plan["deployments"]:
                d["price_usd_per_hour"] = paid["price_usd_per_hour"]
        else:
            paid["instance_hours_per_month"] *= factor


def run_twice(plan: dict[str, Any], *, instances: int) -> None:
    """Two replicas at all times on so many instances, for the money of one."""
    plan["deployments"][0]["replicas"] = plan["deployments"][0]["schedule"][0]["replicas"] = 2
    plan["purchases"][0]["schedule"][0]["instances"] = instances


@pytest.fixture(scope="module")
def plan(planned: Callable[[str], PlanReport]) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(as_json(planned("ci-gate")))
    return content


def test_a_baseline_elsewhere_is_named_without_the_way_to_it(
    plan: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pipeline keeps it in a folder of another name each time, and the same gate gives the same bytes."""
    (tmp_path / "plans").mkdir()
    (tmp_path / "plans" / "1.json").write_text(json.dumps(plan), encoding="utf-8")
    (baseline,) = read_baselines([tmp_path / "plans"])
    assert baseline.named == "plans/1.json"
    monkeypatch.chdir(tmp_path)
    assert read_baselines([Path("plans")])[0].named == str(Path("plans/1.json"))
    assert baseline.named == baseline.file


def test_a_plan_as_it_was_written_fits(plan: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(plan))
    (baseline,) = read_baselines([path])
    assert f"{baseline.usd:.2f}" == plan["monthly_cost_usd"]


@pytest.mark.parametrize(
    ("edit", "says"),
    [
        (lambda plan: plan.update(monthly_cost_usd="9000.00"), "costs by kind add up to"),
        (lambda plan: plan.update(monthly_cost_usd="-5.00"), "greater than or equal to 0"),
        (lambda plan: plan.update(monthly_cost_usd=None), "the outcome is optimal with no cost"),
        (lambda plan: plan.update(outcome="infeasible"), "the outcome is infeasible with a cost"),
        (lambda plan: plan.update(schema_version=2), "schema version 2, this program reads 1"),
        (lambda plan: plan.pop("schema_version"), "schema_version: not a plan"),
        (lambda plan: plan.update(scenario="other"), "other was planned from ci-gate"),
        (
            lambda plan: plan["inputs"]["scenario"]["workloads"][0].update(model="x"),
            "is not what inputs.scenario_sha256",
        ),
        (lambda plan: plan["deployments"][0].update(monthly_cost_usd="1.00"), "hosted APIs and changes add up to"),
        (
            lambda plan: all_but_what_is_bought(plan, 10.0),
            "but purchases, hosted APIs, egress and changes add up to 514.30",
        ),
        (lambda plan: plan.pop("purchases"), "purchases, hosted APIs, egress and changes add up to 0.00"),
        (lambda plan: plan["purchases"][0].pop("monthly_cost_usd"), "purchases.0.monthly_cost_usd: not a plan"),
        (lambda plan: plan.pop("costs"), "costs: a plan that costs something has its bill by kind here"),
        (lambda plan: plan["purchases"][0].update(price_usd_per_hour="0.01"), "price times hours is"),
        (lambda plan: plan["purchases"][0].update(instance_hours_per_month=float("inf")), "finite number"),
        (lambda plan: plan["deployments"][0].update(monthly_cost_usd="NaN"), "finite number"),
        (lambda plan: plan["deployments"][0].update(replicas=-1), "greater than or equal to 0"),
        (lambda plan: plan["deployments"][0].update(replicas=2), "deployments[0].replicas: 2, but its schedule runs 1"),
        (lambda plan: run_twice(plan, instances=1), "replicas on 2 GPUs of gcp/us-east4/g2-standard-4/1xl4/on_demand"),
        (lambda plan: run_twice(plan, instances=2), "instance_hours_per_month: 730, but its schedule runs 1,460"),
        (lambda plan: plan["deployments"][0].update(gpu="h100-sxm"), "1xh100-sxm/on_demand, which no purchase is of"),
        (lambda plan: plan["deployments"][0].update(price_usd_per_hour="0.2"), "0.2, but gcp/us-east4/g2-standard-4"),
        (lambda plan: plan["deployments"][0].update(tensor_parallel=2), "1, but its degrees of parallelism take 2"),
    ],
)
def test_what_does_not_fit_is_named(plan: dict[str, Any], edit: Edit, says: str, tmp_path: Path) -> None:
    edited = json.loads(json.dumps(plan))
    edit(edited)
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(edited).replace("Infinity", "1e999"))
    with pytest.raises(InputError) as refused:
        read_baselines([path])
    assert says in str(refused.value)


@pytest.mark.parametrize("amount", ["1e999", '"1e999"', "1e400", "123456789012345678901234567890", "-1e999"])
def test_no_number_ends_the_command(plan: dict[str, Any], amount: str, optimizer: Command, tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    content = json.dumps(plan | {"monthly_cost_usd": "HERE"})
    path.write_text(content.replace('"HERE"', amount))
    comment = tmp_path / "comment.md"
    ended = optimizer("gate", "ci-gate", "--baseline", str(path), "--comment", str(comment))
    assert (ended.code, ended.out) == (2, "")
    assert "monthly_cost_usd: not a plan" in ended.err
    assert "Gate not evaluated" in comment.read_text()


@pytest.mark.parametrize(
    ("price", "says"),
    [(True, "price_usd_per_hour: {other}, but the catalogs that it was made on say"), (False, "costs {usd} (the file")],
)
def test_a_plan_edited_all_through_is_held_against_its_inputs(
    price: bool, says: str, plan: dict[str, Any], optimizer: Command, tmp_path: Path
) -> None:
    edited = json.loads(json.dumps(plan))
    everything(edited, 2.0, price=price)
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(edited))
    assert read_baselines([path])
    ended = optimizer("gate", "ci-gate", "--baseline", str(path), "--max-increase-percent", "5")
    assert ended.code == 2
    assert says.format(usd=plan["monthly_cost_usd"], other=edited["purchases"][0]["price_usd_per_hour"]) in ended.err

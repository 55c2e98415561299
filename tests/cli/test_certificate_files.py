"""Certificates through the command line: made, checked, and refused for another plan or another file."""

import json
import re
from decimal import Decimal
from pathlib import Path

import pytest
from support.command import Command

from optimizer.base.memory import Memory
from optimizer.base.units import HOURS_PER_MONTH


def test_a_plan_and_its_certificate(optimizer: Command, tmp_path: Path) -> None:
    plan, file = str(tmp_path / "plan.json"), tmp_path / "certificate.json"
    made = optimizer("plan", "deepseek-v3", "--format", "json", "--output", plan, "--certificate", str(file))
    assert made.code == 0, made.err
    kept = optimizer("verify", plan, "--certificate", str(file))
    assert kept.code == 0, kept.out
    cheapest = json.loads(Path(plan).read_text(encoding="utf-8"))["cheapest_usd"]
    assert re.search(rf"no plan costs less than {cheapest[:-2]}\d\d USD a month", kept.out)
    content = json.loads(file.read_text(encoding="utf-8"))
    content["problem"]["offers"][0]["usd_per_hour"] += 1.0
    file.write_text(json.dumps(content), encoding="utf-8")
    other = optimizer("verify", plan, "--certificate", str(file))
    assert other.code == 1
    assert "problem.offers[0].usd_per_hour is" in other.out
    file.write_text('{"proof": {},' + json.dumps(content)[1:], encoding="utf-8")
    assert "a field stands twice" in optimizer("verify", plan, "--certificate", str(file)).out
    file.write_text("{}", encoding="utf-8")
    assert optimizer("verify", plan, "--certificate", str(file)).code == 1
    assert optimizer("verify", plan, "--certificate", str(tmp_path / "none.json")).code == 2


def test_a_plan_whose_cost_is_rounded_up_is_certified_too(optimizer: Command, tmp_path: Path) -> None:
    plan, file = tmp_path / "plan.json", str(tmp_path / "certificate.json")
    arguments = ("ci-gate", "--format", "json", "--output", str(plan), "--certificate", file)
    assert optimizer("plan", *arguments).code == 0
    told = json.loads(plan.read_text(encoding="utf-8"))
    hourly = Decimal(told["purchases"][0]["price_usd_per_hour"])
    assert hourly * HOURS_PER_MONTH < Decimal(told["bound_usd"])
    kept = optimizer("verify", str(plan), "--certificate", file)
    assert kept.code == 0, kept.out


def test_that_there_is_no_plan_is_certified(optimizer: Command, tmp_path: Path) -> None:
    plan, file = str(tmp_path / "plan.json"), str(tmp_path / "certificate.json")
    arguments = ("infeasible-latency", "--format", "json", "--output", plan, "--certificate", file)
    assert optimizer("plan", *arguments).code == 3
    kept = optimizer("verify", plan, "--certificate", file)
    assert kept.code == 0, kept.out
    assert "there is no plan" in kept.out


def test_a_week_has_no_certificate(optimizer: Command, tmp_path: Path) -> None:
    refused = optimizer("plan", "office-hours", "--certificate", str(tmp_path / "certificate.json"))
    assert refused.code == 2
    assert "steady demand" in refused.err


def test_a_certificate_holds_no_more_memory_than_it_may(
    optimizer: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    of_command_and_plan = iter([Memory(0.001), Memory()])
    monkeypatch.setattr("optimizer.cli.plans.plan.Memory", lambda _: next(of_command_and_plan))
    file = tmp_path / "certificate.json"
    said = optimizer("plan", "ci-gate", "--certificate", str(file))
    assert (said.code, file.exists()) == (0, False)
    assert "the memory limit was reached before it" in " ".join(said.out.split())

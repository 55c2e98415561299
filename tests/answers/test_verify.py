"""A plan file keeps its promises as it was written, and no figure of it can be changed unseen."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.command import Command

from optimizer import InputError, PlanReport, Verification, as_json, verify_plan
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.catalog.shipped import shipped_dir

Planned = Callable[[str], PlanReport]
Written = Callable[[str], Path]

CHEAP = ["chat-8b", "three-clouds", "office-hours", "api-at-night", "moving-day", "token-scores"]
OTHERS = sorted(
    {file.stem for file in shipped_dir("scenarios").glob("*.yaml")} - {*CHEAP, "infeasible-latency"},
)


@pytest.fixture
def written(planned: Planned, tmp_path: Path) -> Written:
    """The plan file of a shipped scenario."""

    def file(name: str) -> Path:
        path = tmp_path / f"{name}.json"
        path.write_text(as_json(planned(name)), encoding="utf-8")
        return path

    return file


def broken(found: Verification) -> dict[str, str]:
    return {check.name: check.text for check in found.checks if not check.passed}


@pytest.mark.parametrize("name", CHEAP)
def test_a_plan_file_holds_as_it_was_written(name: str, written: Written, catalogs: Catalogs) -> None:
    assert broken(verify_plan(written(name), catalogs)) == {}


@pytest.mark.slow("plans every shipped scenario")
@pytest.mark.parametrize("name", OTHERS)
def test_every_other_plan_file_holds(name: str, written: Written, catalogs: Catalogs) -> None:
    assert broken(verify_plan(written(name), catalogs)) == {}


TAMPERED: dict[str, tuple[str, str, Any, str]] = {
    "total": ("chat-8b", "monthly_cost_usd", "1.00", "cost"),
    "replicas": ("chat-8b", "deployments.0.schedule.0.replicas", 40, "instances"),
    "demand asked": ("chat-8b", "inputs.scenario.workloads.0.requests_per_second", 500.0, "demand"),
    "latency": ("chat-8b", "deployments.0.ttft_ms.p95", 1.0, "service_levels"),
    "higher latency": ("chat-8b", "deployments.0.ttft_ms.p95", 1e4, "service_levels"),
    "latency of a class": ("chat-8b", "deployments.0.classes.0.e2e_bound_ms.mean", 1.0, "service_levels"),
    "concurrency": ("chat-8b", "deployments.0.concurrency", 1.0, "service_levels"),
    "highest concurrency": ("chat-8b", "deployments.0.max_concurrency", 1e4, "service_levels"),
    "free memory": ("chat-8b", "deployments.0.vram.free_gib", 70.0, "memory"),
    "weights": ("chat-8b", "deployments.0.vram.weights_gib", 1.0, "memory"),
    "usable memory": ("chat-8b", "deployments.0.vram.usable_gib", 500.0, "memory"),
    "working space": ("chat-8b", "deployments.0.vram.activations_gib", 0.1, "memory"),
    "price": ("chat-8b", "deployments.0.price_usd_per_hour", "0.01", "figures"),
    "price of a purchase": ("chat-8b", "purchases.0.price_usd_per_hour", "0.01", "figures"),
    "storage of a purchase": ("chat-8b", "purchases.0.storage_usd_per_hour", "0.01", "figures"),
    "idle GPUs": ("chat-8b", "purchases.0.idle_gpus", 7, "figures"),
    "GPUs": ("chat-8b", "deployments.0.total_gpus", 9, "figures"),
    "instances": ("chat-8b", "deployments.0.instances", 9, "figures"),
    "power": ("chat-8b", "deployments.0.power_kw", 0.001, "figures"),
    "quality": ("chat-8b", "deployments.0.quality", 1.5, "figures"),
    "pool": ("chat-8b", "deployments.0.pool", "mixed", "figures"),
    "share of a class": ("chat-8b", "deployments.0.classes.0.requests_per_second", 1.0, "figures"),
    "price of an answer": ("chat-8b", "deployments.0.cost_per_million_output_tokens_usd", "0.01", "figures"),
    "price of tokens": ("chat-8b", "deployments.0.cost_per_million_tokens_usd", "0.01", "figures"),
    "price of a request": ("chat-8b", "deployments.0.cost_per_request_usd", "0.01", "cost"),
    "date of a price": ("chat-8b", "deployments.0.provenance.price_as_of", "2020-01-01", "figures"),
    "age of a price": ("chat-8b", "deployments.0.provenance.price_age_days", 0, "figures"),
    "source of a price": ("chat-8b", "deployments.0.provenance.price_source", "a friend", "figures"),
    "hours of a period": ("office-hours", "periods.0.hours_per_month", 1.0, "figures"),
    "price of an API": ("api-at-night", "hosted.0.usd_per_request", "0.00001", "hosted"),
    "date of an API's price": ("api-at-night", "hosted.0.price_as_of", "2020-01-01", "hosted"),
    "requests of an API": ("api-at-night", "hosted.0.requests_per_month", 1.0, "cost"),
    "data sent": ("token-scores", "deployments.0.egress_gb_per_month", 1.0, "cost"),
    "changes": ("moving-day", "migration.started", 0, "migration"),
    "sent without a replica": ("office-hours", "deployments.0.schedule.0.requests_per_second", -1.0, "whole"),
    "no GPUs": ("chat-8b", "deployments.0.total_gpus", 0, "whole"),
    "hours that no week has": ("chat-8b", "periods.0.hours_of_week", [[0, 10**9]], "whole"),
    "a model that nobody knows": ("chat-8b", "deployments.0.model", "nobody/nothing", "whole"),
    "an engine that nobody knows": ("chat-8b", "deployments.0.engine", "nothing", "whole"),
}
"""What was tampered with: the scenario, the field, its new value, the check that sees it."""


OF_THE_ANSWER: dict[str, tuple[str, str, Any, str, str]] = {
    "bound": ("chat-8b", "bound_usd", "1.00", "proof", "the gap is "),
    "gap": ("chat-8b", "relative_gap", 0.2, "proof", "shown 20"),
    "outcome": ("chat-8b", "outcome", "unproven", "proof", "the outcome is unproven"),
    "what was not considered": ("chat-8b", "scope.exact", False, "proof", "things were not considered"),
    "verified": ("chat-8b", "verification.passed", False, "proof", "the plan was verified when it was written"),
    "no bound of an optimal plan": ("chat-8b", "bound_usd", None, "proof", "an optimal plan has a bound"),
    "what is not paid for": ("chat-8b", "costs.unpriced", [], "costs", "not priced: "),
    "confidence": ("chat-8b", "confidence", 0.5, "inputs", "the confidence is that of "),
    "name": ("chat-8b", "scenario", "another", "inputs", "the name is that of "),
    "date": ("chat-8b", "catalog_as_of", "2020-01-01", "inputs", "the date of the catalogs is that of "),
    "share of the bill": ("three-clouds", "costs.compute_usd", "1.00", "costs", "compute: "),
    "headroom": ("office-hours", "costs.headroom_usd", "1.00", "costs", "headroom: "),
    "starts": ("office-hours", "costs.start_up_usd", "0.00", "costs", "start_up: "),
    "days of the prices": (
        "chat-8b",
        "prices_as_of.oldest",
        "2020-01-01",
        "inputs",
        "the days of the prices is that of ",
    ),
    "a bound above the cost": ("chat-8b", "bound_usd", "9999.00", "proof", "bound 9999.00 of "),
    "another cheapest": ("chat-8b", "cheapest_usd", "1.00", "proof", "the cheapest costs "),
    "no bill by kind": ("chat-8b", "costs", None, "costs", "the bill is told by kind"),
}
"""The same of what only the whole answer says, with words of the finding."""


def tampered(path: Path, field: str, value: object) -> Path:
    content = json.loads(path.read_text(encoding="utf-8"))
    *parents, last = [int(step) if step.isdigit() else step for step in field.split(".")]
    at = content
    for step in parents:
        at = at[step]
    assert at[last] != value
    at[last] = value
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


@pytest.mark.parametrize("what", TAMPERED)
def test_a_tampered_file_is_seen_by_the_right_check(what: str, written: Written, catalogs: Catalogs) -> None:
    name, field, value, check = TAMPERED[what]
    assert check in broken(verify_plan(tampered(written(name), field, value), catalogs))


@pytest.mark.parametrize("what", OF_THE_ANSWER)
def test_what_the_whole_answer_says_is_held(what: str, written: Written, catalogs: Catalogs) -> None:
    name, field, value, check, words = OF_THE_ANSWER[what]
    assert words in broken(verify_plan(tampered(written(name), field, value), catalogs)).get(check, "")


def test_the_command_names_what_is_broken(written: Written, optimizer: Command) -> None:
    path = written("chat-8b")
    kept = optimizer("verify", path)
    assert (kept.code, kept.err) == (0, "")
    assert kept.out.startswith("The plan keeps its promises: ")
    ended = optimizer("verify", tampered(path, "monthly_cost_usd", "1.00"))
    assert ended.code == 1
    assert "What is broken\n  cost: all that is bought: " in ended.out
    as_data = json.loads(optimizer("verify", path, "--format", "json").out)
    assert as_data["passed"] is False
    assert [check["name"] for check in as_data["checks"] if not check["passed"]] == ["cost", "proof"]


NO_PLANS = {
    "not JSON": ("{\n  broken", "plan.json:2: broken JSON"),
    "not text": ("\udcff", "cannot be read"),
    "another document": ("[1, 2]", "not a plan: a plan says its schema_version (write it with optimizer plan"),
    "another version": ('{"schema_version": 99}', "schema_version: a plan of schema version 99, not 1 (verify it with"),
    "half a plan": ('{"schema_version": 1}', "bound_of: not a plan: Field required"),
    "too deep": ("[" * 100_000, "plan.json: nested too deeply"),
}


@pytest.mark.parametrize("what", NO_PLANS)
def test_what_is_no_plan_says_why(what: str, tmp_path: Path, optimizer: Command) -> None:
    content, said = NO_PLANS[what]
    path = tmp_path / "plan.json"
    path.write_bytes(content.encode("utf-8", "surrogateescape"))
    ended = optimizer("verify", path)
    assert (ended.code, ended.out) == (2, "")
    assert said in ended.err
    assert "optimizer plan SCENARIO --format json --output FILE" in ended.err


MISFITS = {
    "a scenario that is none": ("inputs.scenario.workloads", [], "inputs.scenario.workloads: not a scenario: "),
    "a scenario of another catalog": (
        "inputs.scenario.workloads.0.model",
        "nobody/nothing",
        "inputs.scenario.workloads[chat].model: unknown model",
    ),
    "other prices": (
        "inputs.prices_sha256",
        "0",
        "inputs.prices_sha256: made from other prices than the catalogs hold",
    ),
    "another calibration": ("inputs.calibration_sha256", "0", "made from another calibration than the catalogs hold"),
    "no plan in it": ("monthly_cost_usd", None, "there is no plan to verify: the outcome is optimal"),
}


@pytest.mark.parametrize("what", MISFITS)
def test_a_plan_of_another_world_is_refused(what: str, written: Written, catalogs: Catalogs) -> None:
    field, value, said = MISFITS[what]
    with pytest.raises(InputError, match=said.replace("[", r"\[")):
        verify_plan(tampered(written("chat-8b"), field, value), catalogs)

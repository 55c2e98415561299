"""The published schema of scenarios admits what is read, short forms included, and refuses what is refused."""

import json
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator
from support.paths import ROOT

from optimizer.base.errors import InputError
from optimizer.inputs.scenario.loading import load_scenario
from optimizer.report.schemas import schema

SHAPE = Draft202012Validator(json.loads(schema("scenario")))
ASKED: dict[str, Any] = {
    "name": "chat",
    "model": "llama-3.1-8b",
    "requests_per_second": 1,
    "input_tokens": 100,
    "output_tokens": 50,
}
SHORT: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "a bare limit": ({"slo": {"ttft_ms": 500, "tpot_ms": 40.5, "e2e_ms": {"p90": 9000}}}, {}),
    "one draft": ({"speculation": "mtp"}, {}),
    "several drafts": ({"speculation": ["eagle3:3", {"method": "mtp", "accepted_tokens": 1.4}]}, {}),
    "yes": ({"reasoning": True}, {}),
    "one round trip": ({"network_ms": 30}, {}),
    "round trips": ({"network_ms": {"eu-*": 20, "*": 110}}, {}),
    "one place": ({"users_in": "germany"}, {}),
    "one name": (
        {},
        {"providers": {"allow": "aws"}, "countries": {"deny": "us"}, "engines": "vllm", "hosting": "owned"},
    ),
    "one loss": ({}, {"survive": {"loss_of": "instance"}, "pricing_terms": "spot", "hosting": "owned"}),
    "one figure": ({}, {"grid": {"g_co2_per_kwh": 300, "pue": 1.2}, "flag_price_age_days": 30}),
    "one time": ({}, {"elastic": {"minimum_billing_hours": 24}}),
    "hours in words": (
        {"requests_per_second": None, "deadline": {"requests": 5, "start": "22:00", "by": "06:00"}},
        {},
    ),
}
REFUSED: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "no time": ({"slo": {"ttft_ms": 0}}, {}),
    "half an hour": ({"requests_per_second": None, "deadline": {"requests": 5, "start": "22:30", "by": "06:00"}}, {}),
    "a loss of what": ({}, {"survive": {"loss_of": "planet"}}),
    "a number as text": ({"network_ms": "near"}, {}),
    "no terms": ({}, {"pricing_terms": []}),
    "too many names": ({}, {"engines": ["vllm"] * 1001}),
}


def written(workload: dict[str, Any], policy: dict[str, Any]) -> dict[str, Any]:
    asked = {name: value for name, value in (ASKED | workload).items() if value is not None}
    return {"name": "short", "workloads": [asked], "policy": policy}


@pytest.mark.parametrize("path", sorted((ROOT / "scenarios").glob("*.yaml")), ids=lambda path: path.stem)
def test_every_shipped_scenario_fits_the_schema(path: Any) -> None:
    assert [error.message for error in SHAPE.iter_errors(yaml.safe_load(path.read_text()))] == []


@pytest.mark.parametrize("form", SHORT)
def test_what_may_be_written_in_short_fits_the_schema(form: str, tmp_path: Any) -> None:
    """An editor that knows the schema marked `ttft_ms: 500` and every deadline as wrong."""
    content = written(*SHORT[form])
    (tmp_path / "s.yaml").write_text(yaml.safe_dump(content))
    load_scenario(tmp_path / "s.yaml")
    assert [error.message for error in SHAPE.iter_errors(content)] == []


@pytest.mark.parametrize("form", REFUSED)
def test_what_is_refused_does_not_fit_it(form: str, tmp_path: Any) -> None:
    content = written(*REFUSED[form])
    (tmp_path / "s.yaml").write_text(yaml.safe_dump(content))
    with pytest.raises(InputError):
        load_scenario(tmp_path / "s.yaml")
    assert not SHAPE.is_valid(content)

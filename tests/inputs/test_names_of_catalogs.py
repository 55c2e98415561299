"""Every name that a scenario takes from the catalogs is told when nobody knows it, in one round with wrong fields."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from pydantic import BaseModel

from optimizer.base.errors import InputError
from optimizer.inputs.catalog.loading import load_catalogs
from optimizer.inputs.scenario import names
from optimizer.inputs.scenario.fields import MAX_NAMES, NameOf
from optimizer.inputs.scenario.loading import scenario_in
from optimizer.inputs.scenario.names import MOST_TOLD, kinds_in, record_in, unknown_names
from optimizer.inputs.scenario.policy import Migration
from optimizer.inputs.scenario.portfolio import MachinePool, Portfolio
from optimizer.inputs.scenario.scenario import Scenario
from optimizer.inputs.scenario.yaml_lines import Document, Location, parse

NO_NAMES: Final = {
    "name": "what the user calls it",
    "description": "for people",
    "stated_as": "for people",
    "read_from": "for people",
    "requests": "of a trace, one by one",
    "trace": "a file",
    "profile": "a file",
    "from_plan": "a file",
    "region": "of a training run: held against the scenario's own grid, which may know regions that nobody rents in",
    "sellers": "of a closed list",
    "flag_price_age_days": "by kind of seller",
}
"""Fields that hold a text which is no name in the catalogs, and what it is."""
BY_THEMSELVES: Final = {
    Migration: "what ran when a plan was made may no longer be sold",
    MachinePool: "offers, which the answer to portfolios looks up whole",
}
NOBODYS: Final = "nobodys-9000"
BASE: Final = """\
name: x
workloads:
  - {name: chat, model: llama-3.1-8b, requests_per_second: 1, input_tokens: 9, output_tokens: 9, slo: {ttft: 3}}
"""


def texts_in(record: type[BaseModel], at: Location = ()) -> Iterator[tuple[Location, NameOf | None]]:
    """Every field of a record and of those inside it that holds texts, and what these are marked as."""
    for field, info in record.model_fields.items():
        inner, here = record_in(info.annotation), (*at, field)
        of = next((each for each in info.metadata if isinstance(each, NameOf)), None)
        several = "tuple" in str(info.annotation) and inner is not None
        if inner is not None and of is None and inner not in BY_THEMSELVES:
            yield from texts_in(inner, (*here, 0) if several else here)
        elif of is not None or (inner is None and str in kinds_in(info.annotation)):
            yield here, of


def nested(at: Location, value: object) -> Any:
    """A document that has a value there and nothing else."""
    for step in reversed(at):
        value = [value] if isinstance(step, int) else {step: value}
    return value


MARKED: Final = [(record, at) for record in (Scenario, Portfolio) for at, of in texts_in(record) if of is not None]


@pytest.mark.parametrize("record", [Scenario, Portfolio])
def test_every_text_of_a_scenario_is_a_name_of_the_catalogs_or_none_with_a_reason(record: type[BaseModel]) -> None:
    unmarked = {str(at[-1]) for at, of in texts_in(record) if of is None}
    assert unmarked <= set(NO_NAMES)


def test_a_name_that_nobody_knows_is_told_in_every_field_and_form() -> None:
    known = load_catalogs()
    for record, at in MARKED:
        lists = at[-1] in {"providers", "gpus", "regions", "countries"} and "price_changes" not in at
        by_name = at[-1] in {"g_co2_per_kwh", "minimum_billing_hours", "network_ms"}
        shapes = [{"deny": [NOBODYS]}, {"allow": NOBODYS}] if lists else [{NOBODYS: 3}] if by_name else [NOBODYS]
        for shape in shapes:
            (found,) = unknown_names(Document("s", nested(at, shape), {}), record, known)
            assert NOBODYS in found.problem
            assert str(at[-1]) in found.field
    assert len(MARKED) >= 24


def test_names_and_wrong_fields_are_told_in_one_round_in_the_order_of_the_file() -> None:
    text = BASE.replace("llama-3.1-8b", "llama-3.1-8bb") + "policy: {gpus: {allow: [h100]}, regoins: 3}\n"
    with pytest.raises(InputError) as caught:
        scenario_in(parse(text, "s.yaml"), None, load_catalogs())
    told = [(found.line, found.field) for found in caught.value.findings]
    fields = ["workloads[chat].slo.ttft", "workloads[chat].model", "policy.regoins", "policy.gpus.allow"]
    assert sorted(told) == sorted(zip((3, 3, 4, 4), fields, strict=True))
    assert told == sorted(told, key=lambda each: each[0])
    assert any("did you mean llama-3.1-8b" in found.hint for found in caught.value.findings)


def test_a_file_that_is_missing_hides_no_name(tmp_path: Path) -> None:
    text = BASE.replace(", slo: {ttft: 3}", ", slo: {}").replace("8b, requests_per_second: 1", "8bb, trace: no.csv")
    text = text.replace(", input_tokens: 9, output_tokens: 9", "")
    with pytest.raises(InputError) as caught:
        scenario_in(parse(text, "s.yaml"), tmp_path, load_catalogs())
    assert {found.field.rpartition(".")[2] for found in caught.value.findings} == {"trace", "model"}


def test_beside_wrong_fields_a_flood_of_names_is_cut_short() -> None:
    many = ", ".join(f"{{name: w{n}, model: nobodys-{n}}}" for n in range(MOST_TOLD + 50))
    with pytest.raises(InputError) as caught:
        scenario_in(parse(f"name: x\nworkloads: [{many}]\n", "s.yaml"), None, load_catalogs())
    assert sum("unknown model" in found.problem for found in caught.value.findings) == MOST_TOLD


def test_a_list_that_is_too_long_is_not_read_to_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """What has a problem of its own is told once, and no suggestion is looked for that nobody would see."""
    looked_up: list[str] = []
    monkeypatch.setattr(names, "did_you_mean", lambda name, _: looked_up.append(name) or "")
    many = ", ".join(f"nowhere-{n}" for n in range(MAX_NAMES + 1))
    with pytest.raises(InputError) as caught:
        scenario_in(parse(f"{BASE}policy: {{regions: {{allow: [{many}]}}}}\n", "s.yaml"), None, load_catalogs())
    assert [found.field for found in caught.value.findings] == ["workloads[chat].slo.ttft", "policy.regions.allow"]
    assert len(looked_up) == MOST_TOLD


def test_codes_of_countries_and_published_names_are_read_in_either_case() -> None:
    content = {
        "workloads": [{"model": "Meta-Llama/llama-3.1-8b-instruct"}],
        "policy": {"countries": {"allow": ["DE"]}},
    }
    assert list(unknown_names(Document("s", content, {}), Scenario, load_catalogs())) == []


@pytest.mark.parametrize(
    ("written", "cloud"),
    [
        ("oracle", "oci"),
        ("Google Cloud", "gcp"),
        ("amazon", "aws"),
        ("Microsoft", "azure"),
        ("digital-ocean", "digitalocean"),
        ("DataCrunch", "verda"),
    ],
)
def test_a_cloud_that_is_named_by_its_company_is_suggested(written: str, cloud: str) -> None:
    """Oracle was told 'did you mean hotaisle?', Google the first twelve providers of the alphabet."""
    document = Document("s", {"policy": {"providers": {"allow": [written]}}}, {})
    (found,) = unknown_names(document, Scenario, load_catalogs())
    assert found.hint == f"did you mean {cloud}?"


@pytest.mark.parametrize(("written", "code"), [("switzerland", "ch"), ("Germany", "de"), ("UK", "gb"), ("USA", "us")])
def test_a_country_that_is_written_out_is_told_by_its_code(written: str, code: str) -> None:
    document = Document("s", {"policy": {"countries": {"allow": [written]}, "regions": {"allow": [written]}}}, {})
    country, region = sorted(unknown_names(document, Scenario, load_catalogs()), key=lambda found: found.field)
    assert country.hint == f"did you mean {code}?"
    assert region.hint == "policy.countries is where countries are named"


def test_of_a_place_that_nobody_measured_all_that_are_known_are_told() -> None:
    """Users in asia were told 'did you mean australia?', those in north-america south-africa."""
    document = Document("s", {"workloads": [{"users_in": ["asia"]}]}, {})
    (found,) = unknown_names(document, Scenario, load_catalogs())
    assert found.hint.startswith("known: australia, brazil")
    assert found.hint.endswith("us-east, us-west")

"""Fields that people and other tools call otherwise are told by their names here."""

import pytest

from optimizer import load_catalogs
from optimizer.base.errors import InputError
from optimizer.inputs.scenario import other_words
from optimizer.inputs.scenario.loading import scenario_in
from optimizer.inputs.scenario.policy import Policy
from optimizer.inputs.scenario.scenario import Workload
from optimizer.inputs.scenario.service_levels import Slo
from optimizer.inputs.scenario.yaml_lines import parse

CHAT = """
workloads:
  - name: chat
    model: llama-3.1-8b
    requests_per_second: 4
    input_tokens: 1000
    output_tokens: 200
    slo: {tpot_ms: 50, {slo}}
    {workload}
policy: {{policy}}
"""


def hint_to(place: str, word: str) -> str:
    written = {"slo": "", "workload": "", "policy": ""} | {place: f"{word}: 1"}
    text = CHAT
    for key, value in written.items():
        text = text.replace("{" + key + "}", value)
    text = text.replace(", }", "}").replace("policy: \n", "policy: {}\n")
    if place == "policy":
        text = text.replace(f"policy: {word}: 1", f"policy: {{{word}: 1}}")
    with pytest.raises(InputError) as caught:
        scenario_in(parse(text, "s.yaml"), None, load_catalogs())
    (found,) = (each for each in caught.value.findings if each.problem == "unknown field")
    return found.hint


@pytest.mark.parametrize(
    ("place", "word", "field"),
    [
        ("workload", "rps", "requests_per_second"),
        ("workload", "ISL", "input_tokens"),
        ("workload", "max_tokens", "output_tokens"),
        ("slo", "itl", "tpot_ms"),
        ("slo", "latency", "e2e_ms"),
        ("policy", "budget", "max_monthly_usd"),
        ("policy", "clouds", "providers"),
    ],
)
def test_a_field_that_is_called_otherwise_is_told_by_its_name(place: str, word: str, field: str) -> None:
    """`isl` was told 'did you mean slo?', `max_budget` 'did you mean max_gpus?', `rps` nothing."""
    assert hint_to(place, word) == f"did you mean {field}?"


def test_machines_of_ones_own_are_no_field() -> None:
    assert hint_to("policy", "owned").startswith("machines of your own stand in owned.csv")


def test_every_field_that_is_meant_is_one() -> None:
    known = {*Workload.model_fields, *Slo.model_fields, *Policy.model_fields}
    assert set(other_words._WORDS) <= known

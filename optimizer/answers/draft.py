"""A commented scenario from a few answers, checked as if somebody had written it."""

import json
import re
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Final

import yaml

from optimizer.base.errors import Finding, InputError
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.scenario.checks import check_scenario
from optimizer.inputs.scenario.loading import scenario_in
from optimizer.inputs.scenario.yaml_lines import parse

TEXT: Final = """\
# A scenario for `optimizer plan {file}`.
# Every field is described in docs/scenario.md; `optimizer schema scenario` prints the schema.
name: {name}
workloads:
  - name: {name}
    # A catalog id or a Hugging Face name: optimizer catalog list models
    model: {model}

    # How much is asked: people at work in the busiest hour, and what each of them asks. Instead of the two:
    #   requests_per_second: 5
    #   tokens_per_day: {{output: 5_000_000}}
    #   deadline: {{requests: 100_000, start: "22:00", by: "06:00"}}   (a batch; remove slo)
    # Demand that follows the day is cheaper to serve; with a profile the users are those of its highest hour:
    #   demand: {{hourly: [24 numbers, midnight first], weekend_factor: 0.4}}
    users: {users}
    requests_per_user_hour: {requests_per_user_hour:g}

    # Mean lengths. Where they vary widely, give request_classes or a trace of real requests instead.
    input_tokens: {input_tokens}
    output_tokens: {output_tokens}

{users_in}
    # What every request is promised: the first token for 95 of 100 requests, then the mean time to each further one.
    slo:
      ttft_ms: {ttft_ms:g}
      tpot_ms: {tpot_ms:g}

{min_quality}
policy:
  # A bound that held for 90 % of unseen measurements; 0.5 plans on the prediction itself and costs less.
  confidence: 0.9
  # Who may sell, where it may run, how it is paid: each field that is left away has the default of docs/scenario.md.
  #   regions: {{allow: ["eu-*", "europe-*"]}}
  #   pricing_terms: [on_demand, reserved_1y]
{max_monthly_usd}"""
"""A scenario with its words; what was not answered stays a comment."""

USERS_IN: Final = (
    "    # The network from there to a region is part of the first token's time: optimizer catalog list round-trips\n"
    "    {}users_in: {}\n"
)
MIN_QUALITY: Final = (
    "    # Share of the 16-bit benchmark score that a smaller precision must keep; without it the cheapest one runs.\n"
    "    {}min_quality: {}\n"
)
BUDGET: Final = "  {}max_monthly_usd: {}\n"
PLAIN: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]*")
"""A text that stands in YAML as it is, unless it reads as a number or a truth value."""
NAMED: Final = re.compile(r"\[.*\]")
"""Which workload or element of a list a field is of."""


@dataclass(frozen=True)
class ScenarioDraft:
    """What a scenario is written from; None leaves a field as a comment.

    Attributes:
        name: Of the scenario and its one workload.
        users: People at work at the same time.
        ttft_ms: For 95 of 100 requests.
        tpot_ms: The mean.
        users_in: A geography of the catalogs' round trips.
    """

    name: str
    model: str
    users: int
    requests_per_user_hour: float
    input_tokens: int
    output_tokens: int
    ttft_ms: float
    tpot_ms: float
    users_in: str | None = None
    min_quality: float | None = None
    max_monthly_usd: float | None = None


OPTIONS: Final = frozenset(field.name for field in fields(ScenarioDraft))


def scenario_text(draft: ScenarioDraft, file: Path, catalogs: Catalogs) -> str:
    """The scenario as YAML with comments, which loads and fits the catalogs.

    Args:
        draft: The answers.
        file: What it would be called, for messages and its first line.
        catalogs: What is known.

    Returns:
        What to write to the file.

    Raises:
        InputError: every answer that no scenario may hold, or name that the catalogs do not know, by its option.
    """
    users_in = None if draft.users_in is None else ", ".join(map(_text, draft.users_in.split(",")))
    written = vars(draft) | {
        "file": file.name,
        "name": _text(draft.name),
        "model": _text(draft.model),
        "users_in": _or_comment(USERS_IN, None if users_in is None else f"[{users_in}]", "[germany]"),
        "min_quality": _or_comment(MIN_QUALITY, draft.min_quality, "0.99"),
        "max_monthly_usd": _or_comment(BUDGET, draft.max_monthly_usd, "20000"),
    }
    text = TEXT.format(**written)
    try:
        loaded = scenario_in(parse(text, str(file)), file.parent, catalogs)
        findings = check_scenario(loaded.scenario, catalogs)
    except InputError as error:
        findings = error.findings
    if findings:
        raise InputError(map(_by_option, findings))
    return text


def _text(answer: str) -> str:
    """A text as YAML reads it, in quotes where it would take it for something else."""
    stripped = answer.strip()
    plain = PLAIN.fullmatch(stripped) and isinstance(yaml.safe_load(stripped), str)
    return stripped if plain else json.dumps(stripped, ensure_ascii=False)


def _by_option(found: Finding) -> Finding:
    """A problem of the text that would have been written, told by the option that gave it."""
    steps = NAMED.sub("", found.field).split(".")
    option = next((f"--{step.replace('_', '-')}" for step in reversed(steps) if step in OPTIONS), found.field)
    return replace(found, file="init", line=0, field=option)


def _or_comment(line: str, value: object, example: str) -> str:
    """A field as answered, or an example of it behind a comment sign."""
    if value is None:
        return line.format("# ", example)
    return line.format("", str(value).removesuffix(".0"))

"""Bad scenarios of every kind end with exit code 2 and one clear message per problem, with file, line and field."""

import re
from pathlib import Path

import pytest
from support.command import Command, Result

GOOD = """\
name: support
workloads:
  - name: chat
    model: llama-3.1-8b
    requests_per_second: 1
    input_tokens: 100
    output_tokens: 50
    slo:
      ttft_ms: 500
policy:
  max_gpus: 8
"""
MESSAGE = re.compile(r"error: \S+(:\d+)?: .+")

ONE_PROBLEM = {
    "unknown model": ("model: llama-3.1-8b", "model: llama-3.1-8", 4, "workloads[chat].model", "llama-3.1-8b"),
    "unknown key": ("input_tokens: 100", "input_token: 100", 6, "workloads[chat].input_token", "input_tokens"),
    "no draft": (
        "input_tokens: 100",
        "input_tokens: 100\n    speculation: medusa:3",
        7,
        "workloads[chat].speculation[0].method",
        "'mtp', 'eagle3' or 'dspark'",
    ),
    "a draft that nobody counted": (
        "input_tokens: 100",
        "input_tokens: 100\n    speculation: [eagle3:3]",
        7,
        "workloads[chat].speculation[0]",
        "nobody counted how many tokens a step of llama-3.1-8b keeps with eagle3:3",
    ),
    "more kept than drafted": (
        "input_tokens: 100",
        "input_tokens: 100\n    speculation: {method: eagle3, draft_tokens: 2, accepted_tokens: 3.5}",
        7,
        "workloads[chat].speculation[0]",
        "a step keeps 3 tokens at most",
    ),
    "unknown statistic": ("ttft_ms: 500", "ttft_ms: {p42: 5}", 9, "workloads[chat].slo.ttft_ms.p42", "p50"),
    "unknown GPU": ("max_gpus: 8", "gpus: {allow: [h100]}", 11, "policy.gpus.allow", "h100-sxm"),
    "unknown region": ("max_gpus: 8", "regions: {deny: [mars-*]}", 11, "policy.regions.deny", "matches nothing"),
    "unknown provider": ("max_gpus: 8", "providers: {allow: [awz]}", 11, "policy.providers.allow", "did you mean aws"),
    "unknown precision": ("max_gpus: 8", "precisions: [fp7]", 11, "policy.precisions", "did you mean fp8"),
    "unknown engine": ("max_gpus: 8", "engines: [ollama]", 11, "policy.engines", "did you mean vllm"),
    "unknown term": ("max_gpus: 8", "pricing_terms: [ondemand]", 11, "policy.pricing_terms[0]", "on_demand"),
    "negative": (
        "requests_per_second: 1",
        "requests_per_second: -1",
        5,
        "requests_per_second",
        "greater than or equal to 0.000000001, not -1",
    ),
    "zero": ("input_tokens: 100", "input_tokens: 0", 6, "input_tokens", "greater than or equal to 1, not 0"),
    "not a number": ("requests_per_second: 1", "requests_per_second: .nan", 5, "requests_per_second", "finite number"),
    "infinite": ("requests_per_second: 1", "requests_per_second: .inf", 5, "requests_per_second", "finite number"),
    "absurd": (
        "requests_per_second: 1",
        "requests_per_second: 1.0e+300",
        5,
        "requests_per_second",
        "1,000,000",
    ),
    "never": (
        "requests_per_second: 1",
        "requests_per_second: 1.0e-300",
        5,
        "requests_per_second",
        "equal to 0.000000001",
    ),
    "huge integer": ("input_tokens: 100", f"input_tokens: 1{'0' * 400}", 6, "input_tokens", "10,000,000"),
    "yes": ("input_tokens: 100", "input_tokens: yes", 6, "input_tokens", "expected a number, not yes/no"),
    "words": ("input_tokens: 100", "input_tokens: many", 6, "input_tokens", "expected a whole number, not 'many'"),
    "a date": ("input_tokens: 100", "input_tokens: 2026-01-01", 6, "input_tokens", "a whole number, not 2026-01-01"),
    "a sign": ("input_tokens: 100", "input_tokens: =", 6, "", "= alone is no value"),
    "half a token": ("input_tokens: 100", "input_tokens: 100.5", 6, "input_tokens", "expected a whole number"),
    "base 60": ("input_tokens: 100", "input_tokens: 1:40", 6, "workloads[chat].input_tokens", "ambiguous"),
    "base 8": ("input_tokens: 100", "input_tokens: 0100", 6, "workloads[chat].input_tokens", "ambiguous"),
    "nothing": ("input_tokens: 100", "input_tokens:", 3, "workloads[chat]", "give input_tokens with output_tokens"),
    "share as percent": ("input_tokens: 100", "min_quality: 99\n    input_tokens: 100", 6, "min_quality", "less than"),
    "twice": ("input_tokens: 100", "input_tokens: 100\n    input_tokens: 90", 7, "chat].input_tokens", "stands twice"),
    "anchor": ("name: chat", "name: &a chat", 3, "", "anchors"),
    "tag": (
        "name: support",
        "name: !!python/object/apply:os.system [ls]",
        1,
        "",
        "tags such as !!python/object/apply:os.system are not read",
    ),
    "list for fields": ("  max_gpus: 8", "  - 1", 10, "policy", "expected fields with values"),
    "list for two fields": ("max_gpus: 8", "gpus: [l4]", 11, "policy.gpus", "its fields: allow, deny"),
    "more than a field": ("max_gpus: 8", "allowed_gpus: [l4]", 11, "policy.allowed_gpus", "did you mean gpus,"),
    "more than a model": (
        "llama-3.1-8b",
        "llama-3.1-8b-chat",
        4,
        "workloads[chat].model",
        "did you mean llama-3.1-8b,",
    ),
    "text for list": ("max_gpus: 8", "gpus: {allow: 5}", 11, "policy.gpus.allow", "expected a list"),
    "endless list": ("max_gpus: 8", f"engines: [{'x,' * 1001}]", 11, "policy.engines", "at most 1000 entries"),
    "context": ("input_tokens: 100", "input_tokens: 200000", 3, "workloads[chat]", "at most 131,072"),
    "unknown loss": ("max_gpus: 8", "survive: {loss_of: planet}", 11, "policy.survive.loss_of[0]", "'spot_offer'"),
    "unknown alternative": (
        "model: llama-3.1-8b",
        "model: llama-3.1-8b\n    alternatives: [{model: llama-3.2-3bb, quality: 0.9}]",
        5,
        "workloads[chat].alternatives[0].model",
        "llama-3.2-3b",
    ),
    "model twice": (
        "model: llama-3.1-8b",
        "model: llama-3.1-8b\n    alternatives: [{model: llama-3.1-8b, quality: 0.9}]",
        3,
        "workloads[chat]",
        "llama-3.1-8b stands twice among model and alternatives",
    ),
    "unknown region of a workload": (
        "model: llama-3.1-8b",
        "model: llama-3.1-8b\n    regions: {allow: [mars-*]}",
        5,
        "workloads[chat].regions.allow",
        "matches nothing",
    ),
    "a country as a region": (
        "max_gpus: 8",
        "regions: {allow: [eu]}",
        11,
        "policy.regions.allow",
        "policy.countries is where",
    ),
    "unknown country": ("max_gpus: 8", "countries: {deny: [uk]}", 11, "policy.countries.deny", "'uk' matches nothing"),
    "carbon without a grid": ("max_gpus: 8", "max_carbon_kg_per_month: 9", 10, "policy", "needs grid"),
    "unknown grid region": (
        "max_gpus: 8",
        "grid: {g_co2_per_kwh: {mars-*: 3}, pue: 1.2}",
        11,
        "policy.grid.g_co2_per_kwh",
        "matches nothing",
    ),
    "grid in words": ("max_gpus: 8", "grid: {g_co2_per_kwh: much, pue: 1}", 11, "g_co2_per_kwh", "expected a number"),
    "less power than none": ("max_gpus: 8", "grid: {g_co2_per_kwh: 3, pue: 0.5}", 11, "policy.grid.pue", "1"),
    "interrupted always": (
        "max_gpus: 8",
        "spot: {interruptions_per_month: 730, recovery_minutes: 60}",
        11,
        "policy.spot",
        "takes the whole month",
    ),
    "insurance that pays": ("max_gpus: 8", "robust: {demand: 0.9}", 11, "policy.robust.demand", "greater than"),
    "no hosting": ("max_gpus: 8", "hosting: []", 11, "policy.hosting", "at least 1 entry, not 0"),
    "no terms": ("max_gpus: 8", "pricing_terms: []", 11, "policy.pricing_terms", "at least 1 entry, not 0"),
    "no sellers": ("max_gpus: 8", "sellers: []", 11, "policy.sellers", "at least 1 entry, not 0"),
    "no kinds": ("max_gpus: 8", "provider_kinds: []", 11, "policy.provider_kinds", "at least 1 entry, not 0"),
    "no prices": ("max_gpus: 8", "price_confidence: []", 11, "policy.price_confidence", "at least 1 entry, not 0"),
    "no plan in force": ("max_gpus: 8", "migration: {max_changes: 3}", 11, "policy.migration", "from_plan"),
    "missing plan": ("max_gpus: 8", "migration: {from_plan: no.json}", 11, "policy.migration.from_plan", "no.json"),
    "path as name": ("name: support", "name: ../support", 1, "name", "expected letters, digits, '.', '_' and '-'"),
    "a name for two fields": (
        "max_gpus: 8",
        "gpus: l4",
        11,
        "policy.gpus",
        "(write {allow: [l4]}; its fields",
    ),
    "a name twice": (
        "policy:",
        "  - {name: chat, model: llama-3.1-8b, requests_per_second: 1, input_tokens: 1, output_tokens: 1}\npolicy:",
        2,
        "workloads",
        "two are named chat (give each a name of its own)",
    ),
    "missing trace": (
        "requests_per_second: 1\n    input_tokens: 100\n    output_tokens: 50",
        "trace: no.csv",
        5,
        "trace",
        "no.csv",
    ),
}
"""What is replaced in a good scenario by what; line, field and words that the one message must have."""

WHOLE_FILES = {
    "empty": (b"", "the file is empty"),
    "comment only": (b"# nothing\n", "the file is empty"),
    "list": (b"- 1\n", "a mapping of fields"),
    "sentence": (b"hello\n", "a mapping of fields"),
    "broken YAML": (b"name: [\n", "broken YAML"),
    "tab": (b"name: s\n\tx: 1\n", "broken YAML"),
    "two documents": (
        b"name: a\n---\nname: b\n",
        "another document begins (a file holds one",
    ),
    "deep": (b"[" * 3000 + b"]" * 3000, "nested too deeply"),
    "bottomless": (b"name: " + b"[" * 40_000 + b"]" * 40_000, "nested too deeply"),
    "alias bomb": (b"a: &a [x, x]\nb: &b [*a, *a]\n", "anchors and aliases"),
    "list as key": (b"? [a, b]\n: 2\n", "broken YAML"),
    "no such date": (b"name: 2020-99-99\n", "cannot be read"),
    "digits": (b"name: " + b"9" * 5000, "a number of 5,000 digits"),
    "binary": (bytes(range(256)) * 20, "cannot be read as text"),
    "Latin 1": ("name: ü\n".encode("latin1"), "cannot be read as text"),
    "UTF-16": (GOOD.encode("utf-16"), "cannot be read as text"),
    "NUL": (GOOD.encode() + b"\0", "broken YAML"),
    "10 MB": (b"# x\n" * 2_600_000, "bytes is more than it may have"),
}


@pytest.fixture
def plan(optimizer: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Command:
    """Plans a scenario of that content in an empty folder."""

    def planned(content: str | bytes, name: str = "s.yaml") -> Result:
        monkeypatch.chdir(tmp_path)
        Path(name).write_bytes(content if isinstance(content, bytes) else content.encode())
        return optimizer("plan", name)

    return planned


def messages(result: Result) -> list[str]:
    """The messages of a refused scenario: each on a line of its own, nothing on stdout, no traceback."""
    assert result.code == 2, result
    assert result.out == ""
    lines = result.err.splitlines()
    assert lines
    assert all(MESSAGE.fullmatch(line) for line in lines), result.err
    assert "Traceback" not in result.err
    assert "pydantic" not in result.err
    return lines


@pytest.mark.parametrize("kind", ONE_PROBLEM)
def test_one_problem_is_one_message_with_line_and_field(kind: str, plan: Command) -> None:
    old, new, line, field, words = ONE_PROBLEM[kind]
    assert old in GOOD
    (message,) = messages(plan(GOOD.replace(old, new, 1)))
    assert message.startswith(f"error: s.yaml:{line}: "), message
    assert field in message
    assert words in message
    assert len(message) < 500


@pytest.mark.parametrize("kind", WHOLE_FILES)
def test_files_that_are_no_scenario_say_why(kind: str, plan: Command) -> None:
    content, words = WHOLE_FILES[kind]
    (message,) = messages(plan(content))
    assert words in message
    assert len(message) < 300


def test_all_problems_are_told_at_once(plan: Command) -> None:
    broken = GOOD.replace("input_tokens: 100", "input_tokens: -5").replace("ttft_ms: 500", "ttft: 500")
    told = messages(plan(broken.replace("max_gpus: 8", "max_gpus: 1.5\n  regoins: {allow: [x]}")))
    assert [re.findall(r"s\.yaml:(\d+):", line)[0] for line in told] == ["6", "9", "11", "12"]
    assert "did you mean regions" in told[-1]


def test_unknown_names_in_workloads_and_policy_are_told_at_once(plan: Command) -> None:
    quota = "quotas: [{provider: awz, region: us-east-1, gpu: h100, max_gpus: 3}]"
    told = messages(plan(GOOD.replace("llama-3.1-8b", "lama-3.1-8b").replace("max_gpus: 8", quota)))
    assert len(told) == 3
    assert "policy.quotas[0].gpu: 'h100'" in told[1]
    assert "did you mean aws?" in told[2]


def test_broken_json_names_line_and_column(plan: Command) -> None:
    (message,) = messages(plan('{\n"name": "s",\n}', "s.json"))
    assert message == "error: s.json:3: broken JSON: Expecting property name enclosed in double quotes (column 1)"


def test_json_and_yaml_have_the_same_keys_once(plan: Command) -> None:
    (message,) = messages(plan('{"name": "s", "name": "t"}', "s.json"))
    assert "name: this key stands twice" in message


@pytest.mark.parametrize(
    ("name", "words"), [("nope", "shipped: "), ("chat-8", "did you mean chat-8b"), (".", "folder")]
)
def test_a_scenario_that_is_not_there_names_those_that_are(name: str, words: str, optimizer: Command) -> None:
    (message,) = messages(optimizer("plan", name))
    assert words in message


@pytest.mark.parametrize("folder", ["missing", "empty"])
def test_catalog_folders_without_catalogs_are_refused(folder: str, tmp_path: Path, optimizer: Command) -> None:
    (tmp_path / "empty").mkdir()
    (message,) = messages(optimizer("plan", "chat-8b", "--catalogs", tmp_path / folder))
    assert "known files: catalog.csv" in message


def test_a_broken_catalog_row_is_named_by_file_and_line(tmp_path: Path, optimizer: Command) -> None:
    rows = "provider,item,unit,value,source,as_of,confidence,note\naws,storage,USD,cheap,nobody,2026-13-01,sure,\n"
    (tmp_path / "ancillary_costs.csv").write_text(rows)
    told = messages(optimizer("plan", "chat-8b", "--catalogs", tmp_path))
    assert len(told) == 3
    assert all(f"{tmp_path}/ancillary_costs.csv:2: " in line for line in told)

"""The command line keeps its promises: exit codes, JSON alone on stdout, files written, nothing unknown accepted."""

import csv
import io
import json
import re
from pathlib import Path

import pytest
from support.command import Command, Result

from optimizer.cli import calls
from optimizer.cli.commands import COMMANDS
from optimizer.plan.record.report import PlanReport
from optimizer.report.export import as_json
from optimizer.report.schemas import SCHEMAS

SMALL = ("predict", "--model", "llama-3.1-8b", "--gpu", "h100-sxm", "--precision", "fp8")
LOAD = ("--input-tokens", "1024", "--output-tokens", "256", "--concurrency", "8")
HEADINGS = "engine,model,gpu,num_gpus,tp,weight_precision,input_tokens,output_tokens,load_type,load_value"


def test_a_plan_answers_in_its_first_line(optimizer: Command) -> None:
    result = optimizer("plan", "chat-8b")
    assert result.code == 0
    assert result.err == ""
    first = result.out.splitlines()[0]
    assert first.startswith("$")
    assert re.search("a month for chat-8b, .*proven", first)
    assert max(map(len, result.out.splitlines())) <= 120
    assert not any(line != line.rstrip() for line in result.out.splitlines())


def test_json_is_alone_and_whole_on_stdout_and_keeps_its_schema(optimizer: Command) -> None:
    result = optimizer("plan", "chat-8b", "--format", "json")
    assert result.err == ""
    said = json.loads(result.out)
    named = PlanReport.model_json_schema(mode="serialization")["properties"]
    # containers stand only in plans that have any
    assert [name for name in named if name != "containers"] == list(said)
    assert as_json(PlanReport.model_validate(said)) == result.out
    assert said["schema_version"] == 1
    assert said["outcome"] == "optimal"
    assert said["verification"]["passed"] is True
    assert isinstance(said["monthly_cost_usd"], str)
    assert said["monthly_cost_usd"] == f"{float(said['monthly_cost_usd']):.2f}"


def test_markdown_is_a_document(optimizer: Command) -> None:
    assert optimizer("plan", "chat-8b", "--format", "markdown").out.startswith("# Plan for chat-8b\n")


def test_no_plan_is_exit_code_3_with_ways_out(optimizer: Command) -> None:
    result = optimizer("plan", "infeasible-latency", "--format", "json")
    said = json.loads(result.out)
    assert result.code == 3
    assert said["outcome"] == "infeasible"
    assert said["deployments"] == []
    assert said["explanation"]["nearest_misses"]


def test_output_writes_the_same_bytes_to_a_file(optimizer: Command, tmp_path: Path) -> None:
    printed = optimizer("plan", "chat-8b", "--format", "json").out
    result = optimizer("plan", "chat-8b", "--format", "json", "--output", str(tmp_path / "plan.json"))
    assert result == Result(0, "", "")
    assert (tmp_path / "plan.json").read_text(encoding="utf-8") == printed


def test_output_that_cannot_be_written_is_bad_input(optimizer: Command, tmp_path: Path) -> None:
    result = optimizer("catalog", "list", "--output", str(tmp_path / "no" / "folder"))
    assert result.code == 2
    assert "which is not a folder" in result.err


@pytest.mark.parametrize("command", [(), ("plan",), ("predict",), ("schema",), ("catalog",), ("catalog", "list")])
def test_every_command_explains_itself(command: tuple[str, ...], optimizer: Command) -> None:
    result = optimizer(*command, "--help")
    assert result.code == 0
    assert "Usage: " in result.out


@pytest.mark.parametrize("path", sorted({*COMMANDS} - {"serve", "mcp"}))
def test_every_command_that_ends_takes_quiet(path: str, optimizer: Command) -> None:
    result = optimizer(*path.split(), "--quiet", "--help")
    assert (result.code, result.err) == (0, "")
    assert "--quiet" in result.out


def test_quiet_changes_nothing_of_an_answer_without_remarks(optimizer: Command) -> None:
    asked = ("catalog", "list", "gpus", "--filter", "l4")
    assert optimizer(*asked, "--quiet") == optimizer(*asked)


@pytest.mark.parametrize(("command", "says"), [("frontier", "FIELD=A:B:N"), ("compare", ".[sheet]")])
def test_help_shows_what_markup_would_swallow(command: str, says: str, optimizer: Command) -> None:
    shown = optimizer(command, "--help").out
    assert says in re.sub(r"[\s│]+", "", shown)


@pytest.mark.parametrize("wrong", [("plam",), ("plan",), ("plan", "a", "b"), ("plan", "chat-8b", "--format", "xml")])
def test_wrong_usage_is_exit_code_2(wrong: tuple[str, ...], optimizer: Command) -> None:
    result = optimizer(*wrong)
    assert result.code == 2
    assert result.out == ""


@pytest.mark.parametrize("name", SCHEMAS)
def test_schemas_are_json(name: str, optimizer: Command) -> None:
    assert json.loads(optimizer("schema", name).out)["type"] == "object"


def test_an_unknown_schema_names_the_nearest(optimizer: Command) -> None:
    result = optimizer("schema", "plam")
    assert result.code == 2
    assert "did you mean plan" in result.err


def test_a_prediction_has_intervals_units_and_a_source(optimizer: Command) -> None:
    said = json.loads(optimizer(*SMALL, *LOAD, "--format", "json").out)
    for name, unit in (("ttft", "ms"), ("tpot", "ms"), ("output_throughput", "tokens/s")):
        assert 0 < said[name]["low"] < said[name]["predicted"] < said[name]["high"]
        assert said[name]["low"] <= said[name]["deployed_low"] < said[name]["deployed_high"] <= said[name]["high"]
        assert said[name]["unit"] == unit
    assert said["source"] in {"measured", "calibrated", "estimated"}


@pytest.mark.parametrize(
    ("option", "given", "said"),
    [
        ("--concurrency", "1e300", "expected a whole number, not '1e300'"),
        ("--request-rate", "x", "expected a number, not 'x'"),
        ("--input-tokens", "0", "must be greater than or equal to 1, not '0'"),
        ("--input-tokens", "10000001", "must be less than or equal to 10,000,000, not '10000001'"),
    ],
)
def test_numbers_that_are_none_are_refused_in_the_words_of_scenarios(
    optimizer: Command, option: str, given: str, said: str
) -> None:
    """It said "unable to parse string as an integer"."""
    result = optimizer(*SMALL, option, given)
    assert result.code == 2
    assert said in " ".join(result.err.replace("│", " ").split())


def test_a_prediction_says_what_makes_it_wide(optimizer: Command) -> None:
    """Two GPUs that exchange layers over PCIe may have a TTFT of 9 to 1,500 ms."""
    two = ("--tensor-parallel", "2", "--precision", "fp8", *LOAD)
    pcie, linked = (optimizer("predict", "--model", "llama-3.1-8b", "--gpu", gpu, *two) for gpu in ("L40S", "h100-sxm"))
    assert "over PCIe, which is ten times as fast on some boards" in " ".join(pcie.out.split())
    assert "PCIe" not in linked.out


def test_a_prediction_reads_as_text_and_markdown(optimizer: Command) -> None:
    text = optimizer(*SMALL, *LOAD).out
    assert text.startswith("llama-3.1-8b fp8 on 1× h100-sxm, vllm; 1,024 tokens in, 256 out, 8 in flight\n")
    assert "as deployed" in text
    assert optimizer(*SMALL, *LOAD, "--format", "markdown").out.startswith("# llama-3.1-8b fp8")


def test_every_unknown_name_of_a_prediction_is_told_at_once(optimizer: Command) -> None:
    named = ("--model", "llama-3.1-8", "--gpu", "h100", "--precision", "fp9", "--kv-precision", "q", "--engine", "vlm")
    result = optimizer("predict", *named, *LOAD)
    assert result.code == 2
    assert len(result.err.splitlines()) == 5
    assert "did you mean h100-sxm" in result.err


def test_every_missing_option_of_a_prediction_is_told_at_once(optimizer: Command) -> None:
    result = optimizer("predict", "--gpu", "l4")
    assert result.code == 2
    assert len(result.err.splitlines()) == 5


def test_a_configuration_that_cannot_run_is_exit_code_2_with_the_reason(optimizer: Command) -> None:
    result = optimizer("predict", "--model", "llama-3.1-70b", "--gpu", "l4", "--precision", "bf16", *LOAD)
    assert result.code == 2
    assert "does not fit" in result.err


def test_batch_carries_other_columns_through_untouched(optimizer: Command, tmp_path: Path) -> None:
    carried = ["007", "1.50", " x ", "NA", "", 'say "a, b"', "ü\nsecond line"]
    with (tmp_path / "in.csv").open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow([*HEADINGS.split(","), "mine"])
        for value in carried:
            writer.writerow(["vLLM", "llama-3.1-8b", "l4", "1", "1", "fp8", "512", "64", "concurrency", "4", value])
    result = optimizer("predict", "--batch", str(tmp_path / "in.csv"), "--output", str(tmp_path / "out.csv"))
    assert result == Result(0, "", "")
    with (tmp_path / "out.csv").open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert [row["mine"] for row in rows] == carried
    assert {row["pred_status"] for row in rows} == {"ok"}
    assert len({row["pred_tpot_ms_mean"] for row in rows}) == 1


def test_batch_marks_what_it_does_not_know_and_never_fails(optimizer: Command, tmp_path: Path) -> None:
    rows = [HEADINGS, ",,,,,,,,,", "vllm,nobody,l4,1,1,fp8,512,64,concurrency,4", "🦊,x,y,-1,1e400,nan,0x10,1e308,z,--"]
    (tmp_path / "in.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    result = optimizer("predict", "--batch", str(tmp_path / "in.csv"))
    assert result.code == 0
    told = list(csv.DictReader(io.StringIO(result.out)))
    assert [row["pred_status"] for row in told] == ["unsupported"] * 3
    assert all(row["pred_reason"] for row in told)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "the file is empty"),
        (b"model,gpu\nx,y\n", "engine: this column is missing"),
        (HEADINGS.encode() + b",gpu\n", "gpu: this column stands twice"),
        (HEADINGS.encode() + b"\n" + b"a," * 40 + b"\n", "cannot be read as CSV"),
        (b"\xff\xfe\x00\x01", "UTF-8"),
        (None, "cannot be read"),
    ],
)
def test_a_batch_file_that_is_no_table_is_bad_input(
    content: bytes | None, words: str, optimizer: Command, tmp_path: Path
) -> None:
    if content is not None:
        (tmp_path / "in.csv").write_bytes(content)
    result = optimizer("predict", "--batch", str(tmp_path / "in.csv"))
    assert result.code == 2
    assert result.out == ""
    assert words in result.err


def test_batch_and_a_single_configuration_exclude_each_other(optimizer: Command) -> None:
    assert "leave out --gpu or --batch" in optimizer("predict", "--batch", "x.csv", "--gpu", "l4").err


@pytest.mark.parametrize("name", ["gpus", "offers", "models", "engines", "serverless", "sources", "precisions"])
def test_catalogs_can_be_listed(name: str, optimizer: Command) -> None:
    text = optimizer("catalog", "list", name, "--limit", "3")
    assert text.code == 0
    said = json.loads(optimizer("catalog", "list", name, "--format", "json").out)
    assert text.out.startswith(f"{name}: {len(said[name]):,}; the first 3, ")


def test_a_filter_narrows_a_listing(optimizer: Command) -> None:
    said = json.loads(optimizer("catalog", "list", "gpus", "--filter", "h?00-*", "--format", "json").out)
    assert {row["id"][:4] for row in said["gpus"]} == {"h100", "h200"}


@pytest.mark.parametrize("name", ["h100-sxm", "Qwen/Qwen3-32B", "vllm", "fp8", "aws", "driver-listings"])
def test_every_kind_of_name_can_be_shown(name: str, optimizer: Command) -> None:
    result = optimizer("catalog", "show", name)
    assert result.code == 0
    assert name.casefold() in result.out.casefold()


def test_an_unknown_name_shows_the_nearest(optimizer: Command) -> None:
    result = optimizer("catalog", "show", "h100")
    assert result.code == 2
    assert "did you mean h100-sxm" in result.err


def test_the_shipped_catalogs_are_sound(optimizer: Command) -> None:
    result = optimizer("catalog", "check")
    assert result.code == 0
    assert result.out.startswith("The catalogs are sound: 0 errors")


def test_unsound_catalogs_are_exit_code_1(optimizer: Command, tmp_path: Path) -> None:
    rows = json.loads(optimizer("catalog", "list", "offers", "--filter", "aws", "--format", "json").out)["offers"]
    spot = next(row for row in rows if row["pricing_term"] == "spot")
    base = {**spot, "region": "test-1"}
    dear = [base | {"price_usd_per_hour": "99"}, base | {"price_usd_per_hour": "1", "pricing_term": "on_demand"}]
    with (tmp_path / "offers.csv").open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, fieldnames=list(base))
        writer.writeheader()
        writer.writerows(dear)
    result = optimizer("catalog", "check", "--catalogs", str(tmp_path))
    assert result.code == 1
    assert "above on-demand" in result.out


def test_our_own_fault_is_exit_code_70_in_one_line(optimizer: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise KeyError("a defect\nwith two lines")

    monkeypatch.setattr(calls, "optimized", broken)
    result = optimizer("plan", "chat-8b")
    assert result.code == 70
    assert result.err.count("\n") == 1


@pytest.mark.parametrize("rich", ["0", "1"])
@pytest.mark.parametrize(
    "typed", [("##vso[task.x]y",), ("plan", "--x##[error]y"), ("gate", "ci-gate", "--max-monthly-usd", "a\n::error::b")]
)
def test_an_error_of_usage_quotes_nothing_that_a_runner_acts_upon(
    typed: tuple[str, ...], rich: str, optimizer: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("typer.core.HAS_RICH", rich == "1")
    said = optimizer(*typed)
    assert said.code == 2
    assert re.search(r"^\s*::|##\[|##vso\[", said.err, re.MULTILINE) is None
    assert re.search(r"task\.x|u0023|error::b", said.err)


@pytest.mark.parametrize(
    ("name", "given", "begins"),
    [
        ("p.json", (), "{"),
        ("P.JSON", (), "{"),
        ("p.md", (), "# "),
        ("p.md", ("--format", "json"), "{"),
        ("p.json", ("--format", "text"), "llama"),
        ("p.txt", (), "llama"),
        ("p.csv", (), "llama"),
    ],
)
def test_the_name_of_a_file_tells_its_format_unless_another_is_asked_for(
    optimizer: Command, tmp_path: Path, name: str, given: tuple[str, ...], begins: str
) -> None:
    # whichever of the two comes first
    for options in ((*given, "--output", str(tmp_path / name)), ("--output", str(tmp_path / name), *given)):
        assert optimizer(*SMALL, *LOAD, *options).code == 0
        assert (tmp_path / name).read_text().startswith(begins)

"""Inputs that once ended in a traceback, without end or in a false answer are refused with file, line and field."""

import json
from pathlib import Path
from typing import Any

import pytest
from support.command import Command
from support.paths import TESTS

HEAD = """\
name: p
workloads:
  - name: c
    model: llama-3.1-8b
"""
LENGTHS = "    input_tokens: 100\n    output_tokens: 50\n"
ASKED = f"{HEAD}    requests_per_second: 1\n{LENGTHS}"
TRACE = "arrived_at_s,input_tokens,output_tokens\n"

SCENARIOS = {
    "bracket in a key": ('"a[b": 1\n' + ASKED, "s.yaml:1: a[b: unknown field"),
    "bracket in a known key": (
        ASKED.replace("name: p", "n[ame: p"),
        "s.yaml:1: n[ame: unknown field",
    ),
    "tagged value": (ASKED.replace(": 1\n", ': !!bool "abc"\n'), "s.yaml:5: YAML tags such as !!bool are not read"),
    "tagged key": (f"{ASKED}!!timestamp    min_quality: 1\n", "s.yaml:8: YAML tags such as !!timestamp are not read"),
    "huge hexadecimal": (ASKED.replace(": 1\n", f": 0x{'f' * 5000}\n"), "s.yaml:5: a number of 5,002 digits"),
    "deep": (f"a: {'[' * 40_000}{']' * 40_000}", "s.yaml:1: nested too deeply"),
    "endless plan": (
        f"{ASKED}policy: {{migration: {{from_plan: /dev/zero}}}}\n",
        "s.yaml:8: policy.migration.from_plan: /dev/zero: is a device or a pipe",
    ),
}


@pytest.mark.parametrize("content", SCENARIOS)
def test_a_scenario_that_broke_us_is_refused_at_its_line(content: str, optimizer: Command, tmp_path: Path) -> None:
    text, said = SCENARIOS[content]
    (tmp_path / "s.yaml").write_text(text)
    result = optimizer("plan", str(tmp_path / "s.yaml"))
    assert result.code == 2
    assert said in result.err


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (
            "1,99999999,5\n",
            "t.csv:2: 1e+08 tokens of a prompt or an answer is more than a scenario may have",
        ),
        ("1,10,5\n2,10,1e300\n", "t.csv:3: 1e+300 tokens"),
        ("1e308,100,5\n-1e308,50,7\n", "t.csv:2: 1e+308 seconds is more than a scenario may have"),
    ],
)
def test_a_trace_holds_numbers_that_somebody_may_mean(rows: str, said: str, optimizer: Command, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(TRACE + rows)
    (tmp_path / "s.yaml").write_text(f"{HEAD}    trace: t.csv\n")
    result = optimizer("plan", str(tmp_path / "s.yaml"))
    assert result.code == 2
    assert f"s.yaml:5: workloads[c].trace: {tmp_path / said}" in result.err


def test_a_profile_asks_for_no_more_than_a_scenario_may(optimizer: Command, tmp_path: Path) -> None:
    hours = "".join(f"{hour},1e9\n" for hour in range(168))
    (tmp_path / "p.csv").write_text(f"hour_of_week,requests_per_second\n{hours}")
    (tmp_path / "s.yaml").write_text(f"{HEAD}{LENGTHS}    demand: {{profile: p.csv}}\n")
    result = optimizer("plan", str(tmp_path / "s.yaml"))
    assert result.code == 2
    assert "p.csv:2: 1e+09 requests/s is more than a scenario may have (1,000,000)" in result.err


def test_a_plan_in_force_with_a_number_without_end_is_refused(optimizer: Command, tmp_path: Path) -> None:
    (tmp_path / "plan.json").write_text(f'{{"deployments": [{{"replicas": {"9" * 5000}}}]}}')
    (tmp_path / "s.yaml").write_text(f"{ASKED}policy: {{migration: {{from_plan: plan.json}}}}\n")
    for arguments in (("plan", "s.yaml"), ("verify", "plan.json")):
        result = optimizer(arguments[0], str(tmp_path / arguments[1]))
        assert result.code == 2
        assert "plan.json: holds a number of thousands of digits" in result.err
    (tmp_path / "s.json").write_text(f'{{"name": {"9" * 5000}}}')
    assert optimizer("plan", str(tmp_path / "s.json")).code == 2


UNREADABLE = {"quant_method": "fp8", "modules_to_not_convert": 5}
CONFIGS: dict[str, Any] = json.loads((TESTS / "data" / "configs_of_today.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("name", "field", "value", "said"),
    [
        ("MiniMaxAI/MiniMax-M2.5", "num_hidden_layers", 10**12, "is not a whole number from 1 to 10,000"),
        ("MiniMaxAI/MiniMax-M2.5", "hidden_size", 10**400, "is not a whole number from 1 to 1,000,000,000"),
        ("MiniMaxAI/MiniMax-M2.5", "num_key_value_heads", -1, "num_key_value_heads: -1 is not a whole number"),
        ("MiniMaxAI/MiniMax-M2.5", "quantization_config", UNREADABLE, "its fields contradict each other"),
        ("Qwen/Qwen3-VL-2B-Instruct", "vision_config", {"hidden_size": 10**400, "depth": []}, "vision_config: is a"),
    ],
)
def test_a_configuration_that_broke_us_is_refused_by_field(
    name: str, field: str, value: object, said: str, optimizer: Command, tmp_path: Path
) -> None:
    config = CONFIGS[name]["config"]
    part = config.get("text_config", config) if field != "vision_config" else config
    part = {**config, field: value} if part is config else {**config, "text_config": {**part, field: value}}
    (tmp_path / "config.json").write_text(json.dumps(part))
    result = optimizer("catalog", "add-model", str(tmp_path), "--id", "mine")
    assert result.code == (2 if said else 0)
    assert said in result.err


MEASURED = "engine,model,gpu,num_gpus,weight_precision,input_tokens,output_tokens,load_type,load_value"
ROW = "vllm,llama-3.1-8b,h100-sxm,1,bf16,512,128,concurrency,8"


@pytest.mark.parametrize("metric", ["ttft_ms_p50,tpot_ms_mean", "tpot_ms_mean", "ttft_ms_mean", "output_tok_s"])
def test_measurements_that_lack_a_metric_are_validated_on_the_others(
    metric: str, optimizer: Command, tmp_path: Path
) -> None:
    figures = ",".join("100" if "ttft" in name else "10" for name in metric.split(","))
    path = tmp_path / "m.csv"
    path.write_text(f"{MEASURED},{metric}\n{ROW},{figures}\n")
    result = optimizer("validate", str(path), "--decisions")
    assert (result.code, result.err) == (0, "")


@pytest.mark.parametrize("command", ["validate", "calibrate"])
def test_a_file_of_headings_alone_holds_no_measurement(command: str, optimizer: Command, tmp_path: Path) -> None:
    path = tmp_path / "m.csv"
    path.write_text(f"{MEASURED}\n")
    result = optimizer(command, str(path), "--output", str(tmp_path / "out"))
    assert result.code == 2
    assert result.err == f"error: {path}:1: holds no measurement (one row a measured deployment)\n"


def test_extreme_growth_has_a_lifecycle_or_a_reason(optimizer: Command, tmp_path: Path) -> None:
    training = (
        "{name: t, gpus: 1000000, hours: 1.0e+6, initial_runs: 1000000, overhead_share: 100, runs_per_month: 10000"
    )
    stored = "usd_per_gpu_hour: 10000.0, checkpoints: {gb_per_run: 1.0e+9, usd_per_gb_month: 100}}"
    policy = "policy: {gpus: {allow: [h100-sxm]}, engines: [vllm], precisions: [bf16]}\n"
    path = tmp_path / "s.yaml"
    path.write_text(
        f"{ASKED}{policy}lifecycle: {{months: 3, replan_every_months: 3, training: [{training}, {stored}]}}\n"
    )
    for form in ("text", "json", "markdown"):
        result = optimizer("lifecycle", str(path), "--format", form, "--quiet")
        assert (result.code, result.err) == (0, "")


def test_a_baseline_that_runs_what_cannot_run_is_refused(optimizer: Command, tmp_path: Path) -> None:
    deployment = {"workload": "c", "model": "m", "gpu": "l4", "provider": "p", "region": "r", "instance_type": "i"}
    deployment |= {"engine": "vllm", "precision": "bf16", "kv_precision": "bf16", "pricing_term": "on_demand"}
    deployment |= {"gpus_per_replica": 1, "monthly_cost_usd": "1"}
    counts = {"replicas": 1, "instances": 1, "gpus_per_instance": 1, "tensor_parallel": 10**30, "pipeline_parallel": 1}
    plan = {"scenario": "p", "outcome": "optimal", "monthly_cost_usd": "1", "deployments": [deployment | counts]}
    (tmp_path / "old.json").write_text(json.dumps(plan))
    (tmp_path / "s.yaml").write_text(ASKED)
    result = optimizer("gate", str(tmp_path / "s.yaml"), "--baseline", str(tmp_path / "old.json"))
    assert result.code == 2
    assert "old.json: deployments.0.tensor_parallel: not a plan" in result.err

"""From a plan to scripts, from a server's results back to a verdict: kept, broken, undecided, or another run."""

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from support.command import Command, Result
from support.load_generators import Measured, as_guidellm, as_vllm, simulated_run

from optimizer import load_scenario
from optimizer.answers.running.benchmark import benchmark
from optimizer.inputs.catalog.records import Catalogs
from optimizer.plan.benchmark.commands import TOOLS, warm_up
from optimizer.plan.benchmark.runs import BenchmarkRun, runs_of
from optimizer.plan.record.report import PlanReport
from optimizer.report.export import as_json
from optimizer.report.running.benchmark.files import benchmark_files
from optimizer.report.running.benchmark.scripts import scripts

Check = Callable[..., Result]


@pytest.fixture(scope="module")
def report(planned: Callable[[str], PlanReport]) -> PlanReport:
    """One deployment, one class, TTFT p95 and TPOT mean; 40 ms of TTFT pass before the model."""
    return planned("chat-8b")


@pytest.fixture(scope="module")
def run(report: PlanReport, catalogs: Catalogs) -> BenchmarkRun:
    (only,) = runs_of(load_scenario("chat-8b"), catalogs, report.fleet)
    return only


@pytest.fixture(scope="module")
def measured(run: BenchmarkRun, report: PlanReport, catalogs: Catalogs) -> Measured:
    return simulated_run(run, report, load_scenario("chat-8b"), catalogs)


@pytest.fixture
def plan(report: PlanReport, tmp_path: Path) -> Path:
    path = tmp_path / "plan.json"
    path.write_text(as_json(report), encoding="utf-8")
    return path


@pytest.fixture
def check(optimizer: Command, plan: Path, tmp_path: Path) -> Check:
    """Checks results that are given as what their files hold."""

    def checked(*contents: dict[str, Any], options: tuple[str, ...] = ("--format", "json")) -> Result:
        paths = []
        for number, content in enumerate(contents):
            paths.append(tmp_path / f"result-{number}.json")
            paths[-1].write_text(json.dumps(content), encoding="utf-8")
        return optimizer("check", *map(str, paths), "--plan", str(plan), *options)

    return checked


@pytest.mark.parametrize("tool", TOOLS)
def test_scripts_are_written_that_a_shell_can_read(optimizer: Command, plan: Path, tmp_path: Path, tool: str) -> None:
    said = optimizer("benchmark", str(plan), "--tool", tool, "--output", str(tmp_path / "runs"))
    assert said.code == 0, said.err
    names = sorted(path.name for path in (tmp_path / "runs").glob("[!.]*"))
    assert names == ["README.md", "chat-l40s-runpod.sh", "run-all.sh"]
    for name in names[1:]:
        subprocess.run(["bash", "-n", str(tmp_path / "runs" / name)], check=True)
    before = {name: (tmp_path / "runs" / name).read_bytes() for name in names}
    again = optimizer("benchmark", str(plan), "--tool", tool, "--output", str(tmp_path / "runs"), "--format", "json")
    assert again.code == 0, again.err
    assert {name: (tmp_path / "runs" / name).read_bytes() for name in names} == before
    assert json.loads(again.out)["files"] == names


@pytest.mark.parametrize(
    ("tool", "program", "seed"),
    [
        ("vllm", "vllm", "--seed {}"),
        ("guidellm", "guidellm", "--seed kind=static,value={}"),
        ("aiperf", "aiperf", "--random-seed {}"),
        ("sglang", "python", "--seed {}"),
    ],
)
def test_attempts_that_are_counted_together_have_files_and_seeds_of_their_own(
    optimizer: Command, plan: Path, tmp_path: Path, tool: str, program: str, seed: str
) -> None:
    folder = tmp_path / "runs"
    assert optimizer("benchmark", str(plan), "--tool", tool, "--output", str(folder)).code == 0
    fake = tmp_path / program
    fake.write_text(f'#!/bin/sh\necho "$*" >> {tmp_path}/calls\n')
    fake.chmod(0o755)
    environment = {"PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}", "URL_CHAT_L40S_RUNPOD": "http://HOST:1"}
    for attempt in ({}, {"ATTEMPT": "2"}):
        subprocess.run(["bash", str(folder / "run-all.sh")], env=environment | attempt, check=True)
    calls = (tmp_path / "calls").read_text().splitlines()
    first, third = (call for call in calls if "results/" in call)
    assert sorted(path.name for path in (folder / "results").iterdir()) == ["0", "2"]
    assert "results/0/chat-l40s-runpod" in first
    assert f"{seed.format(0)} " in first
    assert third == first.replace("results/0/", "results/2/").replace(seed.format(0), seed.format(2))


@pytest.mark.parametrize("tool", ["vllm", "sglang"])
def test_prompts_that_never_come_again_go_before_what_counts(
    report: PlanReport, run: BenchmarkRun, catalogs: Catalogs, tool: str
) -> None:
    """vLLM 0.26.0 was seen to warm up by one prompt again and again, and to compile for some 1.5 s once others came."""
    found = benchmark(report, load_scenario("chat-8b"), catalogs, tool)
    script = scripts(found)["chat-l40s-runpod.sh"]
    before, counted = script.split("# What counts")
    warm = warm_up(tool, run)
    assert warm is not None
    assert warm.rate_per_s == run.rate_per_s
    assert 15 <= warm.requests / warm.rate_per_s <= 25
    assert f"{warm.seed}+ATTEMPT" in before
    assert "warm-up/chat-l40s-runpod" in before
    assert "results/" not in before.partition("# Other prompts")[2]
    assert f"{run.seed}+ATTEMPT" in counted
    assert warm_up("aiperf", run) is None
    assert "other prompts at the same rate go before for 20 s" in benchmark_files(found)["README.md"]


def test_no_command_counts_on_a_plan_whose_figures_do_not_hold(optimizer: Command, plan: Path, tmp_path: Path) -> None:
    """`check` and `watch` took it for what was promised."""
    edited = json.loads(plan.read_text())
    edited["deployments"][0]["ttft_ms"]["p95"] = 100.0
    edited["deployments"][0]["max_requests_per_second"] = 60.0
    plan.write_text(json.dumps(edited))
    results, written = tmp_path / "results", tmp_path / "runs"
    results.write_text("{}")
    said = set()
    for words in (
        ("benchmark", str(plan), "--tool", "vllm", "--output", str(written)),
        ("export", str(plan), "--to", "vllm", "--output", str(written)),
        ("check", str(results), "--plan", str(plan)),
        ("watch", str(plan), "--metrics", str(results)),
    ):
        refused = optimizer(*words)
        assert refused.code == 2
        said.add(refused.err)
    (once,) = said
    assert f"{plan}: utilization: does not hold: chat on l40s is shown at its busiest" in once
    assert "service_levels: does not hold: chat: TTFT p95 is" in once
    assert not written.exists()


def test_a_file_of_somebody_else_is_not_written_over(optimizer: Command, plan: Path, tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("mine")
    refused = optimizer("benchmark", str(plan), "--tool", "vllm", "--output", str(tmp_path))
    assert refused.code == 2
    assert "files that no benchmark wrote: README.md" in refused.err
    assert (tmp_path / "README.md").read_text() == "mine"
    assert not (tmp_path / "run-all.sh").exists()


@pytest.mark.parametrize("write", [as_vllm, as_guidellm])
def test_a_server_as_predicted_keeps_the_plan_in_either_format(
    check: Check, run: BenchmarkRun, measured: Measured, report: PlanReport, write: Callable[..., dict[str, Any]]
) -> None:
    found = check(write(run, measured, report.plan_id))
    assert found.code == 0, found.out + found.err
    answer = json.loads(found.out)
    assert answer["verdict"] == "kept"
    assert [(each["metric"], each["statistic"], each["limit"]) for each in answer["promises"]] == [
        ("ttft_ms", "p95", 500.0),
        ("tpot_ms", "mean", 50.0),
    ]
    ttft, tpot = answer["promises"]
    assert ttft["limit_at_replica"] == 460.0
    assert ttft["share_within"] == 1.0
    assert ttft["lower_bound"] == pytest.approx(0.05 ** (1 / run.requests), abs=1e-6)
    assert {ttft["more_requests_needed"], tpot["more_requests_needed"]} == {0}
    assert tpot["measured_low"] < tpot["measured"] < tpot["measured_high"] < 50
    assert not answer["runs"][0]["reasons"]


def test_a_slow_server_breaks_it_and_the_prediction_says_so(
    check: Check, run: BenchmarkRun, measured: Measured, report: PlanReport
) -> None:
    found = check(as_vllm(run, measured.slower(5), report.plan_id))
    assert found.code == 1
    answer = json.loads(found.out)
    assert [each["verdict"] for each in answer["promises"]] == ["broken", "broken"]
    assert answer["promises"][0]["upper_bound"] < 0.95
    assert [each["as_predicted"] for each in answer["promises"]] == [False, False]


def test_so_few_requests_decide_nothing_and_it_is_said_how_many_would(
    check: Check, run: BenchmarkRun, measured: Measured, report: PlanReport
) -> None:
    found = check(as_vllm(run, measured.first(58), report.plan_id))
    assert found.code == 4
    ttft = json.loads(found.out)["promises"][0]
    assert (ttft["verdict"], ttft["share_within"], ttft["more_requests_needed"]) == ("undecided", 1.0, 1)
    twice = check(as_vllm(run, measured.first(58), report.plan_id), as_vllm(run, measured.first(1), report.plan_id))
    assert json.loads(twice.out)["promises"][0]["verdict"] == "kept"


def test_a_copy_of_a_result_is_no_second_run(
    check: Check, run: BenchmarkRun, measured: Measured, report: PlanReport
) -> None:
    content = as_vllm(run, measured.first(58), report.plan_id)
    answer = json.loads(check(content, content).out)
    assert (answer["verdict"], answer["promises"][0]["requests"]) == ("undecided", 58)
    (only,) = answer["runs"]
    assert any("result-1.json holds the same run: counted once" in note for note in only["notes"])


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"plan": "sha256:0123456789abcdef"}, "plan: measured sha256:0123456789abcdef, promised sha256:"),
        ({"gpu": "h100-sxm"}, "GPU: measured h100-sxm, promised l40s"),
        ({"gpu": "nobody's"}, "GPU: measured nobody's, promised l40s"),
        ({"weight_precision": "bf16"}, "weight precision: measured bf16, promised fp8"),
        ({"kv_precision": "fp8"}, "KV precision: measured fp8, promised bf16"),
        ({"tp": "2"}, "tensor parallel degree: measured 2, promised 1"),
        ({"num_gpus": "2"}, "number of GPUs: measured 2, promised 1"),
        ({"engine": "sglang"}, "engine: measured sglang, promised vllm"),
        ({"model_id": "Qwen/Qwen3-32B"}, "model: measured Qwen/Qwen3-32B, promised meta-llama/Llama-3.1-8B-Instruct"),
        ({"request_rate": 4.35}, "rate: measured 4.35 requests/s, promised 4.5 requests/s"),
        ({"burstiness": 4.0}, "arrivals: measured gaps of squared variation 0.25, promised 1"),
        ({"total_input_tokens": 1}, "input tokens: measured"),
        (
            {"request_rate": "inf", "max_concurrency": 16},
            "measured with 16 requests in flight, promised 4.5 requests/s",
        ),
        ({"max_concurrency": 16}, "held requests back at its own limit in flight"),
        ({"failed": 300}, "300 of 360 requests failed"),
        ({"deployment": "other"}, "deployment other"),
    ],
)
def test_another_run_than_the_promised_one_is_refused_with_both_values(
    check: Check, run: BenchmarkRun, measured: Measured, changed: dict[str, Any], said: str
) -> None:
    # as many requests as would keep every promise
    found = check(as_vllm(run, measured.first(60), **changed))
    assert found.code == 2
    answer = json.loads(found.out)
    assert answer["verdict"] == "unfit"
    assert any(said in reason for reason in answer["runs"][0]["reasons"]), answer["runs"][0]["reasons"]
    assert "kept" not in {each["verdict"] for each in answer["promises"]}


def test_a_rate_or_a_length_within_the_tolerance_is_the_promised_run(
    check: Check, run: BenchmarkRun, measured: Measured
) -> None:
    tokens = round(run.requests * run.served.input_tokens * 0.96)
    assert check(as_vllm(run, measured, request_rate=4.43, total_input_tokens=tokens)).code == 0


def test_a_run_that_asked_more_than_was_promised_may_keep_a_promise_but_not_break_it(
    check: Check, run: BenchmarkRun, measured: Measured
) -> None:
    assert check(as_vllm(run, measured, request_rate=5.4)).code == 0
    assert check(as_vllm(run, measured.slower(5), request_rate=5.4)).code == 4


SUMMARY = {"ttfts": None, "itls": None, "input_lens": None, "output_lens": None, "errors": None}


def test_percentiles_alone_bound_how_many_were_within(check: Check, run: BenchmarkRun, measured: Measured) -> None:
    """p99 below the limit says that 99 % were; p95 above it that at most 95 % were, which proves nothing yet."""
    kept = json.loads(check(as_vllm(run, measured, **SUMMARY, goodput="")).out)["promises"][0]
    assert kept["verdict"] == "kept"
    assert kept["share_within"] == pytest.approx(0.99, abs=1e-3)
    open_ = json.loads(check(as_vllm(run, measured, **SUMMARY, p95_ttft_ms=461.0, p99_ttft_ms=470.0)).out)
    assert open_["promises"][0]["verdict"] == "undecided"
    high = {"p90_ttft_ms": 461.0, "p95_ttft_ms": 480.0, "p99_ttft_ms": 490.0}
    assert json.loads(check(as_vllm(run, measured, **SUMMARY, **high)).out)["promises"][0]["verdict"] == "broken"
    at_odds = json.loads(check(as_vllm(run, measured, **SUMMARY, p90_ttft_ms=461.0)).out)
    assert at_odds["promises"][0]["verdict"] == "undecided"


def test_the_generators_own_count_decides_where_it_counts_the_same_limits(
    check: Check, run: BenchmarkRun, measured: Measured
) -> None:
    """Of one limit it decides both ways; with a limit on TPOT in it, too, a low count says nothing of TTFT."""
    few = {"p50_ttft_ms": 461.0, "median_ttft_ms": None, "p90_ttft_ms": None, "p95_ttft_ms": None, "p99_ttft_ms": None}
    content = as_vllm(run, measured, **SUMMARY, **few)
    of_all = run.requests / content["duration"]
    kept = json.loads(check({**content, "request_goodput": 0.99 * of_all}).out)["promises"][0]
    assert (kept["verdict"], kept["share_within"]) == ("kept", pytest.approx(0.99, abs=1e-3))
    broken = {**content, "request_goodput": 0.90 * of_all}
    assert json.loads(check(broken).out)["promises"][0]["verdict"] == "broken"
    more_limits = {**broken, "goodput": "ttft:460,tpot:50"}
    assert json.loads(check(more_limits).out)["promises"][0]["verdict"] == "undecided"


def test_a_mean_without_single_requests_is_known_the_less_the_fewer_answers_fit_after_each_other(
    check: Check, run: BenchmarkRun, measured: Measured
) -> None:
    """Half as long a run widens the interval by more than the root of two: Student's t for its fewer answers, too."""
    content = as_vllm(run, measured, **SUMMARY)
    wide = []
    for part in (1.0, 0.5, 0.25):
        cut = {**content, "duration": content["duration"] * part}
        promise = json.loads(check({**cut, "request_throughput": content["completed"] / cut["duration"]}).out)
        promise = promise["promises"][1]
        assert promise["verdict"] == "kept"
        wide.append(promise["measured_high"] - promise["measured"])
    assert wide[1] / wide[0] > 2**0.5
    assert wide[2] / wide[1] > 2**0.5
    short = as_vllm(run, measured, **SUMMARY, duration=20.0, request_throughput=5.0)
    assert json.loads(check(short).out)["promises"][1]["verdict"] == "undecided"


def test_a_plan_of_which_a_part_was_not_measured_is_undecided(
    optimizer: Command, planned: Callable[[str], PlanReport], catalogs: Catalogs, tmp_path: Path
) -> None:
    """The classes of a replica are measured at the same time, each by a run of its own."""
    report, scenario = planned("mixed-chat-rag"), load_scenario("mixed-chat-rag")
    runs = runs_of(scenario, catalogs, report.fleet)
    (tmp_path / "plan.json").write_text(as_json(report), encoding="utf-8")
    short, long = runs
    number = np.arange(float(short.requests))
    quick = Measured(number / short.rate_per_s, np.full_like(number, 0.1), np.full_like(number, 0.01))
    (tmp_path / "one.json").write_text(json.dumps(as_vllm(short, quick, report.plan_id)), encoding="utf-8")
    found = optimizer("check", str(tmp_path / "one.json"), "--plan", str(tmp_path / "plan.json"), "--format", "json")
    assert found.code == 4
    answer = json.loads(found.out)
    assert answer["not_measured"] == [long.name]
    by_class = {(each["class"], each["verdict"]) for each in answer["promises"]}
    assert by_class == {(short.served.name, "kept"), (long.served.name, "undecided")}


def test_the_forms_for_people_and_pipelines_say_the_same(
    check: Check, run: BenchmarkRun, measured: Measured, tmp_path: Path
) -> None:
    junit = tmp_path / "check.xml"
    text = check(as_vllm(run, measured.slower(5)), options=("--junit", str(junit)))
    assert text.code == 1
    assert text.out.startswith("The plan for chat-8b breaks a promise: 2 broken.")
    root = ET.parse(junit).getroot()
    assert (root.get("tests"), root.get("failures")) == ("2", "2")
    assert len(root.findall(".//failure")) == 2
    markdown = check(as_vllm(run, measured), options=("--format", "markdown"))
    assert markdown.out.startswith("# Check\n\nThe plan for chat-8b keeps every promise: 2 kept.")


def test_what_is_no_result_or_no_plan_is_bad_input(optimizer: Command, plan: Path, tmp_path: Path) -> None:
    (tmp_path / "none.json").write_text("{}")
    refused = optimizer("check", str(tmp_path / "none.json"), "--plan", str(plan))
    assert refused.code == 2
    assert "none.json" in refused.err
    assert optimizer("check", str(plan), "--plan", str(tmp_path / "none.json")).code == 2
    assert optimizer("benchmark", str(tmp_path / "none.json"), "--tool", "vllm", "--output", str(tmp_path)).code == 2


@pytest.mark.parametrize("command", [("benchmark", "--tool", "vllm", "--output", "runs"), ("simulate",)])
def test_a_plan_file_without_a_plan_is_named(
    command: tuple[str, ...], optimizer: Command, planned: Callable[[str], PlanReport], tmp_path: Path
) -> None:
    path = tmp_path / "none.json"
    path.write_text(as_json(planned("infeasible-latency")), encoding="utf-8")
    said = optimizer(command[0], str(path), *command[1:])
    assert said.code == 2
    assert said.err.startswith(f"error: {path}: monthly_cost_usd: ")

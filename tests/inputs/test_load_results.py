"""Results of load generators: every sample in our units and by our definition of TPOT, no trap stepped in."""

import json
import math
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from support.load_results import SAMPLES, only, sample, written

from optimizer.base.errors import InputError
from optimizer.inputs.importing.load_results.fitness import doubts, unfit
from optimizer.inputs.importing.load_results.reading import read_results
from optimizer.inputs.importing.load_results.record import Load, LoadResult

OPEN_LOOP = Load("request_rate", 5.0)

READ: dict[str, dict[str, Any]] = {
    "vllm_0.33.0_bench_serve.json": {
        "tool": "vllm", "model": "meta-llama/Llama-3.1-8B-Instruct", "engine": "vllm", "engine_version": "0.33.0",
        "gpu": "h100-sxm", "num_gpus": 1, "tp": 1, "weight_precision": "fp8", "kv_precision": "fp8",
        "input_tokens": 1024.0, "output_tokens": 256.0, "load": OPEN_LOOP, "burstiness": 1.0, "requests_offered": 600,
        "duration_s": 121.4, "output_tokens_per_s": 1265.2, "requests_per_s": 4.942,
        "ttft_ms": {"mean": 52.1, "p50": 43.8, "p90": 88.2, "p95": 104.9, "p99": 151.3},
        "tpot_ms": {"mean": 6.51, "p50": 6.48, "p90": 7.05, "p95": 7.21, "p99": 7.64},
    },
    "vllm_0.33.0_bench_serve_closed_loop.json": {"load": Load("concurrency", 16.0), "flaws": ()},
    "sglang_0.5.23_bench_serving.jsonl": {
        "tool": "sglang", "engine": "sglang", "engine_version": "0.5.23", "tp": 1, "pp": 1, "weight_precision": "fp8",
        "kv_precision": "fp8", "gpu": None, "max_num_seqs": 128, "load": OPEN_LOOP, "requests_failed": None,
        "tpot_ms": {"mean": 6.47, "p50": 6.44, "p90": 7.0, "p95": 7.2, "p99": 7.6},
    },
    "guidellm_0.8.1_benchmarks.json": {
        "tool": "guidellm", "tool_version": "0.8.1", "schema": "2", "engine": "vllm", "engine_version": "0.33.0",
        "gpu": "h100-sxm", "tp": 1, "load": Load("request_rate", 4.0), "burstiness": 1.0, "requests_completed": 52,
        "requests_offered": 53, "duration_s": 8.0, "output_tokens": 16.0, "output_tokens_per_s": 104.0,
    },
    "aiperf_0.13.0_profile_export_aiperf.json": {
        "tool": "aiperf", "tool_version": "0.13.0", "schema": "1.4", "load": Load("request_rate", 4.0),
        "output_tokens": 16.0, "requests_completed": 24, "requests_failed": 0,
    },
    "aiperf_0.13.0_profile_export_aiperf.csv": {
        "tool": "aiperf", "model": None, "load": None, "output_tokens": 16.0, "requests_completed": 24,
        "requests_per_s": 3.77, "ttft_ms": {"mean": 67.48, "p50": 66.44, "p90": 76.31, "p95": 77.53, "p99": 79.51},
    },
    "genai_perf_0.0.16_profile_export_genai_perf.json": {
        "tool": "genai-perf", "engine": "vllm", "load": OPEN_LOOP, "requests_completed": 600,
        "tpot_ms": {"mean": 6.5, "p50": 6.37, "p90": 8.125, "p95": 9.1, "p99": 12.35},
    },
    "llmd_benchmark_report_v0.2.1.yaml": {
        "tool": "llm-d", "schema": "0.2.1", "engine": "vllm", "engine_version": "0.33.0", "num_gpus": 2, "dp": 2,
        "gpu": "NVIDIA-H100-80GB-HBM3", "weight_precision": "fp8", "load": OPEN_LOOP,
    },
    "inference_perf_stage_0_lifecycle_metrics.json": {
        "tool": "inference-perf", "load": OPEN_LOOP, "requests_failed": 0, "output_tokens_per_s": 1265.0,
    },
    "llmperf_summary.json": {
        "tool": "llmperf", "load": Load("concurrency", 8.0), "tpot_ms": {}, "input_tokens": 1044.48,
    },
    "mlperf_log_summary.txt": {
        "tool": "mlperf", "load": OPEN_LOOP, "model": None, "input_tokens": None, "output_tokens_per_s": 1265.2,
    },
}  # fmt: skip


@pytest.mark.parametrize("name", READ)
def test_a_sample_is_read_as_it_is(name: str) -> None:
    result = only(name)
    said = {field: getattr(result, field) for field in READ[name]}
    assert said == READ[name]


def test_every_sample_is_read_here_or_below() -> None:
    tables = {"vllm_0.33.0_bench_sweep_summary.csv", "inferencex_agg_bmk.json"}
    assert {path.name for path in SAMPLES.iterdir()} == READ.keys() | tables


@pytest.mark.parametrize(
    ("name", "ttft_ms", "tpot_ms"),
    [
        ("llmd_benchmark_report_v0.2.1.yaml", 52.0, 6.5),
        ("inference_perf_stage_0_lifecycle_metrics.json", 52.0, 6.5),
        ("llmperf_summary.json", 51.0, None),
        ("mlperf_log_summary.txt", 52.1, 6.51),
    ],
)
def test_seconds_and_nanoseconds_become_milliseconds_once(name: str, ttft_ms: float, tpot_ms: float | None) -> None:
    result = only(name)
    assert result.ttft_ms["mean"] == pytest.approx(ttft_ms)
    assert result.tpot_ms.get("mean") == (None if tpot_ms is None else pytest.approx(tpot_ms))


def test_a_sweep_is_a_run_a_row_with_what_it_varied() -> None:
    runs = sample("vllm_0.33.0_bench_sweep_summary.csv")
    assert [(run.tp, run.max_num_seqs, run.load, run.line) for run in runs] == [
        (1, 8, Load("concurrency", 8.0), 2),
        (1, 32, Load("concurrency", 32.0), 3),
        (2, 8, Load("concurrency", 8.0), 4),
        (2, 32, Load("concurrency", 32.0), 5),
    ]
    assert {run.tpot_ms["p50"] for run in runs} == {6.48}


def test_appended_runs_stand_line_by_line(tmp_path: Path) -> None:
    row = json.loads((SAMPLES / "vllm_0.33.0_bench_serve.json").read_text())
    lines = [json.dumps(row | {"request_rate": rate, "request_throughput": rate}) for rate in (1.0, 2.0)]
    (tmp_path / "appended.json").write_text("\n".join(lines))
    runs = read_results(tmp_path / "appended.json")
    assert [(run.run, run.line, run.load) for run in runs] == [
        ("line 1", 1, Load("request_rate", 1.0)),
        ("line 2", 2, Load("request_rate", 2.0)),
    ]


def test_inferencex_throughput_is_per_gpu_and_of_the_gpus_that_decode() -> None:
    together, apart = sample("inferencex_agg_bmk.json")
    assert (together.num_gpus, together.output_tokens_per_s, together.tpot_ms["p50"]) == (8, 800.0, 60.0)
    assert (together.engine, together.engine_version, together.load) == ("sglang", "0.5.12", Load("concurrency", 64.0))
    assert (apart.num_gpus, apart.output_tokens_per_s) == (16, 800.0)
    assert not unfit(together)
    assert [flaw.problem for flaw in unfit(apart)] == ["prefill and decode ran on GPUs of their own"]


def test_tpot_never_has_ttft_in_it() -> None:
    """GuideLLM's `time_per_output_token_ms`, inference-perf's `normalized_…` and LLMPerf's gap have it."""
    assert only("guidellm_0.8.1_benchmarks.json").tpot_ms["mean"] == pytest.approx(12.096968, abs=1e-6)
    assert only("inference_perf_stage_0_lifecycle_metrics.json").tpot_ms["p50"] == pytest.approx(6.305)
    assert "end to end" in only("llmperf_summary.json").notes[0]


def test_a_client_that_counts_tokens_its_own_way_is_refused(tmp_path: Path) -> None:
    for name in ("aiperf_0.13.0_profile_export_aiperf.json", "aiperf_0.13.0_profile_export_aiperf.csv"):
        (flaw,) = unfit(only(name))
        assert flaw.problem == "its client counted 56 tokens an answer where the server counted 16"
        assert flaw.hint == "run it with --use-server-token-count"

    def counted_by_the_server(content: dict[str, Any]) -> None:
        content["output_sequence_length"]["avg"] = 16.2

    assert not unfit(changed("aiperf_0.13.0_profile_export_aiperf.json", counted_by_the_server, tmp_path))


@pytest.mark.parametrize("name", ["vllm_0.33.0_bench_serve.json", "sglang_0.5.23_bench_serving.jsonl"])
def test_a_rate_under_a_limit_in_flight_hides_the_clients_queue(name: str, tmp_path: Path) -> None:
    def limited(content: dict[str, Any]) -> None:
        content["max_concurrency"] = 16

    (flaw,) = unfit(changed(name, limited, tmp_path))
    assert "not in its TTFT" in flaw.problem


def test_a_rate_that_reached_guidellms_own_limit_hides_its_queue(tmp_path: Path) -> None:
    def limited(content: dict[str, Any]) -> None:
        content["benchmarks"][0]["config"]["strategy"]["max_concurrency"] = 14

    (flaw,) = unfit(changed("guidellm_0.8.1_benchmarks.json", limited, tmp_path))
    assert "not in its TTFT" in flaw.problem


FAILED: dict[str, Callable[[Any, int], None]] = {
    "vllm_0.33.0_bench_serve.json": lambda content, n: content.update(failed=n),
    "guidellm_0.8.1_benchmarks.json": lambda content, n: totals(content).update(
        errored=n, successful=600, total=600 + n
    ),
    "inference_perf_stage_0_lifecycle_metrics.json": lambda content, n: content["failures"].update(count=n),
    "llmperf_summary.json": lambda content, n: content.update(
        results_number_errors=n, results_num_completed_requests=600, results_num_requests_started=600 + n
    ),
}


def totals(content: Any) -> dict[str, int]:
    found: dict[str, int] = content["benchmarks"][0]["metrics"]["request_totals"]
    return found


@pytest.mark.parametrize("name", FAILED)
def test_more_than_one_request_in_a_hundred_without_an_answer_is_refused(name: str, tmp_path: Path) -> None:
    few = changed(name, lambda content: FAILED[name](content, 6), tmp_path)
    many = changed(name, lambda content: FAILED[name](content, 7), tmp_path)
    assert unfit(few) == ()
    assert "7 of 60" in unfit(many)[0].problem


def test_a_run_that_did_not_end_is_refused(tmp_path: Path) -> None:
    def cut_off(content: dict[str, Any]) -> None:
        content["is_complete"] = False

    flaws = unfit(changed("aiperf_0.13.0_profile_export_aiperf.json", cut_off, tmp_path))
    assert "it was cancelled or did not end" in [flaw.problem for flaw in flaws]


def test_an_open_loop_that_fell_behind_is_refused(tmp_path: Path) -> None:
    def served(rate: float) -> Callable[[Any], None]:
        return lambda content: content.update(request_throughput=rate)

    (flaw,) = unfit(changed("vllm_0.33.0_bench_serve.json", served(4.0), tmp_path))
    assert flaw.problem == "served 4 requests/s of the 5 offered, so its queue never settled"
    assert not unfit(changed("vllm_0.33.0_bench_serve.json", served(4.9), tmp_path))
    # a closed loop serves what it serves
    assert not unfit(changed("vllm_0.33.0_bench_serve_closed_loop.json", served(1.0), tmp_path))


def test_a_generator_that_offered_more_than_it_says_is_told() -> None:
    assert doubts(only("guidellm_0.8.1_benchmarks.json")) == ("served 6.5 requests/s where 4 were asked for",)


@pytest.mark.parametrize(
    ("name", "change", "version"),
    [
        ("guidellm_0.8.1_benchmarks.json", {"metadata": {"version": 1, "guidellm_version": "0.5.2"}}, "0.5.2"),
        ("guidellm_0.8.1_benchmarks.json", {"metadata": {"version": 3, "guidellm_version": "0.8.4"}}, "version 3"),
        ("aiperf_0.13.0_profile_export_aiperf.json", {"schema_version": "2.0"}, "2.0"),
        ("llmperf_summary.json", {"version": "2026-01-01"}, "2026-01-01"),
        ("llmd_benchmark_report_v0.2.1.yaml", {"version": "0.3"}, "0.3"),
    ],
)
def test_a_version_that_nobody_knows_is_named(name: str, change: dict[str, Any], version: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=rf"{version} .*is not read"):
        changed(name, lambda content: content.update(change), tmp_path)


def test_drafted_answers_measure_another_configuration(tmp_path: Path) -> None:
    drafted = changed("sglang_0.5.23_bench_serving.jsonl", lambda content: content.update(accept_length=2.4), tmp_path)
    assert "drafted" in unfit(drafted)[0].problem


def test_a_run_that_says_what_it_drafted_is_one_of_that(tmp_path: Path) -> None:
    said = {"accept_length": 2.4, "tag": "gpu=h100-sxm,speculation=eagle3:3"}
    drafted = changed("sglang_0.5.23_bench_serving.jsonl", lambda content: content.update(said), tmp_path)
    assert not unfit(drafted)
    assert (drafted.speculation, drafted.accepted_tokens) == ("eagle3:3", 2.4)


def test_mlperf_runs_that_are_not_valid_are_refused(tmp_path: Path) -> None:
    text = (SAMPLES / "mlperf_log_summary.txt").read_text()
    (tmp_path / "log.txt").write_text(text.replace("Result is : VALID", "Result is : INVALID"))
    (result,) = read_results(tmp_path / "log.txt")
    assert unfit(result)[0].problem == "its own verdict is not VALID"


def test_each_request_is_read_where_the_file_holds_all_of_them(tmp_path: Path) -> None:
    def detailed(content: dict[str, Any]) -> None:
        content |= {"completed": 2, "failed": 1, "total_output_tokens": 6}
        content |= {"ttfts": [0.05, 0.0, 0.07], "itls": [[0.01, 0.03], [], [0.02, 0.02]]}
        content |= {"input_lens": [10, 11, 12], "output_lens": [3, 0, 3], "errors": ["", "gone", ""]}

    requests = changed("vllm_0.33.0_bench_serve.json", detailed, tmp_path).requests
    assert requests is not None
    assert requests.ttft_ms.tolist() == pytest.approx([50.0, 70.0])
    assert requests.tpot_ms.tolist() == pytest.approx([20.0, 20.0])
    assert (requests.input_tokens.tolist(), requests.output_tokens.tolist()) == ([10.0, 12.0], [3.0, 3.0])


def test_some_of_the_requests_say_nothing_of_a_percentile() -> None:
    result = only("guidellm_0.8.1_benchmarks.json")
    assert (result.requests, result.notes) == (None, ("holds 1 of its 52 answers one by one: not used one by one",))


def test_sglang_lists_what_failed_without_counting_it(tmp_path: Path) -> None:
    def detailed(content: dict[str, Any]) -> None:
        content |= {"completed": 1, "ttfts": [0.05, 0.0], "itls": [[0.01], []], "errors": ["", "gone"]}
        content |= {"input_lens": [10, 11], "output_lens": [2, 0]}

    result = changed("sglang_0.5.23_bench_serving.jsonl", detailed, tmp_path)
    assert (result.requests_failed, result.requests_offered) == (1, 2)
    assert "1 of 2 requests failed" in unfit(result)[0].problem


def test_a_strategy_that_is_not_read_costs_its_run_alone(tmp_path: Path) -> None:
    def replayed(content: dict[str, Any]) -> None:
        again = deepcopy(content["benchmarks"][0])
        again["config"]["strategy"]["type_"] = "trace"
        content["benchmarks"].append(again)

    read, refused = read_results(written("guidellm_0.8.1_benchmarks.json", replayed, tmp_path))
    assert not unfit(read)
    assert unfit(refused)[0].problem == "its load 'trace' is not read"


@pytest.mark.parametrize(("count", "flaws"), [(1, 0), (2, 0), (3, 1)])
def test_llmd_counts_the_gpus_of_a_replica_or_of_all(count: int, flaws: int, tmp_path: Path) -> None:
    def counted(content: dict[str, Any]) -> None:
        content["scenario"]["stack"][0]["standardized"]["accelerator"]["count"] = count

    result = changed("llmd_benchmark_report_v0.2.1.yaml", counted, tmp_path)
    assert (result.num_gpus, len(unfit(result))) == (2, flaws)


def test_llmd_stacks_of_several_engines_are_refused(tmp_path: Path) -> None:
    def apart(content: dict[str, Any]) -> None:
        content["scenario"]["stack"] *= 2

    assert "several engines" in unfit(changed("llmd_benchmark_report_v0.2.1.yaml", apart, tmp_path))[0].problem


def test_labels_say_what_the_tool_does_not(tmp_path: Path) -> None:
    def labelled(content: dict[str, Any]) -> None:
        content["config"]["metadata"]["labels"] = {"tp": "2", "engine": "trtllm-1.2.1", "plan": "abc", "gpu": "l4"}

    result = changed("guidellm_0.8.1_benchmarks.json", labelled, tmp_path)
    assert (result.tp, result.engine, result.engine_version, result.gpu) == (2, "tensorrt-llm", "1.2.1", "l4")
    assert result.metadata["plan"] == "abc"


def test_a_protocol_is_no_engine(tmp_path: Path) -> None:
    def spoken(content: dict[str, Any]) -> None:
        content["backend"] = "openai-chat"
        del content["engine"]

    assert changed("vllm_0.33.0_bench_serve.json", spoken, tmp_path).engine is None


@pytest.mark.parametrize(
    ("rate", "in_flight", "load"),
    [
        ("inf", None, Load("offline", 600.0)),
        (math.inf, 8, Load("concurrency", 8.0)),
        (2.5, None, Load("request_rate", 2.5)),
        ("trace", None, None),
        ("trace", 8, None),
    ],
)
def test_a_load_is_what_limits_the_client(rate: Any, in_flight: int | None, load: Load | None, tmp_path: Path) -> None:
    def asked(content: dict[str, Any]) -> None:
        content |= {"request_rate": rate, "max_concurrency": in_flight, "request_throughput": 2.5}

    assert changed("sglang_0.5.23_bench_serving.jsonl", asked, tmp_path).load == load


def changed(name: str, change: Callable[[dict[str, Any]], object], folder: Path) -> LoadResult:
    """A sample with a change, read again."""
    (result,) = read_results(written(name, change, folder))
    return result


def test_a_label_names_the_server_but_never_another_model(tmp_path: Path) -> None:
    """What a tool says itself stands; how a client spoke to a server says less of the engine than its user does."""
    path = tmp_path / "result.json"
    content = json.loads((SAMPLES / "vllm_0.33.0_bench_serve.json").read_text(encoding="utf-8"))
    path.write_text(json.dumps({**content, "model": "qwen3-32b", "engine": "tensorrt-llm", "backend": "vllm"}))
    (run,) = read_results(path)
    assert (run.model, run.engine) == (content["model_id"], "tensorrt-llm")
    path = tmp_path / "result.jsonl"
    line = json.loads((SAMPLES / "sglang_0.5.23_bench_serving.jsonl").read_text(encoding="utf-8").splitlines()[0])
    for backend, engine in (("vllm", "tensorrt-llm"), ("sglang", "sglang")):
        path.write_text(json.dumps({**line, "backend": backend, "tag": "engine=tensorrt-llm"}) + "\n")
        (run,) = read_results(path)
        assert run.engine == engine

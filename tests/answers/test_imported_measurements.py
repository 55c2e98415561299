"""Results become measurements with what their reader says of them: nothing guessed, nothing overruled, nothing lost."""

import json
from pathlib import Path
from typing import Any

import pytest
from support.command import Command
from support.load_results import SAMPLES, written

from optimizer.answers.accuracy.imported import ImportedMeasurements, import_measurements
from optimizer.answers.accuracy.told import OPTIONS
from optimizer.base.errors import InputError
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.importing.load_results.record import FACTS, Load
from optimizer.inputs.measurements import load_measurements, observed

VLLM = "vllm_0.33.0_bench_serve.json"
SWEEP = "vllm_0.33.0_bench_sweep_summary.csv"
GUIDELLM = "guidellm_0.8.1_benchmarks.json"
AIPERF = "aiperf_0.13.0_profile_export_aiperf.json"

MODEL = {"model": "llama-3.1-8b", "engine": "vllm", "engine_version": "0.33.0"}
REST = {"gpu": "h100-sxm", "tp": 1, "weight_precision": "fp8"}

LACKING: dict[str, dict[str, Any]] = {
    VLLM: {},
    "vllm_0.33.0_bench_serve_closed_loop.json": {},
    SWEEP: {"gpu": "h100-sxm", "weight_precision": "fp8"},
    "sglang_0.5.23_bench_serving.jsonl": {"gpu": "h100-sxm"},
    GUIDELLM: {"weight_precision": "fp8"},
    "genai_perf_0.0.16_profile_export_genai_perf.json": REST,
    "llmd_benchmark_report_v0.2.1.yaml": {"gpu": "h100-sxm"},
    "inference_perf_stage_0_lifecycle_metrics.json": MODEL | REST,
    "inferencex_agg_bmk.json": {"gpu": "h200-sxm"},
    "llmperf_summary.json": {"engine": "vllm"} | REST,
    "mlperf_log_summary.txt": MODEL | REST | {"input_tokens": 1024.0},
}
"""What each sample does not say of itself."""


def imported(catalogs: Catalogs, told: dict[str, Any], *names: str) -> ImportedMeasurements:
    return import_measurements([SAMPLES / name for name in names], catalogs, told)


@pytest.mark.parametrize("name", LACKING)
def test_a_sample_is_imported_with_what_it_lacks(name: str, catalogs: Catalogs) -> None:
    found = imported(catalogs, LACKING[name], name)
    assert found.runs
    for run in found.runs:
        assert all(run.row[column] for column in ("model", "engine", "gpu", "tp", "num_gpus", "load_type"))
        assert run.row["gpu"] in catalogs.gpus
        assert run.row["ttft_ms_p50"]
        assert run.row["tpot_ms_mean"] or run.result.tool == "llmperf"


def test_a_file_that_is_given_under_two_names_is_one_measurement(catalogs: Catalogs, tmp_path: Path) -> None:
    copy = tmp_path / "copy.json"
    copy.write_bytes((SAMPLES / GUIDELLM).read_bytes())
    once = imported(catalogs, LACKING[GUIDELLM], GUIDELLM)
    twice = import_measurements([SAMPLES / GUIDELLM, copy], catalogs, LACKING[GUIDELLM])
    assert len(twice.runs) == len(once.runs)
    assert all(any(f"{copy}" in note and "counted once" in note for note in run.notes) for run in twice.runs)


@pytest.mark.parametrize("name", [name for name, lacking in LACKING.items() if lacking])
def test_what_is_lacking_is_named_with_its_option(name: str, catalogs: Catalogs) -> None:
    for left_out in set(LACKING[name]) - {"engine_version"}:
        with pytest.raises(InputError, match=OPTIONS[left_out]):
            imported(catalogs, {fact: told for fact, told in LACKING[name].items() if fact != left_out}, name)


@pytest.mark.parametrize("name", [AIPERF, AIPERF.replace(".json", ".csv")])
def test_an_unfit_sample_is_refused_however_much_is_told(name: str, catalogs: Catalogs) -> None:
    load = {} if name == AIPERF else {"load": Load("request_rate", 4.0)}
    with pytest.raises(InputError) as error:
        imported(catalogs, {"engine": "vllm", **REST, **load} | ({"model": "llama-3.1-8b"} if load else {}), name)
    (finding,) = error.value.findings
    assert (finding.problem, finding.hint) == (
        "its client counted 56 tokens an answer where the server counted 16",
        "run it with --use-server-token-count",
    )


def test_one_refused_run_loses_no_other(catalogs: Catalogs) -> None:
    found = imported(catalogs, {"gpu": "h200-sxm"}, "inferencex_agg_bmk.json", AIPERF, "none.json")
    (run,) = found.runs
    assert (run.row["tp"], run.row["num_gpus"], run.row["output_tok_s"]) == ("8", "8", "800")
    assert found.refused_runs == 3
    said = [(Path(finding.file).name, finding.field, finding.problem) for finding in found.refused]
    assert ("inferencex_agg_bmk.json", "[1]", "prefill and decode ran on GPUs of their own") in said
    assert ("none.json", "", "cannot be read: No such file or directory") in said
    assert all(finding.hint for finding in found.refused if finding.field)


@pytest.mark.parametrize(
    ("told", "problem"),
    [
        ({"tp": 2}, "tensor parallel degree: it says 1 where --tensor-parallel says 2"),
        ({"gpu": "l4"}, "GPU: it says h100-sxm where --gpu says l4"),
        ({"model": "qwen3-32b"}, "model: it says meta-llama/Llama-3.1-8B-Instruct where --model says qwen3-32b"),
        ({"load": Load("concurrency", 8.0)}, "load: it says request_rate 5 where"),
        ({"gpu": "h101"}, "--gpu 'h101' is not known"),
        ({"num_gpus": 2, "dp": 4}, "number of GPUs: it says 1 where --num-gpus says 2"),
        ({"dp": 4}, "1 GPUs are fewer than its degrees of parallelism take: 4"),
    ],
)
def test_an_option_never_overrules_a_file(told: dict[str, Any], problem: str, catalogs: Catalogs) -> None:
    with pytest.raises(InputError) as error:
        imported(catalogs, told, VLLM)
    assert problem in str(error.value)


def test_gpus_must_be_a_whole_number_of_replicas(catalogs: Catalogs, tmp_path: Path) -> None:
    uneven = written(VLLM, lambda content: content.update(tp="3", num_gpus="8"), tmp_path)
    with pytest.raises(InputError, match="8 GPUs are no whole number of replicas of 3"):
        import_measurements([uneven], catalogs, {})


def test_an_option_says_what_a_name_in_the_file_stands_for(catalogs: Catalogs, tmp_path: Path) -> None:
    path = written(VLLM, lambda content: content.update(model_id="./tok", gpu="NVIDIA L40S"), tmp_path)
    with pytest.raises(InputError, match=r"its model './tok' is not known"):
        import_measurements([path], catalogs, {})
    (run,) = import_measurements([path], catalogs, {"model": "llama-3.1-8b"}).runs
    assert (run.row["model"], run.row["gpu"]) == ("llama-3.1-8b", "l40s")


def test_what_was_assumed_or_is_in_doubt_stands_beside_the_row(catalogs: Catalogs) -> None:
    (run,) = imported(catalogs, {"weight_precision": "fp8"}, GUIDELLM).runs
    assert run.row["notes"] == "; ".join(run.notes)
    assert "served 6.5 requests/s where 4 were asked for" in run.notes
    assert "KV precision not stated: predictions take the engine's usual one" in run.notes


def test_tpot_of_short_answers_is_kept_from_every_fit(catalogs: Catalogs, tmp_path: Path) -> None:
    path = written(VLLM, lambda content: content.update(total_output_tokens=600 * 8), tmp_path)
    (run,) = import_measurements([path], catalogs, {}).runs
    assert run.row["exclude_tpot"] == "fewer than 16 output tokens"


def test_every_fact_has_its_option() -> None:
    assert OPTIONS.keys() == {*FACTS, "accepted_tokens", "input_tokens", "output_tokens", "load"}


def test_from_results_to_validated_predictions(optimizer: Command, tmp_path: Path) -> None:
    output = tmp_path / "M.csv"
    files = (SAMPLES / VLLM, SAMPLES / "vllm_0.33.0_bench_serve_closed_loop.json", SAMPLES / SWEEP, SAMPLES / AIPERF)
    told = ("--gpu", "h100-sxm", "--precision", "fp8", "--engine-version", "0.33.0")
    done = optimizer("measurements", "import", *files, *told, "--output", output, "--format", "json")
    assert done.code == 0
    said = json.loads(done.out)
    assert (len(said["measurements"]), said["refused_runs"]) == (6, 1)
    assert said["measurements"][0]["labels"]["plan"] == "chat-8b"

    measured = observed(load_measurements(output))
    assert measured["tpot"].tolist() == [6.51] * 6
    assert measured["ttft"].tolist() == [43.8] * 6
    assert measured["throughput"].tolist() == [1265.2] * 6

    held = optimizer("validate", output, "--format", "json")
    assert held.code == 0
    assert json.loads(held.out)["validation"]["rows"] == 6


def test_the_text_says_what_was_refused_and_how_to_mend_it(optimizer: Command, tmp_path: Path) -> None:
    done = optimizer("measurements", "import", SAMPLES / VLLM, SAMPLES / AIPERF, "--output", tmp_path / "M.csv")
    assert done.code == 0
    assert "1 measurement imported" in done.out
    assert "1 run refused" in done.out
    assert "--use-server-token-count" in done.out


def test_nothing_to_import_is_bad_input(optimizer: Command, tmp_path: Path) -> None:
    done = optimizer("measurements", "import", SAMPLES / AIPERF, "--output", tmp_path / "M.csv")
    assert done.code == 2
    assert "run it with --use-server-token-count" in done.err
    assert not (tmp_path / "M.csv").exists()


def test_two_loads_are_one_too_many(optimizer: Command, tmp_path: Path) -> None:
    loads = ("--request-rate", "5", "--concurrency", "8")
    done = optimizer("measurements", "import", SAMPLES / VLLM, *loads, "--output", tmp_path / "M.csv")
    assert (done.code, "give either this or --request-rate" in done.err) == (2, True)

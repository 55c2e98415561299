"""What a deployment runs: one record from the plan, every flag known to its release, nothing guessed."""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from support.exporting import exported, on_tensorrt, runs, with_deployment
from support.paths import ROOT

from optimizer import as_json
from optimizer.answers.running.export.export import export_plan
from optimizer.answers.running.export.flags import Release, flags_of
from optimizer.base.errors import InputError
from optimizer.inputs.catalog.records import Catalogs
from optimizer.plan.record.fleet import PeriodRequests
from optimizer.plan.record.naming import deployment_names
from optimizer.plan.record.report import PlanReport

Planned = Callable[[str], PlanReport]
DSTACK_NAME = re.compile(r"[a-z][a-z0-9-]{1,40}")

SERVE_FLAGS = json.loads((ROOT / "tests" / "data" / "serve_flags.json").read_text(encoding="utf-8"))
TRTLLM_FLAGS = {
    *("--host", "--port", "--backend", "--max_batch_size", "--max_num_tokens", "--max_seq_len", "--tp_size"),
    *("--pp_size", "--kv_cache_free_gpu_memory_fraction", "--enable_chunked_prefill", "--config"),
}


def test_a_plan_has_the_same_id_in_memory_and_in_its_file(planned: Planned) -> None:
    report = planned("chat-8b")
    again = PlanReport.model_validate(json.loads(as_json(report)))
    later = report.model_copy(update={"solver": report.solver.model_copy(update={"wall_s": 99.0}), "simulation": None})
    dearer = with_deployment(report, replicas=7)
    assert report.plan_id.startswith("sha256:")
    assert report.plan_id == again.plan_id == later.plan_id != dearer.plan_id


def test_every_flag_is_one_of_its_release(catalogs: Catalogs) -> None:
    for row in catalogs.deploying.flags:
        release = f"{row.engine} {row.version}"
        known = TRTLLM_FLAGS if row.engine == "tensorrt-llm" else set(SERVE_FLAGS[release].split())
        said = (word for word in row.value.split() if word.startswith("--"))
        assert {*filter(None, (row.flag, *said))} <= known, release


def test_the_flags_of_every_newest_release_that_plans_may_run_are_known(catalogs: Catalogs) -> None:
    for engine in catalogs.engines.values():
        if engine.plannable:
            assert engine.newest_version in catalogs.deploying.versions(engine.id)


def test_names_are_of_what_the_catalogs_hold(catalogs: Catalogs) -> None:
    providers = {offer.provider for offer in catalogs.offers}
    for row in catalogs.deploying.names:
        if row.subject == "gpu":
            assert row.id in catalogs.gpus
        elif row.subject in ("provider", "provider_spot"):
            assert row.id in providers


def test_a_server_is_told_everything_that_the_plan_assumes(planned: Planned, catalogs: Catalogs) -> None:
    report = planned("chat-8b")
    (d,) = report.deployments
    ((run,), left_out) = runs(report, catalogs)
    assert left_out == ()
    assert run.server.command == ("vllm", "serve", "meta-llama/Llama-3.1-8B-Instruct")
    said = dict(words for words in run.server.flags.values() if len(words) == 2)
    starts = d.engine_starts_with
    assert said["--tensor-parallel-size"] == str(d.tensor_parallel)
    assert said["--quantization"] == d.precision == "fp8"
    assert said["--kv-cache-dtype"] == {"bf16": "bfloat16", "fp8": "fp8"}[d.kv_precision]
    assert said["--max-num-seqs"] == str(starts.max_num_seqs)
    assert said["--max-num-batched-tokens"] == str(starts.max_num_batched_tokens)
    assert float(said["--gpu-memory-utilization"]) == starts.memory_utilization
    assert run.server.image == "vllm/vllm-openai:v0.33.0"
    assert run.monthly_usd == d.monthly_cost_usd
    assert run.load.weight == 1.0


def test_one_sequence_never_takes_a_replicas_whole_cache(planned: Planned, catalogs: Catalogs) -> None:
    ((run,), _) = runs(planned("chat-8b"), catalogs)
    context = int(run.server.flags["context_tokens"][-1])
    assert 1024 + 256 <= context <= catalogs.model("llama-3.1-8b").max_context_tokens
    vram = planned("chat-8b").deployments[0].vram
    cache_tokens = (vram.kv_cache_gib + vram.free_gib) * 2**30 / catalogs.model("llama-3.1-8b").kv_bytes_per_token_bf16
    assert context <= cache_tokens / 2 * 1.01


def test_a_prefix_cache_is_told_where_the_plan_counts_on_it(planned: Planned, catalogs: Catalogs) -> None:
    report = planned("chat-8b")
    ((without,), _) = runs(report, catalogs)
    asked = json.loads(json.dumps(report.inputs.scenario))
    asked["workloads"][0]["cached_input_share"] = 0.4
    counted = report.model_copy(update={"inputs": report.inputs.model_copy(update={"scenario": asked})})
    ((with_it,), _) = runs(counted, catalogs)
    assert "prefix_caching" not in without.server.flags
    assert with_it.server.flags["prefix_caching"] == ("--enable-prefix-caching",)
    unread = tuple(row for row in catalogs.deploying.flags if row.setting != "prefix_caching")
    nobody_knows = replace(catalogs, deploying=replace(catalogs.deploying, flags=unread))
    found, left_out = runs(counted, nobody_knows)
    assert found == ()
    assert "no flag of vllm 0.33.0 is known for prefix caching yes" in left_out[0].reason


@pytest.mark.parametrize(
    ("engine", "words"),
    [
        (
            ("vllm", "0.33.0"),
            {
                "tensor_parallel": ("--tensor-parallel-size", "2"),
                "pipeline_parallel": ("--pipeline-parallel-size", "3"),
                "max_num_seqs": ("--max-num-seqs", "77"),
                "max_num_batched_tokens": ("--max-num-batched-tokens", "5555"),
                "context_tokens": ("--max-model-len", "4096"),
                "memory_utilization": ("--gpu-memory-utilization", "0.95"),
            },
        ),
        (
            ("sglang", "0.5.23"),
            {
                "tensor_parallel": ("--tp-size", "2"),
                "pipeline_parallel": ("--pp-size", "3"),
                "max_num_seqs": ("--max-running-requests", "77"),
                "max_num_batched_tokens": ("--chunked-prefill-size", "5555"),
                "context_tokens": ("--context-length", "4096"),
                "memory_utilization": ("--mem-fraction-static", "0.95"),
            },
        ),
        (
            ("tensorrt-llm", "1.2.1"),
            {
                "tensor_parallel": ("--tp_size", "2"),
                "pipeline_parallel": ("--pp_size", "3"),
                "max_num_seqs": ("--max_batch_size", "77"),
                "max_num_batched_tokens": ("--max_num_tokens", "5555"),
                "context_tokens": ("--max_seq_len", "4096"),
                "memory_utilization": ("--kv_cache_free_gpu_memory_fraction", "0.95"),
            },
        ),
    ],
)
def test_each_setting_is_told_by_the_flag_that_means_it(
    planned: Planned, catalogs: Catalogs, engine: tuple[str, str], words: dict[str, tuple[str, str]]
) -> None:
    (d,), ((run,), _) = planned("chat-8b").deployments, runs(planned("chat-8b"), catalogs)
    starts = {"memory_utilization": 0.95, "max_num_seqs": 77, "max_num_batched_tokens": 5555}
    settings = {"engine_starts_with": d.engine_starts_with.model_copy(update=starts), "kv_precision": "bf16"}
    changed = d.model_copy(update={"tensor_parallel": 2, "pipeline_parallel": 3, **settings})
    weights = replace(run.server.checkpoint, quantized_on_load=False)
    release = Release(catalogs.deploying, *engine)
    told = flags_of(release, changed, weights, served_name="some/model", context_tokens="4096")
    assert {setting: told[setting] for setting in told if setting in words} == words


def test_an_unknown_release_is_refused_with_the_known_ones(planned: Planned, catalogs: Catalogs) -> None:
    found, left_out = runs(with_deployment(planned("chat-8b"), engine_version="0.99.0"), catalogs)
    assert found == ()
    assert "0.99.0 are not known; known releases of it: 0.33.0" in left_out[0].reason
    _, left_out = runs(with_deployment(planned("chat-8b"), engine="llama.cpp"), catalogs)
    assert "known releases of it: none" in left_out[0].reason


def test_a_setting_that_nobody_can_make_is_refused(planned: Planned, catalogs: Catalogs) -> None:
    _, left_out = runs(on_tensorrt(planned("chat-8b")), catalogs)
    assert left_out == ()
    _, left_out = runs(with_deployment(on_tensorrt(planned("chat-8b")), kv_precision="int8"), catalogs)
    assert "no flag of tensorrt-llm 1.2.1 is known for kv precision int8" in left_out[0].reason


@pytest.mark.parametrize(
    ("model", "precision", "checkpoint"),
    [
        ("llama-3.1-8b", "bf16", "meta-llama/Llama-3.1-8B-Instruct"),
        ("llama-3.1-8b", "int4", "RedHatAI/Meta-Llama-3.1-8B-Instruct-quantized.w4a16"),
        ("qwen2.5-7b", "int4", "Qwen/Qwen2.5-7B-Instruct-AWQ"),
        ("deepseek-v3", "fp8", "deepseek-ai/DeepSeek-V3"),
        ("deepseek-v3", "int4", "cognitivecomputations/DeepSeek-V3-AWQ"),
        ("Qwen/Qwen3-32B-AWQ", "int4", "Qwen/Qwen3-32B-AWQ"),
    ],
)
def test_weights_are_of_the_planned_model_and_precision(
    planned: Planned, catalogs: Catalogs, model: str, precision: str, checkpoint: str
) -> None:
    ((run,), left_out) = runs(with_deployment(planned("chat-8b"), model=model, precision=precision), catalogs)
    assert left_out == ()
    assert run.server.checkpoint.hf_id == checkpoint
    assert not run.server.checkpoint.quantized_on_load
    assert "quantize_on_load" not in run.server.flags


def test_weights_that_nobody_published_are_refused_until_one_names_them(planned: Planned, catalogs: Catalogs) -> None:
    report = with_deployment(planned("chat-8b"), model="deepseek-v3", precision="bf16")
    found, left_out = runs(report, catalogs)
    assert found == ()
    assert "--weights deepseek-v3:bf16=PUBLISHER/NAME" in left_out[0].reason
    ((run,), _) = runs(report, catalogs, {("deepseek-v3", "bf16"): "me/DeepSeek-V3-bf16"})
    assert run.server.command[-1] == "me/DeepSeek-V3-bf16"
    assert run.server.served_name == "deepseek-ai/DeepSeek-V3"


def test_what_is_too_large_to_be_quantized_as_it_is_loaded_is_loaded_quantized(
    planned: Planned, catalogs: Catalogs
) -> None:
    ((run,), _) = runs(with_deployment(planned("chat-8b"), model="llama-3.3-70b", precision="fp8"), catalogs)
    assert run.server.checkpoint.hf_id == "RedHatAI/Llama-3.3-70B-Instruct-FP8-dynamic"
    ((run,), _) = runs(on_tensorrt(planned("chat-8b"), model="llama-3.3-70b", precision="fp8"), catalogs)
    assert run.server.checkpoint.hf_id == "nvidia/Llama-3.3-70B-Instruct-FP8"
    assert run.server.served_name == run.server.checkpoint.hf_id
    ((run,), _) = runs(on_tensorrt(planned("chat-8b"), model="qwen3-32b", precision="fp8"), catalogs)
    assert "nobody here read that TensorRT-LLM 1.2.1 loads this checkpoint" in run.server.checkpoint.remark


def test_schedules_are_bounds_and_shares_by_the_hour(planned: Planned, catalogs: Catalogs) -> None:
    found, _ = runs(planned("office-hours"), catalogs)
    assert [(run.load.min_replicas, run.load.max_replicas) for run in found] == [
        (min(p.replicas for p in d.schedule), max(p.replicas for p in d.schedule))
        for d in planned("office-hours").deployments
    ]
    assert sum(run.load.weight for run in found) == pytest.approx(1)
    for parts in zip(*(run.load.schedule for run in found), strict=True):
        assert sum(part.share for part in parts) == pytest.approx(1) or not any(part.share for part in parts)


def test_shares_of_a_class_count_what_goes_to_hosted_apis(planned: Planned, catalogs: Catalogs) -> None:
    report = planned("office-hours")
    (item,) = planned("api-at-night").hosted
    sent = [{"short": 3.0}, {"short": 1.0, "long": 2.0}]
    deployments = tuple(
        d.model_copy(
            update={
                "schedule": [each.model_copy(update={"requests_per_second_by_class": rates}) for each in d.schedule]
            }
        )
        for d, rates in zip(report.deployments, sent, strict=True)
    )
    to_hosted = [PeriodRequests(period=number, requests_per_second=4.0) for number in range(len(report.periods))]
    asked = {"workload": deployments[0].workload, "request_class": "short", "schedule": to_hosted}
    hosted = (item.model_copy(update=asked), item.model_copy(update={"workload": "another", "request_class": "short"}))
    found, _ = runs(report.model_copy(update={"deployments": deployments, "hosted": hosted}), catalogs)
    assert [run.load.shares for run in found] == [{"short": 0.375}, {"short": 0.125, "long": 1.0}]


def test_a_disk_that_cannot_hold_the_checkpoint_is_remarked(planned: Planned, catalogs: Catalogs) -> None:
    def remarks(storage_gb: float) -> str:
        report = planned("chat-8b")
        asked = json.loads(json.dumps(report.inputs.scenario))
        asked["policy"] = {**asked.get("policy", {}), "storage_gb_per_instance": storage_gb}
        changed = report.model_copy(update={"inputs": report.inputs.model_copy(update={"scenario": asked})})
        return " ".join(runs(changed, catalogs)[0][0].remarks)

    assert "asks for 5 GB, and the checkpoint alone takes 1" in remarks(5.0)
    assert "checkpoint alone" not in remarks(100.0) + remarks(0.0)


@pytest.mark.parametrize("workload", ["7B_chat.v2", "x" * 80])
def test_names_are_what_kubernetes_takes(planned: Planned, catalogs: Catalogs, workload: str) -> None:
    report = with_deployment(planned("chat-8b"), workload=workload)
    asked = json.loads(json.dumps(report.inputs.scenario).replace('"name": "chat"', f'"name": "{workload}"'))
    named = report.model_copy(update={"inputs": report.inputs.model_copy(update={"scenario": asked})})
    ((run,), _) = runs(named, catalogs)
    for label in (run.name, run.workload_label):
        assert re.fullmatch(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?", label)
    assert DSTACK_NAME.fullmatch(run.name)


def test_names_that_are_cut_off_alike_are_numbered_apart(planned: Planned) -> None:
    (d,) = planned("chat-8b").deployments

    def named(field: str, *values: str) -> tuple[str, ...]:
        return deployment_names([d.model_copy(update={field: each}) for each in values])

    cut_off = named("workload", "x" * 80 + "a", "x" * 80 + "b", *["x" * 60] * 10)
    assert len(set(cut_off)) == len(cut_off)
    assert all(DSTACK_NAME.fullmatch(name) for name in cut_off)
    assert len(set(named("provider", "aws", "aws", "aws-1"))) == 3


def test_an_image_that_nobody_read_is_not_made_up(planned: Planned, catalogs: Catalogs) -> None:
    report = planned("chat-8b")
    without = tuple(row for row in catalogs.deploying.flags if row.setting != "image")
    ((run,), _) = runs(report, replace(catalogs, deploying=replace(catalogs.deploying, flags=without)))
    assert run.server.image is None


def _written(report: PlanReport, folder: Path) -> Path:
    path = folder / "plan.json"
    path.write_text(as_json(report), encoding="utf-8")
    return path


def test_an_edited_plan_is_refused(planned: Planned, catalogs: Catalogs, tmp_path: Path) -> None:
    edited = with_deployment(planned("chat-8b"), replicas=3)
    with pytest.raises(InputError, match="does not hold"):
        export_plan(_written(edited, tmp_path), ["vllm"], catalogs)


def test_a_plan_of_hosted_apis_alone_deploys_nothing(planned: Planned, catalogs: Catalogs) -> None:
    alone = planned("chat-8b").model_copy(update={"deployments": (), "hosted": planned("api-at-night").hosted})
    with pytest.raises(InputError, match="a hosted API: there is nothing to deploy"):
        exported(alone, catalogs, "vllm")


def test_hosted_apis_beside_deployments_are_left_out_with_the_reason(planned: Planned, catalogs: Catalogs) -> None:
    both = planned("chat-8b").model_copy(update={"hosted": planned("api-at-night").hosted})
    found = exported(both, catalogs, "vllm", "kubernetes")
    assert len(found.files) == 2
    assert ["a hosted API" in each.reason for each in found.left_out] == [True]


@pytest.mark.parametrize(
    ("weights", "said"),
    [
        ("llama-3.1-8b=me/it", "names no checkpoint"),
        ("llama-3.1-8b:fp8=it", "names no checkpoint"),
        ("llama-3.1-8b:int4=me/it", "the plan runs no llama-3.1-8b:int4"),
    ],
)
def test_checkpoints_for_nothing_are_refused(
    planned: Planned, catalogs: Catalogs, tmp_path: Path, weights: str, said: str
) -> None:
    with pytest.raises(InputError, match=said):
        export_plan(_written(planned("chat-8b"), tmp_path), ["vllm"], catalogs, [weights])

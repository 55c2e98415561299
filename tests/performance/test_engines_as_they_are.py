"""Engines as they are: what a release starts with on a GPU, the layouts it runs, what stages and slow links cost."""

from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd
import pytest
from pydantic import ValidationError

from optimizer.inputs.catalog.entries.engines import EngineDefault
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.measurements import shipped_measurements
from optimizer.inputs.metrics import METRICS
from optimizer.inputs.scenario.scenario import Scenario
from optimizer.performance.candidates.options import WorkloadOptions
from optimizer.performance.fit.fitting import problem
from optimizer.performance.market.criteria import CONFIGURATION_CRITERIA
from optimizer.performance.measured.batch import predict_batch
from optimizer.performance.physics.communication import all_reduces, bus_bandwidth
from optimizer.performance.physics.constants import Calibration
from optimizer.performance.physics.eras import engine_settings
from optimizer.performance.physics.layouts import misfit
from optimizer.performance.physics.memory import memory_use
from optimizer.performance.physics.setup import Configuration, gather
from optimizer.performance.physics.step import step_costs
from optimizer.performance.uncertainty.evidence import (
    EVIDENCE,
    PIPELINE,
    not_measured,
    pipeline_measured,
    pipelines,
    setups_measured,
)
from optimizer.plan.question.inquiry import Inquiry

SMALL = ("a100-40-sxm", "a100-80-sxm", "a100-80-pcie", "l4", "a10g", "l40s", "t4", "rtx4090", "rtx5090", "rtx6000ada")
GB = 1e9


def starts_with(catalogs: Catalogs, engine: str, gpu: str, version: str = "") -> tuple[float, int, int]:
    found = engine_settings(catalogs, Calibration.of(catalogs.calibration), engine, gpu, version)
    return found.memory_utilization, found.max_num_seqs, found.max_num_batched_tokens


@pytest.mark.parametrize("gpu", SMALL)
def test_vllm_starts_small_on_small_cards_and_on_the_a100(catalogs: Catalogs, gpu: str) -> None:
    assert starts_with(catalogs, "vllm", gpu) == (0.92, 256, 2048)


@pytest.mark.parametrize(
    ("engine", "gpu", "version", "expected"),
    [
        ("vllm", "h100-sxm", "0.33.0", (0.92, 1024, 8192)),
        ("vllm", "rtxpro6000-se", "", (0.92, 1024, 8192)),
        ("vllm", "b200", "", (0.92, 1024, 16384)),
        ("vllm", "mi300x", "", (0.92, 1024, 16384)),
        ("vllm", "b200", "0.19.0", (0.9, 1024, 8192)),
        ("vllm", "l4", "0.19.0", (0.9, 256, 2048)),
        ("vllm", "l4", "0.10.2", (0.9, 256, 2048)),
        ("vllm", "a100-80-sxm", "0.9.0", (0.9, 256, 2048)),
        ("vllm", "h100-sxm", "0.10.2", (0.9, 1024, 8192)),
        ("vllm", "l4", "0.7.3", (0.9, 256, 2048)),
        ("vllm", "h100-sxm", "0.6.3", (0.9, 256, 512)),
        ("vllm", "h100-sxm", "2024 (vLLM ~0.5; TRT-LLM ~0.10)", (0.9, 256, 2048)),
        ("sglang", "t4", "", (0.88, 1024, 2048)),
        ("sglang", "l4", "", (0.88, 1024, 4096)),
        ("sglang", "h200-sxm", "", (0.88, 1024, 8192)),
        ("sglang", "b200", "", (0.88, 1024, 16384)),
        ("tensorrt-llm", "l4", "", (0.9, 2048, 8192)),
    ],
)
def test_defaults_follow_release_and_device(
    catalogs: Catalogs, engine: str, gpu: str, version: str, expected: tuple[float, int, int]
) -> None:
    assert starts_with(catalogs, engine, gpu, version) == expected


@pytest.mark.parametrize(
    ("version", "model", "tokens"),
    [
        ("0.5.3", "llama-3.1-8b", 131072),
        ("0.5.4", "llama-3.1-8b", 512),
        ("0.6.4", "llama-3.1-8b", 512),
        ("0.6.5", "llama-3.1-8b", 2048),
        ("0.6.5", "mixtral-8x7b", 32768),
        ("0.5.4", "llama-2-70b", 4096),
        ("0.8.0", "mixtral-8x7b", 8192),
    ],
)
def test_where_no_step_divides_a_prompt_it_takes_the_longest(
    catalogs: Catalogs, version: str, model: str, tokens: int
) -> None:
    run = Configuration("vllm", model, "h100-sxm", "bf16", "bf16", 8, 1, engine_version=version)
    stated = run._replace(max_num_batched_tokens=777)
    layout = gather(catalogs, [run, stated]).layout
    assert list(layout.max_batched_tokens) == [tokens, 777]


def test_room_for_whole_prompts_is_taken_from_the_cache(catalogs: Catalogs) -> None:
    """Llama 3.1 405B on eight H100 keeps 57 of 71 GiB for its weights: 91,680 tokens a step take most of the rest."""
    run = Configuration("vllm", "llama-3.1-405b", "h100-sxm", "fp8", "bf16", 8, 1, engine_version="0.6.3")
    few, many = memory_use(gather(catalogs, [run, run._replace(max_num_batched_tokens=91680)])).activations
    assert many - few == pytest.approx((91680 - 512) * 16384 * 6.4, rel=0.05)


def test_a_host_launches_ahead_of_the_gpus(catalogs: Catalogs) -> None:
    """Without recorded graphs a step takes the longer of launching and computing: eight GPUs hardly gain on four."""
    eager, recorded = (
        gather(
            catalogs,
            [
                Configuration("vllm", "llama-2-70b", "h100-sxm", "bf16", "bf16", tp, 1, engine_version=version)
                for tp in (2, 4, 8)
            ],
        )
        for version in ("0.2.3", "0.3.3")
    )
    (_, four, eight), (_, later_four, later_eight) = (
        step_costs(setup, np.full(3, 512.0)).decode(np.ones(3)).total for setup in (eager, recorded)
    )
    assert four / eight < 1.15 < 1.3 < later_four / later_eight
    assert eight > 80 * eager.constants["eager_layer_s"][2]


def test_an_all_reduce_of_a_library_takes_longer(catalogs: Catalogs) -> None:
    """vLLM 0.6 had no kernel of its own for AMD, 0.10 has; one GPU exchanges nothing."""
    old, new = (
        gather(
            catalogs,
            [
                Configuration("vllm", "llama-3.1-8b", gpu, "bf16", "bf16", tp, 1, engine_version=version)
                for gpu, tp in (("mi300x", 1), ("mi300x", 8), ("h100-sxm", 8))
            ],
        )
        for version in ("0.6.1", "0.10.2")
    )
    longer = all_reduces(old).seconds(np.ones(3)) - all_reduces(new).seconds(np.ones(3))
    library = old.constants["library_all_reduce_s"]
    assert list(library > 0) == [True, True, False]
    assert longer == pytest.approx([0.0, 64 * library[1], 0.0])


def test_plans_assume_the_newest_stable_releases(catalogs: Catalogs) -> None:
    newest = {name: engine.newest_version for name, engine in catalogs.engines.items() if engine.plannable}
    assert newest == {"vllm": "0.33.0", "sglang": "0.5.23", "tensorrt-llm": "1.2.1"}


@pytest.mark.parametrize(
    ("setting", "value", "unit"),
    [("max_num_seqs", 256, "tokens"), ("max_num_seqs", 2.5, "sequences"), ("memory_utilization", 1.5, "share")],
)
def test_a_default_in_another_unit_is_refused(setting: str, value: float, unit: str) -> None:
    row = {"engine": "vllm", "source": "s", "as_of": "2026-11-21", "status": "read"}
    with pytest.raises(ValidationError):
        EngineDefault.model_validate(row | {"setting": setting, "value": value, "unit": unit})


def rows(**columns: object) -> pd.DataFrame:
    usual = {"engine": "vllm", "model": "llama-3.1-8b", "gpu": "h100-sxm", "weight_precision": "fp8", "pp": 1}
    usual |= {"input_tokens": 1000, "output_tokens": 200, "load_type": "concurrency", "load_value": 8}
    return pd.DataFrame(usual | columns)


def test_degrees_that_no_engine_runs_are_refused_with_the_reason(catalogs: Catalogs) -> None:
    found = predict_batch(rows(tp=[3, 5, 6, 8]), catalogs)
    assert list(found["pred_status"]) == ["unsupported"] * 3 + ["ok"]
    assert found["pred_reason"][0] == "tensor parallel 3: engines run powers of two (1, 2, 4, 8, …)"
    odd = predict_batch(
        rows(model=["qwen2.5-7b", "phi-4", "phi-4", "llama-3.1-8b"], tp=[8, 4, 2, 1], pp=[1, 1, 1, 64]), catalogs
    )
    assert list(odd["pred_status"]) == ["unsupported", "unsupported", "ok", "unsupported"]
    assert "28 attention heads" in odd["pred_reason"][0]
    assert "10 KV heads" in odd["pred_reason"][1]
    assert "32 layers" in odd["pred_reason"][3]


def test_a_layout_that_is_assumed_is_one_that_engines_run(catalogs: Catalogs) -> None:
    found = predict_batch(rows(model="llama-3.1-405b", num_gpus=[6], tp=""), catalogs)
    assert "tp 4" in found["pred_reason"][0] or found["pred_reason"][0].startswith("does not fit")


def test_stages_are_no_free_lunch(catalogs: Catalogs) -> None:
    """With the same requests on each GPU, TPOT rises with the stages: a prompt on its way holds up all of them."""
    stages, load = [1, 2, 4, 8], [16, 32, 64, 128]
    found = predict_batch(rows(tp=1, pp=stages, load_value=load), catalogs)
    tpot, throughput = found["pred_tpot_ms_mean"].to_numpy(float), found["pred_output_tok_s"].to_numpy(float)
    assert np.all(np.diff(tpot) > 0.03 * tpot[:-1])
    assert np.all(np.diff(throughput / np.array(stages)) < 0)


def test_a_token_passes_all_stages_in_turn(catalogs: Catalogs) -> None:
    alone = predict_batch(rows(tp=[1, 1, 4], pp=[1, 4, 1], load_value=1), catalogs)["pred_tpot_ms_mean"].to_numpy(float)
    assert alone[1] == pytest.approx(alone[0], rel=0.02)
    assert alone[2] < 0.75 * alone[0]


def options_of(catalogs: Catalogs, model: str) -> WorkloadOptions:
    workload = {"name": "chat", "model": model, "requests_per_second": 1, "input_tokens": 1000, "output_tokens": 200}
    return Inquiry.of(Scenario.model_validate({"name": "any", "workloads": [workload]}), catalogs).options[0]


def test_stages_that_nobody_measured_are_never_preferred_to_fewer(catalogs: Catalogs) -> None:
    """What has a rate with several stages was measured with stages, or fits the same GPUs with no fewer."""
    few = replace(catalogs, offers=tuple(offer for offer in catalogs.offers if offer.provider in ("aws", "oci")))
    options = options_of(few, "llama-3.3-70b")
    names = [criterion.name for criterion in CONFIGURATION_CRITERIA]
    failed, rates = dict(zip(names, options.pools[0].failed.T, strict=True)), options.pools[0].rate_per_s
    runs = ~failed["memory"] & ~failed["divisibility"]
    fitting = {
        (c.engine, c.precision, c.kv_precision, options.kind[row])
        for row, c in enumerate(options.configurations)
        if c.pipeline_parallel == 1 and runs[row]
    }
    staged = [row for row, c in enumerate(options.configurations) if c.pipeline_parallel > 1 and rates[row] > 0]
    measured = pipeline_measured(few, [options.configurations[row] for row in staged])
    for row, known in zip(staged, measured, strict=True):
        c = options.configurations[row]
        assert known or (c.engine, c.precision, c.kv_precision, options.kind[row]) not in fitting
    assert staged
    assert failed["pipeline"].any()


def test_stages_serve_where_heads_do_not_divide(catalogs: Catalogs) -> None:
    """28 heads: eight cards can only be two stages of four, which is told as an estimate."""
    few = replace(catalogs, offers=tuple(o for o in catalogs.offers if (o.gpu, o.provider) == ("a10g", "aws")))
    options = options_of(few, "qwen2.5-7b")
    rates = options.pools[0].rate_per_s
    wide = [c for c, rate in zip(options.configurations, rates, strict=True) if rate > 0 and c.engine == "vllm"]
    layouts = {(c.tensor_parallel, c.pipeline_parallel) for c in wide}
    assert layouts == {(1, 1), (2, 1), (4, 1), (4, 2)}
    staged = next(c for c in wide if c.pipeline_parallel == 2)
    assert "pipeline stages with vllm on ampere-ga102" in not_measured(few, staged)


def test_every_enumerated_layout_that_passes_divides_heads(catalogs: Catalogs) -> None:
    for model, degree in product(catalogs.models.values(), (2, 4, 8, 16)):
        divides = model.attention_heads % degree == 0
        assert divides or misfit(model, degree, 1)
        assert misfit(model, 1, model.layers) == ""


def test_a_rack_is_one_link_domain(catalogs: Catalogs) -> None:
    assert {catalogs.gpus[name].link_domain_gpus for name in ("gb200", "gb300")} == {72}
    setup = gather(catalogs, [Configuration("vllm", "llama-3.1-405b", "gb200", "fp8", "bf16", 8, 1)])
    assert setup.interconnect.bandwidth[0] == 900 * GB


def test_cards_without_peer_to_peer_have_the_collective_that_was_measured(catalogs: Catalogs) -> None:
    """NCCL on a g6.12xlarge: 4.0 GB/s over two cards, 5.5 over four, where PCIe's figure is 32."""
    on_four = [Configuration("vllm", "llama-3.1-8b", "l4", "fp8", "bf16", tp, 1, "pcie", 32.0) for tp in (2, 4, 8)]
    assert bus_bandwidth(gather(catalogs, on_four)) / GB == pytest.approx([4.0, 5.5, 5.5])


def test_stages_count_as_measured_where_tokens_were_timed(catalogs: Catalogs) -> None:
    """The catalog's evidence, counted again: a throughput with everything sent at once promises no latency."""
    frame = shipped_measurements().astype(str)
    timed = frame[(frame["pp"].str.fullmatch(r"[2-9](\.0)?")) & ~frame["tpot_ms_mean"].isin(["", "nan"])]
    timed = timed[timed["exclude_tpot"].isin(["", "nan"]) & timed["gpu"].isin(catalogs.gpus)]
    counted = pipelines(catalogs, timed["engine"].str.lower(), timed["model"], timed["gpu"])
    evidence = Calibration.of(catalogs.calibration).members(EVIDENCE)
    assert {name for name in evidence if name.startswith(PIPELINE)} == set(counted)
    assert not any(name.startswith(f"{PIPELINE}@tensorrt-llm") for name in evidence)


def test_a_card_is_measured_by_engines_that_serve_alike(catalogs: Catalogs) -> None:
    """The catalog's evidence, counted again: one request at a time on a card tells nothing of a batch there."""
    frame = shipped_measurements().astype(str)
    alike = {engine.name: engine.serving for engine in catalogs.engines.values()}
    batched = set(frame["gpu"][frame["engine"].map(alike) == "continuous_batching"])
    alone = set(frame["gpu"][frame["engine"].map(alike) == "one_request"]) - batched
    assert {"rtx6000ada", "a6000"} <= alone
    for gpu in sorted({*batched, *alone} & {*catalogs.gpus}):
        assert (setups_measured(catalogs, gpu, "vllm").alike > 0) == (gpu in batched), gpu
    on_it = Configuration("vllm", "llama-3.1-8b", "rtx6000ada", "fp8", "bf16", 1, 1)
    assert not_measured(catalogs, on_it) == ["rtx6000ada with continuous batching"]
    assert not_measured(catalogs, on_it._replace(gpu="l40s")) == []
    one_by_one = on_it._replace(engine="llama.cpp", precision="q4_k_m", kv_precision="fp16")
    assert not_measured(catalogs, one_by_one) == []


def test_a_batch_times_a_token_and_a_burst_does_not(catalogs: Catalogs) -> None:
    """FP8 on CDNA3 was run in static batches alone: whose throughput implies what a token takes, as the fit has it."""
    fitted = problem(shipped_measurements(), catalogs)
    tpot, throughput = METRICS.index("tpot"), METRICS.index("throughput")
    by_throughput = fitted.told[tpot] & (fitted.weight[tpot] == 0)
    loads = fitted.table.names["load_type"][fitted.rows]
    assert set(loads[by_throughput]) == {"static_batch", "concurrency"}
    assert (fitted.told[throughput] == (fitted.weight[throughput] > 0)).all()
    assert set(loads[by_throughput & fitted.served[tpot]]) == {"concurrency"}
    on_it = Configuration("vllm", "llama-3.1-405b", "mi300x", "fp8", "bf16", 8, 1)
    assert not_measured(catalogs, on_it) == []
    # TensorRT-LLM ran batches on an L40S in its own process, which tells nothing of how it serves there
    assert "tensorrt-llm on ada" in not_measured(catalogs, on_it._replace(engine="tensorrt-llm", gpu="l40s"))


def test_releases_that_behave_as_todays_are_counted_apart(catalogs: Catalogs) -> None:
    """GH200 was measured with vLLM and TensorRT-LLM of 2024 alone, L4 with vLLM of this year."""
    assert setups_measured(catalogs, "gh200-96", "tensorrt-llm").of_release == 0
    assert setups_measured(catalogs, "gh200-96", "tensorrt-llm").alike > 10
    assert setups_measured(catalogs, "l4", "vllm").of_release > 0

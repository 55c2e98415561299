"""Batch prediction: every row gets an answer or a reason, and rows do not influence each other."""

import math

import numpy as np
import pandas as pd
import pytest

from optimizer.inputs.catalog.records import Catalogs
from optimizer.performance.measured.batch import PREDICTIONS, predict_batch

ROW: dict[str, object] = {
    "engine": "vLLM",
    "engine_version": "0.19.0",
    "model": "meta-llama/Llama-3.1-8B-Instruct",
    "gpu": "h100-sxm",
    "num_gpus": 1,
    "tp": 1,
    "pp": 1,
    "ep": 1,
    "dp": 1,
    "weight_precision": "bf16",
    "kv_precision": "bf16",
    "input_tokens": 1000,
    "output_tokens": 200,
    "load_type": "concurrency",
    "load_value": 16,
}
OPTIONAL = (
    *(
        "num_requests",
        "distinct_prompts",
        "max_num_seqs",
        "max_num_batched_tokens",
        "attention_dp",
        "lengths",
        "admission_interval_steps",
        "rank_wait_steps",
        "arrival_cv2",
    ),
    *("speculation", "draft_tokens", "accepted_tokens", "memory_share", "cached_input_share"),
    *("prefill_workers", "prefill_tp", "decode_workers", "decode_tp", "decode_dp_attn"),
)


def predicted(catalogs: Catalogs, *changes: dict[str, object]) -> pd.DataFrame:
    return predict_batch(pd.DataFrame([ROW | change for change in changes or ({},)]), catalogs)


def one(catalogs: Catalogs, **change: object) -> "pd.Series[float]":
    return predicted(catalogs, change).iloc[0]


@pytest.mark.parametrize(
    "load",
    [
        {"load_type": "concurrency", "load_value": 16},
        {"load_type": "request_rate", "load_value": 2.5},
        {"load_type": "offline", "load_value": None},
        {"load_type": "offline", "load_value": 1000},
        {"load_type": "static_batch", "load_value": 8},
    ],
)
def test_every_load_is_answered_with_intervals(catalogs: Catalogs, load: dict[str, object]) -> None:
    row = one(catalogs, **load)
    assert row["pred_status"] == "ok"
    assert row["pred_source"] == "calibrated"
    for name in PREDICTIONS:
        assert 0 < row[f"{name}_low"] < row[name] < row[f"{name}_high"] < math.inf


def test_no_more_is_delivered_than_arrives_but_for_chance(catalogs: Catalogs) -> None:
    easy, heavy, hopeless = (
        one(catalogs, load_type="request_rate", load_value=rate, num_requests=400, gpu="rtx6000ada")
        for rate in (1.0, 5.0, 60.0)
    )
    # 1.645 standard deviations of 400 arrivals are 8.2 %
    for row, rate in ((easy, 1.0), (heavy, 5.0), (hopeless, 60.0)):
        assert row["pred_request_throughput_high"] <= rate * math.exp(1.645 / 20) * (1 + 1e-3)
    # far below the capacity nothing else is uncertain; near it the capacity is
    assert easy["pred_request_throughput_low"] >= 0.9
    assert heavy["pred_request_throughput_low"] < 0.9 * 5.0
    assert hopeless["pred_request_throughput_low"] < hopeless["pred_request_throughput"] < 60.0


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"engine": "hal9000"}, "unknown engine 'hal9000'"),
        ({"model": "nobody/Nothing-7B"}, "unknown model 'nobody/Nothing-7B'"),
        ({"gpu": "h800"}, "unknown gpu 'h800'"),
        ({"gpu": None}, "gpu is missing"),
        ({"weight_precision": "fp3"}, "unknown weight precision 'fp3'"),
        ({"kv_precision": "fp3"}, "unknown KV precision 'fp3'"),
        ({"input_tokens": math.nan}, "input_tokens is missing"),
        ({"input_tokens": "many"}, "input_tokens is not a finite number"),
        ({"input_tokens": math.inf}, "input_tokens is not a finite number"),
        ({"output_tokens": 0}, "output_tokens must be positive"),
        ({"output_tokens": -5}, "output_tokens must be positive"),
        ({"input_tokens": 1e30}, "input_tokens is beyond any real deployment"),
        ({"load_type": "wild"}, "unknown load_type 'wild'"),
        ({"load_value": None}, "load_value is missing"),
        ({"load_value": -1}, "load_value must be positive"),
        ({"tp": 1.5}, "degrees must be whole"),
        ({"num_gpus": 1.5}, "num_gpus must be whole"),
        ({"tp": 4}, "tp x pp x dp exceeds num_gpus"),
        ({"model": "meta-llama/Llama-3.1-70B-Instruct"}, "does not fit: weights and working space"),
        ({"input_tokens": 2_000_000}, "does not fit: not even one request"),
        ({"gpu": "v100-32"}, "this precision has no kernels on this GPU"),
        ({"ttft_statistic": "p12"}, "ttft_statistic is neither mean nor p50"),
        ({"distinct_prompts": 1}, "distinct_prompts is said of a static_batch alone"),
    ],
)
def test_what_is_not_known_is_unsupported_with_a_reason(
    catalogs: Catalogs, change: dict[str, object], reason: str
) -> None:
    row = one(catalogs, **change)
    assert row["pred_status"] == "unsupported"
    assert reason in row["pred_reason"]
    assert math.isnan(row["pred_tpot_ms_mean"])


def test_no_cell_makes_it_fail(catalogs: Catalogs) -> None:
    poison = [
        None,
        "",
        "nan",
        math.nan,
        math.inf,
        -math.inf,
        0,
        -1,
        1e308,
        "x" * 500,
        "１２",
        "1e5",
        True,
        "\x00",
        (1, 2),
    ]
    changes = [{column: value} for column in ROW for value in poison]
    extra = [{column: value} for column in OPTIONAL for value in poison]
    result = predicted(catalogs, *changes, *extra)
    assert set(result["pred_status"]) == {"ok", "unsupported"}
    ok = result["pred_status"] == "ok"
    assert np.isfinite(result.loc[ok, list(PREDICTIONS)].to_numpy(dtype=float)).all()
    assert (result.loc[~ok, "pred_reason"] != "").all()


def test_an_empty_table_and_one_without_columns_are_answered(catalogs: Catalogs) -> None:
    assert predict_batch(pd.DataFrame([ROW]).iloc[:0], catalogs).empty
    bare = predict_batch(pd.DataFrame({"unrelated": [1, 2]}), catalogs)
    assert list(bare["pred_status"]) == ["unsupported", "unsupported"]


def test_rows_are_independent_of_each_other_and_of_their_order(catalogs: Catalogs) -> None:
    changes = [
        {"load_value": load, "tp": tp, "num_gpus": tp, "gpu": gpu, "load_type": kind, "weight_precision": precision}
        for load in (1, 64)
        for tp in (1, 2)
        for gpu in ("h100-sxm", "mi300x", "l4", "nonsense")
        for kind in ("concurrency", "request_rate", "offline", "static_batch")
        for precision in ("bf16", "fp8")
    ]
    together = predicted(catalogs, *changes)
    backwards = predicted(catalogs, *reversed(changes)).iloc[::-1].reset_index(drop=True)
    pd.testing.assert_frame_equal(together, backwards)
    for position in range(0, len(changes), 17):
        alone = predicted(catalogs, changes[position])
        pd.testing.assert_frame_equal(together.iloc[[position]].reset_index(drop=True), alone, check_dtype=False)


def test_other_columns_come_through_untouched_and_are_never_read(catalogs: Catalogs) -> None:
    plain = one(catalogs)
    extra = one(catalogs, ttft_ms_mean=1.0, tpot_ms_mean=9.0, output_tok_s=7.0, notes="attention_dp=1", source="x")
    assert extra["notes"] == "attention_dp=1"
    assert all(extra[name] == plain[name] for name in PREDICTIONS)


def test_names_are_read_as_people_write_them(catalogs: Catalogs) -> None:
    assert one(catalogs, engine="VLLM", gpu="H100-SXM", model="meta-llama/llama-3.1-8b-instruct")["pred_status"] == "ok"
    assert one(catalogs, engine="TensorRT-LLM")["pred_status"] == "ok"


def test_a_missing_precision_is_the_models_own_and_named(catalogs: Catalogs) -> None:
    row = one(catalogs, weight_precision=None)
    assert "the model's own, bf16" in row["pred_reason"]
    assert row["pred_tpot_ms_mean"] == one(catalogs)["pred_tpot_ms_mean"]


@pytest.mark.parametrize(
    ("name", "precision"),
    [
        ("RedHatAI/Meta-Llama-3.1-8B-Instruct-quantized.w4a16", "int4"),
        ("nvidia/Llama-3.1-8B-Instruct-FP8", "fp8"),
        ("neuralmagic/Meta-Llama-3.1-8B-Instruct-quantized.w8a8", "int8"),
    ],
)
def test_a_missing_precision_of_a_quantized_checkpoint_is_what_it_was_quantized_to(
    catalogs: Catalogs, name: str, precision: str
) -> None:
    row = one(catalogs, model=name, weight_precision=None)
    assert f"the model's own, {precision}" in row["pred_reason"]
    assert row["pred_tpot_ms_mean"] == one(catalogs, weight_precision=precision)["pred_tpot_ms_mean"]


def test_a_missing_layout_is_the_usual_one_and_named(catalogs: Catalogs) -> None:
    gaps = {"tp": None, "pp": None, "dp": None, "ep": None, "num_gpus": 8}
    row = one(catalogs, model="meta-llama/Llama-3.1-70B-Instruct", **gaps)
    assert "layout not given: tp 4, pp 1, 2 replicas" in row["pred_reason"]


@pytest.mark.parametrize(("gpus", "dp", "tp"), [(8, 1, 8), (8, 4, 2), (8, 3, 1)])
def test_stated_replicas_leave_each_its_part_of_the_gpus(catalogs: Catalogs, gpus: int, dp: int, tp: int) -> None:
    row = one(catalogs, num_gpus=gpus, tp=None, dp=dp)
    assert f"layout not given: tp {tp}, pp 1, {dp} replicas" in row["pred_reason"]


def test_gpus_that_a_layout_leaves_idle_are_named(catalogs: Catalogs) -> None:
    """Two replicas of two GPUs in a row of eight were predicted without a word."""
    row = one(catalogs, num_gpus=8, tp=2, dp=2)
    assert row["pred_reason"] == "tp x pp x dp is 4 of 8 GPUs: the others do nothing"
    assert one(catalogs, num_gpus=8, tp=2, dp=4)["pred_reason"] == ""


def test_a_degree_that_no_engine_runs_is_not_assumed(catalogs: Catalogs) -> None:
    row = one(catalogs, model="qwen2.5-7b", num_gpus=8, tp=None, dp=1)
    assert "layout not given: tp 1, pp 1, 1 replicas" in row["pred_reason"]


@pytest.mark.parametrize(
    ("written", "plain"),
    [
        ({"input_tokens": "1,000"}, {"input_tokens": 1000}),
        ({"cached_input_share": "50%"}, {"cached_input_share": 0.5}),
        ({"attention_dp": "true", "num_gpus": 8, "tp": 8}, {"attention_dp": 1, "num_gpus": 8, "tp": 8}),
        ({"attention_dp": "False"}, {"attention_dp": 0}),
        ({"ep": 0}, {"ep": None}),
    ],
)
def test_numbers_are_read_as_tables_write_them(
    catalogs: Catalogs, written: dict[str, object], plain: dict[str, object]
) -> None:
    found, known = one(catalogs, **written), one(catalogs, **plain)
    assert found["pred_status"] == "ok"
    assert found["pred_tpot_ms_mean"] == known["pred_tpot_ms_mean"]


@pytest.mark.parametrize("cell", ["1k", "1,0,0", "1024 tokens", "~1000", "5 %%"])
def test_a_number_that_says_no_figure_is_none(catalogs: Catalogs, cell: str) -> None:
    assert "input_tokens is not a finite number" in str(one(catalogs, input_tokens=cell)["pred_reason"])


def test_an_empty_version_means_the_newest_engine(catalogs: Catalogs) -> None:
    newest, old = one(catalogs, engine_version=""), one(catalogs, engine_version="0.4.3")
    assert newest["pred_tpot_ms_mean"] == one(catalogs, engine_version="0.19.0")["pred_tpot_ms_mean"]
    assert newest["pred_tpot_ms_mean"] != old["pred_tpot_ms_mean"]


def test_throughput_is_that_of_the_whole_deployment(catalogs: Catalogs) -> None:
    single = one(catalogs, load_value=16)
    double = one(catalogs, load_value=32, num_gpus=2, dp=2)
    assert double["pred_output_tok_s"] == pytest.approx(2 * single["pred_output_tok_s"])
    assert double["pred_tpot_ms_mean"] == pytest.approx(single["pred_tpot_ms_mean"])


def test_closed_loop_obeys_littles_law(catalogs: Catalogs) -> None:
    row = one(catalogs, load_value=32, num_requests=3_200_000)
    life_s = (row["pred_ttft_ms_mean"] + 199 * row["pred_tpot_ms_mean"]) / 1000
    assert row["pred_request_throughput"] * life_s == pytest.approx(32, rel=1e-4)


def test_the_median_first_token_does_not_wait_for_the_first_wave(catalogs: Catalogs) -> None:
    mean, median = one(catalogs, load_value=64), one(catalogs, load_value=64, ttft_statistic="p50")
    assert median["pred_ttft_ms_mean"] < mean["pred_ttft_ms_mean"]


def test_requests_of_one_length_stay_in_step_where_prompts_are_computed_apart(catalogs: Catalogs) -> None:
    """On vLLM a prompt rides on a step of those that decode, so that what began together does not end together."""
    load = {"load_type": "concurrency", "load_value": 64, "input_tokens": 4000, "output_tokens": 500}
    later = {
        engine: one(catalogs, **load, engine=engine, lengths="fixed")["pred_ttft_ms_mean"]
        / one(catalogs, **load, engine=engine)["pred_ttft_ms_mean"]
        for engine in ("vLLM", "SGLang")
    }
    assert later["vLLM"] < 1 < later["SGLang"]


def test_what_nobody_measured_is_estimated_with_a_wider_interval(catalogs: Catalogs) -> None:
    known, new = one(catalogs), one(catalogs, gpu="gaudi3")
    assert new["pred_source"] == "estimated"
    width = [row["pred_tpot_ms_mean_high"] / row["pred_tpot_ms_mean_low"] for row in (known, new)]
    assert width[1] > width[0]


def test_a_rate_above_capacity_is_served_at_the_capacity(catalogs: Catalogs) -> None:
    high, absurd = (one(catalogs, load_type="request_rate", load_value=rate) for rate in (1000, 100000))
    assert high["pred_request_throughput"] == pytest.approx(absurd["pred_request_throughput"], rel=1e-3)


def test_prompts_wait_for_the_interval_at_which_an_engine_takes_them_in(catalogs: Catalogs) -> None:
    server = {"model": "meta-llama/Llama-3.1-70B-Instruct", "tp": 4, "num_gpus": 4, "output_tokens": 2000}
    for engine, share in (("SGLang", 0.5), ("TensorRT-LLM", 1.0)):
        at_once, at_intervals = predicted(
            catalogs,
            {**server, "engine": engine, "engine_version": "", "admission_interval_steps": 0},
            {**server, "engine": engine, "engine_version": "", "admission_interval_steps": 20},
        ).to_dict("records")
        steps = (at_intervals["pred_ttft_ms_mean"] - at_once["pred_ttft_ms_mean"]) / at_once["pred_tpot_ms_mean"]
        assert 0.8 * share * 20 < steps < 1.2 * share * 20
        # prompts that are taken in together read the weights once
        assert at_intervals["pred_tpot_ms_mean"] < at_once["pred_tpot_ms_mean"]


def test_bursts_wait_longer(catalogs: Catalogs) -> None:
    load = {"load_type": "request_rate", "load_value": 8}
    poisson, bursts = predicted(catalogs, {**load, "arrival_cv2": ""}, {**load, "arrival_cv2": 8}).to_dict("records")
    assert one(catalogs, **load)["pred_ttft_ms_mean"] == poisson["pred_ttft_ms_mean"] < bursts["pred_ttft_ms_mean"]
    assert bursts["pred_ttft_ms_p99"] > poisson["pred_ttft_ms_p99"]


@pytest.mark.parametrize(
    ("version", "told"),
    [("banana", True), ("11b6af52", True), ("", False), ("0.6.3", False), ("2024", False), ("nightly-0.19.1", False)],
)
def test_a_version_that_names_no_release_is_not_taken_for_the_newest_without_a_word(
    version: str, told: bool, catalogs: Catalogs
) -> None:
    row = one(catalogs, engine_version=version)
    assert row["pred_status"] == "ok"
    assert ("names no release" in str(row["pred_reason"])) == told
    if told:
        assert catalogs.engines["vllm"].newest_version in str(row["pred_reason"])
        newest = one(catalogs, engine_version=catalogs.engines["vllm"].newest_version)
        assert row["pred_tpot_ms_mean"] == newest["pred_tpot_ms_mean"]

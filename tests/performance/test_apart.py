"""Prefill and decode apart: workers that read prompts hand them over to workers that write the answers."""

import math

import numpy as np
import pandas as pd
import pytest

from optimizer.inputs.catalog.records import Catalogs
from optimizer.performance.measured.batch import PREDICTIONS, predict_batch

ROW: dict[str, object] = {
    "engine": "tensorrt-llm",
    "model": "deepseek-r1",
    "gpu": "gb200",
    "weight_precision": "fp4",
    "kv_precision": "fp8",
    "input_tokens": 922,
    "output_tokens": 922,
    "lengths": "varied",
    "load_type": "concurrency",
    "load_value": 256,
    "prefill_workers": 1,
    "prefill_tp": 4,
    "prefill_ep": 4,
    "decode_workers": 4,
    "decode_tp": 8,
    "decode_ep": 8,
}
OTHERS: list[dict[str, object]] = [
    # clients, layout, ms a token at the median, total tokens/s and GPU: inferencex_2026
    {"load_value": 256, "ms": 14.104, "tok_s": 878.6},
    {"load_value": 3, "input_tokens": 7373, "decode_workers": 3, "ms": 6.631, "tok_s": 134.6},
    {
        **{"gpu": "b200", "weight_precision": "fp8", "load_value": 5152, "prefill_workers": 2, "prefill_tp": 8},
        **{"prefill_dp_attn": 1, "decode_workers": 5, "decode_dp_attn": 1, "ms": 37.842, "tok_s": 4231},
    },
    {
        **{"engine": "sglang", "gpu": "gb300", "weight_precision": "fp8", "load_value": 4, "input_tokens": 7373},
        **{"prefill_ep": 1, "decode_workers": 1, "decode_tp": 4, "decode_ep": 1, "ms": 10.152, "tok_s": 405.1},
    },
    {
        **{"engine": "sglang", "gpu": "mi355x", "weight_precision": "fp8", "prefill_tp": 8, "prefill_ep": 1},
        **{"decode_workers": 2, "decode_ep": 1, "ms": 22.987, "tok_s": 756.1},
    },
]


def predicted(catalogs: Catalogs, *changes: dict[str, object]) -> pd.DataFrame:
    return predict_batch(pd.DataFrame([ROW | change for change in changes]), catalogs, look_up=False)


def test_both_pools_take_as_long_as_was_measured(catalogs: Catalogs) -> None:
    """Nothing was fitted to these but what handing over takes: a token within a quarter, throughput within 30 %."""
    found = predicted(catalogs, *OTHERS)
    assert (found["pred_status"] == "ok").all()
    assert (found["pred_source"] == "estimated").all()
    gpus = found["prefill_workers"] * found["prefill_tp"] + found["decode_workers"] * found["decode_tp"]
    tokens = found["pred_request_throughput"] * (found["input_tokens"] + found["output_tokens"])
    assert np.abs(np.log(found["pred_tpot_ms_mean"] / found["ms"])).max() < np.log(1.25)
    assert np.abs(np.log(tokens / gpus / found["tok_s"])).max() < np.log(1.3)


@pytest.mark.parametrize("load", [{}, {"load_type": "request_rate", "load_value": 10}])
def test_every_load_has_intervals_wider_than_of_one_pool(catalogs: Catalogs, load: dict[str, object]) -> None:
    row = predicted(catalogs, load).iloc[0]
    for name in PREDICTIONS:
        assert 0 < row[f"{name}_low"] < row[name] < row[f"{name}_high"] < math.inf
    assert row["pred_ttft_ms_p50"] <= row["pred_ttft_ms_p95"] <= row["pred_ttft_ms_p99"]


@pytest.mark.parametrize("clients", [1, 16, 256, 4096, 60_000])
def test_clients_are_in_their_prompts_or_in_their_answers(catalogs: Catalogs, clients: int) -> None:
    """Little's law, with the time of a request that comes after the first wave."""
    run = {"load_value": clients, "num_requests": 10**9}
    row = predicted(catalogs, run).iloc[0]
    life_s = (row["pred_ttft_ms_mean"] + (row["output_tokens"] - 1) * row["pred_tpot_ms_mean"]) / 1e3
    assert row["pred_request_throughput"] * life_s >= clients * 0.999
    assert row["pred_request_throughput"] * life_s <= clients * 1.5


def test_more_workers_of_either_pool_serve_no_less(catalogs: Catalogs) -> None:
    many = {"load_value": 8192}
    base, prefill, decode = predicted(catalogs, many, many | {"prefill_workers": 2}, many | {"decode_workers": 8})[
        "pred_request_throughput"
    ]
    assert prefill >= 0.999 * base
    assert decode >= 0.999 * base


def test_nothing_interrupts_a_step_that_decodes(catalogs: Catalogs) -> None:
    """The same replicas, were they to read their prompts themselves, take longer for a token and start sooner."""
    whole = {name: None for name in ROW if name.startswith(("prefill", "decode"))}
    apart, together = (
        predicted(catalogs, {"load_value": 64, "input_tokens": 7373} | change).iloc[0]
        for change in ({"decode_workers": 1}, whole | {"tp": 8, "ep": 8, "num_gpus": 8})
    )
    assert apart["pred_tpot_ms_mean"] < 0.8 * together["pred_tpot_ms_mean"]


def test_uneven_arrivals_wait_longer(catalogs: Catalogs) -> None:
    rate = {"load_type": "request_rate", "load_value": 30}
    even, uneven = predicted(catalogs, rate, rate | {"arrival_cv2": 8})["pred_ttft_ms_mean"]
    assert uneven > even


def test_overload_is_told(catalogs: Catalogs) -> None:
    row = predicted(catalogs, {"load_type": "request_rate", "load_value": 500}).iloc[0]
    assert "overload" in row["pred_reason"]
    assert row["pred_request_throughput"] < 500


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"decode_tp": None}, "go together"),
        ({"prefill_workers": None}, "go together"),
        ({"prefill_workers": None, "decode_workers": None, "tp": 8, "num_gpus": 8}, "go together"),
        ({"prefill_workers": 1.5}, "must be whole"),
        ({"num_gpus": 40}, "num_gpus is not prefill_workers x prefill_tp"),
        ({"load_type": "offline"}, "serve clients or a rate"),
        ({"engine": "vllm"}, "nobody measured prefill and decode apart with vllm and a moe-mla model: sglang@moe-mla"),
        ({"model": "llama-3.3-70b"}, "nobody measured prefill and decode apart with tensorrt-llm and a dense model"),
        ({"prefill_tp": 1}, "does not fit"),
    ],
)
def test_what_nobody_measured_or_said_is_refused(catalogs: Catalogs, change: dict[str, object], problem: str) -> None:
    row = predicted(catalogs, change).iloc[0]
    assert row["pred_status"] == "unsupported"
    assert problem in row["pred_reason"]


def test_rows_do_not_depend_on_their_neighbours(catalogs: Catalogs) -> None:
    whole = {name: None for name in ROW if name.startswith(("prefill", "decode"))} | {"tp": 8, "num_gpus": 8}
    both = predicted(catalogs, {}, whole)
    alone = pd.concat([predicted(catalogs, {}), predicted(catalogs, whole)], ignore_index=True)
    pd.testing.assert_frame_equal(both[[*PREDICTIONS]], alone[[*PREDICTIONS]])

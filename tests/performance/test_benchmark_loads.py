"""What a benchmark's load does to a replica: nobody waits for more than there is, and no load makes a server faster."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from optimizer.base.units import BYTES_PER_GB, MS_PER_S
from optimizer.inputs.catalog.records import Catalogs
from optimizer.performance.measured.batch import TOO_LONG, UNHEARD_OF, predict_batch
from optimizer.performance.physics.setup import Configuration, gather
from optimizer.performance.simulation.costs import replica_costs
from optimizer.performance.simulation.replica import serve

CHAT: dict[str, object] = {
    "engine": "vllm",
    "model": "llama-3.1-8b",
    "gpu": "h100-sxm",
    "weight_precision": "bf16",
    "input_tokens": 1024,
    "output_tokens": 256,
    "load_type": "concurrency",
    "load_value": 1,
}
LONG = CHAT | {"input_tokens": 100_000, "output_tokens": 128}
TTFT = [f"pred_ttft_ms_{name}" for name in ("mean", "p50", "p95", "p99")]


def delivered(catalogs: Catalogs, row: dict[str, object], **loads: list[object]) -> pd.DataFrame:
    """The row under loads given by column, predicted."""
    changes = [dict(zip(loads, values, strict=True)) for values in zip(*loads.values(), strict=True)]
    return predict_batch(pd.DataFrame([row | change for change in changes]), catalogs, look_up=False)


@pytest.mark.parametrize("engine", ["vllm", "sglang", "tensorrt-llm"])
def test_more_clients_deliver_no_less_where_prompts_fill_the_time(catalogs: Catalogs, engine: str) -> None:
    found = delivered(catalogs, LONG | {"engine": engine}, load_value=[1, 2, 4, 16, 64])["pred_output_tok_s"]
    assert (found.to_numpy()[1:] > 0.995 * found.to_numpy()[:-1]).all()


def test_two_clients_wait_for_one_prompt_of_each_other_at_most(catalogs: Catalogs) -> None:
    found = delivered(catalogs, LONG, load_value=[1, 2])
    alone, beside = (found.loc[row, TTFT].to_numpy(float) for row in (0, 1))
    assert (beside <= 2.01 * alone).all()


def test_nobody_alone_is_interrupted(catalogs: Catalogs) -> None:
    found = delivered(catalogs, LONG, load_value=[1, 2])
    assert found.loc[0, "pred_tpot_ms_p95"] == found.loc[0, "pred_tpot_ms_mean"]
    assert found.loc[1, "pred_tpot_ms_p95"] > found.loc[1, "pred_tpot_ms_mean"]


def test_late_first_tokens_of_a_long_run_are_later_than_its_median(catalogs: Catalogs) -> None:
    found = delivered(catalogs, CHAT | {"num_requests": 10_000}, load_value=[32]).loc[0, TTFT[1:]].to_numpy(float)
    assert (np.diff(found) > 0.2 * found[0]).all()


def test_clients_without_a_request_are_none(catalogs: Catalogs) -> None:
    found = delivered(catalogs, CHAT, load_value=[32, 1], num_requests=[1, 1])
    assert found.loc[0, TTFT].tolist() == found.loc[1, TTFT].tolist()


def test_who_sends_once_waits_only_for_those_before(catalogs: Catalogs) -> None:
    """Of as many requests as clients the last waits as long as each does where clients go on."""
    many = CHAT | {"input_tokens": 8000, "output_tokens": 1000, "load_value": 2000}
    found = delivered(catalogs, many, num_requests=[2000, 2_000_000])
    once, again = (found.loc[row, TTFT[0]] for row in (0, 1))
    assert once == pytest.approx(again / 2, rel=0.05)
    assert found.loc[0, TTFT[3]] == pytest.approx(again, rel=0.05)
    assert found.loc[0, "pred_output_tok_s"] == pytest.approx(found.loc[1, "pred_output_tok_s"], rel=0.05)


def test_no_load_makes_a_server_faster(catalogs: Catalogs) -> None:
    """Far above its capacity a replica is at the edge of it, where every step reads all weights."""
    small = CHAT | {"model": "qwen2.5-7b", "gpu": "l4", "load_type": "request_rate"}
    found = delivered(catalogs, small, load_value=[0.5, 1, 2, 10, 100])
    for name in ("pred_tpot_ms_mean", "pred_tpot_ms_p95", *TTFT):
        assert (np.diff(found[name]) >= 0).all()
    bytes_read = 2 * 7e9
    least_ms = MS_PER_S * bytes_read / (catalogs.gpus["l4"].memory_bandwidth_gb_per_s * BYTES_PER_GB)
    assert (found["pred_tpot_ms_mean"] > least_ms).all()


def test_what_all_begins_at_once_waits_for_the_prompts_alone(catalogs: Catalogs) -> None:
    offline = delivered(catalogs, CHAT | {"load_type": "offline"}, load_value=[1, 4], num_requests=[1, 4])
    closed = delivered(catalogs, CHAT, load_value=[1, 4], num_requests=[1, 4])
    assert offline.loc[0, TTFT].tolist() == closed.loc[0, TTFT].tolist()
    assert offline.loc[1, TTFT[0]] == pytest.approx(closed.loc[1, TTFT[0]], rel=0.2)


def test_of_more_than_fit_the_last_begins_a_life_before_the_end(catalogs: Catalogs) -> None:
    row = delivered(catalogs, CHAT | {"load_type": "offline"}, load_value=[2000]).loc[0]
    run_ms = MS_PER_S * 2000 / row["pred_request_throughput"]
    life_ms = 256 * row["pred_tpot_ms_mean"]
    assert row[TTFT[3]] == pytest.approx(run_ms - life_ms, rel=0.03)
    assert row[TTFT[0]] == pytest.approx((run_ms - life_ms) / 2, rel=0.2)


def test_a_batch_that_does_not_fit_begins_in_waves(catalogs: Catalogs) -> None:
    found = delivered(catalogs, CHAT | {"load_type": "static_batch"}, load_value=[64, 2000])
    assert found.loc[0, TTFT[0]] == found.loc[0, TTFT[3]]
    assert found.loc[1, TTFT[3]] > 1.5 * found.loc[1, TTFT[0]] > 3 * found.loc[0, TTFT[0]]


def test_a_loop_of_one_round_ends_all_at_once(catalogs: Catalogs) -> None:
    """Nobody waits for a last client where each sends one request: of ten rounds 2.5 % goes, of two the most."""
    found = delivered(catalogs, CHAT, load_value=[32] * 3, num_requests=[32, 64, 320])
    time = found["pred_ttft_ms_mean"] + 255 * found["pred_tpot_ms_mean"]
    kept = (found["pred_request_throughput"] * time / 32 / MS_PER_S).to_numpy()
    assert kept[0] == pytest.approx(1, abs=1e-3)
    assert kept[1] < kept[2] < 0.99 < kept[0]


def test_a_batch_of_one_prompt_is_faster_where_prompts_choose_experts(catalogs: Catalogs) -> None:
    """All of its sequences choose the same; a batch of one has no other, and a dense model nothing to choose."""
    batch = CHAT | {"load_type": "static_batch", "model": "mixtral-8x7b", "tp": 4, "num_gpus": 4}
    told = delivered(catalogs, batch, load_value=[16, 16, 1, 1], distinct_prompts=[1, None, 1, None])
    alike, unlike, alone, told_nothing = told["pred_output_tok_s"]
    assert (alike > 1.2 * unlike, alone) == (True, told_nothing)
    dense = delivered(catalogs, CHAT | {"load_type": "static_batch"}, load_value=[16, 16], distinct_prompts=[1, None])
    assert dense["pred_output_tok_s"].nunique() == 1


def test_no_token_comes_later_than_the_longest_step_after_another(catalogs: Catalogs) -> None:
    """Short answers behind long prompts: simulated, the 95th and 99th percentile of TPOT are that of a full step."""
    prompts = {"gpu": "l40s", "weight_precision": "fp8", "input_tokens": 4000, "output_tokens": 20}
    found = delivered(catalogs, CHAT | prompts | {"load_type": "request_rate"}, load_value=[4.27]).loc[0]
    assert found["pred_tpot_ms_p95"] < 1.3 * found["pred_tpot_ms_mean"]


def test_what_no_documentation_says_an_engine_runs_is_estimated(catalogs: Catalogs) -> None:
    found = delivered(catalogs, CHAT | {"gpu": "mi300x"}, engine=["tensorrt-llm", "vllm"])
    assert found["pred_source"].tolist() == ["estimated", "calibrated"]
    assert found["pred_reason"].str.contains(UNHEARD_OF).tolist() == [True, False]


def test_a_request_beyond_the_context_is_told(catalogs: Catalogs) -> None:
    found = delivered(catalogs, CHAT | {"gpu": "h200-sxm"}, input_tokens=[131_000, 130_000])
    assert found["pred_reason"].str.contains(TOO_LONG).tolist() == [True, False]


def test_the_end_of_a_run_takes_as_long_as_simulated(catalogs: Catalogs) -> None:
    """All at once with short prompts: the longest of lengths that vary runs long after the others, nearly alone."""
    setup = gather(catalogs, [Configuration("vllm", "llama-3.1-8b", "h100-sxm", "bf16", "bf16", 1, 1)])
    costs = replace(replica_costs(setup, 0), max_sequences=100)
    answer = np.ceil(np.random.default_rng(0).exponential(256, 400)).astype(np.int64)
    prompt = np.full(400, 16)
    done = serve(costs, np.zeros(400), costs.work(prompt, np.zeros_like(prompt), answer))
    run = {"load_type": "offline", "input_tokens": 16, "output_tokens": float(answer.mean()), "max_num_seqs": 100}
    found = delivered(catalogs, CHAT | run | {"lengths": "varied"}, load_value=[400, np.nan])
    brief, endless = found["pred_request_throughput"]
    assert brief == pytest.approx(400 / done.finished_s.max(), rel=0.15)
    assert endless > 1.5 * brief


def test_answers_of_one_length_end_half_a_life_of_one_alone_later(catalogs: Catalogs) -> None:
    run = CHAT | {"load_type": "offline", "max_num_seqs": 100}
    brief, endless = delivered(catalogs, run, load_value=[1000, np.nan])["pred_request_throughput"]
    (alone,) = delivered(catalogs, CHAT, load_value=[1])["pred_tpot_ms_mean"]
    assert 1000 / brief - 1000 / endless == pytest.approx(0.5 * 256 * alone / MS_PER_S, rel=0.05)


def test_who_goes_on_for_long_loses_little_at_the_end(catalogs: Catalogs) -> None:
    """With ten requests a client a run delivers some 2.5 % less than clients without a pause get, alone or not."""
    found = delivered(catalogs, CHAT, load_value=[1, 1, 16, 16], num_requests=[10, 10_000, 160, 160_000])
    brief, long = found["pred_output_tok_s"][::2].to_numpy(), found["pred_output_tok_s"][1::2].to_numpy()
    assert brief[0] == pytest.approx(long[0])
    assert brief[1] == pytest.approx(long[1] / 1.025, rel=0.03)

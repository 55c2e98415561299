"""Speculative decoding: a step verifies a draft's tokens and yields those that it keeps."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from optimizer.inputs.catalog.entries.engines import Draft
from optimizer.inputs.catalog.records import Catalogs
from optimizer.performance.candidates.predict import Mix, operate
from optimizer.performance.measured.batch import predict_batch
from optimizer.performance.physics.memory import kv_bytes_per_token, memory_use
from optimizer.performance.physics.setup import Configuration, gather
from optimizer.performance.simulation.costs import replica_costs
from optimizer.performance.simulation.replica import serve
from optimizer.performance.uncertainty.evidence import margins

ROW: dict[str, object] = {
    "engine": "vllm",
    "model": "gpt-oss-120b",
    "gpu": "h200-sxm",
    "tp": 1,
    "weight_precision": "mxfp4",
    "input_tokens": 7200,
    "output_tokens": 900,
    "load_type": "concurrency",
    "load_value": 1,
}
MEASURED = pd.DataFrame(
    {
        # clients, tokens drafted, tokens kept a step, ms a token, without a draft: nebius_h200_profiling
        "load_value": [1, 1, 1, 8, 8, 8, 64, 64, 64],
        "draft_tokens": [1, 3, 7, 1, 3, 7, 1, 3, 7],
        "accepted_tokens": [1.62, 1.93, 2.44, 1.66, 2.03, 2.22, 1.64, 2.09, 2.17],
        "ms": [3.40, 3.65, 3.96, 8.82, 9.22, 11.01, 37.69, 37.44, 44.48],
        "plain_ms": [4.31, 4.31, 4.31, 10.43, 10.43, 10.43, 42.31, 42.31, 42.31],
    }
)


def predicted(catalogs: Catalogs, *changes: dict[str, object]) -> pd.DataFrame:
    return predict_batch(pd.DataFrame([ROW | change for change in changes]), catalogs, look_up=False)


def test_steps_with_a_draft_are_as_much_faster_as_was_measured(catalogs: Catalogs) -> None:
    """All within a quarter, half of them within a tenth; what plain steps are off by is not looked at."""
    loads = MEASURED[["load_value", "draft_tokens", "accepted_tokens"]].to_dict("records")
    drafted = predicted(catalogs, *loads)["pred_tpot_ms_mean"].to_numpy(float)
    plain = predicted(catalogs, *({"load_value": each["load_value"]} for each in loads))["pred_tpot_ms_mean"]
    faster = plain.to_numpy(float) / drafted
    error = np.abs(np.log(faster / (MEASURED["plain_ms"] / MEASURED["ms"])))
    assert error.max() < np.log(1.25)
    assert error.median() < np.log(1.1)


def test_a_draft_helps_few_clients_more_than_many(catalogs: Catalogs) -> None:
    """Published pairs with multi-token heads: 1.57 times faster at up to 8 in flight, 1.38 to 32, 1.27 to 128."""
    dense = {"model": "llama-3.3-70b", "gpu": "h100-sxm", "tp": 4, "weight_precision": "fp8", "input_tokens": 1000}
    loads = [{**dense, "load_value": clients} for clients in (1, 32, 256)]
    plain = predicted(catalogs, *loads)["pred_tpot_ms_mean"]
    drafted = predicted(catalogs, *({**load, "speculation": "eagle3:3"} for load in loads))["pred_tpot_ms_mean"]
    faster = (plain / drafted).to_numpy(float)
    assert 2 < faster[0] < 2.9
    assert (np.diff(faster) < 0).all()


def test_a_draft_of_which_nothing_is_kept_only_costs(catalogs: Catalogs) -> None:
    none, wasted = predicted(catalogs, {}, {"draft_tokens": 3, "accepted_tokens": 1})["pred_tpot_ms_mean"]
    assert wasted > none


@pytest.mark.parametrize(
    ("text", "drafted", "kept"),
    [
        ("eagle3:3", "3 drafted", "2.09 a step kept as counted for this model with eagle3"),
        ("EAGLE-1", "1 drafted", "1.65 a step kept as counted for this model with eagle3"),
        ("3", "3 drafted", "2.09 a step kept as counted for this model with eagle3"),
        ("mtp:2", "2 drafted", "as counted for other models"),
        ("mtp", "1 drafted", "1.65 a step kept as counted for this model with eagle3"),
    ],
)
def test_what_is_counted_of_the_model_goes_before_what_is_counted_of_others(
    catalogs: Catalogs, text: str, drafted: str, kept: str
) -> None:
    row = predicted(catalogs, {"speculation": text}).iloc[0]
    assert (row["pred_status"], row["pred_source"]) == ("ok", "estimated")
    assert drafted in row["pred_reason"]
    assert kept in row["pred_reason"]


@pytest.mark.parametrize("text", ["", "none", "0", "off", "False"])
def test_no_draft_is_no_draft(catalogs: Catalogs, text: str) -> None:
    none, same = (
        row.drop("speculation", errors="ignore") for _, row in predicted(catalogs, {}, {"speculation": text}).iterrows()
    )
    pd.testing.assert_series_equal(none, same, check_names=False)


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ({"speculation": "medusa:3"}, "neither a method nor a number"),
        ({"speculation": "eagle3:3.5"}, "neither a method nor a number"),
        ({"speculation": "12"}, "say accepted_tokens"),
        ({"draft_tokens": 2, "accepted_tokens": 3.5}, "accepted_tokens are more than a step has"),
        ({"accepted_tokens": 2}, "accepted_tokens are more than a step has"),
    ],
)
def test_what_no_draft_can_be_is_refused(catalogs: Catalogs, row: dict[str, object], problem: str) -> None:
    found = predicted(catalogs, row).iloc[0]
    assert found["pred_status"] == "unsupported"
    assert problem in found["pred_reason"]


def test_what_was_measured_without_a_draft_is_no_measurement_of_one_with(catalogs: Catalogs) -> None:
    layout = {"engine_version": "0.19.0", "num_gpus": 4, "tp": 4, "pp": 1, "ep": 1, "dp": 1, "weight_precision": "fp8"}
    load = {"input_tokens": 922, "output_tokens": 922, "load_value": 128}
    shipped = ROW | {"model": "MiniMaxAI/MiniMax-M2.5", "gpu": "b300", "max_num_seqs": "", **layout, **load}
    rows = pd.DataFrame([shipped | {"speculation": text} for text in ("", "eagle3:1")])
    assert predict_batch(rows, catalogs)["pred_source"].tolist() == ["measured", "estimated"]


DRAFTED = Configuration("vllm", "llama-3.1-8b", "h100-sxm", "bf16", "bf16", 1, 1).with_draft(
    Draft(method="eagle3", draft_tokens=3, accepted_tokens=2.4)
)
PLAIN = DRAFTED._replace(draft_tokens=0, accepted_tokens=1.0, speculation="")


def test_a_draft_takes_the_memory_of_one_more_layer_and_head(catalogs: Catalogs) -> None:
    """Both of Llama 3.1 8B, in 16 bit: projections of 32 query and 8 KV heads of 128, a gated MLP, the vocabulary."""
    both = gather(catalogs, [PLAIN, DRAFTED])
    weights = memory_use(both).weights
    layer = 4096 * (4096 + 2 * 1024 + 4096) + 3 * 4096 * 14336
    assert weights[1] - weights[0] == pytest.approx(2 * (layer + 128256 * 4096), rel=0.001)
    per_token = kv_bytes_per_token(both)
    assert per_token[1] / per_token[0] == pytest.approx(33 / 32)


@pytest.mark.parametrize("rate_per_s", [1e-9, 6.0])
def test_simulated_steps_take_as_long_as_predicted_ones(catalogs: Catalogs, rate_per_s: float) -> None:
    """Alone, and with a dozen others."""
    setup = gather(catalogs, [DRAFTED])
    mix = Mix(np.array([200.0]), np.array([500.0]), np.array([1.0]), 0.0)
    predicted_s = operate(setup, mix, np.array([rate_per_s])).tpot_s["mean"][0]
    costs = replica_costs(setup, 0)
    gaps = np.random.default_rng(0).exponential(1 / rate_per_s, 3000 if rate_per_s > 1 else 2)
    lengths = [np.full(len(gaps), tokens) for tokens in (200, 0, 500)]
    done = serve(costs, np.cumsum(gaps), costs.work(*lengths))
    simulated_s = ((done.finished_s - done.first_token_s) / 499).mean()
    assert simulated_s == pytest.approx(predicted_s, rel=0.03 if rate_per_s > 1 else 0.005)


def test_jumps_over_drafted_steps_end_where_single_steps_do(catalogs: Catalogs) -> None:
    costs = replica_costs(gather(catalogs, [DRAFTED]), 0)
    arrived = np.cumsum(np.random.default_rng(1).exponential(1 / 8, 2000))
    work = costs.work(*(np.full(len(arrived), tokens) for tokens in (1000, 0, 300)))
    jumped, stepped = (serve(costs, arrived, work, by_single_steps=singly) for singly in (False, True))
    assert (jumped.finished_s - arrived).mean() == pytest.approx((stepped.finished_s - arrived).mean(), rel=0.01)


def test_a_full_cache_loses_no_drafted_request(catalogs: Catalogs) -> None:
    costs = replace(replica_costs(gather(catalogs, [DRAFTED]), 0), cache_bytes=4e8)
    work = costs.work(*(np.full(200, tokens) for tokens in (500, 0, 700)))
    done = serve(costs, np.arange(200) / 50, work)
    assert done.preempted > 0
    assert np.isfinite(done.finished_s).all()


def test_margins_are_wider_for_steps_that_nobody_fitted_to(catalogs: Catalogs) -> None:
    found = margins(catalogs, [PLAIN, DRAFTED], 0.9)
    for metric in ("ttft", "tpot", "throughput"):
        plain, drafted = getattr(found, metric)
        assert 1 < plain < drafted

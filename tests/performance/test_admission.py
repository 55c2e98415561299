"""When an engine takes in the prompts that wait: intervals by flags, and ranks that begin prompts together."""

import numpy as np
import pandas as pd
import pytest

from optimizer.base.arrays import Floats
from optimizer.inputs.catalog.records import Catalogs
from optimizer.performance.measured.batch import predict_batch
from optimizer.performance.physics.admission import admission_interval
from optimizer.performance.physics.setup import Configuration, gather

MOST_STEPS = 60
DEPLOYMENT = {
    "engine": "TensorRT-LLM",
    "engine_version": "1.1",
    "model": "deepseek-r1",
    "gpu": "b200",
    "num_gpus": 8,
    "tp": 8,
    "weight_precision": "fp4",
    "input_tokens": 922,
    "output_tokens": 922,
    "load_type": "concurrency",
    "load_value": 64,
}


def _ranks(*degrees: int, attention_dp: bool = True) -> list[Configuration]:
    plain = Configuration("tensorrt-llm", "deepseek-r1", "b200", "fp4", "fp8", 1, 1, attention_dp=attention_dp)
    return [plain._replace(tensor_parallel=ranks, rank_wait_steps=MOST_STEPS) for ranks in degrees]


def _simulated(ranks: int, come: float) -> float:
    """Mean steps from a rank's first prompt until each of the others has one, `MOST_STEPS` at most."""
    arrivals = np.random.default_rng(ranks).exponential(ranks / come, (200_000, ranks - 1))
    return float(np.minimum(arrivals.max(axis=1), MOST_STEPS).mean())


@pytest.mark.parametrize("come", [1e-4, 0.07, 0.28, 1.0])
def test_ranks_wait_until_each_has_a_prompt(catalogs: Catalogs, come: float) -> None:
    degrees = (2, 4, 8)
    found = admission_interval(gather(catalogs, _ranks(*degrees)), np.full(len(degrees), come))
    assert found == pytest.approx([_simulated(ranks, come) for ranks in degrees], rel=0.01)


def test_nobody_waits_for_ranks_that_are_not_there(catalogs: Catalogs) -> None:
    """Tensor parallelism has one rank as far as prompts go, and so has a single GPU."""
    alone = [*_ranks(8, attention_dp=False), *_ranks(1)]
    assert _interval(catalogs, alone) == pytest.approx(0.0)


def test_an_interval_by_flag_is_what_it_was(catalogs: Catalogs) -> None:
    told = [each._replace(rank_wait_steps=0, admission_interval_steps=20) for each in _ranks(8)]
    assert _interval(catalogs, told) == pytest.approx(20.0)


def _interval(catalogs: Catalogs, configurations: list[Configuration]) -> Floats:
    return admission_interval(gather(catalogs, configurations), np.full(len(configurations), 0.07))


def test_a_told_wait_of_ranks_is_in_the_first_token(catalogs: Catalogs) -> None:
    """With few prompts ranks wait nearly all 60 steps, with many they soon have one each; TPOT hardly moves."""
    rows = [
        DEPLOYMENT | {"attention_dp": 1, "rank_wait_steps": steps, "load_value": clients}
        for steps, clients in ((0, 64), (MOST_STEPS, 64), (MOST_STEPS, 1024))
    ]
    found = predict_batch(pd.DataFrame(rows), catalogs)
    waited = found["pred_ttft_ms_p50"] - found["pred_ttft_ms_p50"][0]
    steps = waited / found["pred_tpot_ms_mean"]
    assert 50 < steps[1] < 61
    assert found["pred_tpot_ms_mean"][1] == pytest.approx(found["pred_tpot_ms_mean"][0], rel=0.1)
    many = admission_interval(gather(catalogs, _ranks(8)), np.array([1024 / 922]))
    assert many[0] < 20

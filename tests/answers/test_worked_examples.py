"""The worked examples of the articles this tool answers: their arithmetic, and what it leaves out."""

from collections.abc import Callable
from decimal import ROUND_HALF_UP, Decimal

import numpy as np
import pytest
from support.scenarios import proven, with_policy, with_workload

from optimizer import optimize
from optimizer.answers.ahead.lifecycle.arithmetic import Training, cumulative_usd, overtaking_month
from optimizer.base.units import BYTES_PER_GIB, HOURS_PER_MONTH, SECONDS_PER_MONTH
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.scenario.scenario import Scenario
from optimizer.performance.market.criteria import CONFIGURATION_CRITERIA
from optimizer.performance.physics.memory import kv_bytes_per_sequence, memory_use
from optimizer.performance.physics.setup import Configuration, gather
from optimizer.plan.question.inquiry import Inquiry
from optimizer.plan.record.report import PlanReport

H100_USD = Decimal("2.49")


def whole(amount: Decimal) -> int:
    return int(amount.quantize(Decimal(1), ROUND_HALF_UP))


def serving_usd_per_month(gpus: int) -> Decimal:
    """GPUs that run all month."""
    return gpus * H100_USD * HOURS_PER_MONTH


def test_e1_fine_tuning_a_70b_model() -> None:
    run = Training(gpus=8, hours=Decimal(12), usd_per_gpu_hour=H100_USD)
    assert run.usd_per_hour == Decimal("19.92")
    assert whole(run.cost_usd) == 239
    assert whole(Training(8, Decimal(12), H100_USD, Decimal("0.20")).cost_usd) == 287


def test_e2_serving_it() -> None:
    month = serving_usd_per_month(4)
    assert month == Decimal("7270.80")
    assert whole(month) == 7271
    assert f"{month / (100 * SECONDS_PER_MONTH):.7f}" == "0.0000277"


def test_e3_cumulative_spend_and_the_overtaking_month() -> None:
    """The article adds numbers that it had rounded before: 287 and 7,271; so does this test."""
    training, month = Decimal(287), Decimal(7271)
    totals = cumulative_usd(training, [month] * 12)
    assert [totals[n - 1] for n in (1, 6, 12)] == [7558, 43913, 87539]
    exact = Training(8, Decimal(12), H100_USD, Decimal("0.20")).cost_usd
    serving = [serving_usd_per_month(4)] * 12
    assert cumulative_usd(exact, serving)[-1] == Decimal("87536.448")
    assert overtaking_month([exact] * 12, cumulative_usd(Decimal(0), serving)) == 1


def test_e4_replicas_scale_linearly() -> None:
    assert [whole(serving_usd_per_month(gpus)) for gpus in (2, 4, 8, 16)] == [3635, 7271, 14542, 29083]


def free_sequences(catalogs: Catalogs, gpu: str, gpus: int, precision: str, tokens: int = 2048) -> float:
    """Sequences of that length whose KV cache fits beside a 70B model's weights."""
    setup = gather(catalogs, [Configuration("vllm", "llama-3.1-70b", gpu, precision, "bf16", gpus, 1)])
    room = memory_use(setup).kv_capacity[0]
    return float(room / kv_bytes_per_sequence(setup, np.array([float(tokens)]))[0, 0])


def test_e4_and_e6_which_precision_makes_two_h100_serve_a_70b(catalogs: Catalogs) -> None:
    """In 16 bits two H100 are left with next to no cache; with 8-bit weights the table's 250 users are in reach."""
    assert free_sequences(catalogs, "h100-sxm", 2, "bf16") < 10
    assert free_sequences(catalogs, "h100-sxm", 2, "fp8") > 80
    assert free_sequences(catalogs, "h200-sxm", 1, "int8") > 60
    assert free_sequences(catalogs, "h100-sxm", 1, "bf16") < 0


def test_e5_the_rule_of_thumb_is_quoted_beside_the_plan(
    planned: Callable[[str], PlanReport], catalogs: Catalogs, chat: Scenario
) -> None:
    (rule,) = planned("chat-8b").explanation.baselines
    assert rule.kind == "rule_of_thumb"
    assert "A100 or L40S" in rule.change
    assert rule.difference_usd is not None
    assert rule.difference_usd >= 0
    fast = with_workload(chat, slo={"ttft_ms": 99}, requests_per_second=0.5, min_quality=None)
    assert "H100" in optimize(fast, catalogs).explanation.baselines[0].change
    assert "quantized on H100 or A100" in planned("chat-70b").explanation.baselines[0].change


def test_e7_criteria_are_asked_in_order_and_flat_load_rewards_commitment(catalogs: Catalogs, chat: Scenario) -> None:
    names = [criterion.name for criterion in CONFIGURATION_CRITERIA]
    assert names.index("memory") < names.index("ttft") < names.index("load")
    aws = {"providers": {"allow": ["aws"]}, "regions": {"allow": ["us-east-1"]}}
    on_demand = optimize(with_policy(chat, **aws), catalogs)
    terms = ["on_demand", "reserved_1y", "reserved_3y"]
    reserved = proven(Inquiry.of(with_policy(chat, **aws, pricing_terms=terms), catalogs))
    assert on_demand.monthly_cost_usd is not None
    assert reserved.monthly_cost_usd < on_demand.monthly_cost_usd
    assert all(d.pricing_term != "on_demand" for d in reserved.deployments)
    spot = [item for item in on_demand.explanation.opportunities if item.kind == "spot"]
    assert spot


def test_e8_self_hosting_against_paying_per_request() -> None:
    requests, per_request = 50_000_000, Decimal("0.0005")
    self_hosted = Decimal(6000 + 800)
    assert requests * per_request == 25_000
    assert self_hosted / per_request == 13_600_000
    assert (self_hosted + 15_000) / per_request == 43_600_000


def test_e12_a_slow_stage_before_the_model_eats_the_ttft_budget(catalogs: Catalogs, chat: Scenario) -> None:
    """Embedding in 50 instead of 300 ms takes 40 % off where the rest takes 325 ms, and it never costs more."""
    rest_ms = 325
    assert (rest_ms + 50) / (rest_ms + 300) == pytest.approx(0.6)
    plans = [
        proven(Inquiry.of(with_workload(chat, slo={"ttft_ms": 500, "ttft_overhead_ms": stage_ms}), catalogs))
        for stage_ms in (50, 300)
    ]
    quick, slow = plans
    assert slow.monthly_cost_usd >= quick.monthly_cost_usd
    assert all(d.ttft_ms["p50"] > 300 for d in slow.deployments)
    with pytest.raises(ValueError, match="greater than or equal to 0"):
        with_workload(chat, slo={"ttft_overhead_ms": -1})


def test_p1_single_stream_decode_is_bandwidth_over_weight_bytes(catalogs: Catalogs) -> None:
    """H100 and a 70B model in 16 bits: 3.35 TB/s over 140 GB is about 24 tokens a second per GPU of a group."""
    weights_gb = 2 * 70.0
    assert catalogs.gpus["h100-sxm"].memory_bandwidth_gb_per_s / weights_gb == pytest.approx(23.9, abs=0.05)
    assert catalogs.gpus["a100-80-sxm"].memory_bandwidth_gb_per_s / weights_gb == pytest.approx(14.6, abs=0.05)
    assert BYTES_PER_GIB == 2**30

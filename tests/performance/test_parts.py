"""The formulas one by one, against figures worked out by hand."""

import math

import numpy as np
import pytest

from optimizer.base.errors import InputError
from optimizer.base.units import MIB_PER_GIB
from optimizer.inputs.catalog.records import Catalogs
from optimizer.performance.fit.fitting import RUN_SETTINGS
from optimizer.performance.physics.communication import all_reduces, bus_bandwidth, latest_of
from optimizer.performance.physics.constants import HIERARCHY, Calibration
from optimizer.performance.physics.eras import era_of, version_number
from optimizer.performance.physics.facts import expert_params, gpu_facts
from optimizer.performance.physics.queueing import ArrivalVariation, Wait, admission_wait, normal_share, prompt_wait
from optimizer.performance.physics.roofline import experts, prefill_attention_seconds, smooth_max
from optimizer.performance.physics.setup import Configuration, Setup, gather
from optimizer.performance.physics.step import step_costs
from optimizer.performance.uncertainty.evidence import margins, not_measured


@pytest.fixture
def calibration(catalogs: Catalogs) -> Calibration:
    return Calibration.of(catalogs.calibration)


def test_every_declared_constant_has_a_value_for_everything_or_for_each_kind(calibration: Calibration) -> None:
    missing = [name for name in HIERARCHY if not calibration.members(name)]
    assert missing == []


def test_every_calibrated_row_is_declared(calibration: Calibration) -> None:
    beside = {
        "spread",
        "fit",
        "fit_error",
        "evidence",
        "interval_half_width",
        "interval_factor",
        "interval_drafted",
        "interval_apart",
        "apart_measured",
        "interval_unseen",
        "interval_low_share",
        "interval_tail",
        *RUN_SETTINGS.values(),
        "interval_high_share",
        "planning_share",
        "repeat_noise",
        "era_first_version",
        "version_in_year",
        "eight_bit_kv_default",
    }
    assert {entry.parameter for entry in calibration.entries} - set(HIERARCHY) == beside


def test_the_most_specific_group_wins_and_a_missing_one_falls_back(calibration: Calibration) -> None:
    own = calibration.index("bandwidth_efficiency", ("hopper", "nvidia", ""))
    assert calibration.entries[own].group == "hopper"
    broader = calibration.index("bandwidth_efficiency", ("volta", "nvidia", ""))
    assert calibration.entries[broader].group == "nvidia"


def test_a_constant_without_any_value_is_an_error(calibration: Calibration) -> None:
    with pytest.raises(InputError, match="no value for any of the groups"):
        calibration.lookup("bandwidth_efficiency", "abacus")


def test_confidence_asks_for_a_margin_above_one_half(catalogs: Catalogs) -> None:
    known = Configuration("vllm", "llama-3.1-8b", "h100-sxm", "bf16", "bf16", 1, 1)
    unknown = known._replace(gpu="gaudi3")
    assert margins(catalogs, [known, unknown], 0.5).tpot.tolist() == [1.0, 1.0]
    found = margins(catalogs, [known, unknown], 0.9).tpot
    assert 1 < found[0] < found[1]
    assert margins(catalogs, [known], 0.95).tpot[0] > found[0]
    assert not_measured(catalogs, known) == []
    assert not_measured(catalogs, unknown) == ["gaudi3", "bf16 on gaudi3", "vllm on gaudi3"]


@pytest.mark.parametrize(
    ("engine", "text", "number"),
    [
        ("vllm", "0.19.0", 0.19),
        ("vllm", "0.9.0.2.dev108", 0.09),
        ("sglang", "v0.5.10.post1-cu130", 0.051),
        ("tensorrt-llm", "1.1.0rc2.post2", 1.01),
        ("vllm", "2024 (vLLM ~0.5/0.6; TRT-LLM ~0.10/0.11)", 0.05),
        ("tensorrt-llm", "2024 (vLLM ~0.5/0.6; TRT-LLM ~0.10/0.11)", 0.10),
        ("vllm", "latest (2025-10, ~0.11)", 0.11),
        ("vllm", "rocm/vllm:rocm6.4.1_vllm_0.9.1_20250715", 0.0901),
        ("vllm", "vllm/vllm-openai:v0.6.3", 0.0603),
        ("vllm", "CUDA 12.4, python3.10", None),
        ("tensorrt-llm", "nvcr.io/nvidia/tritonserver:24.05-trtllm-python-py3", None),
        ("tensorrt-llm", "nvcr.io/nvidia/tensorrt-llm/release:1.1.0rc2", 1.01),
        ("vllm", "nightly-5b8c30d62b754b57", None),
        ("vllm", "", None),
    ],
)
def test_versions_are_read_from_free_text(engine: str, text: str, number: float | None) -> None:
    assert version_number(engine, text) == (None if number is None else pytest.approx(number))


def test_a_container_of_a_month_is_of_that_year(calibration: Calibration) -> None:
    assert era_of(calibration, "tensorrt-llm", "24.07") == era_of(calibration, "tensorrt-llm", "2024")
    assert era_of(calibration, "tensorrt-llm", "24.07") != era_of(calibration, "tensorrt-llm", "")


def test_an_era_is_the_last_that_started(calibration: Calibration) -> None:
    assert era_of(calibration, "vllm", "0.9.1") == era_of(calibration, "vllm", "0.10.2")
    assert era_of(calibration, "vllm", "0.8.5") != era_of(calibration, "vllm", "0.9.0")
    assert era_of(calibration, "vllm", "0.10.2") != era_of(calibration, "vllm", "0.11.0")
    assert era_of(calibration, "vllm", "") == era_of(calibration, "vllm", "0.22.1")
    assert era_of(calibration, "vllm", "2023") == era_of(calibration, "vllm", "0.2.0")


def test_a_smooth_maximum_lies_between_the_maximum_and_the_sum() -> None:
    left, right, norm = np.array([3.0, 0.0]), np.array([4.0, 2.0]), np.array([2.0, 2.0])
    assert smooth_max(left, right, norm) == pytest.approx([5.0, 2.0])


def test_one_token_touches_its_own_experts_and_many_touch_all(catalogs: Catalogs) -> None:
    setup = gather(catalogs, [Configuration("vllm", "qwen3-30b-a3b", "h100-sxm", "bf16", "bf16", 1, 1)])
    ideal = setup.constants.values.copy()
    ideal[setup.constants.index["expert_touch_factor"]] = 1.0
    shares = experts(setup.with_values(ideal)).touched(np.array([[1.0, 1e6]]))[0]
    assert shares == pytest.approx([8 / 128, 1.0])


def test_sequences_that_are_the_same_touch_the_experts_of_one(catalogs: Catalogs) -> None:
    """What a batch of sixteen copies reads is what one sequence reads; nothing of it concerns a dense model."""
    mixture = Configuration("vllm", "qwen3-30b-a3b", "h100-sxm", "bf16", "bf16", 1, 1)
    alike, alone = (experts(gather(catalogs, [mixture._replace(prompt_copies=each)])) for each in (16.0, 1.0))
    assert alike.touched(np.array([16.0])) == pytest.approx(alone.touched(np.array([1.0])))
    assert alike.seconds(np.array([16.0])) < alone.seconds(np.array([16.0]))


def test_expert_parameters_follow_from_totals(catalogs: Catalogs) -> None:
    model = catalogs.model("qwen3-30b-a3b")
    by_shape = 128 * 3 * 2048 * 768 * 48
    assert expert_params(model) == pytest.approx(by_shape, rel=1e-3)


def test_an_all_reduce_goes_to_all_at_once_or_in_parts(catalogs: Catalogs) -> None:
    setup = gather(
        catalogs, [Configuration("vllm", "llama-3.1-8b", "h100-sxm", "bf16", "bf16", tp, 1) for tp in (1, 4)]
    )
    found = all_reduces(setup).seconds(np.array([[1.0, 1000.0], [1.0, 1000.0]]))
    constants = setup.constants
    latency = constants["link_latency_s"][1] * 4 ** constants["link_latency_exponent"][1]
    latency += constants["rank_skew_s"][1] * 1.046
    token = 4096 * 2 / bus_bandwidth(setup)[1]
    at_once, in_parts = 3 * token, constants["link_start_s"][1] + 1000 * 2 * 3 / 4 * token
    assert in_parts < 1000 * 3 * token
    assert found[0] == pytest.approx([0.0, 0.0])
    assert found[1] == pytest.approx([64 * (latency + at_once), 64 * (latency + in_parts)], rel=1e-3)


def test_an_all_reduce_begins_when_the_last_gpu_gets_there(catalogs: Catalogs) -> None:
    """The largest of 2, 4, 8 and 16 normal numbers is 0.564, 1.029, 1.424 and 1.766 deviations above their mean."""
    degrees = (1, 2, 4, 8, 16)
    largest = np.array([0.0, 0.564, 1.029, 1.424, 1.766])
    assert latest_of(np.array(degrees, dtype=np.float64)) == pytest.approx(largest, rel=0.04)
    setup = gather(
        catalogs, [Configuration("vllm", "llama-3.3-70b", "h200-sxm", "fp8", "bf16", tp, 1) for tp in degrees]
    )
    later = setup.constants.values.copy()
    later[setup.constants.index["rank_skew_s"]] += 1e-6
    tokens = np.ones(len(degrees))
    waited = all_reduces(setup.with_values(later)).seconds(tokens) - all_reduces(setup).seconds(tokens)
    assert waited == pytest.approx(160e-6 * largest, rel=0.04)


def test_two_gpus_send_each_other_everything_at_once(catalogs: Catalogs) -> None:
    """A part and what is passed on are as much as the whole: nothing is gained by starting for it."""
    setup = gather(catalogs, [Configuration("vllm", "llama-3.1-8b", "h100-sxm", "bf16", "bf16", 2, 1)])
    ways = all_reduces(setup)
    assert ways.direct == pytest.approx(ways.passed_on)
    assert ways.seconds(np.array([1e6])) == pytest.approx(ways.fixed + 1e6 * ways.direct)


def test_memory_that_checks_itself_moves_a_sixteenth_less(catalogs: Catalogs) -> None:
    """Of cards that keep their check bits among the data (T4, A10, L4, L40, …) a driver lists 15/16, of no other."""
    shares = {gpu.id: gpu.memory_data_share for gpu in catalogs.gpus.values() if gpu.memory_data_share is not None}
    listed = {gpu.id: gpu.usable_memory_mib / (gpu.memory_gb * MIB_PER_GIB) for gpu in catalogs.gpus.values()}
    assert {name for name, share in listed.items() if share == pytest.approx(15 / 16, abs=1e-3)} == set(shares)
    assert set(shares.values()) == {15 / 16}
    l40s, a6000 = (gpu_facts(catalogs.gpus[name])["bandwidth"] for name in ("l40s", "a6000"))
    assert (l40s, a6000) == pytest.approx((864e9 * 15 / 16, 768e9))


def test_a_prompt_attends_to_half_its_square(catalogs: Catalogs) -> None:
    setup = gather(catalogs, [Configuration("vllm", "llama-3.1-8b", "h100-sxm", "bf16", "bf16", 1, 1)])
    seconds = prefill_attention_seconds(setup, np.array([2000.0]), np.array([0.0]))[0]
    flops = 4 * 32 * 128 * 32 * 2000**2 / 2
    assert seconds == pytest.approx(flops / (989e12 * setup.constants["prefill_attention_efficiency"][0]))


def _one_by_one(load: float, squared_variation: float, of_arrivals: float) -> Wait:
    """The wait for prompts of one second that an idle engine computes one after the other."""
    rate, prompt, step, alone, own, gaps = (
        np.array([value]) for value in (load, 1.0, 0.0, 0.5, squared_variation, of_arrivals)
    )
    return prompt_wait(rate, prompt, step, in_a_step=alone, squared_variation=own, of_arrivals=gaps)


def test_prompts_of_exponential_length_one_by_one_wait_as_m_m_1() -> None:
    wait = _one_by_one(0.5, 1.0, 1.0)
    assert wait.mean == pytest.approx([0.5 * 2.0])
    assert wait.statistic("p99") == pytest.approx([2.0 * math.log(0.5 / 0.01)], rel=0.1)
    assert wait.statistic("p50")[0] < 0.25


@pytest.mark.parametrize("load", [0.2, 0.45, 0.6])
def test_prompts_that_wait_together_are_taken_together(load: float) -> None:
    """Steps one after the other, each as long as a decode step and the prompts that came during the last one."""
    rng, step = np.random.default_rng(11), 0.8
    arrived = np.cumsum(rng.exponential(1 / load, 40_000))
    waits, now, first = [], 0.0, 0
    while first < len(arrived):
        last = int(np.searchsorted(arrived, now, side="right"))
        ends = now + step + (last - first)
        # out when all of the step are, less the decode step and the prompt itself
        waits.extend(ends - step - 1 - arrived[first:last])
        now, first = ends, last
    values = [np.array([each]) for each in (load, 1.0, step)]
    many, alike, poisson = np.array([50.0]), np.zeros(1), np.ones(1)
    wait = prompt_wait(*values, in_a_step=many, squared_variation=alike, of_arrivals=poisson)
    # half a step of decoding is counted elsewhere
    assert wait.mean[0] == pytest.approx(np.mean(waits) - step / 2, rel=0.3)


def test_waiting_for_a_place_approximates_erlang_c() -> None:
    places, load = 50, 45.0
    blocked = _erlang_c(places, load)
    one, spare = np.ones(1), np.array([places - load])
    wait = admission_wait(
        np.array([load]),
        places * one,
        spread=np.sqrt(load) * one,
        of_arrivals=one,
        squared_variation=one,
        spare_per_s=spare,
    )
    assert wait.probability[0] == pytest.approx(blocked, rel=0.1)
    assert wait.mean[0] == pytest.approx(blocked / (places - load), rel=0.1)


def test_the_normal_distribution_is_close() -> None:
    deviations = np.linspace(0, 4, 50)
    exact = [0.5 * (1 + math.erf(deviation / math.sqrt(2))) for deviation in deviations]
    assert np.abs(normal_share(deviations) - exact).max() < 2e-4


def _erlang_c(servers: int, load: float) -> float:
    below = sum(load**k / math.factorial(k) for k in range(servers))
    full = load**servers / math.factorial(servers) / (1 - load / servers)
    return full / (below + full)


def _mixture(catalogs: Catalogs, **constants: float) -> Setup:
    setup = gather(catalogs, [Configuration("vllm", "qwen3-30b-a3b", "h100-sxm", "bf16", "bf16", 1, 1)])
    values = setup.constants.values.copy()
    for name, value in constants.items():
        values[setup.constants.index[name]] = value
    return setup.with_values(values)


def test_experts_multiply_whole_tiles(catalogs: Catalogs) -> None:
    tokens = np.array([4096.0])
    bare, tiled = (experts(_mixture(catalogs, expert_tile_tokens=tile)).seconds(tokens)[0] for tile in (0.0, 256.0))
    assert bare < tiled < 2 * bare  # 4096 · 8/128 = 256 tokens an expert


def test_prompts_prefilled_together_share_the_weights(catalogs: Catalogs) -> None:
    steps = step_costs(_mixture(catalogs, mixed_prefill_share=0.0), np.array([128.0]))
    new, none = np.array([128.0]), np.array([0.0])
    step = steps.decode(none)
    alone = steps.shared_prefill(new, np.array([1.0]), none, step)
    together = steps.shared_prefill(new, np.array([8.0]), none, step)
    assert alone == pytest.approx(steps.one_pass(new, np.array([1.0])) + steps.floor)
    assert 8 * together == pytest.approx(steps.one_pass(8 * new, np.array([8.0])) + steps.floor)
    assert together[0] < alone[0]


def test_a_prompt_in_a_decode_step_costs_what_it_adds(catalogs: Catalogs) -> None:
    steps = step_costs(_mixture(catalogs, mixed_prefill_share=1.0), np.array([128.0]))
    new, one, running = np.array([128.0]), np.array([1.0]), np.array([64.0])
    added = steps.one_pass(running + new, running + 1) - steps.one_pass(running, running)
    assert steps.shared_prefill(new, one, running, steps.decode(running)) == pytest.approx(added)
    assert added[0] < steps.one_pass(new, one)[0]


def test_gpus_alone_in_their_node_are_joined_by_their_own_link_when_several_work_together(catalogs: Catalogs) -> None:
    row = Configuration("tensorrt-llm", "llama-3.1-70b", "gh200-96", "fp8", "fp8", 4, 1)
    other = Configuration("tensorrt-llm", "llama-3.1-70b", "h100-sxm", "fp8", "fp8", 4, 1)
    found = gather(catalogs, [row, other]).interconnect.bandwidth
    assert found[0] == found[1]


@pytest.mark.parametrize("cv2", [0.25, 4.0, 9.0])
@pytest.mark.parametrize("load", [0.5, 0.8])
def test_bursts_wait_as_in_a_simulated_line(load: float, cv2: float) -> None:
    """Lindley's recursion with gamma gaps and equal services; of a steady feed the formula is a bound."""
    gaps = np.random.default_rng(7).gamma(1 / cv2, cv2 / load, 200_000)
    # wait of the next = max(0, wait + 1 - gap), as the highest of a random walk over its lowest so far
    walk = np.concatenate([[0.0], np.cumsum(1 - gaps[1:])])
    waits = walk - np.minimum.accumulate(walk)
    wait = _one_by_one(load, 0.0, cv2)
    if cv2 < 1:
        assert waits.mean() < wait.mean[0] < _one_by_one(load, 0.0, 1.0).mean[0]
        return
    assert wait.mean[0] == pytest.approx(waits.mean(), rel=0.1)
    assert wait.probability[0] == pytest.approx(np.mean(waits > 0), abs=0.15)
    assert wait.statistic("p95")[0] == pytest.approx(np.quantile(waits, 0.95), rel=0.1)


def test_a_share_of_a_bursty_stream_is_nearer_to_chance() -> None:
    arrivals = ArrivalVariation(9.0, 10.0)
    assert arrivals.of_replica(np.array([0.0, 5.0, 10.0, 20.0])).tolist() == [1.0, 5.0, 9.0, 9.0]


@pytest.mark.parametrize("sent", [(0.7, 0.3), (1.0, 0.0), (0.4, 0.6)])
def test_dealing_in_turn_leaves_of_a_burst_what_the_formula_says(sent: tuple[float, float]) -> None:
    """Counts at a replica that is sent a quarter of what it could be, of two classes of a bursty stream."""
    cv2, of_classes, share = 4.0, np.array([0.7, 0.3]), np.array(sent)
    rng = np.random.default_rng(0)
    arrived = np.cumsum(rng.gamma(1 / cv2, cv2, 400_000))
    # requests a second of each class that reach the replica, each of a class to its replicas in turn
    rate = 0.15
    number = (rng.random(len(arrived)) > of_classes[0]).astype(int)
    every = [of_classes[k] / (rate * share[k]) if share[k] else np.inf for k in range(2)]
    mine = np.zeros(len(arrived), dtype=bool)
    for k in range(2):
        (those,) = np.nonzero(number == k)
        turns = np.floor(np.arange(1, len(those) + 1) / every[k])
        mine[those] = np.diff(turns, prepend=0) > 0
    counts = np.bincount((arrived[mine] / 400).astype(int))[:-1]
    expected = ArrivalVariation(cv2, 1.0, float(np.sum(share**2 / of_classes))).of_replica(np.array([rate]))
    assert counts.var() / counts.mean() == pytest.approx(expected[0], rel=0.15)
    chance = ArrivalVariation(cv2, 1.0).of_replica(np.array([rate]))
    assert expected[0] < chance[0]
    rng = np.random.default_rng(3)
    times = np.cumsum(rng.gamma(1 / 9, 9 / 10, 400_000))
    gaps = np.diff(times[rng.random(len(times)) < 0.5])
    assert np.var(gaps) / np.mean(gaps) ** 2 == pytest.approx(5.0, rel=0.05)

"""What must be true of any machine, checked over every GPU, precision and engine of the catalogs."""

from dataclasses import replace
from itertools import pairwise, product

import numpy as np
import pytest

from optimizer.base.errors import InputError
from optimizer.inputs.catalog.records import Catalogs
from optimizer.performance.candidates.predict import (
    STATISTICS,
    LatencyLimits,
    Mix,
    OperatingPoint,
    bounded,
    operate,
    sustainable_rate,
)
from optimizer.performance.physics.roofline import attainable
from optimizer.performance.physics.setup import Configuration, Setup, gather
from optimizer.performance.uncertainty.evidence import Margins

CHAT = Mix(np.array([1024.0]), np.array([256.0]), np.array([1.0]), 0.0)
LONG = Mix(np.array([8192.0]), np.array([256.0]), np.array([1.0]), 0.0)
MODELS = ("llama-3.1-8b", "llama-3.1-70b", "qwen3-30b-a3b", "deepseek-v3", "gpt-oss-120b", "gemma-3-27b", "qwen3.5-27b")
LIMITS = LatencyLimits({"p95": 0.5}, {"mean": 0.03}, {}, Margins.same())


def crossed(catalogs: Catalogs, models: tuple[str, ...], degrees: tuple[int, ...] = (1, 2, 8)) -> Setup:
    """Every GPU, precision and plannable engine with some models and degrees, over its own link."""
    engines = [engine.id for engine in catalogs.engines.values() if engine.plannable]
    rows = [
        Configuration(engine, model, gpu, precision, "bf16", tp, 1)
        for engine, model, gpu, precision, tp in product(engines, models, catalogs.gpus, catalogs.schemes, degrees)
    ]
    setup = gather(catalogs, rows)
    linked = (setup.layout.tensor_parallel == 1) | ~np.isnan(setup.interconnect.bandwidth)
    return setup.take(np.flatnonzero(linked & (setup.hardware.kernel_support > 0)))


@pytest.fixture(scope="module")
def machines(catalogs: Catalogs) -> Setup:
    """Every GPU, precision and plannable engine with models of every kind."""
    return crossed(catalogs, MODELS)


def some(catalogs: Catalogs, **changes: object) -> Setup:
    base = Configuration("vllm", "llama-3.1-8b", "h100-sxm", "bf16", "bf16", 1, 1)
    return gather(catalogs, [base._replace(**changes)])  # type: ignore[arg-type]


def latencies(point: OperatingPoint) -> list[np.ndarray]:
    """Every latency of a point, (n,) each."""
    per_class = [values[name] for values in (point.ttft_s, point.e2e_s) for name in STATISTICS]
    return [point.tpot_s[name] for name in STATISTICS] + [values[:, 0] for values in per_class]


def test_every_time_is_positive_and_finite(machines: Setup) -> None:
    for rate in (0.0, 0.5, 50.0):
        point = operate(machines, CHAT, np.full(machines.rows, rate))
        for values in [*latencies(point), point.step_s, point.prefill_s[:, 0]]:
            assert np.all(np.isfinite(values))
            assert np.all(values > 0)


def test_latency_grows_with_the_rate(machines: Setup) -> None:
    rates = (0.0, 0.1, 1.0, 10.0, 100.0)
    points = [operate(machines, CHAT, np.full(machines.rows, rate)) for rate in rates]
    for low, high in pairwise(points):
        for before, after in zip(latencies(low), latencies(high), strict=True):
            assert np.all(after >= before * (1 - 1e-6))


@pytest.mark.parametrize(("input_factor", "output_factor"), [(2.0, 1.0), (1.0, 2.0)])
def test_time_grows_with_tokens(machines: Setup, input_factor: float, output_factor: float) -> None:
    more = replace(
        CHAT, input_tokens=CHAT.input_tokens * input_factor, output_tokens=CHAT.output_tokens * output_factor
    )
    short, long = (operate(machines, mix, np.full(machines.rows, 0.01)) for mix in (CHAT, more))
    fits = short.stable & long.stable
    assert np.all((long.ttft_s["p95"] >= short.ttft_s["p95"] * (1 - 1e-9))[fits])
    assert np.all((long.e2e_s["p95"] > short.e2e_s["p95"])[fits])


def test_a_cached_prompt_never_takes_longer(machines: Setup) -> None:
    fresh, cached = (
        operate(machines, replace(LONG, cached_input_share=share), np.zeros(machines.rows)) for share in (0, 0.5)
    )
    assert np.all(cached.ttft_s["mean"] <= fresh.ttft_s["mean"])


def test_first_token_comes_sooner_with_tensor_parallelism_over_nvlink(catalogs: Catalogs) -> None:
    nvlink = [gpu.id for gpu in catalogs.gpus.values() if gpu.link == "nvlink" and gpu.link_domain_gpus >= 4]
    for model, gpu in product(("llama-3.1-8b", "llama-3.1-70b"), nvlink):
        precision = "fp16" if catalogs.gpus[gpu].bf16_tflops is None else "bf16"
        rows = [Configuration("vllm", model, gpu, precision, "bf16", tp, 1) for tp in (1, 2, 4)]
        first = operate(gather(catalogs, rows), LONG, np.zeros(3)).ttft_s["p50"][:, 0]
        assert np.all(np.diff(first) < 0), (model, gpu, first)


def test_native_fp8_is_never_slower_than_bf16(catalogs: Catalogs) -> None:
    for degree, engine, model in product((1, 2, 8), ("vllm", "sglang", "tensorrt-llm"), MODELS):
        pairs = [
            [Configuration(engine, model, gpu, precision, "bf16", degree, 1) for precision in ("bf16", "fp8")]
            for gpu in catalogs.gpus
            if (row := catalogs.kernel_support.get(("fp8", catalogs.gpus[gpu].architecture)))
            and row.support == "native"
        ]
        setup = gather(catalogs, [row for pair in pairs for row in pair])
        linked = (degree == 1) | ~np.isnan(setup.interconnect.bandwidth[::2])
        for mix, rate in ((CHAT, 0.0), (CHAT, 3.0), (LONG, 0.1)):
            point = operate(setup, mix, np.full(setup.rows, rate))
            plain, quick = point.tpot_s["mean"][::2], point.tpot_s["mean"][1::2]
            fits = point.stable[::2] & point.stable[1::2] & linked
            assert np.all(quick[fits] <= plain[fits])
            assert np.all(point.ttft_s["p95"][1::2][fits] <= point.ttft_s["p95"][::2][fits])


def test_more_memory_never_hurts(machines: Setup) -> None:
    bigger = replace(machines, hardware=replace(machines.hardware, usable_bytes=machines.hardware.usable_bytes * 1.5))
    limits = LatencyLimits({"p95": 2.0}, {"mean": 0.05}, {}, Margins.same())
    small, large = (sustainable_rate(each, CHAT, limits).rate_per_s for each in (machines, bigger))
    # where all that come have a place at once, they take a little longer for their tokens
    assert np.all(large >= small * (1 - 0.02))
    assert np.mean(large >= small * (1 - 1e-3)) > 0.8


def test_a_looser_limit_never_lowers_the_rate(machines: Setup) -> None:
    tight = LatencyLimits({"p95": 0.5, "p50": 0.3}, {"p95": 0.04}, {"p99": 12.0}, Margins.same())
    rate = sustainable_rate(machines, CHAT, tight).rate_per_s
    for loose in (
        replace(tight, ttft_s={"p95": 1.0, "p50": 0.6}),
        replace(tight, tpot_s={"p95": 0.08}),
        replace(tight, e2e_s={}),
    ):
        assert np.all(sustainable_rate(machines, CHAT, loose).rate_per_s >= rate * (1 - 1e-6))


def test_the_sustainable_rate_keeps_the_limits_and_a_little_more_breaks_them(catalogs: Catalogs) -> None:
    setup = crossed(catalogs, ("llama-3.1-8b",))
    found = sustainable_rate(setup, CHAT, LIMITS)
    rows = np.flatnonzero(found.rate_per_s > 0)
    point = operate(setup.take(rows), CHAT, found.rate_per_s[rows])
    assert np.all(point.ttft_s["p95"] <= 0.5 * (1 + 1e-6))
    assert np.all(point.tpot_s["mean"] <= 0.03 * (1 + 1e-6))
    above = operate(setup.take(rows), CHAT, found.rate_per_s[rows] * 1.02)
    broken = (above.ttft_s["p95"][:, 0] > 0.5) | (above.tpot_s["mean"] > 0.03) | ~above.stable
    assert np.all(broken)


def test_a_margin_lowers_the_rate(catalogs: Catalogs) -> None:
    setup = crossed(catalogs, ("llama-3.1-8b",))
    careful = replace(LIMITS, margins=Margins.same(ttft=1.5, tpot=1.3, throughput=1.3))
    with_margin, without = (sustainable_rate(setup, CHAT, limits).rate_per_s for limits in (careful, LIMITS))
    assert np.all(with_margin <= without)
    assert np.any(with_margin < without)


def test_lines_are_those_of_slower_steps_and_what_stands_in_none_has_its_own_margin(catalogs: Catalogs) -> None:
    every, margins = crossed(catalogs, ("llama-3.1-8b",)), Margins.same(ttft=2.0, tpot=1.25)
    most = sustainable_rate(every, CHAT, LIMITS).rate_per_s
    setup, rate, nothing = every.take(np.flatnonzero(most > 0)), most[most > 0] / 2, np.zeros(np.sum(most > 0))
    start = operate(setup, CHAT, nothing).start_s
    point, slower = bounded(setup, CHAT, rate, margins), operate(setup, CHAT, rate * 1.25)
    line_s = slower.ttft_s["p95"] - slower.start_s
    assert np.allclose(point.ttft_s["p95"], 2.0 * slower.start_s + 1.25 * line_s, rtol=1e-6)
    assert np.allclose(point.tpot_s["mean"], 1.25 * slower.tpot_s["mean"], rtol=1e-6)
    assert np.allclose(bounded(setup, CHAT, nothing, margins).ttft_s["p95"], 2.0 * start, rtol=1e-3)
    assert np.allclose(bounded(setup, CHAT, rate, Margins.same()).e2e_s["p99"], operate(setup, CHAT, rate).e2e_s["p99"])


def test_the_sustainable_rate_keeps_the_limits_at_their_bounds(catalogs: Catalogs) -> None:
    setup, margins = crossed(catalogs, ("llama-3.1-8b",)), Margins.same(ttft=2.0, tpot=1.25, throughput=1.4)
    limits = LatencyLimits({"p95": 0.5}, {"mean": 0.03}, {"p99": 6.0}, margins)
    found = sustainable_rate(setup, CHAT, limits)
    rows = np.flatnonzero(found.rate_per_s > 0)
    for times, all_kept in ((1 - 1e-6, True), (1.02, False)):
        rate = found.rate_per_s[rows] * times
        point = bounded(setup.take(rows), CHAT, rate, margins)
        kept = (point.ttft_s["p95"][:, 0] <= 0.5) & (point.tpot_s["mean"] <= 0.03) & (point.e2e_s["p99"][:, 0] <= 6.0)
        kept &= operate(setup.take(rows), CHAT, rate * 1.4).stable
        assert np.all(kept == all_kept)


def test_every_class_of_a_mix_keeps_its_limits(catalogs: Catalogs) -> None:
    mix = Mix(np.array([512.0, 8192.0]), np.array([128.0, 512.0]), np.array([0.9, 0.1]), 0.0)
    limits = LatencyLimits({"p95": 1.0}, {"mean": 0.05}, {}, Margins.same())
    setup = some(catalogs)
    found = sustainable_rate(setup, mix, limits)
    point = operate(setup, mix, found.rate_per_s)
    assert np.all(point.ttft_s["p95"] <= 1.0 * (1 + 1e-6))
    assert found.rate_per_s[0] < sustainable_rate(setup, replace(mix, share=np.array([1.0, 0.0])), limits).rate_per_s[0]


def test_pcie_is_slower_than_nvlink(catalogs: Catalogs) -> None:
    nvlink, pcie = (
        operate(some(catalogs, model="llama-3.1-70b", tensor_parallel=4, link=link), LONG, np.zeros(1))
        for link in ("nvlink", "pcie")
    )
    assert pcie.ttft_s["mean"][0, 0] > nvlink.ttft_s["mean"][0, 0]
    assert pcie.tpot_s["mean"][0] > nvlink.tpot_s["mean"][0]


@pytest.mark.parametrize("field", ["engine", "model", "gpu", "precision", "kv_precision"])
def test_an_unknown_name_is_an_error_and_never_a_default(catalogs: Catalogs, field: str) -> None:
    with pytest.raises(InputError, match="nonsense"):
        some(catalogs, **{field: "nonsense"})


def test_rows_do_not_influence_each_other(machines: Setup) -> None:
    rows = np.arange(0, machines.rows, 97)
    limits = LatencyLimits({"p95": 0.5}, {"mean": 0.05}, {}, Margins.same())
    alone, together = sustainable_rate(machines.take(rows), CHAT, limits), sustainable_rate(machines, CHAT, limits)
    assert np.array_equal(alone.rate_per_s, together.rate_per_s[rows])


def test_the_uncalibrated_roofline_is_bytes_over_bandwidth(catalogs: Catalogs) -> None:
    """140 GB of 16-bit weights at 3.35 TB/s allow about 24 tokens/s to a single stream, less what no kernel attains."""
    setup = some(catalogs, model="llama-3.1-70b")
    index = setup.constants.index
    ideal = setup.constants.values.copy()
    for name in ("bandwidth_efficiency", "engine_bandwidth_factor", "kv_bandwidth_efficiency"):
        ideal[index[name]] = 1.0
    for name in ("step_overhead_s", "layer_overhead_s", "sequence_overhead_s"):
        ideal[index[name]] = 0.0
    for name in ("compute_efficiency", "roofline_norm", "decode_attention_compute_efficiency"):
        ideal[index[name]] = 100.0
    point = operate(setup.with_values(ideal), replace(CHAT, input_tokens=np.array([1.0])), np.zeros(1))
    assert 1 / point.step_s[0] == pytest.approx(24 * attainable(np.ones(1))[0], rel=0.03)


def test_pipeline_stages_do_not_speed_up_a_single_sequence(catalogs: Catalogs) -> None:
    """One sequence passes through all stages one after the other, with hand-overs in between."""
    for model in ("llama-3.1-8b", "qwen3-30b-a3b", "deepseek-v3"):
        alone, staged = (
            operate(some(catalogs, model=model, pipeline_parallel=stages, link="nvlink"), CHAT, np.zeros(1))
            for stages in (1, 8)
        )
        assert staged.tpot_s["mean"][0] >= alone.tpot_s["mean"][0]

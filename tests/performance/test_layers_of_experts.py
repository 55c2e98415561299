"""Layers of experts: how many there are, what each takes by itself and by its format, and what the others do not."""

import math

import pytest

from optimizer.inputs.catalog.records import Catalogs
from optimizer.performance.physics.facts import expert_layers
from optimizer.performance.physics.roofline import experts
from optimizer.performance.physics.setup import Configuration, Setup, gather
from optimizer.performance.physics.step import launch_floor_seconds, step_overhead_seconds

MIXTURE = Configuration("vllm", "qwen3-30b-a3b", "h100-sxm", "bf16", "bf16", 1, 1)
MICROSECOND = 1e-6


def gathered(catalogs: Catalogs, **changes: object) -> Setup:
    return gather(catalogs, [MIXTURE._replace(**changes)])  # type: ignore[arg-type]


def under(setup: Setup, **constants: float) -> Setup:
    """The same configurations with some constants at other values."""
    values = setup.constants.values.copy()
    for name, value in constants.items():
        values[setup.constants.index[name]] = value
    return setup.with_values(values)


@pytest.mark.parametrize(
    ("model", "layers"),
    [
        ("llama-3.1-8b", 0),
        ("qwen3-30b-a3b", 48),
        ("llama-4-scout", 48),
        ("llama-4-maverick", 24),
        ("deepseek-v3", 58),
        ("glm-4.5-air", 45),
        ("nemotron-3-nano-30b-a3b", 23),
    ],
)
def test_layers_with_experts_are_counted(catalogs: Catalogs, model: str, layers: int) -> None:
    """Of Llama-4 Maverick every other layer, of DeepSeek-V3 all but three, of Nemotron 3 those that are no mixers."""
    assert expert_layers(catalogs.model(model)) == layers


@pytest.mark.parametrize("model", ["llama-3.1-8b", "llama-4-maverick", "deepseek-v3", "gpt-oss-120b"])
@pytest.mark.parametrize("name", ["expert_layer_overhead_s", "expert_layer_floor_s"])
def test_a_dense_layer_is_not_charged_for_experts(catalogs: Catalogs, model: str, name: str) -> None:
    setup = gathered(catalogs, model=model)
    short, long = (step_overhead_seconds(under(setup, **{name: time}))[0] for time in (0.0, MICROSECOND))
    assert long - short == pytest.approx(expert_layers(catalogs.model(model)) * MICROSECOND)


def test_the_launch_of_a_prefill_counts_layers_with_experts_as_well(catalogs: Catalogs) -> None:
    setup = gathered(catalogs, model="llama-4-maverick")
    short, long = (launch_floor_seconds(under(setup, expert_launch_floor_s=time))[0] for time in (0.0, MICROSECOND))
    assert long - short == pytest.approx(24 * MICROSECOND)


@pytest.mark.parametrize(
    ("model", "lone"), [("llama-3.1-8b", 0), ("deepseek-v3", 0), ("llama-4-maverick", 0), ("gpt-oss-120b", 36)]
)
def test_experts_alone_launch_no_kernels_of_another_mlp(catalogs: Catalogs, model: str, lone: int) -> None:
    """DeepSeek-V3 and Llama 4 have a shared expert beside the routed ones, gpt-oss has none."""
    alike = {"layer_overhead_s": MICROSECOND, "launch_floor_s": MICROSECOND}
    setup = gathered(catalogs, model=model)
    all_of_them, fewer = (under(setup, mlp_launch_share=share, **alike) for share in (0.0, 0.25))
    for taken in (step_overhead_seconds, launch_floor_seconds):
        saved = taken(all_of_them)[0] - taken(fewer)[0]
        assert saved == pytest.approx(0.25 * lone * MICROSECOND, abs=1e-12)


def test_a_format_that_multiplies_half_as_well_takes_twice_as_long_to_multiply(catalogs: Catalogs) -> None:
    setup = under(gathered(catalogs, precision="int4"), expert_kernel_factor=0.5)
    whole, half = (experts(under(setup, expert_format_compute_factor=factor)).roof for factor in (1.0, 0.5))
    assert half.multiply == pytest.approx(2 * whole.multiply)
    assert half.move == pytest.approx(whole.move)


def test_no_format_multiplies_experts_better_than_dense_layers(catalogs: Catalogs) -> None:
    setup = gathered(catalogs)
    good, better = (experts(under(setup, expert_format_compute_factor=factor)).roof for factor in (100.0, 1000.0))
    assert good.multiply == pytest.approx(better.multiply)


def test_formats_differ_by_architecture_and_fall_back_to_what_is_known(catalogs: Catalogs) -> None:
    def found(name: str, precision: str, gpu: str) -> float:
        return float(gathered(catalogs, precision=precision, gpu=gpu).constants[name][0])

    # 16 bits are what the others are told against
    assert found("expert_format_compute_factor", "bf16", "h100-sxm") == 1.0
    factors = {gpu: found("expert_format_compute_factor", "fp8", gpu) for gpu in ("h100-sxm", "l40s", "mi300x")}
    assert len(set(factors.values())) == len(factors)
    # an architecture's own least time counts for formats without one, so that FP8 never waits longer than 16 bits
    floors = {precision: found("expert_layer_floor_s", precision, "h100-sxm") for precision in ("bf16", "fp8", "fp16")}
    assert len(set(floors.values())) == 1
    assert found("expert_layer_floor_s", "int4", "h100-sxm") != floors["bf16"]
    assert found("expert_layer_floor_s", "bf16", "mi300x") == found("expert_layer_floor_s", "bf16", "l40s")


def test_what_is_judged_is_never_called_measured(catalogs: Catalogs) -> None:
    """A prior from the table of kernels names it, any other says judgement and has a wide spread of its own."""
    spread = {row.group: row.value for row in catalogs.calibration if row.parameter == "spread"}
    for name in ("expert_format_compute_factor", "expert_layer_floor_s"):
        rows = [row for row in catalogs.calibration if row.parameter == name and row.prior is not None]
        assert rows
        for row in rows:
            judged = row.note.startswith("prior: judgement")
            assert judged or "kernel-measurements-2026-11" in row.note, (name, row.group)
            assert (f"{name}@{row.group}" in spread) == judged, (name, row.group)
            assert spread.get(f"{name}@{row.group}", spread[name]) >= (0.5 if judged else 0.3)


@pytest.mark.parametrize(
    ("engine", "version", "window"),
    [
        ("tensorrt-llm", "0.17.0", math.inf),
        ("tensorrt-llm", "1.0.0", 4096),
        ("tensorrt-llm", "", 4096),
        ("vllm", "", 4096),
    ],
)
def test_tensorrt_llm_before_1_0_keeps_what_lies_before_a_window(
    catalogs: Catalogs, engine: str, version: str, window: float
) -> None:
    setup = gathered(catalogs, model="mistral-7b-v0.1", engine=engine, engine_version=version)
    assert setup.network.window.tolist() == [window]

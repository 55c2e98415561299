"""What passes through memory between the products of a layer, and the norms of queries and keys."""

from dataclasses import replace

import numpy as np
import pytest

from optimizer.inputs.catalog.records import Catalogs
from optimizer.performance.physics.constants import calibration_of
from optimizer.performance.physics.elementwise import elementwise_seconds_per_token, unpacking_seconds
from optimizer.performance.physics.facts import passing_numbers
from optimizer.performance.physics.roofline import attainable, matrices
from optimizer.performance.physics.setup import Configuration, Setup, gather
from optimizer.performance.physics.step import (
    between_products_seconds,
    layers_overhead_seconds,
    prefill_seconds,
    step_costs,
    step_overhead_seconds,
)

PROMPT = np.array([4096.0])


def _on(catalogs: Catalogs, model: str, precision: str = "bf16", tp: int = 1, engine: str = "vllm") -> Setup:
    return gather(catalogs, [Configuration(engine, model, "h100-sxm", precision, "bf16", tp, 1)])


def _under(setup: Setup, parameter: str, value: float) -> Setup:
    values = setup.constants.values.copy()
    values[np.unique(setup.constants.index[parameter])] = value
    return setup.with_values(values)


def test_numbers_of_a_dense_layer_are_counted_by_hand(catalogs: Catalogs) -> None:
    # 32 layers, hidden 4096, 32 heads and 8 KV heads of 128, width 14336
    found = passing_numbers(catalogs.model("llama-3.1-8b"))
    assert found["whole_numbers"] == 32 * 8 * 4096
    assert found["divided_numbers"] == 32 * (2 * (4096 + 3 * 1024) + 3 * 14336)


def test_experts_are_summed_and_have_their_own_width(catalogs: Catalogs) -> None:
    # 36 layers of experts alone, 4 of which a token meets, hidden and width 2880, 64 heads and 8 KV heads of 64
    found = passing_numbers(catalogs.model("gpt-oss-120b"))
    assert found["whole_numbers"] == 36 * (8 + 5) * 2880
    assert found["divided_numbers"] == 36 * (2 * (4096 + 3 * 512) + 3 * 4 * 2880)


def test_their_time_is_bytes_over_bandwidth(catalogs: Catalogs) -> None:
    setup = _under(_on(catalogs, "llama-3.1-8b"), "elementwise_traffic", 1.0)
    network = setup.network
    bandwidth = setup.hardware.bandwidth * attainable(setup.constants["bandwidth_efficiency"])
    moved = 2 * (network.whole_numbers + network.divided_numbers)
    assert elementwise_seconds_per_token(setup) == pytest.approx(moved / bandwidth)


def test_tensor_parallelism_divides_only_a_part(catalogs: Catalogs) -> None:
    one, eight = (elementwise_seconds_per_token(_on(catalogs, "llama-3.1-70b", tp=tp))[0] for tp in (1, 8))
    assert one / 8 < eight < one


def test_their_time_is_the_same_in_every_format_and_part_of_a_prompt(catalogs: Catalogs) -> None:
    one = np.ones(1)
    for precision in ("bf16", "fp8"):
        setup = _on(catalogs, "llama-3.1-8b", precision)
        none = _under(_under(setup, "elementwise_traffic", 0.0), "layer_overhead_s", 0.0)
        added = [prefill_seconds(each, PROMPT, 0 * PROMPT, one) for each in (setup, none)]
        assert added[0] - added[1] == pytest.approx(PROMPT * elementwise_seconds_per_token(setup))


def test_few_tokens_take_what_their_kernels_take_at_least(catalogs: Catalogs) -> None:
    setup, few = _on(catalogs, "llama-3.1-8b"), np.array([16.0])
    floor = layers_overhead_seconds(setup)
    assert elementwise_seconds_per_token(setup) * few < floor < elementwise_seconds_per_token(setup) * PROMPT
    assert between_products_seconds(setup, few) == pytest.approx(floor)
    assert between_products_seconds(setup, PROMPT) == pytest.approx(elementwise_seconds_per_token(setup) * PROMPT)


def test_a_step_holds_the_least_time_of_its_kernels_once(catalogs: Catalogs) -> None:
    setup = _on(catalogs, "llama-3.1-8b")
    costs = step_costs(setup, PROMPT)
    for tokens in (np.array([16.0]), PROMPT):
        beyond = costs.layers(tokens, tokens) - matrices(setup).seconds(tokens, tokens)
        assert beyond + costs.floor == pytest.approx(between_products_seconds(setup, tokens))
    assert costs.overhead == pytest.approx(setup.constants["step_overhead_s"] + costs.floor)


@pytest.mark.parametrize(("engine", "precision", "again"), [("llama.cpp", "int4", 1), ("vllm", "int4", 0)])
def test_llama_cpp_unpacks_narrow_weights_for_every_chunk(
    catalogs: Catalogs, engine: str, precision: str, again: int
) -> None:
    setup = _on(catalogs, "llama-3.1-8b", precision, engine=engine)
    bandwidth = setup.hardware.bandwidth * attainable(setup.constants["bandwidth_efficiency"])
    assert unpacking_seconds(setup) == pytest.approx(again * 4 * setup.network.body_params / bandwidth)
    assert not unpacking_seconds(_on(catalogs, "llama-3.1-8b", engine=engine))[0]


def test_norms_of_queries_and_keys_are_charged_where_a_model_has_them(catalogs: Catalogs) -> None:
    microsecond = 1e-6
    normed = replace(
        catalogs, models={**catalogs.models, "plain": catalogs.model("qwen3-8b").model_copy(update={"qk_norm": False})}
    )
    longer, plain = (
        step_overhead_seconds(_under(_on(normed, name), "qk_norm_s", microsecond))[0] for name in ("qwen3-8b", "plain")
    )
    assert longer - plain == pytest.approx(catalogs.model("qwen3-8b").layers * microsecond)


def test_corrected_scores_are_charged_to_the_layers_that_choose_by_them(catalogs: Catalogs) -> None:
    microsecond, own = 1e-6, catalogs.model("deepseek-r1")
    both = replace(catalogs, models={**catalogs.models, "plain": own.model_copy(update={"moe_selection_bias": False})})
    longer, plain = (
        step_overhead_seconds(_under(_on(both, name), "routing_s", microsecond))[0] for name in ("deepseek-r1", "plain")
    )
    assert longer - plain == pytest.approx((own.layers - 3) * microsecond)
    chosen = {name for name, model in catalogs.models.items() if model.moe_selection_bias}
    assert {"deepseek-v3.2", "glm-4.6", "kimi-k2.5", "minimax-m2.5", "nemotron-3-nano-30b-a3b"} < chosen
    assert not chosen & {"gpt-oss-120b", "mixtral-8x7b", "qwen3-30b-a3b", "llama-4-scout", "deepseek-v2-lite"}


@pytest.mark.parametrize("model", ["llama-3.1-8b", "gpt-oss-120b", "deepseek-r1", "glm-4.5-air"])
def test_a_model_without_such_norms_waits_for_none(catalogs: Catalogs, model: str) -> None:
    assert not catalogs.model(model).qk_norm


def test_kernels_that_are_fused_move_about_what_was_counted(catalogs: Catalogs) -> None:
    """The count is of vLLM's kernels: a fit that is far from it would compensate something else."""
    assert 0.7 < calibration_of(catalogs).lookup("elementwise_traffic") < 1.4

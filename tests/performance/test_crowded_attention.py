"""Attention of an engine that took another kernel once the heads of all sequences were many."""

import numpy as np
import pytest

from optimizer.inputs.catalog.records import Catalogs
from optimizer.performance.physics.setup import Configuration, Setup, gather
from optimizer.performance.physics.step import step_costs

CONTEXT = np.array([2000.0])
LLAMA_3 = Configuration("vllm", "llama-3-8b", "mi300x", "bf16", "bf16", 1, 1, engine_version="0.4.2")


def attention_ms(setup: Setup, sequences: float) -> float:
    """Attention of each sequence in a step of so many, milliseconds."""
    return float(step_costs(setup, CONTEXT).decode(np.array([sequences])).attention[0] / sequences * 1e3)


def of(catalogs: Catalogs, **changes: object) -> Setup:
    return gather(catalogs, [LLAMA_3._replace(**changes)])  # type: ignore[arg-type]


@pytest.mark.parametrize(("tp", "most"), [(1, 16), (2, 32), (4, 64)])
def test_more_than_512_heads_on_a_gpu_take_the_slower_kernel(catalogs: Catalogs, tp: int, most: int) -> None:
    """32 heads: so 16 sequences on one GPU, and as many more as there are GPUs."""
    setup = of(catalogs, tensor_parallel=tp)
    share = setup.constants["crowded_attention_share"][0]
    assert attention_ms(setup, most) == pytest.approx(attention_ms(setup, 1))
    assert attention_ms(setup, most + 1) == pytest.approx(attention_ms(setup, 1) / share)


def test_a_shorter_context_leaves_room_for_more_blocks(catalogs: Catalogs) -> None:
    """Llama 2 has half of Llama 3's context: twice as many blocks keep their scores beside each other."""
    slower = [
        attention_ms(setup, 64) / attention_ms(setup, 1) for setup in (of(catalogs), of(catalogs, model="llama-2-7b"))
    ]
    assert slower[0] == pytest.approx(2 * slower[1])


@pytest.mark.parametrize(
    "changes", [{"engine_version": ""}, {"gpu": "h100-sxm"}, {"gpu": "h100-sxm", "engine_version": ""}]
)
def test_other_releases_and_cards_have_one_kernel(catalogs: Catalogs, changes: dict[str, str]) -> None:
    setup = of(catalogs, **changes)
    assert attention_ms(setup, 500) == pytest.approx(attention_ms(setup, 1))

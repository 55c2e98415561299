"""Configurations of models from 2019 to 2026, each in the words of its family: weights in memory, and what is kept."""

import json
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from optimizer.base.errors import InputError
from optimizer.inputs.catalog.models import Model
from optimizer.inputs.importing.hf_config.row import Naming, model_of_config
from optimizer.performance.physics.facts import network_facts

CONFIGS: dict[str, dict[str, Any]] = json.loads(
    (Path(__file__).parents[1] / "data" / "configs_of_families.json").read_text(encoding="utf-8")
)
"""Name → the fields that say what its layers are; `counted` is how many parameters transformers 5.24.0 instantiates
from them, encoder and all, None where it has no such class; `published_b` what its card says, in billions."""
IN_MEMORY = ("body_params", "expert_params", "head_params", "embedding_params", "unread_params")
LLAMA: dict[str, Any] = {
    **{"model_type": "llama", "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32},
    **{"num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 128, "vocab_size": 128256},
    **{"max_position_embeddings": 131072, "torch_dtype": "bfloat16"},
}
GEMMA_4: dict[str, Any] = LLAMA | {
    **{"model_type": "gemma4_text", "sliding_window": 512, "num_hidden_layers": 6, "head_dim": 256},
    "layer_types": ["sliding_attention"] * 5 + ["full_attention"],
}


def read(folder: Path, content: dict[str, Any]) -> Model:
    (folder / "config.json").write_text(json.dumps(content), encoding="utf-8")
    return model_of_config(folder, Naming("m", "me/m", "none", "s", date(2026, 11, 27)), {"bf16": 16, "fp16": 16}).model


def in_memory_b(model: Model) -> float:
    facts = network_facts(model)
    return sum(facts[name] for name in IN_MEMORY) / 1e9


@pytest.mark.parametrize("name", [name for name, each in CONFIGS.items() if each["counted"]])
def test_weights_are_those_of_the_modelling_code(name: str, tmp_path: Path) -> None:
    counted_b = CONFIGS[name]["counted"] / 1e9
    assert in_memory_b(read(tmp_path, CONFIGS[name]["config"])) == pytest.approx(counted_b, rel=1e-3)


@pytest.mark.parametrize("name", [name for name, each in CONFIGS.items() if each["published_b"]])
def test_weights_are_those_that_were_published(name: str, tmp_path: Path) -> None:
    published_b = CONFIGS[name]["published_b"]
    assert in_memory_b(read(tmp_path, CONFIGS[name]["config"])) == pytest.approx(published_b, rel=0.01)


KEPT = {
    # four of forty layers attend; 48 heads of 64 with 128 states in 32 bits, and three inputs of 3,328 channels
    "granite-4.0-h-tiny": (4 * 2 * 2 * 4 * 128, 36 * (4 * 48 * 64 * 128 + 2 * 3328 * 3)),
    # attention and state side by side in each of 44 layers
    "Falcon-H1-7B": (44 * 2 * 2 * 2 * 128, 44 * (4 * 24 * 128 * 256 + 2 * (3072 + 2 * 2 * 256) * 3)),
    # one layer in eight attends; 8,192 channels of 16 states
    "Jamba-1.5-Mini": (4 * 2 * 2 * 8 * 128, 28 * (4 * 8192 * 16 + 2 * 8192 * 3)),
    "LFM2-1.2B": (6 * 2 * 2 * 8 * 64, 10 * 2 * 2048 * 2),
    # queries of 64 heads share one key and value of 256
    "step3, text part": (61 * 2 * 2 * 256, 0),
    # latent attention switched off
    "DeepSeek-OCR, text part": (12 * 2 * 2 * 10 * 128, 0),
    "MiniCPM3-4B": (62 * 2 * (256 + 32), 0),
    "starcoder": (40 * 2 * 2 * 128, 0),
    "chatglm3-6b": (28 * 2 * 2 * 2 * 128, 0),
    "dbrx": (40 * 2 * 2 * 8 * 128, 0),
    "opt-66b": (64 * 2 * 2 * 72 * 128, 0),
}
"""Bytes of cache a token in 16 bits, and of state a sequence."""


@pytest.mark.parametrize("name", KEPT)
def test_a_sequence_keeps_what_its_layers_keep(name: str, tmp_path: Path) -> None:
    model = read(tmp_path, CONFIGS[name]["config"])
    assert (model.kv_bytes_per_token_bf16, model.linear_state_bytes_per_sequence) == KEPT[name]


ACTIVE_B = {
    "ERNIE-4.5-21B-A3B": 3.35,
    "Hunyuan-A13B": 12.75,
    "Ling-1T": 51.05,
    "step3, text part": 38.84,
    "dbrx": 36.47,
    "Phi-3.5-MoE": 6.64,
}


@pytest.mark.parametrize("name", ACTIVE_B)
def test_a_token_meets_the_experts_that_are_chosen(name: str, tmp_path: Path) -> None:
    assert read(tmp_path, CONFIGS[name]["config"]).active_params_b == pytest.approx(ACTIVE_B[name], abs=0.01)


def test_a_layer_may_have_fields_of_its_own(tmp_path: Path) -> None:
    """As transformers 5 writes layers that differ: two with fewer KV heads and one with a narrower network."""
    own = {"3": {"num_key_value_heads": 4}, "04": {"num_key_value_heads": 4, "intermediate_size": 7168}}
    plain, model = read(tmp_path, LLAMA), read(tmp_path, LLAMA | {"per_layer_config": own})
    assert model.kv_bytes_per_token_bf16 == (30 * 8 + 2 * 4) * 2 * 2 * 128
    fewer = 2 * 2 * 4 * 128 * 4096 + 3 * 7168 * 4096
    assert plain.total_params_b - model.total_params_b == pytest.approx(fewer / 1e9, abs=2e-4)


@pytest.mark.parametrize("stated", [{}, {"per_layer_config": {"5": {"head_dim": 512}}}, {"global_head_dim": 512}])
def test_layers_of_gemma_4_that_see_all_have_wide_heads_however_that_is_said(
    stated: dict[str, Any], tmp_path: Path
) -> None:
    assert read(tmp_path, GEMMA_4 | stated).kv_bytes_per_token_bf16 == (5 * 256 + 512) * 2 * 2 * 8


def test_a_layer_that_skips_a_part_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="layer 3 skips"):
        read(tmp_path, LLAMA | {"per_layer_config": {"3": {"skip": ["self_attn"]}}})


@pytest.mark.parametrize(
    ("kind", "whole", "part", "tied"),
    [
        ("qwen3_vl", False, True, False),
        ("qwen3_vl", True, False, True),
        ("llava_onevision", False, True, True),
        ("llava_onevision", None, True, True),
    ],
)
def test_whether_the_head_is_the_embedding_is_the_wholes_word(
    kind: str, whole: bool | None, part: bool, tied: bool, tmp_path: Path
) -> None:
    content = {"model_type": kind, "text_config": LLAMA | {"tie_word_embeddings": part}, "torch_dtype": "bfloat16"}
    content |= {} if whole is None else {"tie_word_embeddings": whole}
    assert read(tmp_path, content).tied_embeddings is tied


def test_a_model_without_attention_is_refused_by_that(tmp_path: Path) -> None:
    content = CONFIGS["granite-4.0-h-tiny"]["config"] | {"layer_types": ["mamba"] * 40}
    with pytest.raises(InputError, match="no layer has attention"):
        read(tmp_path, content)


def test_an_embedding_narrower_than_the_layers_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="word_embed_proj_dim"):
        read(tmp_path, CONFIGS["opt-66b"]["config"] | {"word_embed_proj_dim": 512})


def block(attention: dict[str, Any], network: dict[str, Any]) -> dict[str, Any]:
    return {"attention": {"no_op": False, **attention}, "ffn": {"no_op": False, **network}}


SEARCHED = LLAMA | {"model_type": "nemotron-nas", "num_hidden_layers": 2, "head_dim": None}


def test_blocks_of_a_search_may_state_heads_and_width(tmp_path: Path) -> None:
    stated = [block({"num_key_value_heads": 4}, {"intermediate_size": 14336})] * 2
    implied = [block({"n_heads_in_group": 8}, {"ffn_mult": 5.25})] * 2
    models = [read(tmp_path, SEARCHED | {"block_configs": blocks}) for blocks in (stated, implied)]
    assert [model.kv_bytes_per_token_bf16 for model in models] == [2 * 2 * 2 * 4 * 128] * 2
    assert models[0].total_params_b == models[1].total_params_b


def test_a_block_of_experts_is_refused(tmp_path: Path) -> None:
    blocks = [block({"num_key_value_heads": 4}, {"moe": {"num_local_experts": 8}, "intermediate_size": 14336})] * 2
    with pytest.raises(InputError, match="moe"):
        read(tmp_path, SEARCHED | {"block_configs": blocks})

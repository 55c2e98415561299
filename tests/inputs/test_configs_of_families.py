"""Configurations of models from 2019 to 2026, each in the words of its family: weights in memory, and what is kept."""

import json
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from optimizer.base.errors import InputError
from optimizer.inputs.catalog.entries.models import Model
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
HUGE: dict[str, Any] = LLAMA | {"hidden_size": 32768, "intermediate_size": 131072, "num_hidden_layers": 64}
"""Of about a trillion parameters."""
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
    # eight of forty layers attend to images alone
    "Llama-3.2-11B-Vision": (32 * 2 * 2 * 8 * 128, 0),
    # each of 28 layers holds two with attention
    "LongCat-Flash": (56 * 2 * (512 + 64), 0),
    # the last fifteen of 35 layers read the caches of earlier ones
    "gemma-3n-E4B": (20 * 2 * 2 * 2 * 256, 0),
    "Laguna-XS": (40 * 2 * 2 * 8 * 128, 0),
    # eleven of 66 layers see all with 8 heads, the others a window with 16
    "inkling_text, as its class has it": ((11 * 8 + 55 * 16) * 2 * 2 * 128, 0),
    # twenty layers attend, fourteen keep 16 matrices of 128 x 128 in 32 bits and three inputs of 4,096 channels
    "lara_mini, as its class has it": (20 * 2 * 2 * 4 * 128, 14 * (4 * 16 * 128 * 128 + 2 * 4096 * 3)),
    "lfm3, as its class has it": (11 * 2 * 2 * 4 * 128, 13 * 2 * 2048 * 6),
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
    # a third of the twelve choices pass the token on
    "LongCat-Flash": 27.95,
    "Laguna-XS": 3.02,
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
    content: dict[str, Any] = {
        "model_type": kind,
        "text_config": LLAMA | {"tie_word_embeddings": part},
        "torch_dtype": "bfloat16",
    }
    content |= {} if whole is None else {"tie_word_embeddings": whole}
    assert read(tmp_path, content).tied_embeddings is tied


def test_a_model_without_attention_is_refused_by_that(tmp_path: Path) -> None:
    content = CONFIGS["granite-4.0-h-tiny"]["config"] | {"layer_types": ["mamba"] * 40}
    with pytest.raises(InputError, match="no layer has attention"):
        read(tmp_path, content)


def test_windowed_layers_of_mimo_have_twice_the_kv_heads_where_nothing_is_said(tmp_path: Path) -> None:
    """As transformers 5.24.0 writes the configuration, which leaves `swa_num_key_value_heads` out."""
    config: dict[str, Any] = LLAMA | {
        **{"model_type": "mimo_v2_flash", "num_hidden_layers": 4, "head_dim": 192, "v_head_dim": 128},
        **{"sliding_window": 128, "layer_types": ["full_attention", *["sliding_attention"] * 3]},
        **{"n_routed_experts": 16, "num_experts_per_tok": 2, "moe_intermediate_size": 512},
    }
    said = read(tmp_path, config | {"swa_num_key_value_heads": 8})
    assert read(tmp_path, config).kv_bytes_per_token_bf16 == (8 + 3 * 16) * 2 * (192 + 128)
    assert said.kv_bytes_per_token_bf16 == 4 * 8 * 2 * (192 + 128)


@pytest.mark.parametrize(("changed", "by"), [("head_dim", 11 * 8), ("swa_head_dim", 55 * 16)])
def test_keys_and_values_of_a_kind_of_layers_are_as_wide(changed: str, by: int, tmp_path: Path) -> None:
    """One width is that of both, on the layers that it is said of."""
    config = CONFIGS["inkling_text, as its class has it"]["config"]
    narrow, wide = (read(tmp_path, config | {changed: width}).kv_bytes_per_token_bf16 for width in (128, 256))
    assert wide - narrow == by * 2 * 2 * 128


LONGCAT = CONFIGS["LongCat-Flash-Lite"]["config"]


def test_tables_of_n_grams_are_held_and_not_read(tmp_path: Path) -> None:
    """Each of 4 x 3 tables has 78 vocabularies of rows, a twelfth of the hidden state wide."""
    facts = network_facts(read(tmp_path, LONGCAT))
    assert facts["unread_params"] == pytest.approx(78 * 131072 * 3072, rel=1e-4)
    assert facts["expert_params"] == pytest.approx(14 * 256 * 3 * 3072 * 1024, rel=1e-4)


def test_a_class_may_stand_for_a_model_type_that_is_left_out(tmp_path: Path) -> None:
    content = {name: value for name, value in LONGCAT.items() if name != "model_type"}
    assert read(tmp_path, content) == read(tmp_path, LONGCAT)


def test_layers_that_attend_to_images_are_not_read_for_text(tmp_path: Path) -> None:
    """Those of Llama 3.2 Vision are Llama 3.1's and eight more, which a request without an image passes over."""
    vision = read(tmp_path, CONFIGS["Llama-3.2-11B-Vision"]["config"])
    plain = read(tmp_path, LLAMA | {"tie_word_embeddings": False})
    assert vision.layers == plain.layers == 32
    assert vision.active_params_excl_input_embedding_b == plain.active_params_excl_input_embedding_b


@pytest.mark.parametrize(
    ("gating", "by_head"), [(True, 64), ("per-head", 64), ("per-element", 64 * 128), (False, 0), (None, 64)]
)
def test_a_gate_is_as_wide_as_its_word_says(gating: object, by_head: int, tmp_path: Path) -> None:
    """Of Laguna: ten layers of 48 heads, thirty of 64."""
    config = CONFIGS["Laguna-XS"]["config"]
    gated, without = (read(tmp_path, config | {"gating": word}) for word in (gating, False))
    gates = by_head * 2048 * (30 + 10 * 48 / 64)
    assert gated.total_params_b - without.total_params_b == pytest.approx(gates / 1e9, abs=2e-4)


WHISPER = {
    **{"model_type": "qwen2_audio_encoder", "d_model": 1280, "encoder_layers": 32, "encoder_ffn_dim": 5120},
    "num_mel_bins": 128,
}


@pytest.mark.parametrize(
    ("audio", "counted"),
    [
        (WHISPER, 636_968_960 + 1280 * 4096),
        (WHISPER | {"model_type": "qwen2_5_omni_audio_encoder"}, 636_968_960 - 1500 * 1280 + 1280 * 4096),
        ({"model_type": "gemma4_audio", "hidden_size": 1024, "num_hidden_layers": 12}, 304_824_608 + 1024 * 4096),
        ({"model_type": "inkling_audio", "n_mel_bins": 80, "mel_vocab_size": 256}, 80 * 256 * 4096),
    ],
)
def test_an_encoder_of_sound_is_counted(audio: dict[str, Any], counted: int, tmp_path: Path) -> None:
    """As Hugging Face transformers 5.24.0 instantiates it, and a matrix into the text part."""
    model = read(tmp_path, {"model_type": "any", "text_config": LLAMA, "audio_config": audio, "dtype": "bfloat16"})
    assert model.unread_params_b == pytest.approx(counted / 1e9, rel=0.01)


@pytest.mark.parametrize("part", ["vision_config", "audio_config", "qformer_config", "perceiver_config", "vq_config"])
def test_a_part_that_is_not_understood_is_refused_unless_it_cannot_matter(part: str, tmp_path: Path) -> None:
    whole = {"model_type": "any", "dtype": "bfloat16", part: {"model_type": "new", "blocks": 12}}
    with pytest.raises(InputError, match=f"{part}: is a part"):
        read(tmp_path, whole | {"text_config": LLAMA})
    assert f"{part} is not understood" in read(tmp_path, whole | {"text_config": HUGE}).note


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

"""Configurations of 2026, restated as shapes: counted as their modelling code counts, kept as their layers keep."""

import json
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from optimizer.answers.catalog.models import released_gb
from optimizer.base.errors import InputError
from optimizer.inputs.catalog.entries.models import Model
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.importing.hf_config.families.also_called import ALSO_CALLED
from optimizer.inputs.importing.hf_config.families.known import FAMILIES
from optimizer.inputs.importing.hf_config.row import Naming, model_of_config
from optimizer.performance.physics.memory import kv_bytes_per_sequence
from optimizer.performance.physics.setup import Configuration, gather

SHAPES: dict[str, dict[str, Any]] = json.loads(
    (Path(__file__).parents[1] / "data" / "configs_of_today.json").read_text(encoding="utf-8")
)
"""Hugging Face id → the fields that say what its layers are; `counted` is how many parameters transformers 5.23.0
instantiates for the text part, `encoder` for the rest, `published_b` what its card or its name says, in billions."""
COUNTED = [name for name, shape in SHAPES.items() if shape["counted"]]
PUBLISHED = [name for name, shape in SHAPES.items() if shape["published_b"]]


def read(folder: Path, content: object, catalogs: Catalogs, name: str = "me/mine") -> Model:
    (folder / "config.json").write_text(json.dumps(content), encoding="utf-8")
    bits = {scheme.id: scheme.weight_bits for scheme in catalogs.schemes.values()}
    return model_of_config(folder, Naming("mine", name, "", "config-mine", date(2026, 11, 22)), bits).model


def of(name: str, folder: Path, catalogs: Catalogs, **changes: object) -> Model:
    return read(folder, SHAPES[name]["config"] | changes, catalogs)


@pytest.mark.parametrize("name", COUNTED)
def test_parameters_are_those_of_the_modelling_code(name: str, tmp_path: Path, catalogs: Catalogs) -> None:
    counted = of(name, tmp_path, catalogs)
    assert counted.total_params_b == pytest.approx(SHAPES[name]["counted"] / 1e9, rel=2e-5, abs=1e-4)
    if SHAPES[name]["encoder"] and "vision_config" in SHAPES[name]["config"]:
        assert counted.unread_params_b == pytest.approx(SHAPES[name]["encoder"] / 1e9, rel=0.01)


@pytest.mark.parametrize("name", PUBLISHED)
def test_parameters_are_those_that_were_published_within_a_percent(
    name: str, tmp_path: Path, catalogs: Catalogs
) -> None:
    assert of(name, tmp_path, catalogs).total_params_b == pytest.approx(SHAPES[name]["published_b"], rel=0.01)


@pytest.mark.parametrize(
    ("name", "with_prediction_heads_b"), [("zai-org/GLM-5.2", 753.3), ("deepseek-ai/DeepSeek-V3.2", 685.3)]
)
def test_published_files_also_hold_the_heads_that_predict_further_tokens(
    name: str, with_prediction_heads_b: float, tmp_path: Path, catalogs: Catalogs
) -> None:
    """DeepSeek's files repeat embedding and output head for them."""
    model = of(name, tmp_path, catalogs)
    repeated = 2 * model.vocab_size * model.hidden_size / 1e9 if "V3.2" in name else 0.0
    found = model.total_params_b + model.prediction_head_params_b + repeated
    assert found == pytest.approx(with_prediction_heads_b, rel=1e-3)


@pytest.mark.parametrize(
    ("name", "stated", "corrected"),
    [
        ("MiniMaxAI/MiniMax-M2.5", {"use_routing_bias": True}, True),
        ("MiniMaxAI/MiniMax-M3", {"use_routing_bias": True}, True),
        ("stepfun-ai/Step-3.7-Flash", {"use_moe_router_bias": True}, True),
        ("deepseek-ai/DeepSeek-V3.2", {"topk_method": "noaux_tc"}, True),
        ("zai-org/GLM-5.2", {}, True),
        ("XiaomiMiMo/MiMo-V2-Flash", {}, True),
        ("nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16", {}, True),
        ("Qwen/Qwen3.5-35B-A3B", {}, False),
        ("google/gemma-4-26B-A4B", {}, False),
    ],
)
def test_how_experts_are_chosen_is_read_as_the_catalog_has_it(
    name: str, stated: dict[str, object], corrected: bool, tmp_path: Path, catalogs: Catalogs
) -> None:
    assert of(name, tmp_path, catalogs, **stated).moe_selection_bias is corrected
    shipped = [model for model in catalogs.models.values() if model.hf_id.removesuffix("-it") == name]
    assert shipped
    assert all(model.moe_selection_bias is corrected for model in shipped)


STEP: dict[str, object] = {
    "model_type": "step3p5",
    **{"num_hidden_layers": 45, "hidden_size": 4096, "num_attention_heads": 64, "num_attention_groups": 8},
    **{"head_dim": 128, "vocab_size": 128896, "max_position_embeddings": 262144, "torch_dtype": "bfloat16"},
    **{"intermediate_size": 11264, "sliding_window": 512, "moe_num_experts": 288, "moe_top_k": 8},
    **{"moe_intermediate_size": 1280, "share_expert_dim": 1280, "moe_layers_enum": ",".join(map(str, range(3, 45)))},
    "layer_types": (["full_attention"] + ["sliding_attention"] * 3) * 12,
    "attention_other_setting": {"num_attention_heads": 96},
}
"""Windowed layers with more heads than the others, and types of prediction heads behind those of the layers."""
SHARING: dict[str, object] = {
    "model_type": "gemma4_text",
    **{"num_hidden_layers": 30, "hidden_size": 2304, "num_attention_heads": 8, "num_key_value_heads": 4},
    **{"head_dim": 256, "global_head_dim": 512, "intermediate_size": 9216, "vocab_size": 262144},
    **{"hidden_size_per_layer_input": 256, "vocab_size_per_layer_input": 262144, "num_kv_shared_layers": 10},
    **{"use_double_wide_mlp": True, "max_position_embeddings": 131072, "sliding_window": 512, "dtype": "bfloat16"},
    "layer_types": (["sliding_attention"] * 5 + ["full_attention"]) * 5,
}
"""The last layers read the cache of earlier ones, and each layer has an embedding of its own."""


@pytest.mark.parametrize(("content", "counted"), [(STEP, 196_956_118_272), (SHARING, 5_657_561_600)])
def test_layers_that_differ_are_counted_one_by_one(
    content: dict[str, object], counted: int, tmp_path: Path, catalogs: Catalogs
) -> None:
    model = read(tmp_path, content, catalogs)
    assert model.total_params_b + model.unread_params_b == pytest.approx(counted / 1e9, rel=3e-5)


KEPT = {
    # 57 of 60 layers read 16 blocks of 128 tokens; keys of 128 elements choose them, in 16 bits
    "MiniMaxAI/MiniMax-M3": {
        "kv_bytes_per_token_bf16": 60 * 2 * 2 * 4 * 128,
        "sparse_kv_bytes_per_token_bf16": 57 * 2 * 2 * 4 * 128,
        "sparse_attention_tokens": 16 * 128,
        "indexer_bytes_per_token": 57 * 256,
        "indexer_flops_per_token_pair": 57 * 2 * 4 * 128,
    },
    # every layer's latent is kept, 2,048 of them are read; keys of 8 bits with a scale
    "deepseek-ai/DeepSeek-V3.2": {
        "kv_bytes_per_token_bf16": 61 * 2 * 576,
        "sparse_attention_tokens": 2048,
        "indexer_bytes_per_token": 61 * 132,
        "attention": "mla-dsa",
    },
    # 21 of 78 layers have an indexer of their own
    "zai-org/GLM-5.2": {"kv_bytes_per_token_bf16": 78 * 2 * 576, "indexer_bytes_per_token": 21 * 132},
    # 128 tokens whole, then one key for 4 (30 layers, 1,024 of them read) or for 128 (31 layers)
    "deepseek-ai/DeepSeek-V4-Pro": {
        "kv_bytes_per_token_bf16": 1024 * (61 + 30 / 4 + 31 / 128),
        "window_kv_bytes_per_token_bf16": 1024 * 61,
        "sparse_kv_bytes_per_token_bf16": 1024 * 30 / 4,
        "sliding_window_tokens": 128,
        "sparse_attention_tokens": 4 * 1024,
        "global_attention_layers": 0,
        "native_precision": "mxfp4",
        "native_quantized_part": "routed_experts",
        "native_body_weight_bits": 8.002,
    },
    # 9 layers see everything with 4 KV heads, 39 see 128 tokens with 8; keys of 192, values of 128
    "XiaomiMiMo/MiMo-V2-Flash": {
        "kv_bytes_per_token_bf16": 2 * 320 * (9 * 4 + 39 * 8),
        "window_kv_bytes_per_token_bf16": 2 * 320 * 39 * 8,
        "global_attention_layers": 9,
        "kv_heads": 8,
        "global_kv_heads": 4,
    },
    # 5 layers with 2 KV heads of 512, 25 with 8 of 256
    "google/gemma-4-26B-A4B": {
        "kv_bytes_per_token_bf16": 5 * 2 * 2 * 2 * 512 + 25 * 2 * 2 * 8 * 256,
        "window_kv_bytes_per_token_bf16": 25 * 2 * 2 * 8 * 256,
        "global_head_dim": 512,
        "moe_shared_intermediate_size": 2112,
    },
    # 23 Mamba layers keep a state, 6 keep a cache
    "nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16": {
        "kv_bytes_per_token_bf16": 6 * 2 * 2 * 2 * 128,
        "linear_state_bytes_per_sequence": 23 * (4 * 64 * 64 * 128 + 2 * 3 * (64 * 64 + 2 * 8 * 128)),
        "mlp_gated": False,
        "moe_layers": 23,
    },
    # 69 delta layers keep a matrix for each of 96 heads, 24 latent ones a cache
    "moonshotai/Kimi-K3": {
        "kv_bytes_per_token_bf16": 24 * 2 * 576,
        "linear_state_bytes_per_sequence": 69 * (4 * 96 * 128 * 128 + 2 * 3 * 3 * 96 * 128),
        "native_precision": "mxfp4",
        "native_quantized_part": "routed_experts",
    },
    "Qwen/Qwen3.5-27B": {
        "kv_bytes_per_token_bf16": 16 * 2 * 2 * 4 * 256,
        "linear_state_bytes_per_sequence": 48 * (4 * 48 * 128 * 128 + 2 * 3 * (2 * 16 * 128 + 48 * 128)),
        "kv_cache_layers": 16,
    },
    # 3 of 4 layers see chunks of 8,192 tokens
    "meta-llama/Llama-4-Scout-17B-16E-Instruct": {
        "sliding_window_tokens": 8192,
        "global_attention_layers": 12,
        "moe_shared_intermediate_size": 8192,
    },
    # groups of 32 with a 16-bit scale
    "moonshotai/Kimi-K2.5": {"native_precision": "int4", "native_expert_weight_bits": 4.5},
}


@pytest.mark.parametrize("name", KEPT)
def test_layers_keep_what_their_kind_keeps(name: str, tmp_path: Path, catalogs: Catalogs) -> None:
    model = of(name, tmp_path, catalogs)
    assert {column: getattr(model, column) for column in KEPT[name]} == KEPT[name]


def modelopt(algorithm: str, ignored: list[str]) -> dict[str, object]:
    weights = {"num_bits": 4, "type": "float", "group_size": 16}
    groups = {"group_0": {"weights": weights, "targets": ["Linear"]}}
    return {"quant_method": "modelopt", "quant_algo": algorithm, "config_groups": groups, "ignore": ignored}


def module_by_layer(layers: int, *modules: str) -> list[str]:
    return [f"model.layers.{layer}.{module}" for layer in range(layers) for module in modules]


STORED: dict[str, tuple[str, dict[str, object], tuple[object, ...]]] = {
    "attention and shared experts left alone": (
        "zai-org/GLM-5",
        modelopt("NVFP4", ["lm_head", *module_by_layer(78, "self_attn*", "mlp.shared_experts*"), "model.layers.0*"]),
        ("fp4", "routed_experts"),
    ),
    "experts that are not under the network's name": (
        "google/gemma-4-26B-A4B",
        modelopt("NVFP4", module_by_layer(30, "self_attn*", "mlp*", "router*")),
        ("fp4", "routed_experts"),
    ),
    "blocks of 8 bits": (
        "zai-org/GLM-5",
        {"quant_method": "fp8", "weight_block_size": [128, 128], "modules_to_not_convert": ["lm_head"]},
        ("fp8", "all_linear"),
    ),
    "no method, but an algorithm": (
        "Qwen/Qwen3-VL-2B-Instruct",
        {"quant_algo": "FP8", "producer": {"name": "modelopt"}, "ignore": ["lm_head"]},
        ("fp8", "all_linear"),
    ),
    "two formats in one file": (
        "Qwen/Qwen3.5-27B",
        {
            "quant_method": "modelopt",
            "quant_algo": "MIXED_PRECISION",
            "quantized_layers": {
                name: {"quant_algo": "W4A16_NVFP4" if "mlp" in name else "FP8"}
                for name in module_by_layer(64, "mlp.up_proj", "mlp.gate_proj", "linear_attn.in_proj_qkv", "self_attn")
            },
        },
        ("fp4", "all_linear"),
    ),
}


@pytest.mark.parametrize("case", STORED)
def test_the_quantization_entry_says_what_is_stored_how(case: str, tmp_path: Path, catalogs: Catalogs) -> None:
    name, entry, expected = STORED[case]
    model = of(name, tmp_path, catalogs, quantization_config=entry)
    assert (model.native_precision, model.native_quantized_part) == expected


def test_a_quantization_may_stand_in_its_own_file(tmp_path: Path, catalogs: Catalogs) -> None:
    plain = read(tmp_path, SHAPES["zai-org/GLM-5"]["config"], catalogs, "nvidia/GLM-5-NVFP4")
    assert plain.native_precision == "bf16"
    assert "the name says NVFP4, but config.json states no quantization" in plain.note
    entry = {"quantization": {"quant_algo": "NVFP4", "exclude_modules": module_by_layer(78, "self_attn*")}}
    (tmp_path / "hf_quant_config.json").write_text(json.dumps(entry))
    quantized = read(tmp_path, SHAPES["zai-org/GLM-5"]["config"], catalogs, "nvidia/GLM-5-NVFP4")
    assert (quantized.native_precision, quantized.note) == ("fp4", "")
    assert quantized.native_body_weight_bits == pytest.approx(13, abs=3)


REFUSED: dict[str, tuple[dict[str, object], str, str]] = {
    "BAAI/bge-large": ({"model_type": "bert", "architectures": ["BertModel"]}, "model_type", "is an encoder"),
    "BAAI/bge-m3": ({"model_type": "xlm-roberta"}, "model_type", "'xlm-roberta' is an encoder, not a language model"),
    "openai/whisper-large": ({"model_type": "whisper"}, "model_type", "is a speech model"),
    "Qwen/Qwen3-Reranker-8B": ({"architectures": ["Qwen3ForCausalLM"]}, "", "names a reranker"),
    "Qwen/Qwen3-Embedding-8B": ({"architectures": ["Qwen3ForCausalLM"]}, "", "names an embedding model"),
    "me/judge": ({"architectures": ["LlamaForSequenceClassification"]}, "architectures", "classifier"),
    "google/flan-t5": ({"model_type": "t5"}, "model_type", "is an encoder-decoder model"),
    "me/translator": ({"is_encoder_decoder": True}, "is_encoder_decoder", "is an encoder-decoder model"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_does_not_write_text_is_refused_by_what_it_is(name: str, tmp_path: Path, catalogs: Catalogs) -> None:
    changes, field, words = REFUSED[name]
    with pytest.raises(InputError) as caught:
        read(tmp_path, {"model_type": "qwen3"} | changes, catalogs, name)
    (finding,) = caught.value.findings
    assert (finding.field, words in finding.problem) == (field, True)


@pytest.mark.parametrize("mechanism", ["hc_mult", "compress_ratios", "moe_latent_size", "block_configs"])
def test_a_mechanism_that_nobody_reads_is_refused_by_its_entry(
    mechanism: str, tmp_path: Path, catalogs: Catalogs
) -> None:
    with pytest.raises(InputError) as caught:
        of("Qwen/Qwen3-VL-2B-Instruct", tmp_path, catalogs, **{mechanism: [1] * 28})
    assert {finding.field for finding in caught.value.findings} == {mechanism}


def test_names_of_families_lead_somewhere() -> None:
    assert set(ALSO_CALLED.values()) <= set(FAMILIES)
    assert not set(ALSO_CALLED) & set(FAMILIES)


@pytest.mark.parametrize(("name", "published_gb"), [("moonshotai/Kimi-K3", 1560.0), ("MiniMaxAI/MiniMax-M3", 855.0)])
def test_weights_take_what_the_published_files_take(
    name: str, published_gb: float, tmp_path: Path, catalogs: Catalogs
) -> None:
    """Sizes of the folders on Hugging Face, within a percent; MiniMax-M3's encoder is not in this configuration."""
    assert released_gb(catalogs, of(name, tmp_path, catalogs)) == pytest.approx(published_gb, rel=0.01)


def test_what_a_model_keeps_is_what_memory_counts(tmp_path: Path, catalogs: Catalogs) -> None:
    """DeepSeek-V4 at 100,000 tokens: windows closed, compressed keys whole, the indexer's in their own precision."""
    mine = of("deepseek-ai/DeepSeek-V4-Pro", tmp_path, catalogs)
    known = replace(catalogs, models={**catalogs.models, mine.id: mine})
    setup = gather(known, [Configuration("vllm", mine.id, "b300", "fp8", "bf16", 8, 1)])
    tokens = 100_000
    expected = 1024 * (61 * 128 + tokens * (30 / 4 + 31 / 128)) + 30 / 4 * 132 * tokens
    assert kv_bytes_per_sequence(setup, np.array([tokens])) == pytest.approx(np.array([[expected]]))


def test_a_file_that_mixes_formats_takes_what_each_part_takes(tmp_path: Path, catalogs: Catalogs) -> None:
    mine = of("deepseek-ai/DeepSeek-V4-Pro", tmp_path, catalogs)
    known = replace(catalogs, models={**catalogs.models, mine.id: mine})
    setup = gather(known, [Configuration("vllm", mine.id, "b300", "mxfp4", "fp8", 8, 1)])
    assert setup.weights.body_bytes_per_param == pytest.approx(8.002 / 8)
    assert setup.weights.expert_bytes_per_param == pytest.approx(4.25 / 8)

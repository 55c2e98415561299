"""Configurations of models of late 2026: tables of n-grams, keys shared between layers, windows of latent attention."""

import json
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from optimizer.answers.catalog.models import released_gb
from optimizer.base.errors import InputError
from optimizer.inputs.catalog.entries.models import Model
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.importing.hf_config.row import Naming, model_of_config
from optimizer.performance.physics.facts import network_facts

CONFIGS: dict[str, dict[str, Any]] = {
    name: each["config"]
    for name, each in json.loads(
        (Path(__file__).parents[1] / "data" / "configs_of_families.json").read_text(encoding="utf-8")
    ).items()
}
FLASH = CONFIGS["DeepSeek-V4.1-Flash"]
FLASH_STORED = {"quant_method": "fp8", "weight_block_size": [32, 32], "scale_fmt": "ue8m0", "expert_dtype": "fp4"}
STEP_5: dict[str, Any] = {
    **{"model_type": "step5", "hidden_size": 4096, "intermediate_size": 13824, "num_hidden_layers": 8},
    **{"num_attention_heads": 64, "num_attention_groups": 4, "head_dim": 192, "vocab_size": 128896},
    **{"max_position_embeddings": 1048576, "moe_num_experts": 352, "moe_top_k": 8, "moe_intermediate_size": 1536},
    **{"share_expert_dim": 1536, "moe_layers_enum": "3,4,5,6,7", "sliding_window": 512, "torch_dtype": "bfloat16"},
    "layer_types": ["full_attention" if at % 4 == 3 else "sliding_attention" for at in range(8)],
    "sparse_config": {"enabled": True, "proxy_dim": 256, "sparse_indexer_num_heads": 16, "topk": 512},
}
PUZZLE: dict[str, Any] = {
    **{"model_type": "nemotron_h_puzzle", "hidden_size": 2048, "num_attention_heads": 32, "num_key_value_heads": 2},
    **{"head_dim": 128, "vocab_size": 131072, "max_position_embeddings": 262144, "torch_dtype": "bfloat16"},
    **{"mamba_num_heads": 64, "mamba_head_dim": 64, "n_groups": 8, "ssm_state_size": 128, "conv_kernel": 4},
    **{"moe_intermediate_size": 1024, "n_shared_experts": 0, "num_experts_per_tok": 4},
    "block_configs": [
        {"block_type": "mamba"},
        {"block_type": "moe", "n_routed_experts": 64},
        {"block_type": "attention"},
        {"block_type": "moe", "n_routed_experts": 32},
    ],
}


def shared_keys_with(ratios: list[int] | None) -> dict[str, Any]:
    text = {name: value for name, value in FLASH["text_config"].items() if name != "compress_ratios"}
    return FLASH | {"text_config": text | ({} if ratios is None else {"compress_ratios": ratios})}


def read(folder: Path, catalogs: Catalogs, content: dict[str, Any]) -> Model:
    (folder / "config.json").write_text(json.dumps(content), encoding="utf-8")
    bits = {scheme.id: scheme.weight_bits for scheme in catalogs.schemes.values()}
    return model_of_config(folder, Naming("m", "me/m", "none", "s", date(2026, 11, 28)), bits).model


def test_tables_of_n_grams_are_held_in_8_bits_and_not_read(tmp_path: Path, catalogs: Catalogs) -> None:
    """DeepSeek-V4.1-Flash: 552 billion parameters and 196 in its tables, 763.2 billion with its prediction heads."""
    model = read(tmp_path, catalogs, FLASH | {"quantization_config": FLASH_STORED})
    assert model.total_params_b == pytest.approx(552, rel=1e-3)
    assert model.unread_params_b == pytest.approx(768_022_850 * 256 / 1e9 + 0.36, abs=0.1)
    everything = model.total_params_b + model.unread_params_b + model.prediction_head_params_b
    assert everything == pytest.approx(763.2, rel=1e-3)
    assert model.unread_weight_bits == pytest.approx(8.26, abs=0.01)
    assert "tables of looked-up rows count in the GPUs' memory" in model.note
    experts, tables = 40 * 384 * 3 * 5120 * 2304 * 4.25 / 8e9, 768_022_850 * 256 * 8.25 / 8e9
    assert released_gb(catalogs, model) == pytest.approx(experts + tables, rel=0.025)


def test_layers_read_the_compressed_keys_of_a_layer_before(tmp_path: Path, catalogs: Catalogs) -> None:
    """Forty layers keep a window of keys of 512; three compress two tokens into one beyond it and one keeps each."""
    model = read(tmp_path, catalogs, FLASH)
    near, far = 40 * 2 * 512, (3 / 2 + 1) * 2 * 512
    assert (model.window_kv_bytes_per_token_bf16, model.kv_bytes_per_token_bf16) == (near, near + far)
    assert model.indexer_bytes_per_token == (3 / 2 + 1) * (128 + 4)
    # an indexer in each of eight layers, the last five where every token has a key
    assert model.indexer_flops_per_token_pair == (3 / 2 + 5) * 2 * 32 * 128
    assert model.sparse_attention_tokens == 2 * 512


def test_a_prediction_head_may_have_fewer_experts(tmp_path: Path, catalogs: Catalogs) -> None:
    text = {name: value for name, value in FLASH["text_config"].items() if not name.startswith("dspark_n")}
    fewer, same = (read(tmp_path, catalogs, FLASH | {"text_config": each}) for each in (FLASH["text_config"], text))
    apart = same.prediction_head_params_b - fewer.prediction_head_params_b
    assert apart == pytest.approx(3 * 256 * 3 * 5120 * 2304 / 1e9, rel=1e-3)


@pytest.mark.parametrize(
    ("content", "tokens", "bytes_a_key"),
    [(STEP_5, 512 * 8, 2 * 2 * 256 / 8), (CONFIGS["Qwen3.8-Flash-Next"], 2048, 12 * 2 * 128 / 4)],
)
def test_an_indexer_scores_one_key_for_a_group_of_tokens(
    content: dict[str, Any], tokens: int, bytes_a_key: float, tmp_path: Path, catalogs: Catalogs
) -> None:
    model = read(tmp_path, catalogs, content)
    assert (model.sparse_attention_tokens, model.indexer_bytes_per_token) == (tokens, bytes_a_key)


def test_layers_of_experts_are_listed_either_way(tmp_path: Path, catalogs: Catalogs) -> None:
    """And Step-5 names itself as its authors' code did, with its context under another word."""
    other = {
        name: value for name, value in STEP_5.items() if name not in ("moe_layers_enum", "max_position_embeddings")
    }
    other |= {"model_type": "step4", "moe_layer_list": [3, 4, 5, 6, 7], "max_seq_len": 1048576}
    whole = {"model_type": "step3p5v", "torch_dtype": "bfloat16", "text_config": other}
    assert read(tmp_path, catalogs, whole) == read(tmp_path, catalogs, STEP_5)


def test_an_indexer_that_is_switched_off_chooses_nothing(tmp_path: Path, catalogs: Catalogs) -> None:
    model = read(tmp_path, catalogs, STEP_5 | {"sparse_config": {"enabled": False}})
    assert (model.attention, model.sparse_attention_tokens) == ("gqa-swa", None)


def test_windowed_layers_of_latent_attention_have_ranks_of_their_own(tmp_path: Path, catalogs: Catalogs) -> None:
    """dots3 Note, where nothing is said of them: 1,024 and 64 in place of 512 and 64."""
    config = CONFIGS["dots3_note_text, as its class has it"]
    types = config["layer_types"]
    near, far = types.count("sliding_attention"), types.count("indexed_attention")
    model = read(tmp_path, catalogs, config)
    assert model.window_kv_bytes_per_token_bf16 == near * 2 * (1024 + 64)
    assert model.kv_bytes_per_token_bf16 == near * 2 * (1024 + 64) + far * 2 * (512 + 64)
    plain = {name: value for name, value in config.items() if name != "per_layer_config"}
    narrow = read(tmp_path, catalogs, plain | {"swa_kv_lora_rank": 256})
    assert narrow.window_kv_bytes_per_token_bf16 == near * 2 * (256 + 64)


def test_lings_hybrids_are_told_apart_by_their_convolutions(tmp_path: Path, catalogs: Catalogs) -> None:
    older, newer = (read(tmp_path, catalogs, CONFIGS[name]) for name in ("Ring-2.5-1T", "Ling-3.0-tiny"))
    assert (older.attention, newer.attention) == ("hybrid-lightning", "hybrid-kda-mla")
    assert (older.total_params_b, older.active_params_b) == pytest.approx((1012, 63.6), rel=1e-3)
    assert newer.total_params_b == pytest.approx(7.89, rel=1e-3)


def test_experts_of_images_are_held_and_met_by_no_word(tmp_path: Path, catalogs: Catalogs) -> None:
    """ERNIE-4.5-VL: 64 experts of 512 for images beside 64 of 1,536 for text, in 27 of 28 layers."""
    model = read(tmp_path, catalogs, CONFIGS["ERNIE-4.5-VL-28B-A3B"])
    of_text = 27 * 64 * 3 * 2560 * 1536
    assert network_facts(model)["expert_params"] == pytest.approx(of_text, rel=1e-3)
    assert model.unread_params_b == pytest.approx(27 * 64 * 3 * 2560 * 512 / 1e9 + 0.66, abs=0.05)


def test_a_block_may_have_experts_of_its_own(tmp_path: Path, catalogs: Catalogs) -> None:
    model = read(tmp_path, catalogs, PUZZLE)
    fewer = PUZZLE | {"block_configs": [*PUZZLE["block_configs"][:3], {"block_type": "moe", "n_routed_experts": 16}]}
    apart = model.total_params_b - read(tmp_path, catalogs, fewer).total_params_b
    assert apart == pytest.approx(16 * (2 * 2048 * 1024 + 2048) / 1e9, abs=2e-4)
    assert (model.layers, model.kv_cache_layers) == (4, 1)


def test_the_class_says_what_an_unknown_type_is(tmp_path: Path, catalogs: Catalogs) -> None:
    llama = {
        **{"model_type": "llama", "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32},
        **{"num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 128256},
        **{"max_position_embeddings": 131072, "torch_dtype": "bfloat16"},
    }
    named = llama | {"model_type": "ours", "architectures": ["OursForCausalLM", "LlamaForCausalLM"]}
    assert read(tmp_path, catalogs, named) == read(tmp_path, catalogs, llama)
    with pytest.raises(InputError, match="model_type: 'ours' is not understood"):
        read(tmp_path, catalogs, named | {"architectures": ["OursForCausalLM"]})


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ({"dim": 4096, "n_layers": 32}, "n_layers: is a field of another format, Mistral's params.json"),
        ({"peft_type": "LORA", "r": 16}, "peft_type: is a field of an adapter"),
        ({"weight_map": {}}, "weight_map: is a field of an index of weights"),
        ({"model_type": "llada"}, "'llada' is a model that writes blocks by diffusion"),
        (CONFIGS["K2-Horizon-375B-A23B"] | {"mova_num_experts": 8}, "mova_num_experts: is not understood"),
        (PUZZLE | {"num_loops": 4}, "num_loops: is not understood"),
        (shared_keys_with(None), "compress_ratios: is missing"),
        (shared_keys_with([2, 0]), "compress_ratios: does not say it of every layer"),
    ],
)
def test_what_is_no_such_model_is_refused_by_what_it_is(
    content: dict[str, Any], words: str, tmp_path: Path, catalogs: Catalogs
) -> None:
    with pytest.raises(InputError) as caught:
        read(tmp_path, catalogs, content)
    assert words in str(caught.value)

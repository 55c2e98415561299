"""A config.json becomes the row that the catalog would hold: the same parameters and cache, or a refusal by field."""

import json
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from support.command import Command

from optimizer.base.errors import InputError
from optimizer.inputs.catalog.entries.models import Model
from optimizer.inputs.catalog.loading import load_catalogs
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.importing.hf_config.decoder.decoder import read_decoder
from optimizer.inputs.importing.hf_config.encoders.vision import vision_params
from optimizer.inputs.importing.hf_config.families.chosen import family_of
from optimizer.inputs.importing.hf_config.fields import text_fields
from optimizer.inputs.importing.hf_config.row import Naming, model_of_config

NAMING = Naming("mine", "me/mine", "not stated", "config-mine", date(2026, 11, 20))
WEIGHT_BITS = {"bf16": 16, "fp16": 16, "fp8": 8.002, "fp4": 4.5, "mxfp4": 4.25, "int4": 4.156}
SAID_OTHERWISE = {"id", "hf_id", "licence", "source", "as_of", "note", "q_lora_rank", "attention"} | {
    *("prediction_head_params_b", "unread_params_b")
}


def config(
    kind: str, layers: int, hidden: int, heads: int, kv: int, wide: int, vocab: int, context: int
) -> dict[str, Any]:
    return {
        "model_type": kind,
        "num_hidden_layers": layers,
        "hidden_size": hidden,
        "num_attention_heads": heads,
        "num_key_value_heads": kv,
        "intermediate_size": wide,
        "vocab_size": vocab,
        "max_position_embeddings": context,
        "torch_dtype": "bfloat16",
    }


GEMMA = {"head_dim": 256, "sliding_window": 4096}
LATENT = {"kv_lora_rank": 512, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128}
V3_EXPERTS = {"n_routed_experts": 256, "n_shared_experts": 1, "num_experts_per_tok": 8, "moe_intermediate_size": 2048}
FALCON: dict[str, Any] = {
    **{"model_type": "falcon", "vocab_size": 65024, "multi_query": True, "parallel_attn": True, "bias": False},
    "torch_dtype": "bfloat16",
}
QWEN_VISION = {
    **{"model_type": "qwen2_5_vl", "depth": 32, "hidden_size": 1280, "intermediate_size": 3420, "num_heads": 16},
    **{"out_hidden_size": 3584, "patch_size": 14, "spatial_merge_size": 2, "temporal_patch_size": 2},
}
CONFIGS: dict[str, dict[str, Any]] = {
    "llama-3.1-8b": config("llama", 32, 4096, 32, 8, 14336, 128256, 131072),
    "llama-3.2-1b": config("llama", 16, 2048, 32, 8, 8192, 128256, 131072) | {"tie_word_embeddings": True},
    "mistral-7b-v0.1": config("mistral", 32, 4096, 32, 8, 14336, 32000, 32768) | {"sliding_window": 4096},
    "mixtral-8x7b": config("mixtral", 32, 4096, 32, 8, 14336, 32000, 32768)
    | {"num_local_experts": 8, "num_experts_per_tok": 2, "sliding_window": None},
    "qwen2.5-7b": config("qwen2", 28, 3584, 28, 4, 18944, 152064, 32768)
    | {"sliding_window": 131072, "use_sliding_window": False, "max_window_layers": 28},
    "qwen3-8b": config("qwen3", 36, 4096, 32, 8, 12288, 151936, 40960) | {"head_dim": 128},
    "qwen3-30b-a3b": config("qwen3_moe", 48, 2048, 32, 4, 6144, 151936, 40960)
    | {"head_dim": 128, "num_experts": 128, "num_experts_per_tok": 8, "moe_intermediate_size": 768}
    | {"decoder_sparse_step": 1, "mlp_only_layers": []},
    "gemma-2-9b": config("gemma2", 42, 3584, 16, 8, 14336, 256000, 8192) | GEMMA,
    "gemma-3-4b": {
        "model_type": "gemma3",
        "torch_dtype": "bfloat16",
        "vision_config": {},
        "text_config": config("gemma3_text", 34, 2560, 8, 4, 10240, 262208, 131072)
        | GEMMA
        | {"sliding_window": 1024, "sliding_window_pattern": 6},
    },
    "phi-3-mini-4k": config("phi3", 32, 3072, 32, 32, 8192, 32064, 4096) | {"sliding_window": 2047},
    "granite-3.1-8b": config("granite", 40, 4096, 32, 8, 12800, 49155, 131072) | {"tie_word_embeddings": True},
    "olmo-2-7b": config("olmo2", 32, 4096, 32, 32, 11008, 100352, 4096) | {"attention_bias": False},
    "gpt-oss-20b": config("gpt_oss", 24, 2880, 64, 8, 2880, 201088, 131072)
    | {"head_dim": 64, "num_local_experts": 32, "num_experts_per_tok": 4, "sliding_window": 128}
    | {"layer_types": ["sliding_attention", "full_attention"] * 12, "quantization_config": {"quant_method": "mxfp4"}},
    "deepseek-v2-lite": config("deepseek_v2", 27, 2048, 16, 16, 10944, 102400, 163840)
    | LATENT
    | V3_EXPERTS
    | {"n_routed_experts": 64, "n_shared_experts": 2, "num_experts_per_tok": 6, "moe_intermediate_size": 1408}
    | {"q_lora_rank": None, "first_k_dense_replace": 1, "moe_layer_freq": 1, "topk_method": "greedy"},
    "deepseek-v3": config("deepseek_v3", 61, 7168, 128, 128, 18432, 129280, 163840)
    | LATENT
    | V3_EXPERTS
    | {"q_lora_rank": 1536, "first_k_dense_replace": 3, "moe_layer_freq": 1, "topk_method": "noaux_tc"}
    | {"quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128]}},
    "glm-4.5": config("glm4_moe", 92, 5120, 96, 8, 12288, 151552, 131072)
    | {"head_dim": 128, "n_routed_experts": 160, "n_shared_experts": 1, "num_experts_per_tok": 8}
    | {"moe_intermediate_size": 1536, "first_k_dense_replace": 3, "attention_bias": True, "use_qk_norm": True}
    | {"num_nextn_predict_layers": 1},
    "qwen3-next-80b-a3b": config("qwen3_next", 48, 2048, 16, 2, 5632, 151936, 262144)
    | {"head_dim": 256, "full_attention_interval": 4, "decoder_sparse_step": 1, "mlp_only_layers": []}
    | {"linear_num_key_heads": 16, "linear_num_value_heads": 32, "linear_key_head_dim": 128}
    | {"linear_value_head_dim": 128, "linear_conv_kernel_dim": 4, "num_experts": 512, "num_experts_per_tok": 10}
    | {"moe_intermediate_size": 512, "shared_expert_intermediate_size": 512},
    "command-r-35b": config("cohere", 40, 8192, 64, 64, 22528, 256000, 131072) | {"torch_dtype": "float16"},
    "command-r-plus-104b": config("cohere", 64, 12288, 96, 8, 33792, 256000, 131072)
    | {"torch_dtype": "float16", "use_qk_norm": True},
    "command-a-111b": config("cohere2", 64, 12288, 96, 8, 36864, 256000, 262144)
    | {"sliding_window": 4096, "sliding_window_pattern": 4},
    "falcon-7b": FALCON | {"hidden_size": 4544, "num_attention_heads": 71, "num_hidden_layers": 32},
    "falcon-40b": FALCON
    | {"hidden_size": 8192, "num_attention_heads": 128, "num_hidden_layers": 60, "num_kv_heads": 8}
    | {"new_decoder_architecture": True},
    "starcoder2-15b": config("starcoder2", 40, 6144, 48, 4, 24576, 49152, 16384)
    | {"sliding_window": 4096, "use_bias": True, "tie_word_embeddings": False},
    "qwen2.5-7b as a part of Qwen2.5-VL": {
        "model_type": "qwen2_5_vl",
        "torch_dtype": "bfloat16",
        "vision_config": QWEN_VISION,
        "text_config": config("qwen2_5_vl_text", 28, 3584, 28, 4, 18944, 152064, 32768)
        | {"sliding_window": 32768, "use_sliding_window": False, "max_window_layers": 28},
    },
    "kimi-k2": config("kimi_k2", 61, 7168, 64, 64, 18432, 163840, 131072)
    | LATENT
    | V3_EXPERTS
    | {"n_routed_experts": 384, "q_lora_rank": 1536, "first_k_dense_replace": 1, "topk_method": "noaux_tc"}
    | {"quantization_config": {"quant_method": "fp8"}},
}
"""Published configurations of models that the catalog holds by other sources."""


def read(folder: Path, content: object, naming: Naming = NAMING) -> Model:
    (folder / "config.json").write_text(json.dumps(content), encoding="utf-8")
    return model_of_config(folder, naming, WEIGHT_BITS).model


@pytest.mark.parametrize("name", CONFIGS)
def test_the_row_is_the_catalogs_own(name: str, tmp_path: Path, catalogs: Catalogs) -> None:
    found, known = read(tmp_path, CONFIGS[name]), catalogs.models[name.split(" as ")[0]]
    for field in set(Model.model_fields) - SAID_OTHERWISE:
        if field.endswith("_b"):
            assert getattr(found, field) == pytest.approx(getattr(known, field), rel=2e-4), field
        else:
            assert getattr(found, field) == getattr(known, field), field


PUBLISHED: dict[str, tuple[dict[str, Any], int]] = {
    "tiiuae/falcon-7b": (CONFIGS["falcon-7b"], 6_921_720_704),
    "tiiuae/falcon-40b": (CONFIGS["falcon-40b"], 41_303_293_952),
    "bigcode/starcoder2-3b": (
        config("starcoder2", 30, 3072, 24, 2, 12288, 49152, 16384) | {"sliding_window": 4096},
        3_030_371_328,
    ),
    "bigcode/starcoder2-15b": (CONFIGS["starcoder2-15b"], 15_957_889_024),
    "CohereForAI/c4ai-command-r-v01": (CONFIGS["command-r-35b"], 34_980_831_232),
    "Qwen/Qwen2.5-VL-7B-Instruct": (CONFIGS["qwen2.5-7b as a part of Qwen2.5-VL"], 7_615_616_512 + 676_550_144),
}
"""Published configurations and how many parameters they make, a tied output head counted once."""


@pytest.mark.parametrize("name", PUBLISHED)
def test_parameters_are_counted_to_the_last_one(name: str) -> None:
    content, published = PUBLISHED[name]
    fields = text_fields(Path("config.json"), content)
    decoder = read_decoder(fields, family_of(fields))
    assert decoder.counted().total_params + vision_params(content, decoder.hidden) == published


def test_falcon_says_its_norms_and_keys_in_switches_of_its_own(tmp_path: Path) -> None:
    """Falcon 2 11B: one norm for attention and network, a width of its own, an output head of its own."""
    new = {"new_decoder_architecture": True, "num_kv_heads": 8, "num_ln_in_parallel_attn": 1, "ffn_hidden_size": 16384}
    shape = {"hidden_size": 4096, "num_attention_heads": 32, "num_hidden_layers": 60, "tie_word_embeddings": False}
    assert read(tmp_path, FALCON | new | shape).total_params_b == 11.1028
    own = read(tmp_path, FALCON | shape | {"multi_query": False, "bias": True, "parallel_attn": False})
    assert (own.attention, own.kv_heads) == ("mha", 32)
    with pytest.raises(InputError, match="num_kv_heads: 'eight' is not a whole number"):
        read(tmp_path, FALCON | new | shape | {"num_kv_heads": "eight"})


@pytest.mark.parametrize(
    ("changes", "field", "words"),
    [
        ({"model_type": "reformer"}, "model_type", "'reformer' is not understood (known: afmoe"),
        ({"model_type": "mamba2"}, "model_type", "no layer of 'mamba2' has attention"),
        ({"architectures": "LlamaForCausalLM"}, "architectures", "is not a list of names"),
        ({"model_type": None}, "model_type", "None is not understood"),
        ({"hidden_size": None}, "hidden_size", "is missing"),
        ({"hidden_size": "wide"}, "hidden_size", "is not a whole number from 1"),
        ({"vocab_size": True}, "vocab_size", "is not a whole number from 1"),
        ({"num_key_value_heads": 5}, "num_key_value_heads", "5 does not divide the 32 attention heads"),
        ({"mamba_d_state": 16}, "mamba_d_state", "is not understood in a model of this kind"),
        ({"index_topk": 2048}, "index_topk", "is not understood in a model of this kind"),
        ({"torch_dtype": "float32"}, "torch_dtype", "'float32' is not one of bfloat16, float16 (give --precision)"),
        ({"quantization_config": {"quant_method": "magic"}}, "quantization_config.quant_method", "'magic'"),
        ({"tie_word_embeddings": "no"}, "tie_word_embeddings", "is not true or false"),
    ],
)
def test_what_is_not_understood_is_refused_by_field(
    changes: dict[str, Any], field: str, words: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError) as caught:
        read(tmp_path, CONFIGS["llama-3.1-8b"] | changes)
    (finding,) = caught.value.findings
    assert finding.field == field
    assert words in str(finding)


@pytest.mark.parametrize(("experts", "words"), [(2, "2 of 2 experts work on a token"), (1, "contradict each other")])
def test_experts_that_all_work_are_refused(experts: int, words: str, tmp_path: Path) -> None:
    """Found by the campaign: config 21467."""
    with pytest.raises(InputError, match=words):
        read(tmp_path, CONFIGS["mixtral-8x7b"] | {"num_local_experts": experts, "num_experts_per_tok": experts})


def test_every_missing_field_is_told_at_once(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        read(tmp_path, {"model_type": "minimax_m2", "torch_dtype": "bfloat16"})
    named = {finding.field for finding in caught.value.findings}
    assert named >= {"hidden_size", "num_hidden_layers", "n_routed_experts", "head_dim", "max_position_embeddings"}


def test_a_layer_type_of_another_kind_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="'linear_attention' is not understood"):
        read(tmp_path, CONFIGS["gpt-oss-20b"] | {"layer_types": ["linear_attention", "full_attention"] * 12})


def test_shared_experts_with_a_gate_are_counted(tmp_path: Path) -> None:
    """Qwen2-57B-A14B as published: 57.41 B parameters, 14.25 B of them active."""
    content = config("qwen2_moe", 28, 3584, 28, 4, 18944, 151936, 32768) | {"num_experts": 64, "num_experts_per_tok": 8}
    experts = {"moe_intermediate_size": 2560, "shared_expert_intermediate_size": 20480, "decoder_sparse_step": 1}
    found = read(tmp_path, content | experts)
    assert found.total_params_b == pytest.approx(57.41, abs=0.01)
    assert found.active_params_b == pytest.approx(14.25, abs=0.01)


def test_without_an_output_nothing_is_written(optimizer: Command, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps(CONFIGS["llama-3.1-8b"]))
    said = optimizer("catalog", "add-model", str(tmp_path), "--id", "mine", "--format", "json")
    answer = json.loads(said.out)
    assert answer["written"] == []
    assert answer["read"]["num_hidden_layers"] == "32"
    assert answer["released_gb"] == pytest.approx(16.06, abs=0.01)
    assert [path.name for path in tmp_path.iterdir()] == ["config.json"]


def test_the_written_row_can_be_planned_with(optimizer: Command, tmp_path: Path) -> None:
    folder = tmp_path / "My Model"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(CONFIGS["llama-3.1-8b"]))
    own = tmp_path / "own"
    said = optimizer("catalog", "add-model", str(folder), "--hf-id", "Me/My-Model", "--output", str(own))
    assert said.out.startswith("my-model: 8.03 B parameters\n")
    assert load_catalogs(own).model("me/my-model").kv_bytes_per_token_bf16 == 131072
    second = optimizer("catalog", "add-model", str(folder), "--id", "another", "--output", str(own))
    assert "models.csv (2 rows)" in second.out
    predicted = optimizer(
        *("predict", "--model", "my-model", "--gpu", "h100-sxm", "--precision", "bf16", "--input-tokens", "512"),
        *("--output-tokens", "128", "--concurrency", "4", "--catalogs", str(own)),
    )
    assert predicted.code == 0


def test_a_name_that_is_taken_and_a_folder_without_a_config_are_bad_input(optimizer: Command, tmp_path: Path) -> None:
    taken = optimizer("catalog", "add-model", str(tmp_path), "--id", "llama-3.1-8b", "--output", str(tmp_path / "own"))
    assert (taken.code, "is in the catalog already" in taken.err) == (2, True)
    empty = optimizer("catalog", "add-model", str(tmp_path), "--output", str(tmp_path / "own"))
    assert (empty.code, "config.json: cannot be read" in empty.err) == (2, True)

"""Families of grouped attention and one network for every token."""

from dataclasses import replace
from typing import Final

from optimizer.inputs.importing.hf_config.families.family import ModelFamily

_LLAMA: Final = ModelFamily(bias="as stated", kv_heads_may_be_left_out=True)
_COHERE: Final = ModelFamily(
    bias="as stated",
    qk_norm="width",
    qk_norm_field="use_qk_norm",
    norms=1,
    tied_embeddings=True,
    kv_heads_may_be_left_out=True,
)
_QWEN2: Final = ModelFamily(bias="qkv", window="switched")
_MISTRAL: Final = ModelFamily(window="stated")
_CWM: Final = ModelFamily(window="by layer type")
_GRANITE: Final = ModelFamily(bias="as stated")
_JAIS2: Final = ModelFamily(bias="as stated", norm_bias=True, gated_mlp=False)

DENSE_FAMILIES: Final[dict[str, ModelFamily]] = {
    "apertus": ModelFamily(bias="as stated", qk_norm="head", gated_mlp=False),
    "arcee": ModelFamily(bias="as stated", gated_mlp=False),
    "baichuan": _LLAMA,
    "cohere": _COHERE,
    "cohere2": replace(_COHERE, qk_norm="none", window="alternating", global_every=4),
    "cohere_compass_text": replace(_COHERE, qk_norm="none", window="by layer type"),
    "cosmos3_edge_text": ModelFamily(bias="as stated", gated_mlp=False),
    "cwm": _CWM,
    "ernie4_5": ModelFamily(),
    "exaone4": ModelFamily(qk_norm="head", window="by layer type"),
    "falcon": ModelFamily(
        bias="as stated",
        bias_field="bias",
        mlp_bias_field="bias",
        norm_bias=True,
        gated_mlp=False,
        tied_embeddings=True,
        defaults={"max_position_embeddings": 2048},
    ),
    "gemma": ModelFamily(tied_embeddings=True, head_dim_required=True),
    "gemma2": ModelFamily(norms=4, window="alternating", global_every=2, tied_embeddings=True, head_dim_required=True),
    "gemma3_text": ModelFamily(
        qk_norm="head", norms=4, window="alternating", global_every=6, tied_embeddings=True, head_dim_required=True
    ),
    "gemma3n_text": ModelFamily(
        bias="as stated", qk_norm="head", norms=4, window="by layer type", tied_embeddings=True, head_dim_required=True
    ),
    "glm": ModelFamily(bias="qkv as stated", defaults={"attention_bias": True}),
    "glm4": ModelFamily(bias="qkv as stated", norms=4, defaults={"attention_bias": True}),
    "glm_ocr_text": ModelFamily(norms=4),
    "granite": _GRANITE,
    "granite_swa": ModelFamily(bias="as stated", window="by layer type"),
    "hunyuan_v1_dense": ModelFamily(bias="as stated", qk_norm="head"),
    "internlm2": replace(_LLAMA, bias_field="bias"),
    "internlm3": ModelFamily(bias="qkv as stated", bias_field="qkv_bias", mlp_bias_field="bias"),
    "iquestcoder": _LLAMA,
    "jais2": _JAIS2,
    "llama": _LLAMA,
    "mimo": _QWEN2,
    "minicpm": replace(_LLAMA, tied_embeddings=True),
    "ministral": _CWM,
    "ministral3": _MISTRAL,
    "mistral": _MISTRAL,
    "mllama_text_model": ModelFamily(crossed=True),
    "muse_glimmer_text": ModelFamily(
        bias="as stated", norms=4, window="by layer type", gate="per element", head_dim_required=True
    ),
    "nanochat": ModelFamily(bias="as stated", norms=0, gated_mlp=False),
    "nemotron": _JAIS2,
    "nemotron-nas": ModelFamily(bias="as stated", searched=True),
    "orion": ModelFamily(norm_bias=True, kv_heads_may_be_left_out=True),
    "panguembedded": replace(_LLAMA, bias_field="bias"),
    "olmo": ModelFamily(bias="as stated", norms=0, kv_heads_may_be_left_out=True),
    "olmo2": ModelFamily(bias="as stated", qk_norm="width"),
    "olmo3": ModelFamily(bias="as stated", qk_norm="width", window="by layer type"),
    "phi3": _MISTRAL,
    "phi4mm": replace(_MISTRAL, tied_embeddings=True),
    "qwen2": _QWEN2,
    "qwen3": ModelFamily(bias="as stated", qk_norm="head", window="switched", head_dim_required=True),
    "seed_oss": _GRANITE,
    "smollm3": _LLAMA,
    "solar": _LLAMA,
    "step1": ModelFamily(),
    "telechat2": ModelFamily(
        kv_heads_may_be_left_out=True,
        renamed={
            **{"num_hidden_layers": "n_layer", "num_attention_heads": "n_head"},
            **{"intermediate_size": "ffn_hidden_size", "max_position_embeddings": "seq_length"},
        },
    ),
    "telechat3": _LLAMA,
    "spark2_5": ModelFamily(
        window="by layer type",
        gate="per head",
        gate_field="headwise_attn_output_gate",
        head_dim_required=True,
        defaults={"headwise_attn_output_gate": True},
    ),
    "stablelm": ModelFamily(bias="qkv as stated", bias_field="use_qkv_bias", norm_bias=True),
    "starcoder2": ModelFamily(
        bias="as stated",
        bias_field="use_bias",
        mlp_bias_field="use_bias",
        norm_bias=True,
        gated_mlp=False,
        window="stated",
        tied_embeddings=True,
        defaults={"use_bias": True},
    ),
    "vaultgemma": ModelFamily(
        bias="as stated", window="alternating", global_every=2, tied_embeddings=True, head_dim_required=True
    ),
}

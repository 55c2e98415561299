"""Families of configurations that are understood: what a `model_type` implies without a word in its config.json."""

from dataclasses import replace
from typing import Final

from optimizer.inputs.importing.hf_config.family import ModelFamily
from optimizer.inputs.importing.hf_config.own_words import OWN_WORDS

_DEEPSEEK: Final = ModelFamily(attention="latent", experts="yes")
_SPARSE_DEEPSEEK: Final = ModelFamily(attention="latent", experts="yes", indexed="latent")
_QWEN3: Final = ModelFamily(bias="as stated", qk_norm="head", window="switched", head_dim_may_be_left_out=False)
_QWEN3_MOE: Final = ModelFamily(
    bias="as stated", qk_norm="head", window="switched", experts="yes", head_dim_may_be_left_out=False
)
_QWEN3_NEXT: Final = ModelFamily(
    recurrent="gated delta",
    bias="as stated",
    qk_norm="head",
    gate="per element",
    experts="as stated",
    shared_gate=True,
    head_dim_may_be_left_out=False,
    defaults={"full_attention_interval": 4},
)
_GEMMA3: Final = ModelFamily(
    qk_norm="head",
    norms=4,
    window="alternating",
    global_every=6,
    tied_embeddings=True,
    head_dim_may_be_left_out=False,
)
_COHERE: Final = ModelFamily(
    bias="as stated",
    qk_norm="width",
    qk_norm_field="use_qk_norm",
    norms=1,
    tied_embeddings=True,
    kv_heads_may_be_left_out=True,
)
_BAILING: Final = ModelFamily(
    bias="qkv as stated",
    bias_field="use_qkv_bias",
    mlp_bias_field="use_bias",
    qk_norm="head",
    qk_norm_field="use_qk_norm",
    experts="yes",
)
_LLAMA: Final = ModelFamily(bias="as stated", kv_heads_may_be_left_out=True)
_MISTRAL: Final = ModelFamily(window="stated")
_QWEN2: Final = ModelFamily(bias="qkv", window="switched")
_STEP: Final = ModelFamily(
    qk_norm="head",
    window="by layer type",
    gate="per head",
    experts="yes",
    defaults={"first_k_dense_replace": 3},
)

_GRANITE_MOE: Final = ModelFamily(bias="as stated", experts="as stated")
_MAMBA_WORDS: Final = {
    **{"mamba_num_heads": "mamba_n_heads", "mamba_head_dim": "mamba_d_head", "n_groups": "mamba_n_groups"},
    **{"ssm_state_size": "mamba_d_state", "conv_kernel": "mamba_d_conv", "use_conv_bias": "mamba_conv_bias"},
}

FAMILIES: Final[dict[str, ModelFamily]] = {
    **OWN_WORDS,
    "afmoe": ModelFamily(
        qk_norm="head",
        norms=4,
        window="by layer type",
        gate="per element",
        experts="yes",
        head_dim_may_be_left_out=False,
    ),
    "apertus": ModelFamily(bias="as stated", qk_norm="head", gated_mlp=False),
    "aria_text": ModelFamily(bias="as stated", experts="yes"),
    "arcee": ModelFamily(bias="as stated", gated_mlp=False),
    "axk1": ModelFamily(attention="latent", norms=3, experts="yes"),
    "bailing_hybrid": ModelFamily(
        attention="latent", recurrent="kimi delta", full_rank_deltas=True, gate="per head", experts="yes"
    ),
    "bailing_moe": _BAILING,
    "bailing_moe_v2": _BAILING,
    "baichuan": _LLAMA,
    "bamba": ModelFamily(recurrent="mamba", bias="as stated", renamed=_MAMBA_WORDS),
    "cohere": _COHERE,
    "cohere2": replace(_COHERE, qk_norm="none", window="alternating", global_every=4),
    "cohere2_moe": replace(_COHERE, qk_norm="none", window="by layer type", experts="yes"),
    "cwm": ModelFamily(window="by layer type"),
    "deepseek": ModelFamily(bias="as stated", experts="yes", kv_heads_may_be_left_out=True),
    "glm5_next_text": ModelFamily(attention="latent", recurrent="kimi delta", indexed="latent", experts="yes"),
    "deepseek_v2": _DEEPSEEK,
    "deepseek_v3": _DEEPSEEK,
    "deepseek_v32": _SPARSE_DEEPSEEK,
    "deepseek_v4": ModelFamily(attention="compressed", experts="yes", head_dim_may_be_left_out=False),
    "dots1": ModelFamily(bias="as stated", qk_norm="head", experts="yes"),
    "ernie4_5": ModelFamily(),
    "ernie4_5_moe": ModelFamily(bias="as stated", bias_field="use_bias", mlp_bias_field="use_bias", experts="yes"),
    "exaone_moe": ModelFamily(qk_norm="head", window="by layer type", experts="yes"),
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
    "falcon_h1": ModelFamily(recurrent="mamba", state_beside_attention=True, bias="as stated", renamed=_MAMBA_WORDS),
    "flex_olmo": ModelFamily(bias="as stated", qk_norm="width", experts="yes"),
    "gemma": ModelFamily(tied_embeddings=True, head_dim_may_be_left_out=False),
    "gemma2": ModelFamily(
        norms=4, window="alternating", global_every=2, tied_embeddings=True, head_dim_may_be_left_out=False
    ),
    "gemma3_text": _GEMMA3,
    "gemma4_text": ModelFamily(
        bias="as stated",
        qk_norm="head",
        norms=4,
        window="by layer type",
        experts="as stated",
        dense_beside_experts=True,
        tied_embeddings=True,
        head_dim_may_be_left_out=False,
        defaults={"global_head_dim": 512},
    ),
    "glm": ModelFamily(bias="qkv as stated", defaults={"attention_bias": True}),
    "glm4": ModelFamily(bias="qkv as stated", norms=4, defaults={"attention_bias": True}),
    "glm4_moe": ModelFamily(
        bias="qkv as stated",
        qk_norm="head",
        qk_norm_field="use_qk_norm",
        experts="yes",
        head_dim_may_be_left_out=False,
    ),
    "glm4_moe_lite": _DEEPSEEK,
    "glm_moe_dsa": _SPARSE_DEEPSEEK,
    "gpt_oss": ModelFamily(
        bias="all",
        window="by layer type",
        sinks="all",
        experts="yes",
        expert_bias=True,
        head_dim_may_be_left_out=False,
    ),
    "granite": ModelFamily(bias="as stated"),
    "granite_swa": ModelFamily(bias="as stated", window="by layer type"),
    "granitemoe": _GRANITE_MOE,
    "granitemoe_swa": replace(_GRANITE_MOE, window="by layer type"),
    "granitemoehybrid": replace(_GRANITE_MOE, recurrent="mamba", renamed=_MAMBA_WORDS),
    "granitemoeshared": _GRANITE_MOE,
    "hunyuan_v1_dense": ModelFamily(bias="as stated", qk_norm="head"),
    "hunyuan_v1_moe": ModelFamily(bias="as stated", qk_norm="head", experts="yes"),
    "hy_v3": ModelFamily(bias="as stated", qk_norm="head", experts="yes"),
    "internlm2": replace(_LLAMA, bias_field="bias"),
    "internlm3": ModelFamily(bias="qkv as stated", bias_field="qkv_bias", mlp_bias_field="bias"),
    "iquestcoder": _LLAMA,
    "jais2": ModelFamily(bias="as stated", norm_bias=True, gated_mlp=False),
    "jamba": ModelFamily(recurrent="mamba 1", experts="as stated"),
    "kimi_k2": _DEEPSEEK,
    "kimi_linear": ModelFamily(attention="latent", recurrent="kimi delta", experts="yes"),
    "lfm2": ModelFamily(
        qk_norm="head",
        recurrent="convolution",
        tied_embeddings=True,
        renamed={"intermediate_size": "block_ff_dim"},
        defaults={"block_auto_adjust_ff_dim": True, "block_multiple_of": 256},
    ),
    "lfm2_moe": ModelFamily(qk_norm="head", recurrent="convolution", experts="yes", tied_embeddings=True),
    "llama": _LLAMA,
    "llama4_text": ModelFamily(
        bias="as stated",
        window="chunks",
        global_every=4,
        experts="yes",
        shared_experts=1,
        head_dim_may_be_left_out=False,
    ),
    "mellum": ModelFamily(bias="as stated", qk_norm="head", window="by layer type", experts="yes"),
    "mimo": _QWEN2,
    "mimo_v2_flash": ModelFamily(
        bias="as stated", window="by layer type", sinks="as stated", experts="yes", head_dim_may_be_left_out=False
    ),
    "minimax": ModelFamily(recurrent="lightning", experts="yes"),
    "minimax_m2": ModelFamily(qk_norm="width", experts="yes", head_dim_may_be_left_out=False),
    "minimax_m3": ModelFamily(
        qk_norm="head",
        indexed="blocks",
        gate="per element",
        gate_field="attention_output_gate",
        experts="yes",
        head_dim_may_be_left_out=False,
    ),
    "ministral3": _MISTRAL,
    "minicpm": replace(_LLAMA, tied_embeddings=True),
    "minicpm3": ModelFamily(attention="latent", tied_embeddings=True, defaults={"v_head_dim": 64}),
    "mistral": _MISTRAL,
    "mistral4": _DEEPSEEK,
    "mistral_large4_text": _SPARSE_DEEPSEEK,
    "mixtral": ModelFamily(window="stated", experts="yes"),
    "nemotron-nas": ModelFamily(bias="as stated", searched=True),
    "nemotron": ModelFamily(bias="as stated", norm_bias=True, gated_mlp=False),
    "nemotron_h": ModelFamily(recurrent="mamba", blocks=True, norms=1, gated_mlp=False, experts="as stated"),
    "olmo": ModelFamily(bias="as stated", norms=0, kv_heads_may_be_left_out=True),
    "olmo_hybrid": ModelFamily(recurrent="gated delta", bias="as stated", qk_norm="width"),
    "olmo2": ModelFamily(bias="as stated", qk_norm="width"),
    "olmo3": ModelFamily(bias="as stated", qk_norm="width", window="by layer type"),
    "olmoe": ModelFamily(bias="as stated", qk_norm="width", experts="yes"),
    "phi3": _MISTRAL,
    "phimoe": ModelFamily(
        bias="as stated", norm_bias=True, window="stated", experts="yes", head_bias_field="lm_head_bias"
    ),
    "qwen2": _QWEN2,
    "qwen2_moe": ModelFamily(bias="qkv", window="switched", experts="yes", shared_gate=True),
    "qwen3": _QWEN3,
    "qwen3_5_moe_text": _QWEN3_NEXT,
    "qwen3_5_text": _QWEN3_NEXT,
    "qwen3_moe": _QWEN3_MOE,
    "qwen3_next": _QWEN3_NEXT,
    "sarvam_moe": ModelFamily(bias="as stated", qk_norm="head", qk_norm_field="use_qk_norm", experts="yes"),
    "seed_oss": ModelFamily(bias="as stated"),
    "smollm3": _LLAMA,
    "step3_text": ModelFamily(experts="yes", renamed={"max_position_embeddings": "max_position_embedding"}),
    "solar_open": ModelFamily(bias="as stated", experts="yes"),
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
    "step3p7": _STEP,
    "youtu": ModelFamily(attention="latent", tied_embeddings=True),
}
"""By `model_type`. Source: the modelling code that Hugging Face transformers 5.23.0 runs for each, and that of the
published models for `mimo`, `minimax_m3` and `nemotron-nas`."""

ALSO_CALLED: Final = {
    "apertus1p5_text": "apertus",
    "deepseek_ref": "deepseek_v4",
    "kimi_k25": "kimi_k2",
    "kimi_k3": "kimi_linear",
    "gemma3": "gemma3_text",
    "gemma4": "gemma4_text",
    "gemma4_unified": "gemma4_text",
    "gemma4_unified_text": "gemma4_text",
    "glm4v_moe_text": "glm4_moe",
    "glm4v_text": "glm4",
    "glm5_next": "glm5_next_text",
    "helium": "llama",
    "hyperclovax": "granite",
    "llama4": "llama4_text",
    "minimax_m3_vl_text": "minimax_m3",
    "mistral3": "mistral",
    "mistral_large4": "mistral_large4_text",
    "minimax_text_01": "minimax",
    "minimax_m1": "minimax",
    "nemotron_nas": "nemotron-nas",
    "qwen2_5_omni_text": "qwen2",
    "qwen2_5_vl": "qwen2",
    "qwen2_5_vl_text": "qwen2",
    "qwen2_vl": "qwen2",
    "qwen2_vl_text": "qwen2",
    "qwen3_5": "qwen3_5_text",
    "qwen3_5_moe": "qwen3_5_moe_text",
    "qwen3_omni_moe_text": "qwen3_moe",
    "qwen3_vl_moe_text": "qwen3_moe",
    "qwen3_vl_text": "qwen3",
    "sarvam_mla": "deepseek_v3",
    "step3p5": "step3p7",
}
"""Other names of the same modelling code, and text parts whose own name is left out."""

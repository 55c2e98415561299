"""Families of grouped attention and routed experts."""

from dataclasses import replace
from typing import Final

from optimizer.inputs.importing.hf_config.families.family import ModelFamily

_BAILING: Final = ModelFamily(
    bias="qkv as stated",
    bias_field="use_qkv_bias",
    mlp_bias_field="use_bias",
    qk_norm="head",
    qk_norm_field="use_qk_norm",
    experts="yes",
)
_GRANITE_MOE: Final = ModelFamily(bias="as stated", experts="as stated")
_ARIA_TEXT: Final = ModelFamily(bias="as stated", experts="yes")
_DOTS1: Final = ModelFamily(bias="as stated", qk_norm="head", experts="yes")
_ERNIE_MOE: Final = ModelFamily(bias="as stated", bias_field="use_bias", mlp_bias_field="use_bias", experts="yes")
_FLEX_OLMO: Final = ModelFamily(bias="as stated", qk_norm="width", experts="yes")
_STEP3P7: Final = ModelFamily(
    qk_norm="head", window="by layer type", gate="per head", experts="yes", defaults={"first_k_dense_replace": 3}
)

EXPERT_FAMILIES: Final[dict[str, ModelFamily]] = {
    "afmoe": ModelFamily(
        qk_norm="head", norms=4, window="by layer type", gate="per element", experts="yes", head_dim_required=True
    ),
    "aria_text": _ARIA_TEXT,
    "bailing_moe": _BAILING,
    "bailing_moe_v2": _BAILING,
    "beam": ModelFamily(
        bias="as stated",
        qk_norm="head",
        norms=4,
        window="by layer type",
        gate="per element",
        gate_bias=True,
        experts="yes",
        head_dim_required=True,
    ),
    "cohere2_moe": ModelFamily(
        bias="as stated",
        norms=1,
        window="by layer type",
        experts="yes",
        tied_embeddings=True,
        qk_norm_field="use_qk_norm",
        kv_heads_may_be_left_out=True,
    ),
    "deepseek": ModelFamily(bias="as stated", experts="yes", kv_heads_may_be_left_out=True),
    "dots1": _DOTS1,
    "ernie4_5_moe": _ERNIE_MOE,
    "ernie4_5_vl_moe_text": replace(_ERNIE_MOE, by_modality=True, tied_embeddings=True),
    "exaone_moe": ModelFamily(qk_norm="head", window="by layer type", experts="yes"),
    "flex_olmo": _FLEX_OLMO,
    "flint": ModelFamily(
        bias="as stated", qk_norm="head", window="by layer type", sinks="all", experts="yes", head_dim_required=True
    ),
    "gemma4_text": ModelFamily(
        bias="as stated",
        qk_norm="head",
        norms=4,
        window="by layer type",
        experts="as stated",
        dense_beside_experts=True,
        tied_embeddings=True,
        head_dim_required=True,
        defaults={"global_head_dim": 512},
    ),
    "glm4_moe": ModelFamily(
        bias="qkv as stated", qk_norm="head", qk_norm_field="use_qk_norm", experts="yes", selection_bias=True
    ),
    "gpt_oss": ModelFamily(
        bias="all", window="by layer type", sinks="all", experts="yes", expert_bias=True, head_dim_required=True
    ),
    "granitemoe": _GRANITE_MOE,
    "granitemoe_swa": replace(_GRANITE_MOE, window="by layer type"),
    "granitemoeshared": _GRANITE_MOE,
    "hunyuan_v1_moe": _DOTS1,
    "hy_v3": _DOTS1,
    "inkling_text": ModelFamily(
        qk_norm="head",
        window="by layer type",
        distances=True,
        experts="yes",
        renamed={"sliding_window": "sliding_window_size", "num_nextn_predict_layers": "num_mtp_layers"},
        head_dim_required=True,
    ),
    "inkling2_text": ModelFamily(
        qk_norm="head",
        window="by layer type",
        distances=True,
        gate="per element",
        experts="yes",
        renamed={"sliding_window": "sliding_window_size", "num_nextn_predict_layers": "num_mtp_layers"},
        head_dim_required=True,
    ),
    "iquest_q1": ModelFamily(
        bias="as stated",
        qk_norm="head",
        norms=4,
        window="by layer type",
        experts="yes",
        head_dim_required=True,
        defaults={"mlp_only_layers": [0]},
    ),
    "k2_horizon": ModelFamily(
        bias="as stated",
        qk_norm="head",
        qk_norm_field="query_key_norm",
        gate="per element",
        gate_field="attention_gate_func",
        experts="as stated",
        head_dim_required=True,
    ),
    "kolibri1": ModelFamily(qk_norm="head", norms=4, window="by layer type", experts="yes", head_dim_required=True),
    "laguna": ModelFamily(
        bias="as stated",
        qk_norm="head",
        window="by layer type",
        gate="per head",
        gate_field="gating",
        experts="yes",
        head_dim_required=True,
        defaults={"gating": True, "first_k_dense_replace": 1},
    ),
    "llama4_text": ModelFamily(
        bias="as stated", window="chunks", global_every=4, experts="yes", shared_experts=1, head_dim_required=True
    ),
    "mellum": ModelFamily(bias="as stated", qk_norm="head", window="by layer type", experts="yes"),
    "mimo_v2_flash": ModelFamily(
        bias="as stated",
        window="by layer type",
        windowed_kv_times=2,
        sinks="as stated",
        experts="yes",
        renamed={"sliding_window": "sliding_window_size"},
        head_dim_required=True,
    ),
    "minimax_m2": ModelFamily(qk_norm="width", experts="yes", head_dim_required=True),
    "minimax_m3": ModelFamily(
        qk_norm="head",
        indexed="blocks",
        gate="per element",
        gate_field="attention_output_gate",
        experts="yes",
        head_dim_required=True,
    ),
    "mixtral": ModelFamily(window="stated", experts="yes"),
    "muse_spark_text": ModelFamily(
        bias="as stated",
        norms=5,
        window="by layer type",
        gate="per element",
        experts="yes",
        head_dim_required=True,
    ),
    "olmoe": _FLEX_OLMO,
    "param2moe": _BAILING,
    "phimoe": ModelFamily(
        bias="as stated", norm_bias=True, window="stated", experts="yes", head_bias_field="lm_head_bias"
    ),
    "qwen2_moe": ModelFamily(bias="qkv", window="switched", experts="yes", shared_gate=True),
    "qwen3_moe": ModelFamily(bias="as stated", qk_norm="head", window="switched", experts="yes"),
    "sarvam_moe": ModelFamily(bias="as stated", qk_norm="head", qk_norm_field="use_qk_norm", experts="yes"),
    "solar_open": _ARIA_TEXT,
    "zaya": ModelFamily(
        bias="as stated",
        window="by layer type",
        experts="yes",
        tied_embeddings=True,
        head_bias_field="lm_head_bias",
        head_dim_required=True,
        norms=4,
        norms_field="",
    ),
    "step3_text": ModelFamily(experts="yes", renamed={"max_position_embeddings": "max_position_embedding"}),
    "step3p7": _STEP3P7,
    "step5": replace(_STEP3P7, indexed="blocks", renamed={"max_position_embeddings": "max_seq_len"}),
}

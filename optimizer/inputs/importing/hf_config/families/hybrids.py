"""Families of grouped attention among layers that keep a state, or beside one in every layer."""

from dataclasses import replace
from typing import Final

from optimizer.inputs.importing.hf_config.families.family import ModelFamily

_MAMBA_WORDS: Final = {
    **{"mamba_num_heads": "mamba_n_heads", "mamba_head_dim": "mamba_d_head", "n_groups": "mamba_n_groups"},
    **{"ssm_state_size": "mamba_d_state", "conv_kernel": "mamba_d_conv", "use_conv_bias": "mamba_conv_bias"},
}
_QWEN3_NEXT: Final = ModelFamily(
    recurrent="gated delta",
    bias="as stated",
    qk_norm="head",
    gate="per element",
    experts="as stated",
    shared_gate=True,
    head_dim_required=True,
    defaults={"full_attention_interval": 4},
)
_NEMOTRON_H: Final = ModelFamily(
    recurrent="mamba", blocks=True, norms=1, gated_mlp=False, experts="as stated", selection_bias=True
)
_QWEN4_EXP: Final = replace(_QWEN3_NEXT, norms=0, indexed="blocks")

HYBRID_FAMILIES: Final[dict[str, ModelFamily]] = {
    "alice_ai": ModelFamily(
        recurrent="kimi delta",
        qk_norm="head",
        gate="per element",
        experts="yes",
        shared_gate=True,
        head_dim_required=True,
        renamed={"linear_num_heads": "linear_num_key_heads", "linear_head_dim": "linear_key_head_dim"},
    ),
    "bamba": ModelFamily(recurrent="mamba", bias="as stated", renamed=_MAMBA_WORDS),
    "falcon_h1": ModelFamily(recurrent="mamba", state_beside_attention=True, bias="as stated", renamed=_MAMBA_WORDS),
    "granitemoehybrid": ModelFamily(recurrent="mamba", bias="as stated", experts="as stated", renamed=_MAMBA_WORDS),
    "jamba": ModelFamily(recurrent="mamba 1", experts="as stated"),
    "lara_mini": ModelFamily(
        recurrent="gated delta",
        bias="as stated",
        qk_norm="head",
        window="by layer type",
        experts="yes",
        tied_embeddings=True,
        head_dim_required=True,
    ),
    "lfm2": ModelFamily(
        qk_norm="head",
        recurrent="convolution",
        tied_embeddings=True,
        renamed={"intermediate_size": "block_ff_dim"},
        defaults={"block_auto_adjust_ff_dim": True, "block_multiple_of": 256},
    ),
    "lfm2_moe": ModelFamily(qk_norm="head", recurrent="convolution", experts="yes", tied_embeddings=True),
    "lfm3": ModelFamily(
        bias="as stated",
        qk_norm="head",
        norms_field="use_sandwich_norm",
        recurrent="convolution",
        window="by layer type",
        gate="per head",
        gate_field="use_attention_gate",
        tied_embeddings=True,
        head_dim_required=True,
        defaults={"use_attention_gate": True},
    ),
    "minimax": ModelFamily(recurrent="lightning", experts="yes"),
    "nemotron_h": _NEMOTRON_H,
    "nemotron_h_puzzle": replace(_NEMOTRON_H, by_block=True),
    "olmo_hybrid": ModelFamily(recurrent="gated delta", bias="as stated", qk_norm="width"),
    "qwen3_5_moe_text": _QWEN3_NEXT,
    "qwen3_5_text": _QWEN3_NEXT,
    "qwen3_next": _QWEN3_NEXT,
    "qwen4_exp_text": _QWEN4_EXP,
}

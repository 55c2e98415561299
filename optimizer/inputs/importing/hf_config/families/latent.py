"""Families of latent or compressed attention, some with layers that keep a state."""

from dataclasses import replace
from typing import Final

from optimizer.inputs.importing.hf_config.families.family import ModelFamily

_DEEPSEEK: Final = ModelFamily(attention="latent", experts="yes")
_SPARSE_DEEPSEEK: Final = ModelFamily(attention="latent", experts="yes", indexed="latent")
_DEEPSEEK_V4: Final = ModelFamily(attention="compressed", experts="yes", head_dim_required=True)

LATENT_FAMILIES: Final[dict[str, ModelFamily]] = {
    "axk1": ModelFamily(attention="latent", norms=3, experts="yes"),
    "axk2": ModelFamily(attention="latent", indexed="latent", gate="from the latent query", experts="yes"),
    "bailing_hybrid": ModelFamily(
        attention="latent",
        recurrent="kimi delta",
        full_rank_deltas=True,
        gate="per head",
        gate_field="gated_attention_proj_granularity_type",
        experts="yes",
        defaults={"gated_attention_proj_granularity_type": "head_wise"},
    ),
    "deepseek_v2": _DEEPSEEK,
    "deepseek_v3": _DEEPSEEK,
    "deepseek_v32": _SPARSE_DEEPSEEK,
    "deepseek_v4": _DEEPSEEK_V4,
    "deepseek_v41_text": _DEEPSEEK_V4,
    "dots3_note": ModelFamily(
        attention="latent",
        indexed="latent",
        window="by layer type",
        gate="per head",
        gate_field="attention_gate_type",
        experts="yes",
        renamed={"sliding_window": "sliding_window_size", "n_shared_experts": "num_shared_experts"},
        defaults={
            **{"attention_gate_type": "headwise", "first_k_dense_replace": 1, "num_nextn_predict_layers": 1},
            **{"swa_num_attention_heads": 64, "swa_q_lora_rank": 1024, "swa_kv_lora_rank": 1024},
            **{"swa_qk_nope_head_dim": 192, "swa_qk_rope_head_dim": 64, "swa_v_head_dim": 128},
        },
    ),
    "gigachat3_5": ModelFamily(
        attention="latent",
        recurrent="gated delta",
        norms=4,
        gate="per element",
        gate_field="gated_attention",
        experts="yes",
        defaults={"gated_attention": True},
    ),
    "glm4_moe_lite": _DEEPSEEK,
    "glm5_next_text": ModelFamily(attention="latent", recurrent="kimi delta", indexed="latent", experts="yes"),
    "glm_moe_dsa": _SPARSE_DEEPSEEK,
    "hy_v4": replace(_SPARSE_DEEPSEEK, indexed="latent as listed", gate="per element"),
    "kimi_k2": _DEEPSEEK,
    "kimi_linear": ModelFamily(attention="latent", recurrent="kimi delta", experts="yes"),
    "longcat_flash": ModelFamily(
        attention="latent",
        layers_in_one=2,
        experts="yes",
        renamed={
            **{"num_hidden_layers": "num_layers", "intermediate_size": "ffn_hidden_size"},
            "shared_expert_intermediate_size": "ffn_hidden_size",
            "moe_intermediate_size": "expert_ffn_hidden_size",
        },
    ),
    "minicpm3": ModelFamily(attention="latent", tied_embeddings=True, defaults={"v_head_dim": 64}),
    "mistral4": _DEEPSEEK,
    "mistral_large4_text": _SPARSE_DEEPSEEK,
    "pangu_ultra_moe": ModelFamily(attention="latent", experts="yes", norms_field="sandwich_norm"),
    "youtu": ModelFamily(attention="latent", tied_embeddings=True),
}

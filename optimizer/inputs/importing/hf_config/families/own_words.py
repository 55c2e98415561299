"""Families that call their fields what GPT-2, MPT or ChatGLM called them, and what they imply."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from optimizer.inputs.importing.hf_config.families.family import ModelFamily

GPT_2_WORDS: Final[Mapping[str, str]] = {
    "hidden_size": "n_embd",
    "num_hidden_layers": "n_layer",
    "num_attention_heads": "n_head",
    "intermediate_size": "n_inner",
    "max_position_embeddings": "n_positions",
}
_MPT_WORDS: Final[Mapping[str, str]] = {
    "hidden_size": "d_model",
    "num_hidden_layers": "n_layers",
    "num_attention_heads": "n_heads",
    "num_key_value_heads": "attn_config.kv_n_heads",
    "max_position_embeddings": "max_seq_len",
}
_GPT_2: Final = ModelFamily(
    bias="all",
    norm_bias=True,
    gated_mlp=False,
    tied_embeddings=True,
    kv_heads_may_be_left_out=True,
    absolute_positions=0,
    widening=4,
    renamed=GPT_2_WORDS,
    defaults={"mlp_bias": True},
)
_GPT_J: Final = replace(
    _GPT_2,
    bias="none",
    norms=1,
    tied_embeddings=False,
    absolute_positions=None,
    head_bias_field="lm_head_bias",
    defaults={"mlp_bias": True, "lm_head_bias": True},
)
_PHI: Final = ModelFamily(
    bias="all",
    norms=1,
    norm_bias=True,
    gated_mlp=False,
    kv_heads_may_be_left_out=True,
    head_bias_field="lm_head_bias",
    defaults={"mlp_bias": True, "lm_head_bias": True},
)

OWN_WORDS: Final[dict[str, ModelFamily]] = {
    "bloom": replace(
        _GPT_2,
        absolute_positions=None,
        renamed={
            **{"hidden_size": "n_embed", "num_hidden_layers": "n_layer", "num_attention_heads": "n_head"},
            "max_position_embeddings": "seq_length",
        },
        defaults={"mlp_bias": True, "max_position_embeddings": 2048},
    ),
    "chatglm": ModelFamily(
        bias="qkv as stated",
        bias_field="add_qkv_bias",
        mlp_bias_field="add_bias_linear",
        renamed={
            **{"num_hidden_layers": "num_layers", "intermediate_size": "ffn_hidden_size", "head_dim": "kv_channels"},
            **{"num_key_value_heads": "multi_query_group_num", "vocab_size": "padded_vocab_size"},
            "max_position_embeddings": "seq_length",
        },
    ),
    "codegen": _GPT_J,
    "dbrx": ModelFamily(
        experts="yes",
        renamed={
            **_MPT_WORDS,
            "intermediate_size": "ffn_config.ffn_hidden_size",
            "num_experts": "ffn_config.moe_num_experts",
            "num_experts_per_tok": "ffn_config.moe_top_k",
        },
    ),
    "exaone": ModelFamily(renamed={"num_hidden_layers": "num_layers"}),
    "gpt2": _GPT_2,
    "gpt_bigcode": _GPT_2,
    "gpt_neox": ModelFamily(
        bias="as stated",
        norm_bias=True,
        gated_mlp=False,
        kv_heads_may_be_left_out=True,
        defaults={"attention_bias": True, "mlp_bias": True},
    ),
    "gptj": _GPT_J,
    "mpt": ModelFamily(
        gated_mlp=False,
        tied_embeddings=True,
        kv_heads_may_be_left_out=True,
        widening=4,
        renamed=_MPT_WORDS,
    ),
    "opt": ModelFamily(
        bias="as stated",
        bias_field="enable_bias",
        norm_bias=True,
        gated_mlp=False,
        tied_embeddings=True,
        kv_heads_may_be_left_out=True,
        absolute_positions=2,
        renamed={"intermediate_size": "ffn_dim"},
        defaults={"enable_bias": True, "mlp_bias": True},
    ),
    "phi": _PHI,
    "qwen": ModelFamily(
        bias="qkv",
        kv_heads_may_be_left_out=True,
        stated_width_of=2,
        renamed={"head_dim": "kv_channels", "max_position_embeddings": "seq_length"},
    ),
}
"""By `model_type`. Source: Hugging Face transformers 5.24.0; the models' own code for `chatglm` and `qwen`."""

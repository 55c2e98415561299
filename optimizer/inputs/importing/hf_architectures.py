"""Architectures of Hugging Face configurations that are understood: weights that no shape tells of."""

from dataclasses import dataclass
from typing import Final, Literal

Bias = Literal["none", "qkv", "as stated", "all"]
QkNorm = Literal["none", "head", "width"]
Window = Literal["none", "stated", "switched", "alternating", "by layer type"]
Experts = Literal["none", "local", "qwen", "deepseek"]


@dataclass(frozen=True)
class Architecture:
    """What a `model_type` implies and its config.json does not spell out.

    Attributes:
        attention_bias: Which attention projections have a bias: none, query/key/value, all, or all where the field
            `attention_bias` says so.
        qk_norm: Norm over queries and keys: one scale per element of a head, or of the whole projection.
        norms_per_layer: Scales as wide as the hidden state in each layer.
        window: Where a sliding window applies: nowhere; on all layers when `sliding_window` is set; as `switched`
            by `use_sliding_window`; on all but every n-th layer; as `layer_types` lists.
        global_every: With alternating windows, every n-th layer sees the whole context.
        experts: How experts are described: not at all, `num_local_experts`, as Qwen or as DeepSeek does.
        latent: Multi-head latent attention.
        tied_embeddings: Where `tie_word_embeddings` is not stated.
        kv_heads_may_be_left_out: Whether no `num_key_value_heads` means one per attention head.
        head_dim_may_be_left_out: Whether no `head_dim` means that the heads divide the hidden state.
    """

    attention_bias: Bias = "none"
    qk_norm: QkNorm = "none"
    norms_per_layer: int = 2
    window: Window = "none"
    global_every: int = 0
    experts: Experts = "none"
    latent: bool = False
    tied_embeddings: bool = False
    kv_heads_may_be_left_out: bool = False
    head_dim_may_be_left_out: bool = True


ARCHITECTURES: Final[dict[str, Architecture]] = {
    "deepseek_v2": Architecture(experts="deepseek", latent=True),
    "deepseek_v3": Architecture(experts="deepseek", latent=True),
    "gemma2": Architecture(
        norms_per_layer=4, window="alternating", global_every=2, tied_embeddings=True, head_dim_may_be_left_out=False
    ),
    "gemma3_text": Architecture(
        qk_norm="head",
        norms_per_layer=4,
        window="alternating",
        global_every=6,
        tied_embeddings=True,
        head_dim_may_be_left_out=False,
    ),
    "gpt_oss": Architecture(
        attention_bias="all", window="by layer type", experts="local", head_dim_may_be_left_out=False
    ),
    "granite": Architecture(attention_bias="as stated"),
    "kimi_k2": Architecture(experts="deepseek", latent=True),
    "llama": Architecture(attention_bias="as stated", kv_heads_may_be_left_out=True),
    "mistral": Architecture(window="stated"),
    "mixtral": Architecture(window="stated", experts="local"),
    "olmo2": Architecture(attention_bias="as stated", qk_norm="width"),
    "phi3": Architecture(window="stated"),
    "qwen2": Architecture(attention_bias="qkv", window="switched"),
    "qwen2_moe": Architecture(attention_bias="qkv", window="switched", experts="qwen"),
    "qwen3": Architecture(
        attention_bias="as stated", qk_norm="head", window="switched", head_dim_may_be_left_out=False
    ),
    "qwen3_moe": Architecture(
        attention_bias="as stated", qk_norm="head", window="switched", experts="qwen", head_dim_may_be_left_out=False
    ),
}
"""By `model_type`. Source: the modelling code that Hugging Face transformers 5.23.0 runs for each."""

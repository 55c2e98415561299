"""What a decoder keeps of a sequence, as columns of the catalog."""

from typing import Final

from optimizer.inputs.importing.hf_config.decoder.kinds import window_field
from optimizer.inputs.importing.hf_config.decoder.mixers import COMPRESSION
from optimizer.inputs.importing.hf_config.families.family import ModelFamily
from optimizer.inputs.importing.hf_config.fields import Fields
from optimizer.inputs.importing.hf_config.layers.attention import (
    CompressedAttention,
    GroupedAttention,
    LatentAttention,
    SideBySide,
)
from optimizer.inputs.importing.hf_config.layers.stack import Decoder, Kept

HYBRIDS: Final = {
    "gated delta": "hybrid-gated-deltanet",
    "kimi delta": "hybrid-kda-mla",
    "mamba": "hybrid-mamba2",
    "mamba 1": "hybrid-mamba",
    "lightning": "hybrid-lightning",
    "convolution": "hybrid-convolution",
}
"""The catalog's words for attention beside layers that keep a state."""


def cache_columns(fields: Fields, family: ModelFamily, decoder: Decoder) -> dict[str, object]:
    """What the layers keep of a sequence, and the shape of the attention that keeps it."""
    kept = decoder.kept()
    each = [layer.kept() for layer in decoder.layers]
    whole = 0 if family.attention == "compressed" else sum(one.token > 0 for one in each)
    caching = [one for one in each if one.token or one.window_token]
    partly = 0 < kept.sparse_token < kept.token
    return {
        **_heads(decoder),
        "attention": _attention_name(family, decoder),
        "sliding_window_tokens": fields.count(window_field(family)) if kept.window_token else None,
        "sparse_attention_tokens": _sparse_tokens(fields, family) if kept.sparse_token else None,
        "kv_cache_layers": len(caching),
        "global_attention_layers": whole,
        "kv_bytes_per_token_bf16": kept.token + kept.window_token,
        "window_kv_bytes_per_token_bf16": kept.window_token if _uneven(caching) else None,
        "sparse_kv_bytes_per_token_bf16": kept.sparse_token if partly else None,
        "indexer_bytes_per_token": kept.index_token,
        "indexer_flops_per_token_pair": kept.index_flops,
        "linear_state_bytes_per_sequence": kept.state,
    }


def _uneven(caching: list[Kept]) -> bool:
    """Whether windowed layers keep more or less of a token than the others, or layers keep both ways."""
    windowed = any(one.window_token for one in caching)
    return windowed and (
        len({one.token + one.window_token for one in caching}) > 1
        or any(one.token for one in caching if one.window_token)
    )


def _sparse_tokens(fields: Fields, family: ModelFamily) -> int:
    """How many tokens a query sees: what an indexer picks, each pick standing for a block or for compressed tokens."""
    if family.indexed == "blocks":
        if fields.get("indexer_budget") is not None:
            return fields.count("indexer_budget")
        regions = fields.group("sparse_config")
        if regions.content:
            return regions.count("topk", missing=512) * regions.count("region_block_size", missing=8)
        blocks = fields.group("sparse_attention_config")
        return blocks.count("sparse_topk_blocks") * blocks.count("sparse_block_size")
    if fields.get("kv_source_layer_ids") is not None:
        return fields.count("index_topk") * int(max(fields.get("compress_ratios")))
    behind_one = COMPRESSION["compressed_sparse_attention"] if family.attention == "compressed" else 1
    return fields.count("index_topk") * behind_one


def _heads(decoder: Decoder) -> dict[str, object]:
    """Heads of the attention that most layers have; those of the layers that see all, where they differ."""
    mixers = [layer.mixer for layer in decoder.layers]
    found = [mixer.attention if isinstance(mixer, SideBySide) else mixer for mixer in mixers]
    grouped = [mixer for mixer in found if isinstance(mixer, GroupedAttention)]
    for mixer in found:
        if isinstance(mixer, LatentAttention):
            head_dim = mixer.qk_nope_head_dim + mixer.qk_rope_head_dim
            ranks = {name: getattr(mixer, name) or None for name in ("kv_lora_rank", "q_lora_rank")}
            rope = {"qk_rope_head_dim": mixer.qk_rope_head_dim}
            return {"attention_heads": mixer.heads, "kv_heads": mixer.heads, "head_dim": head_dim, **ranks, **rope}
        if isinstance(mixer, CompressedAttention):
            ranks = {"kv_lora_rank": mixer.head_dim, "q_lora_rank": mixer.q_lora_rank, "qk_rope_head_dim": 0}
            return {"attention_heads": mixer.heads, "kv_heads": 1, "head_dim": mixer.head_dim, **ranks}
    usual = next((mixer for mixer in grouped if mixer.windowed), grouped[0] if grouped else None)
    far = next((mixer for mixer in grouped if not mixer.windowed), usual)
    if usual is None or far is None:
        return {}
    return {
        "attention_heads": usual.heads,
        "kv_heads": usual.kv_heads,
        "head_dim": usual.head_dim,
        "global_kv_heads": far.kv_heads if far.kv_heads != usual.kv_heads else None,
        "global_head_dim": far.head_dim if far.head_dim != usual.head_dim else None,
    }


def _attention_name(family: ModelFamily, decoder: Decoder) -> str:
    """The catalog's word for the form of attention."""
    kept = decoder.kept()
    if kept.state:
        latent = any(isinstance(layer.mixer, LatentAttention) for layer in decoder.layers)
        return HYBRIDS[family.recurrent] if latent or family.recurrent != "kimi delta" else "hybrid-kda"
    if family.attention == "compressed":
        return "mqa-compressed"
    if any(isinstance(layer.mixer, LatentAttention) for layer in decoder.layers):
        return "mla-dsa" if kept.sparse_token else "mla-swa" if kept.window_token else "mla"
    heads = _heads(decoder)
    kind = "mha" if heads["kv_heads"] == heads["attention_heads"] else "mqa" if heads["kv_heads"] == 1 else "gqa"
    if kept.sparse_token:
        return f"{kind}-sparse"
    if not kept.window_token:
        return kind
    return f"{kind}-chunked" if family.window == "chunks" else f"{kind}-swa"

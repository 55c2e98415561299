"""The mixer of a layer, read from a configuration in the words of each family."""

from typing import Any, Final

from optimizer.inputs.importing.hf_config.decoder.kinds import MixerKind, sharing_layers, window_field
from optimizer.inputs.importing.hf_config.families.family import ModelFamily
from optimizer.inputs.importing.hf_config.fields import Fields
from optimizer.inputs.importing.hf_config.layers.attention import (
    CompressedAttention,
    Gate,
    GroupedAttention,
    Indexer,
    LatentAttention,
    SharedCompression,
    SideBySide,
)
from optimizer.inputs.importing.hf_config.layers.recurrent import (
    STATE_BYTES,
    GatedDeltaNet,
    KimiDeltaAttention,
    LightningAttention,
    Mamba1,
    Mamba2,
    ShortConvolution,
)
from optimizer.inputs.importing.hf_config.layers.stack import Mixer

COMPRESSION = {"sliding_attention": 0, "compressed_sparse_attention": 4, "heavily_compressed_attention": 128}
"""Tokens behind one compressed key, by the names of DeepSeek-V4's layers."""
GATES: Final[dict[str, Gate]] = {
    **dict.fromkeys(("per-head", "headwise", "head_wise"), "per head"),
    **dict.fromkeys(("per-element", "elementwise", "element_wise", "softplus", "sigmoid"), "per element"),
}
"""What a configuration calls the gate on attention's output."""
HEADS_BY_LAYER: Final = "num_attention_heads_per_layer"
BYTES_OF_TYPE = {"float32": 4, "bfloat16": 2, "float16": 2}


def read_mixer(fields: Fields, family: ModelFamily, kind: MixerKind, at: int) -> Mixer | None:
    """What lets tokens of layer `at` see those before them."""
    if kind == "none":
        return None
    if kind == "state":
        return _recurrent(fields, family)
    if family.attention == "latent" and fields.flag("use_mla", missing=True):
        return _latent(fields, family, at, windowed=kind == "window")
    if family.attention == "compressed":
        return _compressed(fields, at)
    attention = _grouped(fields, family, kind, at)
    return SideBySide(attention, _recurrent(fields, family)) if family.state_beside_attention else attention


def _grouped(fields: Fields, family: ModelFamily, kind: MixerKind, at: int) -> GroupedAttention:
    windowed = kind == "window"
    heads, kv_heads, head_dim, value_dim = _grouped_dims(fields, family, at, windowed=windowed)
    stated_bias = "as stated" in family.bias and fields.flag(family.bias_field, missing=False)
    everywhere = family.bias == "all" or (family.bias == "as stated" and stated_bias)
    normed = not family.qk_norm_field or fields.flag(family.qk_norm_field, missing=False)
    indexer = _chosen_blocks(fields, at) if family.indexed == "blocks" and not windowed else None
    stated = fields.flag("add_swa_attention_sink_bias" if windowed else "add_full_attention_sink_bias", missing=False)
    return GroupedAttention(
        heads=heads,
        kv_heads=kv_heads,
        head_dim=head_dim,
        value_dim=value_dim,
        bias=everywhere or stated_bias or family.bias == "qkv",
        output_bias=everywhere,
        qk_norm=family.qk_norm if normed else "none",
        gate=_gate(fields, family),
        gate_bias=family.gate_bias,
        value_is_key=not windowed and fields.flag("attention_k_eq_v", missing=False),
        own_cache=at < fields.count("num_hidden_layers", missing=at + 1) - sharing_layers(fields),
        sinks=family.sinks == "all" or (family.sinks == "as stated" and stated),
        windowed=windowed,
        sparse=indexer is not None,
        indexer=indexer,
        query_rank=fields.count("share_q_dim", missing=0),
        distance_dim=fields.count("d_rel") if family.distances else 0,
        distances=fields.count(window_field(family) if windowed else "rel_extent") if family.distances else 0,
        mixing_kernel=fields.count("cca_time1", missing=0),
        kernel=fields.count("sconv_kernel_size", "conv_kernel_size") if family.distances else 0,
    )


def _gate(fields: Fields, family: ModelFamily) -> Gate:
    """The gate on attention's output: the family's, or as a field of it says by yes, no or name."""
    stated = fields.get(family.gate_field) if family.gate_field else True
    if stated in (None, False):
        return "none"
    if stated is not True and stated not in GATES:
        fields.refuse(family.gate_field, f"{stated!r} is not understood", f"known: {', '.join(GATES)}")
    return family.gate if stated is True else GATES.get(str(stated), "none")


def _grouped_dims(fields: Fields, family: ModelFamily, at: int, *, windowed: bool) -> tuple[int, int, int, int]:
    """Heads, KV heads, and the widths of a key and a value; some models have other ones in windowed layers."""
    hidden = fields.count("hidden_size")
    heads, own = fields.count("num_attention_heads"), fields.per_layer(HEADS_BY_LAYER, layers=at + 1)
    heads = heads if own is None else fields.whole(HEADS_BY_LAYER, own[at])
    left_out = heads if family.kv_heads_may_be_left_out else None
    left_out = 1 if fields.flag("multi_query", missing=False) else left_out
    kv_heads = fields.count("num_key_value_heads", "num_attention_groups", missing=left_out)
    head_dim = fields.count(
        "head_dim", "attention_head_dim", missing=None if family.head_dim_required else hidden // heads
    )
    stated_value_dim = fields.count("v_head_dim", least=0, missing=0)
    value_dim = stated_value_dim or head_dim
    if windowed:
        other = fields.group("attention_other_setting")
        heads = other.count("num_attention_heads", missing=fields.count("swa_num_attention_heads", missing=heads))
        kv_heads = fields.count("swa_num_key_value_heads", missing=family.windowed_kv_times * kv_heads)
        head_dim = fields.count("swa_head_dim", missing=head_dim)
        value_dim = fields.count("swa_v_head_dim", missing=stated_value_dim or head_dim)
    elif family.window == "by layer type":
        kv_heads = fields.count("num_global_key_value_heads", missing=kv_heads)
        wide = fields.count("global_head_dim", missing=head_dim)
        head_dim, value_dim = wide, wide if wide != head_dim else value_dim
    if heads % kv_heads:
        fields.refuse("num_key_value_heads", f"{kv_heads} does not divide the {heads} attention heads")
    return heads, kv_heads, head_dim, value_dim


def _chosen_blocks(fields: Fields, at: int) -> Indexer | None:
    """An indexer over blocks of tokens, on the layers that state one, in the words of each family.

    Source: vLLM 0.33's `minimax_m3`, `step5` and `qwen4_exp`.
    """
    hidden = fields.count("hidden_size")
    regions = fields.group("sparse_config")
    if fields.get("indexer_budget") is not None:
        ratio = fields.count("indexer_compress_ratio", missing=1)
        heads, width = fields.count("indexer_n_heads"), fields.count("indexer_head_dim")
        return Indexer(heads, width, hidden, weighted_heads=False, quantized_keys=False, ratio=ratio)
    if regions.content:
        if not regions.flag("enabled", missing=True):
            return None
        heads, width = regions.count("sparse_indexer_num_heads"), regions.count("proxy_dim", missing=256)
        size = regions.count("region_block_size", missing=8)
        return Indexer(heads, width, hidden, weighted_heads=False, quantized_keys=False, pool=size, ratio=size)
    sparse = fields.group("sparse_attention_config")
    where = sparse.get("sparse_attention_freq")
    if not sparse.flag("use_sparse_attention", missing=False):
        return None
    if isinstance(where, list) and at < len(where) and not where[at]:
        return None
    heads, width = sparse.count("sparse_num_index_heads"), sparse.count("sparse_index_dim")
    return Indexer(heads, width, hidden, weighted_heads=False, quantized_keys=False)


def _latent(fields: Fields, family: ModelFamily, at: int, *, windowed: bool) -> LatentAttention:
    """Latent attention; windowed layers may have ranks, heads and widths of their own, and no indexer chooses there."""

    def own(name: str, **limits: int) -> int:
        whole = fields.count(name, **limits)
        return fields.count(f"swa_{name}", missing=whole, **{"least": limits.get("least", 1)}) if windowed else whole

    rank = own("q_lora_rank", missing=0, least=0)
    listed = family.indexed == "latent as listed"
    indexed = not windowed and (listed or family.indexed == "latent") and fields.get("index_topk") is not None
    types = fields.get("indexer_types") or []
    if listed and not types:
        fields.refuse("indexer_types", "is missing")
    has_indexer = indexed and not (at < len(types) and types[at] == "shared")
    # keys and values of all heads come from the latent, however many are stated
    fields.get("swa_num_key_value_heads")
    return LatentAttention(
        heads=own("num_attention_heads"),
        kv_lora_rank=own("kv_lora_rank"),
        q_lora_rank=rank,
        qk_nope_head_dim=own("qk_nope_head_dim"),
        qk_rope_head_dim=own("qk_rope_head_dim", least=0),
        v_head_dim=own("v_head_dim"),
        gate="per element" if fields.flag("mla_use_output_gate", missing=False) else _gate(fields, family),
        windowed=windowed,
        sparse=indexed,
        indexer=_indexer(fields, rank) if has_indexer else None,
    )


def _indexer(fields: Fields, rank: int) -> Indexer:
    """An indexer whose queries come from the latent query, or from the hidden state where there is none."""
    width = rank or fields.count("hidden_size")
    pool = fields.count("index_kpool", missing=0)
    return Indexer(fields.count("index_n_heads"), fields.count("index_head_dim"), width, pool=pool)


def _compressed(fields: Fields, at: int) -> CompressedAttention:
    if fields.get("kv_source_layer_ids") is not None:
        return _shared_compression(fields, at)
    ratio = _ratio(fields, at)
    return CompressedAttention(**_compression(fields, ratio, ratio == COMPRESSION["compressed_sparse_attention"]))


def _compression(fields: Fields, ratio: int, sparse: bool) -> dict[str, Any]:
    """What attention over compressed keys is told by, whoever compresses them."""
    return {
        "heads": fields.count("num_attention_heads"),
        "head_dim": fields.count("head_dim"),
        "q_lora_rank": fields.count("q_lora_rank"),
        "output_groups": fields.count("o_groups"),
        "output_rank": fields.count("o_lora_rank"),
        "ratio": ratio,
        "sparse": sparse,
        "index_heads": fields.count("index_n_heads") if sparse else 0,
        "index_dim": fields.count("index_head_dim") if sparse else 0,
    }


def _shared_compression(fields: Fields, at: int) -> SharedCompression:
    """Attention over keys that a layer before may have compressed, chosen as a layer before may have chosen."""
    ratios = fields.get("compress_ratios")
    if not isinstance(ratios, list) or len(ratios) < fields.count("num_hidden_layers"):
        fields.refuse("compress_ratios", "is missing" if ratios is None else "does not say it of every layer")
        ratios = []
    # prediction heads stand behind the last layer and have none
    ratio = int(ratios[at]) if at < len(ratios) else 0
    # blocks that later indexers look into are as far as the first one sees
    fields.get("candidate_source_layer_id")
    sparse = at in (fields.get("index_source_layer_ids") or ())
    compresses = ratio > 0 and at in fields.get("kv_source_layer_ids")
    return SharedCompression(**_compression(fields, ratio, sparse), compresses=compresses)


def _ratio(fields: Fields, at: int) -> int:
    """Tokens behind one compressed key of this layer; prediction heads have none."""
    named = fields.get("layer_types", "compress_ratios")
    if not isinstance(named, list):
        fields.refuse("compress_ratios", "is missing")
        return 0
    each = named[at] if at < len(named) else 0
    ratio = COMPRESSION.get(each, each) if isinstance(each, str) else each
    if ratio not in COMPRESSION.values():
        fields.refuse(fields.stated("layer_types", "compress_ratios"), f"{each!r} is not understood")
        return 0
    return int(ratio)


def _recurrent(fields: Fields, family: ModelFamily) -> Mixer:
    if family.recurrent == "gated delta":
        return GatedDeltaNet(
            key_heads=fields.count("linear_num_key_heads"),
            value_heads=fields.count("linear_num_value_heads"),
            key_dim=fields.count("linear_key_head_dim"),
            value_dim=fields.count("linear_value_head_dim"),
            kernel=fields.count("linear_conv_kernel_dim"),
            state_bytes=_bytes_of(fields, "mamba_ssm_dtype"),
        )
    if family.recurrent == "kimi delta":
        # attention over the outputs of earlier blocks adds vectors, no matrices
        fields.get("attn_res_block_size")
        linear = fields.group("linear_attn_config")
        # Ling's have as many heads of a width as its attention where nothing is said of their own
        alike = ("num_attention_heads", "head_dim") if family.full_rank_deltas else ("", "")
        return KimiDeltaAttention(
            heads=linear.count("num_heads", missing=fields.get("linear_num_heads", alike[0])),
            head_dim=linear.count("head_dim", missing=fields.get("linear_head_dim", alike[1])),
            kernel=linear.count(
                "short_conv_kernel_size", missing=fields.get("linear_conv_kernel_dim", "short_conv_kernel_size")
            ),
            full_rank_gate=family.full_rank_deltas or linear.flag("use_full_rank_gate", missing=False),
            full_rank_forgetting=family.full_rank_deltas,
        )
    if family.recurrent == "mamba":
        return _mamba(fields)
    if family.recurrent == "mamba 1":
        return _mamba_1(fields)
    if family.recurrent == "lightning":
        heads = fields.count("num_attention_heads")
        return LightningAttention(heads, fields.count("head_dim", missing=fields.count("hidden_size") // heads))
    width = fields.count("conv_dim", missing=fields.count("hidden_size"))
    return ShortConvolution(fields.count("conv_L_cache"), width, fields.flag("conv_bias", missing=False))


def _mamba(fields: Fields) -> Mamba2:
    return Mamba2(
        heads=fields.count("mamba_num_heads"),
        head_dim=fields.count("mamba_head_dim"),
        groups=fields.count("n_groups"),
        state=fields.count("ssm_state_size"),
        kernel=fields.count("conv_kernel"),
        bias=fields.flag("mamba_proj_bias", missing=False) or fields.flag("use_bias", missing=False),
        convolution_bias=fields.flag("use_conv_bias", missing=True),
        state_bytes=_bytes_of(fields, "mamba_ssm_cache_dtype"),
    )


def _mamba_1(fields: Fields) -> Mamba1:
    hidden = fields.count("hidden_size")
    rank = fields.get("mamba_dt_rank")
    return Mamba1(
        inner=fields.count("mamba_expand") * hidden,
        state=fields.count("mamba_d_state"),
        kernel=fields.count("mamba_d_conv"),
        rank=-(-hidden // 16) if rank in (None, "auto") else fields.count("mamba_dt_rank"),
        bias=fields.flag("mamba_proj_bias", missing=False),
        convolution_bias=fields.flag("mamba_conv_bias", missing=True),
    )


def _bytes_of(fields: Fields, name: str) -> int:
    """Bytes of a number in a recurrent state."""
    stated = fields.get(name)
    if stated is not None and stated not in BYTES_OF_TYPE:
        fields.refuse(name, f"'{stated}' is not one of {', '.join(BYTES_OF_TYPE)}")
    return BYTES_OF_TYPE.get(str(stated), STATE_BYTES)

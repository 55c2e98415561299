"""Which layers see the whole context, which a window, which keep a state, and which hold experts."""

from collections.abc import Sequence
from typing import Final, Literal

from optimizer.inputs.importing.hf_config.families.family import ModelFamily
from optimizer.inputs.importing.hf_config.fields import Fields

MixerKind = Literal["full", "window", "state", "none"]
FeedForwardKind = Literal["dense", "experts", "none"]
Kind = tuple[MixerKind, FeedForwardKind]

MIXER_NAMES: Final[dict[str, MixerKind]] = {
    "full_attention": "full",
    "attention": "full",
    "indexed_attention": "full",
    "deepseek_sparse_attention": "full",
    "qwen_sparse_attention": "full",
    "sparse_attention": "full",
    "sliding_attention": "window",
    "chunked_attention": "window",
    "hybrid": "full",
    "hybrid_sliding": "window",
    "linear_attention": "state",
    "conv": "state",
    "mamba": "state",
}
"""Entries of `layer_types`."""
BLOCKS: Final[dict[str, Kind]] = {
    "M": ("state", "none"),
    "*": ("full", "none"),
    "-": ("none", "dense"),
    "E": ("none", "experts"),
    "mamba": ("state", "none"),
    "linear_attention": ("state", "none"),
    "attention": ("full", "none"),
    "full_attention": ("full", "none"),
    "mlp": ("none", "dense"),
    "moe": ("none", "experts"),
}
"""Letters of `hybrid_override_pattern` and entries of `layers_block_type`: one block is a mixer or a network."""
EVERY_WHICH: Final = (
    *("moe_layer_freq", "decoder_sparse_step", "interleave_moe_layer_step", "moe_layer_interval"),
    "expert_layer_period",
)
"""Names of the step from one layer of experts to the next."""
DENSE_FIRST: Final = ("first_k_dense_replace", "num_dense_layers", "dense_mlp_idx", "moe_layer_start_index")
"""Names of the number of layers at the front that have no experts."""
EXPERT_LAYERS: Final = ("sparse", "moe", "hash_moe")


def layer_kinds(fields: Fields, family: ModelFamily) -> list[Kind]:
    """The kind of each layer."""
    blocks = _blocks(fields, "layers_block_type", "hybrid_override_pattern") if family.blocks else None
    if blocks is not None:
        fields.get("num_hidden_layers")
        return blocks
    layers = fields.count("num_hidden_layers")
    kinds: list[Kind] = list(zip(_mixers(fields, family, layers), _feed_forwards(fields, family, layers), strict=True))
    dense: FeedForwardKind = "dense"
    return [each for kind in kinds for each in (kind, *[(kind[0], dense)] * (family.layers_in_one - 1))]


def prediction_head_kinds(fields: Fields, family: ModelFamily, layers: Sequence[Kind]) -> list[Kind]:
    """The kinds of the layers that guess further tokens; as the last layer, but with the whole context in view."""
    heads = fields.count("num_nextn_predict_layers", "mtp_num_hidden_layers", least=0, missing=0)
    blocks = _blocks(fields, "mtp_layers_block_type", "mtp_hybrid_override_pattern") if family.blocks else None
    one: list[Kind] = [("full", layers[-1][1])] if blocks is None and layers else blocks or []
    return one * heads


def _blocks(fields: Fields, *names: str) -> list[Kind] | None:
    stated = fields.get(*names)
    if stated is None:
        return None
    unknown = sorted({str(each) for each in stated if each not in BLOCKS})
    for name in unknown:
        fields.refuse(fields.stated(*names), f"'{name}' is not understood", f"known: {', '.join(BLOCKS)}")
    return [BLOCKS[each] for each in stated if each in BLOCKS]


def _mixers(fields: Fields, family: ModelFamily, layers: int) -> list[MixerKind]:
    if family.attention == "compressed" or family.state_beside_attention:
        return ["full"] * layers
    if family.recurrent != "none":
        return _with_states(fields, family, layers)
    if family.window == "none" or not _window_applies(fields, family):
        return _all_full(fields, family, layers)
    return _windowed(fields, family, layers)


def _all_full(fields: Fields, family: ModelFamily, layers: int) -> list[MixerKind]:
    """Every layer sees the whole context, whatever a list of types goes on to say of windows that do not apply."""
    _named(fields, layers, ("full",) if family.window == "none" else ("full", "window"))
    flags = fields.per_layer("attn_type_list", layers=layers) or [1]
    if not all(flags):
        fields.refuse("attn_type_list", "layers without attention are not understood in a model of this kind")
    return ["full"] * layers


def window_field(family: ModelFamily) -> str:
    """The field that says how far a windowed layer sees."""
    return "attention_chunk_size" if family.window == "chunks" else "sliding_window"


def _window_applies(fields: Fields, family: ModelFamily) -> bool:
    """Whether a window is stated, switched on, and narrower than the context."""
    stated = fields.get(window_field(family))
    if family.window == "switched" and not fields.flag("use_sliding_window", missing=False):
        return False
    if stated is None:
        types = set(map(str, fields.get("layer_types") or ()))
        no_window = bool(types) and not any(MIXER_NAMES.get(name) == "window" for name in types)
        if family.window in ("alternating", "by layer type") and not no_window:
            fields.count(window_field(family))
        return False
    return fields.count(window_field(family)) < fields.count("max_position_embeddings")


def _windowed(fields: Fields, family: ModelFamily, layers: int) -> list[MixerKind]:
    fields.get("attention_chunk_size")
    pattern = fields.per_layer("hybrid_layer_pattern", layers=layers)
    near = fields.get("local_layer_ids")
    named = _named(fields, layers, ("full", "window"))
    if named is not None:
        return named
    if pattern is not None:
        return ["window" if each else "full" for each in pattern]
    if isinstance(near, list):
        return ["window" if layer in near else "full" for layer in range(layers)]
    if family.window in ("alternating", "chunks"):
        every = fields.count("sliding_window_pattern", "no_rope_layer_interval", missing=family.global_every)
        return ["window" if (layer + 1) % every else "full" for layer in range(layers)]
    if family.window == "switched":
        full = min(layers, fields.count("max_window_layers", least=0))
        return ["full" if layer < full else "window" for layer in range(layers)]
    if family.window == "by layer type":
        fields.refuse("layer_types", "is missing")
    return ["window"] * layers


def _with_states(fields: Fields, family: ModelFamily, layers: int) -> list[MixerKind]:
    every = fields.count("full_attention_interval", "layer_group_size", missing=0)
    # what a state is made of may be stated where no layer has one
    fields.get("mamba_d_state", "mamba_num_heads", "ssm_state_size", "conv_L_cache")
    windowed = family.window != "none"
    named = _named(fields, layers, ("full", "window", "state") if windowed else ("full", "state"))
    if named is not None:
        if "window" in named:
            fields.count(window_field(family))
        return named
    flags = fields.per_layer("attn_type_list", layers=layers)
    if flags is not None:
        return ["full" if flag else "state" for flag in flags]
    full = fields.group("linear_attn_config").get("full_attn_layers")
    full = full or fields.get("full_attn_idxs", "attn_layer_indices", "full_attention_layers")
    if isinstance(full, list):
        first = 1 if family.recurrent == "kimi delta" else 0
        return ["full" if layer + first in full else "state" for layer in range(layers)]
    period = fields.count("attn_layer_period", missing=0)
    if period:
        offset = fields.count("attn_layer_offset", least=0)
        return ["full" if layer % period == offset else "state" for layer in range(layers)]
    if not every:
        fields.refuse("layer_types", "is missing")
        return ["full"] * layers
    # a group that is cut short at the end of Ling's layers has attention alone
    whole = layers // every * every if fields.get("layer_group_size") else layers
    return ["state" if (layer + 1) % every and layer < whole else "full" for layer in range(layers)]


def _named(fields: Fields, layers: int, understood: Sequence[MixerKind]) -> list[MixerKind] | None:
    """Kinds as `layer_types` names them."""
    types = fields.per_layer("layer_types", "layers_block_type", layers=layers)
    if types is None:
        return None
    known = [name for name, kind in MIXER_NAMES.items() if kind in understood]
    for name in sorted(set(map(str, types)) - set(known)):
        fields.refuse("layer_types", f"'{name}' is not understood", f"known: {', '.join(known)}")
    return [MIXER_NAMES.get(str(name), "full") for name in types]


def _feed_forwards(fields: Fields, family: ModelFamily, layers: int) -> list[FeedForwardKind]:
    if not has_experts(fields, family):
        return ["dense"] * layers
    types = fields.per_layer("mlp_layer_types", layers=layers)
    if types is not None:
        return ["experts" if name in EXPERT_LAYERS else "dense" for name in types]
    listed = fields.get("moe_layers_enum", "moe_layer_list")
    if isinstance(listed, (str, list)):
        at = set(listed.split(",") if isinstance(listed, str) else map(str, listed))
        return ["experts" if str(layer) in at else "dense" for layer in range(layers)]
    if isinstance(fields.get("moe_layer_freq"), list):
        flags = fields.per_layer("moe_layer_freq", layers=layers) or []
        return ["experts" if flag else "dense" for flag in flags]
    first = fields.count(*DENSE_FIRST, least=0, missing=0)
    last = fields.count("moe_layer_end_index", least=-1, missing=-1)
    step = fields.count(*EVERY_WHICH, missing=1)
    offset = fields.count("expert_layer_offset", least=0, missing=step - 1)
    dense = set(fields.get("mlp_only_layers") or ())
    return [
        "experts"
        if first <= layer <= (layers if last < 0 else last) and layer % step == offset and layer not in dense
        else "dense"
        for layer in range(layers)
    ]


CHOSEN_EXPERTS: Final = (
    "num_experts_per_tok",
    "num_experts_per_token",
    "top_k_experts",
    "moe_top_k",
    "moe_k",
    "moe_topk",
)
EXPERTS: Final = ("n_routed_experts", "num_local_experts", "num_experts", "moe_num_experts")


def has_experts(fields: Fields, family: ModelFamily) -> bool:
    """Whether any layer has routed experts."""
    if family.experts == "no" or not fields.flag("enable_moe_block", missing=True):
        return False
    return bool(fields.count(*EXPERTS, least=0, missing=0 if family.experts == "as stated" else None))


def sharing_layers(fields: Fields) -> int:
    """How many of the last layers read the cache of earlier ones."""
    return fields.count("num_kv_shared_layers", least=0, missing=0)

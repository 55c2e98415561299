"""The feed-forward network of a layer, read from a configuration in the words of each family."""

from typing import Final

from optimizer.inputs.importing.hf_config.decoder.kinds import (
    CHOSEN_EXPERTS,
    EXPERTS,
    FeedForwardKind,
    has_experts,
    sharing_layers,
)
from optimizer.inputs.importing.hf_config.families.family import ModelFamily
from optimizer.inputs.importing.hf_config.families.spoken import IMAGES
from optimizer.inputs.importing.hf_config.fields import Fields
from optimizer.inputs.importing.hf_config.layers.feed_forward import DenseNetwork, ExpertNetwork, FeedForward

SHARED_EXPERTS: Final = ("n_shared_experts", "num_shared_experts", "num_shared_expert", "moe_num_shared_experts")
DENSE_WIDTHS: Final = ("dense_intermediate_size", "intermediate_size_mlp", "intermediate_size")


def read_network(fields: Fields, family: ModelFamily, kind: FeedForwardKind, at: int) -> FeedForward | None:
    """What layer `at` computes of each token alone."""
    if kind == "none":
        return None
    if kind == "experts":
        return _experts(fields, family)
    wider = 2 if fields.flag("use_double_wide_mlp", missing=False) else 1
    shared = at >= fields.count("num_hidden_layers", missing=at + 1) - sharing_layers(fields)
    width = fields.count(*DENSE_WIDTHS) // family.stated_width_of
    if fields.flag("block_auto_adjust_ff_dim", missing=False):
        width = _adjusted(fields, width)
    biased = fields.flag(family.mlp_bias_field, missing=False)
    return DenseNetwork(width * (wider if shared else 1), family.gated_mlp, biased)


def _adjusted(fields: Fields, width: int) -> int:
    """Two thirds of the stated width, times a factor, in whole multiples. Source: `lfm2` in transformers 5.24.0."""
    factor, multiple = fields.get("block_ffn_dim_multiplier"), fields.count("block_multiple_of")
    narrowed = int((1.0 if factor is None else float(factor)) * int(2 * width / 3))
    return -(-narrowed // multiple) * multiple


def _experts(fields: Fields, family: ModelFamily) -> ExpertNetwork:
    width = fields.count("moe_intermediate_size", "intermediate_size")
    every = fields.count(*SHARED_EXPERTS, least=0, missing=family.shared_experts)
    shared = fields.count(
        *("shared_expert_intermediate_size", "moe_shared_expert_intermediate_size"),
        *("shared_intermediate_size", "share_expert_dim"),
        least=0,
        missing=every * width,
    )
    count, hidden = fields.count(*EXPERTS), fields.count("hidden_size")
    active, passed = fields.count(*CHOSEN_EXPERTS), fields.count("zero_expert_num", least=0, missing=0)
    # choices that pass a token on cost nothing: on average a token meets so many of the others
    active = max(1, round(active * count / (count + passed)))
    if 1 < count <= active:
        fields.refuse(fields.stated(*CHOSEN_EXPERTS), f"{active} of {count} experts work on a token: none is left out")
    beside, corrected = family.dense_beside_experts, fields.get("topk_method") == "noaux_tc"
    stated = fields.flag("use_routing_bias", missing=False) or fields.flag("use_moe_router_bias", missing=False)
    return ExpertNetwork(
        count=count,
        active=active,
        passed=passed + (every if fields.flag("shared_expert_sink", missing=False) else 0),
        width=width,
        gated=family.gated_mlp,
        bias=family.expert_bias,
        router_bias=family.expert_bias or corrected,
        selection_bias=family.selection_bias or corrected or stated,
        latent=fields.count("moe_latent_size", "routed_expert_hidden_size", "moe_hidden_size", missing=0),
        latent_norm=fields.flag("latent_moe_use_norm", missing=False),
        shared_width=fields.count("intermediate_size") if beside else shared,
        shared_gate=family.shared_gate and shared > 0,
        router_width=fields.count("router_hidden_size", missing=0),
        # three more norms, and the router's scales by element and by expert
        other_params=4 * hidden + count if beside else 0,
    )


def of_images_params(fields: Fields) -> int:
    """Parameters of a layer's experts that only images meet."""
    width = fields.count(f"{IMAGES}moe_intermediate_size", missing=0)
    count = fields.count(f"{IMAGES}moe_num_experts", missing=fields.count(*EXPERTS)) if width else 0
    hidden = fields.count("hidden_size")
    return count * (DenseNetwork(width).params(hidden) + hidden) if width else 0


def experts_of(fields: Fields, family: ModelFamily) -> ExpertNetwork | None:
    """The routed experts of the layers that have any."""
    return _experts(fields, family) if has_experts(fields, family) else None

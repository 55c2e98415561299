"""A decoder built from a configuration, layer by layer."""

from optimizer.inputs.importing.hf_config.family import ModelFamily
from optimizer.inputs.importing.hf_config.fields import Fields
from optimizer.inputs.importing.hf_config.kinds import Kind, layer_kinds, prediction_head_kinds
from optimizer.inputs.importing.hf_config.layers import Decoder, Layer
from optimizer.inputs.importing.hf_config.mixers import read_mixer
from optimizer.inputs.importing.hf_config.networks import read_network
from optimizer.inputs.importing.hf_config.searched import read_searched


def read_decoder(fields: Fields, family: ModelFamily) -> Decoder:
    """The decoder that the configuration describes; problems are left with the fields."""
    if family.searched:
        return read_searched(fields, family)
    kinds = layer_kinds(fields, family)
    heads = prediction_head_kinds(fields, family, kinds)
    layers = tuple(_layer(fields, family, kind, at) for at, kind in enumerate([*kinds, *heads]))
    per_layer_inputs = _per_layer_inputs(fields, len(kinds))
    hidden, streams = fields.count("hidden_size"), fields.count("hc_mult", missing=0)
    if fields.count("word_embed_proj_dim", missing=hidden) != hidden:
        fields.refuse("word_embed_proj_dim", f"an embedding narrower than {hidden} is not understood")
    positions = 0
    if family.absolute_positions is not None:
        positions = fields.count("max_position_embeddings") + family.absolute_positions
    head_bias = bool(family.head_bias_field) and fields.flag(family.head_bias_field, missing=False)
    return Decoder(
        hidden=hidden,
        vocab=fields.count("vocab_size"),
        tied_embeddings=fields.flag("tie_word_embeddings", missing=family.tied_embeddings),
        layers=layers[: len(kinds)],
        prediction_heads=layers[len(kinds) :],
        # the bias of the last norm; that of the head; all residual streams into one; the hidden state into every
        # layer's own input
        other_params=hidden * family.norm_bias
        + fields.count("vocab_size") * head_bias
        + streams * (streams * hidden + 1)
        + bool(streams)
        + hidden * per_layer_inputs,
        lookup_params=fields.count("vocab_size_per_layer_input", missing=0) * per_layer_inputs + positions * hidden,
    )


def _per_layer_inputs(fields: Fields, layers: int) -> int:
    """Width of the inputs that each layer takes from an embedding of its own, all layers together."""
    return layers * fields.count("hidden_size_per_layer_input", least=0, missing=0)


def _layer(whole: Fields, family: ModelFamily, kind: Kind, at: int) -> Layer:
    mixer, feed_forward = kind
    fields = whole.of_layer(at)
    hidden, streams = fields.count("hidden_size"), fields.count("hc_mult", missing=0)
    gate = fields.count("hidden_size_per_layer_input", least=0, missing=0)
    # mixing of residual streams before mixer and network; a gate, a projection and a norm of the layer's own input
    mixing = 2 * ((2 + streams) * streams * (streams * hidden + 1) + 3) if streams else 0
    own_input = 2 * hidden * gate + hidden if gate else 0
    return Layer(
        mixer=read_mixer(fields, family, mixer, at),
        feed_forward=read_network(fields, family, feed_forward, at),
        other_params=family.norms * (1 + family.norm_bias) * hidden + mixing + own_input,
    )

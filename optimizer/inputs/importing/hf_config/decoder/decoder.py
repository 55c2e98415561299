"""A decoder built from a configuration, layer by layer."""

from optimizer.inputs.importing.hf_config.decoder.kinds import Kind, layer_kinds, prediction_head_kinds
from optimizer.inputs.importing.hf_config.decoder.mixers import read_mixer
from optimizer.inputs.importing.hf_config.decoder.networks import of_images_params, read_network
from optimizer.inputs.importing.hf_config.decoder.searched import read_searched
from optimizer.inputs.importing.hf_config.decoder.tables import read_tables
from optimizer.inputs.importing.hf_config.families.family import ModelFamily
from optimizer.inputs.importing.hf_config.fields import Fields
from optimizer.inputs.importing.hf_config.layers.attention import GroupedAttention
from optimizer.inputs.importing.hf_config.layers.feed_forward import ExpertNetwork
from optimizer.inputs.importing.hf_config.layers.stack import Decoder, Layer


def read_decoder(fields: Fields, family: ModelFamily) -> Decoder:
    """The decoder that the configuration describes; problems are left with the fields."""
    if family.searched:
        return read_searched(fields, family)
    kinds = layer_kinds(fields, family)
    heads = prediction_head_kinds(fields, family, kinds)
    crossing = _crossing_layers(fields, family)
    body = [_layer(fields, family, kind, at) for at, kind in enumerate(kinds)]
    further = [_layer(fields.of_heads(), family, kind, at) for at, kind in enumerate(heads, len(kinds))]
    hidden = fields.count("hidden_size")
    if fields.count("word_embed_proj_dim", missing=hidden) != hidden:
        fields.refuse("word_embed_proj_dim", f"an embedding narrower than {hidden} is not understood")
    tables = read_tables(fields, family, len(kinds))
    passed_over = sum(of_images_params(fields) for layer in body if isinstance(layer.feed_forward, ExpertNetwork))
    passed_over += sum(_crossing_params(body[at], hidden) for at in sorted(crossing) if at < len(body))
    return Decoder(
        hidden=hidden,
        vocab=fields.count("vocab_size"),
        tied_embeddings=fields.flag("tie_word_embeddings", missing=family.tied_embeddings),
        layers=tuple(layer for at, layer in enumerate(body) if at not in crossing),
        prediction_heads=tuple(further),
        other_params=_outside_layers(fields, family) + tables.joining,
        lookup_params=tables.rows + passed_over,
        narrow_lookup_params=tables.narrow_rows,
        narrow_lookup_bits=tables.narrow_bits,
    )


def _outside_layers(fields: Fields, family: ModelFamily) -> int:
    """Parameters that no layer has, beside embedding, head and the last norm's scale."""
    hidden, streams = fields.count("hidden_size"), fields.count("hc_mult", missing=0)
    norm_bias = hidden if family.norm_bias else 0
    biased = bool(family.head_bias_field) and fields.flag(family.head_bias_field, missing=False)
    head_bias = fields.count("vocab_size") if biased else 0
    # all residual streams into one; copies of the hidden state from one and back
    streams_into_one = streams * (streams * hidden + 1) + 1 if streams else 0
    gates = _gated_streams(fields, hidden) // 2 if fields.get("hc_count") else 0
    copying = 2 * (_copies(fields) - 1) * hidden * hidden
    return norm_bias + head_bias + streams_into_one + gates + copying


def _crossing_layers(fields: Fields, family: ModelFamily) -> frozenset[int]:
    """The layers that attend to images alone, which a request without one passes over.

    Source: `mllama` of Hugging Face transformers 5.24.0 and of vLLM 0.10, the last that served it.
    """
    if not family.crossed:
        return frozenset()
    at = fields.get("cross_attention_layers")
    if not isinstance(at, list):
        fields.refuse("cross_attention_layers", "is missing" if at is None else "is not a list of layers")
        return frozenset()
    return frozenset(at)


def _crossing_params(layer: Layer, hidden: int) -> int:
    """Parameters of a layer that attends to images: norms of its queries and keys and two gates beside the usual."""
    attention = layer.mixer
    return layer.params(hidden) + 2 + (2 * attention.head_dim if isinstance(attention, GroupedAttention) else 0)


def _copies(fields: Fields) -> int:
    """Of the hidden state that layers carry side by side, each predicted from all by a few numbers."""
    return fields.count("altup_num_inputs", missing=1)


def _gated_streams(fields: Fields, hidden: int) -> int:
    """Parameters around mixer and network of a layer: of all residual streams side by side a norm, a narrow gate into
    one of them, and how much of the result each takes. Source: `GatedResidual` of vLLM 0.33's `qwen4_exp`.
    """
    streams, narrow = fields.count("hc_count"), fields.count("hc_lowrank")
    return 2 * streams * hidden * (1 + 2 * narrow + streams)


def _layer(whole: Fields, family: ModelFamily, kind: Kind, at: int) -> Layer:
    """Layer `at`, of which `per_layer_config` may say something of its own."""
    mixer, feed_forward = kind
    fields = whole.of_layer(at)
    hidden, streams = fields.count("hidden_size"), fields.count("hc_mult", missing=0)
    gate = fields.count("hidden_size_per_layer_input", least=0, missing=0)
    # mixing of residual streams before mixer and network; a gate, a projection and a norm of the layer's own input
    mixing = 2 * ((2 + streams) * streams * (streams * hidden + 1) + 3) if streams else 0
    mixing += _gated_streams(fields, hidden) if fields.get("hc_count") else 0
    own_input = 2 * hidden * gate + hidden if gate else 0
    copies, rank = _copies(fields), fields.count("laurel_rank", missing=0)
    # how copies of the hidden state are predicted from each other and corrected; a narrow way around attention
    copying = copies**2 + copies**3 + hidden * (copies + 2) if copies > 1 else 0
    around = 2 * hidden * rank + hidden if rank else 0
    twice = bool(family.norms_field) and fields.flag(family.norms_field, missing=True)
    norms = family.norms + 2 * twice
    norm = (1 + family.norm_bias) * hidden
    # a narrow gate on what norms return, before mixers and experts
    gated_norms = 2 * hidden * fields.count("gated_norm_rank", missing=0) * (2 if feed_forward == "experts" else 1)
    return Layer(
        mixer=read_mixer(fields, family, mixer, at),
        feed_forward=read_network(fields, family, feed_forward, at),
        other_params=norms * norm + gated_norms + mixing + own_input + copying + around,
    )

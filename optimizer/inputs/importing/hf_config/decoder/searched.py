"""Stacks found by architecture search (Nemotron-NAS, DeciLM): each block states its own heads and width."""

from optimizer.inputs.importing.hf_config.families.family import ModelFamily
from optimizer.inputs.importing.hf_config.fields import Fields
from optimizer.inputs.importing.hf_config.layers.attention import GroupedAttention
from optimizer.inputs.importing.hf_config.layers.feed_forward import DenseNetwork
from optimizer.inputs.importing.hf_config.layers.stack import Decoder, Layer


def read_searched(fields: Fields, family: ModelFamily) -> Decoder:
    """The decoder of `block_configs`; problems are left with the fields."""
    hidden, heads = fields.count("hidden_size"), fields.count("num_attention_heads")
    blocks = fields.per_layer("block_configs", layers=fields.count("num_hidden_layers")) or []
    fields.get("num_key_value_heads", "intermediate_size")
    layers = []
    for at, block in enumerate(blocks):
        parts = Fields(fields.file, block if isinstance(block, dict) else {}, fields.findings)
        attention, network = parts.group("attention"), parts.group("ffn")
        for part, name in ((attention, "attention"), (network, "ffn")):
            for unknown in ("replace_with_linear", "window_length", "sparsify", "moe", "mamba"):
                if part.get(unknown):
                    fields.refuse(f"block_configs[{at}].{name}.{unknown}", "is not understood")
        mixer = None if attention.flag("no_op", missing=False) else _searched_attention(attention, heads, hidden)
        dense = None if network.flag("no_op", missing=False) else DenseNetwork(_searched_width(network, hidden))
        layers.append(Layer(mixer, dense, hidden * ((mixer is not None) + (dense is not None))))
    return Decoder(
        hidden=hidden,
        vocab=fields.count("vocab_size"),
        tied_embeddings=fields.flag("tie_word_embeddings", missing=family.tied_embeddings),
        layers=tuple(layers),
    )


def _searched_attention(attention: Fields, heads: int, hidden: int) -> GroupedAttention:
    head_dim, kv_heads = hidden // heads, attention.count("num_key_value_heads", missing=0)
    return GroupedAttention(heads, kv_heads or heads // attention.count("n_heads_in_group"), head_dim, head_dim)


def _searched_width(network: Fields, hidden: int) -> int:
    """As stated, or two thirds of a multiple of the hidden width, rounded up to 256. Source: DeciLM's own code."""
    if network.get("intermediate_size") is not None:
        return network.count("intermediate_size")
    multiple = network.get("ffn_mult")
    if not isinstance(multiple, (int, float)):
        network.refuse("block_configs", "a block states no ffn_mult")
        return 1
    return -(-int(2 * multiple * hidden / 3) // 256) * 256

"""Tables that a token looks rows up in beside the embedding: of positions, of layers' own inputs, of tokens before."""

from dataclasses import dataclass
from typing import Final

from optimizer.inputs.importing.hf_config.families.family import ModelFamily
from optimizer.inputs.importing.hf_config.fields import Fields


@dataclass(frozen=True)
class Tables:
    """Parameters of tables and of what brings their rows to the hidden width.

    Attributes:
        rows: Of all tables, of which a token reads a few rows.
        joining: Of what every token multiplies with what it looked up.
        narrow_rows: Those of `rows` that are stored in `narrow_bits` however the model was released.
    """

    rows: int
    joining: int = 0
    narrow_rows: int = 0
    narrow_bits: float = 0.0

    def __add__(self, other: "Tables") -> "Tables":
        return Tables(
            rows=self.rows + other.rows,
            joining=self.joining + other.joining,
            narrow_rows=self.narrow_rows + other.narrow_rows,
            narrow_bits=max(self.narrow_bits, other.narrow_bits),
        )


ENGRAM_BITS: Final = 8 + 8 / 32
"""Of 8-bit floats with an 8-bit scale for each 32. Source: `ParallelEngramEmbedding` of vLLM 0.33."""


def read_tables(fields: Fields, family: ModelFamily, layers: int) -> Tables:
    """All tables that the configuration states."""
    hidden = fields.count("hidden_size")
    learned = family.absolute_positions
    positions = 0 if learned is None else (fields.count("max_position_embeddings") + learned) * hidden
    own_inputs = layer_inputs(fields, layers)
    plain = Tables(
        rows=positions + fields.count("vocab_size_per_layer_input", missing=0) * own_inputs,
        joining=hidden * own_inputs,
    )
    return plain + _ngrams(fields, hidden) + _engrams(fields, hidden) + _engrams_of_one_width(fields, hidden)


def layer_inputs(fields: Fields, layers: int) -> int:
    """Width of the inputs that each layer takes from an embedding of its own, all layers together."""
    return layers * fields.count("hidden_size_per_layer_input", least=0, missing=0)


def _ngrams(fields: Fields, hidden: int) -> Tables:
    """Embeddings of the tokens before. For each of n - 1 lengths k tables, that share the hidden width; of prime-like
    sizes beyond a multiple of the vocabulary. Source: `LongcatFlashNgramForCausalLM` of vLLM 0.33.
    """
    ratio = fields.count("ngram_vocab_size_ratio", missing=0)
    if not ratio:
        return Tables(0)
    tables = fields.count("emb_split_num") * (fields.count("emb_neighbor_num", least=2) - 1)
    rows = tables * ratio * fields.count("vocab_size") + tables * tables
    return Tables(rows=rows * (hidden // tables), joining=hidden // tables * tables * hidden)


def _engrams(fields: Fields, hidden: int) -> Tables:
    """A table of hashed n-grams in each of a few layers, whose rows become a key for each residual stream and a value.

    Source: `Engram` of vLLM 0.33's `deepseek_v41`.
    """
    layers = fields.get("engram_layer_ids") or []
    if not layers:
        return Tables(0)
    name = "engram_num_embeddings"
    stated = fields.per_layer(name, layers=len(layers)) or []
    width, streams = fields.count("engram_head_dim"), fields.count("hc_mult")
    looked_up = (fields.count("engram_max_ngram_size", least=2) - 1) * fields.count("engram_n_heads") * width
    joining = looked_up * hidden * (streams + 1) + 2 * streams * hidden
    rows = sum(fields.whole(name, each) for each in stated) * width
    return Tables(rows, len(layers) * joining, narrow_rows=rows, narrow_bits=ENGRAM_BITS)


def _engrams_of_one_width(fields: Fields, hidden: int) -> Tables:
    """The same where tables share a width and rows pass a short convolution; as many rows a head as a prime has.

    Source: `Qwen4ExpPLELayer` and its embedding of vLLM 0.33.
    """
    layers = fields.get("ple_layer_ids") or []
    if not layers:
        return Tables(0)
    heads = (fields.count("ngram_size", least=2) - 1) * fields.count("heads_per_ngram")
    width = fields.count("ple_embed_dim", missing=hidden)
    streams = fields.count("hc_count") * hidden
    joining = width * (streams + hidden) + streams * (3 + fields.count("ple_conv_kernel_size"))
    rows = len(layers) * fields.count("ngram_vocab_size_base") * width // heads * heads
    narrow = 8.0 if str(fields.get("ple_embedding_dtype") or "").startswith("float8") else 0.0
    return Tables(rows, len(layers) * joining, narrow_rows=rows if narrow else 0, narrow_bits=narrow)

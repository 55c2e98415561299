"""Attention in its forms, each with its parameters and the bytes that it keeps of a token."""

from dataclasses import dataclass
from typing import Final, Literal

from optimizer.inputs.importing.hf_config.layers.stack import BYTES_PER_16_BIT, Kept, Mixer

Gate = Literal["none", "per head", "per element", "from the latent query"]
QkNorm = Literal["none", "head", "width"]

SCALE_BYTES: Final = 4
"""An indexer's key is stored in 8 bits an element and one 32-bit scale. Source: vLLM and SGLang, DeepSeek-V3.2."""


@dataclass(frozen=True)
class Indexer:
    """Chooses which tokens a query sees: its own small heads score every token before it.

    Attributes:
        query_from: Width of what its queries are projected from: a latent query, or the hidden state.
        quantized_keys: Whether engines store its keys in 8 bits.
        pool: How many keys a learned gate merges into one before they are scored, 0 where each stands for itself.
        ratio: Tokens behind one key that is kept.
    """

    heads: int
    head_dim: int
    query_from: int
    weighted_heads: bool = True
    quantized_keys: bool = True
    pool: int = 0
    ratio: int = 1

    def params(self, hidden: int) -> int:
        """Queries, one key, its norms, and the weight of each head."""
        weights = hidden * self.heads if self.weighted_heads else 0
        pooling = (hidden + self.pool) * self.head_dim if self.pool else 0
        return self.query_from * self.heads * self.head_dim + (hidden + 2) * self.head_dim + weights + pooling

    def kept(self) -> Kept:
        """One key a token, or a group of tokens."""
        key = self.head_dim + SCALE_BYTES if self.quantized_keys else BYTES_PER_16_BIT * self.head_dim
        return Kept(index_token=key / self.ratio, index_flops=2 * self.heads * self.head_dim / self.ratio)


@dataclass(frozen=True)
class GroupedAttention:
    """Queries in groups that share a key and a value (multi-head where each has its own).

    Attributes:
        bias: Biases of query, key and value.
        output_bias: Bias of the output projection.
        value_is_key: One projection for both, of which both are cached.
        own_cache: False where the layer reads the cache of an earlier one and projects no keys.
        sinks: One learned logit per head that draws no value.
        sparse: Whether a step reads only the tokens that an indexer chose.
        query_rank: Width that queries are projected through, with a norm; 0 where they are projected directly.
        gate_bias: Whether the gate has a bias.
        distance_dim: Width per head of what is scored against each of `distances` distances to a key; 0 where
            positions are rotated into queries and keys.
        mixing_kernel: Of a short convolution that mixes a head's channels in queries and keys; 0 without.
        kernel: Of short convolutions over keys, values, and what the mixer and the network return; 0 without. The few
            tokens that they look back at are not counted in what is kept.
    """

    heads: int
    kv_heads: int
    head_dim: int
    value_dim: int
    bias: bool = False
    output_bias: bool = False
    qk_norm: QkNorm = "none"
    gate: Gate = "none"
    value_is_key: bool = False
    own_cache: bool = True
    sinks: bool = False
    windowed: bool = False
    sparse: bool = False
    indexer: Indexer | None = None
    query_rank: int = 0
    gate_bias: bool = False
    distance_dim: int = 0
    distances: int = 0
    mixing_kernel: int = 0
    kernel: int = 0

    def params(self, hidden: int) -> int:
        """Projections of query, key, value, output and gate, with biases, norms, sinks and whatever else it has."""
        queries, output = self.heads * self.head_dim, self.heads * self.value_dim
        keys = self.kv_heads * self.head_dim if self.own_cache else 0
        values = self.kv_heads * self.value_dim if self.own_cache and not self.value_is_key else 0
        gate = {"none": 0, "per head": self.heads}.get(self.gate, output)
        rank = self.query_rank
        matrices = hidden * (keys + values + output + gate)
        matrices += rank * (hidden + queries + 1) if rank else hidden * queries
        biases = (queries + keys + values if self.bias else 0) + (hidden if self.output_bias else 0)
        key_norm = self.head_dim if self.own_cache else 0
        norms = {"none": 0, "head": self.head_dim + key_norm, "width": queries + keys}[self.qk_norm]
        indexer = self.indexer.params(hidden) if self.indexer else 0
        biases += gate if self.gate_bias else 0
        far = self.distance_dim * (hidden * self.heads + self.distances) if self.distance_dim else 0
        channels = self.kv_heads * (self.head_dim + self.value_dim) + 2 * hidden
        mixing = (queries + keys) * self.head_dim * self.mixing_kernel
        return matrices + biases + norms + indexer + far + channels * self.kernel + mixing + self.heads * self.sinks

    def kept(self) -> Kept:
        """A key and a value per KV head."""
        if not self.own_cache:
            return Kept()
        token = float(BYTES_PER_16_BIT * self.kv_heads * (self.head_dim + self.value_dim))
        if self.windowed:
            return Kept(window_token=token)
        kept = Kept(token=token, sparse_token=token if self.sparse else 0.0)
        return kept + self.indexer.kept() if self.indexer else kept


@dataclass(frozen=True)
class SideBySide:
    """Attention and a mixer with a state, both of the same hidden state. Source: `falcon_h1` in transformers 5.24.0."""

    attention: GroupedAttention
    recurrent: Mixer

    def params(self, hidden: int) -> int:
        """Those of both."""
        return self.attention.params(hidden) + self.recurrent.params(hidden)

    def kept(self) -> Kept:
        """What both keep."""
        return self.attention.kept() + self.recurrent.kept()


@dataclass(frozen=True)
class LatentAttention:
    """Multi-head latent attention: keys and values of all heads come from one narrow vector, which is cached.

    Attributes:
        q_lora_rank: 0 where queries are projected directly.
        gate: A gate on the heads' output, before the output projection.
        sparse: Whether a step reads only the tokens that an indexer chose.
    """

    heads: int
    kv_lora_rank: int
    q_lora_rank: int
    qk_nope_head_dim: int
    qk_rope_head_dim: int
    v_head_dim: int
    gate: Gate = "none"
    windowed: bool = False
    sparse: bool = False
    indexer: Indexer | None = None

    def params(self, hidden: int) -> int:
        """Queries through a low rank or directly, keys and values through the latent, norms on both latents."""
        queries = self.heads * (self.qk_nope_head_dim + self.qk_rope_head_dim)
        rank = self.q_lora_rank
        query_params = rank * (hidden + queries + 1) if rank else hidden * queries
        down = hidden * (self.kv_lora_rank + self.qk_rope_head_dim) + self.kv_lora_rank
        up = self.kv_lora_rank * self.heads * (self.qk_nope_head_dim + self.v_head_dim)
        output = self.heads * self.v_head_dim
        gate = {"none": 0, "per head": self.heads, "per element": output, "from the latent query": 0}[self.gate]
        # a gate from the latent query reads it beside the query's own: both matrices are as high as two of them
        fused = rank * (queries + 2 * output) if self.gate == "from the latent query" else 0
        indexer = self.indexer.params(hidden) if self.indexer else 0
        return query_params + down + up + hidden * (output + gate) + fused + indexer

    def kept(self) -> Kept:
        """The latent and the part of the key that carries the position."""
        token = float(BYTES_PER_16_BIT * (self.kv_lora_rank + self.qk_rope_head_dim))
        if self.windowed:
            return Kept(window_token=token)
        kept = Kept(token=token, sparse_token=token if self.sparse else 0.0)
        return kept + self.indexer.kept() if self.indexer else kept


@dataclass(frozen=True)
class CompressedAttention:
    """One key that is the value, too, for all heads: whole within a window, beyond it one for every `ratio` tokens.

    Ratio 0 keeps the window alone. Sparse layers let an indexer choose among overlapping compressed keys, the others
    see them all. Source: the modelling code of `deepseek_v4` in Hugging Face transformers 5.23.0.
    """

    heads: int
    head_dim: int
    q_lora_rank: int
    output_groups: int
    output_rank: int
    ratio: int
    sparse: bool
    index_heads: int = 0
    index_dim: int = 0

    def params(self, hidden: int) -> int:
        """Low-rank queries, the key, a grouped low-rank output, sinks, compressor and indexer."""
        queries = self.heads * self.head_dim
        query_params = self.q_lora_rank * (hidden + queries + 1)
        output = queries * self.output_rank + self.output_groups * self.output_rank * hidden
        plain = query_params + (hidden + 1) * self.head_dim + output + self.heads
        return plain + self._compressor(hidden) + self._indexer(hidden)

    def kept(self) -> Kept:
        """The window's keys, the compressed ones, and the indexer's keys for those."""
        key = float(BYTES_PER_16_BIT * self.head_dim)
        if not self.ratio:
            return Kept(window_token=key)
        far = key / self.ratio
        if not self.sparse:
            return Kept(token=far, window_token=key)
        index = Indexer(self.index_heads, self.index_dim, self.q_lora_rank).kept()
        return Kept(
            token=far,
            sparse_token=far,
            window_token=key,
            index_token=index.index_token / self.ratio,
            index_flops=index.index_flops / self.ratio,
        )

    def _compressor(self, hidden: int) -> int:
        return self._pooling(hidden, self.head_dim)

    def _indexer(self, hidden: int) -> int:
        if not self.sparse:
            return 0
        queries = self.q_lora_rank * self.index_heads * self.index_dim
        return self._pooling(hidden, self.index_dim) + queries + hidden * self.index_heads

    def _pooling(self, hidden: int, width: int) -> int:
        """Key and gate projections, a bias for each position in a group, a norm; twice as wide where groups overlap."""
        if not self.ratio:
            return 0
        return (2 * hidden + self.ratio) * width * (2 if self.sparse else 1) + width


@dataclass(frozen=True)
class SharedCompression(CompressedAttention):
    """Compressed attention whose compressed keys are those of an earlier layer, unless it `compresses` itself.

    Groups do not overlap, and there is no gate where a key stands for one token. Layers that are `sparse` score with an
    indexer of their own, whose keys come from the compressed ones; the others take the choice of a layer before.
    Source: `deepseek_v41` of vLLM 0.33.
    """

    compresses: bool = False

    def kept(self) -> Kept:
        """The window's keys; where it compresses, the compressed ones and an indexer's, one behind `ratio` tokens."""
        key = float(BYTES_PER_16_BIT * self.head_dim)
        index = Indexer(self.index_heads, self.index_dim, self.q_lora_rank).kept()
        far = key / self.ratio if self.compresses else 0.0
        return Kept(
            token=far,
            sparse_token=far,
            window_token=key,
            index_token=index.index_token / self.ratio if self.compresses and self.sparse else 0.0,
            index_flops=index.index_flops / self.ratio if self.sparse else 0.0,
        )

    def _compressor(self, hidden: int) -> int:
        return ((2 if self.ratio > 1 else 1) * hidden + 1) * self.head_dim if self.compresses else 0

    def _indexer(self, hidden: int) -> int:
        if not self.sparse:
            return 0
        keys = (self.head_dim + 1) * self.index_dim if self.compresses else 0
        return self.index_heads * (self.q_lora_rank * self.index_dim + hidden) + keys

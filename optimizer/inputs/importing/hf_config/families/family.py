"""What the modelling code of a family does without a word in its config.json."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from optimizer.inputs.importing.hf_config.layers.attention import Gate, QkNorm

Attention = Literal["grouped", "latent", "compressed"]
Bias = Literal["none", "qkv", "qkv as stated", "as stated", "all"]
Window = Literal["none", "stated", "switched", "alternating", "by layer type", "chunks"]
Recurrent = Literal["none", "gated delta", "kimi delta", "mamba", "mamba 1", "lightning", "convolution"]
Indexed = Literal["none", "latent", "latent as listed", "blocks"]
HasExperts = Literal["no", "yes", "as stated"]


@dataclass(frozen=True)
class ModelFamily:
    """What the modelling code of a `model_type` does without a word in the configuration.

    Attributes:
        attention: The form of the layers that keep a cache.
        recurrent: The form of the layers that keep a state.
        layers_in_one: Layers that one counted layer holds, each with attention and a dense network; experts beside the
            first's.
        state_beside_attention: Whether every layer has both side by side.
        by_block: Whether `block_configs` states what each block is and has of its own.
        by_modality: Whether experts are stated in pairs, those of text before those of images.
        blocks: Whether a layer is a mixer or a network, as a list of blocks says, not both.
        full_rank_deltas: Whether forget and output gates of Kimi's delta layers are whole matrices.
        indexed: How an indexer chooses tokens: among latent ones (in all layers unless `indexer_types` says which have
            one of their own; it has to where it is `as listed`), or in blocks.
        bias: Which attention projections have one: none, query/key/value, all, or either where `bias_field` says so.
        bias_field: That field.
        mlp_bias_field: The field that gives dense networks a bias.
        qk_norm: Norms of queries and keys; `qk_norm_field` turns them on where it is named.
        norms: Norms as wide as the hidden state in each layer; two more where `norms_field` says so.
        norm_bias: Whether norms have a bias beside their scale.
        window: Where a sliding window applies: nowhere; on all layers when `sliding_window` is set; as `switched` by
            `use_sliding_window`; on all but every n-th layer; as the layers' types say; in chunks.
        windowed_kv_times: How many times the KV heads of other layers windowed ones have, where nothing is stated.
        global_every: With alternating windows and chunks, every n-th layer sees the whole context.
        experts: Whether layers have experts: none, some, or as the configuration says.
        searched: Whether an architecture search left each block with heads and a width of its own.
        selection_bias: Whether a bias always corrects the scores by which experts are chosen.
        shared_experts: How many experts every token meets, where nothing is stated.
        dense_beside_experts: Whether a dense network runs beside the experts of every layer.
        gate: A gate on the output of attention; `gate_field` turns it on, or says which, where it is named.
        gate_bias: Whether that gate has a bias.
        distances: Whether attention scores how far a key is, and short convolutions follow keys, values and layers.
        crossed: Whether some layers attend to images alone: text passes them over.
        tied_embeddings: Where `tie_word_embeddings` is not stated.
        kv_heads_may_be_left_out: Whether no `num_key_value_heads` means one per attention head.
        head_dim_required: Whether `head_dim` has to be stated; where not, the heads divide the hidden state.
        defaults: Fields that published configurations leave out, as the modelling code has them.
        renamed: What else a configuration of this family calls a field; a dot leads into a group.
        absolute_positions: Rows of a table of learned positions beside those of the context; None without a table.
        head_bias_field: The field that gives the output head a bias.
        widening: How many times the hidden width a network has, where no width is stated; 0 where it must be.
        stated_width_of: How many networks the stated width is of.
    """

    attention: Attention = "grouped"
    recurrent: Recurrent = "none"
    state_beside_attention: bool = False
    layers_in_one: int = 1
    by_block: bool = False
    by_modality: bool = False
    blocks: bool = False
    full_rank_deltas: bool = False
    indexed: Indexed = "none"
    bias: Bias = "none"
    bias_field: str = "attention_bias"
    mlp_bias_field: str = "mlp_bias"
    qk_norm: QkNorm = "none"
    qk_norm_field: str = ""
    norms: int = 2
    norms_field: str = ""
    norm_bias: bool = False
    window: Window = "none"
    windowed_kv_times: int = 1
    global_every: int = 0
    sinks: Literal["none", "all", "as stated"] = "none"
    gate: Gate = "none"
    gate_field: str = ""
    gate_bias: bool = False
    gated_mlp: bool = True
    searched: bool = False
    experts: HasExperts = "no"
    expert_bias: bool = False
    selection_bias: bool = False
    shared_experts: int = 0
    shared_gate: bool = False
    dense_beside_experts: bool = False
    distances: bool = False
    crossed: bool = False
    tied_embeddings: bool = False
    kv_heads_may_be_left_out: bool = False
    head_dim_required: bool = False
    defaults: Mapping[str, object] = field(default_factory=dict)
    renamed: Mapping[str, str] = field(default_factory=dict)
    absolute_positions: int | None = None
    head_bias_field: str = ""
    widening: int = 0
    stated_width_of: int = 1

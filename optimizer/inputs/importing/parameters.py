"""Parameters of a decoder-only transformer counted from its shapes, matrix by matrix."""

from dataclasses import dataclass

from optimizer.inputs.importing.hf_architectures import Architecture


@dataclass(frozen=True)
class LatentShape:
    """Multi-head latent attention: ranks and the parts of a head."""

    kv_lora_rank: int
    q_lora_rank: int
    """0 where queries are projected directly."""
    qk_nope_head_dim: int
    qk_rope_head_dim: int
    v_head_dim: int


@dataclass(frozen=True)
class ExpertShape:
    """Mixture of experts: how many, how wide, on which layers."""

    experts: int
    active: int
    intermediate_size: int
    shared_intermediate_size: int = 0
    shared_gate: bool = False
    """One more row that weighs the shared experts."""
    router_bias: bool = False
    biases: bool = False
    """Whether each expert's matrices have biases."""
    first_dense_layers: int = 0
    layer_step: int = 1


@dataclass(frozen=True)
class Shape:
    """Every dimension that parameters follow from."""

    architecture: Architecture
    layers: int
    hidden_size: int
    attention_heads: int
    kv_heads: int
    head_dim: int
    intermediate_size: int
    vocab_size: int
    tied_embeddings: bool
    attention_bias: bool
    """What the configuration states, where the architecture asks."""
    mlp_bias: bool
    sinks: bool
    """One learned logit per attention head that draws no value."""
    latent: LatentShape | None
    experts: ExpertShape | None


@dataclass(frozen=True)
class ParameterCounts:
    """Counted parameters: all, those that one token meets, and those without the input embedding."""

    total_params: int
    active_params: int
    active_params_excl_input_embedding: int


def count_parameters(shape: Shape) -> ParameterCounts:
    """All parameters; a tied embedding is one matrix, which the output still multiplies."""
    attention = _latent_attention(shape) if shape.latent is not None else _attention(shape)
    per_layer = attention + shape.architecture.norms_per_layer * shape.hidden_size
    dense, sparse_total, sparse_active = _mlp(shape), *_expert_layer(shape)
    sparse_layers = _sparse_layers(shape)
    dense_layers = shape.layers - sparse_layers
    embedding = shape.vocab_size * shape.hidden_size
    outside = embedding * (1 if shape.tied_embeddings else 2) + shape.hidden_size
    common = shape.layers * per_layer + dense_layers * dense + outside
    active = common + sparse_layers * sparse_active
    return ParameterCounts(
        total_params=common + sparse_layers * sparse_total,
        active_params=active,
        active_params_excl_input_embedding=active if shape.tied_embeddings else active - embedding,
    )


def _attention(shape: Shape) -> int:
    """Query, key, value and output projections with their biases and norms."""
    queries, keys = shape.attention_heads * shape.head_dim, shape.kv_heads * shape.head_dim
    matrices = shape.hidden_size * (2 * queries + 2 * keys)
    kind = shape.architecture.attention_bias
    everywhere = kind == "all" or (kind == "as stated" and shape.attention_bias)
    biases = (queries + 2 * keys if kind == "qkv" or everywhere else 0) + (shape.hidden_size if everywhere else 0)
    norms = {"none": 0, "head": 2 * shape.head_dim, "width": queries + keys}[shape.architecture.qk_norm]
    return matrices + biases + norms + (shape.attention_heads if shape.sinks else 0)


def _latent_attention(shape: Shape) -> int:
    """Queries through a low rank or directly; keys and values through one shared latent; norms on both latents."""
    latent = shape.latent
    if latent is None:
        raise ValueError("this architecture has no latent attention")
    head = latent.qk_nope_head_dim + latent.qk_rope_head_dim
    queries = shape.attention_heads * head
    if latent.q_lora_rank:
        down_and_up = latent.q_lora_rank * (shape.hidden_size + queries + 1)
    else:
        down_and_up = shape.hidden_size * queries
    keys_down = shape.hidden_size * (latent.kv_lora_rank + latent.qk_rope_head_dim) + latent.kv_lora_rank
    keys_up = latent.kv_lora_rank * shape.attention_heads * (latent.qk_nope_head_dim + latent.v_head_dim)
    return down_and_up + keys_down + keys_up + shape.attention_heads * latent.v_head_dim * shape.hidden_size


def _mlp(shape: Shape) -> int:
    """Gate, up and down projection."""
    biases = 2 * shape.intermediate_size + shape.hidden_size if shape.mlp_bias else 0
    return 3 * shape.hidden_size * shape.intermediate_size + biases


def _sparse_layers(shape: Shape) -> int:
    """Layers with experts: every n-th of those behind the first dense ones."""
    if shape.experts is None:
        return 0
    candidates = range(shape.experts.first_dense_layers, shape.layers)
    return sum((layer + 1) % shape.experts.layer_step == 0 for layer in candidates)


def _expert_layer(shape: Shape) -> tuple[int, int]:
    """Parameters of a layer's experts with router: all, and those of one token."""
    experts = shape.experts
    if experts is None:
        return 0, 0
    hidden, width = shape.hidden_size, experts.intermediate_size
    one = 3 * hidden * width + (2 * width + hidden if experts.biases else 0)
    shared = 3 * hidden * experts.shared_intermediate_size + (hidden if experts.shared_gate else 0)
    router = experts.experts * (hidden + (1 if experts.router_bias else 0))
    return experts.experts * one + shared + router, experts.active * one + shared + router

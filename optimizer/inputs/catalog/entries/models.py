"""What we know of models: shapes, counted parameters, what they keep of a sequence, and the names they go by."""

from datetime import date
from typing import Annotated, Self

from pydantic import Field, model_validator

from optimizer.base.model import Strict
from optimizer.inputs.catalog.entries.quantities import Count, NonNegative, Positive
from optimizer.inputs.catalog.kinds import QuantizedPart


class Model(Strict):
    """One model architecture: the facts from which memory, compute and traffic follow."""

    id: str
    hf_id: str
    total_params_b: Positive
    active_params_b: Positive
    active_params_excl_input_embedding_b: Positive
    layers: Count
    hidden_size: Count
    attention_heads: Count
    kv_heads: Count
    head_dim: Count
    intermediate_size: Count
    mlp_gated: bool
    moe_experts: Count | None = None
    moe_active_experts: Count | None = None
    moe_intermediate_size: Count | None = None
    moe_shared_intermediate_size: Count | None = None
    moe_first_dense_layers: int = 0
    moe_layer_step: Count = 1
    moe_layers: Count | None = None
    """Layers with routed experts; None where the dense ones at the front and the step say it."""
    moe_selection_bias: bool = False
    """Whether experts are chosen by scores that a bias corrects, in kernels of their own."""
    vocab_size: Count
    max_context_tokens: Count
    attention: str
    kv_lora_rank: Count | None = None
    qk_rope_head_dim: int | None = None
    q_lora_rank: int | None = None
    qk_norm: bool = False
    """Whether layers of grouped attention norm queries and keys, in kernels of their own."""
    sliding_window_tokens: Count | None = None
    sparse_attention_tokens: Count | None = None
    kv_cache_layers: Count
    global_attention_layers: int
    kv_bytes_per_token_bf16: Positive
    linear_state_bytes_per_sequence: NonNegative = 0
    tied_embeddings: bool
    native_precision: str
    native_quantized_part: QuantizedPart | None = None
    prediction_head_params_b: NonNegative = 0
    """Multi-token-prediction heads: in the published weights, in memory only where they are served."""
    unread_params_b: NonNegative = 0
    """In memory, but read by no generated token: encoders of images, tables that a token looks one row up in."""
    unread_weight_bits: Positive | None = None
    """Bits per parameter of these; None where they are those of the embedding."""
    global_kv_heads: Count | None = None
    """KV heads of the layers that see the whole context; None where they have as many as windowed ones."""
    global_head_dim: Count | None = None
    window_kv_bytes_per_token_bf16: NonNegative | None = None
    """What windowed layers keep, of `kv_bytes_per_token_bf16`; None where all layers keep the same."""
    sparse_kv_bytes_per_token_bf16: NonNegative | None = None
    """What is read only of `sparse_attention_tokens`; None where that is all that is not windowed."""
    indexer_bytes_per_token: NonNegative = 0
    """Keys by which sparse attention chooses tokens, in their own format whatever the cache's precision."""
    indexer_flops_per_token_pair: NonNegative = 0
    native_body_weight_bits: Positive | None = None
    """Bits per parameter, as released, of all but routed experts, embedding and head; None where the parts say it."""
    native_expert_weight_bits: Positive | None = None
    """Bits per parameter of the routed experts, as released; None where they are those of the precision."""
    licence: str
    source: str
    as_of: date
    note: str = ""

    @model_validator(mode="after")
    def _experts_are_chosen_among_more(self) -> Self:
        if (self.moe_experts is None) != (self.moe_active_experts is None):
            raise ValueError("moe_experts and moe_active_experts are told together")
        if self.moe_experts is not None and self.moe_experts <= (self.moe_active_experts or 0):
            raise ValueError("moe_active_experts must be fewer than moe_experts: all of them are a dense network")
        return self


class ModelAlias(Strict):
    """A published name of a model we know: a re-upload, a fine-tune or a quantized checkpoint, never a guess."""

    hf_id: str
    model: str
    relation: str
    weight_precision: str | None = None
    max_context_tokens: Count | None = None
    vocab_size: Count | None = None
    sliding_window_tokens: Annotated[int, Field(ge=0)] | None = None
    """0 means: this variant has no window although its architecture row has one."""
    note: str = ""

"""Memory of one GPU of a replica: weights, working space, runtime, and what is left for the KV cache.

All functions take a `Setup` of n rows and return bytes per GPU, (n,), unless they say otherwise.
With pipeline stages the last stage counts: it holds the output head and the sampler.
"""

from dataclasses import dataclass

import numpy as np

from optimizer.base.arrays import Floats
from optimizer.base.units import BITS_PER_BYTE
from optimizer.performance.physics.row_arrays import RowArrays
from optimizer.performance.physics.setup import Setup


@dataclass(frozen=True)
class MemoryUse(RowArrays):
    """Bytes per GPU, (n,), and the whole replica's KV capacity in tokens.

    Attributes:
        usable: What the engine may take.
        weights: The largest share of the weights that one GPU holds.
        activations: Working space of the largest step.
        overhead: Runtime, communication buffers.
        kv_capacity: What is left for the KV cache; zero or less means that the model does not fit.
        kv_capacity_tokens: Tokens that the whole replica's cache holds when no window bounds a sequence.
    """

    usable: Floats
    weights: Floats
    activations: Floats
    overhead: Floats
    kv_capacity: Floats
    kv_capacity_tokens: Floats


def memory_use(setup: Setup) -> MemoryUse:
    """Where a GPU's memory goes."""
    weights, activations, overhead = weight_bytes(setup), activation_bytes(setup), runtime_bytes(setup)
    usable = usable_bytes(setup, weights + activations + overhead)
    left = usable - weights - activations - overhead
    per_token = kv_bytes_per_token(setup)
    tokens = np.maximum(left, 0.0) / per_token * cache_copies(setup)
    return MemoryUse(usable, weights, activations, overhead, left, tokens)


def usable_bytes(setup: Setup, taken: Floats) -> Floats:
    """What an engine may take of device memory · (1 − driver reserve), (n,): its share.

    vLLM's and SGLang's is one of the device. TensorRT-LLM takes for its cache a share of what is left free when all
    else is `taken` (n,).
    Source: vLLM start-up profiles; the framework sees 79.19 of an H100's 79.65 GiB. TensorRT-LLM, `KvCacheConfig`,
    `free_gpu_memory_fraction`.
    """
    share = setup.layout.memory_utilization
    seen = setup.hardware.usable_bytes * (1 - setup.constants["driver_reserve_share"])
    return share * seen + setup.constants["share_of_free_memory"] * (1 - share) * taken


def weight_bytes(setup: Setup) -> Floats:
    """Weights per GPU, (n,), with those of a draft."""
    return _own_weight_bytes(setup) + _draft_bytes(setup)


def _draft_bytes(setup: Setup) -> Floats:
    """What a draft's weights take of a GPU, (n,): one more layer, and an output head in 16 bit; none without a draft.

    Heads of multi-token prediction are a layer of the model's kind with its experts, EAGLE-3 drafts a dense one.
    """
    network, tp = setup.network, setup.layout.tensor_parallel
    body = network.body_params * setup.weights.body_bytes_per_param / body_shards(setup)
    experts = network.expert_params * setup.weights.expert_bytes_per_param / tp
    layer = (body + experts) / network.layers
    head = network.head_params * head_bytes_per_param(setup) / tp
    return np.where(setup.layout.draft_tokens > 0, layer + head, 0.0)


def _own_weight_bytes(setup: Setup) -> Floats:
    """Weights per GPU: body and experts divided by TP and PP, embedding or output head on one stage.

    K and V projections are replicated where there are fewer KV heads than GPUs; attention data-parallel ranks keep
    the whole body each. One stage holds everything; with several, the last holds the head and the first the embedding
    with the encoders of a multimodal model.
    """
    network, tp, pp = setup.network, setup.layout.tensor_parallel, setup.layout.pipeline_parallel
    body = network.body_params / body_shards(setup) + replicated_kv_params(setup)
    experts = network.expert_params * setup.weights.expert_bytes_per_param / tp
    layers = (body * setup.weights.body_bytes_per_param + experts) / pp
    embedding = np.where(pp > 1, 0.0, network.embedding_params)
    plain = head_bytes_per_param(setup)
    unread = np.where(np.isnan(network.unread_bytes_per_param), plain, network.unread_bytes_per_param)
    unread = np.where(pp > 1, 0.0, network.unread_params) * unread
    return layers + ((network.head_params + embedding) * plain + unread) / tp


def head_bytes_per_param(setup: Setup) -> Floats:
    """Embedding and output head stay in 16 bits, but for formats that quantize them too."""
    return setup.constants["head_weight_bits"] / BITS_PER_BYTE


def body_shards(setup: Setup) -> Floats:
    """Over how many GPUs of a stage the non-expert layers are divided: all, or one under attention DP."""
    return np.where(setup.layout.attention_dp, 1.0, setup.layout.tensor_parallel)


def replicated_kv_params(setup: Setup) -> Floats:
    """K and V projection parameters that a GPU holds beyond its share, because a KV head cannot be split."""
    network, tp = setup.network, setup.layout.tensor_parallel
    head_dim = network.prefill_dims / 2
    projection = network.hidden * 2 * head_dim * network.kv_layers  # of one KV head
    extra = projection * np.maximum(1 - network.kv_heads / tp, 0.0)
    return np.where((network.latent > 0) | setup.layout.attention_dp, 0.0, extra)


def activation_bytes(setup: Setup) -> Floats:
    """Working space = sampler's logits + residual stream of the largest chunk + the experts' intermediate results.

    Source: fitted on vLLM 0.19 start-up profiles (1,024 sequences, 8,192 tokens a step).
    """
    constants, network, layout = setup.constants, setup.network, setup.layout
    sampler = constants["sampler_bytes_per_logit"] * layout.max_num_seqs * network.vocab
    stream = constants["activation_bytes_per_element"] * layout.max_batched_tokens * network.hidden
    width = 3 * network.expert_width / layout.tensor_parallel + network.hidden
    routed = np.where(network.experts > 1, layout.max_batched_tokens * network.active_experts, 0.0)
    return sampler + stream + constants["expert_activation_bytes_per_element"] * routed * width


def runtime_bytes(setup: Setup) -> Floats:
    """Context and libraries, and communication buffers where several GPUs of a stage work together."""
    several = setup.layout.tensor_parallel > 1
    return np.where(several, setup.constants["runtime_parallel_bytes"], setup.constants["runtime_single_bytes"])


def kv_shards(setup: Setup) -> Floats:
    """Over how many GPUs of a stage one sequence's cache is divided.

    KV heads divide until each GPU has one, then they are copied; a latent (MLA) cache is copied to every GPU.
    Attention data-parallel ranks keep whole sequences of their own.
    """
    return _shards(setup, setup.network.kv_heads)


def far_kv_shards(setup: Setup) -> Floats:
    """As `kv_shards`, of the layers that see the whole context, which may have KV heads of their own."""
    return _shards(setup, setup.network.far_kv_heads)


def _shards(setup: Setup, kv_heads: Floats) -> Floats:
    divided = np.minimum(setup.layout.tensor_parallel, kv_heads)
    return np.where((setup.network.latent > 0) | setup.layout.attention_dp, 1.0, divided)


def cache_copies(setup: Setup) -> Floats:
    """How many independent caches a replica has: one, or one per rank under attention data parallelism."""
    return np.where(setup.layout.attention_dp, setup.layout.tensor_parallel, 1.0)


def kv_bytes_per_token(setup: Setup) -> Floats:
    """Cache bytes per GPU for one more token, all layers, before any window closes."""
    one = np.ones((setup.rows, 1))
    return _cached_bytes(setup, one, one)[:, 0]


def kv_bytes_per_sequence(setup: Setup, tokens: Floats) -> Floats:
    """Cache bytes per GPU of sequences of these lengths, (n, K) for tokens (K,) or (n, K).

    Global layers keep every token, windowed layers min(tokens, window), linear layers one fixed state.
    """
    # (row, class) -> tokens of one sequence
    length = np.broadcast_to(tokens, (setup.rows, np.shape(tokens)[-1]))
    near = np.minimum(length, setup.network.window[:, None])
    return _cached_bytes(setup, length, near) + state_bytes(setup)[:, None]


def _cached_bytes(setup: Setup, far: Floats, near: Floats) -> Floats:
    """Cache bytes per GPU of so many tokens in global and in windowed layers, (n, K).

    An indexer's keys keep their own precision and lie on every GPU of a stage.
    """
    network, stages = setup.network, setup.layout.pipeline_parallel
    layer = network.layer_bytes_per_token * setup.weights.kv_scale
    far_layers = (network.full_layers + network.sparse_layers) * layer / far_kv_shards(setup)
    near_layers = network.window_layers * layer / kv_shards(setup)
    # (row, class) -> bytes, summed over the layers of a stage
    per_token = (far_layers + _draft_cache(setup, layer) + network.index_bytes) / stages
    return per_token[:, None] * far + (near_layers / stages)[:, None] * near


def _draft_cache(setup: Setup, layer: Floats) -> Floats:
    """Cache bytes per token that a draft adds, (n,): those of one more `layer` that sees the whole context."""
    return np.where(setup.layout.draft_tokens > 0, layer / kv_shards(setup), 0.0)


def state_bytes(setup: Setup) -> Floats:
    """The fixed state of linear-attention layers, per sequence and GPU."""
    return setup.network.state_bytes / body_shards(setup) / setup.layout.pipeline_parallel

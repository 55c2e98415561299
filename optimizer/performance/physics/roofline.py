"""Time of the layers of one pipeline pass: a smooth maximum of moving bytes and multiplying, for M tokens at once.

All functions return seconds for the whole model (all stages), (n,) or the shape of `tokens` (n, …).
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from optimizer.base.arrays import Flags, Floats
from optimizer.performance.physics.memory import (
    body_shards,
    cache_copies,
    far_kv_shards,
    head_bytes_per_param,
    kv_shards,
    state_bytes,
)
from optimizer.performance.physics.setup import Setup

FLOPS_PER_PARAM = 2.0
"""One multiplication and one addition per parameter and token."""
SATURATION = 12.0
"""How sharply a kernel's bandwidth bends to the datasheet's: a share of 0.8 loses 0.5 % of itself, 1.0 loses 6 %."""
_LEAST: Final = np.finfo(np.float64).tiny
"""Seconds that are more than none."""


def column(values: Floats, like: Floats) -> Floats:
    """Values of n rows shaped to combine with an array of n rows and any further axes."""
    return values if like.ndim == 1 else values.reshape(values.shape + (1,) * (like.ndim - 1))


def smooth_max(left: Floats, right: Floats, norm: Floats) -> Floats:
    """(leftᵖ + rightᵖ)^(1/p): overlapped work takes a little longer than its longer part. Norm p, (n,)."""
    power = column(norm, left)
    high = np.maximum(left, right)
    # no work at all takes no time
    ratio = np.minimum(left, right) / np.maximum(high, _LEAST)
    return high * (1 + ratio**power) ** (1 / power)


def attainable(share: Floats) -> Floats:
    """The share of the datasheet's bandwidth that a kernel sustains: never all of it, whatever a fit would like."""
    return share * (1 + share**SATURATION) ** (-1 / SATURATION)


@dataclass(frozen=True)
class Roof:
    """One kind of matrix, (n,): seconds to move its bytes once, seconds to multiply one token by it."""

    move: Floats
    multiply: Floats
    norm: Floats

    def seconds(self, moved: Floats | float, multiplied: Floats) -> Floats:
        """Smooth maximum of moving the share `moved` and multiplying `multiplied` tokens, (n,) or (n, …)."""
        memory = column(self.move, multiplied) * moved
        return smooth_max(memory, column(self.multiply, multiplied) * multiplied, self.norm)


def body_roof(setup: Setup) -> Roof:
    """Attention projections, dense and shared MLPs: every weight is read once, every token multiplied."""
    params = setup.network.body_params
    moved = params * setup.weights.body_bytes_per_param / body_shards(setup)
    return _roof(setup, moved, params, quantized=setup.weights.body_quantized > 0)


def head_roof(setup: Setup) -> Roof:
    """The output head, in 16 bits, for the tokens that are sampled."""
    params = setup.network.head_params
    moved = params * head_bytes_per_param(setup) / setup.layout.tensor_parallel
    return _roof(setup, moved, params, quantized=np.False_)


@dataclass(frozen=True)
class Experts:
    """The routed experts, (n,): what touching all of them costs, and how tokens spread over them.

    A token of sequences that are one and the same touches as many experts as one of them does.
    """

    roof: Roof
    active_share: Floats
    touch_factor: Floats
    tile_tokens: Floats

    def touched(self, tokens: Floats) -> Floats:
        """Expected share of the experts that M tokens reach: 1 − (1 − k/E)^(M·touch); routing is not quite uniform."""
        idle = column(1 - self.active_share, tokens)
        share: Floats = 1 - idle ** (tokens * column(self.touch_factor, tokens))
        return share

    def seconds(self, tokens: Floats) -> Floats:
        """The touched ones are read, each multiplies for its tokens and for the rest of a tile."""
        touched = self.touched(tokens)
        own = tokens * column(self.active_share, tokens)
        return self.roof.seconds(touched, own + touched * column(self.tile_tokens, tokens))


def experts(setup: Setup) -> Experts:
    """Routed experts; narrow ones multiply slowly, and matrix units work on tiles of tokens.

    work = 2 · parameters · (M·k/E + touched share · `expert_tile_tokens`). Compute efficiency ∝ (expert width per
    GPU / reference width)^exponent, at most that of a dense layer. Source: shapes fitted on measured MoE kernels.
    """
    network, constants, tp = setup.network, setup.constants, setup.layout.tensor_parallel
    moved = network.expert_params * setup.weights.expert_bytes_per_param / tp
    width = network.expert_width / np.where(setup.layout.expert_parallel | setup.layout.attention_dp, 1.0, tp)
    relative = (width / constants["expert_reference_width"]) ** constants["expert_width_exponent"]
    kernels = constants["expert_kernel_factor"] * _expert_format_factor(setup)
    slower = np.minimum(constants["expert_compute_factor"] * kernels * relative, 1.0)
    roof = _roof(
        setup,
        moved,
        network.expert_params,
        quantized=np.True_,
        bandwidth_factor=constants["expert_bandwidth_factor"],
        compute_factor=slower,
        norm=constants["expert_roofline_norm"],
    )
    return Experts(
        roof,
        active_share=network.active_experts / network.experts,
        touch_factor=constants["expert_touch_factor"] / setup.layout.prompt_copies,
        tile_tokens=constants["expert_tile_tokens"],
    )


def _expert_format_factor(setup: Setup) -> Floats:
    """How well experts' products use the peak of their format, (n,): they take no longer than in 16 bits.

    Where a GPU multiplies a format natively but engines do so slowly, they unpack it instead, as they do where it does
    not.
    """
    constants, hardware = setup.constants, setup.hardware
    native = hardware.scheme_flops > hardware.plain_flops
    as_unpacked = hardware.plain_flops / (hardware.scheme_flops * constants["precision_compute_factor"])
    factor = constants["expert_format_compute_factor"]
    return np.where(native, np.maximum(factor, as_unpacked), factor)


def _roof(
    setup: Setup,
    moved: Floats,
    params: Floats,
    *,
    quantized: Flags | np.bool_,
    bandwidth_factor: Floats | float = 1.0,
    compute_factor: Floats | float = 1.0,
    norm: Floats | None = None,
) -> Roof:
    """`moved` bytes at the efficient bandwidth, `params` multiplied by the GPUs of a stage at the efficient peak."""
    constants, hardware = setup.constants, setup.hardware
    in_scheme = np.where(quantized, constants["precision_bandwidth_factor"], 1.0)
    share = constants["bandwidth_efficiency"] * constants["engine_bandwidth_factor"] * in_scheme
    bandwidth = hardware.bandwidth * attainable(share * bandwidth_factor)
    peak = np.where(quantized, hardware.scheme_flops, hardware.plain_flops)
    in_scheme = np.where(quantized, constants["precision_compute_factor"], 1.0)
    efficiency = constants["compute_efficiency"] * constants["engine_compute_factor"] * in_scheme
    flops = peak * hardware.half_gain ** constants["half_accumulation"] * efficiency * compute_factor
    work = FLOPS_PER_PARAM * params / setup.layout.tensor_parallel
    return Roof(moved / bandwidth, work / flops, constants["roofline_norm"] if norm is None else norm)


@dataclass(frozen=True)
class Matrices:
    """Every matrix of the model: what does not depend on how many tokens pass."""

    body: Roof
    head: Roof
    experts: Experts | None
    """None where no row has any."""

    def seconds(self, tokens: Floats, sampled: Floats, passes: Floats | float = 1.0) -> Floats:
        """`tokens` tokens of which `sampled` are turned into a next token, in so many equal passes, the last of which
        needs the head; each reads the weights."""
        body, head = self.body.seconds(passes, tokens), self.head.seconds(1.0, sampled)
        return body + head if self.experts is None else body + head + passes * self.experts.seconds(tokens / passes)


def matrices(setup: Setup) -> Matrices:
    """The model's matrices on the row's GPUs."""
    return Matrices(body_roof(setup), head_roof(setup), experts(setup) if setup.network.expert_params.any() else None)


def decode_attention_seconds(setup: Setup, context: Floats) -> Floats:
    """A decode step's attention per sequence of `context` (n,) cached tokens: the larger of reading and multiplying.

    Every sequence's cache is read once; a latent cache also costs multiplications. Windows and sparse attention cap
    what is read; an indexer scores every token on every GPU; a linear layer reads and writes its state.
    """
    network, constants = setup.network, setup.constants
    expanded = (network.heads / network.kv_heads) ** constants["kv_head_expansion"]
    heads_shared = np.where(network.latent > 0, 1.0, expanded)
    layer_bytes = network.layer_bytes_per_token * setup.weights.kv_scale * heads_shared
    # tokens that a new one attends to, summed over the layers
    chosen = np.minimum(context, network.sparse_tokens)
    far = network.full_layers * context + network.sparse_layers * chosen
    near = network.window_layers * np.minimum(context, network.window)
    per_rank = 1 / cache_copies(setup)
    read = layer_bytes * (far / far_kv_shards(setup) + near / kv_shards(setup)) + network.index_bytes * context
    moved = per_rank * (read + 2 * (state_bytes(setup) * setup.layout.pipeline_parallel))
    share = constants["kv_bandwidth_efficiency"] * constants["engine_attention_factor"]
    memory = moved / (setup.hardware.bandwidth * share)
    flops_per_token = FLOPS_PER_PARAM * network.heads * network.decode_dims / body_shards(setup)
    flops = setup.hardware.plain_flops * constants["decode_attention_compute_efficiency"]
    work = (far * network.far_expansion + near) * flops_per_token + network.index_flops * context
    return smooth_max(memory, per_rank * (work / flops), constants["roofline_norm"])


def crowding_sequences(setup: Setup) -> Floats:
    """Sequences above which attention takes the kernel for many heads, one block of threads for each, (n,).

    Source: vLLM's choice between the first and the second version of paged attention (vllm-project/vllm#1348).
    """
    most: Floats = setup.constants["crowded_attention_heads"] * setup.layout.tensor_parallel / setup.network.heads
    return most


def crowded_attention_factor(setup: Setup) -> Floats:
    """How many times as long attention takes in that kernel, (n,); once where an engine's reads as fast as others.

    It keeps a score of every token that a recorded graph allows for in its processor's own memory, so that the longer a
    model's context the fewer blocks run beside each other, up to `crowded_attention_tokens`, for which the share is.
    """
    constants = setup.constants
    longest = constants["crowded_attention_tokens"]
    allowed = np.minimum(setup.network.max_context, longest) / longest
    return np.maximum(allowed / constants["crowded_attention_share"], 1.0)


def prefill_attention_seconds(setup: Setup, new: Floats, cached: Floats) -> Floats:
    """Attention of a prompt: 2·heads·dims per (query, key) pair and layer, the causal half of the square.

    pairs = new·(cached + new/2) in global layers, at most new·window in windowed and new·top-k in sparse ones. An
    indexer scores all pairs before it chooses, on every GPU.
    """
    network = setup.network
    reach = cached + new / 2
    chosen = np.minimum(reach, column(network.sparse_tokens, new))
    far = column(network.full_layers, new) * reach + column(network.sparse_layers, new) * chosen
    near = column(network.window_layers, new) * np.minimum(reach, column(network.window, new))
    pairs = new * (far * column(network.far_expansion, new) + near)
    work = FLOPS_PER_PARAM * network.heads * network.prefill_dims / setup.layout.tensor_parallel
    flops = setup.hardware.plain_flops * setup.constants["prefill_attention_efficiency"]
    return pairs * column(work / flops, new) + new * reach * column(network.index_flops / flops, new)

"""Time of the layers of one pipeline pass: a smooth maximum of moving bytes and multiplying, for M tokens at once.

All functions return seconds for the whole model (all stages), (n,) or the shape of `tokens` (n, …).
"""

from dataclasses import dataclass

import numpy as np

from optimizer.base.arrays import Floats
from optimizer.performance.physics.memory import body_shards, head_bytes_per_param, kv_shards, state_bytes
from optimizer.performance.physics.setup import Setup

FLOPS_PER_PARAM = 2.0
"""One multiplication and one addition per parameter and token."""
DATASHEET = 1.0
"""No kernel moves bytes faster than the datasheet's bandwidth, whatever a fit would like."""


def column(values: Floats, like: Floats) -> Floats:
    """Values of n rows shaped to combine with an array of n rows and any further axes."""
    return values.reshape(values.shape + (1,) * (like.ndim - 1))


def smooth_max(left: Floats, right: Floats, norm: Floats) -> Floats:
    """(leftᵖ + rightᵖ)^(1/p): overlapped work takes a little longer than its longer part. Norm p, (n,)."""
    power = column(norm, left)
    high = np.maximum(left, right)
    low = np.minimum(left, right)
    ratio = np.divide(low, high, out=np.zeros_like(high), where=high > 0)
    return high * (1 + ratio**power) ** (1 / power)


@dataclass(frozen=True)
class Roof:
    """One kind of matrix, (n,): seconds to move its bytes once, seconds to multiply one token by it."""

    move: Floats
    multiply: Floats
    norm: Floats

    def seconds(self, moved: Floats, multiplied: Floats) -> Floats:
        """Smooth maximum of moving the share `moved` and multiplying `multiplied` tokens, (n,) or (n, …)."""
        memory = column(self.move, multiplied) * moved
        return smooth_max(memory, column(self.multiply, multiplied) * multiplied, self.norm)


def body_roof(setup: Setup) -> Roof:
    """Attention projections, dense and shared MLPs: every weight is read once, every token multiplied."""
    network = setup.network
    moved = network.body_params * setup.weights.body_bytes_per_param / body_shards(setup)
    work = FLOPS_PER_PARAM * network.body_params / setup.layout.tensor_parallel
    quantized = setup.weights.body_quantized > 0
    bandwidth = setup.hardware.bandwidth * _bandwidth_efficiency(setup, quantized)
    flops = _peak(setup, quantized) * _compute_efficiency(setup, quantized)
    return Roof(moved / bandwidth, work / flops, setup.constants["roofline_norm"])


def head_roof(setup: Setup) -> Roof:
    """The output head, in 16 bits, for the tokens that are sampled."""
    network, tp = setup.network, setup.layout.tensor_parallel
    plain = np.zeros(setup.rows, dtype=np.bool_)
    moved = network.head_params * head_bytes_per_param(setup) / tp
    work = FLOPS_PER_PARAM * network.head_params / tp
    bandwidth = setup.hardware.bandwidth * _bandwidth_efficiency(setup, plain)
    flops = _peak(setup, plain) * _compute_efficiency(setup, plain)
    return Roof(moved / bandwidth, work / flops, setup.constants["roofline_norm"])


@dataclass(frozen=True)
class Experts:
    """The routed experts, (n,): what touching all of them costs, and how tokens spread over them."""

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
    quantized = np.ones(setup.rows, dtype=np.bool_)
    moved = network.expert_params * setup.weights.expert_bytes_per_param / tp
    work = FLOPS_PER_PARAM * network.expert_params / tp
    width = network.expert_width / np.where(setup.layout.expert_parallel | setup.layout.attention_dp, 1.0, tp)
    relative = (width / constants["expert_reference_width"]) ** constants["expert_width_exponent"]
    slower = np.minimum(constants["expert_compute_factor"] * relative, 1.0)
    share = _bandwidth_efficiency(setup, quantized) * constants["expert_bandwidth_factor"]
    efficiency = np.minimum(share, DATASHEET)
    flops = _peak(setup, quantized) * _compute_efficiency(setup, quantized) * slower
    roof = Roof(moved / (setup.hardware.bandwidth * efficiency), work / flops, constants["roofline_norm"])
    return Experts(
        roof,
        network.active_experts / network.experts,
        constants["expert_touch_factor"],
        constants["expert_tile_tokens"],
    )


@dataclass(frozen=True)
class Matrices:
    """Every matrix of the model: what does not depend on how many tokens pass."""

    body: Roof
    head: Roof
    experts: Experts | None
    """None where no row has any."""

    def seconds(self, tokens: Floats, sampled: Floats) -> Floats:
        """One pass of `tokens` tokens of which `sampled` are turned into a next token."""
        body = self.body.seconds(np.ones_like(tokens), tokens)
        head = self.head.seconds(np.ones_like(sampled), sampled)
        return body + head if self.experts is None else body + head + self.experts.seconds(tokens)


def matrices(setup: Setup) -> Matrices:
    """The model's matrices on the row's GPUs."""
    return Matrices(body_roof(setup), head_roof(setup), experts(setup) if setup.network.expert_params.any() else None)


def decode_attention_seconds(setup: Setup, sequences: Floats, context: Floats) -> Floats:
    """One decode step's attention: every sequence's cache is read once; a latent cache also costs multiplications.

    Windows and sparse attention cap what is read; a linear layer reads and writes its state.
    """
    network, constants = setup.network, setup.constants
    per_rank = sequences / column(np.where(setup.layout.attention_dp, setup.layout.tensor_parallel, 1.0), sequences)
    heads_shared = np.where(
        network.latent > 0, 1.0, (network.heads / network.kv_heads) ** constants["kv_head_expansion"]
    )
    token_bytes = (
        network.kv_bytes_per_token / network.kv_layers * setup.weights.kv_scale * heads_shared / kv_shards(setup)
    )
    read = read_token_layers(setup, context)
    moved = per_rank * (
        read * column(token_bytes, read) + 2 * column(state_bytes(setup) * setup.layout.pipeline_parallel, read)
    )
    memory = moved / column(setup.hardware.bandwidth * constants["kv_bandwidth_efficiency"], moved)
    split = np.where(setup.layout.attention_dp, 1.0, setup.layout.tensor_parallel)
    flops_each = FLOPS_PER_PARAM * network.heads * network.decode_dims / split
    flops = setup.hardware.plain_flops * constants["decode_attention_compute_efficiency"]
    compute = per_rank * read * column(flops_each / flops, read)
    return smooth_max(memory, compute, constants["roofline_norm"])


def read_token_layers(setup: Setup, context: Floats) -> Floats:
    """Cached tokens one new token attends to, summed over the layers."""
    network = setup.network
    seen = np.minimum(context, column(network.sparse_tokens, context))
    local = column(network.kv_layers - network.global_layers, context)
    return column(network.global_layers, context) * seen + local * np.minimum(context, column(network.window, context))


def prefill_attention_seconds(setup: Setup, new: Floats, cached: Floats) -> Floats:
    """Attention of a prompt: 2·heads·dims per (query, key) pair and layer, the causal half of the square.

    pairs = new·(cached + new/2) in global layers, at most new·window in windowed and new·top-k in sparse ones.
    """
    network = setup.network
    reach = cached + new / 2
    seen = np.minimum(reach, column(network.sparse_tokens, new))
    local = column(network.kv_layers - network.global_layers, new)
    near = np.minimum(reach, column(network.window, new))
    pairs = new * (column(network.global_layers, new) * seen + local * near)
    work = FLOPS_PER_PARAM * network.heads * network.prefill_dims / setup.layout.tensor_parallel
    flops = setup.hardware.plain_flops * setup.constants["prefill_attention_efficiency"]
    return pairs * column(work / flops, new)


def _bandwidth_efficiency(setup: Setup, quantized: np.ndarray) -> Floats:
    factor = np.where(quantized, setup.constants["precision_bandwidth_factor"], 1.0)
    share = setup.constants["bandwidth_efficiency"] * setup.constants["engine_bandwidth_factor"] * factor
    return np.minimum(share, DATASHEET)


def _compute_efficiency(setup: Setup, quantized: np.ndarray) -> Floats:
    factor = np.where(quantized, setup.constants["precision_compute_factor"], 1.0)
    return setup.constants["compute_efficiency"] * setup.constants["engine_compute_factor"] * factor


def _peak(setup: Setup, quantized: np.ndarray) -> Floats:
    peak = np.where(quantized, setup.hardware.scheme_flops, setup.hardware.plain_flops)
    return peak * setup.hardware.half_gain ** setup.constants["half_accumulation"]

"""What the engine does in one go: a decode step over the running sequences, and the prefill of a prompt."""

from dataclasses import dataclass

import numpy as np

from optimizer.performance.calibration import Floats
from optimizer.performance.communication import all_reduce_seconds, pipeline_seconds
from optimizer.performance.roofline import (
    column,
    decode_attention_seconds,
    linear_seconds,
    prefill_attention_seconds,
    smooth_max,
)
from optimizer.performance.setup import Setup


@dataclass(frozen=True)
class StepParts:
    """Seconds of one decode step by what they are spent on, (n,)."""

    linear: Floats
    attention: Floats
    communication: Floats
    overhead: Floats

    @property
    def total(self) -> Floats:
        """The whole step."""
        return self.linear + self.attention + self.communication + self.overhead


def decode_step(setup: Setup, sequences: Floats, context: Floats) -> StepParts:
    """One token for each of `sequences` (n,) running sequences with `context` (n,) cached tokens on average.

    With pipeline stages the sequences run in as many micro-batches, and a token's step passes through all stages.
    """
    batch = sequences / setup.layout.pipeline_parallel
    ranks = np.where(setup.layout.attention_dp, setup.layout.tensor_parallel, 1.0)
    return StepParts(
        linear_seconds(setup, batch, batch),
        decode_attention_seconds(setup, batch, context),
        all_reduce_seconds(setup, batch) + pipeline_seconds(setup, batch),
        step_overhead_seconds(setup, batch / ranks),
    )


def step_overhead_seconds(setup: Setup, sequences: Floats) -> Floats:
    """Host and launch time the engine adds: per step, per layer, expert layer and latent layer, and per sequence."""
    constants, network = setup.constants, setup.network
    routed = np.where(network.experts > 1, constants["expert_layer_overhead_s"], 0.0)
    latent = np.where(network.latent > 0, constants["latent_layer_overhead_s"], 0.0)
    layers = network.layers * (constants["layer_overhead_s"] + routed + latent)
    return constants["step_overhead_s"] + layers + constants["sequence_overhead_s"] * sequences


def prefill_seconds(setup: Setup, new: Floats, cached: Floats, prompts: Floats) -> Floats:
    """Work of prefilling `prompts` prompts together, each of `new` uncached tokens behind `cached` ones.

    All three (n,) or (n, K); seconds of one pass through all stages, without what the engine adds.
    """
    tokens = new * prompts
    attention = prompts * prefill_attention_seconds(setup, new, cached)
    layers = linear_seconds(setup, tokens, prompts) + attention + all_reduce_seconds(setup, tokens)
    return layers * pipelined_share(setup, tokens) + pipeline_seconds(setup, tokens)


def pipelined_share(setup: Setup, tokens: Floats) -> Floats:
    """Time of a prefill in chunks over pipeline stages, relative to one stage doing it all.

    With c chunks on s stages the last chunk leaves after c + s − 1 of c · s chunk times: 1/s + (1 − 1/s)/c.
    """
    stages = column(setup.layout.pipeline_parallel, tokens)
    chunks = np.maximum(tokens / column(setup.layout.max_batched_tokens, tokens), 1.0)
    return 1 / stages + (1 - 1 / stages) / chunks


def launch_floor_seconds(setup: Setup) -> Floats:
    """The least time a prefill takes, (n,): its kernels are launched one by one, without a recorded graph."""
    constants, network = setup.constants, setup.network
    routed = np.where(network.experts > 1, constants["expert_launch_floor_s"], 0.0)
    return (constants["launch_floor_s"] + routed) * network.layers


def first_token_seconds(setup: Setup, prefill: Floats) -> Floats:
    """Fixed cost of a request plus its prefill, at least the launch floor; (n,) or (n, K)."""
    floor = column(launch_floor_seconds(setup), prefill)
    return column(setup.constants["request_overhead_s"], prefill) + smooth_max(
        prefill, floor + 0 * prefill, setup.constants["roofline_norm"]
    )

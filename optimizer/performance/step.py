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
    return StepParts(
        linear_seconds(setup, batch, batch),
        decode_attention_seconds(setup, batch, context),
        all_reduce_seconds(setup, batch) + pipeline_seconds(setup, batch),
        step_overhead_seconds(setup, batch),
    )


def step_overhead_seconds(setup: Setup, sequences: Floats) -> Floats:
    """Host and launch time the engine adds: per step, per layer, per expert layer and per running sequence."""
    constants, network = setup.constants, setup.network
    routed = np.where(network.experts > 1, constants["expert_layer_overhead_s"], 0.0)
    layers = network.layers * (constants["layer_overhead_s"] + routed)
    return constants["step_overhead_s"] + layers + constants["sequence_overhead_s"] * sequences


def prefill_seconds(setup: Setup, new: Floats, cached: Floats, prompts: Floats) -> Floats:
    """Work of prefilling `prompts` prompts together, each of `new` uncached tokens behind `cached` ones.

    All three (n,) or (n, K); seconds of one pass through all stages, without what the engine adds.
    """
    tokens = new * prompts
    attention = prompts * prefill_attention_seconds(setup, new, cached)
    return (
        linear_seconds(setup, tokens, prompts)
        + attention
        + all_reduce_seconds(setup, tokens)
        + pipeline_seconds(setup, tokens)
    )


def launch_floor_seconds(setup: Setup) -> Floats:
    """The least time a prefill takes, (n,): its kernels are launched one by one, without a recorded graph."""
    return setup.constants["launch_floor_s"] * setup.network.layers


def first_token_seconds(setup: Setup, prefill: Floats) -> Floats:
    """Fixed cost of a request plus its prefill, at least the launch floor; (n,) or (n, K)."""
    floor = column(launch_floor_seconds(setup), prefill)
    return column(setup.constants["request_overhead_s"], prefill) + np.maximum(prefill, floor)

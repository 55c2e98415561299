"""What a configuration's time or memory is spent on: the reason why no better candidate of its kind exists."""

import numpy as np

from optimizer.base.arrays import Floats
from optimizer.performance.candidates.options import PoolOptions, WorkloadOptions
from optimizer.performance.candidates.predict import Mix
from optimizer.performance.physics.communication import all_reduces
from optimizer.performance.physics.memory import kv_bytes_per_sequence
from optimizer.performance.physics.roofline import matrices, prefill_attention_seconds
from optimizer.performance.physics.setup import Setup
from optimizer.performance.physics.step import launch_floor_seconds, step_costs

HALF = 0.5
"""A cause is named alone when it takes at least this share."""


def spent_on(choice: WorkloadOptions, pool: PoolOptions, row: int, criterion: str) -> dict[str, float]:
    """Shares of what the criterion limits, largest first, for a replica that serves one request at a time.

    Args:
        choice: The workload's configurations.
        pool: The requests in question; their longest prompt counts.
        row: The configuration.
        criterion: `ttft`, `e2e`, `tpot` or `memory`; nothing is known about others.
    """
    setup, mix = choice.setup.take(np.array([row])), pool.pool.mix
    if criterion == "memory":
        parts = _memory(choice, setup, mix, row)
    elif criterion == "tpot":
        parts = _decode(setup, mix)
    elif criterion in ("ttft", "e2e"):
        parts = {**_prefill(setup, mix), "network and stages before the model": choice.limits.before_s[row]}
        if criterion == "e2e":
            steps = mix.output_tokens.max()
            parts |= {f"{name} of the answer": seconds * steps for name, seconds in _decode(setup, mix).items()}
    else:
        return {}
    # parts are floats or (1,), for the one configuration
    amounts = {name: float(np.squeeze(part)) for name, part in parts.items()}
    total = sum(amounts.values())
    shares = {name: amount / total for name, amount in amounts.items() if amount > 0}
    return dict(sorted(shares.items(), key=lambda item: (-item[1], item[0])))


def largest_causes(shares: dict[str, float]) -> str:
    """The largest cause, or the largest two where neither takes half."""
    named = list(shares.items())[: 1 if max(shares.values(), default=1.0) >= HALF else 2]
    return " and ".join(f"{name} ({share:.0%})" for name, share in named)


def _prefill(setup: Setup, mix: Mix) -> dict[str, Floats | float]:
    """Seconds of one prompt alone, by the longer of computing and reading weights."""
    tokens = np.array([mix.input_tokens.max()], dtype=np.float64)
    new = tokens * (1 - mix.cached_input_share)
    body = matrices(setup).body
    computing = body.multiply * new
    return {
        ("prefill compute" if computing >= body.move else "reading the weights"): np.maximum(computing, body.move),
        "attention over the prompt": prefill_attention_seconds(setup, new, tokens - new),
        "the link between the GPUs": all_reduces(setup).seconds(new),
        "engine overhead": setup.constants["request_overhead_s"] + launch_floor_seconds(setup),
    }


def _decode(setup: Setup, mix: Mix) -> dict[str, Floats | float]:
    """Seconds of one decode step for one sequence."""
    context = np.array([(mix.input_tokens + mix.output_tokens / 2).max()])
    step = step_costs(setup, context).decode(np.ones(1))
    return {
        "reading the weights": step.linear,
        "reading the KV cache": step.attention,
        "the link between the GPUs": step.communication,
        "engine overhead": step.overhead,
    }


def _memory(choice: WorkloadOptions, setup: Setup, mix: Mix, row: int) -> dict[str, Floats | float]:
    """Bytes of one GPU."""
    memory = choice.memory
    context = mix.input_tokens + mix.output_tokens
    return {
        "weights": memory.weights[row],
        "working space": memory.activations[row] + memory.overhead[row],
        "the KV cache of one request": kv_bytes_per_sequence(setup, context).max(),
    }

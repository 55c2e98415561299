"""What a configuration's time or memory is spent on: the reason why no better candidate of its kind exists."""

import numpy as np

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
        parts = {**_prefill(setup, mix), "stages before the model": choice.limits.ttft_overhead_s}
        if criterion == "e2e":
            steps = float(mix.output_tokens.max())
            parts |= {f"{name} of the answer": seconds * steps for name, seconds in _decode(setup, mix).items()}
    else:
        return {}
    total = sum(parts.values())
    shares = {name: part / total for name, part in parts.items() if part > 0}
    return dict(sorted(shares.items(), key=lambda item: (-item[1], item[0])))


def largest_causes(shares: dict[str, float]) -> str:
    """The largest cause, or the largest two where neither takes half."""
    named = list(shares.items())[: 1 if max(shares.values(), default=1.0) >= HALF else 2]
    return " and ".join(f"{name} ({share:.0%})" for name, share in named)


def _prefill(setup: Setup, mix: Mix) -> dict[str, float]:
    """Seconds of one prompt alone, by the longer of computing and reading weights."""
    tokens = np.array([float(mix.input_tokens.max())])
    new = tokens * (1 - mix.cached_input_share)
    body = matrices(setup).body
    reading, computing = float(body.move[0]), float((body.multiply * new)[0])
    return {
        ("prefill compute" if computing >= reading else "reading the weights"): max(computing, reading),
        "attention over the prompt": float(prefill_attention_seconds(setup, new, tokens - new)[0]),
        "the link between the GPUs": float(all_reduces(setup).seconds(new)[0]),
        "engine overhead": float((setup.constants["request_overhead_s"] + launch_floor_seconds(setup))[0]),
    }


def _decode(setup: Setup, mix: Mix) -> dict[str, float]:
    """Seconds of one decode step for one sequence."""
    context = np.array([float((mix.input_tokens + mix.output_tokens / 2).max())])
    step = step_costs(setup, context).decode(np.ones(1))
    return {
        "reading the weights": float(step.linear[0]),
        "reading the KV cache": float(step.attention[0]),
        "the link between the GPUs": float(step.communication[0]),
        "engine overhead": float(step.overhead[0]),
    }


def _memory(choice: WorkloadOptions, setup: Setup, mix: Mix, row: int) -> dict[str, float]:
    """Bytes of one GPU."""
    use = choice.memory
    context = mix.input_tokens + mix.output_tokens
    return {
        "weights": float(use.weights[row]),
        "working space": float(use.activations[row] + use.overhead[row]),
        "the KV cache of one request": float(kv_bytes_per_sequence(setup, context).max()),
    }

"""Fine-tuned adapters of a workload: one is part of the weights, several at a time are refused with what they take."""

from collections.abc import Iterator

from optimizer.base.errors import Finding
from optimizer.base.units import BYTES_PER_GIB
from optimizer.inputs.catalog.entries.models import Model
from optimizer.inputs.scenario.scenario import LoraAdapters

BYTES_PER_WEIGHT = 2
"""Engines keep adapters in 16 bit, whatever the weights are."""


def adapter_bytes(model: Model, rank: int) -> int:
    """rank · (inputs + outputs) of every matrix of attention, and of a dense MLP, in 16 bit.

    Source: Hu et al. 2021, "LoRA: Low-Rank Adaptation of Large Language Models", section 4.1: B (outputs, rank) times A
    (rank, inputs) beside each matrix. Experts of a mixture are left as they are, which is what engines load.
    """
    hidden, query = model.hidden_size, model.attention_heads * model.head_dim
    cache = model.kv_heads * model.head_dim
    ends = (hidden + query) + 2 * (hidden + cache) + (query + hidden)
    if model.moe_experts is None:
        ends += (3 if model.mlp_gated else 2) * (hidden + model.intermediate_size)
    return BYTES_PER_WEIGHT * rank * ends * model.layers


def refused_adapters(adapters: LoraAdapters, model: Model, field: str) -> Iterator[Finding]:
    """One adapter is merged into the weights and costs nothing more; of several nobody published what a step costs."""
    if adapters.count > 1:
        gib = adapters.count * adapter_bytes(model, adapters.rank) / BYTES_PER_GIB
        problem = (
            f"{adapters.count} adapters of rank {adapters.rank} take {gib:.2f} GiB of every replica of {model.id}, and "
            "nobody published by GPU and engine what they cost a step: no latency could be promised"
        )
        hint = "merge each into weights and make it a workload of its own, or plan the base model and measure"
        yield Finding("scenario", 0, field, problem, hint)

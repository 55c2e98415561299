"""One replica before its load is known: prefill times, memory, how many sequences fit, and Little's law over them.

A running sequence shares each step with the others and waits for prefills that arrive meanwhile. With b sequences
running on average (Poisson arrivals, so that a request meets b others), step s and prefill P (`prefill_per_prompt`),
which holds up every running sequence, Little's law gives the rate at which b is reached:

    rate(b) = b / (output · s(1 + b) + b · P(b))

It grows with b.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from optimizer.base.arrays import Floats
from optimizer.performance.physics.admission import admission_interval
from optimizer.performance.physics.memory import MemoryUse, cache_copies, kv_bytes_per_sequence, memory_use
from optimizer.performance.physics.roofline import prefill_attention_seconds
from optimizer.performance.physics.setup import Setup
from optimizer.performance.physics.step import (
    StepCosts,
    StepParts,
    chunks_of,
    first_token_seconds,
    pipelined_share,
    prefill_seconds,
    step_costs,
)
from optimizer.performance.physics.token_mix import TokenMix


class LongPrompts(NamedTuple):
    """Prompts that fill several steps, of each kind, (n, P); tokens in mean prompts.

    Attributes:
        more_steps: Steps beyond the first.
        before: Tokens of the steps that a prompt fills by itself.
        room: Tokens that it leaves of its last one.
    """

    more_steps: Floats
    before: Floats
    room: Floats


@dataclass(frozen=True)
class ReplicaModel:
    """What does not depend on the load: prefill times, memory and how many sequences fit.

    Attributes:
        prefill: Seconds of prefill of each kind, (n, P), without queueing.
        mean_prefill: Of the mean request alone, per pipeline stage, (n,).
        mean_attention: Of it what is attention over the prompt, on all stages, (n,).
        prefill_variation: Squared coefficient of variation of the prefill over requests, (n,).
        first_token: Seconds to the first token of each kind when nobody waits, (n, P).
        steps: What decode steps and passes cost at the context of a running sequence.
        places: Sequences that fit at once, (n,); below 1 means that not even one does.
        sequence_bytes: Cache bytes per GPU of a running sequence, (n,).
        sequence_variation: Squared coefficient of variation of these, (n,); 0 where requests are alike.
        work_variation: That of what a request takes of the cache, its bytes for all of its tokens, (n,).
    """

    setup: Setup
    demand: TokenMix
    memory: MemoryUse
    prefill: Floats
    mean_prefill: Floats
    mean_attention: Floats
    prefill_variation: Floats
    first_token: Floats
    steps: StepCosts
    places: Floats
    sequence_bytes: Floats
    sequence_variation: Floats
    work_variation: Floats

    @property
    def most_beside_prompts(self) -> Floats:
        """Sequences above which a step has no room for the prompts that come in it, (n,).

        Of b sequences b/output end with each token, and as many prompts come, which must fit into what b leave of a
        step's tokens.
        """
        layout, demand = self.setup.layout, self.demand
        own = 1 + layout.draft_tokens
        most: Floats = layout.max_batched_tokens / (own + layout.accepted_tokens * demand.mean_new / demand.mean_output)
        return most

    def ended_in_a_step(self, sequences: Floats) -> Floats:
        """Requests of `sequences` (n,) running ones that end in a step, and as many that come, (n,)."""
        ended: Floats = self.setup.layout.accepted_tokens * sequences / self.demand.mean_output
        return ended

    @cached_property
    def long_prompts(self) -> LongPrompts | None:
        """How prompts fill their steps; None where each fits into one."""
        new, tokens = self.demand.new_tokens, self.setup.layout.max_batched_tokens[:, None]
        more_steps = chunks_of(self.setup, new) - 1
        if not np.any(more_steps):
            return None
        filled, mean = np.ceil(new / tokens) - 1, self.demand.mean_new[:, None]
        return LongPrompts(more_steps, filled * tokens / mean, ((filled + 1) * tokens - new) / mean)

    @cached_property
    def prefill_of_class(self) -> Floats:
        """Prefill of each class over that of the mean request, (n, K)."""
        of_class: Floats = self.demand.by_class(self.prefill) / self.demand.mean(self.prefill)[:, None]
        return of_class

    @cached_property
    def most_in_line(self) -> Floats:
        """Sequences beside one's own, (n,), that have a place and leave room for prompts."""
        return np.minimum(np.maximum(self.places - 1, 0.0), self.most_beside_prompts)

    @cached_property
    def served_when_full(self) -> Floats:
        """Requests per second while as many run as that, one's own among them, (n,)."""
        flow, most = self.when_full, 1 + self.most_in_line
        return most / (self.demand.mean_output * flow.step.total + most * flow.prefill)

    @cached_property
    def when_full(self) -> "Flow":
        """How requests pass through beside as many sequences as have a place and leave room for prompts."""
        return flow_at(self, self.most_in_line)


def replica_model(setup: Setup, demand: TokenMix) -> ReplicaModel:
    """Everything about the rows that the load does not change."""
    new, cached, stages = demand.new_tokens, demand.cached_tokens, setup.layout.pipeline_parallel
    memory = memory_use(setup)
    prefill = prefill_seconds(setup, new, cached, np.ones_like(new))
    # (n, P) work of one stage doing it all -> mean and variance over the requests
    work = prefill / pipelined_share(setup, new)
    mean = demand.mean(work)
    variance = demand.mean((work - mean[:, None]) ** 2)
    # cache of the running sequences -> how many fit, in all ranks' caches together
    length = demand.length(setup.constants["kv_growth_share"])
    bytes_of_kind = kv_bytes_per_sequence(setup, length)
    sequence_bytes: Floats = np.sum(demand.in_flight * bytes_of_kind, axis=1)
    uneven = np.sum(demand.in_flight * (bytes_of_kind / sequence_bytes[:, None] - 1) ** 2, axis=1)
    held = demand.output_tokens * bytes_of_kind
    mean_held = demand.mean(held)
    places = np.maximum(memory.kv_capacity, 0.0) / sequence_bytes * cache_copies(setup)
    half_grown = demand.length(np.full(setup.rows, 0.5))
    return ReplicaModel(
        setup=setup,
        demand=demand,
        memory=memory,
        prefill=prefill,
        mean_prefill=mean / stages,
        mean_attention=demand.mean(prefill_attention_seconds(setup, new, cached)),
        prefill_variation=variance / np.maximum(mean**2, np.finfo(np.float64).tiny),
        first_token=first_token_seconds(setup, prefill),
        steps=step_costs(setup, np.sum(demand.in_flight * half_grown, axis=1)),
        places=np.minimum(places, setup.layout.max_num_seqs * cache_copies(setup)),
        sequence_bytes=sequence_bytes,
        sequence_variation=uneven,
        work_variation=demand.mean((held / mean_held[:, None] - 1) ** 2),
    )


def prefill_per_prompt(replica: ReplicaModel, sequences: Floats, step: StepParts) -> Floats:
    """Seconds that each prompt takes from `sequences` (n,) running ones whose decode step is `step`, (n,).

    A step ends sequences/output requests for each token that it yields and admits as many, after an interval those of
    all its steps: beyond one, prompts are prefilled together.
    """
    steps, new, ended = replica.steps, replica.demand.mean_new, replica.ended_in_a_step(sequences)
    together = np.maximum(np.maximum(admission_interval(replica.setup, ended), 1.0) * ended, 1.0)
    work = replica.mean_attention + steps.shared_prefill(new, together, sequences, step)
    return work * steps.held_up(ended, chunks_of(replica.setup, new))


class Flow(NamedTuple):
    """How fast requests pass through a replica, (n,)."""

    step: StepParts
    prefill: Floats
    rate_per_s: Floats


def flow_at(replica: ReplicaModel, running: Floats) -> Flow:
    """Little's law with `running` (n,) sequences on average."""
    step = replica.steps.decode(1 + running)
    prefill = prefill_per_prompt(replica, 1 + running, step)
    return Flow(step, prefill, running / (replica.demand.mean_output * step.total + running * prefill))


def rate_at(replica: ReplicaModel, running: Floats) -> Floats:
    """Requests per second at which `running` (n,) sequences run on average."""
    return flow_at(replica, running).rate_per_s

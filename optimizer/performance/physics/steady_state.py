"""Continuous batching in steady state: how many sequences run, how fast, and at which request rate.

A running sequence shares each step with the others and waits for prefills that arrive meanwhile. With b sequences
running on average (Poisson arrivals, so that a request meets b others), step s and prefill P (`prefill_per_prompt`),
which holds up every running sequence, Little's law gives the rate at which b is reached:

    rate(b) = b / (output · s(1 + b) + b · P(b))        tpot(b) = s(1 + b) / (1 − rate · P(b))

Both grow with b, so every question about a rate is answered by searching b.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from optimizer.base.arrays import Flags, Floats
from optimizer.performance.physics.memory import MemoryUse, cache_copies, kv_bytes_per_sequence, memory_use
from optimizer.performance.physics.queueing import (
    POISSON,
    STATISTICS,
    ArrivalVariation,
    Wait,
    admission_wait,
    normal_deviation,
    server_wait,
)
from optimizer.performance.physics.roofline import prefill_attention_seconds
from optimizer.performance.physics.row_arrays import RowArrays
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


@dataclass(frozen=True)
class TokenMix(RowArrays):
    """What the requests of each row look like: K classes, all (n, K); shares of a row sum to 1."""

    new_tokens: Floats
    cached_tokens: Floats
    output_tokens: Floats
    share: Floats
    arrivals: ArrivalVariation = POISSON

    def mean(self, values: Floats) -> Floats:
        """(n,) what the mean request has of something that differs by class, (n, K)."""
        mean: Floats = np.sum(self.share * values, axis=1)
        return mean

    @property
    def mean_output(self) -> Floats:
        """Output tokens of the mean request, (n,)."""
        return self.mean(self.output_tokens)

    @property
    def in_flight(self) -> Floats:
        """Share of each class among running sequences, (n, K): those with long outputs stay longer."""
        held = self.share * self.output_tokens
        whole: Floats = np.sum(held, axis=1, keepdims=True)
        return held / whole

    def length(self, grown: Floats) -> Floats:
        """Cached tokens of each class's sequences, (n, K), with the share `grown` (n,) of their output produced."""
        return self.new_tokens + self.cached_tokens + grown[:, None] * self.output_tokens


@dataclass(frozen=True)
class ReplicaModel:
    """What does not depend on the load: prefill times, memory and how many sequences fit.

    Attributes:
        prefill: Seconds of prefill of each class, (n, K), without queueing.
        mean_prefill: Of the mean request alone, per pipeline stage, (n,).
        mean_attention: Of it what is attention over the prompt, on all stages, (n,).
        prefill_variation: Squared coefficient of variation of the prefill over requests, (n,).
        first_token: Seconds to the first token of each class when nobody waits, (n, K).
        steps: What decode steps and passes cost at the context of a running sequence.
        places: Sequences that fit at once, (n,); below 1 means that not even one does.
        sequence_bytes: Cache bytes per GPU of a running sequence, (n,).
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


def replica_model(setup: Setup, demand: TokenMix) -> ReplicaModel:
    """Everything about the rows that the load does not change."""
    new, cached, stages = demand.new_tokens, demand.cached_tokens, setup.layout.pipeline_parallel
    memory = memory_use(setup)
    prefill = prefill_seconds(setup, new, cached, np.ones_like(new))
    # (n, K) work of one stage doing it all -> mean and variance over the requests
    work = prefill / pipelined_share(setup, new)
    mean = demand.mean(work)
    variance = demand.mean((work - mean[:, None]) ** 2)
    # cache of the running sequences -> how many fit, in all ranks' caches together
    length = demand.length(setup.constants["kv_growth_share"])
    sequence_bytes: Floats = np.sum(demand.in_flight * kv_bytes_per_sequence(setup, length), axis=1)
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
    )


@dataclass(frozen=True)
class OperatingPoint:
    """One replica at a load, (n,) or (n, K) for what differs by request class; seconds.

    Attributes:
        rate_per_s: Requests per second.
        concurrency: Sequences running on average.
        max_concurrency: Sequences that fit at once.
        kv_utilization: Share of the KV cache in use on average.
        stable: Whether the replica keeps up with the rate.
        tpot_s: Time per output token by statistic, (n,).
        start_s: Time to first token of a request that stands in no line, (n, K).
        ttft_s: Time to first token by statistic, (n, K).
        e2e_s: End-to-end time by statistic, (n, K).
        prefill_s: Prefill of each class without queueing, (n, K).
        step_s: One decode step, (n,).
    """

    rate_per_s: Floats
    concurrency: Floats
    max_concurrency: Floats
    kv_utilization: Floats
    stable: Flags
    tpot_s: Mapping[str, Floats]
    start_s: Floats
    ttft_s: Mapping[str, Floats]
    e2e_s: Mapping[str, Floats]
    prefill_s: Floats
    step_s: Floats


def prefill_per_prompt(replica: ReplicaModel, sequences: Floats, step: StepParts) -> Floats:
    """Seconds that each prompt takes from `sequences` (n,) running ones whose decode step is `step`, (n,).

    A step ends sequences/output requests and admits as many, after an interval those of all its steps: beyond one,
    prompts are prefilled together.
    """
    demand, steps = replica.demand, replica.steps
    interval = np.maximum(replica.setup.layout.admission_interval, 1.0)
    together, new = np.maximum(interval * sequences / demand.mean_output, 1.0), demand.mean(demand.new_tokens)
    work = replica.mean_attention + steps.shared_prefill(new, together, sequences, step)
    return work * steps.held_up(sequences / demand.mean_output, chunks_of(replica.setup, new))


class _Flow(NamedTuple):
    """How fast requests pass through a replica, (n,)."""

    step: StepParts
    prefill: Floats
    rate_per_s: Floats


def _flow(replica: ReplicaModel, running: Floats) -> _Flow:
    """Little's law with `running` (n,) sequences on average."""
    step = replica.steps.decode(1 + running)
    prefill = prefill_per_prompt(replica, 1 + running, step)
    return _Flow(step, prefill, running / (replica.demand.mean_output * step.total + running * prefill))


def rate_at(replica: ReplicaModel, running: Floats) -> Floats:
    """Requests per second at which `running` (n,) sequences run on average."""
    return _flow(replica, running).rate_per_s


def at_concurrency(replica: ReplicaModel, running: Floats, statistics: Collection[str] = STATISTICS) -> OperatingPoint:
    """The replica with `running` (n,) sequences on average; end-to-end times only where all statistics are wanted."""
    flow, kv_capacity = _flow(replica, running), replica.memory.kv_capacity
    mean_tpot = flow.step.total / (1 - flow.rate_per_s * flow.prefill)
    spread = spread_of_tpot(replica, flow.rate_per_s, flow.prefill, mean_tpot)
    tpot = {name: mean_tpot + normal_deviation(name) * spread for name in statistics}
    start = replica.first_token + waited_seconds(replica, running, flow.step.total)[:, None]
    in_line = _in_line(replica, flow, running, mean_tpot, statistics)
    ttft = {name: start + seconds[:, None] for name, seconds in in_line.items()}
    return OperatingPoint(
        rate_per_s=flow.rate_per_s,
        concurrency=running,
        max_concurrency=replica.places,
        kv_utilization=np.minimum((1 + running) * replica.sequence_bytes / np.maximum(kv_capacity, 1.0), 1.0),
        stable=(kv_capacity > 0) & (1 + running <= replica.places),
        tpot_s=tpot,
        start_s=start,
        ttft_s=ttft,
        e2e_s=end_to_end(replica.demand, ttft, tpot) if len(statistics) == len(STATISTICS) else {},
        prefill_s=replica.prefill,
        step_s=flow.step.total,
    )


def _in_line(
    replica: ReplicaModel, flow: _Flow, running: Floats, tpot: Floats, statistics: Collection[str]
) -> dict[str, Floats]:
    """Waiting by statistic, (n,): for a place, and for the prefills ahead."""
    step, uneven = flow.step.total, replica.demand.arrivals.of_replica(flow.rate_per_s)
    place = admission_wait(1 + running, replica.places, replica.demand.mean_output * tpot, uneven)
    load = np.minimum(flow.rate_per_s * flow.prefill, 1.0)
    queue = server_wait(load, replica.mean_prefill + step, replica.prefill_variation, uneven)
    return {name: _joint(name, queue, place) for name in statistics}


def waited_seconds(replica: ReplicaModel, running: Floats, step: Floats) -> Floats:
    """The rest of the running step, and the one that a prompt shares with `running` (n,) others, where any run, (n,).

    Of Poisson many others there is any with probability 1 − exp(−b).
    """
    steps = replica.setup.constants["waited_steps_open"] + admission_steps(replica)
    return steps * step * -np.expm1(-running)


def admission_steps(replica: ReplicaModel) -> Floats:
    """Steps that a prompt waits until a running engine looks for prompts, (n,).

    Half of the interval where it looks every so many steps, all of it where the first prompt that waits begins it.
    """
    return replica.setup.constants["admission_wait_share"] * replica.setup.layout.admission_interval


def _joint(name: str, first: Wait, second: Wait) -> Floats:
    """A statistic of the sum of two independent waits: means add, percentiles add in squares."""
    if name == "mean":
        return first.mean + second.mean
    return np.hypot(first.statistic(name), second.statistic(name))


def spread_of_tpot(replica: ReplicaModel, rate_per_s: Floats, prefill: Floats, tpot: Floats) -> Floats:
    """Standard deviation of a request's TPOT, (n,): how many prefills it met is a count that varies with arrivals.

    σ = P √(rate · life · (ca² + cs²)) / output, with life = output · tpot. Poisson counts have ca² = 1.
    Source: variance of a random sum; over a life of many gaps that of a renewal count, Cox (1962).
    """
    output = replica.demand.mean_output
    met = np.sqrt(rate_per_s * output * tpot)
    return prefill * met * np.sqrt(replica.demand.arrivals.of_replica(rate_per_s) + replica.prefill_variation) / output


def end_to_end(demand: TokenMix, ttft: Mapping[str, Floats], tpot: Mapping[str, Floats]) -> dict[str, Floats]:
    """TTFT + (output − 1) · TPOT; deviations of the two parts from their means add in squares."""
    decoded = np.maximum(demand.output_tokens - 1, 0.0)
    mean = ttft["mean"] + decoded * tpot["mean"][:, None]
    e2e = {"mean": mean, "p50": ttft["p50"] + decoded * tpot["p50"][:, None]}
    for name in ("p90", "p95", "p99"):
        first = np.maximum(ttft[name] - ttft["mean"], 0.0)
        e2e[name] = mean + np.hypot(first, decoded * (tpot[name] - tpot["mean"])[:, None])
    return e2e

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
from optimizer.performance.physics.line import Line
from optimizer.performance.physics.memory import MemoryUse, cache_copies, kv_bytes_per_sequence, memory_use
from optimizer.performance.physics.queueing import STATISTICS, admission_wait, normal_deviation, prompt_wait
from optimizer.performance.physics.request_times import RequestTimes
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
        sequence_variation: Squared coefficient of variation of these, (n,); 0 where requests of a class are alike.
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

    @property
    def most_beside_prompts(self) -> Floats:
        """Sequences above which a step has no room for the prompts that come in it, (n,).

        Of b sequences b/output end in a step, and as many prompts come, which must fit into what b leave of its tokens.
        """
        tokens = self.setup.layout.max_batched_tokens
        most: Floats = tokens / (1 + self.demand.mean_new / self.demand.mean_output)
        return most


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
        sequence_variation=uneven if demand.varies else np.zeros(setup.rows),
    )


@dataclass(frozen=True)
class OperatingPoint:
    """One replica at a load, (n,), (n, K) for what differs by request class, (n, P) by kind of length; seconds.

    Attributes:
        rate_per_s: Requests per second.
        concurrency: Sequences running on average.
        max_concurrency: Sequences that fit at once.
        kv_utilization: Share of the KV cache in use on average.
        stable: Whether the replica keeps up with the rate.
        tpot_s: Time per output token by statistic, (n,).
        requests: Time to the first and to the last token.
        prefill_s: Prefill of each kind without queueing, (n, P).
        step_s: One decode step, (n,).
    """

    rate_per_s: Floats
    concurrency: Floats
    max_concurrency: Floats
    kv_utilization: Floats
    stable: Flags
    tpot_s: Mapping[str, Floats]
    requests: RequestTimes
    prefill_s: Floats
    step_s: Floats

    @property
    def start_s(self) -> Floats:
        """(n, P) time to first token of a request that stands in no line."""
        return self.requests.start_s

    @property
    def ttft_s(self) -> Mapping[str, Floats]:
        """Time to first token by statistic, (n, K)."""
        return self.requests.ttft_s

    @property
    def e2e_s(self) -> Mapping[str, Floats]:
        """End-to-end time by statistic, (n, K)."""
        return self.requests.e2e_s


def prefill_per_prompt(replica: ReplicaModel, sequences: Floats, step: StepParts) -> Floats:
    """Seconds that each prompt takes from `sequences` (n,) running ones whose decode step is `step`, (n,).

    A step ends sequences/output requests and admits as many, after an interval those of all its steps: beyond one,
    prompts are prefilled together.
    """
    demand, steps = replica.demand, replica.steps
    interval = np.maximum(replica.setup.layout.admission_interval, 1.0)
    together, new = np.maximum(interval * sequences / demand.mean_output, 1.0), replica.demand.mean_new
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
    """The replica with `running` (n,) sequences on average, by these statistics; whole requests need all of them."""
    flow, kv_capacity = _flow(replica, running), replica.memory.kv_capacity
    mean_tpot = flow.step.total / (1 - flow.rate_per_s * flow.prefill)
    spread = _spread_under_arrivals(replica, flow, running, mean_tpot) if set(statistics) - {"mean"} else mean_tpot
    tpot = {name: mean_tpot + normal_deviation(name) * spread for name in statistics}
    start = replica.first_token + waited_seconds(replica, running, flow.step.total)[:, None]
    line = _line(replica, flow, running, mean_tpot)
    return OperatingPoint(
        rate_per_s=flow.rate_per_s,
        concurrency=running,
        max_concurrency=replica.places,
        kv_utilization=np.minimum((1 + running) * replica.sequence_bytes / np.maximum(kv_capacity, 1.0), 1.0),
        stable=(kv_capacity > 0) & (1 + running <= replica.places),
        tpot_s=tpot,
        requests=RequestTimes(replica.demand, start, line, tpot),
        prefill_s=replica.prefill,
        step_s=flow.step.total,
    )


def _line(replica: ReplicaModel, flow: _Flow, running: Floats, tpot: Floats) -> Line:
    """Waiting for the prefills ahead, and for a place.

    Sequences that differ in size fill the cache as unevenly as such arrivals do: the variance of a random sum.
    """
    uneven = replica.demand.arrivals.of_replica(flow.rate_per_s)
    of_places = uneven + 2 * replica.sequence_variation
    place = admission_wait(1 + running, replica.places, replica.demand.mean_output * tpot, of_places)
    prompts = prompt_wait(
        flow.rate_per_s,
        flow.prefill,
        flow.step.total,
        in_a_step=np.maximum(replica.setup.layout.max_batched_tokens - running, 1.0) / replica.demand.mean_new,
        squared_variation=replica.prefill_variation,
        of_arrivals=uneven,
    )
    return Line(prompts, place)


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


def _spread_under_arrivals(replica: ReplicaModel, flow: _Flow, running: Floats, tpot: Floats) -> Floats:
    """Standard deviation of a request's TPOT where requests arrive by themselves, (n,).

    More arrivals are more prefills to wait for and more sequences beside one's own, so the two deviations are added. Of
    b sequences with lives of one length z·b is the variance at any time and 2/3 of it that of the mean over a life, z
    the peakedness (ca² + 1)/2. Who waits for a prefill stays longer and meets more of them: σ / (1 − load).
    Source: infinitely many servers, Eick, Massey and Whitt (1993), Management Science 39(2); variance of a delay busy
    period, Conway, Maxwell and Miller (1967), Theory of Scheduling.
    """
    peakedness = (replica.demand.arrivals.of_replica(flow.rate_per_s) + 1) / 2
    more = np.sqrt(2 / 3 * peakedness * running)
    slower = replica.steps.decode(1 + running + more).total - flow.step.total
    met = spread_of_tpot(replica, flow.rate_per_s, flow.prefill, tpot)
    return (met + slower) / (1 - flow.rate_per_s * flow.prefill)


def spread_of_tpot(replica: ReplicaModel, rate_per_s: Floats, prefill: Floats, tpot: Floats) -> Floats:
    """Standard deviation of a request's TPOT, (n,): how many prefills it met is a count that varies with arrivals.

    σ = P √(rate · life · (ca² + cs²)) / output, with life = output · tpot. Poisson counts have ca² = 1.
    Source: variance of a random sum; over a life of many gaps that of a renewal count, Cox (1962).
    """
    demand = replica.demand
    uneven = demand.arrivals.of_replica(rate_per_s) + replica.prefill_variation
    return prefill * np.sqrt(rate_per_s * tpot) * np.sqrt(uneven) / np.sqrt(demand.typical_output)

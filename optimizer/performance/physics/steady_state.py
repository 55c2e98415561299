"""Continuous batching in steady state: how many sequences run, how fast, and how long requests wait.

With b sequences at even times, rate(b), step s and prefill P as `replica_model` has them,

    tpot(b) = s(1 + b) / (1 − rate · P(b))

grows with b, so every question about a rate is answered by searching b. Requests that come by themselves make the
number swing (`swings`), and prompts stand behind one's own (`prompts_behind`), so that more than b run on average, and
tpot is longer by as much.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from optimizer.base.arrays import Flags, Floats
from optimizer.performance.physics.admission import waited_for_admission
from optimizer.performance.physics.line import Line
from optimizer.performance.physics.load import ReplicaAtLoad, load_at, prompts_in_a_step
from optimizer.performance.physics.queueing import STATISTICS, admission_wait, prompt_wait
from optimizer.performance.physics.replica_model import LongPrompts, ReplicaModel
from optimizer.performance.physics.request_times import RequestTimes
from optimizer.performance.physics.token_times import tpot_of_mean, tpot_of_slowest

_FILLED: Final = 0.6
"""Of the room that a prompt of several steps leaves in its last one, what others take that came meanwhile; fitted, as
`prompt_wait` says."""
_LEAST_SPARE: Final = 0.01
"""Of what a full replica serves, what it has to spare at least, so that a line at its capacity has a length."""


@dataclass(frozen=True)
class OperatingPoint:
    """One replica at a load, (n,), (n, K) for what differs by request class, (n, P) by kind of length; seconds.

    Attributes:
        rate_per_s: Requests per second.
        concurrency: Sequences running on average.
        max_concurrency: Sequences that fit at once.
        kv_utilization: Share of the KV cache in use on average.
        stable: Whether the replica keeps up with the rate.
        tpot_s: Time per output token by statistic, of the class that has most, (n,).
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


def tpot_at(replica: ReplicaModel, running: Floats, statistics: Collection[str]) -> Mapping[str, Floats]:
    """Time per output token of `at_concurrency` alone, by statistic, of the class that has most, (n,)."""
    return tpot_of_slowest(replica, load_at(replica, running, steady=False), statistics)


def at_concurrency(
    replica: ReplicaModel, running: Floats, statistics: Collection[str] = STATISTICS, *, steady: bool = False
) -> OperatingPoint:
    """The replica at the rate at which `running` (n,) sequences run at even times, by these statistics; whole requests
    need all of them.

    Requests that come by themselves make their number swing, so that more run on average and all wait longer; `steady`
    is that as many run all the time.
    """
    load, kv_capacity = load_at(replica, running, steady=steady), replica.memory.kv_capacity
    tpot = tpot_of_slowest(replica, load, statistics)
    of_mean = tpot_of_mean(replica, load, statistics) if replica.demand.unlike else tpot
    start = replica.first_token + waited_seconds(replica, running, load.step)[:, None]
    if replica.long_prompts is not None:
        start += _own_steps(replica.long_prompts, load, running)
    return OperatingPoint(
        rate_per_s=load.flow.rate_per_s,
        concurrency=load.met,
        max_concurrency=replica.places,
        kv_utilization=np.minimum((1 + load.met) * replica.sequence_bytes / np.maximum(kv_capacity, 1.0), 1.0),
        stable=(kv_capacity > 0) & (1 + running <= replica.places),
        tpot_s=tpot,
        requests=RequestTimes(replica.demand, start, _line(replica, load), of_mean),
        prefill_s=replica.prefill,
        step_s=load.flow.step.total,
    )


def _line(replica: ReplicaModel, load: ReplicaAtLoad) -> Line:
    """Waiting for the prefills ahead, and for a place.

    Sequences that differ in size fill the cache as unevenly as their number swings: the variance of a random sum. A
    prompt has its place while it waits to be computed, too: as many, a geometric count, as come in that time, which are
    most when those that run are. So the standard deviations of both add up.
    """
    rate, most = load.flow.rate_per_s, replica.served_when_full
    prompts = prompt_wait(
        rate,
        load.flow.prefill,
        load.step * replica.setup.layout.accepted_tokens,
        in_a_step=prompts_in_a_step(replica, load.met),
        squared_variation=replica.prefill_variation,
        of_arrivals=load.of_arrivals,
    )
    read = rate * (load.flow.prefill + prompts.mean)
    spread = np.sqrt(load.met * (load.swing.peakedness + replica.sequence_variation)) + np.sqrt(read * (1 + read))
    place = admission_wait(
        load.met + read,
        replica.places,
        spread=spread,
        of_arrivals=load.of_arrivals,
        squared_variation=replica.work_variation,
        spare_per_s=np.maximum(most - rate, _LEAST_SPARE * most),
    )
    return Line(prompts, place)


def _own_steps(prompts: LongPrompts, load: ReplicaAtLoad, running: Floats) -> Floats:
    """What a prompt of each kind takes longer that fills several steps, (n, P).

    A decode step beside each but one, where any run, and of the room that is left in the last what prompts take that
    came while it filled the others.
    """
    beside, busy = load.step * -np.expm1(-running), load.flow.rate_per_s * load.flow.prefill
    others = np.minimum(busy[:, None] * prompts.before, prompts.room)
    longer: Floats = prompts.more_steps * beside[:, None] + _FILLED * load.flow.prefill[:, None] * others
    return longer


def waited_seconds(replica: ReplicaModel, running: Floats, step: Floats) -> Floats:
    """The rest of the running step, and the one that a prompt shares with `running` (n,) others, where any run, (n,).

    Of Poisson many others there is any with probability 1 − exp(−b). A whole step yields each sequence as many of the
    tokens that take `step` (n,) seconds as a draft's help.
    """
    come = replica.ended_in_a_step(1 + running)
    steps = replica.setup.constants["waited_steps_open"] + waited_for_admission(replica.setup, come)
    return steps * step * replica.setup.layout.accepted_tokens * -np.expm1(-running)

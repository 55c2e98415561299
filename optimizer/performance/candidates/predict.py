"""One replica under open-loop load: what it delivers at a rate, and the largest rate at which every limit holds."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np

from optimizer.base.arrays import Floats, Ints
from optimizer.base.largest import beyond, largest
from optimizer.performance.candidates.counted import CountedShares
from optimizer.performance.physics.queueing import POISSON, STATISTICS, ArrivalVariation
from optimizer.performance.physics.replica_model import ReplicaModel, rate_at, replica_model
from optimizer.performance.physics.row_arrays import RowArrays
from optimizer.performance.physics.setup import Setup
from optimizer.performance.physics.steady_state import (
    OperatingPoint,
    at_concurrency,
    tpot_at,
)
from optimizer.performance.physics.token_mix import TokenMix
from optimizer.performance.uncertainty.evidence import Margins

__all__ = [
    "LIMITS",
    "STATISTICS",
    "LatencyLimits",
    "Mix",
    "OperatingPoint",
    "Sustainable",
    "almost_idle",
    "operate",
    "sustainable_rate",
]

LIMITS: Final = ("kv_memory", "ttft", "tpot", "e2e", "saturation")
"""Names of the codes in `Sustainable.limited_by`."""

ROUNDING: Final = 1e-9
"""Relative, of a rate that is just served."""
ALMOST_IDLE: Final = 0.01
"""Others beside one's own request that a limit must leave room for: a replica that may only serve one request in a
hundred beside another stands empty to keep a limit that it cannot be said to keep."""


@dataclass(frozen=True)
class Lengths:
    """Kinds of requests that the classes of a mix are made of, (P,), class by class: tokens, and shares of the class.

    `request_class` counts the classes of the mix.
    """

    request_class: Ints
    share: Floats
    input_tokens: Floats
    output_tokens: Floats

    @property
    def first_kind(self) -> tuple[int, ...]:
        """The first kind of each class."""
        return tuple(np.unique(self.request_class, return_index=True)[1].tolist())


@dataclass(frozen=True)
class Mix:
    """Request classes of a workload, (K,): mean lengths, shares that sum to 1, share of prompts already cached.

    Where every row has a mix of its own, shares are (n, K). `lengths` says how requests differ within their classes.
    `dealt`, (K,), are the shares of the classes in the workload where a router sends the requests of each class to its
    replicas in turn; None where it sends them by chance. `classes`, (K,), are the positions of the classes in their
    workload, where what is counted on depends on them.
    """

    input_tokens: Floats
    output_tokens: Floats
    share: Floats
    cached_input_share: float
    arrivals: ArrivalVariation = POISSON
    lengths: Lengths | None = None
    dealt: Floats | None = None
    classes: tuple[int, ...] = ()

    @property
    def longest(self) -> Floats:
        """(P,) tokens of prompt and answer, of each kind of request."""
        kinds: Mix | Lengths = self.lengths or self
        return kinds.input_tokens + kinds.output_tokens


@dataclass(frozen=True)
class LatencyLimits(RowArrays):
    """What must hold, in seconds by statistic, and each row's margin on each predicted metric, (n,).

    A margin of 1 is the prediction itself. `before_s` is what passes outside the model, (n,): network and stages before
    it, part of TTFT and E2E. `counted` is what of the rate predicted here is counted on: all, unless a simulation found
    less to hold.
    """

    ttft_s: Mapping[str, float]
    tpot_s: Mapping[str, float]
    e2e_s: Mapping[str, float]
    margins: Margins
    before_s: Floats = field(default_factory=lambda: np.zeros(1))
    counted: CountedShares = field(default_factory=lambda: CountedShares.of_all(1))


@dataclass(frozen=True)
class Sustainable:
    """The largest rate at which all limits hold, (n,), 0 where none does.

    Attributes:
        rate_per_s: Requests per second, (n,).
        limited_by: Index into `LIMITS` of what stops a higher rate (or any rate at all), (n,).
    """

    rate_per_s: Floats
    limited_by: Ints


def demand_of(mix: Mix, rows: int) -> TokenMix:
    """The mix as demand of `rows` rows, equal ones unless the mix has shares for each."""
    kinds, share = mix.lengths, mix.share
    prompt, answer, first_kind = mix.input_tokens, mix.output_tokens, None
    if kinds is not None:
        # (…, K) shares of the classes -> (…, P) of their kinds
        prompt, answer, share = kinds.input_tokens, kinds.output_tokens, share[..., kinds.request_class] * kinds.share
        first_kind = kinds.first_kind
    cached = prompt * mix.cached_input_share
    turns = None if mix.dealt is None else np.sum(mix.share**2 / mix.dealt, axis=-1)
    # (P,) -> (rows, P)
    new, cached_tokens, output, share = (
        np.broadcast_to(np.asarray(each, np.float64), (rows, len(prompt)))
        for each in (prompt - cached, cached, answer, share)
    )
    return TokenMix(new, cached_tokens, output, share, replace(mix.arrivals, turns=turns), first_kind)


def operate(setup: Setup, mix: Mix, rate_per_s: Floats) -> OperatingPoint:
    """Each row's replica at its own rate, (n,); above its capacity `stable` is false and latencies are those at the
    capacity, which is the least they can be."""
    replica = replica_model(setup, demand_of(mix, setup.rows))
    point = _at_rate(SlowedReplica.by(replica, Margins.same()), rate_per_s)
    served = rate_per_s <= most_served(replica, replica.most_in_line) * (1 + ROUNDING)
    return replace(point, stable=point.stable & served)


def bounded(setup: Setup, mix: Mix, rate_per_s: Floats, margins: Margins) -> OperatingPoint:
    """The latencies that each row's replica keeps at its own rate, (n,), with the confidence of its margins: those of
    the slowed replica, of which `stable` tells whether it keeps up."""
    return _at_rate(SlowedReplica.by(replica_model(setup, demand_of(mix, setup.rows)), margins), rate_per_s)


def almost_idle(setup: Setup, mix: Mix, margins: Margins, statistics: Collection[str] = STATISTICS) -> OperatingPoint:
    """Each row's replica with few requests: the best latencies that it serves with, with the confidence of the margins,
    by these statistics; whole requests need all of them."""
    replica = replica_model(setup, demand_of(mix, setup.rows))
    return SlowedReplica.by(replica, margins).at(few_others(replica), statistics)


def few_others(replica: ReplicaModel) -> Floats:
    """Others beside one's own request on an almost idle replica, (n,)."""
    return np.minimum(ALMOST_IDLE, replica.most_in_line)


@dataclass(frozen=True)
class SlowedReplica:
    """A replica all of whose steps take longer than predicted, as own measurements say and a margin.

    It serves fewer requests with as many running, and its lines are those of slower steps at the rate that it serves.
    What a request takes that stands in no line has TTFT's own margin, which was measured of such (decision 0054); own
    measurements of TTFT are of all of it.

    Attributes:
        in_its_time: The replica in the time of its own steps: a request a second is as many more in it.
        step: Times as long as predicted that a step takes, (n,).
        first_token: The same of what stands in no line, (n,).
        line: The same of what a request waits, (n,).
    """

    in_its_time: ReplicaModel
    step: Floats
    first_token: Floats
    line: Floats

    @classmethod
    def by(cls, replica: ReplicaModel, margins: Margins) -> "SlowedReplica":
        """The replica as measurements of one's own moved it, slower by margins."""
        own, step, first_token, line = replica.setup.own, margins.tpot, margins.ttft, margins.tpot
        if own is not None:
            step, first_token, line = step * own.tpot, first_token * own.ttft, line * own.ttft
        arrivals = replica.demand.arrivals
        arrivals = replace(arrivals, rate_per_s=arrivals.rate_per_s * step)
        return cls(replace(replica, demand=replace(replica.demand, arrivals=arrivals)), step, first_token, line)

    def at(self, running: Floats, statistics: Collection[str] = STATISTICS) -> OperatingPoint:
        """With `running` (n,) others, in seconds."""
        point = at_concurrency(self.in_its_time, running, statistics)
        tpot, of_all = (
            {name: self.step * seconds for name, seconds in each.items()}
            for each in (point.tpot_s, point.requests.tpot_s)
        )
        requests = replace(point.requests.times(self.first_token, self.line), tpot_s=of_all)
        return replace(point, rate_per_s=point.rate_per_s / self.step, tpot_s=tpot, requests=requests)

    def rate_at(self, running: Floats) -> Floats:
        """Requests per second with `running` (n,) others."""
        return rate_at(self.in_its_time, running) / self.step


def _at_rate(slow: SlowedReplica, rate_per_s: Floats) -> OperatingPoint:
    """At its own rate, (n,), or with as many running as it can."""
    in_its_time, high = rate_per_s * slow.step, slow.in_its_time.most_in_line
    running = largest(lambda others: rate_at(slow.in_its_time, others) - in_its_time, high)
    point = slow.at(running)
    return replace(point, stable=point.stable & (in_its_time <= rate_at(slow.in_its_time, high) * (1 + ROUNDING)))


def most_served(replica: ReplicaModel, high: Floats) -> Floats:
    """Requests per second with `high` (n,) others, as many as fit, moved as far as own measurements tell."""
    most, own = rate_at(replica, high), replica.setup.own
    return most if own is None else most * own.throughput


def sustainable_rate(setup: Setup, mix: Mix, limits: LatencyLimits) -> Sustainable:
    """The largest rate of each row at which every class holds every limit, and with which the replica keeps up.

    Latencies grow with the number of running sequences, so the largest that keeps a limit is looked for. Each
    prediction has its margin once: latencies are those of the slowed replica, and throughput's lies on the most that
    the replica serves. A replica that turns out slower than predicted is slower in all of them, so the lowest of the
    rates holds.
    """
    replica = replica_model(setup, demand_of(mix, setup.rows))
    slow, high = SlowedReplica.by(replica, limits.margins), replica.most_in_line
    stable = at_concurrency(replica, np.zeros(setup.rows), ()).stable
    possible, rates, codes = stable, list[Floats](), list[Ints]()
    for name, late in _tests(slow, limits).items():
        running = largest(late, high)
        at_best = late(few_others(replica)) <= 0
        # a limit that holds with as many as fit does not stop a higher rate
        stops = (running < high) | ~at_best
        rates.append(np.where(stops, slow.rate_at(running), np.inf))
        codes.append(np.full(setup.rows, LIMITS.index(name)))
        possible = possible & at_best
    rates.append(most_served(replica, high) / limits.margins.throughput)
    codes.append(_full(replica))
    # of limits that stop at the same rate, the first
    first = np.argmin(rates, axis=0)[None, :]
    limited_by = np.where(stable, np.take_along_axis(np.array(codes), first, axis=0)[0], LIMITS.index("kv_memory"))
    rate = np.where(possible, np.min(rates, axis=0), 0.0) * limits.counted.at(mix.classes, mix.share)
    return Sustainable(rate, limited_by)


def _tests(slow: SlowedReplica, limits: LatencyLimits) -> dict[str, Callable[[Floats], Floats]]:
    """Of each latency that is limited, how far a row's slowest class is beyond it with so many others, (n,) -> (n,)."""
    before_s = limits.before_s

    def tokens(others: Floats) -> Floats:
        found = tpot_at(slow.in_its_time, others, tuple(limits.tpot_s))
        late = [beyond(slow.step * seconds, limits.tpot_s[name]) for name, seconds in found.items()]
        latest: Floats = np.max(late, axis=0)
        return latest

    def first_tokens(others: Floats) -> Floats:
        # first tokens need no TPOT
        return slow.at(others, ()).requests.first_tokens_late(limits.ttft_s, before_s)

    def requests(others: Floats) -> Floats:
        return slow.at(others).requests.whole_late(limits.e2e_s, before_s)

    tests = {"ttft": (first_tokens, limits.ttft_s), "tpot": (tokens, limits.tpot_s), "e2e": (requests, limits.e2e_s)}
    return {name: test for name, (test, asked) in tests.items() if asked}


def _full(replica: ReplicaModel) -> Ints:
    """What a replica is full of that runs as many sequences as it can: the cache, or all the engine allows, (n,)."""
    cache = replica.memory.kv_capacity / replica.sequence_bytes <= replica.setup.layout.max_num_seqs
    cache &= max_others(replica) <= replica.most_beside_prompts
    return np.where(cache, LIMITS.index("kv_memory"), LIMITS.index("saturation"))


def max_others(replica: ReplicaModel) -> Floats:
    """Sequences that may run beside one's own, (n,), before the cache or the engine's limit is full."""
    return np.maximum(replica.places - 1, 0.0)

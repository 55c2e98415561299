"""One replica under open-loop load: what it delivers at a rate, and the largest rate at which every limit holds."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np

from optimizer.base.arrays import Flags, Floats, Ints
from optimizer.performance.physics.queueing import POISSON, STATISTICS, ArrivalVariation
from optimizer.performance.physics.row_arrays import RowArrays
from optimizer.performance.physics.setup import Setup
from optimizer.performance.physics.steady_state import (
    OperatingPoint,
    ReplicaModel,
    TokenMix,
    at_concurrency,
    end_to_end,
    rate_at,
    replica_model,
)
from optimizer.performance.uncertainty.evidence import Margins

__all__ = [
    "LIMITS",
    "STATISTICS",
    "LatencyLimits",
    "Mix",
    "OperatingPoint",
    "Sustainable",
    "idle",
    "operate",
    "sustainable_rate",
]

LIMITS: Final = ("kv_memory", "ttft", "tpot", "e2e", "saturation")
"""Names of the codes in `Sustainable.limited_by`."""

_HALVINGS: Final = 26
"""Bisection steps over the cube root of the concurrency."""


@dataclass(frozen=True)
class Mix:
    """Request classes of a workload, (K,): mean lengths, shares that sum to 1, share of prompts already cached.

    Where every row has a mix of its own, shares are (n, K).
    """

    input_tokens: Floats
    output_tokens: Floats
    share: Floats
    cached_input_share: float
    arrivals: ArrivalVariation = POISSON


@dataclass(frozen=True)
class LatencyLimits(RowArrays):
    """What must hold, in seconds by statistic, and each row's margin on each predicted metric, (n,).

    A margin of 1 is the prediction itself. `before_s` is what passes outside the model, (n,): network and stages before
    it, part of TTFT and E2E. `counted_share`, (n,), is what of the rate predicted here is counted on: all, unless a
    simulation found less to hold.
    """

    ttft_s: Mapping[str, float]
    tpot_s: Mapping[str, float]
    e2e_s: Mapping[str, float]
    margins: Margins
    before_s: Floats = field(default_factory=lambda: np.zeros(1))
    counted_share: Floats = field(default_factory=lambda: np.ones(1))

    @property
    def statistics(self) -> tuple[str, ...]:
        """What must be known of the latencies to test them; an end-to-end time builds on all statistics."""
        return STATISTICS if self.e2e_s else tuple(name for name in STATISTICS if name in {*self.ttft_s, *self.tpot_s})


@dataclass(frozen=True)
class Sustainable:
    """The largest rate at which all limits hold, (n,), 0 where none does.

    Attributes:
        rate_per_s: Requests per second, (n,).
        limited_by: Index into `LIMITS` of what stops a higher rate (or any rate at all), (n,).
        floor: The replica at a vanishing rate: the best latencies it can offer.
    """

    rate_per_s: Floats
    limited_by: Ints
    floor: OperatingPoint


def demand_of(mix: Mix, rows: int) -> TokenMix:
    """The mix as demand of `rows` rows, equal ones unless the mix has shares for each."""
    cached = mix.input_tokens * mix.cached_input_share
    # (K,) -> (rows, K)
    by_class = (mix.input_tokens - cached, cached, mix.output_tokens, mix.share)
    new, cached_tokens, output, share = (
        np.broadcast_to(np.asarray(each, np.float64), (rows, len(mix.input_tokens))) for each in by_class
    )
    return TokenMix(new, cached_tokens, output, share, mix.arrivals)


def operate(setup: Setup, mix: Mix, rate_per_s: Floats) -> OperatingPoint:
    """Each row's replica at its own rate, (n,); above its capacity `stable` is false and latencies are those at the
    capacity, which is the least they can be."""
    replica = replica_model(setup, demand_of(mix, setup.rows))
    high = max_others(replica)
    running = bisect(lambda others: rate_at(replica, others) <= rate_per_s, high)
    point = predicted_at(replica, running)
    return replace(point, stable=point.stable & (rate_per_s <= most_served(replica, high) * (1 + 1e-9)))


def idle(setup: Setup, mix: Mix) -> OperatingPoint:
    """Each row's replica at a vanishing rate: the best latencies it can offer."""
    return predicted_at(replica_model(setup, demand_of(mix, setup.rows)), np.zeros(setup.rows))


def predicted_at(replica: ReplicaModel, running: Floats, statistics: Collection[str] = STATISTICS) -> OperatingPoint:
    """The replica with `running` (n,) others, its latencies moved as far as own measurements tell."""
    point, own = at_concurrency(replica, running, statistics), replica.setup.own
    if own is None:
        return point
    tpot = {name: seconds * own.tpot for name, seconds in point.tpot_s.items()}
    ttft = {name: seconds * own.ttft[:, None] for name, seconds in point.ttft_s.items()}
    e2e = end_to_end(replica.demand, ttft, tpot) if point.e2e_s else {}
    return replace(point, tpot_s=tpot, ttft_s=ttft, e2e_s=e2e)


def most_served(replica: ReplicaModel, high: Floats) -> Floats:
    """Requests per second with `high` (n,) others, as many as fit, moved as far as own measurements tell."""
    most, own = rate_at(replica, high), replica.setup.own
    return most if own is None else most * own.throughput


def sustainable_rate(setup: Setup, mix: Mix, limits: LatencyLimits) -> Sustainable:
    """The largest rate of each row at which every class holds every limit, and with which the replica keeps up.

    Latencies grow with the number of running sequences, so the largest admissible number is found by bisection. Each
    prediction has its margin once: latencies at the rate that they limit, throughput at the most that the replica
    serves. A replica that turns out slower than predicted is slower in both, so the lower of the two rates holds.
    """
    replica = replica_model(setup, demand_of(mix, setup.rows))
    floor = predicted_at(replica, np.zeros(setup.rows))
    high = max_others(replica)
    statistics = limits.statistics
    running = bisect(lambda others: np.all(holds(predicted_at(replica, others, statistics), limits), axis=0), high)
    possible = np.all(holds(floor, limits), axis=0) & floor.stable
    in_time, keeps_up = rate_at(replica, running), most_served(replica, high) / limits.margins.throughput
    rate = np.where(possible, np.minimum(in_time, keeps_up), 0.0) * limits.counted_share
    return Sustainable(rate, _limited_by(replica, running, high, keeps_up < in_time, floor, limits), floor)


def holds(point: OperatingPoint, limits: LatencyLimits) -> Flags:
    """Whether TTFT, TPOT and E2E keep their limits in every class, (3, n)."""
    tpot, ttft = limits.margins.tpot, limits.margins.ttft[:, None]
    e2e, before_s = np.maximum(ttft, tpot[:, None]), limits.before_s[:, None]
    # (TTFT, TPOT, E2E) by row, over the limited statistics and all classes
    kept = np.ones((3, len(point.rate_per_s)), dtype=np.bool_)
    for name, limit in limits.ttft_s.items():
        kept[0] &= np.all(point.ttft_s[name] * ttft + before_s <= limit, axis=1)
    for name, limit in limits.tpot_s.items():
        kept[1] &= point.tpot_s[name] * tpot <= limit
    for name, limit in limits.e2e_s.items():
        kept[2] &= np.all(point.e2e_s[name] * e2e + before_s <= limit, axis=1)
    return kept


def max_others(replica: ReplicaModel) -> Floats:
    """Sequences that may run beside one's own, (n,), before the cache or the engine's limit is full."""
    return np.maximum(replica.places - 1, 0.0)


def _limited_by(
    replica: ReplicaModel, running: Floats, high: Floats, full: Flags, floor: OperatingPoint, limits: LatencyLimits
) -> Ints:
    """Which limit breaks first just above the rate found; where a replica is `full`, and at the top of the range, the
    cache or the engine's limit."""
    above = np.minimum(running * (1 + 1e-3) + 1e-6, high)
    # (TTFT, TPOT, E2E) by row: the first that a little more load breaks
    broken = ~holds(predicted_at(replica, above, limits.statistics), limits) & ~(full & floor.stable)
    cache = replica.memory.kv_capacity / replica.sequence_bytes <= replica.setup.layout.max_num_seqs
    top = np.where(cache, LIMITS.index("kv_memory"), LIMITS.index("saturation"))
    codes = np.select(list(broken), [LIMITS.index(name) for name in ("ttft", "tpot", "e2e")], top)
    return np.where(floor.stable, codes, LIMITS.index("kv_memory")).astype(np.intp)


def bisect(admissible: Callable[[Floats], Flags], high: Floats) -> Floats:
    """The largest value in [0, high] that is admissible, given that admissible values form one stretch from 0.

    Halves the cube root of the range, so that a small value is found as exactly as a large one.
    """
    low, top = np.zeros_like(high), np.ones_like(high)
    low = np.where(admissible(high), top, low)
    for _ in range(_HALVINGS):
        middle = (low + top) / 2
        good = admissible(high * middle**3)
        low, top = np.where(good, middle, low), np.where(good, top, middle)
    return high * low**3

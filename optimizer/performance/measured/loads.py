"""The four ways a benchmark loads a deployment, each as one pure function of rows and load.

`closed_loop`: a fixed number of clients, each sending its next request when the last one ends.
`open_loop`: Poisson arrivals at a rate. `offline`: everything at once. `static_batch`: one batch to completion.
All take one request class (K = 1) and loads per replica, and return seconds and rates per replica, (n,).
"""

import math
from typing import Final, NamedTuple

import numpy as np

from optimizer.base.arrays import Floats
from optimizer.base.largest import largest
from optimizer.performance.candidates.predict import max_others
from optimizer.performance.physics.queueing import QUANTILES, normal_deviation, served_speed
from optimizer.performance.physics.replica_model import ReplicaModel, prefill_per_prompt, rate_at
from optimizer.performance.physics.steady_state import admission_steps, at_concurrency, spread_of_tpot
from optimizer.performance.physics.step import launched_seconds, prefill_seconds

_ROUNDS = 8
"""Rounds of the fixed point between running sequences and TPOT; it contracts by the share of time spent in prefill."""

SMALL: Final = 1e-9
"""Share of the capacity below which it is far from mattering: a run may be too short to have one."""


class Delivered(NamedTuple):
    """What a replica delivers, (n,): seconds, requests per second.

    `utilization` is the rate of arrivals as a share of what can be served; NaN where nothing arrives by the clock.
    """

    ttft_mean_s: Floats
    ttft_median_s: Floats
    ttft_p95_s: Floats
    ttft_p99_s: Floats
    tpot_s: Floats
    tpot_p95_s: Floats
    requests_per_s: Floats
    utilization: Floats


class _Cycle(NamedTuple):
    """From one request of a client to its next while prompts do not queue, (n,), seconds."""

    prefill: Floats
    first_token: Floats
    tpot: Floats
    total: Floats


def closed_loop(replica: ReplicaModel, clients: Floats, requests: Floats) -> Delivered:
    """`clients` (n,) requests in flight at any time, `requests` (n,) sent in all.

    A sequence shares steps with those that decode and waits for the prefills of the others; clients beyond the
    places wait in line. The first wave arrives at once and weighs clients/requests in the mean TTFT.
    """
    constants = replica.setup.constants
    resident = np.minimum(clients, np.maximum(replica.places, 1.0))
    others = (resident - 1) / resident
    cycle = _cycle(replica, resident)
    decoding = _tokens_after_first(replica) * cycle.tpot
    # what prompts wait for each other: in the steady state, and in the first wave
    load = np.minimum(resident * cycle.prefill / cycle.total, constants["prefill_load_limit"])
    queue = constants["prefill_queue_factor"] * replica.mean_prefill * load / (1 - load) * others
    wave = resident * cycle.prefill * others
    # what clients without a place wait for one
    start = cycle.first_token + queue
    in_line = np.maximum(clients - resident, 0.0) * (start + decoding) / resident
    median = start + constants["prefill_wave_median_share"] * wave + in_line
    mean = median + constants["prefill_wave_mean_share"] * wave * np.minimum(clients / requests, 1.0)
    rate = clients / (mean + decoding)
    # the last requests of the first wave are among the latest of a run
    p95, p99 = (
        np.maximum(median + np.clip(1 - (1 - QUANTILES[name]) * requests / clients, 0.0, 1.0) * wave, mean)
        for name in ("p95", "p99")
    )
    tpot_p95 = cycle.tpot + normal_deviation("p95") * spread_of_tpot(replica, rate, cycle.prefill, cycle.tpot)
    return Delivered(mean, median, p95, p99, cycle.tpot, tpot_p95, rate, _by_no_clock(clients))


def _cycle(replica: ReplicaModel, resident: Floats) -> _Cycle:
    """The fixed point at which as many of the `resident` (n,) sequences decode as the time spent decoding implies."""
    constants, steps, output = replica.setup.constants, replica.steps, replica.demand.mean_output
    others, after_first = (resident - 1) / resident, _tokens_after_first(replica)
    # with one other, some sequence runs nearly always
    waited = constants["waited_steps_closed"] * others + admission_steps(replica) * np.minimum(resident - 1, 1.0)
    decoding = resident
    for _ in range(_ROUNDS):
        step = steps.decode(1 + (decoding - 1) * (resident > 1)).total
        prefill = prefill_per_prompt(replica, decoding, steps.decode(decoding))
        tpot = step + prefill * decoding * others / np.maximum(output - 1, 1.0)
        first_token = replica.first_token[:, 0] + waited * step
        total = first_token + after_first * tpot
        decoding = np.maximum(resident * after_first * tpot / total, np.minimum(resident, 1.0))
    return _Cycle(prefill, first_token, tpot, total)


def _tail(name: str) -> float:
    """A percentile of an exponential wait, in means."""
    return -math.log1p(-QUANTILES[name])


def _by_no_clock(like: Floats) -> Floats:
    """The utilization of loads that adapt to the replica."""
    return np.full_like(like, np.nan)


def _tokens_after_first(replica: ReplicaModel) -> Floats:
    return np.maximum(replica.demand.mean_output - 1, 0.0)


def open_loop(replica: ReplicaModel, rate_per_s: Floats, requests: Floats) -> Delivered:
    """Poisson arrivals at `rate_per_s` (n,) until `requests` (n,) were sent, for a replica that keeps up with them.

    Above the capacity a line grows for as long as requests come, and no latency is a figure of the replica: what is
    told is the edge of the capacity, as a replica has it that is just fast enough (`served_speed`), and `utilization`
    says that it is not expected to be. A run of N requests takes N/rate and a tail of d lives, so its mean rate is
    N / (N/rate + d · life). With life = b / rate(b) that is the b at which rate(b)/rate + d · b/N = 1. Near the
    capacity the line of a run is still growing, as √N.
    """
    constants = replica.setup.constants
    high, full, tail = max_others(replica), capacity(replica), constants["run_tail_lives"]
    # a run so short that its requests never fill the replica has no capacity: d · b stays above N
    utilization = rate_per_s * np.maximum(1 - tail * high / requests, np.finfo(np.float64).tiny) / full
    faster = served_speed(utilization, constants["capacity_deviation"])
    rate = rate_per_s / faster
    # the steady state of the run's mean rate
    running = largest(lambda b: rate_at(replica, b) / rate + tail * b / requests - 1, high).number
    point = at_concurrency(replica, running)
    sent = np.where(np.isfinite(requests), requests, constants["requests_per_run"])
    start = point.start_s[:, 0]
    # the longest line of a run, as many standard deviations of a random walk
    mean, median, p95, p99 = (
        (start + np.minimum(point.ttft_s[name][:, 0] - start, longest * np.sqrt(sent) / full)) / faster
        for name, longest in (("mean", 1.0), ("p50", 1.0), ("p95", _tail("p95")), ("p99", _tail("p99")))
    )
    finished = np.where(running < high, point.rate_per_s * faster, full)
    delivered = np.minimum(np.minimum(finished, full), rate_per_s)
    tpot, tpot_p95 = point.tpot_s["mean"] / faster, point.tpot_s["p95"] / faster
    return Delivered(mean, median, p95, p99, tpot, tpot_p95, delivered, utilization)


def capacity(replica: ReplicaModel) -> Floats:
    """Requests per second with every place taken, (n,): the steady state, or one request after the other."""
    high = max_others(replica)
    alone = 1 / (replica.demand.mean_output * replica.steps.decode(np.ones_like(high)).total + replica.mean_prefill)
    return np.maximum(rate_at(replica, high), np.where(high < 1, alone, 0.0))


def static_batch(replica: ReplicaModel, batch: Floats) -> Delivered:
    """One batch of `batch` (n,) requests run to completion, in waves where it does not fit.

    time of a wave = prefill of the wave + (output − 1) · step. Such batches are handed to the engine in its own
    process: no server adds anything to a request.
    """
    together = np.minimum(batch, np.maximum(replica.places, 1.0))
    prefill = prefill_seconds(replica.setup, replica.demand.new_tokens, replica.demand.cached_tokens, together[:, None])
    start = launched_seconds(replica.setup, prefill)[:, 0]
    step = replica.steps.decode(together).total
    wave = start + _tokens_after_first(replica) * step
    waves = np.maximum(batch / together, 1.0)
    return Delivered(start, start, start, start, step, step, batch / (wave * waves), _by_no_clock(batch))


def offline(replica: ReplicaModel, requests: Floats) -> Delivered:
    """`requests` (n,) sent at once, infinite for an endless supply: as many run as fit, each that ends makes room.

    A run of N requests at concurrency b lasts N / rate(b); its tail of d lives keeps the mean b below N/d.
    The mean request waits half of the run less its own life.
    """
    tail = replica.setup.constants["run_tail_lives"]
    running = np.maximum(np.minimum(max_others(replica), requests / tail - 1), 0.0)
    point = at_concurrency(replica, running, steady=True)
    rate = (1 + running) / np.maximum(running, 1e-9) * point.rate_per_s
    rate = np.where(running > 0, rate, 1 / (replica.demand.mean_output * point.step_s + replica.mean_prefill))
    queue = np.where(np.isfinite(requests), requests, 1 + running) / rate / 2
    ttft = replica.first_token[:, 0] + queue
    # of a line that shortens evenly the last twentieth waits nearly all of it
    p95, p99 = (replica.first_token[:, 0] + 2 * QUANTILES[name] * queue for name in ("p95", "p99"))
    return Delivered(ttft, ttft, p95, p99, point.tpot_s["mean"], point.tpot_s["p95"], rate, _by_no_clock(rate))

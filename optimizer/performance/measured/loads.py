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
from optimizer.performance.physics.admission import waited_for_admission
from optimizer.performance.physics.load import prompts_in_a_step
from optimizer.performance.physics.queueing import QUANTILES, normal_deviation, prompt_wait, served_speed
from optimizer.performance.physics.replica_model import ReplicaModel, prefill_per_prompt, rate_at
from optimizer.performance.physics.steady_state import at_concurrency
from optimizer.performance.physics.step import launched_seconds, prefill_seconds
from optimizer.performance.physics.token_times import longest_step, spread_of_tpot

_ROUNDS = 8
"""Rounds of the fixed point between running sequences and TPOT; it contracts by the share of time spent in prefill."""

SMALL: Final = 1e-9
"""Share of the capacity below which it is far from mattering: a run may be too short to have one."""

_PARTS_OF_A_LOGARITHM: Final = (np.arange(8) + 0.5) / 8
"""Where an integral over a logarithm is looked at: the middle of each of eight equal parts."""


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


IN_SECONDS: Final = tuple(name for name in Delivered._fields if name.endswith("_s") and not name.endswith("_per_s"))
"""What of it takes longer where steps do."""


class _Cycle(NamedTuple):
    """From one request of a client to its next while prompts do not queue, (n,), seconds."""

    prefill: Floats
    first_token: Floats
    tpot: Floats
    total: Floats
    decoding: Floats
    """Sequences that decode, on average."""


def closed_loop(replica: ReplicaModel, clients: Floats, requests: Floats, usual_requests: Floats) -> Delivered:
    """`clients` (n,) requests in flight at any time, `requests` (n,) sent in all, no fewer; infinite where nobody says.

    A sequence shares steps with those that decode and waits for the prefills of the others, one of each in a cycle,
    before its own or while it decodes; clients beyond the places wait in line. The first wave arrives at once and
    weighs clients/requests in the mean TTFT, of `usual_requests` (n,) where nobody says how many there were; who has no
    place then waits as long as in the steady state.
    """
    in_wave = clients / np.where(np.isfinite(requests), requests, usual_requests)
    resident = np.minimum(clients, np.maximum(replica.places, 1.0))
    cycle = _cycle(replica, resident)
    decoding, first = _tokens_after_first(replica) * cycle.tpot, cycle.first_token
    prompts = _prompts_of_others(replica, resident, cycle, in_wave)
    line = _LineForPlaces(clients, resident, requests, (first + prompts.steady + decoding) / resident)
    median, mean = first + prompts.median + line.waited(0.5), first + prompts.mean + line.mean
    rate = clients / (first + prompts.mean + line.longest + decoding)
    # of the run, what a place serves first
    of_first = in_wave * resident / clients
    delivered = rate / (1 + of_first * (1 - of_first) * _end_of_loop(replica, resident, cycle))
    of_others = rate * (resident - 1) / resident
    beyond = _waits_beyond_median(replica, resident, of_others, cycle)
    p95, p99 = (
        np.maximum(first + prompts.late(name, in_wave, beyond[name]) + line.waited(QUANTILES[name]), mean)
        for name in ("p95", "p99")
    )
    tpot_p95 = _late_tokens(replica, resident, of_others, cycle)
    return Delivered(mean, median, p95, p99, cycle.tpot, tpot_p95, delivered, by_no_clock(clients))


def _end_of_loop(replica: ReplicaModel, resident: Floats, cycle: _Cycle) -> Floats:
    """Lives that a loop of many rounds lasts longer since clients end one after the other, (n,): of a life what is
    steps, not prompts, which keep the replica busy to the end. In the first round all are in step and end together."""
    others = (resident - 1) / resident
    in_steps = _tokens_after_first(replica) * cycle.tpot - cycle.prefill * cycle.decoding * others
    return replica.setup.constants["loop_tail_lives"] * others * in_steps / cycle.total


class _PromptsOfOthers(NamedTuple):
    """What a prompt waits for those of others that have a place, (n,), seconds.

    `wave` is for all of them, `steady` once clients are out of step; `median` and `mean` are over a run.
    """

    wave: Floats
    steady: Floats
    median: Floats
    mean: Floats

    def late(self, name: str, in_wave: Floats, beyond_median: Floats) -> Floats:
        """A percentile over a run of which the first wave is a share: its last prompts are among the latest."""
        of_wave = np.clip(1 - (1 - QUANTILES[name]) / in_wave, 0.0, 1.0) * self.wave
        return np.minimum(self.median + np.maximum(of_wave, beyond_median), self.wave)


def _prompts_of_others(replica: ReplicaModel, resident: Floats, cycle: _Cycle, in_wave: Floats) -> _PromptsOfOthers:
    """Of `resident` (n,) clients, the first wave of which is a share of the run."""
    constants, others = replica.setup.constants, (resident - 1) / resident
    load = np.minimum(resident * cycle.prefill / cycle.total, constants["prefill_load_limit"])
    queue = constants["prefill_queue_factor"] * replica.mean_prefill * load / (1 - load) * others
    wave = resident * cycle.prefill * others
    # those that decode have been met, or will be while one decodes oneself
    steady = np.minimum(queue, np.maximum(resident - cycle.decoding, 0.0) * cycle.prefill * others)
    median = np.minimum(steady + constants["prefill_wave_median_share"] * wave, wave)
    mean = np.minimum(median + constants["prefill_wave_mean_share"] * wave * in_wave, wave)
    return _PromptsOfOthers(wave, steady, median, mean)


def _late_tokens(replica: ReplicaModel, resident: Floats, of_others_per_s: Floats, cycle: _Cycle) -> Floats:
    """TPOT of one request in twenty, which more of the others' prompts interrupted, (n,)."""
    output = replica.demand.typical_output
    deviation = spread_of_tpot(replica, of_others_per_s, cycle.prefill, cycle.tpot[:, None], output)[:, 0]
    longest = longest_step(replica, replica.steps.decode(resident).total, cycle.prefill)
    return np.minimum(cycle.tpot + normal_deviation("p95") * deviation, np.maximum(longest, cycle.tpot))


class _LineForPlaces(NamedTuple):
    """Clients of whom `resident` have a place, which is free again every `turn` seconds; (n,).

    The first wave's stand in line one behind the other, whoever comes later behind all that have no place.
    """

    clients: Floats
    resident: Floats
    requests: Floats
    turn: Floats

    @property
    def longest(self) -> Floats:
        """Seconds, of whoever comes after the first wave."""
        return (self.clients - self.resident) * self.turn

    @property
    def mean(self) -> Floats:
        """Seconds, over all requests of the run."""
        return self.longest * (1 - (self.clients + self.resident) / (2 * self.requests))

    def waited(self, share: float) -> Floats:
        """Seconds that this share of the run's requests waits at most."""
        return np.clip(share * self.requests - self.resident, 0.0, self.clients - self.resident) * self.turn


def _waits_beyond_median(
    replica: ReplicaModel, resident: Floats, rate_per_s: Floats, cycle: _Cycle
) -> dict[str, Floats]:
    """By percentile what a prompt waits longer for those of others than the median one, (n,) seconds: as long as beside
    prompts that come by themselves as often."""
    wait = prompt_wait(
        rate_per_s,
        cycle.prefill,
        replica.steps.decode(resident).total * replica.setup.layout.accepted_tokens,
        in_a_step=prompts_in_a_step(replica, resident),
        squared_variation=replica.prefill_variation,
        of_arrivals=np.ones_like(resident),
    )
    return {name: wait.statistic(name) - wait.statistic("p50") for name in ("p95", "p99")}


def _cycle(replica: ReplicaModel, resident: Floats) -> _Cycle:
    """The fixed point at which as many of the `resident` (n,) sequences decode as the time spent decoding implies."""
    constants, steps, output = replica.setup.constants, replica.steps, replica.demand.mean_output
    others, after_first = (resident - 1) / resident, _tokens_after_first(replica)
    # with one other, some sequence runs nearly always
    decoding = resident
    for _ in range(_ROUNDS):
        step = steps.decode(1 + (decoding - 1) * (resident > 1)).total
        prefill = prefill_per_prompt(replica, decoding, steps.decode(decoding))
        tpot = step + prefill * decoding * others / np.maximum(output - 1, 1.0)
        admitted = waited_for_admission(replica.setup, replica.ended_in_a_step(decoding))
        waited = constants["waited_steps_closed"] * others + admitted * np.minimum(resident - 1, 1.0)
        first_token = replica.first_token[:, 0] + waited * step * replica.setup.layout.accepted_tokens
        total = first_token + after_first * tpot
        decoding = np.maximum(resident * after_first * tpot / total, np.minimum(resident, 1.0))
    return _Cycle(prefill, first_token, tpot, total, decoding)


def tail_of(name: str) -> float:
    """A percentile of an exponential wait, in means."""
    return -math.log1p(-QUANTILES[name])


def by_no_clock(like: Floats) -> Floats:
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
    running = largest(lambda b: rate_at(replica, b) / rate + tail * b / requests - 1, high)
    point = at_concurrency(replica, running)
    sent = np.where(np.isfinite(requests), requests, constants["requests_per_run"])
    start = point.start_s[:, 0]
    # the longest line of a run, as many standard deviations of a random walk
    mean, median, p95, p99 = (
        (start + np.minimum(point.ttft_s[name][:, 0] - start, longest * np.sqrt(sent) / full)) / faster
        for name, longest in (("mean", 1.0), ("p50", 1.0), ("p95", tail_of("p95")), ("p99", tail_of("p99")))
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
    # each wave begins when the one before it has ended
    median, p95, p99 = (start + np.floor(QUANTILES[name] * waves) * wave for name in ("p50", "p95", "p99"))
    mean = start + (waves - 1) / 2 * wave
    return Delivered(mean, median, p95, p99, step, step, batch / (wave * waves), by_no_clock(batch))


def offline(replica: ReplicaModel, requests: Floats) -> Delivered:
    """`requests` (n,) sent at once, infinite for an endless supply: as many run as fit, each that ends makes room.

    N requests lie `_run_out` seconds longer than N / rate, for nobody follows the last. Those that fit at once wait for
    each other's prompts alone. The others begin one by one until a life before the last do; of an endless supply nobody
    knows since when, and none of that is told.
    """
    running = np.maximum(np.minimum(max_others(replica), requests - 1), 0.0)
    point = at_concurrency(replica, running, steady=True)
    rate = (1 + running) / np.maximum(running, SMALL) * point.rate_per_s
    rate = np.where(running > 0, rate, 1 / (replica.demand.mean_output * point.step_s + replica.mean_prefill))
    delivered = 1 / (1 / rate + _run_out(replica, 1 + running) / requests)
    first, life = replica.first_token[:, 0], replica.demand.mean_output * point.tpot_s["mean"]
    at_once = np.minimum(np.maximum(replica.places, 1.0), requests)
    all_begun = np.where(np.isfinite(requests), np.maximum(requests / rate - life, 0.0), 0.0)
    prompts = np.where(np.isfinite(requests), (at_once - 1) * replica.mean_prefill, 0.0)
    line = _LineOfAll(at_once / requests, prompts, np.maximum(all_begun, prompts))
    median, p95, p99 = (first + line.waited(QUANTILES[name]) for name in ("p50", "p95", "p99"))
    tpot = point.tpot_s
    return Delivered(first + line.mean, median, p95, p99, tpot["mean"], tpot["p95"], delivered, by_no_clock(rate))


def _run_out(replica: ReplicaModel, running: Floats) -> Floats:
    """How much longer than among others the last `running` (n,) answers take, since nobody follows them, seconds.

    Answers of one length end evenly, one after the other: steps of fewer and fewer, on average half a step of one alone
    more than half a full one, which is what is left of them. Of exponential lengths the next of k ends after 1/k of a
    life: Σ step(k)/k ≈ ∫ step(k) d ln k + γ · step(1), less a full step; that γ is nearly the half.
    Source: exponential spacings, Rényi (1953), On the theory of order statistics.
    """
    step, others = replica.steps.decode, (running - 1) / running
    among = np.mean([step(running**part).total for part in _PARTS_OF_A_LOGARITHM], axis=0) * np.log(running)
    of_exponential = np.maximum(among - step(running).total, 0.0)
    of_one_length = step(np.ones_like(running)).total / 2 * others
    steps: Floats = of_one_length + replica.setup.constants["lengths_vary"] * of_exponential
    return replica.demand.mean_output * steps


class _LineOfAll(NamedTuple):
    """Requests that are all there at once, the share `at_once` of which has a place; (n,).

    The prompts of these take `prompts` seconds, and after `all_begun` the last of the others has begun.
    """

    at_once: Floats
    prompts: Floats
    all_begun: Floats

    @property
    def mean(self) -> Floats:
        """Seconds, over all requests."""
        return (self.prompts + (1 - self.at_once) * self.all_begun) / 2

    def waited(self, share: float) -> Floats:
        """Seconds that this share of the requests waits at most."""
        of_these, of_others = np.minimum(share, self.at_once), np.maximum(share - self.at_once, 0.0)
        # a share of 0 where the supply is endless, of 1 where all have a place
        first = of_these / np.maximum(self.at_once, SMALL) * self.prompts
        later: Floats = of_others / np.maximum(1 - self.at_once, SMALL) * (self.all_begun - self.prompts)
        return first + later

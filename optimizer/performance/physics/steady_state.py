"""Continuous batching in steady state: how many sequences run, how fast, and how long requests wait.

With b sequences at even times, rate(b), step s and prefill P as `replica_model` has them,

    tpot(b) = s(1 + b) / (1 − rate · P(b))

grows with b, so every question about a rate is answered by searching b. Requests that come by themselves make the
number swing (`swings`), and prompts stand behind one's own (`prompts_behind`), so that more than b run on average, and
tpot is longer by as much.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from optimizer.base.arrays import Flags, Floats
from optimizer.performance.physics.line import Line
from optimizer.performance.physics.prompts_behind import prompts_behind
from optimizer.performance.physics.queueing import STATISTICS, admission_wait, normal_deviation, prompt_wait
from optimizer.performance.physics.replica_model import Flow, LongPrompts, ReplicaModel, flow_at
from optimizer.performance.physics.request_times import RequestTimes
from optimizer.performance.physics.swings import Swings, none_of, swings

_FILLED: Final = 0.6
"""Of the room that a prompt of several steps leaves in its last one, what others take that came meanwhile; fitted, as
`prompt_wait` says."""
_NONE: Final = 1e-12
"""Sequences that are none."""
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


class _Load(NamedTuple):
    """What runs at a rate, and how fast, (n,).

    Attributes:
        flow: With as many sequences as run at even times.
        met: Sequences that run on average.
        step: Seconds of a decode step beside so many.
        swing: How far their number swings.
        for_each_s: Time per output token for each sequence that runs on average: by Little's law, those that stay
            longer are as many more.
    """

    flow: Flow
    met: Floats
    step: Floats
    swing: Swings
    for_each_s: Floats


def _load(replica: ReplicaModel, running: Floats, *, steady: bool) -> _Load:
    """The load of `at_concurrency`."""
    flow = flow_at(replica, running)
    swing = none_of(running) if steady else _swings(replica, flow, running)
    step = flow.step.total + swing.slower_s * swing.more
    for_each = flow.step.total / (1 - flow.rate_per_s * flow.prefill) / (running + _NONE)
    return _Load(flow, running + swing.more, step, swing, for_each)


def _tpot_of_slowest(replica: ReplicaModel, load: _Load, statistics: Collection[str]) -> dict[str, Floats]:
    """Time per output token by statistic, of the class that has most, (n,)."""
    of_class = _tpot(replica, load, statistics, replica.demand.typical_output, replica.prefill_of_class)
    return {name: np.max(seconds, axis=1) for name, seconds in of_class.items()}


def _tpot_of_mean(replica: ReplicaModel, load: _Load, statistics: Collection[str]) -> dict[str, Floats]:
    """The same of the mean request, (n,)."""
    output = replica.demand.mean_output[:, None]
    return {name: each[:, 0] for name, each in _tpot(replica, load, statistics, output, np.ones_like(output)).items()}


def _tpot(
    replica: ReplicaModel, load: _Load, statistics: Collection[str], output: Floats, of_mean: Floats
) -> dict[str, Floats]:
    """Time per output token by statistic, (n, K).

    Whose prompt is longer has more prompts behind it, and whose answer is shorter has fewer tokens to spread them over.

    Args:
        replica: Whose requests they are.
        load: Of it.
        statistics: Those wanted.
        output: Tokens of an answer, (n, K).
        of_mean: What a prompt takes of what the mean one does, (n, K).
    """
    flow, swing = load.flow, load.swing
    # (n,) -> (n, 1)
    for_each, met, more = (each[:, None] for each in (load.for_each_s, load.met, swing.for_each))
    behind, busy = swing.behind[:, None], (flow.rate_per_s * flow.prefill)[:, None]
    middle = for_each * (met - more * behind + _NONE)
    behind = np.maximum(behind + busy * (of_mean - 1), 0.0)
    over_tokens = for_each * more * replica.demand.mean_output[:, None] / output
    tpot = {"mean": middle + over_tokens * behind}
    if set(statistics) - {"mean"}:
        slower = _slower_among_more(load.met, swing)[:, None]
        spread = _spread_under_arrivals(replica, flow, slower, tpot["mean"], output)
        spread = np.hypot(spread, over_tokens * np.sqrt(behind * (1 + behind)))
        longest = np.maximum(longest_step(replica, load.step, flow.prefill)[:, None], tpot["mean"])
        for name in statistics:
            deviations = normal_deviation(name)
            # few requests have many prompts behind them, most hardly any
            around = middle if name == "p50" else tpot["mean"]
            tpot[name] = np.minimum(around + deviations * spread, longest + deviations * slower)
    return {name: tpot[name] for name in statistics}


def tpot_at(replica: ReplicaModel, running: Floats, statistics: Collection[str]) -> Mapping[str, Floats]:
    """Time per output token of `at_concurrency` alone, by statistic, of the class that has most, (n,)."""
    return _tpot_of_slowest(replica, _load(replica, running, steady=False), statistics)


def at_concurrency(
    replica: ReplicaModel, running: Floats, statistics: Collection[str] = STATISTICS, *, steady: bool = False
) -> OperatingPoint:
    """The replica at the rate at which `running` (n,) sequences run at even times, by these statistics; whole requests
    need all of them.

    Requests that come by themselves make their number swing, so that more run on average and all wait longer; `steady`
    is that as many run all the time.
    """
    load, kv_capacity = _load(replica, running, steady=steady), replica.memory.kv_capacity
    tpot = _tpot_of_slowest(replica, load, statistics)
    of_mean = _tpot_of_mean(replica, load, statistics) if replica.demand.unlike else tpot
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


def _swings(replica: ReplicaModel, flow: Flow, running: Floats) -> Swings:
    """How far the number of sequences swings; a step's slope is that to one standard deviation of Poisson's more."""
    further, of_arrivals = np.sqrt(1 + running), replica.demand.arrivals.of_replica(flow.rate_per_s)
    behind = prompts_behind(
        flow.rate_per_s,
        flow.prefill,
        flow.step.total,
        steps_a_prompt=1 / np.minimum(prompts_in_a_step(replica, running), 1.0),
        squared_variation=replica.prefill_variation,
        of_arrivals=of_arrivals,
    )
    return swings(
        flow.rate_per_s,
        flow.prefill,
        output=replica.demand.mean_output,
        slower_s=(replica.steps.decode(1 + running + further).total - flow.step.total) / further,
        squared_variation=replica.prefill_variation,
        of_arrivals=of_arrivals,
        behind=behind,
    )


def _line(replica: ReplicaModel, load: _Load) -> Line:
    """Waiting for the prefills ahead, and for a place.

    Sequences that differ in size fill the cache as unevenly as their number swings: the variance of a random sum.
    """
    rate, most = load.flow.rate_per_s, replica.served_when_full
    of_arrivals = replica.demand.arrivals.of_replica(rate)
    place = admission_wait(
        load.met,
        replica.places,
        peakedness=load.swing.peakedness + replica.sequence_variation,
        of_arrivals=of_arrivals,
        spare_per_s=np.maximum(most - rate, _LEAST_SPARE * most),
    )
    prompts = prompt_wait(
        rate,
        load.flow.prefill,
        load.step * replica.setup.layout.accepted_tokens,
        in_a_step=prompts_in_a_step(replica, load.met),
        squared_variation=replica.prefill_variation,
        of_arrivals=of_arrivals,
    )
    return Line(prompts, place)


def prompts_in_a_step(replica: ReplicaModel, running: Floats) -> Floats:
    """Prompts of mean length that fit into a step beside so many sequences, (n,), below 1 where they come in chunks."""
    layout = replica.setup.layout
    room = layout.max_batched_tokens - running * (1 + layout.draft_tokens)
    fitting: Floats = np.maximum(room, 1.0) / replica.demand.mean_new
    return fitting


def _own_steps(prompts: LongPrompts, load: _Load, running: Floats) -> Floats:
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
    steps = replica.setup.constants["waited_steps_open"] + admission_steps(replica)
    return steps * step * replica.setup.layout.accepted_tokens * -np.expm1(-running)


def admission_steps(replica: ReplicaModel) -> Floats:
    """Steps that a prompt waits until a running engine looks for prompts, (n,).

    Half of the interval where it looks every so many steps, all of it where the first prompt that waits begins it.
    """
    return replica.setup.constants["admission_wait_share"] * replica.setup.layout.admission_interval


def _slower_among_more(met: Floats, swing: Swings) -> Floats:
    """Standard deviation of a request's mean step, (n,): it runs beside more sequences, or fewer.

    Of b sequences with lives of one length z·b is the variance at any time and 2/3 of it that of the mean over a life,
    z the peakedness.
    Source: infinitely many servers, Eick, Massey and Whitt (1993), Management Science 39(2).
    """
    slower: Floats = swing.slower_s * np.sqrt(2 / 3 * swing.peakedness * met)
    return slower


def _spread_under_arrivals(replica: ReplicaModel, flow: Flow, slower: Floats, tpot: Floats, output: Floats) -> Floats:
    """Standard deviation of the TPOT of answers of so many tokens where requests arrive by themselves, (n, K).

    More arrivals are more prefills to wait for and more sequences beside one's own, so the two deviations are added.
    Who waits for a prefill stays longer and meets more of them: σ / (1 − load).
    Source: variance of a delay busy period, Conway, Maxwell and Miller (1967), Theory of Scheduling.
    """
    prefills = spread_of_tpot(replica, flow.rate_per_s, flow.prefill, tpot, output)
    return (prefills + slower) / (1 - flow.rate_per_s * flow.prefill)[:, None]


def longest_step(replica: ReplicaModel, step: Floats, prefill: Floats) -> Floats:
    """A decode step that takes as many tokens of prompts as it may, (n,): no token comes later than one after another.

    Args:
        replica: Whose steps they are.
        step: Seconds of one without prompts.
        prefill: Seconds by which a prompt lengthens those that it is computed in.
    """
    longest: Floats = step + prefill * replica.setup.layout.max_batched_tokens / replica.demand.mean_new
    return longest


def spread_of_tpot(replica: ReplicaModel, rate_per_s: Floats, prefill: Floats, tpot: Floats, output: Floats) -> Floats:
    """Standard deviation of the TPOT of answers of so many tokens, (n, K), where its mean is `tpot`, (n, K).

    How many prefills one met is a count that varies with arrivals.

    σ = P √(rate · life · (ca² + cs²)) / output, with life = output · tpot. Poisson counts have ca² = 1.
    Source: variance of a random sum; over a life of many gaps that of a renewal count, Cox (1962).
    """
    uneven = replica.demand.arrivals.of_replica(rate_per_s) + replica.prefill_variation
    return (prefill * np.sqrt(rate_per_s * uneven))[:, None] * np.sqrt(tpot / output)

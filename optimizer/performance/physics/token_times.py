"""Time per output token by statistic: the steps of an answer, and the prompts that come between them."""

from collections.abc import Collection, Mapping
from typing import Final

import numpy as np

from optimizer.base.arrays import Floats
from optimizer.performance.physics.load import NONE, ReplicaAtLoad
from optimizer.performance.physics.queueing import skewed_deviation
from optimizer.performance.physics.replica_model import ReplicaModel

_ALIKE: Final = 1e-18
"""Square seconds, a variance that is none."""
_TOGETHER: Final = np.sqrt(1.5)
"""Twice the correlation of one's own arrivals with the sequences that one meets, see `_spread_under_arrivals`."""


def tpot_of_slowest(replica: ReplicaModel, load: ReplicaAtLoad, statistics: Collection[str]) -> dict[str, Floats]:
    """Time per output token by statistic, of the class that has most, (n,)."""
    of_class = _tpot(replica, load, statistics, replica.demand.typical_output, replica.prefill_of_class)
    return {name: np.max(seconds, axis=1) for name, seconds in of_class.items()}


def tpot_of_mean(replica: ReplicaModel, load: ReplicaAtLoad, statistics: Collection[str]) -> dict[str, Floats]:
    """The same of the mean request, (n,)."""
    output = replica.demand.mean_output[:, None]
    return {name: each[:, 0] for name, each in _tpot(replica, load, statistics, output, np.ones_like(output)).items()}


def _tpot(
    replica: ReplicaModel, load: ReplicaAtLoad, statistics: Collection[str], output: Floats, of_mean: Floats
) -> Mapping[str, Floats]:
    """Time per output token by statistic, (n, K).

    Whose prompt is longer has more prompts behind it, and whose answer is shorter has fewer tokens to spread them over.

    Args:
        replica: Whose requests they are.
        load: Of it.
        statistics: Those wanted.
        output: Tokens of an answer, (n, K).
        of_mean: What a prompt takes of what the mean one does, (n, K).
    """
    # (n,) -> (n, 1)
    for_each, met, more, behind, busy = (
        each[:, None] for each in (load.for_each_s, load.met, load.swing.for_each, load.swing.behind, load.busy)
    )
    middle = for_each * (met - more * behind + NONE)
    behind = np.maximum(behind + busy * (of_mean - 1), 0.0)
    over_tokens = for_each * more * replica.demand.mean_output[:, None] / output
    mean = middle + over_tokens * behind
    if all(name == "mean" for name in statistics):
        return dict.fromkeys(statistics, mean)
    met_spread = _spread_under_arrivals(replica, load, mean, output)
    # variance and third cumulant of both parts add up; the second is a geometric count
    met_variance, of_behind = met_spread * met_spread, over_tokens * over_tokens * behind * (1 + behind)
    variance = np.maximum(met_variance + of_behind, _ALIKE)
    spread = np.sqrt(variance)
    third = _skewness_under_arrivals(replica, load, mean, output) * met_variance * met_spread
    skewness = (third + of_behind * over_tokens * (1 + 2 * behind)) / (variance * spread)
    # most requests are no faster than at even times
    least = (load.flow.step.total / (1 - load.busy))[:, None]
    most = np.maximum(_most(replica, load, output), mean)

    # what is cut off above `most` is not there to lean on: little of it where that is far, no more than up to it
    below = spread * (most - mean) / (spread + most - mean)

    def percentile(name: str) -> Floats:
        deviation = (below if name == "p50" else spread) * skewed_deviation(name, skewness)
        return np.clip(mean + deviation, least, most)

    return {name: mean if name == "mean" else percentile(name) for name in statistics}


def _most(replica: ReplicaModel, load: ReplicaAtLoad, output: Floats) -> Floats:
    """Above what no answer takes for a token, (n, K).

    No step takes more tokens of prompts than it may. And whoever comes after a request has a place while it has its
    own, so that of answers alike no more than all places come meanwhile; to those of longer answers they come again and
    again.
    """
    full = replica.when_full
    prompts = ((1 + replica.most_in_line) * full.prefill)[:, None]
    all_places = full.step.total[:, None] + prompts / np.minimum(output, replica.demand.mean_output[:, None])
    return np.minimum(longest_step(replica, load.step, load.flow.prefill)[:, None], all_places)


def _spread_under_arrivals(replica: ReplicaModel, load: ReplicaAtLoad, tpot: Floats, output: Floats) -> Floats:
    """Standard deviation of the TPOT of answers of so many tokens where requests arrive by themselves, (n, K).

    More arrivals are more prompts to wait for, and more sequences beside one's own. Whose life is L met those that came
    within L of its begin, each for what it overlaps: (1 − |a|/L)², of which the integral is 2L/3, and that of its part
    in the own life with the prompts, which all count alike, L/2. So the correlation of the two is ½ / √⅔. Who waits for
    a prompt stays longer and meets more of them: σ / (1 − load).
    Source: variance of a delay busy period, Conway, Maxwell and Miller (1967), Theory of Scheduling; infinitely
    many servers, Eick, Massey and Whitt (1993), Management Science 39(2), where 2/3 is that of a mean over a life.
    """
    prompts = spread_of_tpot(replica, load.flow.rate_per_s, load.flow.prefill, tpot, output)
    swing = load.swing
    slower = (swing.slower_s * np.sqrt(2 / 3 * swing.peakedness * swing.kept * load.met))[:, None]
    both: Floats = np.sqrt(prompts**2 + _TOGETHER * prompts * slower + slower**2)
    return both / (1 - load.busy)[:, None]


def _skewness_under_arrivals(replica: ReplicaModel, load: ReplicaAtLoad, tpot: Floats, output: Floats) -> Floats:
    """Third cumulant over σ³ of what `_spread_under_arrivals` has the σ of, (n, K).

    With u the load of prompts and C of them during a life, that of a delay busy period is (1 + 2u) / ((1 − u) √C).
    Uneven arrivals and prompts are as many fewer and larger: C / (ca² + cs²), which for gamma gaps is exact.
    Source: cumulants of a busy period, as for its variance.
    """
    met = load.flow.rate_per_s[:, None] * output * tpot
    uneven, busy = (load.of_arrivals + replica.prefill_variation)[:, None], load.busy[:, None]
    skewness: Floats = (1 + 2 * busy) / (1 - busy) * np.sqrt(uneven / np.maximum(met, NONE))
    return skewness


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

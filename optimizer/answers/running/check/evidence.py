"""What runs tell of a promise: how many requests were within limits, at least and at most, or where a mean lies."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from optimizer.base.arrays import Floats
from optimizer.base.units import MS_PER_S
from optimizer.inputs.importing.load_results.record import LoadResult, Requests
from optimizer.performance.physics.queueing import QUANTILES
from optimizer.performance.simulation.statistics import Bounded, mean, student
from optimizer.plan.benchmark.runs import SURE

Limits = Mapping[str, float]
"""Milliseconds at the replica, by latency: `ttft_ms`, `tpot_ms`, `e2e_ms`."""

BOTH_SIDES: Final = 2 * SURE - 1
"""Of an interval whose two bounds are each `SURE`."""
FEWEST_AFTER_EACH_OTHER: Final = 10
"""Requests that fit after each other into a run: of fewer, how far they spread says too little of a mean."""
SAME_LIMIT: Final = 1e-3
"""Relative: a limit passes through a command line."""


@dataclass(frozen=True)
class Counted:
    """Of so many requests that were sent, at least and at most how many were within limits."""

    sent: int
    at_least: int
    at_most: int

    @property
    def exact(self) -> bool:
        """Whether it is known of every request."""
        return self.at_least == self.at_most


@dataclass(frozen=True)
class MeanOf:
    """A mean over so many requests, and how far to either side it may be off."""

    requests: int
    value_ms: float
    error_ms: float


def counted(results: Sequence[LoadResult], limits: Limits) -> Counted:
    """Requests of all runs within all limits, as exactly as the files tell.

    A request that failed is outside; one that was under way when the run ended may be either.
    """
    found = [_counted(result, limits) for result in results]
    return Counted(*(sum(getattr(each, name) for each in found) for name in ("sent", "at_least", "at_most")))


def _counted(result: LoadResult, limits: Limits) -> Counted:
    done, open_yet = answered(result), result.requests_unanswered
    sent = done + (result.requests_failed or 0) + open_yet
    if result.requests is not None:
        surely, possibly = _within(result.requests, limits)
        return Counted(sent, surely, possibly + open_yet)
    bounds = [_by_percentiles(result, limits, done), _by_goodput(result, limits, done)]
    low, high = max(low for low, _ in bounds), min(high for _, high in bounds)
    # a file at odds with itself leaves both open
    return Counted(sent, min(low, high), max(low, high) + open_yet)


def answered(result: LoadResult) -> int:
    """Requests with an answer, of a run that counts: one of which that is known."""
    done = len(result.requests.ttft_ms) if result.requests is not None else result.requests_completed
    if done is None:
        raise ValueError(f"{result.file} does not say how many requests were answered")
    return done


def _within(requests: Requests, limits: Limits) -> tuple[int, int]:
    """How many requests keep every limit, surely and possibly; what was not measured of one may be either.

    An answer of one token has no time between tokens to keep.
    """
    surely = np.ones(len(requests.ttft_ms), dtype=np.bool_)
    possibly = surely.copy()
    for metric, limit_ms in limits.items():
        values = latency_ms(requests, metric)
        kept = (values <= limit_ms) | ((requests.output_tokens <= 1) & (metric == "tpot_ms"))
        surely &= kept
        possibly &= kept | np.isnan(values)
    return int(surely.sum()), int(possibly.sum())


def latency_ms(requests: Requests, metric: str) -> Floats:
    """(n,) one latency of each request, NaN where unknown; end to end is what its tokens take one after the other."""
    if metric == "e2e_ms":
        more = requests.output_tokens - 1
        return requests.ttft_ms + np.where(more <= 0, 0.0, requests.tpot_ms * more)
    return requests.ttft_ms if metric == "ttft_ms" else requests.tpot_ms


def _known(requests: Requests, metric: str) -> Floats:
    """(≤ n,) the latency of each request of which it is known."""
    values = latency_ms(requests, metric)
    return values[~np.isnan(values)]


def _by_goodput(result: LoadResult, limits: Limits, done: int) -> tuple[int, int]:
    """What the generator's own count tells: of stricter or more limits at least, of looser or fewer at most."""
    own = result.goodput
    if own is None:
        return 0, done
    within = min(own.within, done)
    as_strict = all(_at_most(own.limits_ms.get(name, math.inf), limit) for name, limit in limits.items())
    as_loose = all(_at_most(limits.get(name, math.inf), limit) for name, limit in own.limits_ms.items())
    return (within if as_strict else 0), (min(within + own.unjudged, done) if as_loose else done)


def _at_most(one: float, other: float) -> bool:
    return one <= other * (1 + SAME_LIMIT)


def _by_percentiles(result: LoadResult, limits: Limits, done: int) -> tuple[int, int]:
    """What percentiles tell: those below a limit that so many were within, those above that the others were not.

    A percentile lies between two requests next to each other in size; what is outside one limit or another adds up.
    """
    outside, high = 0, done
    for metric, limit_ms in limits.items():
        values: Mapping[str, float] = getattr(result, metric)
        ranks = {name: (done - 1) * QUANTILES[name] for name in QUANTILES if name in values}
        below = [math.floor(rank) + 1 for name, rank in ranks.items() if values[name] <= limit_ms]
        above = [math.ceil(rank) for name, rank in ranks.items() if values[name] > limit_ms]
        outside += done - max(below, default=0)
        high = min([high, *above])
    return max(done - outside, 0), high


def mean_of(results: Sequence[LoadResult], metric: str) -> MeanOf | None:
    """The mean over all runs, each weighing as many requests as it has; None where a file cannot bound its own."""
    parts = [_mean_of(result, metric) for result in results]
    known = [part for part in parts if part is not None and math.isfinite(part.error_ms)]
    if len(known) < len(parts) or not known:
        return None
    total = sum(part.requests for part in known)
    shares = [part.requests / total for part in known]
    value_ms = sum(share * part.value_ms for share, part in zip(shares, known, strict=True))
    error_ms = math.hypot(*(share * part.error_ms for share, part in zip(shares, known, strict=True)))
    return MeanOf(total, value_ms, error_ms)


def _mean_of(result: LoadResult, metric: str) -> MeanOf | None:
    if result.requests is not None:
        values = _known(result.requests, metric)
        found: Bounded = mean(values, BOTH_SIDES)
        return MeanOf(len(values), found.value, found.high - found.value) if len(values) else None
    return _mean_of_summary(result, metric)


def _mean_of_summary(result: LoadResult, metric: str) -> MeanOf | None:
    """From the mean and the deviation in a file without single requests.

    Requests that are served at the same time resemble each other, so it counts as many independent ones as fit after
    each other into the run, bounded by Student's t; with fewer than `FEWEST_AFTER_EACH_OTHER` nothing is said.
    """
    value_ms, std_ms, lasts_ms = (
        getattr(result, metric).get("mean"),
        result.std_ms.get(metric),
        result.e2e_ms.get("mean"),
    )
    duration_s, done = result.duration_s, result.requests_completed
    if value_ms is None or std_ms is None or not lasts_ms or duration_s is None or done is None:
        return None
    after_each_other = min(duration_s * MS_PER_S / lasts_ms, done)
    if after_each_other < FEWEST_AFTER_EACH_OTHER:
        return None
    return MeanOf(done, value_ms, student(BOTH_SIDES, after_each_other - 1) * std_ms / math.sqrt(after_each_other))


def statistic_of(results: Sequence[LoadResult], metric: str, statistic: str) -> float | None:
    """The statistic over all requests of the runs; None where none tells.

    Requests that are known one by one are taken together; a run without them weighs as many as it answered.
    """
    singly = [known for result in results if result.requests is not None for known in _known(result.requests, metric)]
    summed_up = [result for result in results if result.requests is None and statistic in getattr(result, metric)]
    values = [getattr(result, metric)[statistic] for result in summed_up]
    weights = [answered(result) for result in summed_up]
    if singly:
        values.append(np.mean(singly) if statistic == "mean" else np.quantile(singly, QUANTILES[statistic]))
        weights.append(len(singly))
    return float(np.average(values, weights=weights)) if sum(weights) else None


def rate_of(results: Sequence[LoadResult]) -> float | None:
    """Requests a second over all runs that tell theirs, each for as long as its requests took; None where none does."""
    told = [(answered(result), result.requests_per_s) for result in results if result.requests_per_s]
    lasted_s = sum(requests / rate_per_s for requests, rate_per_s in told)
    return sum(requests for requests, _ in told) / lasted_s if lasted_s else None

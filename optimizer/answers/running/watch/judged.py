"""Each planned quantity of a replica against what its servers told: within, drifted, or not to be told."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from optimizer.answers.running.watch.bounds import (
    Between,
    Z,
    mean_between,
    percentile_between,
    rate_between,
    share_between,
    within_between,
)
from optimizer.answers.running.watch.planned import PlannedReplica
from optimizer.answers.running.watch.types import WatchedFigure, WatchedQuantity, WatchVerdict
from optimizer.answers.running.watch.window import Histogram, Window
from optimizer.base.figures import exactly, figure
from optimizer.base.units import MS_PER_S
from optimizer.inputs.catalog.entries.deploying import Quantity
from optimizer.performance.simulation.sample_sizes import proves_at_least, proves_below
from optimizer.plan.benchmark.promises import MEAN, PromisedLimit
from optimizer.plan.benchmark.runs import SURE

OF_LATENCY: Final[dict[str, Quantity]] = {"ttft_ms": "ttft_s", "tpot_ms": "tpot_s", "e2e_ms": "e2e_s"}
MOST_COUNTED: Final = 2_000_000
STAYS_APART: Final = 3.0
"""After so many mean stays one request in twenty is left, where they end at random."""
TOO_FEW: Final = "too few requests to say how far they spread"
NEEDS_TWO: Final = "two moments tell it, the earlier first"
NEEDS_SECONDS: Final = "say with --interval-s how many seconds lie between the two, which bear no time stamps"


@dataclass(frozen=True)
class Expected:
    """One quantity as planned, to be held against what was seen.

    Attributes:
        quantity: Which.
        metric: What its servers call it; None where nobody recorded a name.
        low: As planned from here on.
        high: As planned up to here.
        statistic: Of the quantity.
    """

    quantity: WatchedQuantity
    metric: str | None
    low: float = -math.inf
    high: float = math.inf
    statistic: str = MEAN

    def held(self, found: Between | None, requests: int) -> WatchedFigure:
        """Within where the whole interval is as planned, drifted where none of it is."""
        if found is None:
            return self.told("undecided", TOO_FEW, requests=requests)
        within = self.low <= found.low and found.high <= self.high
        drifted = found.high < self.low or self.high < found.low
        return self.mean("within" if within else "drifted" if drifted else "undecided", found, requests)

    def mean(self, verdict: WatchVerdict, found: Between, requests: int) -> WatchedFigure:
        """With the mean, and how far that of all may be from it."""
        text = f"{exactly(found.value)} ({figure(found.low)}–{figure(found.high)})"
        seen = {"measured": found.value, "measured_low": found.low, "measured_high": found.high}
        return self.told(verdict, text, requests=requests, **seen)

    def untold(self) -> WatchedFigure:
        """Where nobody recorded a name, or no server says it."""
        return self.told("undecided", "no name for it is known in this release" if self.metric is None else "not told")

    def told(self, verdict: WatchVerdict, text: str, requests: int = 0, **seen: float | None) -> WatchedFigure:
        """The record, with what was seen where anything was."""
        fields: dict[str, Any] = {**dict.fromkeys(("measured", "measured_low", "measured_high")), **seen}
        return WatchedFigure(
            quantity=self.quantity,
            statistic=self.statistic,
            metric=self.metric,
            planned_low=None if math.isinf(self.low) else self.low,
            planned_high=None if math.isinf(self.high) else self.high,
            requests=requests,
            verdict=verdict,
            text=text,
            **fields,
        )


@dataclass(frozen=True)
class Watched:
    """A deployment, as its servers told of it.

    Attributes:
        planned: Of one replica.
        window: What its servers told.
        metrics: What they call it.
        replicas: How many told of themselves.
        tolerance: By how much load and cache may differ from the plan, as a share of it.
    """

    planned: PlannedReplica
    window: Window
    metrics: dict[Quantity, str]
    replicas: int
    tolerance: float

    def figures(self) -> Iterator[WatchedFigure]:
        """Load first, then what is promised of it, then the cache."""
        yield self._rate()
        yield self._length("input_tokens", "input_tokens", self.planned.input_tokens)
        yield self._length("output_tokens", "output_tokens", self.planned.output_tokens)
        if self.planned.cached_share:
            yield self._cached()
        for limit in self.planned.limits:
            yield self._latency(limit)
        yield self._kv_cache()

    def no_rate(self) -> str:
        """What nobody can tell a rate for the lack of; empty where it can be told."""
        if self.window.moments == 1:
            return NEEDS_TWO
        return self.window.changed(self.metrics["requests"]) or ("" if self.window.seconds else NEEDS_SECONDS)

    def per_second(self, quantity: Quantity) -> float | None:
        """Of a counter, or of the sum of a histogram, by one replica; None where nobody can tell."""
        metric, seconds = self.metrics.get(quantity, ""), self.window.seconds
        if seconds is None or self.no_rate():
            return None
        h = self.window.histogram(metric)
        amount = self.window.counted(metric) if h is None else h.total
        return None if amount is None or not math.isfinite(amount) else amount / seconds / self.replicas

    def _rate(self) -> WatchedFigure:
        metric, (low, high) = self.metrics["requests"], self.planned.rates_per_s
        expected = Expected("requests_per_second", metric, low * (1 - self.tolerance), high * (1 + self.tolerance))
        count, seconds = self.window.counted(metric), self.window.seconds
        why = self.no_rate()
        if why or count is None or seconds is None:
            return expected.told("undecided", why or "not told")
        return expected.held(rate_between(count, self.planned.cv2, seconds * self.replicas), round(count))

    def _length(self, quantity: WatchedQuantity, key: Quantity, planned: float) -> WatchedFigure:
        low, high = planned * (1 - self.tolerance), planned * (1 + self.tolerance)
        expected, h = Expected(quantity, self.metrics.get(key), low, high), self._histogram(key)
        return expected.untold() if h is None else expected.held(mean_between(h), h.count)

    def _cached(self) -> WatchedFigure:
        """No fewer prompt tokens found in the cache than planned; more are no harm."""
        low = self.planned.cached_share * (1 - self.tolerance)
        expected = Expected("cached_input_share", self.metrics.get("cached_prompt_tokens"), low)
        of_hits, of_tokens = expected.metric or "", self.metrics.get("prompt_tokens", "")
        hits, tokens = self.window.counted(of_hits), self.window.counted(of_tokens)
        prompts = self._histogram("input_tokens")
        # engines that label hits by where they were found say nothing before the first: that is not a count of zero
        silent = self.window.replicas(of_tokens) - self.window.replicas(of_hits)
        if silent or hits is None or not tokens or prompts is None:
            return expected.untold()
        return expected.held(share_between(hits / tokens, prompts), prompts.count)

    def _latency(self, limit: PromisedLimit) -> WatchedFigure:
        key = OF_LATENCY[limit.metric]
        expected = Expected(limit.metric, self.metrics.get(key), high=limit.at_replica_ms, statistic=limit.statistic)
        h = self._histogram(key)
        if h is None or not h.count:
            return expected.untold()
        if limit.promised_share is None:
            return self._mean(expected, h)
        return self._percentile(expected, h, limit.promised_share)

    def _mean(self, expected: Expected, h: Histogram) -> WatchedFigure:
        """Of all classes together: no class's own mean is more than that over its share."""
        found = mean_between(h, self.planned.d.concurrency)
        if found is None:
            return expected.held(None, h.count)
        in_ms = Between(*(MS_PER_S * each for each in (found.value, found.low, found.high)))
        kept = in_ms.high / self.planned.smallest_share <= expected.high
        verdict: WatchVerdict = "within" if kept else "drifted" if in_ms.low > expected.high else "undecided"
        return expected.mean(verdict, in_ms, h.count)

    def _percentile(self, expected: Expected, h: Histogram, share: float) -> WatchedFigure:
        """Of all classes together: where so few are outside that one class could hold them all, each keeps its own."""
        at_least, at_most = within_between(h, expected.high / MS_PER_S)
        of_all = 1 - (1 - share) * self.planned.smallest_share
        # of very many, as many as are counted in a moment: a smaller sample proves less, never more
        part = math.ceil(h.count / MOST_COUNTED)
        kept = proves_at_least(at_least // part, math.ceil(h.count / part), of_all, SURE)
        broken = not kept and proves_below(math.ceil(at_most / part), h.count // part, share, SURE)
        low, high = (MS_PER_S * each for each in percentile_between(h, share))
        seen = f"{at_least:,}" if at_least == at_most else f"{at_least:,} to {at_most:,}"
        ends = f"above {figure(low)}" if math.isinf(high) else f"{figure(low)} to {figure(high)}"
        return expected.told(
            "within" if kept else "drifted" if broken else "undecided",
            f"{seen} of {h.count:,} requests within; {expected.statistic} by its bucket {ends} ms",
            h.count,
            measured_low=low,
            measured_high=None if math.isinf(high) else high,
        )

    def _kv_cache(self) -> WatchedFigure:
        """Readings are of moments, at which as many requests as planned are there, give or take their square root."""
        planned, metric = self.planned.kv_cache_share, self.metrics.get("kv_cache_share")
        of_replicas = self.window.gauge(metric or "")
        readings = [value for each in of_replicas.values() for value in each]
        independent = len(readings) if self._far_apart() else len(of_replicas)
        chance = Z / math.sqrt(max(self.planned.d.concurrency * independent, 1.0))
        expected = Expected("kv_cache_share", metric, high=min(planned * (1 + self.tolerance + chance), 1.0))
        if not readings:
            return expected.untold()
        value = sum(readings) / len(readings)
        several = f"the mean of {len(readings)} readings" if len(readings) > 1 else "at one moment"
        text = f"{figure(100 * value)} %, {several}; {figure(100 * planned)} % is planned on average"
        return expected.told("within" if value <= expected.high else "drifted", text, measured=value)

    def _far_apart(self) -> bool:
        """Whether hardly a request of the first moment is still there at the second; by Little's law for its stay."""
        stay_s = self.planned.d.concurrency / max(self.planned.rates_per_s)
        return self.window.seconds is not None and self.window.seconds >= STAYS_APART * stay_s

    def _histogram(self, quantity: Quantity) -> Histogram | None:
        metric = self.metrics.get(quantity)
        return self.window.histogram(metric) if metric else None

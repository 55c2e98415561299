"""Each planned quantity of a replica against what its servers told: within, drifted, or not to be told."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from optimizer.answers.watch.bounds import (
    Between,
    Z,
    mean_between,
    percentile_between,
    rate_between,
    share_between,
    within_between,
)
from optimizer.answers.watch.planned import PlannedReplica
from optimizer.answers.watch.types import WatchedFigure, WatchedQuantity, WatchVerdict
from optimizer.answers.watch.window import Histogram, Window
from optimizer.base.figures import exactly, figure
from optimizer.base.units import MS_PER_S
from optimizer.inputs.catalog.deploying import Quantity
from optimizer.performance.simulation.sample_sizes import proves_at_least, proves_below
from optimizer.plan.benchmark.promises import MEAN, PromisedLimit
from optimizer.plan.benchmark.runs import SURE

OF_LATENCY: Final[dict[str, Quantity]] = {"ttft_ms": "ttft_s", "tpot_ms": "tpot_s", "e2e_ms": "e2e_s"}
Band = tuple[float | None, float | None]
"""From where to where a quantity is as planned; None where that side is open."""
TOO_FEW: Final = "too few requests to say how far they spread"


@dataclass(frozen=True)
class Watched:
    """One quantity of a deployment, as its servers told it.

    Attributes:
        planned: Of one replica.
        window: What its servers told.
        metrics: What they call it.
        replicas: How many told of themselves.
        tolerance: By how much load and cache may differ from the plan, as a share of it.
    """

    planned: PlannedReplica
    window: Window
    metrics: dict[Quantity, str] = field(repr=False)
    replicas: int
    tolerance: float

    def figures(self) -> Iterator[WatchedFigure]:
        """Load first, then what is promised of it, then the cache."""
        yield self._rate()
        yield self._length("input_tokens", self.planned.input_tokens)
        yield self._length("output_tokens", self.planned.output_tokens)
        if self.planned.cached_share:
            yield self._cached()
        for limit in self.planned.limits:
            yield self._mean(limit) if limit.promised_share is None else self._percentile(limit, limit.promised_share)
        yield self._kv_cache()

    def per_second(self, quantity: Quantity) -> float | None:
        """Of a counter, or of the sum of a histogram, by one replica; None where nobody can tell."""
        metric, seconds = self.metrics.get(quantity, ""), self.window.seconds
        if seconds is None or self.window.changed(self.metrics.get("requests", "")) or not self.replicas:
            return None
        h = self.window.histogram(metric)
        amount = self.window.counted(metric) if h is None else h.total
        return None if amount is None or not math.isfinite(amount) else amount / seconds / self.replicas

    def _rate(self) -> WatchedFigure:
        low, high = self.planned.rates_per_s
        band = (low * (1 - self.tolerance), high * (1 + self.tolerance))
        metric = self.metrics.get("requests")
        count = self.window.counted(metric) if metric else None
        if metric is None or count is None:
            return self._untold("requests_per_second", "requests", band)
        broken_off = self.window.changed(metric)
        if broken_off or self.window.seconds is None or not self.replicas:
            once = "two moments tell a rate, and how many seconds lie between them"
            return self._open("requests_per_second", metric, band, broken_off or once)
        found = rate_between(count, self.planned.cv2, self.window.seconds * self.replicas)
        return self._judged("requests_per_second", metric, band, found, round(count))

    def _length(self, quantity: WatchedQuantity, planned: float) -> WatchedFigure:
        band = (planned * (1 - self.tolerance), planned * (1 + self.tolerance))
        key: Quantity = "input_tokens" if quantity == "input_tokens" else "output_tokens"
        h = self._histogram(key)
        if h is None:
            return self._untold(quantity, key, band)
        found = mean_between(h)
        if found is None:
            return self._open(quantity, self.metrics[key], band, TOO_FEW, h.count)
        return self._judged(quantity, self.metrics[key], band, found, h.count)

    def _cached(self) -> WatchedFigure:
        band = (self.planned.cached_share * (1 - self.tolerance), None)
        metric, all_of = self.metrics.get("cached_prompt_tokens"), self.metrics.get("prompt_tokens")
        prompts = self._histogram("input_tokens")
        hits, tokens = (self.window.counted(name) if name else None for name in (metric, all_of))
        if metric is None or not tokens or prompts is None:
            return self._untold("cached_input_share", "cached_prompt_tokens", band)
        # engines that label hits by where they were found say nothing before the first
        found = share_between((hits or 0.0) / tokens, prompts.count)
        if found is None:
            return self._open("cached_input_share", metric, band, TOO_FEW, prompts.count)
        return self._judged("cached_input_share", metric, band, found, prompts.count)

    def _mean(self, limit: PromisedLimit) -> WatchedFigure:
        """Of all classes together: no class's own mean is more than that over its share."""
        key = OF_LATENCY[limit.metric]
        band = (None, limit.at_replica_ms)
        h = self._histogram(key)
        if h is None:
            return self._untold(limit.metric, key, band)
        found = mean_between(h, self.planned.d.concurrency)
        if found is None:
            return self._open(limit.metric, self.metrics[key], band, TOO_FEW, h.count)
        value, low, high = (MS_PER_S * each for each in (found.value, found.low, found.high))
        kept = high / self.planned.smallest_share <= limit.at_replica_ms
        verdict: WatchVerdict = "within" if kept else "drifted" if low > limit.at_replica_ms else "undecided"
        text = _mean_in_words(Between(value, low, high))
        fields = {"measured": value, "measured_low": low, "measured_high": high}
        return self._record(limit.metric, self.metrics[key], band, verdict, text, requests=h.count, **fields)

    def _percentile(self, limit: PromisedLimit, share: float) -> WatchedFigure:
        """Of all classes together: where so few are outside that one class could hold them all, each keeps its own."""
        key = OF_LATENCY[limit.metric]
        band = (None, limit.at_replica_ms)
        h = self._histogram(key)
        if h is None or not h.count:
            return self._untold(limit.metric, key, band, limit.statistic)
        at_least, at_most = within_between(h, limit.at_replica_ms / MS_PER_S)
        strictest = 1 - (1 - share) * self.planned.smallest_share
        verdict: WatchVerdict = "undecided"
        if proves_at_least(at_least, h.count, strictest, SURE):
            verdict = "within"
        elif proves_below(at_most, h.count, share, SURE):
            verdict = "drifted"
        low, high = (MS_PER_S * each for each in percentile_between(h, share))
        seen = f"{at_least:,}" if at_least == at_most else f"{at_least:,} to {at_most:,}"
        ends = f"above {figure(low)}" if math.isinf(high) else f"{figure(low)} to {figure(high)}"
        text = f"{seen} of {h.count:,} requests within; {limit.statistic} by its bucket {ends} ms"
        fields = {"measured_low": low, "measured_high": None if math.isinf(high) else high}
        return self._record(
            limit.metric,
            self.metrics[key],
            band,
            verdict,
            text,
            statistic=limit.statistic,
            requests=h.count,
            **fields,
        )

    def _kv_cache(self) -> WatchedFigure:
        """Readings are of moments, at which as many requests as planned are there, give or take their square root."""
        planned, metric = self.planned.kv_cache_share, self.metrics.get("kv_cache_share")
        readings = self.window.gauge(metric) if metric else []
        if metric is None or not readings:
            return self._untold("kv_cache_share", "kv_cache_share", (None, planned * (1 + self.tolerance)))
        chance = Z / math.sqrt(max(self.planned.d.concurrency, 1.0) * len(readings))
        high = min(planned * (1 + self.tolerance + chance), 1.0)
        value = sum(readings) / len(readings)
        several = f"the mean of {len(readings)} readings" if len(readings) > 1 else "at one moment"
        text = f"{figure(100 * value)} %, {several}; {figure(100 * planned)} % is planned on average"
        verdict: WatchVerdict = "within" if value <= high else "drifted"
        return self._record("kv_cache_share", metric, (None, high), verdict, text, measured=value)

    def _histogram(self, quantity: Quantity) -> Histogram | None:
        metric = self.metrics.get(quantity)
        return self.window.histogram(metric) if metric else None

    def _untold(
        self,
        quantity: WatchedQuantity,
        key: Quantity,
        band: Band,
        statistic: str = MEAN,
    ) -> WatchedFigure:
        """Where nobody recorded a name, or no server says it."""
        metric, d = self.metrics.get(key), self.planned.d
        text = f"{d.engine} {d.engine_version} has no metric for it that is known" if metric is None else "not told of"
        return self._record(quantity, metric, band, "undecided", text, statistic=statistic)

    def _open(
        self,
        quantity: WatchedQuantity,
        metric: str,
        band: Band,
        why: str,
        requests: int = 0,
    ) -> WatchedFigure:
        return self._record(quantity, metric, band, "undecided", why, requests=requests)

    def _judged(
        self,
        quantity: WatchedQuantity,
        metric: str,
        band: Band,
        found: Between,
        requests: int,
    ) -> WatchedFigure:
        """Within where the whole interval is as planned, drifted where none of it is."""
        low, high = (-math.inf if band[0] is None else band[0]), (math.inf if band[1] is None else band[1])
        verdict: WatchVerdict = "undecided"
        if low <= found.low and found.high <= high:
            verdict = "within"
        elif found.high < low or found.low > high:
            verdict = "drifted"
        fields = {"measured": found.value, "measured_low": found.low, "measured_high": found.high}
        return self._record(quantity, metric, band, verdict, _mean_in_words(found), requests=requests, **fields)

    def _record(
        self,
        quantity: str,
        metric: str | None,
        band: Band,
        verdict: WatchVerdict,
        text: str,
        **fields: Any,
    ) -> WatchedFigure:
        return WatchedFigure.model_validate(
            {
                **dict.fromkeys(("measured", "measured_low", "measured_high")),
                "quantity": quantity,
                "statistic": MEAN,
                "metric": metric,
                "planned_low": band[0],
                "planned_high": band[1],
                "requests": 0,
                "verdict": verdict,
                "text": text,
                **fields,
            }
        )


def _mean_in_words(found: Between) -> str:
    return f"{exactly(found.value)} ({figure(found.low)}–{figure(found.high)})"

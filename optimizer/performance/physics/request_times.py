"""How long requests take, to the first token and to the last, by statistic, where they may differ in length."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np

from optimizer.base.arrays import Floats, Ints
from optimizer.base.largest import beyond
from optimizer.performance.physics.line import Line
from optimizer.performance.physics.queueing import QUANTILES
from optimizer.performance.physics.token_mix import TokenMix

_HALVINGS: Final = 30
"""Bisection steps of a percentile over requests of several lengths."""
_ROUNDING: Final = 1e-9
"""Relative, of a share of requests that is just allowed."""
_NOTHING: Final = -1.0
"""Seconds, a limit that no request keeps."""


@dataclass(frozen=True)
class RequestTimes:
    """What makes up the time of a request, seconds.

    Attributes:
        demand: What the requests are, K classes of P kinds.
        start_s: Time to first token of one that stands in no line, (n, P).
        line: In which it stands before that.
        tpot_s: Time per output token of whole requests by statistic, (n,).
    """

    demand: TokenMix
    start_s: Floats
    line: Line
    tpot_s: Mapping[str, Floats]

    @cached_property
    def ttft_s(self) -> Mapping[str, Floats]:
        """Time to first token by statistic, (n, K)."""
        return {name: self._over_requests(self.start_s, name) for name in self.tpot_s}

    @cached_property
    def e2e_s(self) -> Mapping[str, Floats]:
        """TTFT + (output − 1) · TPOT by statistic, (n, K); deviations of the two parts from their means add in squares.

        Where requests of a class differ, their lengths count to the first, and the second is that of their root mean
        square.
        """
        mean = self._over_requests(self._whole_s, "mean")
        e2e = {"mean": mean, "p50": self._over_requests(self._whole_s, "p50")}
        for name in ("p90", "p95", "p99"):
            later = np.maximum(self._over_requests(self._whole_s, name) - mean, 0.0)
            e2e[name] = mean + np.hypot(later, self._token_spread_s(name))
        return e2e

    @cached_property
    def _whole_s(self) -> Floats:
        """(n, P) what a request takes that stands in no line and decodes at the mean TPOT."""
        return self.start_s + self._after_first * self.tpot_s["mean"][:, None]

    @property
    def _after_first(self) -> Floats:
        """(n, P) tokens after the first."""
        return np.maximum(self.demand.output_tokens - 1, 0.0)

    def _token_spread_s(self, name: str) -> Floats:
        """(n, K) by how much a percentile of TPOT lengthens a request over the mean."""
        after = np.sqrt(self.demand.by_class(self._after_first**2)) if self.demand.varies else self._after_first
        return after * (self.tpot_s[name] - self.tpot_s["mean"])[:, None]

    def times(self, start: Floats, longer: Floats) -> "RequestTimes":
        """The same where what stands in no line takes `start` (n,) times as long, all else `longer` (n,) times."""
        tpot = {name: longer * seconds for name, seconds in self.tpot_s.items()}
        return RequestTimes(self.demand, start[:, None] * self.start_s, self.line.times(longer), tpot)

    def first_tokens_late(self, limits_s: Mapping[str, float], before_s: Floats) -> Floats:
        """(n,) how far the first tokens of some class are beyond a limit, at most 0 where every statistic is within it.

        Args:
            limits_s: By statistic.
            before_s: What passes before the model, (n,).
        """
        late = [self._late(self.start_s, name, (limit_s - before_s)[:, None]) for name, limit_s in limits_s.items()]
        latest: Floats = np.max(late, axis=0)
        return latest

    def whole_late(self, limits_s: Mapping[str, float], before_s: Floats) -> Floats:
        """(n,) how far the last tokens of some class are beyond a limit, as `first_tokens_late`."""
        late, mean = list[Floats](), self._over_requests(self._whole_s, "mean")
        for name, limit_s in limits_s.items():
            left_s = (limit_s - before_s)[:, None]
            if name not in ("mean", "p50"):
                # what the squares of the other part leave of the limit, nothing where it is too much alone
                room, spread = left_s - mean, self._token_spread_s(name)
                left_s = np.where(room < spread, _NOTHING, mean + np.sqrt(np.maximum(room**2 - spread**2, 0.0)))
            late.append(self._late(self._whole_s, name, left_s))
        latest: Floats = np.max(late, axis=0)
        return latest

    def _late(self, own_s: Floats, name: str, limit_s: Floats) -> Floats:
        """(n,) how far a statistic of some class is beyond a limit, (n, 1) or (n, K), as `_over_requests`."""
        if not self.demand.varies or name == "mean":
            slowest: Floats = np.max(beyond(self._over_requests(own_s, name), limit_s), axis=1)
            return slowest
        left_s = np.repeat(np.broadcast_to(limit_s, (len(own_s), len(self._kinds))), self._kinds, axis=1)
        late = self.demand.by_class(self.line.later(left_s - own_s))
        latest: Floats = np.max(beyond(late, _share_allowed(name)), axis=1)
        return latest

    @property
    def _kinds(self) -> Ints:
        """(K,) how many kinds each class has."""
        return np.diff([*(self.demand.first_kind or ()), self.demand.share.shape[1]])

    def _over_requests(self, own_s: Floats, name: str) -> Floats:
        """(n, K) a statistic of what a request takes itself, (n, P), and of the line, over the requests of a class."""
        first = self.demand.first_kind
        if first is None:
            return own_s + self.line.statistic(name)[:, None]
        if name == "mean":
            return self.demand.by_class(own_s) + self.line.mean[:, None]
        low = np.minimum.reduceat(own_s, first, axis=1)
        high = np.maximum.reduceat(own_s, first, axis=1) + self.line.statistic(name)[:, None]
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            late = self.demand.by_class(self.line.later(np.repeat(middle, self._kinds, axis=1) - own_s))
            enough = late <= _share_allowed(name)
            low, high = np.where(enough, low, middle), np.where(enough, middle, high)
        return high


def _share_allowed(name: str) -> float:
    """Of the requests, that may be later than a percentile."""
    return (1 - QUANTILES[name]) * (1 + _ROUNDING)

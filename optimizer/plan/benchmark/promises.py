"""What a deployment's requests are promised, as a load generator beside the replica can measure it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from optimizer.inputs.scenario.scenario import Slo
from optimizer.performance.physics.queueing import QUANTILES
from optimizer.plan.record.fleet import Deployment, ServedClass

Metric = Literal["ttft_ms", "tpot_ms", "e2e_ms"]

MEAN: Final = "mean"
LARGEST_EXPECTED: Final = 0.9999
"""No prediction is trusted further into its tail."""


@dataclass(frozen=True)
class PromisedLimit:
    """One limit of a workload, at a replica that serves it.

    Attributes:
        metric: Which latency.
        statistic: Of that latency: the mean or a percentile.
        limit_ms: As the scenario states it.
        before_ms: What passes before the replica (network, gateway, retrieval), which a run beside it does not see.
        predicted_ms: At the replica, as predicted.
        low_ms: Of the interval that holds nine of ten such predictions.
        high_ms: Likewise.
        expected_share: Of requests, predicted to be within the limit.
    """

    metric: Metric
    statistic: str
    limit_ms: float
    before_ms: float
    predicted_ms: float
    low_ms: float
    high_ms: float
    expected_share: float

    @property
    def at_replica_ms(self) -> float:
        """What is left of the limit for the replica."""
        return self.limit_ms - self.before_ms

    @property
    def promised_share(self) -> float | None:
        """Of requests, to be within the limit; None of a mean, which promises no share."""
        return QUANTILES.get(self.statistic)


@dataclass(frozen=True)
class Doubt:
    """By which factor a prediction may be off to either side, in nine of ten cases."""

    ttft: float
    tpot: float


def promised_limits(
    slo: Slo, d: Deployment, served: ServedClass, before_ms: float, doubt: Doubt
) -> Iterator[PromisedLimit]:
    """Every limit of a class at a deployment that serves it.

    Args:
        slo: Of the workload.
        d: The deployment.
        served: The class, as it serves it.
        before_ms: What passes before the replica.
        doubt: About its predictions.
    """
    # end to end is nearly all decoding, so it is as uncertain as that
    measured: tuple[tuple[Metric, Mapping[str, float], float, float], ...] = (
        ("ttft_ms", served.ttft_ms, before_ms, doubt.ttft),
        ("tpot_ms", d.tpot_ms, 0.0, doubt.tpot),
        ("e2e_ms", served.e2e_ms, before_ms, doubt.tpot),
    )
    for metric, predicted, outside_ms, factor in measured:
        latency = getattr(slo, metric)
        for statistic, limit_ms in (latency.limits_ms() if latency else {}).items():
            at_replica_ms = predicted[statistic] - outside_ms
            yield PromisedLimit(
                metric=metric,
                statistic=statistic,
                limit_ms=limit_ms,
                before_ms=outside_ms,
                predicted_ms=at_replica_ms,
                low_ms=at_replica_ms / factor,
                high_ms=at_replica_ms * factor,
                expected_share=share_within(predicted, limit_ms),
            )


def share_within(predicted: Mapping[str, float], limit_ms: float) -> float:
    """Share of requests below a limit, from predicted percentiles: between them, and beyond, tails fall exponentially.

    Args:
        predicted: Latencies by percentile.
        limit_ms: The limit.
    """
    names = sorted(QUANTILES, key=QUANTILES.__getitem__)
    latency_ms = np.array([predicted[name] for name in names])
    log_above = np.log1p(-np.array([QUANTILES[name] for name in names]))
    if limit_ms < latency_ms[0]:
        return QUANTILES[names[0]]
    if limit_ms <= latency_ms[-1]:
        return float(1 - np.exp(np.interp(limit_ms, latency_ms, log_above)))
    rise_ms = float(latency_ms[-1] - latency_ms[-2])
    if rise_ms <= np.finfo(np.float64).eps * float(latency_ms[-1]):
        # no request is predicted slower than most
        return LARGEST_EXPECTED
    slope = float(log_above[-1] - log_above[-2]) / rise_ms
    above = np.exp(float(log_above[-1]) + slope * (limit_ms - float(latency_ms[-1])))
    return min(float(1 - above), LARGEST_EXPECTED)

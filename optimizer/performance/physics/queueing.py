"""Waiting: for the prefill ahead of one's own, and for a place when the KV cache is full.

Both waits are zero with some probability and otherwise close to exponential, so a wait is described by the
probability that there is any and by its mean; percentiles follow from the two.
"""

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import Final

import numpy as np

from optimizer.base.arrays import Floats

STATISTICS: Final = ("mean", "p50", "p90", "p95", "p99")
QUANTILES: Final = {"p50": 0.50, "p90": 0.90, "p95": 0.95, "p99": 0.99}

_NORMAL = NormalDist()
_FAR: Final = 30.0
"""Standard deviations beyond which a normal tail is no longer a number."""


@dataclass(frozen=True)
class Wait:
    """A wait that happens with `probability` and then lasts `mean_if_any` seconds on average, (n,)."""

    probability: Floats
    mean_if_any: Floats

    @property
    def mean(self) -> Floats:
        """Mean over all requests."""
        return self.probability * self.mean_if_any

    def statistic(self, name: str) -> Floats:
        """Mean or percentile: P(wait > t) = probability · exp(−t / mean_if_any)."""
        if name == "mean":
            return self.mean
        excess = np.log(np.maximum(self.probability / (1 - QUANTILES[name]), 1.0))
        return self.mean_if_any * excess


def server_wait(load: Floats, service: Floats, squared_variation: Floats) -> Wait:
    """Wait for a single server that is busy a share `load` of the time, Poisson arrivals.

    mean = load · service · (1 + cv²) / (2 (1 − load)).
    Source: Pollaczek and Khinchine; the exponential tail is Kingman's heavy-traffic limit.
    """
    free = np.maximum(1 - load, np.finfo(np.float64).eps)
    return Wait(np.clip(load, 0.0, 1.0), service * (1 + squared_variation) / (2 * free))


def admission_wait(running: Floats, places: Floats, residence: Floats) -> Wait:
    """Wait for one of `places` when `running` are taken on average and each is held for `residence` seconds.

    P(wait) = 1 / (1 + β Φ(β)/φ(β)) with β = (places − running)/√running; then residence / (places − running).
    Source: Halfin and Whitt (1981), many-server limit of Erlang's C formula.
    """
    spare = np.maximum(places - running, np.finfo(np.float64).eps)
    beta = np.minimum(spare / np.sqrt(np.maximum(running, np.finfo(np.float64).eps)), 30.0)
    density = np.exp(-(beta**2) / 2) / np.sqrt(2 * np.pi)
    probability = density / (density + beta * normal_share(beta))
    return Wait(probability, residence / spare)


def normal_share(deviation: Floats) -> Floats:
    """Share of a normal distribution below so many standard deviations.

    Source: logistic-polynomial approximation of Page (1977), absolute error below 2e-4.
    """
    argument = 2 * np.sqrt(2 / np.pi) * deviation * (1 + 0.044715 * deviation**2)
    share: Floats = 1 / (1 + np.exp(-argument))
    return share


def served_speed(utilization: Floats, deviation: Floats) -> Floats:
    """How much faster than predicted a server is that takes this share of the predicted capacity, (n,): at least 1.

    Capacities scatter around the prediction, log-normally with standard deviation σ. Of those above the rate the mean
    logarithm is σ · φ(z)/(1 − Φ(z)) above the predicted one, z = ln(utilization)/σ.
    Source: mean of a truncated normal distribution (inverse Mills ratio).
    """
    z = np.clip(np.log(utilization) / deviation, -_FAR, _FAR)
    tail = np.array([math.erfc(value / math.sqrt(2)) / 2 for value in z.tolist()])
    density = np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi)
    faster: Floats = np.exp(deviation * density / tail)
    return faster


def normal_deviation(name: str) -> float:
    """Standard deviations between the mean and a percentile of a normal distribution; 0 for the mean."""
    return 0.0 if name == "mean" else _NORMAL.inv_cdf(QUANTILES[name])

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
from optimizer.performance.physics.row_arrays import RowArrays

STATISTICS: Final = ("mean", "p50", "p90", "p95", "p99")
QUANTILES: Final = {"p50": 0.50, "p90": 0.90, "p95": 0.95, "p99": 0.99}

_NORMAL = NormalDist()
_EVEN: Final = 1e-3
"""Squared variation of gaps below which they are alike."""
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


@dataclass(frozen=True)
class ArrivalVariation(RowArrays):
    """How unevenly the requests of a workload arrive, of which a replica is sent a part; of all rows, or (n,).

    Attributes:
        cv2: Squared variation of the gaps between the workload's requests; 1 is Poisson.
        rate_per_s: Of all its requests, one for all rows or (n,).
        turns: None where a replica's part is drawn by chance. Else requests of each class go to its replicas in turn,
            and this is Σ m²/q over the classes, of which q are the shares in the workload and m those at the replica:
            1 where it is sent all in their shares, 1/q for one class alone; of all rows, or (n,).
    """

    cv2: float | Floats = 1.0
    rate_per_s: float | Floats = math.inf
    turns: float | Floats | None = None

    def of_replica(self, rate_per_s: Floats) -> Floats:
        """Squared variation of the gaps at a replica that is sent so many requests a second, (n,).

        A share p of a renewal process, drawn by chance, has p cv² + 1 − p; every 1/p-th request of it has p cv².
        Classes are drawn by chance from the workload's requests and then dealt in turn, which adds up to
        p (cv² − 1 + Σ m²/q), the variance of the counts over their mean: chance has no less.
        Source: Whitt (1983), The queueing network analyzer, splitting; Cox (1962), Renewal theory, every n-th event.
        """
        share = np.minimum(rate_per_s / self.rate_per_s, 1.0)
        by_chance = 1 + share * (self.cv2 - 1)
        if self.turns is None:
            return by_chance
        in_turn: Floats = np.minimum(share * (self.cv2 - 1 + self.turns), by_chance)
        return np.maximum(in_turn, _EVEN)


POISSON: Final = ArrivalVariation()


def server_wait(load: Floats, service: Floats, squared_variation: Floats, of_arrivals: Floats) -> Wait:
    """Wait for a single server that is busy a share `load` of the time.

    mean = load · service · (ca² + cs²) / (2 (1 − load)), ca² the squared variation of the gaps between arrivals.
    Source: Kingman (1961), Allen and Cunneen (1990); with Poisson arrivals it is Pollaczek's and Khinchine's. The
    exponential tail is Kingman's heavy-traffic limit, the probability of any wait that of Krämer and Langenbach-Belz
    (1976), which is the load where arrivals are Poisson.
    """
    free = np.maximum(1 - load, np.finfo(np.float64).eps)
    smooth = (1 + of_arrivals + load * squared_variation) / (
        1 + load * (squared_variation - 1) + load**2 * (4 * of_arrivals + squared_variation)
    )
    bursty = 4 * load / (of_arrivals + load**2 * (4 * of_arrivals + squared_variation))
    more_often = (of_arrivals - 1) * (1 - load) * np.where(of_arrivals > 1, bursty, smooth)
    return Wait(
        np.clip(load * (1 + more_often), 0.0, 1.0),
        service * (of_arrivals + squared_variation) / (2 * free) / (1 + more_often),
    )


def admission_wait(running: Floats, places: Floats, residence: Floats, of_arrivals: Floats) -> Wait:
    """Wait for one of `places` when `running` are taken on average and each is held for `residence` seconds.

    P(wait) = 1 / (1 + β Φ(β)/φ(β)) with β = (places − running)/√(running · z) and z = (ca² + 1)/2; then
    residence · z / (places − running).
    Source: Halfin and Whitt (1981), many-server limit of Erlang's C formula; Whitt (2004), A diffusion approximation
    for the G/GI/n/m queue, where z is 1 for Poisson arrivals.
    """
    spare, uneven = np.maximum(places - running, np.finfo(np.float64).eps), (of_arrivals + 1) / 2
    beta = np.minimum(spare / np.sqrt(np.maximum(running * uneven, np.finfo(np.float64).eps)), 30.0)
    density = np.exp(-(beta**2) / 2) / np.sqrt(2 * np.pi)
    probability = density / (density + beta * normal_share(beta))
    return Wait(probability, residence * uneven / spare)


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

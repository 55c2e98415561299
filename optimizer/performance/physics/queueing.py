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
_LEAST_FREE: Final = 0.01
"""Share of its time that a line has left at least, so that one at its capacity has a length."""
_IDLE: Final = 1e-12
"""A load that makes no line."""
_OF_PAUSES: Final = 0.77
"""Fitted, as the next three, as `prompt_wait` says."""
_ANY_IF_ALIKE: Final = 0.74
_IF_EVEN: Final = 0.36
_OF_BURST: Final = 0.35
_AT_ONCE: Final = 1e-12
"""Seconds that are none."""
_OVERLOADED: Final = 0.01
"""Chance, of a server said to take some load, that it does not keep up with it."""
_FAR: Final = 30.0
"""Standard deviations beyond which a normal tail is no longer a number."""
_ALIKE: Final = 1e12
"""Shape above which a gamma number hardly varies."""
_LEAST_SKEWED: Final = 1e-6
"""Skewness of a distribution that is as good as normal."""
_MOST_SKEWED: Final = 3.0
"""Skewness up to which `skewed_deviation` is near: an exponential number has 2."""


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


def prompt_wait(
    rate_per_s: Floats,
    prompt: Floats,
    step: Floats,
    *,
    in_a_step: Floats,
    squared_variation: Floats,
    of_arrivals: Floats,
) -> Wait:
    """Wait for the prompts ahead at an engine that takes those that wait together into its next step, seconds, (n,).

    A step ends, and the next takes all prompts that came meanwhile beside the running sequences, K of them at most. A
    prompt that comes during a step waits for the rest of it, and then for the prompts that are computed with its own.
    With u = rate · prompt, S = prompt + step/K, ρ = rate · S and κ = 1 − 1/√K (0 where K is below 1) the mean wait is

        S · [ρ (1 + cs²)/2 · (1 + 2uκ)/(1 + uκ) + ρ^¼ (ca² − 1)/2] / (1 − ρ) + 0.77 · step · ((½ + u)/(1 − u) − ½)

    and there is any with the probability (rate · (prompt + step))^((0.74 + cs²) / (1 + cs²) / max(ca², 1)). Where gaps
    vary less than Poisson's, the bracket is ρ (ca² + cs²)/2 · (1 + 2uκ)/(1 + uκ) · exp(−0.36 (1 − ρ)(1 − ca²)² / (ρ
    (ca² + cs²))), and the last part is multiplied by ca. In bursts, several of which fit into a step, one waits for
    those behind it, too: 0.35 κ of the part with ca² − 1 more, which makes as many more wait and none for longer.
    Source: one prompt a step (κ = 0, step = 0) is Pollaczek's and Khinchine's formula; all that wait (κ = 1) is a queue
    with gated service whose pause is the step, with the mean and variance of its cycles, Takagi (1986), Analysis of
    polling systems; gaps that vary little are Krämer's and Langenbach-Belz's (1976), who have ⅔ for 0.36; in bursts
    requests come together at low loads, too, which ρ^¼ in the place of Kingman's ρ says. ¼, √, 0.36, 0.74, 0.77 and
    0.35 are fitted to simulated replicas (benchmarks/fast_path.py, decisions 0066, 0070, 0123).

    Args:
        rate_per_s: Of requests.
        prompt: By which one lengthens a step.
        step: Of the running sequences alone.
        in_a_step: Prompts of mean length that fit into one, below 1 where they come in chunks.
        squared_variation: Of the time that prompts take.
        of_arrivals: Squared variation of the gaps between requests.
    """
    alone, in_line = rate_per_s * prompt, prompt + step / in_a_step
    load = np.maximum(rate_per_s * in_line, _IDLE)
    free, together = np.maximum(1 - load, _LEAST_FREE), 1 - 1 / np.sqrt(np.maximum(in_a_step, 1.0))
    behind = (1 + 2 * alone * together) / (1 + alone * together)
    random = load * (1 + squared_variation) / 2 * behind
    pauses = _OF_PAUSES * step * ((0.5 + alone) / np.maximum(1 - alone, _LEAST_FREE) - 0.5)
    bursts = in_line * np.sqrt(np.sqrt(load)) * (of_arrivals - 1) / 2 / free
    mean = in_line * random / free + bursts + pauses
    even = of_arrivals < 1
    if np.any(even):
        both = of_arrivals + squared_variation
        seldom = np.exp(-_IF_EVEN * free * (1 - of_arrivals) ** 2 / (load * both))
        smooth = in_line * random * both / (1 + squared_variation) * seldom / free + np.sqrt(of_arrivals) * pauses
        mean = np.where(even, smooth, mean)
    exponent = (_ANY_IF_ALIKE + squared_variation) / (1 + squared_variation) / np.maximum(of_arrivals, 1.0)
    busy = np.clip(rate_per_s * (prompt + step), _IDLE, 1.0)
    probability = np.exp(exponent * np.log(busy))
    # those of a burst that are computed with one's own
    with_own = _OF_BURST * together * np.maximum(bursts, 0.0)
    longer = np.minimum(probability * (1 + with_own / np.maximum(mean, _AT_ONCE)), 1.0)
    return Wait(longer, (mean + with_own) / longer)


def admission_wait(
    taken: Floats,
    places: Floats,
    *,
    spread: Floats,
    of_arrivals: Floats,
    squared_variation: Floats,
    spare_per_s: Floats,
) -> Wait:
    """Wait for one of `places` where `taken` are taken on average, with a standard deviation of `spread`.

    P(wait) = 1 / (1 + δ Φ(β)/φ(β)) with δ = (places − taken)/spread, and β the deviations below which a normal number
    is as often as a gamma number of that mean and deviation is below `places`: δ, were it normal, too. It lasts
    (ca² + cs²)/2 over what the full replica could serve beyond what it is sent.
    Source: Halfin and Whitt (1981), many-server limit of Erlang's C formula; Whitt (2004), A diffusion approximation
    for the G/GI/n/m queue, where the variance is the mean for Poisson arrivals; Wilson and Hilferty (1931), the cube
    root of a gamma number is nearly normal; Kingman (1962), On queues in heavy traffic.

    Args:
        taken: Places that are taken, (n,).
        places: All, (n,).
        spread: Standard deviation of those that are taken, were there no limit, (n,).
        of_arrivals: Squared variation of the gaps between requests, (n,).
        squared_variation: Of what a request takes of the places, how many and for how long, (n,).
        spare_per_s: Requests a second that a full replica serves, less those that it is sent, (n,).
    """
    least = np.finfo(np.float64).eps
    taken, spread = np.maximum(taken, least), np.maximum(spread, least)
    # nine times the shape of the gamma distribution
    shape = np.minimum(9 * (taken / spread) ** 2, _ALIKE)
    beta = np.clip((np.cbrt(places / taken) - 1 + 1 / shape) * np.sqrt(shape), -_FAR, _FAR)
    density = np.exp(-(beta**2) / 2) / np.sqrt(2 * np.pi)
    drift = np.maximum((places - taken) / spread, least)
    probability = density / (density + drift * normal_share(beta))
    return Wait(probability, (of_arrivals + squared_variation) / 2 / spare_per_s)


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
    logarithm is σ · φ(z)/(1 − Φ(z)) above the predicted one, z = ln(utilization)/σ. That the server does not keep up
    has a chance, too, which is the larger where few are above: (1 − Φ(z)) / (1 − Φ(z) + chance) of the logarithm count.
    Source: mean of a truncated normal distribution (inverse Mills ratio); Bayes' rule.
    """
    z = np.clip(np.log(utilization) / deviation, -_FAR, _FAR)
    tail = np.array([math.erfc(value / math.sqrt(2)) / 2 for value in z.tolist()])
    density = np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi)
    # φ(z)/(1 − Φ(z)) times the weight
    faster: Floats = np.exp(deviation * density / (tail + _OVERLOADED))
    return faster


def normal_deviation(name: str) -> float:
    """Standard deviations between the mean and a percentile of a normal distribution; 0 for the mean."""
    return 0.0 if name == "mean" else _NORMAL.inv_cdf(QUANTILES[name])


def skewed_deviation(name: str, skewness: Floats) -> Floats:
    """Standard deviations between the mean and a percentile of a distribution that leans to the right, of any shape.

    Of a gamma distribution of that skewness γ: (2/γ) ((1 + γ z/6 − γ²/36)³ − 1), z those of a normal distribution.
    Source: Wilson and Hilferty (1931), The distribution of chi-square.
    """
    lean = np.clip(skewness, _LEAST_SKEWED, _MOST_SKEWED)
    root = 1 + lean * (normal_deviation(name) / 6 - lean / 36)
    deviations: Floats = 2 / lean * (root * root * root - 1)
    return deviations

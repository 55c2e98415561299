"""When requests arrive and what each asks: renewal processes and traces as streams of equal shape."""

from dataclasses import dataclass

import numpy as np

from optimizer.base.arrays import Floats, Ints

POISSON_CV2 = 1.0
"""Squared variation of the gaps between independent arrivals."""


@dataclass(frozen=True)
class Stream:
    """N requests of a workload in the order of arrival, (N,) each."""

    arrived_s: Floats
    request_class: Ints
    """Index into the workload's classes."""
    input_tokens: Ints
    output_tokens: Ints

    @property
    def requests(self) -> int:
        """How many there are."""
        return len(self.arrived_s)

    @property
    def span_s(self) -> float:
        """From the first arrival to the last."""
        return float(self.arrived_s[-1] - self.arrived_s[0]) if self.requests else 0.0


@dataclass(frozen=True)
class Classes:
    """A workload's request classes, (K,) each; shares sum to 1."""

    share: Floats
    input_tokens: Ints
    output_tokens: Ints


def renewal(rng: np.random.Generator, classes: Classes, rate_per_s: float, requests: int, cv2: float) -> Stream:
    """Gaps of a gamma distribution, `cv2` their squared variation (1 is Poisson); classes drawn by their shares.

    Bursts of production traffic are fitted well by gamma gaps: BurstGPT (Wang et al., KDD 2025), ServeGen (Xiang et
    al., 2025).
    """
    gaps = rng.gamma(1 / cv2, cv2 / rate_per_s, requests)
    drawn = rng.choice(len(classes.share), size=requests, p=classes.share)
    return Stream(np.cumsum(gaps), drawn, classes.input_tokens[drawn], classes.output_tokens[drawn])


def trace(classes: Classes, arrived_s: Floats, input_tokens: Ints, output_tokens: Ints) -> Stream:
    """Recorded requests as they came; each counts to the class that is nearest to it in lengths, by ratio."""
    order = np.argsort(arrived_s, kind="stable")
    own = np.log(np.column_stack([input_tokens, output_tokens])[order])
    near = np.log(np.column_stack([classes.input_tokens, classes.output_tokens]))
    # (request, class) distance of lengths
    distance = np.sum((own[:, None, :] - near[None, :, :]) ** 2, axis=2)
    return Stream(arrived_s[order], np.argmin(distance, axis=1), input_tokens[order], output_tokens[order])

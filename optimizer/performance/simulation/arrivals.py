"""When requests arrive and what each asks: renewal processes, ramps, crowds and traces as streams of equal shape."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from optimizer.base.arrays import Floats, Ints
from optimizer.inputs.scenario.traces.blocks import PromptBlocks


@dataclass(frozen=True)
class Stream:
    """N requests of a workload in the order of arrival, (N,) each."""

    arrived_s: Floats
    request_class: Ints
    """Index into the workload's classes."""
    input_tokens: Ints
    output_tokens: Ints
    blocks: PromptBlocks | None = None
    """Of the prompts, where a trace says them."""

    @property
    def requests(self) -> int:
        """How many there are."""
        return len(self.arrived_s)

    @property
    def span_s(self) -> float:
        """From the first arrival to the last."""
        return float(self.arrived_s[-1] - self.arrived_s[0]) if self.requests else 0.0


@dataclass(frozen=True)
class Kinds:
    """Requests of one class that differ in length, (P,) each; shares sum to 1."""

    share: Floats
    input_tokens: Ints
    output_tokens: Ints


@dataclass(frozen=True)
class Classes:
    """A workload's request classes, (K,) each; shares sum to 1."""

    share: Floats
    input_tokens: Ints
    """Means; so the next."""
    output_tokens: Ints
    kinds: Mapping[int, Kinds] = field(default_factory=dict)
    """Of each class whose requests differ in length."""

    @property
    def expected_tokens(self) -> tuple[float, float]:
        """Of the prompt and of the answer of any request, on average."""
        prompt, answer = self.input_tokens.astype(np.float64), self.output_tokens.astype(np.float64)
        for number, kinds in self.kinds.items():
            share = kinds.share / kinds.share.sum()
            prompt[number], answer[number] = share @ kinds.input_tokens, share @ kinds.output_tokens
        return float(self.share @ prompt), float(self.share @ answer)


def renewal(rng: np.random.Generator, classes: Classes, rate_per_s: float, requests: int, cv2: float) -> Stream:
    """Gaps of a gamma distribution, `cv2` their squared variation (1 is Poisson); classes drawn by their shares.

    Bursts of production traffic are fitted well by gamma gaps: BurstGPT (Wang et al., KDD 2025), ServeGen (Xiang et
    al., 2025).
    """
    gaps = rng.gamma(1 / cv2, cv2 / rate_per_s, requests)
    return drawn_at(rng, classes, np.cumsum(gaps))


def ramped(
    rng: np.random.Generator, classes: Classes, rate_per_s: float, requests: int, ramp: tuple[float, float]
) -> Stream:
    """Poisson arrivals at a rate that goes on a straight line from one multiple of a rate to another.

    Those of a steady stream at the times by which the ramp expects as many.
    Source: Çinlar (1975), Introduction to stochastic processes, inversion of the expected count.

    Args:
        rng: Decides when they arrive and of which class they are.
        classes: What they ask.
        rate_per_s: The rate that the ramp multiplies.
        requests: How many.
        ramp: Its first and its last multiple.
    """
    first, last = ramp
    steady_s = np.cumsum(rng.exponential(1 / rate_per_s, requests))
    span_s = requests / rate_per_s / ((first + last) / 2)
    # by t the ramp expects as many as the steady stream by first · t + (last − first) t² / (2 span)
    steeper = (last - first) / span_s
    return drawn_at(rng, classes, 2 * steady_s / (first + np.sqrt(np.maximum(first**2 + 2 * steeper * steady_s, 0.0))))


def together(rng: np.random.Generator, classes: Classes, rate_per_s: float, requests: int, every_s: float) -> Stream:
    """Crowds: Poisson requests of so many seconds, all of which come at the beginning of them."""
    steady_s = np.cumsum(rng.exponential(1 / rate_per_s, requests))
    return drawn_at(rng, classes, np.floor(steady_s / every_s) * every_s)


def by_rates(rng: np.random.Generator, rate_per_s: Floats, part_s: float, cv2: float) -> Floats:
    """(N,) when requests arrive at rates that change from part to part, (P,), each of so many seconds.

    Gaps of a gamma distribution in the time in which the rate is one a second: inversion, as of a ramp.
    """
    expected = np.concatenate([[0.0], np.cumsum(rate_per_s * part_s)])
    # more gaps than come, by far
    gaps = rng.gamma(1 / cv2, cv2, int(expected[-1] + 10 * np.sqrt(cv2 * expected[-1]) + 10 * cv2 + 10))
    steady = np.cumsum(gaps)
    arrived: Floats = np.interp(steady[steady < expected[-1]], expected, part_s * np.arange(len(expected)))
    return arrived


def drawn_at(rng: np.random.Generator, classes: Classes, arrived_s: Floats) -> Stream:
    """Requests at those times, each of a class drawn by the shares, and of a kind by the shares in its class."""
    drawn = rng.choice(len(classes.share), size=len(arrived_s), p=classes.share)
    prompt, answer = classes.input_tokens[drawn], classes.output_tokens[drawn]
    for number, kinds in classes.kinds.items():
        (mine,) = np.nonzero(drawn == number)
        kind = rng.choice(len(kinds.share), size=len(mine), p=kinds.share / kinds.share.sum())
        prompt[mine], answer[mine] = kinds.input_tokens[kind], kinds.output_tokens[kind]
    return Stream(arrived_s, drawn, prompt, answer)


def trace(
    classes: Classes,
    arrived_s: Floats,
    input_tokens: Ints,
    output_tokens: Ints,
    blocks: PromptBlocks | None = None,
) -> Stream:
    """Recorded requests as they came; each counts to the class that is nearest to it in lengths, by ratio.

    Those whose blocks are known are in the order of arrival.
    """
    order = np.argsort(arrived_s, kind="stable")
    own = np.log(np.column_stack([input_tokens, output_tokens])[order])
    near = np.log(np.column_stack([classes.input_tokens, classes.output_tokens]))
    # (request, class) distance of lengths
    distance = np.sum((own[:, None, :] - near[None, :, :]) ** 2, axis=2)
    recorded = (input_tokens[order], output_tokens[order], None if blocks is None else blocks.of(order))
    return Stream(arrived_s[order], np.argmin(distance, axis=1), *recorded)

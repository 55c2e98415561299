"""How far the number of running sequences swings around its mean, and what arrivals add to the mean itself."""

from dataclasses import dataclass
from typing import Final

import numpy as np

from optimizer.base.arrays import Floats
from optimizer.performance.physics.prompts_behind import PromptsBehind
from optimizer.performance.physics.row_arrays import RowArrays

_MOST: Final = 0.75
"""Sequences that follow from one more at most: with one the number has no mean."""
_LEAST_FREE: Final = 0.01
"""Share of its time that an engine has left for decoding at least."""


@dataclass(frozen=True)
class Swings(RowArrays):
    """Of the sequences that run beside one's own, (n,) each.

    Attributes:
        more: By so many they are more on average than at even times.
        peakedness: Their variance over their mean.
        slower_s: What a step takes longer with one of them more.
        behind: Prompts that stand behind a request's own.
        for_each: So many sequences more run for each prompt behind every one.
    """

    more: Floats
    peakedness: Floats
    slower_s: Floats
    behind: Floats
    for_each: Floats


def swings(
    rate_per_s: Floats,
    prompt: Floats,
    *,
    output: Floats,
    slower_s: Floats,
    squared_variation: Floats,
    of_arrivals: Floats,
    behind: PromptsBehind,
) -> Swings:
    """Swings where requests arrive by themselves, (n,).

    Sequences decode in the time that prompts leave, in which each lives for output · step. Those that run are those
    that came in the last so many seconds of *that* time, which passes more slowly the more prompts came: with u = rate
    · prompt their count has the variance over the mean z = (ca² + u² cs²) / (1 − u)². And one more makes the steps
    longer, so that all stay longer: g = rate · output · s'(b) / (1 − u) more follow from each. A request meets z − 1
    more than the mean, which is therefore higher by g (z − 1) / (1 − g), and the peakedness is z / (1 − g). Where each
    takes d seconds longer for each of B prompts behind it, rate · d B / (1 − g) more run.
    Source: counts over an inverse random time, Whitt (2002), Stochastic-process limits, chapter 13; simulated replicas
    swing as far (decision 0070).

    Args:
        rate_per_s: Of requests.
        prompt: By which one lengthens a step.
        output: Tokens of an answer.
        slower_s: What a step takes longer with a sequence more, s'(b).
        squared_variation: Of the time that prompts take, cs².
        of_arrivals: Of the gaps between requests, ca².
        behind: What stands behind a request's own prompt.
    """
    busy = np.minimum(rate_per_s * prompt, 1 - _LEAST_FREE)
    uneven = (of_arrivals + busy**2 * squared_variation) / (1 - busy) ** 2
    follow = np.minimum(rate_per_s * output * slower_s / (1 - busy), _MOST)
    for_each = rate_per_s * behind.each_s / (1 - follow)
    more: Floats = follow * np.maximum(uneven - 1, 0.0) / (1 - follow) + for_each * behind.number
    return Swings(more, uneven / (1 - follow), slower_s, behind.number, for_each)


def none_of(running: Floats) -> Swings:
    """Those of a number, (n,), that stays as it is."""
    nothing = np.zeros_like(running)
    return Swings(nothing, nothing, nothing, nothing, nothing)

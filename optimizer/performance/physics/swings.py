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
_NONE: Final = 1e-12
"""Sequences that are none."""


@dataclass(frozen=True)
class Swings(RowArrays):
    """Of the sequences that run beside one's own, (n,) each.

    Attributes:
        more: By so many they are more on average than at even times.
        peakedness: Their variance over their mean, were there a place for each.
        kept: Share of that variance which the places leave.
        slower_s: What a step takes longer with one of them more.
        behind: Prompts that stand behind a request's own.
        for_each: So many sequences more run for each prompt behind every one.
    """

    more: Floats
    peakedness: Floats
    kept: Floats
    slower_s: Floats
    behind: Floats
    for_each: Floats


def count_variation(busy: Floats, *, squared_variation: Floats, of_arrivals: Floats, at_once: Floats) -> Floats:
    """Variance over mean of the number of sequences, (n,), were steps as long however many run.

    Sequences decode in the time that prompts leave, in which each lives for output · step. Those that run are those
    that came in the last so many seconds of *that* time, which passes more slowly the more prompts came: with u the
    load of prompts a count of arrivals has the variance over the mean z = (ca² + u² cs²) / (1 − u)². Where answers
    differ, those that came together end apart: 1 + (z − 1) E[shorter of two answers] / E[answer].
    Source: counts over an inverse random time, Whitt (2002), Stochastic-process limits, chapter 13; peakedness of
    arrivals served by infinitely many, Eckberg (1983), Generalized peakedness of teletraffic processes; simulated
    replicas swing as far (decisions 0070 and 0123).

    Args:
        busy: Share of the time that prompts take, u.
        squared_variation: Of the time that prompts take.
        of_arrivals: Of the gaps between requests.
        at_once: Mean of the shorter of two answers over that of one.
    """
    free = np.maximum(1 - busy, _LEAST_FREE)
    alike: Floats = 1 + ((of_arrivals + busy**2 * squared_variation) / free**2 - 1) * at_once
    return alike


def swings(
    rate_per_s: Floats,
    prompt: Floats,
    *,
    uneven: Floats,
    output: Floats,
    slower_s: Floats,
    behind: PromptsBehind,
    room: Floats,
) -> Swings:
    """Swings where requests arrive by themselves, (n,).

    One sequence more makes the steps longer, so that all stay longer: with u = rate · prompt, g = rate · output · s'(b)
    / (1 − u) more follow from each. A request meets z − 1 more than the mean, z as in `count_variation`, which is
    therefore higher by g (z − 1) / (1 − g), and the peakedness is z / (1 − g). Where each takes d seconds longer for
    each of B prompts behind it, rate · d B / (1 − g) more run.

    That is where each finds a place. What a replica serves grows ever more slowly with those that run, so it serves its
    rate with at most rate / (full rate) of all its places taken on average: where it is full or idle, and nothing
    between. With `room` up to there, and m more were there a place for each, m · room / (m + room) more run: m where
    that is little beside the room, all of the room where it is much. What of the mean is left, is left of the variance
    that makes it.

    Args:
        rate_per_s: Of requests.
        prompt: By which one lengthens a step.
        uneven: Variance over mean of the number of sequences, were steps as long however many run.
        output: Tokens of an answer.
        slower_s: What a step takes longer with a sequence more, s'(b).
        behind: What stands behind a request's own prompt.
        room: By how many more may run on average than at even times.
    """
    free = np.maximum(1 - rate_per_s * prompt, _LEAST_FREE)
    follow = np.minimum(rate_per_s * output * slower_s / free, _MOST)
    for_each = rate_per_s * behind.each_s / (1 - follow)
    more = follow * np.maximum(uneven - 1, 0.0) / (1 - follow) + for_each * behind.number
    kept: Floats = room / np.maximum(more + room, _NONE)
    return Swings(more * kept, uneven / (1 - follow), kept, slower_s, behind.number, for_each * kept)


def none_of(running: Floats) -> Swings:
    """Those of a number, (n,), that stays as it is."""
    nothing = np.zeros_like(running)
    return Swings(nothing, nothing, nothing, nothing, nothing, nothing)

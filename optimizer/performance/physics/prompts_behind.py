"""Prompts that stand behind a request's own as it begins to decode: they come before its tokens."""

from typing import Final, NamedTuple

import numpy as np

from optimizer.base.arrays import Floats

_LEAST_FREE: Final = 0.01
"""Share of its time that an engine has left for decoding at least."""


class PromptsBehind(NamedTuple):
    """How many they are on average, and by how many seconds an answer takes longer for each of them, (n,)."""

    number: Floats
    each_s: Floats


def prompts_behind(
    rate_per_s: Floats,
    prompt: Floats,
    step: Floats,
    *,
    in_a_step: Floats,
    squared_variation: Floats,
    of_arrivals: Floats,
) -> PromptsBehind:
    """Those that came while a request's own stood in line and was computed, (n,).

    An answer of n tokens ends as soon as its last one is there, whatever comes later, so as many prompts come during
    its T seconds as come in any T on average. With u = rate · prompt, with B of them behind it as it begins and E as it
    ends, its mean is therefore T = (n · step + prompt · (B − E)) / (1 − u). Behind it stand those that come while one
    waits and is computed: a renewal process counted from one of its events,

        B = u + u² (ca² + cs²) / (2 (1 − u)) + (ca² − 1)/2, and not below 0,

    the last part times u^¼ in bursts, as in `prompt_wait`. Tokens come at the ends of steps. Those with prompts in
    them, π = rate · step / (1 − u) of all where each prompt has a step of its own, leave as many as they find, others
    none: E = π B. A prompt takes 1/K of a step where K fit into one, but of the ca² that come together in bursts, or of
    the one that else comes alone, no less than 1/ca².
    Source: Wald's equation; Pollaczek's and Khinchine's formula; mean of a renewal count, Cox (1962), Renewal theory;
    nothing of it is fitted (decisions 0121 and 0123).

    Args:
        rate_per_s: Of requests.
        prompt: By which one lengthens a step.
        step: Of the running sequences alone.
        in_a_step: Prompts of mean length that fit into one, below 1 where they come in chunks.
        squared_variation: Of the time that prompts take, cs².
        of_arrivals: Of the gaps between requests, ca².
    """
    busy = np.minimum(rate_per_s * prompt, 1 - _LEAST_FREE)
    in_line = busy + busy**2 * (of_arrivals + squared_variation) / (2 * (1 - busy))
    together = np.where(of_arrivals > 1, np.sqrt(np.sqrt(busy)), 1.0)
    behind = np.maximum(in_line + together * (of_arrivals - 1) / 2, 0.0)
    steps_a_prompt = np.maximum(1 / in_a_step, 1 / np.maximum(of_arrivals, 1.0))
    with_prompts = np.minimum(rate_per_s * steps_a_prompt * step / (1 - busy), 1.0)
    return PromptsBehind(behind, prompt * (1 - with_prompts) / (1 - busy))

"""The lengths of a published profile as one class of requests that differ, from percentiles and means."""

import math
from collections.abc import Sequence
from itertools import pairwise, product
from statistics import NormalDist
from typing import Final

from optimizer.inputs.catalog.entries.lengths import CUTS, LengthProfile, least_and_most
from optimizer.inputs.catalog.records import Catalogs, known
from optimizer.inputs.scenario.demand import RequestClass, RequestLengths
from optimizer.inputs.scenario.scenario import Scenario, Workload

ANSWER_CUTS: Final = (0.0, 0.25, 0.75, 0.95, 1.0)
"""Answers are told apart by fewer lengths than prompts: a first token waits for prompts."""
_PLACES: Final = 64
"""In each part of the prompts, over which what is known of answers is averaged."""
_NORMAL = NormalDist()


def with_lengths(scenario: Scenario, catalogs: Catalogs) -> Scenario:
    """The scenario with the lengths of the profile that a workload names; a name that nobody knows stays."""
    workloads = tuple(_with_lengths(workload, catalogs) for workload in scenario.workloads)
    return scenario.model_copy(update={"workloads": workloads})


def _with_lengths(workload: Workload, catalogs: Catalogs) -> Workload:
    profile = catalogs.length_profiles.get(workload.lengths or "")
    if profile is None:
        return workload
    return workload.model_copy(update={"lengths": None, "request_classes": (_class_of(profile, catalogs),)})


def mean_lengths(name: str, catalogs: Catalogs) -> tuple[int, int]:
    """Tokens of the mean prompt and answer of a profile. Raises InputError with the nearest where there is none."""
    found = _class_of(known(catalogs.length_profiles, name, "profile of lengths"), catalogs)
    return found.input_tokens, found.output_tokens


def lengths_of_profile(name: str, catalogs: Catalogs) -> tuple[RequestLengths, ...]:
    """The lengths of a profile's requests. Raises InputError with the nearest names when there is none."""
    return _class_of(known(catalogs.length_profiles, name, "profile of lengths"), catalogs).lengths or ()


def _class_of(profile: LengthProfile, catalogs: Catalogs) -> RequestClass:
    return class_of_profile(profile, catalogs.sources[profile.source].licence)


def class_of_profile(profile: LengthProfile, licence: str) -> RequestClass:
    """All requests of a profile as one class of 8 lengths of prompts by 4 of answers.

    Prompts and answers go together as two normal variables whose ranks have the published correlation ρ, that is of
    correlation 2 sin(πρ/6); means are the published ones.
    Source: Kruskal (1958), Ordinal measures of association, for the two correlations of a normal pair.
    """
    together = 2 * math.sin(math.pi * (profile.rank_correlation or 0.0) / 6)
    prompts, answers = _lengths(profile, "input_tokens"), _answers(_lengths(profile, "output_tokens"))
    share = _shares(together)
    lengths: dict[tuple[int, int], float] = {}
    for (row, prompt), (column, answer) in product(enumerate(prompts), enumerate(answers)):
        tokens = max(round(prompt), 1), max(round(answer), 1)
        lengths[tokens] = lengths.get(tokens, 0.0) + share[row][column]
    means = (round(sum(part * tokens[side] for tokens, part in lengths.items())) for side in (0, 1))
    return RequestClass(
        share=1.0,
        input_tokens=max(next(means), 1),
        output_tokens=max(next(means), 1),
        lengths=tuple(
            RequestLengths(share=part, input_tokens=tokens[0], output_tokens=tokens[1])
            for tokens, part in sorted(lengths.items())
        ),
        read_from=f"profile {profile.profile}, {profile.source}, {licence}",
    )


def _lengths(profile: LengthProfile, name: str) -> list[float]:
    """(8,) what requests between two cuts have: all parts lie as far between their two percentiles, so far that the
    mean of all is the published one."""
    points = profile.points(name)
    least, most = least_and_most(points)
    far = (profile.mean(name) - least) / (most - least)
    return [low + far * (high - low) for low, high in pairwise((0.0, *points))]


def _answers(lengths: Sequence[float]) -> list[float]:
    """(4,) the same by the cuts of answers."""
    return [
        sum((high - low) * tokens for (low, high), tokens in zip(pairwise(CUTS), lengths, strict=True) if a <= low < b)
        / (b - a)
        for a, b in pairwise(ANSWER_CUTS)
    ]


def _shares(correlation: float) -> list[list[float]]:
    """8 rows of 4: shares of the requests, by the length of the prompt and of the answer."""
    ends = [_NORMAL.inv_cdf(cut) for cut in ANSWER_CUTS[1:-1]]
    rest = math.sqrt(1 - correlation**2)
    share = []
    for low, high in pairwise(CUTS):
        places = [_NORMAL.inv_cdf(low + (high - low) * (place + 0.5) / _PLACES) for place in range(_PLACES)]
        below = [sum(_NORMAL.cdf((end - correlation * z) / rest) for z in places) / _PLACES for end in ends]
        share.append([(high - low) * (above - under) for under, above in pairwise((0.0, *below, 1.0))])
    return share

"""What the limits in force look at: the traits that offers, or candidates, must share before one replaces the other."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from optimizer.base.arrays import Flags, Floats, Ints
from optimizer.program.problem.data import Limits
from optimizer.program.problem.problem import Problem
from optimizer.program.problem.quantities import label_numbers

Column = Floats | Ints | Flags


def same(values: Ints) -> list[Column]:
    """Two columns that are both at most the other's only where the values are equal."""
    return [values, -values]


def _spot_offer(problem: Problem) -> list[Column]:
    """Only what is not spot, or the same offer: two spot offers are not lost together."""
    number = np.arange(len(problem.offers))
    return [problem.offers.spot * (number + 1), problem.offers.spot * (len(number) - number)]


OFFER_TRAITS: Final[Mapping[str, Callable[[Problem], list[Column]]]] = {
    "provider": lambda problem: same(label_numbers(problem.offers.provider)),
    "region": lambda problem: same(label_numbers(problem.offers.region)),
    "spot": lambda problem: [problem.offers.spot],
    "spot_offer": _spot_offer,
    "power": lambda problem: [problem.offers.power_kw],
    "carbon": lambda problem: [problem.offers.carbon_kg_per_hour],
    "quotas": lambda problem: [
        np.isin(np.arange(len(problem.offers)), quota.offers) for quota in problem.limits.quotas
    ],
    "instance": lambda _: [],
}
"""(O,) columns by trait: an offer is no worse than another where all its columns are at most the other's."""

CANDIDATE_TRAITS: Final[Mapping[str, Callable[[Problem], Ints]]] = {
    "configuration": lambda problem: label_numbers(problem.candidates.configuration),
    "engine": lambda problem: label_numbers(problem.candidates.engine),
}
"""(C,) a number by trait: candidates with the same number may replace each other."""

GROUPS: Final[Mapping[str, Callable[[Problem], Ints]]] = {
    "provider": lambda problem: label_numbers(problem.offers.provider)[problem.candidates.offer],
    "region": lambda problem: label_numbers(problem.offers.region)[problem.candidates.offer],
    "configuration": CANDIDATE_TRAITS["configuration"],
    "engine": CANDIDATE_TRAITS["engine"],
}
"""(C,) the groups among which a limit may want variety, by trait."""


@dataclass(frozen=True, eq=False)
class Variety:
    """At how many different places a plan must run, where that is all that is asked of its places.

    Attributes:
        least: That many.
        place: (O,) the number of an offer's place.
    """

    least: int
    place: Ints


def offer_traits(problem: Problem) -> tuple[str, ...]:
    """What a replacement of an offer must be no worse in."""
    limits, places = problem.limits, () if problem.ceiling.places is None else ("provider", "region")
    return _named(limits, (*places, *(trait for item in limits.in_force for trait in item.compares_offers_by)))


def variety(problem: Problem) -> tuple[Variety, tuple[str, ...]]:
    """How many places are wanted, and what else a replacement must be no worse in.

    Where more than a number of places is asked of them, or hours are joined so that an instance may not be replaced in
    each by another one, the place is among the latter.
    """
    traits, limits = offer_traits(problem), problem.limits
    alone = replace(limits, min_providers=1, min_regions=1)
    others = offer_traits(replace(problem, limits=alone))
    joined = problem.traffic.start_share.any() or problem.has_minimum_billing
    wanted = [(limits.min_providers, "provider"), (limits.min_regions, "region")]
    several = [(least, place) for least, place in wanted if least > 1]
    if joined or len(several) != 1 or several[0][1] in others:
        return Variety(1, np.zeros(len(problem.offers), dtype=np.int64)), traits
    least, place = several[0]
    labels = {"provider": problem.offers.provider, "region": problem.offers.region}[place]
    return Variety(least, label_numbers(labels)), tuple(trait for trait in traits if trait != place)


def no_worse_where(problem: Problem, named: Iterable[str], places: Variety) -> Floats:
    """(O, traits) such that an offer is no worse where all its traits are at most the other's."""
    offers = problem.offers
    columns: list[Column] = [*same(offers.gpus_per_instance)]
    if problem.traffic.periods > 1:
        columns += same(offers.always_paid.astype(np.int64))
        columns += same(np.where(offers.always_paid, places.place, -1))
    columns += [*problem.tolls_usd_per_hour]
    if problem.egress.charged:
        columns.append(problem.egress.usd_per_gb)
    if problem.has_minimum_billing:
        columns.append(problem.billing.minimum_hours)
    for trait in named:
        columns += OFFER_TRAITS[trait](problem)
    return np.stack([np.asarray(column, dtype=float) for column in columns], axis=1)


def candidate_traits(limits: Limits) -> tuple[str, ...]:
    """What a replacement of a candidate on its offer must have in common with it."""
    named = _named(limits, (trait for item in limits.in_force for trait in item.compares_candidates_by))
    return tuple(trait for trait in named if trait in CANDIDATE_TRAITS)


def _named(limits: Limits, traits: Iterable[str]) -> tuple[str, ...]:
    """The traits, each once; `loss` stands for whatever may be lost."""
    every = (name for trait in traits for name in (limits.survive if trait == "loss" else (trait,)))
    return tuple(dict.fromkeys(every))

"""The part of a large problem in which a good plan is looked for first: promising candidates, each with few mixes."""

from dataclasses import replace

import numpy as np

from optimizer.base.arrays import Flags, Floats, Ints
from optimizer.program.large.knapsack import Worth, units_of
from optimizer.program.large.patterns import PatternBound
from optimizer.program.problem.layouts import binding_offers, load_groups
from optimizer.program.problem.problem import Problem, Sorted, compacted
from optimizer.program.problem.quantities import stands_in_force
from optimizer.program.problem.traits import GROUPS, candidate_traits, offer_traits
from optimizer.program.proof.relaxation import Bound
from optimizer.program.proof.steps import lowest_bounds

WEEK_COLUMNS = 12
"""Candidates besides the bound's mixture that a first plan of a week chooses from."""

PLACES, MOST_PLACES = ("provider", "region", "engine"), 3
"""What limits may want several of, or few, and at how many of them each mix has a candidate."""

MIXES_PER_CANDIDATE = 5
NEARLY_PAYS = {3: 0.985, 5: 0.97}
"""A mix stays with a candidate where it fetches nearly the price, or is among the candidate's best, or the candidate
among the mix's: how near the price, by how many are the best."""


def promising_part(part: Sorted, found: PatternBound, lowest: int, mixes: int = MIXES_PER_CANDIDATE) -> Sorted:
    """The candidates of the bound's mixture and those `lowest` many of lowest bounds; rates of 0 where little is lost.

    The mixture knows of no place and no engine: where a limit does, those of a few of them are there for each mix.
    Any plan for it is a plan for the whole problem.
    """
    problem = part.problem
    chosen = found.mixed[problem.candidates.offer] | stands_in_force(problem)
    chosen[lowest_bounds(problem, found.bound, lowest)] = True
    chosen[_at_several_places(problem, found.bound)] = True
    inner = part_of(part, chosen)
    candidates = inner.problem.candidates
    rate = np.where(_worthwhile(inner.problem, found.worth, mixes), candidates.rate_per_s, 0.0)
    return replace(inner, problem=replace(inner.problem, candidates=replace(candidates, rate_per_s=rate)))


def with_one_group(part: Sorted, with_candidate_usd_per_hour: Floats) -> Sorted:
    """The part where offers that are held to what is loaded have one group of replicas left, that of lowest bound.

    So nothing needs to be kept from one period to another but the counts.

    Args:
        part: Of a problem.
        with_candidate_usd_per_hour: (C,) lower bound on plans with each candidate of the part.
    """
    problem, groups = part.problem, load_groups(part.problem)
    lowest = np.full(len(groups.offer), np.inf)
    np.minimum.at(lowest, groups.number, with_candidate_usd_per_hour)
    best = np.zeros(len(lowest), dtype=np.bool_)
    order = np.lexsort((lowest, groups.offer))
    best[order[np.unique(groups.offer[order], return_index=True)[1]]] = True
    keep = best[groups.number] | ~binding_offers(problem)[problem.candidates.offer]
    return part_of(part, keep)


def part_of(part: Sorted, keep: Flags) -> Sorted:
    """The candidates of a part where `keep` (C,) is true, and where each was in the whole."""
    inner = compacted(part.problem, keep)
    return replace(inner, candidates=part.candidates[inner.candidates], offers=part.offers[inner.offers])


def _at_several_places(problem: Problem, bound: Bound) -> Ints:
    """For each mix the candidate of lowest bound at a few places, or with each engine, of which a limit speaks."""
    candidates, lowest = problem.candidates, bound.with_candidate_usd_per_hour
    named = {*offer_traits(problem), *candidate_traits(problem.limits)}
    chosen = [np.zeros(0, dtype=np.int64)]
    for trait in PLACES:
        if trait not in named:
            continue
        group = GROUPS[trait](problem)
        for serves in candidates.rate_per_s.T > 0:
            order = np.flatnonzero(serves)
            order = order[np.argsort(lowest[order], kind="stable")]
            _, first = np.unique(group[order], return_index=True)
            chosen.append(order[np.sort(first)[:MOST_PLACES]])
    return np.concatenate(chosen)


def _worthwhile(problem: Problem, worth: Worth, mixes: int) -> Flags:
    """(C, M) the mixes worth keeping with each candidate, in some period."""
    units, offer = units_of(problem), problem.candidates.offer
    # (T, O, M), also where all offers are alike
    net = np.broadcast_to(units.net(worth), units.load.shape)
    kept = [
        _fetching_most(units.load[t, offer], net[t, offer], units.price_usd_per_hour[units.unit[t, offer]], mixes)
        for t in range(problem.traffic.periods)
    ]
    return np.asarray(np.any(kept, axis=0))


def _fetching_most(load: Floats, worth: Floats, price: Floats, mixes: int) -> Flags:
    """(C, M) mixes that nearly pay for the offer, fill its first instance or are among its best, or it among theirs.

    Args:
        load: (C, M) instances of its offer that the reach of a mix fills, infinite where it is not served.
        worth: (C, M) USD/h for the reach.
        price: (C,) USD/h of an instance.
        mixes: How many are the best.
    """
    served, density = np.isfinite(load), worth / load / price[:, None]
    # rank of a mix among those of its candidate, and of a candidate among those of its mix
    order = np.argsort(-density, axis=1, kind="stable")
    rank = np.argsort(order, axis=1, kind="stable")
    place = np.argsort(np.argsort(-density, axis=0, kind="stable"), axis=0, kind="stable")
    ordered = np.take_along_axis(np.where(served, load, 0.0), order, axis=1)
    before = np.take_along_axis(np.cumsum(ordered, axis=1) - ordered, rank, axis=1)
    fits = (before < 1.0) | (rank < mixes) | (place < mixes) | (density > NEARLY_PAYS[mixes])
    return np.asarray(fits & served)

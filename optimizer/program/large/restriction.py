"""The part of a large problem in which a good plan is looked for first: promising candidates, each with few mixes."""

from dataclasses import replace

import numpy as np

from optimizer.base.arrays import Flags, Floats, Ints
from optimizer.program.large.knapsack import Stock, stock_of
from optimizer.program.large.patterns import PatternBound
from optimizer.program.problem.problem import Problem, Sorted, compacted
from optimizer.program.problem.quantities import stands_in_force

MIXES_PER_CANDIDATE = 5
NEARLY_PAYS = {3: 0.985, 5: 0.97}
"""A mix stays with a candidate where it fetches nearly the price, or is among the candidate's best, or the candidate
among the mix's: how near the price, by how many are the best."""


def promising_part(part: Sorted, found: PatternBound, lowest: int, mixes: int = MIXES_PER_CANDIDATE) -> Sorted:
    """The candidates of the bound's mixture and those `lowest` many of lowest bounds; rates of 0 where little is lost.

    Any plan for it is a plan for the whole problem.
    """
    problem = part.problem
    order = np.argsort(found.bound.with_candidate_usd_per_hour, kind="stable")
    chosen = found.mixed[problem.candidates.offer]
    chosen |= stands_in_force(problem)
    chosen[order[:lowest]] = True
    serves = problem.candidates.rate_per_s[order] > 0
    chosen[order[serves.argmax(axis=0)[serves.any(axis=0)]]] = True
    inner = compacted(problem, chosen)
    candidates = inner.problem.candidates
    rate = np.where(_worthwhile(inner.problem, found.worth, mixes), candidates.rate_per_s, 0.0)
    return replace(
        inner,
        problem=replace(inner.problem, candidates=replace(candidates, rate_per_s=rate)),
        candidates=part.candidates[inner.candidates],
        offers=part.offers[inner.offers],
    )


def _worthwhile(problem: Problem, worth: Floats, mixes: int) -> Flags:
    """(C, M) the mixes worth keeping with each candidate, in some period."""
    stock, offer = stock_of(problem), problem.candidates.offer
    good = np.zeros((len(offer), len(problem.traffic.mixes)), dtype=np.bool_)
    for t in range(problem.traffic.periods):
        good |= _fetching_most(stock, t, stock.net(worth)[t], offer, mixes)
    return good


def _fetching_most(stock: Stock, period: int, worth: Floats, offer: Ints, mixes: int) -> Flags:
    """(P, M) mixes that nearly pay for the offer, fill its first instance or are among its best, or it among theirs."""
    load, served = stock.load[period, offer], np.isfinite(stock.load[period, offer])
    price = stock.price_usd_per_hour[stock.unit[period, offer]]
    density = (worth if len(worth) == 1 else worth[offer]) / load / price[:, None]
    rank = np.argsort(np.argsort(-density, axis=1, kind="stable"), axis=1, kind="stable")
    place = np.argsort(np.argsort(-density, axis=0, kind="stable"), axis=0, kind="stable")
    ordered = np.take_along_axis(np.where(served, load, 0.0), np.argsort(-density, axis=1, kind="stable"), axis=1)
    before = np.take_along_axis(np.cumsum(ordered, axis=1) - ordered, rank, axis=1)
    fits = (before < 1.0) | (rank < mixes) | (place < mixes) | (density > NEARLY_PAYS[mixes])
    return np.asarray(fits & served)

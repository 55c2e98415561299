"""How much more a replica may sustain between predicted mixes than their shares add up to, by probes in between.

Adding up by shares assumes that a load x between the predicted ones takes the share g(x) of a replica, linear in x. In
truth it takes another one. It is probed at each configuration's own mixes: in the middle of a simplex, and at 13
places of each of its edges, closer towards their ends, where limits of a class come in. Where the loads that a replica
sustains along an edge are a convex set, g is convex there, so what a load of one whole replica spares, 1 - g, is
concave along the edge and 0 at its ends; and one of the probes spares at least three quarters of the most that any load
of the edge does. Rates are raised by as much as that leaves possible, and then no mix of the edge exceeds them. Along
other edges, and inside simplices of several edges, the same margin is an estimate.

The three quarters: a concave h over [0, 1] with h(0) = h(1) = 0 and its peak at t has h(s) >= h(t) s/t for s <= t and
h(s) >= h(t) (1 - s)/(1 - t) for s >= t; for every t, s = 1/4, 1/2 or 3/4 gives at least three quarters of h(t).
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Final, NamedTuple

import numpy as np

from optimizer.base.arrays import Floats, Ints
from optimizer.performance.candidates.between import rates_between
from optimizer.performance.candidates.options import PoolOptions, WorkloadOptions
from optimizer.performance.candidates.pools import A_TRACE, shares_of
from optimizer.performance.candidates.predict import sustainable_rate
from optimizer.performance.candidates.triangulation import Simplex

SHOWN: Final = 0.75
"""The least part that the probes of an edge show of the most that a load on it spares."""

MOST_SPARED: Final = 0.9
"""Of a replica; where probes leave more possible, rates are raised tenfold and no further."""

LEEWAY: Final = 0.001
"""By which every rate between predicted mixes is raised at least: as far as edges were mostly seen to be from convex.

A replica that hardly keeps its limits may be further from it: one of a tenth of a request/s sustained 8 % more than the
raised rates, near the end of its edge, where the probes are too far apart."""

TOWARDS_AN_END: Final = np.array([0.02, 0.06, 0.12, 0.18, 0.25, 0.35, 0.5, 0.65, 0.75, 0.82, 0.88, 0.94, 0.98])
ON_AN_EDGE: Final = np.stack([TOWARDS_AN_END, 1 - TOWARDS_AN_END], axis=1)
"""(probes, corners) the shares of a replica's capacity that the probes of an edge give to its corners."""


def raised(options: WorkloadOptions) -> WorkloadOptions:
    """The same where a replica sustains the most that probes leave possible between predicted mixes, by simplex.

    Every simplex has pools of its own, with the mixes of its corners: the pools of all simplices, one after the other.
    What is promised so need not hold. It serves to bound, and to find the mixes worth predicting.
    """
    spared, classes = _spared(options), len(options.workload.classes())
    pools: list[PoolOptions] = []
    simplices: list[Simplex] = []
    for number, simplex in enumerate(options.simplices):
        most = spared[simplex] / SHOWN
        factor = (1 + LEEWAY * (len(simplex) > 1)) / (1 - np.minimum(most, MOST_SPARED))
        simplices.append(tuple(range(len(pools), len(pools) + len(simplex))))
        for p, rate in zip(simplex, (rates_between(options, simplex) * factor[:, None]).T, strict=True):
            known = options.pools[p]
            named = replace(known.pool, name=f"{known.pool.name}@{number}")
            beside = np.repeat(rate[:, None], classes, axis=1)
            pools.append(replace(known, pool=named, rate_per_s=rate, beside_per_s=beside))
    return replace(options, pools=tuple(pools), simplices=tuple(simplices))


def middle_of(options: WorkloadOptions, simplex: Simplex, configuration: int) -> tuple[float, ...]:
    """(K,) the mix of which each corner of a simplex takes the same share of a configuration's replica."""
    load = _loads(options, simplex, np.array([configuration])).sum(axis=1)[0]
    return tuple((load / load.sum()).tolist())


def _probed_faces(simplex: Simplex) -> tuple[Simplex, ...]:
    """The edges of a simplex and the simplex itself; of a single mix that mix, where nothing is added up."""
    return tuple(dict.fromkeys((*combinations(simplex, 2), simplex)))


def _spared(options: WorkloadOptions) -> dict[Simplex, Floats]:
    """By simplex (P,) the most that a load of one whole replica spares at a probe; 0 where it needs more than that.

    Promises to all classes of a simplex hold along its edges, too, as they do where the edge is drawn near to.
    """
    by_classes: dict[tuple[int, ...], list[Simplex]] = defaultdict(list)
    for simplex in options.simplices:
        by_classes[tuple(sorted({k for p in simplex for k in options.pools[p].pool.classes}))].append(simplex)
    spared = {simplex: np.zeros(options.setup.rows) for simplex in options.simplices}
    for classes, alike in sorted(by_classes.items()):
        probed = [each for simplex in alike if len(simplex) > 1 for each in _probes(options, simplex, classes)]
        for each, part in zip(probed, _spared_at(options, classes, probed), strict=True):
            spared[each.simplex][each.row] = np.maximum(spared[each.simplex][each.row], part)
    return spared


class _Probes(NamedTuple):
    """The probes of a face: its simplex, the configurations that serve all of that (n,), their loads (n, probes, K)."""

    simplex: Simplex
    row: Ints
    load_per_s: Floats


def _probes(options: WorkloadOptions, simplex: Simplex, classes: tuple[int, ...]) -> Iterator[_Probes]:
    """The probes of each face of a simplex; who serves a part of it serves another one."""
    serving = np.flatnonzero((rates_between(options, simplex) > 0).all(axis=1))
    corners = _loads(options, simplex, serving)
    for face in _probed_faces(tuple(range(len(simplex)))):
        weight = ON_AN_EDGE if len(face) == 2 else np.full((1, len(face)), 1 / len(face))
        load = np.einsum("qd,ndk->nqk", weight, corners[:, list(face)])
        yield _Probes(simplex, serving, load[:, :, list(classes)])


def _spared_at(options: WorkloadOptions, classes: tuple[int, ...], probed: Sequence[_Probes]) -> list[Floats]:
    """(n,) of faces that serve the same classes: all their probes are predicted at once."""
    if not probed:
        return []
    # one row a configuration and probe, face by face
    load = np.concatenate([each.load_per_s.reshape(-1, len(classes)) for each in probed])
    row = np.concatenate([np.repeat(each.row, each.load_per_s.shape[1]) for each in probed])
    added_up = load.sum(axis=1)
    share = np.maximum(load / added_up[:, None], A_TRACE)
    mix = replace(options.mix(classes, np.ones(len(classes))), share=share / share.sum(axis=1, keepdims=True))
    rate = sustainable_rate(options.setup.take(row), mix, options.limits.take(row)).rate_per_s
    spared = 1 - np.minimum(added_up / np.maximum(rate, added_up), 1.0)
    # -> the best probe of each configuration, face by face
    parts = np.split(spared, np.cumsum([each.load_per_s[:, :, 0].size for each in probed])[:-1])
    return [
        part.reshape(each.load_per_s.shape[:2]).max(axis=1, initial=0.0)
        for each, part in zip(probed, parts, strict=True)
    ]


def _loads(options: WorkloadOptions, corners: Simplex, rows: Ints) -> Floats:
    """(rows, corners, K) requests/s of each class that fill one replica at each corner."""
    share = shares_of([options.pools[p].pool for p in corners], len(options.workload.classes()))
    return rates_between(options, corners)[rows, :, None] * share

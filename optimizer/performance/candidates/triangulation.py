"""Which mixes of classes may meet on one replica: the mixes predicted so far, and the simplices between them.

What a replica sustains of a mix is predicted at that mix. Between a few predicted mixes the shares of its capacity that
their requests take are added up; together these simplices cover every mix of the workload's classes (a triangulation).
Adding up can promise too much, since a long prompt delays the short requests on the same replica. Where a plan runs a
mix that does not hold, that mix is predicted and the simplices around it are split there (a stellar subdivision), so
that the next plan knows it exactly.
"""

from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import Final, TypeAlias

import numpy as np

from optimizer.base.arrays import Floats

Shares: TypeAlias = Floats
Simplex: TypeAlias = tuple[int, ...]
"""Mixes between which the requests of a deployment may lie, as positions in the workload's pools."""

ROUNDING: Final = 1e-9
"""Shares of a mix that are put down to floating point."""

ALIKE: Final = 0.1
"""Prompts and answers that differ by no more than this share are alike: a replica serves their classes as one."""

MOST_MIXED: Final = 8
"""Classes, or groups of classes, that mixes are made of; the simplices between more would be too many."""


MOST_SPLIT: Final = 3
"""Corners of the simplices that are split where a replica may sustain more inside; between more there are too many."""


def apart(pools: int) -> tuple[Simplex, ...]:
    """Every mix by itself: nothing is added up."""
    return tuple((pool,) for pool in range(pools))


def joined_classes(lengths: Floats) -> tuple[tuple[int, ...], ...]:
    """Classes in groups of which each is mixed as one: the alike, and beyond `MOST_MIXED` groups the nearest.

    Two groups are as far apart as the two of their classes that differ most, in prompt or answer (complete linkage);
    the nearest two are joined first. A group is sent requests in its classes' own shares.

    Args:
        lengths: (K, 2) tokens of prompt and answer.

    Returns:
        Groups of positions, each sorted, by their first class.
    """
    groups: list[tuple[int, ...]] = [(k,) for k in range(len(lengths))]
    # (group, group) -> the largest ratio of lengths, as a logarithm
    distance = np.abs(np.log(lengths)[:, None] - np.log(lengths)[None]).max(axis=2)
    np.fill_diagonal(distance, np.inf)
    while len(groups) > 1 and (distance.min() <= np.log1p(ALIKE) or len(groups) > MOST_MIXED):
        first, second = sorted(np.unravel_index(int(distance.argmin()), distance.shape))
        farther = np.maximum(distance[first], distance[second])
        distance[first], distance[:, first] = farther, farther
        distance[first, first] = np.inf
        distance = np.delete(np.delete(distance, second, axis=0), second, axis=1)
        groups[first] = tuple(sorted(groups[first] + groups.pop(int(second))))
    return tuple(sorted(groups))


def triangulated(corners: Sequence[int], pools: int) -> tuple[Simplex, ...]:
    """The simplices between the whole mix (pool 0) and all corners but one, and those that do without some classes.

    The limits of a class bind as soon as a replica serves any of it, so what is sustained drops where one comes in.
    What may meet without a class therefore stands beside what may with it: two corners, all but one, each pool alone.

    Args:
        corners: The pools that the whole mix is made of: of one class each, or of a group of classes.
        pools: How many pools there are in all.
    """
    if len(corners) < 2:
        return apart(pools)
    all_but_one = list(combinations(sorted(corners), len(corners) - 1))
    fewer = [*combinations(sorted(corners), 2), *all_but_one] if len(corners) > 2 else []
    return tuple(sorted({*((0, *part) for part in all_but_one), *fewer, *apart(pools)}))


def star_of(simplices: Sequence[Simplex]) -> Simplex | None:
    """The whole mix and the corners around it, where it has a simplex with all but each one of these, and no other."""
    around = {simplex for simplex in simplices if simplex[0] == 0 and len(simplex) > 1}
    if not around:
        return None
    corners = sorted({pool for simplex in around for pool in simplex} - {0})
    whole = {(0, *part) for part in combinations(corners, len(corners) - 1)}
    return (0, *corners) if around == whole else None


def split(simplices: Sequence[Simplex], face: Sequence[int], pool: int) -> tuple[Simplex, ...]:
    """Every simplex with that face replaced by those that have the new mix in place of one of the face's corners.

    Args:
        simplices: What may meet so far.
        face: Corners between which the new mix lies.
        pool: The new mix, which may stand alone, too.
    """
    found: list[Simplex] = [(pool,)]
    for simplex in simplices:
        if set(face) <= set(simplex):
            found += [tuple(sorted({*simplex, pool} - {corner})) for corner in face]
        else:
            found.append(simplex)
    return tuple(sorted(set(found)))


def face_around(simplices: Iterable[Simplex], corners: Shares, mix: Shares) -> tuple[int, ...]:
    """The corners between which a mix lies in the first simplex that holds it; empty where none does.

    Args:
        simplices: What may meet.
        corners: (pools, K) share of each class in each pool.
        mix: (K,) share of each class.
    """
    for simplex in simplices:
        weight = np.linalg.lstsq(corners[list(simplex)].T, mix, rcond=None)[0]
        if (weight > -ROUNDING).all() and np.allclose(weight @ corners[list(simplex)], mix, rtol=0.0, atol=ROUNDING):
            return tuple(corner for corner, part in zip(simplex, weight.tolist(), strict=True) if part > ROUNDING)
    return ()

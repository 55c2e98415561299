"""Which mixes of classes may meet on one replica: the mixes predicted so far, and the simplices between them.

What a replica sustains of a mix is predicted at that mix. Between a few predicted mixes the shares of its capacity that
their requests take are added up; together these simplices cover every mix of the workload's classes (a triangulation).
Adding up can promise too much, since a long prompt delays the short requests on the same replica. Where a plan runs a
mix that does not hold, that mix is predicted and the simplices around it are split there (a stellar subdivision), so
that the next plan knows it exactly.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, TypeAlias

import numpy as np

from optimizer.base.arrays import Flags, Floats

Shares: TypeAlias = Floats
Simplex: TypeAlias = tuple[int, ...]
"""Mixes between which the requests of a deployment may lie, as positions in the workload's pools."""

INWARD: Final = 0.01
"""How far a corner is moved inward: smaller shares of a class are not sent to a replica that could do without."""

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
    """The simplices between the whole mix (pool 0) and all corners but one; every other pool stays by itself.

    Args:
        corners: The pools that the whole mix is made of: of one class each, or of a group of classes.
        pools: How many pools there are in all.
    """
    if len(corners) < 2:
        return apart(pools)
    between = [(0, *sorted(pool for pool in corners if pool != left_out)) for left_out in corners]
    return tuple(sorted(between + [(pool,) for pool in range(1, pools) if pool not in corners]))


def split(
    simplices: Sequence[Simplex], face: Sequence[int], pool: int, inward: Mapping[int, int]
) -> tuple[Simplex, ...]:
    """Every simplex with that face replaced by those that have the new mix in place of one of the face's corners.

    The limits of a class bind as soon as a replica serves any of it, so what is sustained drops at the edge of a
    simplex. Corners that serve fewer classes than the new mix are therefore moved inward, and stay by themselves.

    Args:
        simplices: What may meet so far.
        face: Corners between which the new mix lies.
        pool: The new mix.
        inward: For each corner of fewer classes, the pool close to it that serves a little of all of them.
    """
    found: list[Simplex] = []
    for simplex in simplices:
        if set(face) <= set(simplex):
            parts = [{*simplex, pool} - {corner} for corner in face]
            found += [tuple(sorted(inward.get(corner, corner) for corner in part)) for part in parts]
            found += [(corner,) for corner in simplex if corner in inward]
        else:
            found.append(simplex)
    return tuple(sorted(set(found)))


def corners_around(simplices: Iterable[Simplex], face: Iterable[int]) -> tuple[int, ...]:
    """The corners of all simplices that have this face; none where it has been split."""
    corners = set(face)
    return tuple(sorted({corner for simplex in simplices if corners <= set(simplex) for corner in simplex}))


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


def served(simplices: Iterable[Simplex], passed: Flags) -> tuple[Simplex, ...]:
    """What of the simplices a configuration can serve that passes some mixes only; none that another one contains."""
    parts = {tuple(pool for pool in simplex if passed[pool]) for simplex in simplices} - {()}
    return tuple(sorted(part for part in parts if not any(set(part) < set(other) for other in parts)))

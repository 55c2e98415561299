"""Which mixes of classes may meet on one replica: the mixes predicted so far, and the simplices between them.

What a replica sustains of a mix is predicted at that mix. Between a few predicted mixes the shares of its capacity that
their requests take are added up; together these simplices cover every mix of the workload's classes (a triangulation).
Adding up can promise too much, since a long prompt delays the short requests beside it. Where a plan runs a mix that
does not hold, that mix is predicted and the simplices around it are split there (a stellar subdivision), so that the
next plan knows it exactly.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, TypeAlias

import numpy as np

from optimizer.base.arrays import Flags, Floats

Shares: TypeAlias = Floats
Blend: TypeAlias = tuple[int, ...]
"""Mixes between which the requests of a deployment may lie, as positions in the workload's pools."""

INWARD: Final = 0.01
"""How far a corner is moved inward: smaller shares of a class are not sent to a replica that could do without."""

ROUNDING: Final = 1e-9
"""Shares of a mix that are put down to floating point."""

MOST_MIXED_CLASSES: Final = 4
"""Workloads of more classes are served by class or as a whole: simplices of many corners say little of their inside."""


def apart(pools: int) -> tuple[Blend, ...]:
    """Every mix by itself: nothing is added up."""
    return tuple((pool,) for pool in range(pools))


def around_the_whole(classes: int) -> tuple[Blend, ...]:
    """The simplices between the whole mix (pool 0) and all classes but one (pools 1 to K, one for each class)."""
    if not 1 < classes <= MOST_MIXED_CLASSES:
        return apart(1 if classes == 1 else classes + 1)
    everything = range(classes + 1)
    return tuple(tuple(pool for pool in everything if pool != left_out) for left_out in range(classes, 0, -1))


def split(blends: Sequence[Blend], face: Sequence[int], pool: int, inward: Mapping[int, int]) -> tuple[Blend, ...]:
    """Every simplex with that face replaced by those that have the new mix in place of one of the face's corners.

    The limits of a class bind as soon as a replica serves any of it, so what is sustained drops at the edge of a
    simplex. Corners that serve fewer classes than the new mix are therefore moved inward, and stay by themselves.

    Args:
        blends: What may meet so far.
        face: Corners between which the new mix lies.
        pool: The new mix.
        inward: For each corner of fewer classes, the pool close to it that serves a little of all of them.
    """
    found: list[Blend] = []
    for blend in blends:
        if set(face) <= set(blend):
            parts = [{*blend, pool} - {corner} for corner in face]
            found += [tuple(sorted(inward.get(corner, corner) for corner in part)) for part in parts]
            found += [(corner,) for corner in blend if corner in inward]
        else:
            found.append(blend)
    return tuple(sorted(set(found)))


def corners_around(blends: Iterable[Blend], face: Iterable[int]) -> tuple[int, ...]:
    """The corners of all simplices that have this face; none where it has been split."""
    corners = set(face)
    return tuple(sorted({corner for blend in blends if corners <= set(blend) for corner in blend}))


def face_around(blends: Iterable[Blend], corners: Shares, mix: Shares) -> tuple[int, ...]:
    """The corners between which a mix lies in the first simplex that holds it; empty where none does.

    Args:
        blends: What may meet.
        corners: (pools, K) share of each class in each pool.
        mix: (K,) share of each class.
    """
    for blend in blends:
        weight = np.linalg.lstsq(corners[list(blend)].T, mix, rcond=None)[0]
        if (weight > -ROUNDING).all() and np.allclose(weight @ corners[list(blend)], mix, rtol=0.0, atol=ROUNDING):
            return tuple(corner for corner, part in zip(blend, weight.tolist(), strict=True) if part > ROUNDING)
    return ()


def served(blends: Iterable[Blend], passed: Flags) -> tuple[Blend, ...]:
    """What of the simplices a configuration can serve that passes some mixes only; none that another one contains."""
    parts = {tuple(pool for pool in blend if passed[pool]) for blend in blends} - {()}
    return tuple(sorted(part for part in parts if not any(set(part) < set(other) for other in parts)))

"""Which mixes of classes may meet on one replica: the mixes predicted so far, and the simplices between them.

What a replica sustains of a mix is predicted at that mix. Between a few predicted mixes the shares of its capacity that
their requests take are added up; together these simplices cover every mix of the workload's classes (a triangulation).
Adding up can promise too much, since a long prompt delays the short requests beside it. Where a plan runs a mix that
does not hold, that mix is predicted and the simplices around it are split there (a stellar subdivision), so that the
next plan knows it exactly.
"""

from collections.abc import Iterable, Sequence
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

Blend: TypeAlias = tuple[int, ...]
"""Mixes between which the requests of a deployment may lie, as positions in the workload's pools."""

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


def split(blends: Sequence[Blend], face: Sequence[int], pool: int) -> tuple[Blend, ...]:
    """Every simplex with that face replaced by those that have the new mix in place of one of the face's corners."""
    found: list[Blend] = []
    for blend in blends:
        if set(face) <= set(blend):
            found += [tuple(sorted({*blend, pool} - {corner})) for corner in face]
        else:
            found.append(blend)
    return tuple(sorted(set(found)))


def has_face(blends: Iterable[Blend], face: Iterable[int]) -> bool:
    """Whether a simplex has all these corners."""
    corners = set(face)
    return any(corners <= set(blend) for blend in blends)


def served(blends: Iterable[Blend], passed: NDArray[np.bool_]) -> tuple[Blend, ...]:
    """What of the simplices a configuration can serve that passes some mixes only; none that another one contains."""
    parts = {tuple(pool for pool in blend if passed[pool]) for blend in blends} - {()}
    return tuple(sorted(part for part in parts if not any(set(part) < set(other) for other in parts)))

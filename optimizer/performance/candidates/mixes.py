"""Mixes that a plan gave a replica too much of: each is predicted, and no capacity is added up across it any more."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from optimizer.base.arrays import Floats
from optimizer.performance.candidates.options import MIXED, Pool, WorkloadOptions, mix_of, pool_options
from optimizer.performance.candidates.triangulation import INWARD, apart, corners_around, face_around, split

MAX_SPLITS = 4
"""Mixes predicted after one plan; a week's periods may break one each, and most are close to the worst."""


@dataclass(frozen=True)
class OverloadedMix:
    """A mix between others that a plan gave a replica more of than it sustains.

    Attributes:
        workload_index: Position of the workload in the scenario.
        share: Of each of the workload's classes, (K,).
        excess: Load over what holds, above 1.
    """

    workload_index: int
    share: tuple[float, ...]
    excess: float


def with_mixes_predicted(options: WorkloadOptions, overloaded: Sequence[OverloadedMix]) -> WorkloadOptions:
    """The same where the worst of the overloaded mixes are predicted ones and nothing is added up across them."""
    for worst in sorted(overloaded, key=lambda each: (-each.excess, each.share))[:MAX_SPLITS]:
        options = _split_at(options, np.array(worst.share))
    return options


def _split_at(options: WorkloadOptions, share: Floats) -> WorkloadOptions:
    """The simplices around one more mix, (K,), split there; nothing changes where the mix is a corner already."""
    # (pool, class)
    shares = np.array([_share_of_class(known.pool, len(share)) for known in options.pools])
    face = face_around(options.simplices, shares, share)
    if len(face) <= 1:
        return options
    pool = len(options.pools)
    options, inward = _with_pool(options, share), dict[int, int]()
    for corner in corners_around(options.simplices, face):
        if options.pools[corner].pool.classes != options.pools[pool].pool.classes:
            inward[corner] = len(options.pools)
            options = _with_pool(options, (1 - INWARD) * shares[corner] + INWARD * share)
    return replace(options, simplices=split(options.simplices, face, pool, inward))


def _share_of_class(pool: Pool, classes: int) -> Floats:
    share = np.zeros(classes)
    share[list(pool.classes)] = pool.mix.share
    return share


def _with_pool(options: WorkloadOptions, share: Floats) -> WorkloadOptions:
    """One more mix predicted, from the share of each of the workload's classes, (K,)."""
    classes = tuple(np.flatnonzero(share).tolist())
    pool = Pool(f"{MIXED}{len(options.pools)}", classes, mix_of(options.workload, classes, share[list(classes)]))
    return replace(options, pools=(*options.pools, pool_options(options, pool)))


def with_mixes_apart(options: WorkloadOptions) -> WorkloadOptions:
    """The same where every replica serves one of the predicted mixes and nothing is added up."""
    return replace(options, simplices=apart(len(options.pools)))

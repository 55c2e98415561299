"""More mixes predicted: those that a plan gave a replica too much of, and those of which it may sustain more.

No capacity is added up across a mix that a plan gave too much of.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from optimizer.base.arrays import Floats
from optimizer.performance.candidates.options import WorkloadOptions, beside_others, pool_options
from optimizer.performance.candidates.pools import MIXED, Pool, shares_of
from optimizer.performance.candidates.triangulation import apart, face_around, split

MAX_SPLITS = 4
"""Mixes predicted after one plan; a week's periods may break one each, and most are close to the worst."""


@dataclass(frozen=True)
class OverloadedMix:
    """A mix between others that a plan gave a replica more of than it sustains, or than shares add up to.

    Attributes:
        workload_index: Position of the workload in the scenario.
        share: Of each of the workload's classes, (K,).
        excess: Load over what holds, or over what is added up; above 1.
    """

    workload_index: int
    share: tuple[float, ...]
    excess: float


def with_predicted(options: WorkloadOptions, mixes: Sequence[OverloadedMix]) -> WorkloadOptions:
    """The same where the worst of some mixes are predicted ones, and nothing is added up across them."""
    for share in _worst(mixes):
        face = face_around(options.simplices, _shares(options), share)
        if len(face) > 1:
            simplices = split(options.simplices, face, len(options.pools))
            options = replace(_with_pool(options, share), simplices=simplices)
    return options


def _worst(mixes: Sequence[OverloadedMix]) -> list[Floats]:
    """(K,) shares of the few mixes of the most excess."""
    worst = sorted(mixes, key=lambda each: (-each.excess, each.share))[:MAX_SPLITS]
    return [np.array(each.share) for each in worst]


def _shares(options: WorkloadOptions) -> Floats:
    """(pools, K) share of each of the workload's classes."""
    return shares_of([known.pool for known in options.pools], len(options.workload.classes()))


def _with_pool(options: WorkloadOptions, share: Floats) -> WorkloadOptions:
    """One more mix predicted, from the share of each of the workload's classes, (K,)."""
    classes = tuple(np.flatnonzero(share).tolist())
    pool = Pool(f"{MIXED}{len(options.pools)}", classes, options.mix(classes, share[list(classes)]))
    return replace(options, pools=(*options.pools, beside_others(options, pool_options(options, pool))))


def with_mixes_apart(options: WorkloadOptions) -> WorkloadOptions:
    """The same where every replica serves one of the predicted mixes and nothing is added up."""
    return replace(options, simplices=apart(len(options.pools)))

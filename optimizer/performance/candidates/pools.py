"""Requests that one deployment serves together: which of a workload's classes, in which shares, and how they arrive."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from optimizer.base.arrays import Floats
from optimizer.inputs.scenario.policy import DEALING, Router
from optimizer.inputs.scenario.scenario import Workload
from optimizer.performance.candidates.lengths import lengths_of
from optimizer.performance.candidates.predict import Mix
from optimizer.performance.candidates.triangulation import Simplex, joined_classes, triangulated
from optimizer.performance.physics.queueing import ArrivalVariation

WHOLE_MIX, MIXED = "all", "mixed"

A_TRACE: Final = 1e-6
"""Share of a replica's requests of which nothing is felt but the promises to their class."""


@dataclass(frozen=True)
class Pool:
    """Requests that one deployment serves together: one class, the workload's whole mix in its shares, or a mix that
    was predicted because a plan ran it."""

    name: str
    classes: tuple[int, ...]
    """Positions in the workload's classes."""
    mix: Mix


def pools_of(workload: Workload, router: Router = "by_chance") -> tuple[Pool, ...]:
    """The whole mix first, then each class alone where there is more than one, then each group of several that are
    mixed as one."""
    classes = workload.classes()
    share = np.array([item.share for item in classes])

    def pool(name: str, members: Sequence[int]) -> Pool:
        return Pool(name, tuple(members), mix_of(workload, members, share[list(members)], router))

    everything = pool(WHOLE_MIX, range(len(classes)))
    if len(classes) == 1:
        return (everything,)
    several = [group for group in groups_of(workload) if 1 < len(group) < len(classes)]
    return (
        everything,
        *(pool(item.name, [k]) for k, item in enumerate(classes)),
        *(pool("+".join(classes[k].name for k in group), group) for group in several),
    )


def simplices_of(workload: Workload) -> tuple[Simplex, ...]:
    """Between which of `pools_of` capacity is added up at first: the whole mix and the groups that it is made of."""
    pool_of_group = {pool.classes: number for number, pool in enumerate(pools_of(workload))}
    return triangulated([pool_of_group[group] for group in groups_of(workload)], len(pool_of_group))


def groups_of(workload: Workload) -> tuple[tuple[int, ...], ...]:
    """The workload's classes in groups of which each is mixed as one."""
    return joined_classes(np.array([(item.input_tokens, item.output_tokens) for item in workload.classes()], float))


def mix_of(workload: Workload, positions: Sequence[int], share: Floats, router: Router = "by_chance") -> Mix:
    """Some of a workload's classes, in shares that need not add up to 1, as a router sends them."""
    chosen = [workload.classes()[k] for k in positions]
    in_turn = router in DEALING
    rate_per_s = workload.least_requests_per_second() if in_turn else workload.peak_requests_per_second()
    return Mix(
        input_tokens=np.array([item.input_tokens for item in chosen], dtype=float),
        output_tokens=np.array([item.output_tokens for item in chosen], dtype=float),
        share=share / share.sum(),
        cached_input_share=workload.cached_input_share,
        arrivals=ArrivalVariation(workload.arrival_cv2, rate_per_s),
        lengths=lengths_of(chosen),
        dealt=np.array([item.share for item in chosen]) if in_turn else None,
        classes=tuple(positions),
    )


def with_traces(positions: Sequence[int], share: Floats, others: Sequence[int]) -> tuple[tuple[int, ...], Floats]:
    """Some of a workload's classes with a trace of others, in order: their positions, and shares of all requests.

    Args:
        positions: Of the classes that are sent.
        share: (…, K) theirs, which add up to 1.
        others: Positions of those of which a trace is.
    """
    every = (*positions, *others)
    traces = np.broadcast_to(A_TRACE, (*share.shape[:-1], len(others)))
    order = np.argsort(every)
    return tuple(sorted(every)), np.concatenate([share, traces], axis=-1)[..., order]


def by_row(mixes: Sequence[Mix]) -> Mix:
    """Mixes of the same classes of one workload as one, with shares (n, K)."""
    return replace(mixes[0], share=np.stack([mix.share for mix in mixes]))


def shares_of(pools: Sequence[Pool], classes: int) -> Floats:
    """(pools, K) share of each of a workload's so many classes in what each pool is made of."""
    share = np.zeros((len(pools), classes))
    for row, pool in enumerate(pools):
        share[row, list(pool.classes)] = pool.mix.share
    return share

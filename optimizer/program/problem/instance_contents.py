"""What may stand on one instance, where the loss of any one instance matters.

A loss takes exactly what stands on the instance, so the program counts the instances of each offer by their contents:
how many replicas of each candidate. Contents are listed with all their parts, the empty one left out, so every plan has
them. Only as many replicas of a candidate are listed on one instance as are ever of use there:

    useful = max( ceil(load / max_utilization), ceil(load) + spare, what must run or runs today ),  load = reach / rate

Proof. Let more stand on an instance, and take one away. What stays on it carries the whole reach of the candidate, in
use as well as at full rate and with the spare replicas unused, so demand and every loss but its own are served as
before; after its own loss nothing is missing that was there before. If the candidate must serve what it is sent without
any one instance, it has as many replicas beside the fullest instance as before or, where this one was and stays the
fullest of several, those on this one. No limit but one on the least number of replicas is
harder to keep with fewer.
"""

from dataclasses import dataclass, field, replace
from typing import TypeAlias

import numpy as np

from optimizer.base.arrays import Flags, Floats, Ints
from optimizer.program.problem.needed_contents import OfferContents, largest_within, not_replaced
from optimizer.program.problem.problem import Problem
from optimizer.program.problem.quantities import held_by_instance, stands_in_force

MOST_CONTENTS = 6_000
"""Contents, times the periods in which instances have them, that one program may have."""


@dataclass(frozen=True, eq=False)
class InstanceContents:
    """The contents that an instance may have; P of them.

    Attributes:
        offer: (P,) whose instances have them.
        content, candidate, count: (N,) entries: so many replicas of a candidate are part of a content.
    """

    offer: Ints
    content: Ints
    candidate: Ints
    count: Ints

    def __len__(self) -> int:
        return len(self.offer)


_NOTHING = np.zeros(0, dtype=np.int64)
NO_CONTENTS = InstanceContents(_NOTHING, _NOTHING, _NOTHING, _NOTHING)


@dataclass(frozen=True, eq=False)
class Placed:
    """Instances by what stands on them; N kinds, none without a replica.

    Attributes:
        period, offer: (N,).
        instances: (N,) how many have these contents.
        replicas: (N, C) of each candidate on one of them.
    """

    period: Ints = field(default_factory=_NOTHING.copy)
    offer: Ints = field(default_factory=_NOTHING.copy)
    instances: Ints = field(default_factory=_NOTHING.copy)
    replicas: Ints = field(default_factory=lambda: np.zeros((0, 0), dtype=np.int64))

    def __len__(self) -> int:
        return len(self.period)

    def for_whole(self, offers: Ints, candidates: Ints, count: int) -> "Placed":
        """The same for a problem of which this one's offers and candidates (of `count`) are a part."""
        replicas = np.zeros((len(self), count), dtype=np.int64)
        replicas[:, candidates] = self.replicas.reshape(len(self), len(candidates))
        return replace(self, offer=offers[self.offer], replicas=replicas)

    def during(self, period: int) -> "Placed":
        """What stands in one period."""
        own = self.period == period
        return Placed(self.period[own], self.offer[own], self.instances[own], self.replicas[own])

    def and_also(self, other: "Placed") -> "Placed":
        """Both, of one problem."""
        pairs = zip(vars(self).values(), vars(other).values(), strict=True)
        return Placed(*(np.concatenate(pair) for pair in pairs))


NOTHING_PLACED = Placed()


def places_instances(problem: Problem) -> bool:
    """Whether it matters which replicas stand on one instance."""
    return "instance" in problem.limits.survive or problem.limits.spare_on_other_instances


def instance_contents(problem: Problem) -> InstanceContents:
    """Every content of every offer that a plan may need; none where it does not matter."""
    found = _listed(problem)
    first = np.cumsum([0, *(len(each.counts) for each in found)])
    entries = [np.nonzero(each.counts) for each in found]
    return InstanceContents(
        offer=np.repeat([each.offer for each in found], np.diff(first)).astype(np.int64),
        content=np.concatenate([_NOTHING, *(row + start for (row, _), start in zip(entries, first, strict=False))]),
        candidate=np.concatenate(
            [_NOTHING, *(each.candidates[column] for each, (_, column) in zip(found, entries, strict=True))]
        ),
        count=np.concatenate([_NOTHING, *(each.counts[entry] for each, entry in zip(found, entries, strict=True))]),
    )


def _listed(problem: Problem) -> list[OfferContents]:
    """The contents by offer: all, or those needed where a search has said what the fullest instance carries."""
    if not places_instances(problem):
        return []
    offer, size, most = problem.candidates.offer, problem.candidates.gpus_per_replica, held_by_instance(problem)
    found = []
    for o in np.unique(offer).tolist():
        there = np.flatnonzero(offer == o)
        counts = _fillings(int(problem.offers.gpus_per_instance[o]), size[there], most[there])
        found.append(OfferContents(o, there, counts))
    if not problem.fullest.divided:
        return found
    return not_replaced(problem, [largest_within(problem, each, most) for each in found])


def _fillings(gpus: int, size: Ints, most: Ints) -> Ints:
    """(P, candidates) every number of replicas of each that fits into one instance together, but none at all.

    Sizes are powers of two and a replica's GPUs need not be neighbours, so replicas fit where their GPUs add up.
    """
    filled, room = np.zeros((1, 0), dtype=np.int64), np.array([gpus])
    for each, cap in zip(size.tolist(), most.tolist(), strict=True):
        ways = np.minimum(room // each, cap) + 1
        row = np.repeat(np.arange(len(room)), ways)
        # the number of replicas counts up from 0 within each row that it extends
        count = np.arange(len(row)) - np.repeat(np.cumsum(ways) - ways, ways)
        filled, room = np.column_stack([filled[row], count]), room[row] - count * each
    return filled[filled.any(axis=1)]


def affordable(problem: Problem, keep: Flags, preference: Floats, most_contents: int = MOST_CONTENTS) -> Flags:
    """(C,) of the candidates where `keep` is true as many as so many contents allow, those of least `preference` first.

    Those in force come before all others, since changes are counted against them. Contents are counted before any is
    listed: of an offer, the ways in which GPUs may be given to replicas.
    """
    if not places_instances(problem):
        return keep
    size, most, offer = problem.candidates.gpus_per_replica, held_by_instance(problem), problem.candidates.offer
    left = most_contents // problem.traffic.periods
    chosen = np.zeros_like(keep)
    # offer -> ways to give so many GPUs in all to replicas of those chosen
    ways: dict[int, Ints] = {}
    order = np.lexsort((preference, ~stands_in_force(problem)))
    for c in order[keep[order]].tolist():
        gpus = int(problem.offers.gpus_per_instance[offer[c]])
        before = ways.get(int(offer[c]), np.eye(1, gpus + 1, dtype=np.int64)[0])
        after = _with_candidate(before, int(size[c]), int(most[c]))
        added = int(after.sum() - before.sum())
        if added <= left:
            left -= added
            chosen[c] = True
            ways[int(offer[c])] = after
    return chosen


def _with_candidate(ways: Ints, size: int, most: int) -> Ints:
    """Ways to give 0, 1, 2, … GPUs to replicas, with up to so many replicas more of one size."""
    total = ways.copy()
    for count in range(1, min(most, (len(ways) - 1) // size) + 1):
        total[count * size :] += ways[: len(ways) - count * size]
    return total


_Kind: TypeAlias = tuple[int, tuple[int, int], Ints]
"""So many instances, in a period and of an offer, with (C,) replicas on each."""


def placed_of(contents: InstanceContents, instances: Ints, replicas: Ints) -> Placed:
    """What stands where once counts are known; replicas beyond those that run are taken off again.

    Args:
        contents: Of the problem.
        instances: (T, P) instances by their contents, which hold the replicas and maybe more.
        replicas: (T, C) that run.
    """
    width = replicas.shape[1]
    full = np.zeros((len(contents), width), dtype=np.int64)
    full[contents.content, contents.candidate] = contents.count
    kinds: list[_Kind] = []
    for t in range(len(replicas)):
        there = [(int(instances[t, p]), (t, int(contents.offer[p])), full[p]) for p in np.flatnonzero(instances[t])]
        excess = sum((count * held for count, _, held in there), -replicas[t])
        for c in np.flatnonzero(excess > 0).tolist():
            there = _taken_off(there, c, int(excess[c]))
        kinds += [kind for kind in there if kind[2].any()]
    # (period, offer, replicas of each candidate), each once
    rows, number = np.unique(
        np.array([[*place, *held] for _, place, held in kinds], dtype=np.int64).reshape(len(kinds), 2 + width),
        axis=0,
        return_inverse=True,
    )
    counts = np.bincount(number.reshape(-1), weights=[count for count, _, _ in kinds], minlength=len(rows))
    return Placed(rows[:, 0], rows[:, 1], counts.astype(np.int64), rows[:, 2:])


def _taken_off(kinds: list[_Kind], candidate: int, excess: int) -> list[_Kind]:
    """The same with so many replicas of a candidate fewer, from whole instances first."""
    left: list[_Kind] = []
    for count, place, held in kinds:
        there = int(held[candidate])
        emptied, part = divmod(min(excess, count * there), max(there, 1))
        excess -= emptied * there + part
        without, fewer = held.copy(), held.copy()
        without[candidate], fewer[candidate] = 0, there - part
        parts = [(count - emptied - (part > 0), held), (emptied, without), (int(part > 0), fewer)]
        left += [(number, place, those) for number, those in parts if number]
    return left

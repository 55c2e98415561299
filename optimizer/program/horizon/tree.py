"""Months told apart by what is known in them: one trunk until a branch parts from it, then a line of its own."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from optimizer.base.arrays import Floats, Ints


@dataclass(frozen=True, eq=False)
class Tree:
    """N nodes over T months and B branches; what is decided in a node is decided for every branch that passes it.

    Attributes:
        month: (N,) from 0, never falling.
        parent: (N,) the node of the month before; -1 of the first.
        probability: (N,) the weights of the branches that pass it.
        node: (B, T) where each branch is in each month.
        weight: (B,) of each branch; sums to 1.
    """

    month: Ints
    parent: Ints
    probability: Floats
    node: Ints
    weight: Floats

    @property
    def months(self) -> int:
        """How many months there are."""
        return int(self.node.shape[1])

    @cached_property
    def first_branch(self) -> Ints:
        """(N,) the first branch that passes each node."""
        first = np.full(len(self.month), len(self.weight), dtype=np.int64)
        np.minimum.at(first, self.node, np.arange(len(self.weight))[:, None])
        return first

    @cached_property
    def common(self) -> Ints:
        """The nodes that every branch passes, by month: what is decided before anything is known."""
        return np.flatnonzero(np.bincount(self.node.ravel(), minlength=len(self.month)) == len(self.weight))

    def running(self, term_months: int) -> tuple[Ints, Ints]:
        """Every (node, start): the nodes in which something that was started for so many months still runs."""
        # (N, months back) the node so many months before each, -1 before the first
        back = [np.arange(len(self.month))]
        while len(back) < min(term_months, self.months):
            back.append(np.where(back[-1] >= 0, self.parent[back[-1]], -1))
        started = np.stack(back, axis=1)
        nodes, months_ago = np.nonzero(started >= 0)
        return nodes, started[nodes, months_ago]

    def up_to(self, node: int) -> Ints:
        """The nodes from one back to the first month, one a month."""
        branch = self.first_branch[node]
        return np.asarray(self.node[branch, : self.month[node] + 1][::-1])

    def alone(self, branch: int) -> tuple["Tree", Ints]:
        """One branch as if it were known from the start, and (T,) the nodes that its months are here."""
        return line(self.months), self.node[branch]


def line(months: int) -> Tree:
    """A tree of one branch."""
    month = np.arange(months)
    return Tree(month, month - 1, np.ones(months), month[None, :], np.ones(1))


def parting(months: int, parts_in: Sequence[int], weight: Floats) -> Tree:
    """The tree of branches each of which parts from the trunk in a month of its own.

    Args:
        months: How many there are.
        parts_in: (B,) the month, from 0, in which each is first known; `months` where it never is.
        weight: (B,) of each branch; sums to 1.
    """
    month, parent, probability = list[int](), list[int](), list[float]()
    node = np.zeros((len(parts_in), months), dtype=np.int64)
    for now in range(months):
        trunk = [branch for branch, parts in enumerate(parts_in) if parts > now]
        for members in (*([trunk] if trunk else []), *([b] for b, parts in enumerate(parts_in) if parts <= now)):
            node[members, now] = len(month)
            month.append(now)
            parent.append(-1 if now == 0 else int(node[members[0], now - 1]))
            probability.append(float(weight[members].sum()))
    return Tree(np.array(month), np.array(parent), np.array(probability), node, weight)

"""What the loss of one instance takes of each demand: the shares of all contents, in rising levels."""

from dataclasses import dataclass

import numpy as np

from optimizer.base.arrays import Floats, Ints
from optimizer.program.problem.indices import grouped
from optimizer.program.problem.instance_contents import InstanceContents
from optimizer.program.problem.losses import full_rate_shares
from optimizer.program.problem.problem import Problem
from optimizer.program.problem.quantities import most_replicas

SAME_SHARE = 9
"""Decimals to which two shares of a demand are the same."""


@dataclass(frozen=True, eq=False)
class LossLevels:
    """The levels of all demands, rising within each; L of them.

    Attributes:
        demand: (L,) index into the problem's demands.
        step: (L,) by how much the share of the demand that is lost rises from the level before, or from nothing.
        level, content: (N,) entries: the loss of an instance with the content takes the share of the level.
        most: (N,) instances with the content that are of any use in the demand's period.
    """

    demand: Ints
    step: Floats
    level: Ints
    content: Ints
    most: Ints

    def __len__(self) -> int:
        return len(self.demand)

    @property
    def follows(self) -> Ints:
        """Levels that have one before them of the same demand."""
        return np.flatnonzero(np.diff(self.demand, prepend=-1) == 0)


def loss_levels(problem: Problem, contents: InstanceContents) -> LossLevels:
    """The levels of what instances with these contents carry at full rate."""
    row, candidate, each = full_rate_shares(problem)
    share = np.zeros((len(problem.demands), len(problem.candidates)))
    share[row, candidate] = each
    # (demand, content) -> the share that is lost with it
    lost = np.zeros((len(problem.demands), len(contents)))
    np.add.at(lost.T, contents.content, (share[:, contents.candidate] * contents.count).T)
    demand, content = np.nonzero(lost)
    levels = grouped(demand, np.rint(lost[demand, content] * 10**SAME_SHARE).astype(np.int64))
    highest = np.zeros(len(levels.first))
    np.maximum.at(highest, levels.number, lost[demand, content])
    of_level = demand[levels.first]
    before = np.where(np.diff(of_level, prepend=-1) == 0, np.append(0.0, highest[:-1])[: len(highest)], 0.0)
    return LossLevels(
        demand=of_level,
        step=highest - before,
        level=levels.number,
        content=content,
        most=_most_instances(problem, contents)[problem.demands.period[demand], content],
    )


def _most_instances(problem: Problem, contents: InstanceContents) -> Ints:
    """(T, P) instances with a content that hold no more replicas than are of use."""
    most = np.full((problem.traffic.periods, len(contents)), np.iinfo(np.int64).max)
    of_entry = most_replicas(problem)[:, contents.candidate] // contents.count
    np.minimum.at(most.T, contents.content, of_entry.T)
    return most

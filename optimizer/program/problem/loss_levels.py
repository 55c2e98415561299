"""What the loss of one instance takes, in rising levels: of each demand, and of the replicas of each candidate."""

from dataclasses import dataclass

import numpy as np

from optimizer.base.arrays import Floats, Ints
from optimizer.program.problem.indices import grouped
from optimizer.program.problem.instance_contents import InstanceContents
from optimizer.program.problem.losses import shares_at_full_rate
from optimizer.program.problem.problem import Problem
from optimizer.program.problem.quantities import most_replicas

SAME_SHARE = 9
"""Decimals to which two shares of a demand are the same."""


@dataclass(frozen=True, eq=False)
class LossLevels:
    """The levels of everything that may be lost, rising within each; L of them.

    Attributes:
        of: (L,) what is lost: the index of a demand, or period x candidates + candidate.
        step: (L,) by how much the loss rises from the level before, or from nothing.
        level, period, content: (N,) entries: in the period the loss of an instance with the content is that of the
            level.
        most: (N,) instances with the content that are of any use in the period.
    """

    of: Ints
    step: Floats
    level: Ints
    period: Ints
    content: Ints
    most: Ints

    def __len__(self) -> int:
        return len(self.of)

    @property
    def follows(self) -> Ints:
        """Levels that have one before them of the same."""
        return np.flatnonzero(np.diff(self.of, prepend=-1) == 0)


_NOTHING = np.zeros(0, dtype=np.int64)
NO_LEVELS = LossLevels(_NOTHING, np.zeros(0), _NOTHING, _NOTHING, _NOTHING, _NOTHING)


def demand_levels(problem: Problem, contents: InstanceContents) -> LossLevels:
    """The share of each demand that instances with these contents carry at full rate; none where none must be left.

    Where a search has divided what the fullest instance carries a row says how much is lost at least: levels begin
    there, or there are none at all.
    """
    demands, fullest = problem.demands, problem.fullest
    # (demand, content) -> the share that is lost with it
    lost = np.zeros((len(demands), len(contents)))
    if "instance" in problem.limits.survive and (fullest.weighed or not fullest.divided) and len(contents):
        share = shares_at_full_rate(problem)
        np.add.at(lost.T, contents.content, (share[:, contents.candidate] * contents.count).T)
        if fullest.divided:
            lost = np.maximum(lost - fullest.least[:, None], 0.0)
    demand, content = np.nonzero(lost)
    return _levels(problem, contents, demand, demands.period[demand], content, lost[demand, content])


def replica_levels(problem: Problem, contents: InstanceContents) -> LossLevels:
    """The replicas of each candidate on one instance, by period; none where each may stand with any others."""
    periods = problem.traffic.periods if problem.limits.spare_on_other_instances else 0
    entries = len(contents.content)
    period = np.repeat(np.arange(periods), entries)
    candidate, content, count = (
        np.tile(part, periods) for part in (contents.candidate, contents.content, contents.count)
    )
    return _levels(
        problem, contents, period * len(problem.candidates) + candidate, period, content, count.astype(float)
    )


def _levels(
    problem: Problem, contents: InstanceContents, of: Ints, period: Ints, content: Ints, lost: Floats
) -> LossLevels:
    """The levels of entries (N,) that say what is lost of what, when, with which content."""
    if not len(of):
        return NO_LEVELS
    levels = grouped(of, np.rint(lost * 10**SAME_SHARE).astype(np.int64))
    highest = np.zeros(len(levels.first))
    np.maximum.at(highest, levels.number, lost)
    of_level = of[levels.first]
    lower = np.append(0.0, highest[:-1])[: len(highest)]
    return LossLevels(
        of=of_level,
        step=highest - np.where(np.diff(of_level, prepend=-1) == 0, lower, 0.0),
        level=levels.number,
        period=period,
        content=content,
        most=_most_instances(problem, contents)[period, content],
    )


def _most_instances(problem: Problem, contents: InstanceContents) -> Ints:
    """(T, P) instances with a content that hold no more replicas than are of use.

    Where parts of contents are not listed, the last of so many may hold some beyond that: of one more none is of use.
    """
    useful = most_replicas(problem)[:, contents.candidate]
    if problem.fullest.weighed:
        most = np.zeros((problem.traffic.periods, len(contents)), dtype=np.int64)
        np.maximum.at(most.T, contents.content, -(-useful // contents.count).T)
        return most
    most = np.full((problem.traffic.periods, len(contents)), np.iinfo(np.int64).max)
    np.minimum.at(most.T, contents.content, (useful // contents.count).T)
    return most


def most_held(problem: Problem, contents: InstanceContents) -> Ints:
    """(T, C) replicas beyond which none runs: those of use or, where parts are not listed, what contents hold."""
    most = most_replicas(problem)
    if problem.fullest.weighed:
        instances = _most_instances(problem, contents)[:, contents.content]
        most = np.zeros_like(most)
        np.add.at(most.T, contents.candidate, (instances * contents.count).T)
    return most

"""What is loaded on the instances of a plan: so many instances of each layout, that few are started for it.

The counts of a plan are whole: replicas of each group and instances of each offer in every period. Instances that are
paid all month hold what their groups ever need at once. Of those paid by the hour, layouts are chosen so that starts
which no rise of the instances explains, and which are paid for all the same, cost least.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from optimizer.base.arrays import Flags, Floats, Ints
from optimizer.base.clock import Clock
from optimizer.base.errors import SolverFailure
from optimizer.program.formulation.model import Columns, assemble
from optimizer.program.formulation.rows import Rows, at_least, at_most, between, numbered, stacked
from optimizer.program.problem.layouts import LoadGroups, list_layouts, load_groups
from optimizer.program.problem.problem import Problem
from optimizer.program.proof.state import Incumbent
from optimizer.program.solver import solve_integer


@dataclass(frozen=True, eq=False)
class Loaded:
    """What the instances of one offer hold.

    Attributes:
        offer: Index of the offer.
        groups: (G,) first candidate of each group that ever runs there.
        contents: (L, G) replicas of each in each layout.
        standing: (T, L) instances of each layout that run.
        restarts_usd_per_hour: What starts cost that only a change of layouts asks for.
    """

    offer: int
    groups: Ints
    contents: Ints
    standing: Ints
    restarts_usd_per_hour: float


def loaded(problem: Problem, plan: Incumbent) -> tuple[Loaded, ...]:
    """What is loaded, offer by offer; nothing for offers that are not bound to it or run one group alone.

    Raises:
        SolverFailure: No layouts hold what runs.
    """
    if problem.traffic.periods == 1 or not problem.layouts.kept:
        return ()
    groups = load_groups(problem)
    # (T, G) replicas of each group
    running = np.zeros((problem.traffic.periods, len(groups.offer)), dtype=np.int64)
    np.add.at(running.T, groups.number, plan.replicas.T)
    return tuple(_loaded(problem, plan, groups, running, *each) for each in _several(groups, running))


def with_restarts(problem: Problem, plan: Incumbent) -> tuple[Incumbent, Flags]:
    """The plan at the price of the starts that its layouts ask for, and (O,) the offers that ask for any."""
    arranged = loaded(problem, plan)
    turned = np.zeros(len(problem.offers), dtype=np.bool_)
    turned[[each.offer for each in arranged if each.restarts_usd_per_hour > 0]] = True
    restarts = sum(each.restarts_usd_per_hour for each in arranged)
    cost = plan.usd_per_hour - plan.restarts_usd_per_hour + restarts
    return replace(plan, usd_per_hour=cost, restarts_usd_per_hour=restarts), turned


def _several(groups: LoadGroups, running: Ints) -> Iterator[tuple[int, Ints]]:
    """Each offer on which several groups ever run, with them."""
    ever = np.flatnonzero(running.any(axis=0))
    for offer in np.unique(groups.offer[ever]).tolist():
        own = ever[groups.offer[ever] == offer]
        if len(own) > 1:
            yield offer, own


def _loaded(problem: Problem, plan: Incumbent, groups: LoadGroups, running: Ints, offer: int, own: Ints) -> Loaded:
    """What the instances of an offer hold, given its groups that ever run."""
    terms, first = problem.layouts, groups.first[own]
    contents = list_layouts(groups.gpus[own], int(problem.offers.gpus_per_instance[offer]))
    instances, replicas = plan.instances[:, offer], running[:, own]
    always, may_rest = bool(problem.offers.always_paid[offer]), bool(terms.followed.any())
    if always and not may_rest:
        # what ever runs is held in one long period
        standing, _ = _arranged(contents, replicas.max(axis=0)[None], instances[:1], _NO_CHANGES)
        return Loaded(offer, first, contents, np.repeat(standing, len(instances), axis=0), 0.0)
    pairs = np.argwhere(terms.followed if always else problem.traffic.start_share > 0)
    usd_per_hour = problem.traffic.start_share[tuple(pairs.T)] * float(problem.offers.price_usd_per_hour[offer])
    changes = _Changes(pairs, np.full(len(pairs), np.inf) if always else usd_per_hour, may_rest)
    standing, restarts = _arranged(contents, replicas, instances, changes)
    return Loaded(offer, first, contents, standing, 0.0 if always else float(usd_per_hour @ restarts))


class _Changes(NamedTuple):
    """Where layouts may change: (X, 2) periods before and after, (X,) what a start costs, infinite where there is none,
    and whether an instance that served nobody before may hold another layout after."""

    pairs: Ints
    usd_per_hour: Floats
    may_rest: bool


_NO_CHANGES = _Changes(np.zeros((0, 2), dtype=np.int64), np.zeros(0), may_rest=False)


def _arranged(contents: Ints, replicas: Ints, instances: Ints, changes: _Changes) -> tuple[Ints, Ints]:
    """(T, L) instances of each layout that cost the fewest starts, and (X,) starts beyond the rise of the instances.

    Args:
        contents: (L, G) of the layouts.
        replicas: (T, G) that run.
        instances: (T,) that run.
        changes: At which layouts may change; elsewhere they do so freely.
    """
    program = _Arrangement.of(contents, replicas, instances, changes)
    rows = {"use": program.used(), "stand": program.stood(), "rise": program.risen_by(), "turn": program.turned()}
    upper, usd_per_hour = np.full(program.columns, np.inf), np.zeros(program.columns)
    # where a layout may not change by a start, there is no start
    no_start = np.isinf(changes.usd_per_hour)
    upper[program.restarts[no_start]] = 0.0
    usd_per_hour[program.restarts] = np.where(no_start, 0.0, changes.usd_per_hour)
    whole = np.arange(program.columns) < program.standing.size
    columns = Columns(upper, whole)
    result = solve_integer(assemble(columns, usd_per_hour, stacked(rows)), Clock())
    if result.status != "optimal":
        raise SolverFailure(f"what is loaded on the instances: {result.status}")
    values = np.rint(result.values).astype(np.int64)
    return values[program.standing], values[program.restarts]


@dataclass(frozen=True, eq=False)
class _Arrangement:
    """The rows of `_arranged`, and its columns.

    Attributes:
        contents, replicas, instances, changes: As there.
        standing: (T, L) columns of the instances of a layout in a period.
        risen: (X, L) columns of their rise at a change.
        restarts: (X,) columns of the starts beyond the rise of all instances.
    """

    contents: Ints
    replicas: Ints
    instances: Ints
    changes: _Changes
    standing: Ints
    risen: Ints
    restarts: Ints

    @classmethod
    def of(cls, contents: Ints, replicas: Ints, instances: Ints, changes: _Changes) -> "_Arrangement":
        """The columns one after the other."""
        layouts, turns = len(contents), len(changes.pairs)
        standing = np.arange(len(replicas) * layouts).reshape(len(replicas), layouts)
        risen = standing.size + np.arange(turns * layouts).reshape(turns, layouts)
        restarts = standing.size + risen.size + np.arange(turns)
        return cls(contents, replicas, instances, changes, standing, risen, restarts)

    @property
    def columns(self) -> int:
        """How many there are."""
        return self.standing.size + self.risen.size + len(self.restarts)

    def used(self) -> Rows:
        """(T x G) what stands holds the replicas that run."""
        periods, groups = self.replicas.shape
        layout, group = np.nonzero(self.contents)
        row = np.arange(periods)[:, None] * groups + group
        held = np.tile(self.contents[layout, group], periods)
        names = numbered("use", self.replicas.size)
        return at_least(names, self.replicas.ravel().astype(float), (row, self.standing[:, layout], held))

    def stood(self) -> Rows:
        """(T,) every instance that runs has a layout, or rests where it may."""
        count = self.instances.astype(float)
        period = np.broadcast_to(np.arange(len(count))[:, None], self.standing.shape)
        least = 0.0 if self.changes.may_rest else count
        return between(numbered("stand", len(count)), least, count, (period, self.standing, 1.0))

    def risen_by(self) -> Rows:
        """(X x L) by how much more of a layout stands after a change."""
        before, after = self.changes.pairs.T
        row = np.arange(self.risen.size).reshape(self.risen.shape)
        more = ((row, self.standing[after], 1.0), (row, self.standing[before], -1.0))
        return at_most(numbered("rise", self.risen.size), 0.0, *more, (row, self.risen, -1.0))

    def turned(self) -> Rows:
        """(X,) what rises was started or rested before: instances[before] - sum of standing[before]."""
        before, after = self.changes.pairs.T
        count, may_rest = self.instances.astype(float), float(self.changes.may_rest)
        number = np.arange(len(before))
        turn = np.broadcast_to(number[:, None], self.risen.shape)
        return at_most(
            numbered("turn", len(number)),
            np.maximum(count[after] - count[before], 0.0) + count[before] * may_rest,
            (turn, self.risen, 1.0),
            (turn, self.standing[before], may_rest),
            (number, self.restarts, -1.0),
        )

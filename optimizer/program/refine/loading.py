"""What is loaded on the instances of a plan: so many instances of each layout, that few are started for it.

The counts of a plan are whole: replicas of each group and instances of each offer in every period. Instances that are
paid all month hold what their groups ever need at once. Of those paid by the hour, layouts are chosen so that starts
which no rise of the instances explains, and which are paid for all the same, cost least.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from optimizer.base.arrays import Floats, Ints
from optimizer.base.clock import Clock
from optimizer.base.errors import SolverFailure
from optimizer.program.formulation.model import Columns, assemble
from optimizer.program.formulation.rows import at_least, at_most, between, numbered, stacked
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
    (periods, groups), layouts, (before, after) = replicas.shape, len(contents), changes.pairs.T
    # columns: instances of a layout in a period, their rise at a change, starts beyond the rise of all instances
    time, number = np.arange(periods)[:, None], np.arange(len(before))
    standing = time * layouts + np.arange(layouts)
    risen = standing.size + number[:, None] * layouts + np.arange(layouts)
    restarts = standing.size + risen.size + number
    held, group = np.nonzero(contents)
    row, turn = np.arange(risen.size).reshape(risen.shape), np.broadcast_to(number[:, None], risen.shape)
    count, rise = instances.astype(float), np.maximum(instances[after] - instances[before], 0)
    rows = {
        "use": at_least(
            numbered("use", replicas.size),
            replicas.ravel().astype(float),
            (time * groups + group, standing[:, held], np.tile(contents[held, group], periods)),
        ),
        "stand": between(
            numbered("stand", periods),
            0.0 if changes.may_rest else count,
            count,
            (np.broadcast_to(time, standing.shape), standing, 1.0),
        ),
        "rise": at_most(
            numbered("rise", risen.size),
            0.0,
            (row, standing[after], 1.0),
            (row, standing[before], -1.0),
            (row, risen, -1.0),
        ),
        # what rises was started or rested before: instances[before] - sum of standing[before]
        "turn": at_most(
            numbered("turn", len(number)),
            rise + count[before] * changes.may_rest,
            (turn, risen, 1.0),
            (turn, standing[before], float(changes.may_rest)),
            (number, restarts, -1.0),
        ),
    }
    upper, cost = np.full(restarts[-1] + 1 if len(restarts) else standing.size, np.inf), changes.usd_per_hour
    upper[restarts] = np.where(np.isinf(cost), 0.0, np.inf)
    objective = np.zeros(len(upper))
    objective[restarts] = np.where(np.isinf(cost), 0.0, cost)
    columns = Columns(numbered("column", len(upper)), upper, np.arange(len(upper)) < standing.size)
    result = solve_integer(assemble(columns, objective, stacked(rows)), Clock())
    if result.status != "optimal":
        raise SolverFailure(f"what is loaded on the instances: {result.status}")
    values = np.rint(result.values).astype(np.int64)
    return values[standing], values[restarts]

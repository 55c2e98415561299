"""What is loaded stays loaded: replicas use what their instances hold, and instances that go on hold it further."""

import numpy as np

from optimizer.program.formulation.demand import slots_of
from optimizer.program.formulation.rows import Rows, Term, at_most, family_of
from optimizer.program.formulation.variables import (
    Variables,
    by_period,
    group_names,
    rise_names,
    start_of_turn,
    turn_names,
)
from optimizer.program.problem.indices import positions
from optimizer.program.problem.problem import Problem


def layouts(problem: Problem, variables: Variables) -> Rows:
    """What the module `problem.layouts` says and proves, for offers whose instances are held to what is loaded."""
    return family_of(
        "layouts",
        use=_use(problem, variables),
        fit=_fit(problem, variables),
        stand=_stand(problem, variables),
        rise=_rise(problem, variables),
        turn=_turn(problem, variables),
    )


def _use(problem: Problem, variables: Variables) -> Rows:
    """sum over c in g of replicas[t,c] <= loaded[g], or sum over l of contents[l,g] standing[t,l]."""
    found, periods = variables.layouts, problem.traffic.periods
    ever = np.flatnonzero(found.contents.any(axis=0))
    held = np.union1d(found.fixed, ever)
    row_of_group = positions(held, len(found.groups.offer))
    row_of_candidate = row_of_group[found.groups.number]
    candidate = np.flatnonzero(row_of_candidate >= 0)
    layout, group = np.nonzero(found.contents)
    shift = np.arange(periods)[:, None] * len(held)
    once = np.broadcast_to(variables.loaded, (periods, len(found.fixed)))
    return at_most(
        [f"use|{name}" for name in by_period(problem, group_names(problem, found)[held].tolist())],
        0.0,
        (row_of_candidate[candidate] + shift, variables.replicas[:, candidate], 1.0),
        (row_of_group[found.fixed] + shift, once, -1.0),
        (row_of_group[group] + shift, variables.standing[:, layout], np.tile(-found.contents[layout, group], periods)),
    )


def _fit(problem: Problem, variables: Variables) -> Rows:
    """The rows of `packing` for what is loaded all month."""
    found, fixed = variables.layouts.groups, variables.layouts.fixed
    slots = slots_of(problem, found.offer[fixed], found.gpus[fixed])
    return at_most(
        [f"fit|{name}" for name in slots.names],
        0.0,
        (slots.row, variables.loaded[slots.entry], slots.taken),
        (np.arange(len(slots.names)), variables.instance_at[0, slots.offer], -slots.there),
    )


def _stand(problem: Problem, variables: Variables) -> Rows:
    """sum over l of standing[t,l] <= instances[t,o]."""
    found, periods = variables.layouts, problem.traffic.periods
    offers, row = np.unique(found.offer, return_inverse=True)
    shift = np.arange(periods)[:, None] * len(offers)
    return at_most(
        [f"stand|{name}" for name in by_period(problem, [problem.offers.ids[o] for o in offers.tolist()])],
        0.0,
        (row.reshape(-1) + shift, variables.standing, 1.0),
        (np.arange(len(offers)) + shift, variables.instance_at[:, offers], -1.0),
    )


def _rise(problem: Problem, variables: Variables) -> Rows:
    """standing[u,l] - standing[t,l] <= risen[t,u,l]."""
    found, row = variables.layouts, np.arange(len(variables.risen))
    _, before, after = found.turns[found.rise_turn].T
    return at_most(
        [f"rise|{name}" for name in rise_names(problem, found)],
        0.0,
        (row, variables.standing[after, found.rise_layout], 1.0),
        (row, variables.standing[before, found.rise_layout], -1.0),
        (row, variables.risen, -1.0),
    )


def _turn(problem: Problem, variables: Variables) -> Rows:
    """sum over l of risen[t,u,l] <= starts[o,t,u] + instances[t,o] - sum over l of standing[t,l], the last two if any.

    What rises at a change was started there or rested before it.
    """
    found, row = variables.layouts, np.arange(len(variables.layouts.turns))
    offer, before, _ = found.turns.T
    start = start_of_turn(variables)
    paid = np.flatnonzero(start >= 0)
    rested: tuple[Term, ...] = ()
    if found.may_rest:
        standing = variables.standing[before[found.rise_turn], found.rise_layout]
        rested = (
            (row, variables.instance_at[before, offer], -1.0),
            (found.rise_turn, standing, 1.0),
        )
    return at_most(
        [f"turn|{name}" for name in turn_names(problem, found)],
        0.0,
        (found.rise_turn, variables.risen, 1.0),
        (paid, variables.starts[start[paid]], -1.0),
        *rested,
    )

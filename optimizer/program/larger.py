"""A plan with no fewer replicas than are known to serve: with these standing, a program has little left to decide."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

import numpy as np

from optimizer.base.arrays import Ints
from optimizer.base.clock import Clock
from optimizer.program.formulation.model import build_program, hourly_cost, model_proto
from optimizer.program.formulation.rows import Rows, at_least, numbered
from optimizer.program.formulation.variables import Variables
from optimizer.program.problem.data import LayoutTerms
from optimizer.program.problem.problem import Problem, compacted
from optimizer.program.problem.quantities import stands_in_force
from optimizer.program.proof.state import SearchState, incumbent_of
from optimizer.program.refine.loading import with_restarts
from optimizer.program.simplest import Simplest
from optimizer.program.solver import integer_solver, solve_integer

NODES: Final = 20
"""Of branch and bound where all replicas are known: the first one mostly has the plan."""

AT_LEAST_S: Final = 1.0
"""Where time is limited, however little of it is left."""


def search_larger(problem: Problem, state: SearchState, kind: Mapping[str, int], least: Ints, nodes: int) -> Simplest:
    """A plan of no other candidates than those of some kinds, and of at least so many replicas of each kind.

    It proves nothing. Instances keep what they hold, as in `simple_plan`.

    Args:
        problem: In canonical order.
        state: Of the search, with the clock of all that it may take.
        kind: By id of a candidate, what it is counted with.
        least: (T, kinds) replicas.
        nodes: Of branch and bound, at most.
    """
    problem = replace(problem, layouts=LayoutTerms(kept=problem.layouts.kept))
    known = np.array([name in kind for name in problem.candidates.ids], dtype=np.bool_)
    if not known.any() or (stands_in_force(problem) & ~known).any():
        # changes are counted against what is in force: without it nothing is known of the cost
        return Simplest(None, proven=False)
    part = compacted(problem, known)
    program = build_program(part.problem)
    cost = hourly_cost(program)
    left_s = state.clock.left_s()
    kind_of_candidate = np.array([kind[name] for name in part.problem.candidates.ids])
    result = solve_integer(
        model_proto(program, cost, {"standing": _standing(program.variables, kind_of_candidate, least)}),
        Clock(None if left_s is None else max(left_s, AT_LEAST_S)),
        integer_solver(problem.traffic.periods),
        node_limit=nodes,
    )
    plan = incumbent_of(result, program, part, problem)
    return Simplest(None if plan is None else with_restarts(problem, plan)[0], proven=False)


def _standing(variables: Variables, kind_of_candidate: Ints, least: Ints) -> Rows:
    """At least so many (T, kinds) replicas of the candidates of each kind; of a kind without any none are asked."""
    periods, kinds = least.shape
    asked = least * (np.bincount(kind_of_candidate, minlength=kinds) > 0)
    # (T, C) -> the row of its period and kind
    row = np.arange(periods)[:, None] * kinds + kind_of_candidate
    return at_least(numbered("standing", least.size), asked.ravel(), (row.ravel(), variables.replicas.ravel(), 1.0))

"""The first plan of a search: of the few candidates that a bound points to, and of more where limits leave these none.

Only its cost is used, to leave out what is dearer, so how many are tried steers speed and never the result.
"""

from dataclasses import replace

import numpy as np

from optimizer.base.arrays import Flags, Floats
from optimizer.program.problem.instance_contents import affordable
from optimizer.program.problem.problem import Problem
from optimizer.program.problem.traits import GROUPS
from optimizer.program.proof.relaxation import Bound
from optimizer.program.proof.state import Incumbent, SearchState
from optimizer.program.proof.steps import cheaper, promising_candidates, solve_on
from optimizer.program.solver import SolverResult

INCUMBENT_COLUMNS = 24
INCUMBENT_NODES = 5
WIDER_INCUMBENTS = ((100, 20), (400, 50))
"""Size of the first, restricted solve: only its incumbent is used, so these steer speed and never the result. Where it
has no plan, columns and nodes of wider ones, which take a tenth of what a program of thousands does."""

MANY_MORE = 4
"""Times the candidates of a first solve without a plan, from which so many are tried sooner than all."""

FAR_OFF, NODES_AT_PLACES, SHARE_OF_PLACES = 0.2, 500, 0.4
"""Gap of a first plan that survives losses from which one is looked for among candidates for each mix at every place
that may be lost, since a plan of two places costs twice what one of many does; nodes of that, and the share of what is
left on the clock."""


def first_plan(
    problem: Problem, keep: Flags, bound: Bound, known: Incumbent | None, state: SearchState
) -> tuple[Flags, SolverResult, Incumbent | None]:
    """Promising candidates (C,), what a solver says of them, and the cheapest of a known plan and what it found.

    Where limits leave them without a plan, more are promising: a program of all candidates may not come to one in time.
    """
    cost, everything, nodes = bound.with_candidate_usd_per_hour, False, state.node_limit
    for columns, of_columns in ((INCUMBENT_COLUMNS, INCUMBENT_NODES), *WIDER_INCUMBENTS):
        promising = affordable(problem, promising_candidates(problem, keep, cost, columns), cost)
        everything = not (keep & ~promising).any()
        result, found = solve_on(problem, promising, state, nodes if everything else of_columns)
        incumbent = cheaper(found, known)
        if everything or incumbent is not None or not _is_wanted_sooner(keep, columns, state):
            break
    return promising, result, incumbent


def _is_wanted_sooner(keep: Flags, columns: int, state: SearchState) -> bool:
    """Whether any plan will do, so that few candidates that have none say nothing, and all are far more than these."""
    return bool(np.isinf(state.cutoff_usd_per_hour) and keep.sum() > MANY_MORE * columns) and not state.clock.expired


def is_far_off(problem: Problem, bound: Bound, incumbent: Incumbent | None, state: SearchState) -> bool:
    """Whether there is no plan that survives losses, or one that may well cost far more than the cheapest.

    A search of fewer nodes than are worth it, as that of a level of a week, ends sooner.
    """
    if not problem.limits.survive or (state.node_limit is not None and state.node_limit < NODES_AT_PLACES):
        return False
    return incumbent is None or bound.usd_per_hour < (1 - FAR_OFF) * incumbent.usd_per_hour


def plan_at_places(
    problem: Problem, keep: Flags, promising: Flags, bound: Bound, known: Incumbent | None, state: SearchState
) -> Incumbent | None:
    """The cheaper of a known plan and one of promising candidates (C,) and those for each mix at every place."""
    cost = bound.with_candidate_usd_per_hour
    everywhere = affordable(problem, promising | at_every_place(problem, keep, cost), cost)
    own = replace(state, clock=state.clock.share(SHARE_OF_PLACES))
    return cheaper(solve_on(problem, everywhere, own, NODES_AT_PLACES)[1], known)


def at_every_place(problem: Problem, keep: Flags, cost: Floats) -> Flags:
    """(C,) for each mix the candidate of least cost at every place that may be lost."""
    chosen = np.zeros(len(problem.candidates), dtype=np.bool_)
    order = np.argsort(np.where(keep, cost, np.inf), kind="stable")
    for loss in problem.limits.survive:
        if loss not in GROUPS:
            continue
        place = GROUPS[loss](problem)
        for serves in problem.candidates.rate_per_s.T > 0:
            able = order[serves[order]]
            chosen[able[np.unique(place[able], return_index=True)[1]]] = True
    return chosen & keep

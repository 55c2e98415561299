"""A plan that is always there: each mix of requests on the cheapest thing that serves all of it, whatever time is left.

Only what a short look at prices and rates points to is solved for, under every limit, with a bound on nodes and none on
time: some dozen candidates are solved in a moment. The plan is one to start from or to fall back on; it proves nothing.
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from optimizer.base.arrays import Flags, Floats
from optimizer.base.clock import Clock
from optimizer.program.problem.problem import Problem
from optimizer.program.proof.state import Incumbent, SearchState
from optimizer.program.proof.steps import promising_candidates, solve_on

FEW, MORE = 2, 24
"""How many candidates, besides one for every mix and every group that a limit wants variety in: in two tries."""

NODES = 20
"""Of branch and bound, in each of the two."""


def simple_plan(problem: Problem, state: SearchState) -> Incumbent | None:
    """A plan of few candidates that keeps every limit; None where those few have none.

    Args:
        problem: In canonical order.
        state: Of the search that found none in time.
    """
    unhurried = replace(state, clock=Clock(), progress=None, cutoff_usd_per_hour=np.inf, relative_gap=0.0)
    for chosen in _few_candidates(problem):
        _, plan = solve_on(problem, chosen, unhurried, NODES)
        if plan is not None:
            return plan
    return None


def _few_candidates(problem: Problem) -> Iterator[Flags]:
    """(C,) twice: one kind of machine for each mix, then some more of each that limits look at."""
    cost, everything = _cost_alone(problem), np.ones(len(problem.candidates), dtype=np.bool_)
    yield promising_candidates(problem, everything, cost, FEW, but=("configuration",))
    yield promising_candidates(problem, everything, cost, MORE)


def _cost_alone(problem: Problem) -> Floats:
    """(C,) what whole instances for all of a mix cost over the cheapest that serve it, for the best of its mixes."""
    candidates, offers = problem.candidates, problem.offers
    reach_per_s = problem.reach_per_s.max(axis=0, initial=0.0)
    # (C, M) replicas, whole instances of the offer that hold them, and their price
    with np.errstate(divide="ignore", invalid="ignore"):
        replicas = np.ceil(reach_per_s / (candidates.rate_per_s * problem.limits.max_utilization))
    held = (offers.gpus_per_instance[candidates.offer] // candidates.gpus_per_replica)[:, None]
    instances = np.ceil((replicas + problem.limits.spare_replicas) / held)
    to_be_had = (candidates.rate_per_s > 0) & (instances <= offers.available[candidates.offer][:, None])
    cost = np.where(to_be_had, instances * offers.price_usd_per_hour[candidates.offer][:, None], np.inf)
    cheapest = cost.min(axis=0, initial=np.inf)
    over_cheapest = np.divide(
        cost, cheapest, out=np.full_like(cost, np.inf), where=np.isfinite(cheapest) & (cheapest > 0)
    )
    return np.asarray(over_cheapest.min(axis=1, initial=np.inf))

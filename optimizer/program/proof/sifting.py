"""The relaxation's bound for many candidates: solved for few, held against all, joined by those that fall short.

Any multipliers give a bound on every plan (see `relaxation`), so those of a relaxation over a few candidates do, too.
Rows that only other candidates have get none. The value of the small relaxation is what the bound can reach at most: no
plan of more candidates is dearer. The rounds end when the bound is that near, or time is up.
"""

import numpy as np

from optimizer.base.arrays import Flags, Floats
from optimizer.base.clock import Clock
from optimizer.program.formulation.model import Program, build_program, hourly_cost, model_proto
from optimizer.program.problem.problem import Problem, compacted
from optimizer.program.proof.relaxation import Bound, bound_from, read_multipliers
from optimizer.program.proof.steps import promising_candidates
from optimizer.program.solver import solve_linear

FIRST, MORE = 150, 150
"""Candidates of the first small relaxation, besides those for variety, and by how many it grows."""

MOST_ROUNDS = 12
CONVERGED = 1e-4
"""Relative distance of the bound from the small relaxation's value at which the rounds end."""


def sifted_bound(problem: Problem, clock: Clock) -> Bound | None:
    """The best bound of all rounds; None where a small relaxation has no solution or was not solved in time."""
    whole, chosen = build_program(problem, relaxed=True), _first(problem)
    best: Bound | None = None
    for _ in range(MOST_ROUNDS):
        part = build_program(compacted(problem, chosen).problem, relaxed=True)
        result = solve_linear(model_proto(part, hourly_cost(part)), clock)
        if result.status != "optimal" or not len(result.duals):
            break
        bound = bound_from(problem, read_multipliers(whole, _spread_out(result.duals, part, whole)))
        best = bound if best is None else best.raised_to(bound)
        joining = _closest(bound, ~chosen)
        if best.usd_per_hour >= result.bound * (1 - CONVERGED) or not joining.any():
            break
        chosen |= joining
    return best


def _first(problem: Problem) -> Flags:
    """The candidates whose full instances carry the requests of a mix for the least, and one for each kind of place."""
    candidates, offers = problem.candidates, problem.offers
    held = offers.gpus_per_instance[candidates.offer] // candidates.gpus_per_replica
    price = (offers.price_usd_per_hour[candidates.offer] / held)[:, None]
    per_request = np.divide(
        price, candidates.rate_per_s, out=np.full_like(candidates.rate_per_s, np.inf), where=candidates.rate_per_s > 0
    )
    least = per_request.min(axis=0, initial=np.inf)
    served = np.isfinite(per_request)
    # what is the least is once itself, though it be nothing, as of a pool that is paid apart
    itself = np.where(served & (per_request == least), 1.0, np.inf)
    over_least = np.divide(per_request, least, out=itself, where=served & (least > 0)).min(axis=1)
    return promising_candidates(problem, np.ones(len(candidates), dtype=np.bool_), over_least, FIRST)


def _spread_out(duals: Floats, part: Program, whole: Program) -> Floats:
    """The duals of a part's rows for the rows of the whole that have the same names."""
    names = (name for rows in part.families.values() for name in rows.names)
    known = dict(zip(names, duals.tolist(), strict=True))
    return np.array([known.get(name, 0.0) for rows in whole.families.values() for name in rows.names])


def _closest(bound: Bound, others: Flags) -> Flags:
    """Of the other candidates those with the lowest bounds."""
    cost = np.where(others, bound.with_candidate_usd_per_hour, np.inf)
    joining = np.zeros_like(others)
    joining[np.argsort(cost, kind="stable")[:MORE]] = True
    return np.asarray(joining & others)

"""What surviving the loss of any instance says of a problem that survives the loss of places.

A region or a provider takes with it every instance that stands there, so what survives its loss survives the loss of
each of them: a problem in which instances are lost in place of regions or providers is a relaxation. Where that stands
does not matter in it, which leaves few candidates, and what the fullest instance carries is divided (see
`fullest_instance`), so that its bound is of whole instances. In the relaxation of the places' own program an instance
of any place is bought to a small part.

Its plan may stand in one place. The same configurations on the same kinds of instances, at any place, have a plan that
survives the places and costs hardly more, or they have none.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

import numpy as np

from optimizer.base.arrays import Flags
from optimizer.program.problem.problem import Problem, compacted
from optimizer.program.problem.quantities import label_numbers, stands_in_force
from optimizer.program.proof.fullest_instance import divides_fullest
from optimizer.program.proof.relaxation import Bound
from optimizer.program.proof.state import Incumbent, SearchResult, SearchState
from optimizer.program.proof.steps import cheaper, solve_on

PLACES = ("region", "provider")
"""Losses that take whole instances, all that stand there."""

SHARE_OF_INSTANCES, SHARE_OF_ALIKE = 0.4, 0.4
"""Of what is left on the clock, for the problem in which instances are lost, and then for a plan like its own."""

NODES_OF_ALIKE = 500
"""Of branch and bound, for that plan."""

Search: TypeAlias = Callable[[Problem, SearchState], SearchResult]
"""The search for the cheapest plan of a sorted problem."""


def losing_instances(problem: Problem) -> Problem | None:
    """The problem that survives the loss of any instance in place of places; None where that is no simpler one."""
    kept = tuple(loss for loss in problem.limits.survive if loss not in PLACES)
    if "instance" in kept or len(kept) == len(problem.limits.survive):
        return None
    survive = tuple(sorted((*kept, "instance")))
    relaxed = replace(problem, limits=replace(problem.limits, survive=survive))
    return relaxed if divides_fullest(relaxed) else None


def known_of_instances(
    problem: Problem, keep: Flags, bound: Bound, known: Incumbent | None, state: SearchState, search: Search
) -> tuple[Bound, Incumbent | None]:
    """A bound raised to what no plan undercuts that loses instances, and the cheaper of a known plan and one like its.

    Args:
        problem: In canonical order.
        keep: (C,) candidates that no argument has removed.
        bound: What is known of them.
        known: A plan.
        state: Of the search.
        search: For the cheapest plan of another problem.
    """
    relaxed = losing_instances(problem)
    if relaxed is None or (stands_in_force(problem) & ~keep).any():
        return bound, known
    part = compacted(relaxed, keep)
    clock = state.clock.share(SHARE_OF_INSTANCES)
    found = search(part.problem, replace(state, clock=clock, progress=None, eliminated={}))
    if np.isfinite(found.bound.usd_per_hour):
        bound = bound.raised_to(replace(bound, usd_per_hour=found.bound.usd_per_hour))
    if found.incumbent is None:
        return bound, known
    used = found.incumbent.for_whole(part, problem).used
    alike = (keep & _of_same_kind(problem, used)) | stands_in_force(problem)
    own = replace(state, clock=state.clock.share(SHARE_OF_ALIKE))
    return bound, cheaper(solve_on(problem, alike, own, NODES_OF_ALIKE, bound.usd_per_hour)[1], known)


def _of_same_kind(problem: Problem, used: Flags) -> Flags:
    """(C,) candidates of the same configuration and mixes as one that is used, on as many of the same GPUs."""
    offers, candidates = problem.offers, problem.candidates
    kind = np.column_stack(
        [
            label_numbers(candidates.configuration),
            label_numbers(offers.gpu)[candidates.offer],
            offers.gpus_per_instance[candidates.offer],
            np.unique(candidates.rate_per_s > 0, axis=0, return_inverse=True)[1].reshape(-1),
        ]
    )
    number = np.unique(kind, axis=0, return_inverse=True)[1].reshape(-1)
    return np.isin(number, number[used])

"""The cheapest plan that survives the loss of any place, by dividing how much of a demand the fullest place carries.

What all places carry beyond a demand is no less than what the fullest carries of it. In the relaxation that is next to
nothing: a tenth of an instance at each of many places loses a hundredth anywhere. Told that the fullest place carries
between `least` and `most` of a demand, no place may run more than `most`, and all carry 1 + `least`: few places need
more of each than they may run, and many are to be paid, the dear ones with the cheap. Every plan is in one such slice,
and a slice has a program of its own, whose relaxation rules out most slices and in the others most candidates.

The slice of the lowest bound is next. It is asked for clearly cheaper plans than the best one first, and for any that
are cheaper once no slice has such. One that is not done within some nodes is cut in two, at the demand of which the
width costs most, and either half has its own relaxation. The search ends when the lowest bound is as high as the best
plan's cost.
"""

import heapq
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import count, islice
from typing import Final, NamedTuple, TypeAlias

import numpy as np

from optimizer.base.arrays import Flags, Floats
from optimizer.program.problem.data import Fullest
from optimizer.program.problem.losses import least_usd_of_demands
from optimizer.program.problem.problem import Problem
from optimizer.program.problem.quantities import stands_in_force
from optimizer.program.proof.instances_of_places import PLACES
from optimizer.program.proof.relaxation import Bound
from optimizer.program.proof.state import EQUAL_COST, Incumbent, SearchResult, SearchState
from optimizer.program.proof.steps import can_beat, cheaper, most_usd_per_hour, result_of_parts, solve_on
from optimizer.program.solver import SolverResult

MOST_DEMANDS: Final = 8
"""Demands beyond which slices are too many: a cut says something of one demand alone."""

CUTS: Final = (0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.45, 0.6)
"""Shares of the demand that costs most at which the first slices are cut: n places alike carry 1 / (n - 1) each."""

NODES, MOST_SLICES = 300, 400
"""Of branch and bound in a slice before it is cut in two; and how often one is solved at all."""

CLEARLY: Final = 0.008
"""By how much of its cost less than the best plan a plan of a slice is looked for first: that there is none takes half
the time, so all slices are told that far before any is told to the end."""

WIDE: Final = 0.03
"""Share of what a plan costs from which slices close sooner what is open than one program does."""

Relaxed: TypeAlias = Callable[[Problem, Flags, SearchState], Bound | None]
"""The relaxation's bound of some candidates; None where it has no solution."""


class _Slice(NamedTuple):
    """Plans whose fullest place carries between two shares of each demand; the order is that of the search."""

    usd_per_hour: float
    number: int
    fullest: Fullest
    bound: Bound


def divides_fullest_place(problem: Problem, keep: Flags) -> bool:
    """Whether a search of some candidates (C,) may divide what the fullest place carries: demands are the same all
    month, and few, and what stands is among the candidates."""
    survive = problem.limits.survive
    lost = any(place in survive for place in PLACES) and "instance" not in survive
    few = problem.traffic.periods == 1 and len(problem.demands) <= MOST_DEMANDS
    return lost and few and not (stands_in_force(problem) & ~keep).any()


def is_wide_open(bound: Bound, plan: Incumbent | None) -> bool:
    """Whether so much is open that one program of all candidates would hardly close it."""
    return plan is None or bound.usd_per_hour < (1 - WIDE) * plan.usd_per_hour


def search_by_fullest_place(
    problem: Problem, keep: Flags, bound: Bound, known: Incumbent | None, state: SearchState, relaxed: Relaxed
) -> SearchResult:
    """The cheapest plan of all slices.

    Args:
        problem: In canonical order.
        keep: (C,) candidates that no argument has removed.
        bound: What is known of them.
        known: A plan to begin with.
        state: Written as the search goes.
        relaxed: Bounds a slice.
    """
    worth, best, waiting, number = least_usd_of_demands(problem), known, list[_Slice](), count()

    def add(slices: Iterable[Fullest], least_usd_per_hour: float) -> None:
        for fullest in slices:
            if (found := relaxed(replace(problem, fullest_place=fullest), keep, state)) is not None:
                least = max(least_usd_per_hour, found.usd_per_hour)
                heapq.heappush(waiting, _Slice(least, next(number), fullest, found.raised_to(bound)))

    with state.phase("final"):
        add(_first(len(worth), int(worth.argmax())), bound.usd_per_hour)
        for nodes in _nodes(state.node_limit):
            lower = min((each.usd_per_hour for each in waiting), default=np.inf)
            state.best_and_bound(best, lower)
            if not waiting or state.clock.expired or _is_enough(problem, lower, best, state):
                break
            lowest = heapq.heappop(waiting)
            most = _asked_usd_per_hour(problem, lowest, best, state)
            result, plan = _solved(problem, lowest, keep, most, state, nodes)
            if result.status == "infeasible" and most < _most_usd_per_hour(problem, best, state):
                heapq.heappush(waiting, lowest._replace(usd_per_hour=most, number=next(number)))
            elif result.status not in ("optimal", "infeasible"):
                add(_halves(lowest.fullest, worth), max(lowest.usd_per_hour, result.bound))
            best = cheaper(best, plan)
    return result_of_parts(problem, keep, bound, lower, best, state)


def _nodes(limit: int | None) -> Iterator[int]:
    """Of each slice that is solved: more as slices are cut, so that the search ends; none beyond a limit on all."""
    spent = 0
    for each in islice(count(NODES, NODES // len(CUTS)), MOST_SLICES):
        yield each
        spent += each
        if limit is not None and spent >= limit:
            return


def _most_usd_per_hour(problem: Problem, best: Incumbent | None, state: SearchState) -> float:
    """What a plan of interest costs at most."""
    return min(most_usd_per_hour(problem, state), np.inf if best is None else best.usd_per_hour)


def _is_enough(problem: Problem, lower_usd_per_hour: float, best: Incumbent | None, state: SearchState) -> bool:
    """Whether no plan of the slices that are left costs less than is of interest, or the gap asked for is reached."""
    open_share = EQUAL_COST if best is None else max(state.relative_gap, EQUAL_COST)
    return lower_usd_per_hour >= _most_usd_per_hour(problem, best, state) * (1 - open_share)


def _asked_usd_per_hour(problem: Problem, lowest: _Slice, best: Incumbent | None, state: SearchState) -> float:
    """What a plan of a slice may cost: at first clearly less than what is of interest."""
    most = _most_usd_per_hour(problem, best, state)
    clearly = (1 - CLEARLY) * most
    return clearly if lowest.usd_per_hour < clearly else most


def _solved(
    problem: Problem, lowest: _Slice, keep: Flags, most: float, state: SearchState, nodes: int
) -> tuple[SolverResult, Incumbent | None]:
    """What a solver says of the plans of a slice that cost no more than `most` USD/h."""
    own = replace(state, progress=None, cutoff_usd_per_hour=most)
    asked = replace(problem, fullest_place=lowest.fullest)
    left = keep & can_beat(asked, lowest.bound, None, own)
    found = solve_on(asked, left, own, nodes, lowest.usd_per_hour)
    state.columns_solved, state.solver = own.columns_solved, own.solver
    return found


def _first(demands: int, leading: int) -> Iterator[Fullest]:
    """Slices of all plans by what their fullest place carries of the leading demand."""
    for lower, upper in zip((0.0, *CUTS), (*CUTS, np.inf), strict=True):
        least, most = np.zeros(demands), np.full(demands, np.inf)
        least[leading], most[leading] = lower, upper
        yield Fullest(least, most)


def _halves(fullest: Fullest, worth: Floats) -> Iterator[Fullest]:
    """A slice cut in two at the demand of which its width costs most; of one that is open above, the whole counts."""
    upper = np.where(np.isfinite(fullest.most), fullest.most, np.maximum(1.0, 2 * fullest.least))
    demand = int(((upper - fullest.least) * worth).argmax())
    cut = (fullest.least[demand] + upper[demand]) / 2
    least, most = fullest.least.copy(), fullest.most.copy()
    least[demand] = most[demand] = cut
    yield Fullest(fullest.least, most)
    yield Fullest(least, fullest.most)

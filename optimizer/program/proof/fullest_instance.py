"""The cheapest plan that survives the loss of any one instance, by dividing how much the fullest one carries.

What is left after a loss is what all carry less what the fullest instance carries of a demand, which is not linear in
counts. A program that says so has a binary for each level of each demand and, with thousands of contents, a relaxation
that loses next to nothing: an instance that is bought to a tenth is lost to a tenth.

Here a program is told between what shares of each demand the fullest instance carries, `least` and `most`, one such
box at a time. Its instances have contents within `most`, and all carry 1 + `least` of each demand. Every plan of the
box does, so what the program's plan costs is a bound of the box. Where that plan carries enough to lose its own fullest
instance, none in the box costs less, and the box is done. Else it carries 1 + a of some demand, its fullest instance
m > a, and the box is cut between a and m. Neither half has that plan: in one its instance carries too much, in the
other all carry too little. The box of the lowest bound is next, and the search ends when that is as high as the best
plan's cost. A plan near the cheapest of a box tells as well where to cut it, and is found sooner: only where it can
lose its fullest instance the cheapest is asked for.

A box whose plans have few contents is not cut any further: with a binary for each level of what they carry, from
`least` up, its program finds the cheapest plan that can lose its own fullest instance.

A plan that does not carry enough tells how much an instance of a cheap plan carries. The cheapest one of no fuller
instances that can lose as much is looked for each time, too: one of the first is mostly the best of all, and what is
dearer than a known plan is sooner ruled out than solved.
"""

import heapq
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from optimizer.base.arrays import Flags, Floats
from optimizer.program.formulation.demand import demand_shares
from optimizer.program.problem.data import Fullest
from optimizer.program.problem.instance_contents import affordable
from optimizer.program.problem.losses import least_usd_of_demands, shares_at_full_rate
from optimizer.program.problem.needed_contents import may_be_exchanged
from optimizer.program.problem.problem import Problem, compacted
from optimizer.program.problem.quantities import stands_in_force
from optimizer.program.proof.contents_bound import contents_within
from optimizer.program.proof.relaxation import Bound
from optimizer.program.proof.state import EQUAL_COST, Incumbent, SearchResult, SearchState
from optimizer.program.proof.steps import (
    can_beat,
    cheaper,
    most_usd_per_hour,
    promising_candidates,
    result_of_parts,
    solve_on,
)
from optimizer.program.solver import SolverResult

ENOUGH = 1e-6
"""By how much of a demand what is left may fall short: a solver's tolerance, and what adding up makes of it."""

MOST_DEMANDS = 8
"""Demands beyond which boxes are too many: a cut says something of one demand alone."""

MOST_WEIGHED = 600
"""Contents that a plan of a box may have, up to which a program weighs by itself what may be lost."""

FEW, MANY = 24, 2
"""Candidates of which a first plan is made, besides one for each mix and group, and how many times as many it takes for
that to be worth it."""

SHARE_OF_FEW = 0.2
"""Of what is left of a limit, for that plan."""

SHARE_OF_OPEN = 0.5
"""Of what is open between a box and the best plan: how near its cheapest a plan of it is that tells where to cut."""


class _OpenBox(NamedTuple):
    """Plans whose fullest instance carries shares between two of each demand; the order is that of the search."""

    usd_per_hour: float
    number: int
    fullest: Fullest


class _Looked(NamedTuple):
    """What a solver says of a box, a plan of it, and what no plan undercuts that has more contents than a program."""

    result: SolverResult
    plan: Incumbent | None
    left_out_usd_per_hour: float


@dataclass(eq=False)
class _Boxes:
    """What is still to be looked at, and what was left.

    Attributes:
        waiting: A heap.
        left_usd_per_hour: What no plan undercuts that was left unlooked at in boxes that are done.
        cut: How many there ever were.
    """

    waiting: list[_OpenBox] = field(default_factory=list)
    left_usd_per_hour: float = np.inf
    cut: int = 0

    def add(self, usd_per_hour: float, fullest: Fullest) -> None:
        heapq.heappush(self.waiting, _OpenBox(usd_per_hour, self.cut, fullest))
        self.cut += 1

    @property
    def usd_per_hour(self) -> float:
        """What no plan of all of them undercuts."""
        return min(self.left_usd_per_hour, self.waiting[0].usd_per_hour if self.waiting else np.inf)


def divides_fullest(problem: Problem) -> bool:
    """Whether a search may divide what the fullest instance carries: demands are the same all month, and few."""
    alone = "instance" in problem.limits.survive and not problem.limits.spare_on_other_instances
    return alone and problem.traffic.periods == 1 and len(problem.demands) <= MOST_DEMANDS


def alike(problem: Problem, plan: Incumbent) -> Problem:
    """The problem of plans of which no instance carries more than this one's fullest, and that can lose as much."""
    if not divides_fullest(problem):
        return problem
    _, lost = _carried_and_lost(problem, plan)
    return replace(problem, fullest=Fullest(lost, lost))


def search_by_fullest(
    problem: Problem, keep: Flags, bound: Bound, known: Incumbent | None, state: SearchState
) -> SearchResult:
    """The cheapest plan of all boxes.

    Args:
        problem: In canonical order.
        keep: (C,) candidates that no argument has removed.
        bound: Of the relaxation.
        known: A plan to begin with.
        state: Written as the search goes.
    """
    with state.phase("incumbent"):
        first = known or _of_few(problem, keep, bound, state)
    with state.phase("final"):
        best, boxes = _search(problem, keep, bound, first, state)
    return result_of_parts(problem, keep, bound, boxes.usd_per_hour, best, state)


def _of_few(problem: Problem, keep: Flags, bound: Bound, state: SearchState) -> Incumbent | None:
    """The best plan of few candidates, found in a moment: what is dearer need not be looked at.

    None where what a plan may cost is known, unless one that costs the least there is would end the search.
    """
    few = promising_candidates(problem, keep, bound.with_candidate_usd_per_hour, FEW)
    told = most_usd_per_hour(problem, state) < np.inf and not state.least_usd_per_hour
    if told or few.sum() * MANY > keep.sum():
        return None
    inner = replace(state, clock=state.clock.share(SHARE_OF_FEW), progress=None)
    return _search(problem, few, bound, None, inner)[0]


def _search(
    problem: Problem, keep: Flags, bound: Bound, best: Incumbent | None, state: SearchState
) -> tuple[Incumbent | None, _Boxes]:
    """The best plan, and the boxes that are left when no other is cheaper or a limit ends the search."""
    boxes, worth = _Boxes(), least_usd_of_demands(problem)
    lower = max(bound.usd_per_hour, state.least_usd_per_hour)
    boxes.add(lower, Fullest(np.zeros(len(worth)), np.full(len(worth), np.inf)))
    while boxes.waiting and not state.clock.expired:
        state.best_and_bound(best, boxes.usd_per_hour)
        if best is not None and boxes.usd_per_hour >= best.usd_per_hour * (1 - max(state.relative_gap, EQUAL_COST)):
            break
        box = heapq.heappop(boxes.waiting)
        result, plan, left_out = _looked_at(problem, box, keep, bound, best, state)
        boxes.left_usd_per_hour = min(boxes.left_usd_per_hour, left_out)
        if result.status == "infeasible":
            continue
        lower = max(box.usd_per_hour, result.bound)
        if plan is None:
            boxes.left_usd_per_hour = min(boxes.left_usd_per_hour, lower)
            continue
        carried, lost = _carried_and_lost(problem, plan)
        short = _short(problem, plan)
        if (short <= ENOUGH).all():
            best = cheaper(best, plan)
            if result.status != "optimal":
                boxes.left_usd_per_hour = min(boxes.left_usd_per_hour, lower)
            continue
        enough = _solved(problem, Fullest(lost, lost), keep, bound, best, state)
        best = cheaper(best, enough.plan)
        for half in _halves(box.fullest, int((short * worth).argmax()), carried - 1.0, lost):
            boxes.add(lower, half)
    return best, boxes


def _looked_at(
    problem: Problem, box: _OpenBox, keep: Flags, bound: Bound, best: Incumbent | None, state: SearchState
) -> _Looked:
    """The cheapest plan of a box, or one near it that can't lose its own fullest instance."""
    if best is None:
        return _solved(problem, box.fullest, keep, bound, best, state)
    gap = SHARE_OF_OPEN * (1 - box.usd_per_hour / best.usd_per_hour)
    near = _solved(problem, box.fullest, keep, bound, best, state, gap)
    if near.plan is None or (_short(problem, near.plan) > ENOUGH).any():
        return near
    cheapest = _solved(problem, box.fullest, keep, bound, cheaper(best, near.plan), state)
    if cheapest.plan is not None:
        return cheapest
    proven = cheapest.result.status == "infeasible"
    return near._replace(result=replace(near.result, status="optimal" if proven else "feasible"))


def _solved(
    problem: Problem,
    fullest: Fullest,
    keep: Flags,
    bound: Bound,
    best: Incumbent | None,
    state: SearchState,
    gap: float = 0.0,
) -> _Looked:
    """The cheapest plan of a box, or one that costs no more than a share `gap` above it."""
    most = most_usd_per_hour(problem, state)
    inner = replace(
        state,
        progress=None,
        relative_gap=gap,
        cutoff_usd_per_hour=most if best is None else min(most, best.usd_per_hour),
    )
    asked, cost = replace(problem, fullest=fullest), bound.with_candidate_usd_per_hour
    left = keep & can_beat(problem, bound, best, state)
    listed = affordable(problem, left, cost)
    part = compacted(asked, listed)
    needed = stands_in_force(problem)
    here, contents = contents_within(part.problem, inner.cutoff_usd_per_hour, state.clock)
    needed[part.candidates[here]] = True
    if contents <= MOST_WEIGHED and may_be_exchanged(problem):
        asked = replace(asked, fullest=replace(fullest, weighed=True))
        inner = replace(inner, relative_gap=0.0)
    result, plan = solve_on(asked, needed, inner, state.node_limit)
    state.columns_solved, state.solver = inner.columns_solved, inner.solver
    return _Looked(result, plan, float(cost[left & ~listed].min(initial=np.inf)))


def _short(problem: Problem, plan: Incumbent) -> Floats:
    """(D,) the share of each demand that is missing when a plan loses what one instance of it carries at most."""
    carried, lost = _carried_and_lost(problem, plan)
    return 1.0 + lost - carried


def _carried_and_lost(problem: Problem, plan: Incumbent) -> tuple[Floats, Floats]:
    """(D,) the share of each demand that all carry at full rate, and the most of it that one instance does."""
    share = shares_at_full_rate(problem)
    row, stream, bought = demand_shares(problem, problem.api_streams)
    carried = share @ plan.replicas[0]
    np.add.at(carried, row, bought * (plan.api_flow_per_s / problem.api_streams.reach_per_s)[stream])
    standing = plan.placed.replicas.reshape(len(plan.placed), share.shape[1])
    return carried, (standing @ share.T).max(axis=0, initial=0.0)


def _halves(box: Fullest, demand: int, may_lose: Floats, lost: Floats) -> list[Fullest]:
    """The box cut between what a plan could lose of a demand and what it does lose."""
    cut = (max(may_lose[demand], box.least[demand]) + lost[demand]) / 2
    least, most = box.least.copy(), box.most.copy()
    least[demand] = most[demand] = cut
    return [Fullest(box.least, most), Fullest(least, box.most)]

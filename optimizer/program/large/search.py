"""The search of a large problem: a bound by patterns, a first plan from what it points to, then what is left."""

import numpy as np

from optimizer.base.arrays import Flags
from optimizer.program.formulation.model import Program
from optimizer.program.formulation.variables import lay_out
from optimizer.program.large.patterns import pattern_bound
from optimizer.program.large.restriction import promising_part
from optimizer.program.large.rolling_horizon import counted_by_period, planned_by_windows
from optimizer.program.large.start_costs import Week, bound_over_the_week
from optimizer.program.problem.problem import Problem, Sorted, compacted
from optimizer.program.proof.relaxation import Bound
from optimizer.program.proof.state import Found, Ledger, Machines, machines_of
from optimizer.program.proof.steps import can_beat, cheaper, close_enough, final_solve, result_of, solve_part
from optimizer.program.solver import Answer, Status

WEEK_COLUMNS = 12
"""Candidates besides the bound's mixture that a first plan by windows chooses from."""

LARGE_PARTS = ((0, 200, 3), (100, 200, 5), (400, 400, 5))
"""The same for a large problem: parts tried for a first plan, by candidates besides the mixture, nodes and mixes."""

_NONE = np.zeros(0)


def search_large(problem: Problem, keep: Flags, ledger: Ledger) -> Found:
    """The same with the sharper bound, and a first plan from the part of the problem that it points to."""
    part = compacted(problem, keep)
    with ledger.phase("relaxation"):
        found = pattern_bound(part.problem, ledger.clock)
        week = bound_over_the_week(part.problem, found, ledger.clock) if problem.traffic.start_share.any() else None
        found = found if week is None else week.found
        each = np.full(len(problem.candidates), np.inf)
        each[part.candidates] = found.bound.with_candidate_usd_per_hour
        bound = Bound(found.bound.usd_per_hour, each)
    with ledger.phase("incumbent"):
        incumbent = None if week is None else _planned_over_the_week(part, week, problem, ledger)
        for candidates, nodes, mixes in LARGE_PARTS if ledger.relative_gap else LARGE_PARTS[:1]:
            if close_enough(bound, incumbent, ledger):
                break
            promising = promising_part(part, found, candidates, mixes)
            _, machines = solve_part(promising, problem, ledger, nodes, bound.usd_per_hour)
            incumbent = cheaper(machines, incumbent)
    remaining = keep & can_beat(problem, bound, incumbent, ledger)
    ledger.eliminated["reduced_cost"] = int((keep & ~remaining).sum())
    if close_enough(bound, incumbent, ledger) or ledger.clock.expired:
        ended: Status = "unproven" if incumbent is None else "feasible"
        return result_of(problem, keep, bound, Answer(ended, bound.usd_per_hour, _NONE, _NONE), incumbent, ledger)
    return final_solve(problem, keep, bound, incumbent, ledger)


def _planned_over_the_week(part: Sorted, week: Week, problem: Problem, ledger: Ledger) -> Machines | None:
    """A first plan by windows, where what the policy asks for can be held against a few periods at a time."""
    if not counted_by_period(problem):
        return None
    inner = promising_part(part, week.found, WEEK_COLUMNS)
    estimate = week.instances[:, np.searchsorted(part.offers, inner.offers)]
    enough = week.found.bound.usd_per_hour / (1 - ledger.relative_gap)
    answer = planned_by_windows(inner.problem, estimate, ledger.clock, enough)
    if answer is None:
        return None
    program = Program(inner.problem, lay_out(inner.problem, relaxed=False), {}, relaxed=False)
    return machines_of(answer, program, inner, problem)

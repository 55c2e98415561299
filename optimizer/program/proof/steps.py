"""The steps of every search: solve a part, tell what may still beat the best plan, solve on what is left."""

import numpy as np

from optimizer.base.arrays import Flags
from optimizer.base.units import HOURS_PER_MONTH
from optimizer.program.formulation.model import build_program, hourly_cost, model_proto
from optimizer.program.problem.problem import Problem, Sorted, compacted
from optimizer.program.problem.quantities import stands_in_force
from optimizer.program.proof.relaxation import Bound
from optimizer.program.proof.state import EQUAL_COST, Found, Ledger, Machines, machines_of
from optimizer.program.solver import Answer, integer_solver, solve_integer


def cheaper(one: Machines | None, other: Machines | None) -> Machines | None:
    known = [machines for machines in (one, other) if machines is not None]
    return min(known, key=lambda machines: machines.usd_per_hour) if known else None


def close_enough(bound: Bound, incumbent: Machines | None, ledger: Ledger) -> bool:
    """Whether the plan at hand is already proven within the gap asked for, if one was."""
    if incumbent is None or not ledger.relative_gap:
        return False
    return incumbent.usd_per_hour - bound.usd_per_hour <= ledger.relative_gap * incumbent.usd_per_hour


def can_beat(problem: Problem, bound: Bound | None, incumbent: Machines | None, ledger: Ledger) -> Flags:
    """(C,) candidates whose bound does not exceed the cost of a known plan, the budget or what is of interest."""
    if bound is None:
        return np.ones(len(problem.candidates), dtype=np.bool_)
    ceiling = min(ledger.ceiling_usd_per_hour, np.inf if incumbent is None else incumbent.usd_per_hour)
    if problem.limits.max_monthly_usd is not None:
        ceiling = min(ceiling, problem.limits.max_monthly_usd / HOURS_PER_MONTH)
    return (bound.with_candidate_usd_per_hour <= ceiling * (1 + 10 * EQUAL_COST)) | stands_in_force(problem)


def solve_on(
    problem: Problem, keep: Flags, ledger: Ledger, node_limit: int | None, bound_usd_per_hour: float = 0.0
) -> tuple[Answer, Machines | None]:
    """Solve the program on some of the candidates; machines in the whole problem's index order.

    A plan that the gap asked for allows, given what no plan undercuts, ends it.
    """
    if not keep.any() and not len(problem.apis):
        return Answer("infeasible", np.inf, np.zeros(0), np.zeros(0)), None
    return solve_part(compacted(problem, keep), problem, ledger, node_limit, bound_usd_per_hour)


def solve_part(
    part: Sorted, problem: Problem, ledger: Ledger, node_limit: int | None, bound_usd_per_hour: float
) -> tuple[Answer, Machines | None]:
    """Solve the program of a part of the problem."""
    ledger.columns_solved = len(part.candidates)
    program = build_program(part.problem)
    enough = bound_usd_per_hour / (1 - ledger.relative_gap)
    model, solver = model_proto(program, hourly_cost(program)), integer_solver(problem.traffic.periods)
    answer = solve_integer(model, ledger.clock, solver, node_limit, ledger.relative_gap, enough)
    return answer, machines_of(answer, program, part, problem)


def final_solve(
    problem: Problem, keep: Flags, bound: Bound | None, incumbent: Machines | None, ledger: Ledger
) -> Found:
    """Solve the program on every candidate that no argument has removed."""
    with ledger.phase("final"):
        known = bound.usd_per_hour if bound is not None else 0.0
        left = keep & can_beat(problem, bound, incumbent, ledger)
        answer, machines = solve_on(problem, left, ledger, ledger.node_limit, known)
    return result_of(problem, keep, bound, answer, cheaper(machines, incumbent), ledger)


def result_of(
    problem: Problem, keep: Flags, bound: Bound | None, answer: Answer, machines: Machines | None, ledger: Ledger
) -> Found:
    status = answer.status if machines is None or answer.status == "optimal" else "feasible"
    lower = min(max(answer.bound, bound.usd_per_hour if bound is not None else 0.0), ledger.ceiling_usd_per_hour)
    each = np.zeros(len(problem.candidates)) if bound is None else bound.with_candidate_usd_per_hour
    each = np.where(keep & can_beat(problem, bound, machines, ledger), each, np.inf)
    return Found(status, lower, machines, each)

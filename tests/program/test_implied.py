"""Counts that need not be declared whole: the optimum stays, and rounding them up keeps every row."""

import numpy as np
from hypothesis import given, settings
from support.instances import problems, tiny_problem

from optimizer.base.clock import Clock
from optimizer.program.formulation.implied import must_be_whole
from optimizer.program.formulation.model import build_program, hourly_cost, model_proto
from optimizer.program.formulation.rows import stacked
from optimizer.program.formulation.variables import integers
from optimizer.program.problem.problem import Problem, sorted_problem
from optimizer.program.solver import integer_solver, solve_integer


@settings(max_examples=40)
@given(problems("any", most_candidates=6, several=6))
def test_fewer_whole_numbers_have_the_same_optimum(problem: Problem) -> None:
    problem = sorted_problem(problem).problem
    program = build_program(problem)
    cost, solver = hourly_cost(program), integer_solver(problem.traffic.periods)
    whole = must_be_whole(program, cost)
    plain = solve_integer(model_proto(program, cost), Clock(None), solver)
    fewer = solve_integer(model_proto(program, cost, whole=whole), Clock(None), solver)
    assert fewer.status == plain.status
    if plain.status != "optimal":
        return
    assert np.isclose(cost @ fewer.values, cost @ plain.values, rtol=1e-6)
    values, rows = fewer.values.copy(), stacked(program.families)
    values[integers(program.variables)] = np.ceil(values[integers(program.variables)] - 1e-6)
    total = np.zeros(len(rows.names))
    np.add.at(total, rows.row, rows.value * values[rows.column])
    slack = 1e-5 * (1 + np.abs(values).max(initial=0.0))
    assert (total >= rows.lower - slack).all()
    assert (total <= rows.upper + slack).all()


def test_a_replica_alone_on_its_offer_follows_from_the_instances() -> None:
    program = build_program(sorted_problem(tiny_problem()).problem)
    freed = integers(program.variables) & ~must_be_whole(program, hourly_cost(program))
    # a holds two kinds of replica; b and c one each
    assert np.flatnonzero(freed).tolist() == program.variables.replicas[0, 2:].tolist()


def test_a_limit_on_replicas_keeps_them_whole() -> None:
    program = build_program(sorted_problem(tiny_problem(max_replicas=(("workload", 9),))).problem)
    assert (must_be_whole(program, hourly_cost(program)) == integers(program.variables)).all()

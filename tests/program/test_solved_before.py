"""A program that was solved to proof is not solved again, and counts against a limit of work as if it were."""

import numpy as np
import pytest
from ortools.math_opt import model_pb2, result_pb2

from optimizer.base.clock import Clock
from optimizer.program import solver
from optimizer.program.formulation.model import Columns, assemble
from optimizer.program.formulation.rows import at_least
from optimizer.program.solver import SCIP, SolverResult, solve_integer, solve_linear


def cover(least: float) -> model_pb2.ModelProto:
    """Twelve whole numbers of different worth that must add up to something."""
    count = 12
    row, column = np.zeros(count, dtype=np.int64), np.arange(count)
    rows = at_least(["cover"], least, (row, column, 3.0 + column % 5))
    columns = Columns(np.full(count, 3.0), np.ones(count, dtype=np.bool_))
    return assemble(columns, 1.0 + (column * 7) % 11 / 3, rows)


@pytest.fixture
def solved(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The kinds of solver that are called, in turn."""
    called: list[int] = []
    own = solver.mathopt.solve

    def counting(model: object, kind: int, *rest: object) -> object:
        called.append(kind)
        return own(model, kind, *rest)

    monkeypatch.setattr(solver.mathopt, "solve", counting)
    return called


def same(one: SolverResult, other: SolverResult) -> bool:
    return one.bound == other.bound and one.status == other.status and np.array_equal(one.values, other.values)


def test_the_same_program_is_solved_once_whatever_time_is_left(solved: list[int]) -> None:
    first, again = Clock(50.0), Clock(40.0)
    known = solve_integer(cover(41.5), first)
    assert known.status == "optimal"
    assert same(solve_integer(cover(41.5), again), known)
    assert len(solved) == 1
    assert again.spent_work == first.spent_work


def test_a_program_that_time_ended_is_begun_again_for_more_time_alone(
    solved: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    own = solver._in_a_thread

    def short_of_time(*told: object) -> object:
        result = own(*told)  # type: ignore[arg-type]
        assert result is not None
        result.termination.reason = result_pb2.TERMINATION_REASON_FEASIBLE
        result.termination.limit = result_pb2.LIMIT_TIME
        return result

    monkeypatch.setattr(solver, "_in_a_thread", short_of_time)
    question = Clock(100.0)
    first, again = question.share(0.4), question.share(0.3)
    found = solve_integer(cover(44.5), first)
    assert found.status == "feasible"
    assert same(solve_integer(cover(44.5), again), found)
    assert again.reached == "time limit"
    assert len(solved) == 1
    solve_integer(cover(44.5), question.share(0.9))
    assert len(solved) == 2
    # another question begins anew
    solve_integer(cover(44.5), Clock(10.0))
    assert len(solved) == 3


def test_what_differs_in_anything_that_a_solver_is_told_is_solved(solved: list[int]) -> None:
    clock = Clock()
    solve_integer(cover(42.5), clock)
    solve_integer(cover(43.5), clock)
    solve_integer(cover(42.5), clock, SCIP)
    solve_integer(cover(42.5), clock, node_limit=1000)
    solve_integer(cover(42.5), clock, relative_gap=0.01)
    assert len(solved) == 5


def test_where_no_time_is_left_nothing_is_answered() -> None:
    solve_integer(cover(44.5), Clock())
    assert solve_integer(cover(44.5), Clock(0.0)).status == "unproven"


def test_an_answer_without_proof_is_not_kept(solved: list[int]) -> None:
    for _ in range(2):
        assert solve_integer(cover(45.5), Clock(), SCIP, node_limit=0).status != "optimal"
    assert len(solved) == 2


def test_what_is_kept_cannot_be_written_to() -> None:
    found = solve_integer(cover(46.5), Clock())
    with pytest.raises(ValueError, match="read-only"):
        found.values[0] = 1.0


def test_a_linear_program_begins_where_one_like_it_ended() -> None:
    count = 12
    row, column = np.zeros(count, dtype=np.int64), np.arange(count)
    worth, cost = 3.0 + column % 5, 1.0 + (column * 7) % 11 / 3
    known, more = (
        assemble(Columns.fractions(np.full(count, 3.0)), cost, at_least(["cover"], least, (row, column, worth)))
        for least in (41.5, 43.5)
    )
    clocks = Clock(50.0), Clock(50.0)
    basis = solve_linear(known, Clock(50.0)).basis
    anew, begun = (solve_linear(more, clock, start) for clock, start in zip(clocks, (None, basis), strict=True))
    assert basis is not None
    assert begun.bound == pytest.approx(anew.bound)
    assert clocks[1].spent_work <= clocks[0].spent_work

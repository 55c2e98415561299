"""A linear program that takes less than a thread to wait for it is solved where it is asked."""

import threading

import numpy as np
import pytest
from ortools.math_opt import model_pb2

from optimizer.base.clock import Clock
from optimizer.program import solver
from optimizer.program.formulation.model import Columns, assemble
from optimizer.program.formulation.rows import at_least
from optimizer.program.solver import MOST_ENTRIES_AT_ONCE, solve_integer, solve_linear


def cover(count: int, least: float, *, whole: bool) -> model_pb2.ModelProto:
    """So many numbers of different worth that must add up to something."""
    row, column = np.zeros(count, dtype=np.int64), np.arange(count)
    columns = Columns(np.full(count, 3.0), np.full(count, whole))
    return assemble(columns, 1.0 + (column * 7) % 11 / 3, at_least(["cover"], least, (row, column, 3.0 + column % 5)))


@pytest.fixture
def threads(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Of each call of a solver, whether it was made by the thread of this test."""
    own, solve, seen = threading.current_thread(), solver.mathopt.solve, list[bool]()

    def watched(*told: object) -> object:
        seen.append(threading.current_thread() is own)
        return solve(*told)

    monkeypatch.setattr(solver.mathopt, "solve", watched)
    return seen


@pytest.mark.parametrize(("count", "here"), [(MOST_ENTRIES_AT_ONCE, True), (MOST_ENTRIES_AT_ONCE + 1, False)])
def test_no_thread_waits_for_a_small_linear_program(count: int, here: bool, threads: list[bool]) -> None:
    assert solve_linear(cover(count, 51.5, whole=False), Clock()).status == "optimal"
    assert threads == [here]


def test_an_integer_program_may_take_long_however_small_it_is(threads: list[bool]) -> None:
    assert solve_integer(cover(12, 52.5, whole=True), Clock()).status == "optimal"
    assert threads == [False]


def test_what_it_says_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    here = solve_linear(cover(40, 53.5, whole=False), Clock())
    monkeypatch.setattr(solver, "MOST_ENTRIES_AT_ONCE", 0)
    monkeypatch.setattr(solver, "_REMEMBERED", type(solver._REMEMBERED)())
    apart = solve_linear(cover(40, 53.5, whole=False), Clock())
    assert (here.bound, here.status) == (apart.bound, apart.status)
    assert np.array_equal(here.values, apart.values)
    assert np.array_equal(here.duals, apart.duals)

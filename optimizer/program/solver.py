"""The only call of a solver: a model in, a result with an honest status out, errors translated.

Models and answers pass as the messages that OR-tools itself reads and writes. Its Python objects for variables and rows
would be built from them and taken apart again, which takes as long as a small program's solve.
"""

import threading
from dataclasses import dataclass, field
from typing import Final, Literal, NamedTuple, TypeAlias

import numpy as np
from google.protobuf import duration_pb2
from ortools.math_opt import (
    callback_pb2,
    model_parameters_pb2,
    model_pb2,
    parameters_pb2,
    result_pb2,
    solution_pb2,
    sparse_containers_pb2,
)
from ortools.math_opt.core.python import solver as mathopt
from ortools.math_opt.solvers import highs_pb2
from ortools.math_opt.solvers.gscip import gscip_pb2
from pybind11_abseil.status import StatusNotOk

from optimizer.base.arrays import Floats
from optimizer.base.clock import Clock
from optimizer.base.errors import SolverFailure
from optimizer.program.basis import Basis
from optimizer.program.remembered import SolvedBefore
from optimizer.program.standard_output import kept_clean

Status: TypeAlias = Literal["optimal", "feasible", "infeasible", "unproven"]

SolverName: TypeAlias = Literal["highs", "scip"]


class IntegerSolver(NamedTuple):
    """A solver of programs with whole numbers, and how it is set up.

    Attributes:
        name: Of the solver.
        few_cuts: Whether it soon branches instead of looking for ever more rows that its first node breaks.
    """

    name: SolverName
    few_cuts: bool = False


HIGHS: Final = IntegerSolver("highs")
SCIP: Final = IntegerSolver("scip")
SCIP_WITH_FEW_CUTS: Final = IntegerSolver("scip", few_cuts=True)

INTEGRALITY_TOLERANCE = 1e-7
"""How far a count may be from a whole number, and a row from its bound, inside the solver."""

SCIP_WITHOUT = {"misc/allowstrongdualreds": False, "misc/allowweakdualreds": False, "misc/catchctrlc": False}
"""Dual reductions of SCIP, which cut off the optimum of a week with starts and called a plan 2.4 % dearer optimal; see
`benchmarks/weeks.py`, seed 0, and the test of it. And its own way with interrupts, which made a plan of what it had."""

HIGHS_WITHOUT = dict.fromkeys(
    (f"mip_heuristic_run_{name}" for name in ("rens", "rins", "root_reduced_cost", "feasibility_jump")), False
)
"""Smaller programs that HiGHS solves on the way for a better solution. A search that goes on to its proof is told of
none: of programs of 100 to 2,500 rows it took a third less time without. One that ends early needs what they find."""

MOST_ROWS_WITHOUT = 5_000
"""Rows beyond which a limit of time may well end the search before its proof."""

THREADS = 1
"""Of each solver, whatever the machine has: the same input is to give the same bytes. HiGHS is told `parallel` off."""

OVERRUN = 0.1
"""Share of the time left that is not given to a solver: reading a model in and its last heuristic overrun a limit."""

LOOK_S = 0.1
"""How often a solver that has not answered is looked after."""

MOST_ENTRIES_AT_ONCE = 2_000
"""Of a linear program that GLOP has solved within milliseconds: a thread to wait for would take longer than it."""

LATE, LATE_S = 0.25, 0.5
"""Share of its time limit, and seconds, by which a solver may be late before it is not waited for any longer."""

FEW_CUTS = {"separating/maxroundsroot": 3, "separating/maxroundsrootsubrun": 1, "presolving/maxrestarts": 0}
"""Rounds of rows that SCIP adds to the first node, which are many by default, and how often it begins anew. Where no
period is tied to another they take longer than the few nodes that they save, see the record of decisions."""

MOST_ROWS_ON_SCIP = 3_000
"""Rows beyond which a program for one period is solved by HiGHS, which tells sooner that one has no solution."""

ITERATIONS_PER_NODE = 100
"""Simplex iterations that a node of branch and bound is taken to need where work is limited; most need fewer."""

_STATUS: dict[int, Status] = {
    result_pb2.TERMINATION_REASON_OPTIMAL: "optimal",
    result_pb2.TERMINATION_REASON_FEASIBLE: "feasible",
    result_pb2.TERMINATION_REASON_INFEASIBLE: "infeasible",
    # every cost is positive and every variable starts at zero, so no model here is unbounded
    result_pb2.TERMINATION_REASON_INFEASIBLE_OR_UNBOUNDED: "infeasible",
    result_pb2.TERMINATION_REASON_NO_SOLUTION_FOUND: "unproven",
    # a linear program whose last digits the solver does not vouch for proves nothing; callers do without it
    result_pb2.TERMINATION_REASON_IMPRECISE: "unproven",
}

_GLOP, _FEASIBLE = parameters_pb2.SOLVER_TYPE_GLOP, solution_pb2.SOLUTION_STATUS_FEASIBLE


@dataclass(frozen=True, eq=False)
class SolverResult:
    """What the solver found.

    Attributes:
        status: `optimal` and `infeasible` are proven.
        bound: No solution of the model costs less; minus infinity when nothing is known.
        values: One per column; empty without a solution.
        duals: One per row; empty for integer models.
        basis: Of a linear model, from which one like it may begin.
    """

    status: Status
    bound: float
    values: Floats = field(default_factory=lambda: np.zeros(0))
    duals: Floats = field(default_factory=lambda: np.zeros(0))
    basis: Basis | None = None


class _Asked(NamedTuple):
    """All that a solver is told."""

    model: model_pb2.ModelProto
    solver: int
    parameters: parameters_pb2.SolveParametersProto
    start: model_parameters_pb2.ModelSolveParametersProto = model_parameters_pb2.ModelSolveParametersProto()


_REMEMBERED = SolvedBefore[SolverResult]()


def solve_linear(model: model_pb2.ModelProto, clock: Clock, start: Basis | None = None) -> SolverResult:
    """Solve a model without integers on GLOP, with duals, from where one like it ended if that is told."""
    parameters = parameters_pb2.SolveParametersProto(
        time_limit=_seconds(clock), iteration_limit=clock.left_work(), threads=THREADS
    )
    if start is None:
        return _solve(_Asked(model, _GLOP, parameters), clock)
    # a program that is made smaller first has other corners
    parameters.presolve = parameters_pb2.EMPHASIS_OFF
    return _solve(_Asked(model, _GLOP, parameters, start.told()), clock)


def integer_solver(periods: int, rows: int = 0) -> IntegerSolver:
    """Which solver is fastest, and how it is set up: see the record of decisions.

    Args:
        periods: Of the problem.
        rows: Of the program.
    """
    if periods > 1:
        return SCIP
    return SCIP_WITH_FEW_CUTS if rows <= MOST_ROWS_ON_SCIP else HIGHS


def solve_integer(
    model: model_pb2.ModelProto,
    clock: Clock,
    solver: IntegerSolver = HIGHS,
    node_limit: int | None = None,
    relative_gap: float = 0.0,
    objective_target: float = -np.inf,
    cutoff: float = np.inf,
) -> SolverResult:
    """Solve a model with integers to the gap asked for, or as far as the limits allow.

    On HiGHS a solution that costs no more than `objective_target` ends it, too. On SCIP a model without a solution that
    costs as little as `cutoff` is `infeasible`; HiGHS can't be told. SCIP must be told where a row holds the cost to
    that: it takes such a row for its own limit, drops it, and without a solution within it calls one beyond optimal.
    """
    tolerances = {
        "objective_target": objective_target,
        "mip_feasibility_tolerance": INTEGRALITY_TOLERANCE,
        "primal_feasibility_tolerance": INTEGRALITY_TOLERANCE,
    }
    feasibility = {"numerics/feastol": INTEGRALITY_TOLERANCE}
    to_proof = node_limit is None and len(model.linear_constraints.ids) <= MOST_ROWS_WITHOUT
    highs = highs_pb2.HighsOptionsProto(
        double_options=tolerances,
        string_options={"parallel": "off"},
        bool_options=HIGHS_WITHOUT if to_proof else {},
    )
    scip = gscip_pb2.GScipParameters(
        real_params=feasibility, bool_params=SCIP_WITHOUT, int_params=FEW_CUTS if solver.few_cuts else {}
    )
    parameters = parameters_pb2.SolveParametersProto(
        time_limit=_seconds(clock),
        node_limit=min((each for each in (node_limit, _nodes(clock)) if each is not None), default=None),
        relative_gap_tolerance=relative_gap,
        absolute_gap_tolerance=0.0,
        random_seed=0,
        threads=THREADS if solver.name == "scip" else None,
        cutoff_limit=cutoff if solver.name == "scip" and np.isfinite(cutoff) else None,
        highs=highs,
        gscip=scip,
    )
    kinds = {"highs": parameters_pb2.SOLVER_TYPE_HIGHS, "scip": parameters_pb2.SOLVER_TYPE_GSCIP}
    return _solve(_Asked(model, kinds[solver.name], parameters), clock)


def _seconds(clock: Clock) -> duration_pb2.Duration | None:
    if (left_s := clock.left_s()) is None:
        return None
    seconds, fraction = divmod(left_s * (1 - OVERRUN), 1)
    return duration_pb2.Duration(seconds=int(seconds), nanos=int(fraction * 1e9))


def _given_s(parameters: parameters_pb2.SolveParametersProto) -> float:
    """The seconds that a solver may take; infinite without a limit."""
    limit = parameters.time_limit
    return limit.seconds + limit.nanos / 1e9 if parameters.HasField("time_limit") else np.inf


def _nodes(clock: Clock) -> int | None:
    """Nodes of branch and bound, as far as the work that is left is likely to go."""
    left = clock.left_work()
    return None if left is None else left // ITERATIONS_PER_NODE + 1


def _solve(asked: _Asked, clock: Clock) -> SolverResult:
    """What a solver says of a model, or said before; nothing, where the clock had run out before."""
    nothing = SolverResult("unproven", -np.inf)
    if clock.expired:
        return nothing
    key, given_s = _REMEMBERED.key(*asked), _given_s(asked.parameters)
    if (known := _REMEMBERED.get(key)) is not None:
        answer, iterations = known
        clock.spend(iterations)
        return answer
    if (ended_before := _REMEMBERED.in_less_time(key, clock, given_s)) is not None:
        clock.run_out("time limit")
        return ended_before
    if (result := _told(asked, clock)) is None:
        if clock.reached == "time limit":
            _REMEMBERED.note_ended(key, clock, nothing, given_s)
        return nothing
    _note_limit(clock, result.termination.limit, asked.parameters)
    clock.spend(result.solve_stats.simplex_iterations)
    answer = _read(result, asked.model, asked.parameters.cutoff_limit)
    if answer.status in ("optimal", "infeasible"):
        _REMEMBERED.keep(key, answer, result.solve_stats.simplex_iterations)
    elif result.termination.limit == result_pb2.LIMIT_TIME:
        _REMEMBERED.note_ended(key, clock, answer, given_s)
    return answer


def _told(asked: _Asked, clock: Clock) -> result_pb2.SolveResultProto | None:
    """What a solver answers; None where it was not waited for.

    Raises:
        SolverFailure: it does not take the model.
    """
    small = len(asked.model.linear_constraint_matrix.row_ids) <= MOST_ENTRIES_AT_ONCE
    try:
        with kept_clean():
            return _asked_for(asked) if small and asked.solver == _GLOP else _in_a_thread(asked, clock)
    except (StatusNotOk, ValueError, RuntimeError) as error:
        name = parameters_pb2.SolverTypeProto.Name(asked.solver).removeprefix("SOLVER_TYPE_").lower()
        raise SolverFailure(f"{name} refused the model: {error}") from error


def _read(result: result_pb2.SolveResultProto, model: model_pb2.ModelProto, cutoff: float) -> SolverResult:
    """A solver's answer in our words; whoever is told it again is told the same arrays.

    Raises:
        SolverFailure: it stopped for a reason that says nothing of the model.
    """
    ended = result.termination
    # looked for in vain, not for too short a time
    none_as_cheap = ended.limit == result_pb2.LIMIT_CUTOFF
    status = "infeasible" if none_as_cheap else _STATUS.get(ended.reason)
    if status is None:
        reason = result_pb2.TerminationReasonProto.Name(ended.reason).removeprefix("TERMINATION_REASON_")
        raise SolverFailure(f"the solver stopped: {reason} {ended.detail}")
    values, duals, basis = np.zeros(0), np.zeros(0), None
    if result.solutions:
        best = result.solutions[0]
        basis = Basis.read(best)
        if best.primal_solution.feasibility_status == _FEASIBLE:
            values = _dense(best.primal_solution.variable_values, len(model.variables.ids))
        if best.dual_solution.feasibility_status == _FEASIBLE:
            duals = _dense(best.dual_solution.dual_values, len(model.linear_constraints.ids))
    values.setflags(write=False)
    duals.setflags(write=False)
    return SolverResult(status, cutoff if none_as_cheap else ended.objective_bounds.dual_bound, values, duals, basis)


def _dense(found: sparse_containers_pb2.SparseDoubleVectorProto, count: int) -> Floats:
    """(count,) the numbers by their ids, which count from 0; 0 where none is told."""
    dense = np.zeros(count)
    dense[np.array(found.ids, dtype=np.int64)] = found.values
    return dense


def _asked_for(asked: _Asked) -> result_pb2.SolveResultProto:
    """What the solver answers, in the thread that asks."""
    initializer, registration = parameters_pb2.SolverInitializerProto(), callback_pb2.CallbackRegistrationProto()
    return mathopt.solve(*asked[:2], initializer, *asked[2:], None, registration, None, None)


def _in_a_thread(asked: _Asked, clock: Clock) -> result_pb2.SolveResultProto | None:
    """What the solver answers, awaited in a way that an interrupt ends at once.

    None where it is late by far, or the process holds all that it may; the clock is told which. Python hears signals
    between its own steps only, never inside a solver's code, and HiGHS stops for no interrupter, nor for its time limit
    in some loops of its root node: one that is interrupted, or late, is left behind in its thread, which holds nothing
    and ends with its own limit or with the process.
    """
    answered = threading.Event()
    found: list[result_pb2.SolveResultProto | BaseException] = []

    def run() -> None:
        try:
            found.append(_asked_for(asked))
        except BaseException as error:  # noqa: BLE001 (raised again where the solver was called)
            found.append(error)
        answered.set()

    threading.Thread(target=run, daemon=True).start()
    given_s = _given_s(asked.parameters)
    late = Clock(None if given_s == np.inf else given_s * (1 + LATE) + LATE_S)
    while not answered.wait(LOOK_S):
        if clock.out_of_memory:
            clock.run_out("memory limit")
            return None
        if late.expired:
            clock.run_out("time limit")
            return None
    if isinstance(found[0], BaseException):
        raise found[0]
    return found[0]


def _note_limit(clock: Clock, limit: int, parameters: parameters_pb2.SolveParametersProto) -> None:
    """Tell the clock where the solver was stopped by what was left of it, not by a limit of the caller's own."""
    if limit == result_pb2.LIMIT_TIME:
        clock.run_out("time limit")
    elif limit == result_pb2.LIMIT_ITERATION or (
        limit == result_pb2.LIMIT_NODE and parameters.node_limit == _nodes(clock)
    ):
        clock.run_out("work limit")

"""The model handed to the solver: variables, active families and objective, assembled from arrays."""

from dataclasses import dataclass

import numpy as np
from ortools.math_opt import model_pb2

from optimizer.base.arrays import Flags, Floats, Ints
from optimizer.program.formulation.objective import cost_usd_per_hour
from optimizer.program.formulation.registry import active_families
from optimizer.program.formulation.rows import Rows
from optimizer.program.formulation.variables import Variables, integers, lay_out, names, upper_bounds
from optimizer.program.problem.problem import Problem


@dataclass(frozen=True, eq=False)
class Program:
    """A problem's rows and columns, ready for any objective.

    Attributes:
        problem: What it was built from.
        variables: Where each decision sits.
        families: The rows of each active family, by name.
        relaxed: Whether counts may be fractions and families with binaries are left out.
    """

    problem: Problem
    variables: Variables
    families: dict[str, Rows]
    relaxed: bool


def build_program(problem: Problem, relaxed: bool = False) -> Program:
    """Variables and one block of rows per active family."""
    variables = lay_out(problem, relaxed)
    families = active_families(problem, relaxed)
    return Program(problem, variables, {family.name: family.rows(problem, variables) for family in families}, relaxed)


def hourly_cost(program: Program) -> Floats:
    """The objective: the month's bill divided by its hours, see `cost`."""
    return cost_usd_per_hour(program.problem, program.variables)


def model_proto(program: Program, objective: Floats, *extra: Rows) -> model_pb2.ModelProto:
    """The model that minimizes `objective` (one coefficient per column) under all families and the extra rows."""
    variables = program.variables
    whole = integers(variables) & (not program.relaxed)
    columns = Columns(names(program.problem, variables), upper_bounds(variables, program.relaxed), whole)
    return assemble(columns, objective, [*program.families.values(), *extra])


@dataclass(frozen=True, eq=False)
class Columns:
    """The variables of a model, all at least 0: names, upper bounds and which are whole numbers."""

    names: list[str]
    upper: Floats
    whole: Flags


def assemble(columns: Columns, objective: Floats, blocks: list[Rows]) -> model_pb2.ModelProto:
    """The model that minimizes `objective` under blocks of rows; the same arrays give the same bytes."""
    model = model_pb2.ModelProto(name="deployment")
    model.variables.ids.extend(range(len(columns.names)))
    model.variables.names.extend(columns.names)
    model.variables.lower_bounds.extend([0.0] * len(columns.names))
    model.variables.upper_bounds.extend(columns.upper.tolist())
    model.variables.integers.extend(columns.whole.tolist())
    priced = np.flatnonzero(objective)
    model.objective.linear_coefficients.ids.extend(priced.tolist())
    model.objective.linear_coefficients.values.extend(objective[priced].tolist())
    _write_rows(model, blocks)
    return model


def _write_rows(model: model_pb2.ModelProto, blocks: list[Rows]) -> None:
    offsets = np.cumsum([0, *(len(block.names) for block in blocks)])
    rows = model.linear_constraints
    rows.ids.extend(range(int(offsets[-1])))
    for block in blocks:
        rows.names.extend(block.names)
        rows.lower_bounds.extend(block.lower.tolist())
        rows.upper_bounds.extend(block.upper.tolist())
    row = np.concatenate([block.row + offset for block, offset in zip(blocks, offsets[:-1], strict=True)])
    column = np.concatenate([block.column for block in blocks])
    _write_matrix(model, row, column, np.concatenate([block.value for block in blocks]))


def _write_matrix(model: model_pb2.ModelProto, row: Ints, column: Ints, value: Floats) -> None:
    """Entries in the order of rows, then columns; zeros are left out."""
    order = np.lexsort((column, row))
    order = order[value[order] != 0]
    matrix = model.linear_constraint_matrix
    matrix.row_ids.extend(row[order].tolist())
    matrix.column_ids.extend(column[order].tolist())
    matrix.coefficients.extend(value[order].tolist())

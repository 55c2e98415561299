"""The model handed to the solver: variables, active families and objective, assembled from arrays."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from ortools.math_opt import model_pb2

from optimizer.base.arrays import Flags, Floats
from optimizer.program.formulation.objective import cost_usd_per_hour
from optimizer.program.formulation.registry import active_families
from optimizer.program.formulation.rows import Rows, stacked
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

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return sum(len(rows.names) for rows in self.families.values())


def build_program(problem: Problem, relaxed: bool = False) -> Program:
    """Variables and one block of rows per active family."""
    variables = lay_out(problem, relaxed)
    families = active_families(problem, relaxed)
    return Program(problem, variables, {family.name: family.rows(problem, variables) for family in families}, relaxed)


def hourly_cost(program: Program) -> Floats:
    """The objective: the month's bill divided by its hours, see `cost`."""
    return cost_usd_per_hour(program.problem, program.variables)


def model_proto(
    program: Program,
    objective: Floats,
    extra: Mapping[str, Rows] | None = None,
    whole: Flags | None = None,
    *,
    named: bool = False,
) -> model_pb2.ModelProto:
    """The model that minimizes `objective` (one coefficient per column) under all families and the extra rows.

    The columns where `whole` is true are whole numbers; by default all that the program says, none when relaxed.
    Names are for those who read a model file: to make and to hand them over takes as long as a small program's rows.
    """
    variables = program.variables
    if whole is None:
        whole = integers(variables) & (not program.relaxed)
    rows = stacked({**program.families, **(extra or {})})
    model = assemble(Columns(upper_bounds(variables, program.relaxed), whole), objective, rows)
    if named:
        model.variables.names.extend(names(program.problem, variables))
        model.linear_constraints.names.extend(rows.names)
    return model


@dataclass(frozen=True, eq=False)
class Columns:
    """The variables of a model, all at least 0: upper bounds and which are whole numbers."""

    upper: Floats
    whole: Flags

    @classmethod
    def fractions(cls, upper: Floats) -> "Columns":
        """Variables none of which need be a whole number."""
        return cls(upper, np.zeros(len(upper), dtype=np.bool_))


def assemble(columns: Columns, objective: Floats, rows: Rows) -> model_pb2.ModelProto:
    """The model that minimizes `objective` under the rows; the same arrays give the same bytes."""
    model = model_pb2.ModelProto(name="deployment")
    model.variables.ids.extend(range(len(columns.upper)))
    model.variables.lower_bounds.extend([0.0] * len(columns.upper))
    model.variables.upper_bounds.extend(columns.upper.tolist())
    model.variables.integers.extend(columns.whole.tolist())
    priced = np.flatnonzero(objective)
    model.objective.linear_coefficients.ids.extend(priced.tolist())
    model.objective.linear_coefficients.values.extend(objective[priced].tolist())
    model.linear_constraints.ids.extend(range(len(rows.names)))
    model.linear_constraints.lower_bounds.extend(rows.lower.tolist())
    model.linear_constraints.upper_bounds.extend(rows.upper.tolist())
    # entries in the order of rows, then columns; zeros are left out
    order = np.lexsort((rows.column, rows.row))
    order = order[rows.value[order] != 0]
    model.linear_constraint_matrix.row_ids.extend(rows.row[order].tolist())
    model.linear_constraint_matrix.column_ids.extend(rows.column[order].tolist())
    model.linear_constraint_matrix.coefficients.extend(rows.value[order].tolist())
    return model

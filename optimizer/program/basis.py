"""Where a linear program is begun: at the corner where one like it ended, a few pivots from its own optimum."""

from typing import Final, NamedTuple, Self

import numpy as np
from ortools.math_opt import model_parameters_pb2, solution_pb2

from optimizer.base.arrays import Ints

IN_BASIS: Final = solution_pb2.BASIS_STATUS_BASIC
AT_LOWER_BOUND: Final = solution_pb2.BASIS_STATUS_AT_LOWER_BOUND
"""Of a column or row that the program before did not have: a row is in the basis, a column at its lower bound."""


class Basis(NamedTuple):
    """The status of each column and row at a corner, in the solver's numbers."""

    columns: Ints
    rows: Ints

    @classmethod
    def read(cls, solution: solution_pb2.SolutionProto) -> Self | None:
        """Where a solver ended; None where it does not say."""
        if not solution.HasField("basis"):
            return None
        found = (solution.basis.variable_status.values, solution.basis.constraint_status.values)
        return cls(*(np.array(values, dtype=np.int64) for values in found))

    def told(self) -> model_parameters_pb2.ModelSolveParametersProto:
        """The same as a solver is told it."""
        parameters = model_parameters_pb2.ModelSolveParametersProto()
        begun = parameters.initial_basis
        for vector, statuses in ((begun.variable_status, self.columns), (begun.constraint_status, self.rows)):
            vector.ids.extend(range(len(statuses)))
            vector.values.extend(statuses.tolist())
        return parameters

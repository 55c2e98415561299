"""Which counts of replicas need not be declared whole, because a whole number follows from the instances they stand on.

A program with fewer whole numbers is solved sooner; where each offer holds one kind of replica, half of them go.

Proof. Let r be a column that costs nothing, of which every row but one is only loosened when it rises, and let that one
row say r <= s n with s and n whole. Take a solution in which such columns are fractions and round each up. As s n is
whole, it is still at most s n; every other row is loosened; the cost is the same. So the program with fractions in
these columns has the optimum of the program without, and rounding its solutions up gives plans.
"""

import numpy as np

from optimizer.base.arrays import Flags, Floats, Ints
from optimizer.program.formulation.model import Program
from optimizer.program.formulation.rows import stacked
from optimizer.program.formulation.variables import integers


def must_be_whole(program: Program, objective: Floats) -> Flags:
    """(columns,) which columns are whole numbers in a model that minimizes `objective`."""
    whole, rows = integers(program.variables), stacked(program.families)
    replicas = np.zeros(len(whole), dtype=np.bool_)
    replicas[program.variables.replicas] = True
    # entry -> whether its row is harder to keep when the column rises
    rising = rows.value > 0
    tightens = np.where(rising, np.isfinite(rows.upper)[rows.row], np.isfinite(rows.lower)[rows.row])
    tightens &= rows.value != 0
    held = np.flatnonzero(tightens & replicas[rows.column])
    once = np.bincount(rows.column[held], minlength=len(whole)) == 1
    held = held[once[rows.column[held]] & _caps(rows.row, rows.upper)[held] & rising[held]]
    # the other entry of a row of two
    total = np.bincount(rows.row, weights=np.arange(len(rows.row)), minlength=len(rows.names))
    other = (total[rows.row[held]] - held).astype(np.int64)
    most = -rows.value[other] / rows.value[held]
    counted = whole[rows.column[other]] & ~replicas[rows.column[other]] & (most == np.rint(most)) & (most >= 0)
    column = rows.column[held[counted]]
    whole[column[objective[column] == 0]] = False
    return whole


def _caps(row: Ints, upper: Floats) -> Flags:
    """(N,) whether an entry stands in a row of two that says: at most 0."""
    return np.asarray((np.bincount(row, minlength=len(upper)) == 2)[row] & (upper == 0)[row])

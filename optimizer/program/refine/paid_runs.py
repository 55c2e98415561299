"""The bill of instances that are paid for a least time once started: the cheapest runs that cover what runs."""

from dataclasses import dataclass

import numpy as np

from optimizer.base.arrays import Ints
from optimizer.base.errors import SolverFailure
from optimizer.program.formulation.model import Columns, assemble
from optimizer.program.formulation.rows import at_least
from optimizer.program.problem.billing_cells import Cells, cells_of_week
from optimizer.program.solver import Clock, solve_integer


@dataclass(frozen=True)
class PaidRun:
    """So many instances on the bill from an hour of the week, Monday 0 h first, for so many hours, every week."""

    first_hour: int
    hours: int
    instances: int


def paid_runs(hour_to_period: Ints, running: Ints, minimum_hours: int) -> tuple[PaidRun, ...]:
    """The runs that cover what runs of one offer in the fewest hours paid for.

    Args:
        hour_to_period: (H,) the period of each hour of the week.
        running: (T,) instances that run in each period.
        minimum_hours: What each is paid for at least, at most H.

    Raises:
        SolverFailure: They were not found.
    """
    cells = cells_of_week(hour_to_period, minimum_hours)
    if len(cells) == 1:
        return (PaidRun(0, len(hour_to_period), int(running[cells.period[0]])),)
    n, number = running[cells.period].astype(float), np.arange(len(cells))
    row, begun = cells.recently_begun(len(hour_to_period), np.full(len(cells), minimum_hours))
    ones = np.ones(len(cells))
    rises = at_least(
        [f"rise[{at}]" for at in number],
        n - n[cells.previous],
        (number, len(cells) + number, ones),
        (number, number, -ones),
        (number, cells.previous, ones),
    )
    kept = at_least(
        [f"kept[{at}]" for at in number],
        -n,
        (number, number, ones),
        (row, len(cells) + begun, -np.ones(len(row))),
    )
    names = [f"{what}[{at}]" for what in ("lingering", "begun") for at in number]
    columns = Columns(names, np.full(len(names), np.inf), np.ones(len(names), dtype=np.bool_))
    answer = solve_integer(assemble(columns, np.append(cells.hours, 0 * ones), [rises, kept]), Clock(None))
    if answer.status != "optimal":
        raise SolverFailure(f"hours paid beyond those that run: {answer.status}")
    lingering, starts = np.rint(answer.values).astype(np.int64).reshape(2, -1)
    return _first_in_first_out(cells, running[cells.period] + lingering, starts, len(hour_to_period))


def _first_in_first_out(cells: Cells, paid: Ints, begun: Ints, week: int) -> tuple[PaidRun, ...]:
    """The runs of a repeating week: what was begun first leaves first."""
    if not begun.any():
        return (PaidRun(0, week, int(paid[0])),) if paid.any() else ()
    weeks = int(paid.max()) // int(begun.sum()) + 3
    queue: list[int | None] = [None] * int(paid[-1])
    found: dict[tuple[int, int], int] = {}
    for number in range(weeks):
        for at, hour in enumerate((cells.first_hour + number * week).tolist()):
            for _ in range(int(paid[at - 1] + begun[at] - paid[at])):
                started = queue.pop(0)
                if number == weeks - 1 and started is not None:
                    run = (started % week, hour - started)
                    found[run] = found.get(run, 0) + 1
            queue += [hour] * int(begun[at])
    return tuple(PaidRun(*run, count) for run, count in sorted(found.items()))

"""The bill of instances that are paid for a least time once started: the cheapest runs that cover what runs."""

from collections import Counter
from dataclasses import dataclass

import numpy as np

from optimizer.base.arrays import Ints
from optimizer.base.clock import Clock
from optimizer.base.errors import SolverFailure
from optimizer.program.formulation.model import Columns, assemble
from optimizer.program.formulation.rows import at_least, numbered, stacked
from optimizer.program.problem.billing_cells import Cells, cells_of_week
from optimizer.program.problem.problem import Problem
from optimizer.program.solver import solve_integer


@dataclass(frozen=True)
class PaidHours:
    """So many instances on the bill from an hour of the week, Monday 0 h first, for so many hours, every week."""

    first_hour: int
    hours: int
    instances: int


def paid_runs(hour_to_period: Ints, running: Ints, minimum_hours: int) -> tuple[PaidHours, ...]:
    """The runs that cover what runs of one offer in the fewest hours paid for.

    Args:
        hour_to_period: (H,) the period of each hour of the week.
        running: (T,) instances that run in each period.
        minimum_hours: What each is paid for at least, at most H.

    Raises:
        SolverFailure: They were not found.
    """
    cells, week = cells_of_week(hour_to_period, minimum_hours), len(hour_to_period)
    if len(cells) == 1:
        return (PaidHours(0, week, int(running[cells.period[0]])),)
    billed_idle, started = _cheapest_bill(cells, running, week, minimum_hours)
    return _first_in_first_out(cells, running[cells.period] + billed_idle, started, week)


def billed_idle_usd_per_hour(problem: Problem, instances: Ints) -> float:
    """What (T, O) instances cost at least beyond the hours that they run, where a least time is billed.

    Raises:
        SolverFailure: The runs of an offer were not found.
    """
    offers, hours, least = problem.offers, problem.billing.hour_to_period, problem.billing.minimum_hours
    if not problem.has_minimum_billing:
        return 0.0
    by_hour, cost = np.where(offers.always_paid, 0.0, offers.price_usd_per_hour), 0.0
    for offer in np.flatnonzero((least > 1) & (by_hour > 0) & instances.any(axis=0)).tolist():
        running = instances[:, offer]
        paid = sum(run.hours * run.instances for run in paid_runs(hours, running, int(least[offer])))
        cost += float(by_hour[offer]) * (paid - int(running[hours].sum())) / len(hours)
    return cost


def _cheapest_bill(cells: Cells, running: Ints, week: int, minimum_hours: int) -> Ints:
    """(2, Q) instances paid for beyond those that run, and put on the bill, for the fewest hours."""
    instances, cell = running[cells.period].astype(float), np.arange(len(cells))
    idle, started = cell, len(cells) + cell
    kept, recent = cells.recently_started(week, np.full(len(cells), minimum_hours))
    rows = {
        "rise": at_least(
            numbered("rise", len(cells)),
            instances - instances[cells.previous],
            (cell, started, 1.0),
            (cell, idle, -1.0),
            (cell, idle[cells.previous], 1.0),
        ),
        "kept": at_least(numbered("kept", len(cells)), -instances, (cell, idle, 1.0), (kept, started[recent], -1.0)),
    }
    columns = Columns(np.full(2 * len(cells), np.inf), np.ones(2 * len(cells), dtype=np.bool_))
    hours = np.append(cells.hours.astype(float), np.zeros(len(cells)))
    result = solve_integer(assemble(columns, hours, stacked(rows)), Clock())
    if result.status != "optimal":
        raise SolverFailure(f"hours paid beyond those that run: {result.status}")
    return np.rint(result.values).astype(np.int64).reshape(2, -1)


def _first_in_first_out(cells: Cells, paid: Ints, started: Ints, week: int) -> tuple[PaidHours, ...]:
    """The runs of a repeating week: what was put on the bill first leaves first.

    Args:
        cells: Of the week.
        paid, started: (Q,) instances on the bill in a cell, and put on it as the cell begins.
        week: Its hours.
    """
    if not started.any():
        return (PaidHours(0, week, int(paid[0])),) if paid.any() else ()
    leaving = np.roll(paid, 1) + started - paid
    put, gone = np.cumsum(started), np.cumsum(leaving)
    a_week, there_before = int(put[-1]), int(paid[-1])
    # those that leave in a week, told apart where either end of their run is another
    last = np.unique(np.concatenate([gone, (put + there_before) % a_week, put[-1:]]))
    last = last[last > 0]
    first = np.append(0, last[:-1])
    # who leaves is as many places ahead of the next to come as were there when the week began
    weeks_before, place = np.divmod(first - there_before, a_week)
    begin = cells.first_hour[np.searchsorted(put, place, side="right")]
    end = cells.first_hour[np.searchsorted(gone, first, side="right")]
    runs: Counter[tuple[int, int]] = Counter()
    for hour, hours, count in zip(begin, end - begin - weeks_before * week, last - first, strict=True):
        runs[int(hour), int(hours)] += int(count)
    return tuple(PaidHours(*run, count) for run, count in sorted(runs.items()))

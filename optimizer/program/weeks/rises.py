"""What starts and least billed times add to the least that each period costs alone.

Let running[t] be what the instances that run in an hour of t cost, all offers together, and billed[h] what those on the
bill in hour h of the week do. The price of what runs rises from t to u by no more than the price of what is started
there, and a start costs so much in the time that it takes. So whatever runs, a plan costs at least

    sum over hours h of billed[h] + sum of hours[t] sent[t] + sum over changes of start_share[t,u] started[t,u]
    with  running[t] + sent[t] >= least[t],   started[t,u] >= running[u] - running[t],   billed[h] >= running[t(h)],
          begun[h] >= billed[h] - billed[h-1],   billed[h] >= sum of begun over the least billed hours up to h,

and sent[t] no more than sending all answers can cost. The least of this is a linear program in a few numbers for each
hour and bounds the week. It knows of no offers: any machine may go on as any other of its price.
"""

from typing import NamedTuple

import numpy as np

from optimizer.base.arrays import Floats, Ints
from optimizer.base.clock import Clock
from optimizer.program.formulation.model import Columns, assemble
from optimizer.program.formulation.objective import egress_table_usd_per_hour
from optimizer.program.formulation.rows import Rows, at_least, by_name, numbered, stacked
from optimizer.program.problem.problem import Problem
from optimizer.program.solver import solve_linear


class _Columns(NamedTuple):
    """Of the program: running and sent (T,), started (X,), billed and begun (H,); no hours where none are counted."""

    running: Ints
    sent: Ints
    started: Ints
    billed: Ints
    begun: Ints


class Rises(NamedTuple):
    """USD/h that no plan of the week undercuts, and what a start at each change (X,) is worth of an instance's price.

    The worth is a share of the month, no more than is billed for a start. An instance that much dearer after each
    change and cheaper before it, all offers alike, makes the least of each period alone add up to the bound, as long as
    nothing is sent and no least time is billed.
    """

    usd_per_hour: float
    worth: Floats


def with_rises(problem: Problem, least: Floats, clock: Clock) -> float:
    """USD/h that no plan of the week undercuts, see `rises_of`."""
    return rises_of(problem, least, clock).usd_per_hour


def rises_of(problem: Problem, least: Floats, clock: Clock) -> Rises:
    """What starts and least billed times add to what periods cost alone.

    Args:
        problem: The week, in which nothing is paid all month.
        least: (T,) USD/h that an hour of each period costs at least, once all month long.
        clock: Of the search.
    """
    traffic = problem.traffic
    before, after = traffic.changes
    apart = Rises(float(traffic.share_of_month @ least), np.zeros(len(before)))
    # what hosted APIs are sent may rise instead of what runs
    if len(problem.apis) or not (len(before) or problem.has_minimum_billing):
        return apart
    week = len(problem.billing.hour_to_period) if problem.has_minimum_billing else 0
    sizes = (traffic.periods, traffic.periods, len(before), week, week)
    at = _Columns(*np.split(np.arange(sum(sizes)), np.cumsum(sizes)[:-1]))
    cost, upper = np.zeros(sum(sizes)), np.full(sum(sizes), np.inf)
    cost[at.sent], upper[at.sent] = traffic.share_of_month, _most_for_sending(problem)
    cost[at.started] = traffic.start_share[before, after]
    rows = {
        "least": at_least(
            numbered("least", len(least)), least, (at.running, at.running, 1.0), (at.running, at.sent, 1.0)
        ),
        "started": _no_less("started", at.started, (at.running[after], at.running[before])),
    }
    if week:
        cost[at.billed] = 1.0 / week
        rows |= _billed(problem, at)
    else:
        cost[at.running] = traffic.share_of_month
    result = solve_linear(assemble(Columns.fractions(upper), cost, stacked(rows)), clock)
    if result.status != "optimal" or result.bound <= apart.usd_per_hour:
        return apart
    return Rises(result.bound, np.abs(by_name(rows, result.duals)["started"]))


def _no_less(name: str, column: Ints, more: tuple[Ints, ...]) -> Rows:
    """Each column is no less than another one, or than another one beyond a third."""
    row, (first, *rest) = np.arange(len(column)), more
    others = [(row, taken, 1.0) for taken in rest]
    return at_least(numbered(name, len(row)), 0.0, (row, column, 1.0), (row, first, -1.0), *others)


def _billed(problem: Problem, at: _Columns) -> dict[str, Rows]:
    """What is on the bill in each hour: what runs, and what was put on it in so many hours as the least billed time."""
    billing, hour = problem.billing, np.arange(len(at.billed))
    shortest = min(int(billing.minimum_hours.min()), len(hour))
    # each hour with those up to it in which what is begun is on the bill still
    recent = (hour[:, None] - np.arange(shortest)) % len(hour)
    kept = at_least(
        numbered("kept", len(hour)),
        0.0,
        (hour, at.billed, 1.0),
        (np.repeat(hour, shortest), at.begun[recent.ravel()], -1.0),
    )
    return {
        "billed": _no_less("billed", at.billed, (at.running[billing.hour_to_period],)),
        "begun": _no_less("begun", at.begun, (at.billed, at.billed[hour - 1])),
        "kept": kept,
    }


def _most_for_sending(problem: Problem) -> Floats:
    """(T,) USD/h that sending the answers of an hour of a period costs, at most."""
    if not problem.egress.charged:
        return np.zeros(problem.traffic.periods)
    # the reach of every mix, which is no less than what is sent of it
    table = egress_table_usd_per_hour(problem).max(axis=1, initial=0.0)
    most: Floats = table.sum(axis=1) / problem.traffic.share_of_month
    return most

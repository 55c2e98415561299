"""The master problem over plans of single periods: the cheapest mixture in each, what joins them, and its prices."""

from dataclasses import dataclass

import numpy as np

from optimizer.base.arrays import Flags, Floats, Ints
from optimizer.base.clock import Clock
from optimizer.program.formulation.model import Columns, assemble
from optimizer.program.formulation.rows import at_least, between, numbered, stacked
from optimizer.program.large.column_generation import IN_MIXTURE
from optimizer.program.problem.problem import Problem
from optimizer.program.solver import solve_linear


@dataclass(frozen=True, eq=False)
class PeriodPlan:
    """A plan of one period: what it costs but for instances paid all month and starts, and its instances (O,)."""

    period: int
    usd_per_hour: float
    instances: Floats


@dataclass(frozen=True, eq=False)
class PeriodMixture:
    """The master's optimum.

    Attributes:
        value: Its cost; no prices give a higher bound from plans that are all in the master.
        always: (T, O) price in each period of what is paid all month.
        moved: (O, X) price of a start at each change.
        runs: (O,) offers of which some plan in the mixture runs an instance.
    """

    value: float
    always: Floats
    moved: Floats
    runs: Flags


def mixture_of(problem: Problem, plans: list[PeriodPlan], clock: Clock) -> PeriodMixture | None:
    """The cheapest mixture of plans in each period, joined; None where a period has no plan or time ran out.

    Minimize cost of plans by weight + price x count + start cost x starts, where the weights of each period's plans sum
    to 1, a count is at least what each period's mixture runs, and starts at least what it rises by.
    """
    traffic, offers, periods = problem.traffic, problem.offers, problem.traffic.periods
    before, after = traffic.changes
    always, elastic = np.flatnonzero(offers.always_paid), np.flatnonzero(~offers.always_paid)
    if len({plan.period for plan in plans}) < periods:
        return None
    period, cost = np.array([plan.period for plan in plans]), np.array([plan.usd_per_hour for plan in plans])
    instances = np.array([plan.instances for plan in plans])
    start = offers.price_usd_per_hour[elastic, None] * traffic.start_share[before, after]
    first_count, first_start = len(plans), len(plans) + len(always)
    plan_at, held = np.nonzero(instances[:, always])
    run_at, runs = np.nonzero(instances[:, elastic])
    changes = np.arange(len(before))
    # entry (plan, offer) -> its rows among the changes that begin and that end in its period
    rising = [np.flatnonzero(after == t) for t in range(periods)]
    falling = [np.flatnonzero(before == t) for t in range(periods)]
    more, less = (_at_changes(run_at, period, each) for each in (rising, falling))
    number = instances[:, elastic]
    start_row = np.arange(start.size)
    rows = stacked(
        {
            "one": between(numbered("one", periods), 1.0, 1.0, (period, np.arange(len(plans)), 1.0)),
            "count": at_least(
                numbered("count", periods * len(always)),
                0.0,
                (np.arange(periods * len(always)), first_count + np.tile(np.arange(len(always)), periods), 1.0),
                (period[plan_at] * len(always) + held, plan_at, -instances[:, always][plan_at, held]),
            ),
            "starts": at_least(
                numbered("starts", start.size),
                0.0,
                (start_row, first_start + start_row, 1.0),
                *(
                    (runs[entry] * len(changes) + change, run_at[entry], sign * number[run_at, runs][entry])
                    for (entry, change), sign in ((more, -1.0), (less, 1.0))
                ),
            ),
        }
    )
    objective = np.concatenate([cost, offers.price_usd_per_hour[always], start.ravel()])
    columns = Columns.fractions(numbered("column", len(objective)), np.full(len(objective), np.inf))
    result = solve_linear(assemble(columns, objective, rows), clock)
    if result.status != "optimal" or not len(result.duals):
        return None
    price, moved = np.zeros((periods, len(offers))), np.zeros((len(offers), len(changes)))
    price[:, always] = np.maximum(result.duals[rows.blocks["count"]], 0.0).reshape(periods, len(always))
    moved[elastic] = np.maximum(result.duals[rows.blocks["starts"]], 0.0).reshape(start.shape)
    mixed = np.asarray((instances[result.values[:first_count] > IN_MIXTURE] > 0).any(axis=0))
    return PeriodMixture(float(objective @ result.values), price, moved, mixed)


def _at_changes(plan: Ints, period: Ints, changes: list[Ints]) -> tuple[Ints, Ints]:
    """Each entry with every change of its plan's period."""
    listed = [changes[period[p]] for p in plan.tolist()]
    entry = np.repeat(np.arange(len(plan)), [len(each) for each in listed])
    return entry, np.concatenate([*listed, np.zeros(0, dtype=np.int64)])

"""A first plan for many periods: whole machines for all month from the relaxation, then a few periods at a time.

What is paid all month is rounded to whole instances first: a program in which only those counts are whole. Then window
by window the counts of a few periods are chosen, given what runs in every other period, so that a start is weighed
against the machine that could have kept running. Where no plan is known yet, the relaxation's counts stand for it.
Later passes shift the windows by half and keep what became cheaper. Every plan so found keeps every promise that counts
period by period; it is a plan to start from, and proves nothing.
"""

from dataclasses import replace

import numpy as np

from optimizer.base.arrays import Flags, Floats, Ints
from optimizer.base.clock import Clock
from optimizer.program.formulation.changes import starts
from optimizer.program.formulation.model import build_program, hourly_cost, model_proto
from optimizer.program.formulation.objective import cost_usd_per_hour
from optimizer.program.formulation.rows import between, numbered
from optimizer.program.formulation.variables import Variables, lay_out
from optimizer.program.problem.data import Traffic
from optimizer.program.problem.problem import Problem
from optimizer.program.proof.state import starts_of
from optimizer.program.solver import SCIP, SolverResult, solve_integer

WINDOW, MOST_PASSES = 2, 6
"""Periods chosen together, and how often all are gone through."""

WINDOW_GAP, WINDOW_NODES, ROUNDING_NODES, LEAST_FALL = 1e-3, 500, 50, 2e-5
"""Where the search for a window's counts, for those paid all month, and the passes may end."""

ROUNDING = 1e-6
"""How far below a whole number the relaxation's count of as many may be."""


def counted_by_period(problem: Problem) -> bool:
    """Whether every promise is one on single periods, so that periods can be planned one after the other."""
    return all(item.scope == "period" for item in problem.limits.in_force) and not problem.has_minimum_billing


def planned_by_windows(
    problem: Problem, estimate: Floats, clock: Clock, target_usd_per_hour: float
) -> SolverResult | None:
    """Values of every column of the program; None where no plan was found.

    Args:
        problem: Promising candidates only, `counted_by_period`.
        estimate: (T, O) fractional instances of a relaxation.
        clock: After which the plan so far is taken.
        target_usd_per_hour: A plan that costs no more ends the passes.
    """
    periods = problem.traffic.periods
    paid_always = _paid_always(problem, clock)
    if paid_always is None:
        return None
    plan = _Plan(problem, np.where(problem.offers.always_paid, paid_always, np.floor(estimate + ROUNDING)))
    first = clock.part()
    for number in range(MOST_PASSES):
        before, shift = plan.usd_per_hour, WINDOW // 2 * (number % 2)
        for start in range(shift, periods + shift, WINDOW):
            found = plan.improve(np.unique(np.arange(start, start + WINDOW) % periods), clock)
            if not number and not (found and _in_time(first, (start + WINDOW) / periods)):
                return None
        cost = plan.usd_per_hour
        if clock.expired or cost <= target_usd_per_hour or (number and cost > before * (1 - LEAST_FALL)):
            break
    return SolverResult("feasible", -np.inf, plan.values)


def _in_time(first: Clock, done: float) -> bool:
    """Whether the first pass, of which a share is done, comes to its end if the rest takes as long: else it is no plan.

    Args:
        first: Begun with the pass.
        done: Share of the periods that have a plan.
    """
    left_s = first.left_s()
    return left_s is None or first.spent_s * (1 - done) <= left_s * done


def _paid_always(problem: Problem, clock: Clock) -> Floats | None:
    """(O,) whole instances paid all month, where those paid by the hour may be fractions; 0 for the latter."""
    counts = np.zeros(len(problem.offers))
    if not problem.offers.always_paid.any():
        return counts
    program = build_program(problem, relaxed=True)
    # offer that is always paid -> its column
    always = np.flatnonzero(problem.offers.always_paid)
    columns = program.variables.instance_at[0, always]
    whole = np.zeros(program.variables.count, dtype=np.bool_)
    whole[columns] = True
    extra = {"starts": starts(problem, program.variables)}
    model = model_proto(program, hourly_cost(program), extra, whole)
    result = solve_integer(model, clock, SCIP, node_limit=ROUNDING_NODES, relative_gap=WINDOW_GAP / 10)
    if not len(result.values):
        return None
    counts[always] = np.rint(result.values[columns])
    return counts


class _Plan:
    """Values of every column, by and by; what is not planned yet stands at the estimate."""

    def __init__(self, problem: Problem, instances: Floats) -> None:
        self._problem, self._variables = problem, lay_out(problem, relaxed=False)
        self._cost = cost_usd_per_hour(problem, self._variables)
        self._planned = np.zeros(problem.traffic.periods, dtype=np.bool_)
        self.values = np.zeros(self._variables.count)
        self.values[self._variables.instance_at] = instances

    @property
    def usd_per_hour(self) -> float:
        """Of the values as they stand."""
        return float(self._cost @ self.values)

    def improve(self, window: Ints, clock: Clock) -> bool:
        """Choose the counts of some periods anew, unless what runs there is cheaper; whether they have a plan now."""
        periods = self._linked(window)
        fixed = ~np.isin(periods, window)
        program = build_program(replace(self._problem, traffic=_excerpt(self._problem.traffic, periods, fixed)))
        # (period, offer) whose count stays; its column in the excerpt, once, and the count there
        stays = fixed[:, None] | self._problem.offers.always_paid
        held, first = np.unique(program.variables.instance_at[stays], return_index=True)
        count = self.values[self._variables.instance_at[periods]][stays][first]
        number = np.arange(len(held))
        same = between(numbered("same", len(held)), count, count, (number, held, 1.0))
        cost = hourly_cost(program)
        cost[held] = 0.0
        model = model_proto(program, cost, {"same": same})
        result = solve_integer(model, clock, SCIP, node_limit=WINDOW_NODES, relative_gap=WINDOW_GAP)
        planned = bool(self._planned[window].all())
        if not len(result.values):
            return planned
        changed = self._with(result.values, program.variables, ~fixed, window)
        if not planned or self._cost @ changed < self.usd_per_hour:
            self.values = changed
        self._planned[window] = True
        return True

    def _linked(self, window: Ints) -> Ints:
        """The periods of a window and those from or to which a start may be paid."""
        linked = self._problem.traffic.start_share > 0
        return np.union1d(window, np.flatnonzero(linked[window].any(axis=0) | linked[:, window].any(axis=1)))

    def _with(self, values: Floats, excerpt: Variables, inside: Flags, window: Ints) -> Floats:
        """The plan with what was chosen for the window, which is `inside` the periods of the excerpt."""
        whole, problem, changed = self._variables, self._problem, self.values.copy()
        changed[whole.instance_at[window]] = np.rint(values[excerpt.instance_at[inside]])
        changed[whole.replicas[window]] = np.rint(values[excerpt.replicas[inside]])
        changed[whole.flow[np.isin(problem.streams.period, window)]] = values[excerpt.flow]
        changed[whole.bought[np.isin(problem.api_streams.period, window)]] = values[excerpt.bought]
        changed[whole.starts] = starts_of(changed, whole)
        return changed


def _excerpt(traffic: Traffic, periods: Ints, fixed: Flags) -> Traffic:
    """Some periods of the traffic, of which the fixed ones want nothing: only what runs there counts."""
    excerpt, idle = traffic.during(periods), fixed[:, None]
    return replace(
        excerpt,
        demand_per_s=np.where(idle, 0.0, excerpt.demand_per_s),
        start_share=np.where(idle & fixed, 0.0, excerpt.start_share),
        least_replicas=np.where(idle, 0, excerpt.least_replicas),
    )

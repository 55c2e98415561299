"""Who serves what once the machines are bought: the busiest deployment as idle as possible, then the next."""

import numpy as np

from optimizer.base.errors import SolverFailure
from optimizer.program.constraints import routed_demand
from optimizer.program.model import Columns, assemble
from optimizer.program.policy_constraints import max_spot_share
from optimizer.program.problem import Floats, Ints, Problem, compacted
from optimizer.program.quantities import reach_per_s
from optimizer.program.rows import Rows, at_most
from optimizer.program.solver import Answer, Clock, solve_linear
from optimizer.program.variables import Variables, tagged

ROUTING_TOLERANCE = 1e-6
"""Relative excess over a capacity that is put down to floating point when whole counts are re-checked."""


def balanced_flow_per_s(problem: Problem, replicas: Ints) -> Floats:
    """(C,) requests/s that meet the demand with lexicographically smallest utilizations, the largest first.

    Minimizes t over flow[c] <= t rate[c] replicas[c] by rounds: deployments whose row has a dual can't all be less
    busy than t and stay there, the rest go into the next round.

    Raises:
        SolverFailure: The counts do not carry the demand within `ROUTING_TOLERANCE`.
    """
    part = compacted(problem, replicas > 0)
    running, level = part.problem, np.full(len(part.candidates), np.nan)
    share = np.zeros(len(level))
    while np.isnan(level).any():
        answer = _least_busy(running, replicas[part.candidates], level)
        share, busiest = answer.values[:-1], float(answer.values[-1])
        if busiest > problem.limits.max_utilization * (1 + ROUTING_TOLERANCE):
            raise SolverFailure(f"whole counts would be used to {busiest:.9f} of what they sustain")
        free = np.isnan(level)
        stuck = free & (np.abs(answer.duals[: len(level)]) > ROUTING_TOLERANCE)
        level[stuck if stuck.any() else free] = busiest
    flow = np.zeros(len(problem.candidates))
    flow[part.candidates] = np.maximum(share, 0.0) * reach_per_s(running)
    return flow


def _least_busy(running: Problem, replicas: Ints, level: Floats) -> Answer:
    """Minimize the highest utilization (last column) of the deployments without a fixed level (NaN)."""
    count, spare = len(level), running.limits.spare_replicas
    column, free = np.arange(count), np.isnan(level)
    per_replica = running.replica_rate_per_s / reach_per_s(running)
    busy = at_most(
        tagged("utilization", running.candidates),
        np.where(free, 0.0, np.nan_to_num(level) * (1 + ROUTING_TOLERANCE / 10)),
        (column, column, 1.0 / (per_replica * replicas)),
        (column[free], np.full(int(free.sum()), count), -np.ones(int(free.sum()))),
    )
    upper = np.full(count + 1, np.inf)
    if spare:
        upper[:-1] = per_replica * np.maximum(replicas - spare, 0) * (1 + ROUTING_TOLERANCE)
    names = [*tagged("flow", running.candidates), "utilization[]"]
    columns = Columns(names, upper, np.zeros(count + 1, dtype=np.bool_))
    model = assemble(columns, np.append(np.zeros(count), 1.0), [busy, *_promises(running, column)])
    answer = solve_linear(model, Clock(None))
    if answer.status != "optimal":
        raise SolverFailure(f"whole counts do not carry the demand: routing is {answer.status}")
    return answer


def _promises(running: Problem, flow: Ints) -> list[Rows]:
    """The rows on flows that bought machines leave open: demand and the share of spot."""
    none = np.zeros(0, dtype=np.int64)
    variables = Variables(none, none, flow, none, none, none, none)
    rows = [routed_demand(running, variables)]
    if running.limits.max_spot_share is not None:
        rows.append(max_spot_share(running, variables))
    return rows

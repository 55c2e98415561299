"""What links one period to the next, and the plan to the one in force: starts, warm replicas, changes."""

import numpy as np

from optimizer.program.formulation.policy import limit_of
from optimizer.program.formulation.rows import Rows, at_least, at_most, family_of, tagged
from optimizer.program.formulation.variables import Variables, by_period, cell_names, changes_counted
from optimizer.program.problem.problem import Problem
from optimizer.program.problem.quantities import busiest_period, deployments, labels, workload_of_candidate


def starts(problem: Problem, variables: Variables) -> Rows:
    """starts[o, before, after] >= instances[after, o] - instances[before, o] at each change of periods."""
    offer, before, after = variables.elastic_changes.T
    row = np.arange(len(offer))
    names = [f"{problem.offers.ids[o]}|t{a}|t{b}" for o, a, b in variables.elastic_changes.tolist()]
    return at_least(
        tagged("starts", names),
        0.0,
        (row, variables.starts, 1.0),
        (row, variables.instance_at[after, offer], -1.0),
        (row, variables.instance_at[before, offer], 1.0),
    )


def minimum_billing(problem: Problem, variables: Variables) -> Rows:
    """begun[o,h] >= paid[o,h] - paid[o,h-1]; paid[o,h] >= sum of begun[o] over the last minimum hours, h included.

    paid = instances + lingering, by cell of the week; see `billing_cells` for them and why these are whole runs.
    """
    cells, billing = variables.cells, problem.billing
    row, names = np.arange(len(cells)), cell_names(problem, cells)
    # cell -> column of the instances that run in it
    running = variables.instance_at[cells.period, cells.offer]
    running_before = running[cells.previous]
    # instances paid for all month cancel out of their own rise
    differ = np.flatnonzero(running != running_before)
    cell, started = cells.recently_started(len(billing.hour_to_period), billing.minimum_hours[cells.offer])
    return family_of(
        "minimum_billing",
        rise=at_least(
            [f"rise|{name}" for name in names],
            0.0,
            (row, variables.billing_starts, 1.0),
            (row, variables.billed_idle, -1.0),
            (row, variables.billed_idle[cells.previous], 1.0),
            (differ, running[differ], -1.0),
            (differ, running_before[differ], 1.0),
        ),
        kept=at_least(
            [f"kept|{name}" for name in names],
            0.0,
            (row, running, 1.0),
            (row, variables.billed_idle, 1.0),
            (cell, variables.billing_starts[started], -1.0),
        ),
    )


def least_replicas(problem: Problem, variables: Variables) -> Rows:
    """sum over the candidates of workload w of replicas[t,c] >= least_replicas[t,w]."""
    least, workload = problem.traffic.least_replicas, workload_of_candidate(problem)
    periods, workloads = least.shape
    time = np.arange(periods)[:, None]
    return at_least(
        tagged("least_replicas", by_period(problem, labels(problem.traffic.workload))),
        least.ravel(),
        (workload + time * workloads, variables.replicas, 1.0),
    )


def max_replicas(problem: Problem, variables: Variables) -> Rows:
    """sum over the candidates of workload w of replicas[t,c] <= max_replicas[w]."""
    limits, workloads = dict(problem.limits.max_replicas), labels(problem.traffic.workload)
    limited = [name for name in workloads if name in limits]
    # workload -> its row within a period, -1 where it is not limited
    row_of_workload = np.array([limited.index(name) if name in limits else -1 for name in workloads])
    row_of_candidate = row_of_workload[workload_of_candidate(problem)]
    counted = np.flatnonzero(row_of_candidate >= 0)
    period = np.arange(problem.traffic.periods)[:, None]
    return at_most(
        tagged("max_replicas", by_period(problem, limited)),
        np.tile([float(limits[name]) for name in limited], problem.traffic.periods),
        (row_of_candidate[counted] + period * len(limited), variables.replicas[:, counted], 1.0),
    )


def changes(problem: Problem, variables: Variables) -> Rows:
    """For each configuration g on an offer, over its candidates in the busiest period (the first such):

    started[g] >= sum of replicas[c] - in force[g], stopped[g] >= in force[g] - sum of replicas[c]; their sum <=
    max_changes.
    """
    deployment, in_force = deployments(problem)
    names, row, force = changes_counted(problem), np.arange(len(in_force)), in_force.astype(float)
    limit = np.inf if problem.limits.max_changes is None else limit_of(problem.limits.max_changes)
    started, stopped = np.split(variables.changed, 2)
    replicas = variables.replicas[busiest_period(problem)]
    return family_of(
        "changes",
        started=at_most(names[: len(row)], force, (deployment, replicas, 1.0), (row, started, -1.0)),
        stopped=at_most(names[len(row) :], -force, (deployment, replicas, -1.0), (row, stopped, -1.0)),
        count=at_most(["count"], limit, (np.zeros_like(variables.changed), variables.changed, 1.0)),
    )

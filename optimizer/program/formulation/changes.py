"""What links one period to the next, and the plan to the one in force: starts, warm replicas, changes."""

import numpy as np

from optimizer.program.formulation.policy import limit_of
from optimizer.program.formulation.rows import Rows, at_least, at_most
from optimizer.program.formulation.variables import Variables, by_period, cell_names, changes_counted, tagged
from optimizer.program.problem.problem import Problem
from optimizer.program.problem.quantities import busiest_period, deployments_alike, labels, workload_of_candidate


def starts(problem: Problem, variables: Variables) -> Rows:
    """starts[o, before, after] >= instances[after, o] - instances[before, o] at each change of periods."""
    offer, before, after = variables.elastic_changes.T
    number = np.arange(len(offer))
    names = [f"{problem.offers.ids[o]}|t{a}|t{b}" for o, a, b in variables.elastic_changes.tolist()]
    return at_least(
        tagged("starts", names),
        np.zeros(len(names)),
        (number, variables.starts, np.ones(len(number))),
        (number, variables.instance_at[after, offer], -np.ones(len(number))),
        (number, variables.instance_at[before, offer], np.ones(len(number))),
    )


def minimum_billing(problem: Problem, variables: Variables) -> Rows:
    """begun[o,h] >= paid[o,h] - paid[o,h-1]; paid[o,h] >= sum of begun[o] over the last minimum hours, h included.

    paid = instances + lingering, by cell of the week; see `billing_cells` for them and why these are whole runs.
    """
    cells, billing = variables.cells, problem.billing
    number, ones = np.arange(len(cells)), np.ones(len(cells))
    here = variables.instance_at[cells.period, cells.offer]
    before = here[cells.previous]
    apart = np.flatnonzero(here != before)
    row, begun = cells.recently_begun(len(billing.hour_to_period), billing.minimum_hours[cells.offer])
    names = cell_names(problem, cells)
    return at_least(
        tagged("minimum_billing", [f"{way}|{name}" for way in ("rise", "kept") for name in names]),
        np.zeros(2 * len(names)),
        (number, variables.begun, ones),
        (number, variables.lingering, -ones),
        (number, variables.lingering[cells.previous], ones),
        (apart, here[apart], -ones[apart]),
        (apart, before[apart], ones[apart]),
        (len(number) + number, here, ones),
        (len(number) + number, variables.lingering, ones),
        (len(number) + row, variables.begun[begun], -np.ones(len(row))),
    )


def least_replicas(problem: Problem, variables: Variables) -> Rows:
    """sum over the candidates of workload w of replicas[t,c] >= least_replicas[t,w]."""
    least, workload = problem.traffic.least_replicas, workload_of_candidate(problem)
    periods, everyone = least.shape
    time = np.arange(periods)[:, None]
    return at_least(
        tagged("least_replicas", by_period(problem, labels(problem.traffic.workload))),
        least.ravel().astype(float),
        (workload + time * everyone, variables.replicas, np.ones(variables.replicas.size)),
    )


def max_replicas(problem: Problem, variables: Variables) -> Rows:
    """sum over the candidates of workload w of replicas[t,c] <= max_replicas[w]."""
    limits, everyone = dict(problem.limits.max_replicas), labels(problem.traffic.workload)
    limited = [name for name in everyone if name in limits]
    # workload -> its row within a period, -1 where it is not limited
    row_of_workload = np.array([limited.index(name) if name in limits else -1 for name in everyone])
    row_of_candidate = row_of_workload[workload_of_candidate(problem)]
    counted = np.flatnonzero(row_of_candidate >= 0)
    period = np.arange(problem.traffic.periods)[:, None]
    replicas = variables.replicas[:, counted]
    return at_most(
        tagged("max_replicas", by_period(problem, limited)),
        np.tile([float(limits[name]) for name in limited], problem.traffic.periods),
        (row_of_candidate[counted] + period * len(limited), replicas, np.ones(replicas.size)),
    )


def changes(problem: Problem, variables: Variables) -> Rows:
    """For each configuration g on an offer, over its candidates in the busiest period (the first such):

    started[g] >= sum of replicas[c] - in force[g], stopped[g] >= in force[g] - sum of replicas[c]; their sum <=
    max_changes.
    """
    alike, in_force = deployments_alike(problem)
    group, force = np.arange(len(in_force)), in_force.astype(float)
    limit = np.inf if problem.limits.max_changes is None else limit_of(problem.limits.max_changes)
    started, stopped = variables.changed[: len(group)], variables.changed[len(group) :]
    replicas, each, one = variables.replicas[busiest_period(problem)], np.ones(len(alike)), np.ones(len(group))
    return at_most(
        tagged("changes", [*changes_counted(problem), "count"]),
        np.concatenate([force, -force, [limit]]),
        (alike, replicas, each),
        (group, started, -one),
        (len(group) + alike, replicas, -each),
        (len(group) + group, stopped, -one),
        (np.full(2 * len(group), 2 * len(group)), variables.changed, np.ones(2 * len(group))),
    )

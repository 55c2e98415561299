"""Among plans of equal cost: fewest GPUs, then instances, then one offer alone, then replicas, then lowest id ranks.

The first two are decided over the plan's own candidates and the most promising others; a plan on a single offer is
preferred where one costs the same; the last two are decided for the instances so found. Dominance drops a candidate
that another one replaces with the same GPUs, instances and replicas, so it never decides the first three; elimination
by bound drops none that could be in a plan of equal cost. A plan of equal cost that is hard to find is not worth a
wait: the search is bounded in candidates and nodes, never by time, and keeps the best plan seen, the same on every run.
"""

import numpy as np

from optimizer.program.model import build_program, hourly_cost, model_proto
from optimizer.program.problem import Flags, Floats, Problem, compacted
from optimizer.program.rows import Rows, one_row_at_most
from optimizer.program.search import EQUAL_COST, Ledger, Machines, machines_of
from optimizer.program.solver import solve_integer
from optimizer.program.variables import tagged

TIE_BREAK_CANDIDATES = 24
TIE_BREAK_NODES = 5
"""How far plans of equal cost are searched: candidates with the lowest bounds, and branch-and-bound nodes."""


def break_ties(problem: Problem, machines: Machines, with_candidate_usd_per_hour: Floats, ledger: Ledger) -> Machines:
    """The preferred one among the plans that cost as little as `machines`.

    Args:
        problem: In canonical order.
        machines: A cheapest plan.
        with_candidate_usd_per_hour: (C,) lower bound on plans with the candidate; infinite if in none as cheap.
        ledger: Its clock limits the search.
    """
    possible = np.isfinite(with_candidate_usd_per_hour)
    promising = machines.replicas > 0
    promising[np.argsort(with_candidate_usd_per_hour, kind="stable")[:TIE_BREAK_CANDIDATES]] = True
    bought = _fewest_gpus(problem, machines, possible & promising, ledger)
    if (bought.instances > 0).sum() > 1:
        bought = _one_offer(problem, bought, possible & promising, ledger)
    return _fewest_replicas(problem, bought, possible & (bought.instances > 0)[problem.offer_index], ledger)


def _fewest_gpus(problem: Problem, machines: Machines, possible: Flags, ledger: Ledger) -> Machines:
    """Fewest GPUs, then instances: one objective, since a plan has no more instances than GPUs."""
    part = compacted(problem, possible)
    program = build_program(part.problem)
    columns, objective = np.arange(program.variables.count), np.zeros(program.variables.count)
    most_gpus = int(machines.instances @ problem.gpus_per_instance)
    objective[program.variables.instances] = (most_gpus + 1.0) * part.problem.gpus_per_instance + 1.0
    ceiling = machines.usd_per_hour * (1 + EQUAL_COST)
    equal_cost = one_row_at_most("equal_cost[]", ceiling, columns, hourly_cost(program))
    answer = solve_integer(model_proto(program, objective, equal_cost), ledger.clock, TIE_BREAK_NODES)
    found = machines_of(answer, program, part, problem)
    if found is None or found.usd_per_hour > ceiling:
        return machines
    weight = (most_gpus + 1.0) * problem.gpus_per_instance + 1.0
    before, after = (float(weight @ plan.instances) for plan in (machines, found))
    simpler = (found.instances > 0).sum() < (machines.instances > 0).sum()
    return found if after < before or (after == before and simpler) else machines


def _one_offer(problem: Problem, machines: Machines, possible: Flags, ledger: Ledger) -> Machines:
    """The first offer, in order of ids, that alone makes a plan with the same cost and no more GPUs or instances."""
    cost, gpus, instances = (
        machines.usd_per_hour,
        machines.instances @ problem.gpus_per_instance,
        machines.instances.sum(),
    )
    count = np.round(cost / problem.price_usd_per_hour)
    equal = np.abs(count * problem.price_usd_per_hour - cost) <= EQUAL_COST * cost
    alike = equal & (count >= 1) & (count <= instances) & (count * problem.gpus_per_instance <= gpus)
    for offer in np.flatnonzero(alike).tolist():
        alone = possible & (problem.offer_index == offer)
        if alone.any():
            found = _fewest_gpus(problem, machines, alone, ledger)
            if found is not machines and (found.instances > 0).sum() == 1:
                return found
    return machines


def _fewest_replicas(problem: Problem, machines: Machines, possible: Flags, ledger: Ledger) -> Machines:
    """Fewest replicas on the instances bought, then the lowest ranks."""
    part = compacted(problem, possible)
    program = build_program(part.problem)
    variables, bought = program.variables, machines.instances[part.offers].astype(float)
    number = np.arange(len(bought))
    same = Rows(
        tagged("bought", part.problem.offers), bought, bought, number, variables.instances, np.ones(len(bought))
    )
    counting, ranking = np.zeros(variables.count), np.zeros(variables.count)
    counting[variables.replicas] = 1.0
    ranking[variables.replicas] = 1.0 + np.arange(len(variables.replicas))
    fewest = machines_of(
        solve_integer(model_proto(program, counting, same), ledger.clock, TIE_BREAK_NODES), program, part, problem
    )
    if fewest is None:
        return machines
    count = one_row_at_most("fewest[]", float(fewest.replicas.sum()), variables.replicas, np.ones(len(part.candidates)))
    answer = solve_integer(model_proto(program, ranking, same, count), ledger.clock, TIE_BREAK_NODES)
    return machines_of(answer, program, part, problem) or fewest

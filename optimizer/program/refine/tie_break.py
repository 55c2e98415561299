"""Among plans of equal cost: fewest GPUs, then instances, then one offer alone, then replicas, then lowest id ranks.

The first two are decided over the plan's own candidates and the most promising others; a plan on a single offer is
preferred where one costs the same; the last two are decided for the instances so found. Dominance drops a candidate
that another one replaces with the same GPUs, instances and replicas, so it never decides the first three; elimination
by bound drops none that could be in a plan of equal cost. A plan of equal cost that is hard to find is not worth a
wait: the search is bounded in candidates and nodes, never by time, and keeps the best plan seen, the same on every run.
"""

import numpy as np

from optimizer.base.arrays import Flags, Floats
from optimizer.base.units import SECONDS_PER_HOUR
from optimizer.program.formulation.model import Program, build_program, hourly_cost, model_proto
from optimizer.program.formulation.rows import Rows, one_row_at_most
from optimizer.program.problem.problem import Problem, Sorted, compacted
from optimizer.program.problem.quantities import stands_in_force
from optimizer.program.proof.state import EQUAL_COST, Ledger, Machines, machines_of
from optimizer.program.solver import integer_solver, solve_integer

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
    possible = np.isfinite(with_candidate_usd_per_hour) | machines.used
    promising = machines.used.copy()
    promising[np.argsort(with_candidate_usd_per_hour, kind="stable")[:TIE_BREAK_CANDIDATES]] = True
    bought = _fewest_gpus(problem, machines, possible & promising, ledger)
    if (bought.instances > 0).any(axis=0).sum() > 1:
        bought = _one_offer(problem, bought, possible & promising, ledger)
    on_bought = np.any(bought.instances > 0, axis=0)[problem.candidates.offer]
    return _fewest_replicas(problem, bought, possible & on_bought, ledger)


def _fewest_gpus(problem: Problem, machines: Machines, possible: Flags, ledger: Ledger) -> Machines:
    """Fewest GPU hours, then instance hours: one objective, since a plan has no more instances than GPUs."""
    part = _with_those_in_force(problem, possible)
    if _one_candidate(part) and possible[machines.used].all():
        return machines
    program = build_program(part.problem)
    variables, objective = program.variables, np.zeros(program.variables.count)
    solver = integer_solver(problem.traffic.periods)
    weight = (float((machines.instances @ problem.offers.gpus_per_instance).max()) + 1.0) * (
        problem.offers.gpus_per_instance
    ) + 1.0
    objective[variables.instances] = weight[part.offers][variables.instance_offer] * variables.instance_share
    equal_cost = _equal_cost(program, machines)
    answer = solve_integer(model_proto(program, objective, equal_cost), ledger.clock, solver, TIE_BREAK_NODES)
    found = machines_of(answer, program, part, problem)
    if found is None or found.usd_per_hour > _ceiling(machines):
        return machines
    share = problem.traffic.share_of_month
    before, after = (float(share @ (plan.instances @ weight)) for plan in (machines, found))
    simpler = (found.instances > 0).any(axis=0).sum() < (machines.instances > 0).any(axis=0).sum()
    return found if after < before * (1 - EQUAL_COST) or (after <= before * (1 + EQUAL_COST) and simpler) else machines


def _one_offer(problem: Problem, machines: Machines, possible: Flags, ledger: Ledger) -> Machines:
    """The first offer, in order of ids, that alone makes a plan with the same cost and no more GPUs or instances.

    Only for demand that is the same all month: what an offer alone would cost is then a whole number of instances and
    the sending of every answer.
    """
    if problem.traffic.periods > 1 or machines.api_flow_per_s.any():
        return machines
    cost, price, size = machines.usd_per_hour, problem.offers.price_usd_per_hour, problem.offers.gpus_per_instance
    gpus, instances = machines.instances[0] @ size, machines.instances.sum()
    left = cost - _sending_alone(problem)
    count = np.round(left / price)
    equal = np.abs(count * price - left) <= EQUAL_COST * cost
    alike = equal & (count >= 1) & (count <= instances) & (count * size <= gpus)
    for offer in np.flatnonzero(alike).tolist():
        alone = possible & (problem.candidates.offer == offer)
        if alone.any():
            found = _fewest_gpus(problem, machines, alone, ledger)
            if found is not machines and (found.instances > 0).sum() == 1:
                return found
    return machines


def _sending_alone(problem: Problem) -> Floats:
    """(O,) USD/h for sending all answers from one offer."""
    if not problem.sending.charged:
        return np.zeros(len(problem.offers))
    gb_per_s = float((problem.traffic.demand_per_s[0] * problem.sending.gb_per_request).sum())
    return problem.sending.usd_per_gb * (gb_per_s * SECONDS_PER_HOUR)


def _fewest_replicas(problem: Problem, machines: Machines, possible: Flags, ledger: Ledger) -> Machines:
    """Fewest replica hours on the instances bought, then the lowest ranks."""
    part = _with_those_in_force(problem, possible)
    if not len(part.candidates):
        return machines
    program = build_program(part.problem)
    variables, solver = program.variables, integer_solver(problem.traffic.periods)
    bought = np.zeros(len(variables.instances))
    bought[variables.instance_at] = machines.instances[:, part.offers]
    number = np.arange(len(bought))
    same = Rows([f"same[{at}]" for at in number], bought, bought, number, variables.instances, np.ones(len(bought)))
    equal_cost = _equal_cost(program, machines)
    counting, ranking = np.zeros(variables.count), np.zeros(variables.count)
    hours = problem.traffic.share_of_month[:, None] * problem.traffic.periods
    counting[variables.replicas] = hours
    ranking[variables.replicas] = hours * (1.0 + np.arange(len(part.candidates)))
    answer = solve_integer(model_proto(program, counting, same, equal_cost), ledger.clock, solver, TIE_BREAK_NODES)
    fewest = machines_of(answer, program, part, problem)
    if fewest is None or fewest.usd_per_hour > _ceiling(machines):
        return machines
    if _one_candidate(part):
        return fewest
    total = float((fewest.replicas * hours).sum()) * (1 + EQUAL_COST)
    count = one_row_at_most("fewest[]", total, variables.replicas.ravel(), counting[variables.replicas].ravel())
    answer = solve_integer(
        model_proto(program, ranking, same, equal_cost, count), ledger.clock, solver, TIE_BREAK_NODES
    )
    ranked = machines_of(answer, program, part, problem)
    return fewest if ranked is None or ranked.usd_per_hour > _ceiling(machines) else ranked


def _with_those_in_force(problem: Problem, possible: Flags) -> Sorted:
    """The possible candidates and those with replicas in force, against which changes are counted."""
    return compacted(problem, possible | stands_in_force(problem))


def _one_candidate(part: Sorted) -> bool:
    """Whether nothing is left to choose but a number of replicas; with fewer instances a plan would cost less."""
    problem = part.problem
    alone = len(part.candidates) == 1 and not len(problem.apis)
    return alone and problem.traffic.periods == 1 and not problem.candidates.replicas_in_force.any()


def _ceiling(machines: Machines) -> float:
    return machines.usd_per_hour * (1 + EQUAL_COST)


def _equal_cost(program: Program, machines: Machines) -> Rows:
    return one_row_at_most("equal_cost[]", _ceiling(machines), np.arange(program.variables.count), hourly_cost(program))

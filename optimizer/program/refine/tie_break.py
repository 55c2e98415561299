"""Among plans of equal cost: fewest GPUs, then instances, then one offer alone, then replicas, then lowest id ranks.

The first two are decided over the plan's own candidates and the most promising others; a plan on a single offer is
preferred where one costs the same; the last two are decided for the instances so found. Dominance drops a candidate
that another one replaces with the same GPUs, instances and replicas, so it never decides the first three; elimination
by bound drops none that could be in a plan of equal cost. A plan of equal cost that is hard to find is not worth a
wait: the search is bounded in candidates and nodes, and keeps the best plan seen, the same on every run. Where a limit
of the question is reached first, the plan stays as it was before the step that was cut.
"""

import numpy as np

from optimizer.base.arrays import Flags, Floats
from optimizer.base.clock import Clock
from optimizer.base.units import SECONDS_PER_HOUR
from optimizer.program.formulation.model import build_program, hourly_cost, model_proto
from optimizer.program.formulation.rows import Rows, between, numbered, one_row_at_most
from optimizer.program.problem.instance_contents import affordable
from optimizer.program.problem.problem import Problem, Sorted, compacted
from optimizer.program.problem.quantities import stands_in_force
from optimizer.program.proof.fullest_instance import alike
from optimizer.program.proof.state import EQUAL_COST, Incumbent, incumbent_of
from optimizer.program.solver import integer_solver, solve_integer

TIE_BREAK_CANDIDATES = 24
TIE_BREAK_NODES = 5
"""How far plans of equal cost are searched: candidates with the lowest bounds, and branch-and-bound nodes."""

TIE_BREAK_CONTENTS = 100
"""What may stand on an instance as the last two are decided, which takes a binary for each level of what it carries."""


def break_ties(problem: Problem, plan: Incumbent, with_candidate_usd_per_hour: Floats, clock: Clock) -> Incumbent:
    """The preferred one among the plans that cost as little as `plan`.

    Args:
        problem: In canonical order.
        plan: A cheapest one.
        with_candidate_usd_per_hour: (C,) lower bound on plans with the candidate; infinite if in none as cheap.
        clock: Of the question.
    """
    possible = np.isfinite(with_candidate_usd_per_hour) | plan.used
    promising = plan.used.copy()
    promising[np.argsort(with_candidate_usd_per_hour, kind="stable")[:TIE_BREAK_CANDIDATES]] = True
    preference = np.where(plan.used, -np.inf, with_candidate_usd_per_hour)
    promising = affordable(problem, promising, preference)
    plan = _fewest_gpus(problem, plan, possible & promising, clock)
    if _offers_used(plan) > 1:
        plan = _one_offer(problem, plan, possible & promising, clock)
    on_bought = np.any(plan.instances > 0, axis=0)[problem.candidates.offer]
    few = affordable(problem, possible & on_bought, preference, TIE_BREAK_CONTENTS)
    return _fewest_replicas(problem, plan, few, clock)


class _EqualCost:
    """Solves for plans of some candidates, and of those in force, that cost no more than a plan does."""

    def __init__(self, problem: Problem, plan: Incumbent, possible: Flags, clock: Clock) -> None:
        self._problem, self._clock = problem, clock
        # changes are counted against those in force
        self.part = compacted(problem, possible | stands_in_force(problem))
        self.program = build_program(self.part.problem)
        self._cutoff = plan.usd_per_hour * (1 + EQUAL_COST)

    def cheapest(self, objective: Floats, same: Rows | None = None, count: Rows | None = None) -> Incumbent | None:
        """The plan with the least objective, under more rows if any; None where none is found before a limit."""
        if self._clock.expired:
            return None
        cost = hourly_cost(self.program)
        equal_cost = one_row_at_most("equal_cost[]", self._cutoff, np.arange(len(cost)), cost)
        rows = {"same": same, "equal_cost": equal_cost, "count": count}
        extra = {name: block for name, block in rows.items() if block is not None}
        model = model_proto(self.program, objective, extra)
        solver = integer_solver(self._problem.traffic.periods)
        result = solve_integer(model, self._clock, solver, node_limit=TIE_BREAK_NODES)
        plan = incumbent_of(result, self.program, self.part, self._problem)
        cut = self._clock.expired
        return None if cut or plan is None or plan.usd_per_hour > self._cutoff else plan


def _fewest_gpus(problem: Problem, plan: Incumbent, possible: Flags, clock: Clock) -> Incumbent:
    """Fewest GPU hours, then instance hours: one objective, since a plan has no more instances than GPUs."""
    equals = _EqualCost(alike(problem, plan), plan, possible, clock)
    if _one_candidate(equals.part) and possible[plan.used].all():
        return plan
    gpus, share = problem.offers.gpus_per_instance, problem.traffic.share_of_month
    weight = (float((plan.instances @ gpus).max()) + 1.0) * gpus + 1.0
    variables = equals.program.variables
    objective = np.zeros(variables.count)
    objective[variables.instances] = weight[equals.part.offers][variables.instance_offer] * variables.instance_share
    found = equals.cheapest(objective)
    if found is None:
        return plan
    before, after = (float(share @ (p.instances @ weight)) for p in (plan, found))
    simpler = after <= before * (1 + EQUAL_COST) and _offers_used(found) < _offers_used(plan)
    return found if simpler or after < before * (1 - EQUAL_COST) else plan


def _offers_used(plan: Incumbent) -> int:
    """How many offers ever run."""
    return int((plan.instances > 0).any(axis=0).sum())


def _one_offer(problem: Problem, plan: Incumbent, possible: Flags, clock: Clock) -> Incumbent:
    """The first offer, in order of ids, that alone makes a plan with the same cost and no more GPUs or instances.

    Only for demand that is the same all month: what an offer alone would cost is then a whole number of instances and
    the sending of every answer.
    """
    if problem.traffic.periods > 1 or plan.api_flow_per_s.any():
        return plan
    price, size = problem.offers.price_usd_per_hour, problem.offers.gpus_per_instance
    instances, cost_of_instances = plan.instances[0], plan.usd_per_hour - _egress_alone(problem)
    count = np.round(cost_of_instances / price)
    equal = np.abs(count * price - cost_of_instances) <= EQUAL_COST * plan.usd_per_hour
    no_more = (count <= instances.sum()) & (count * size <= instances @ size)
    for offer in np.flatnonzero(equal & (count >= 1) & no_more).tolist():
        alone = possible & (problem.candidates.offer == offer)
        if alone.any():
            found = _fewest_gpus(problem, plan, alone, clock)
            if found is not plan and _offers_used(found) == 1:
                return found
    return plan


def _egress_alone(problem: Problem) -> Floats:
    """(O,) USD/h for sending all answers from one offer."""
    if not problem.egress.charged:
        return np.zeros(len(problem.offers))
    gb_per_s = float((problem.traffic.demand_per_s[0] * problem.egress.gb_per_request).sum())
    return problem.egress.usd_per_gb * (gb_per_s * SECONDS_PER_HOUR)


def _fewest_replicas(problem: Problem, plan: Incumbent, possible: Flags, clock: Clock) -> Incumbent:
    """Fewest replica hours on the instances bought, then the lowest ranks."""
    equals = _EqualCost(problem, plan, possible, clock)
    part, variables = equals.part, equals.program.variables
    if not len(part.candidates):
        return plan
    # column of instances -> as many as the plan has
    bought = np.zeros(len(variables.instances))
    bought[variables.instance_at] = plan.instances[:, part.offers]
    number = np.arange(len(bought))
    same = between(numbered("same", len(bought)), bought, bought, (number, variables.instances, 1.0))
    hours = problem.traffic.share_of_month[:, None] * problem.traffic.periods
    replica_hours, ranks = np.zeros(variables.count), np.zeros(variables.count)
    replica_hours[variables.replicas] = hours
    ranks[variables.replicas] = hours * (1.0 + np.arange(len(part.candidates)))
    fewest = equals.cheapest(replica_hours, same=same)
    if fewest is None:
        return plan
    if _one_candidate(part):
        return fewest
    total, columns = float((fewest.replicas * hours).sum()) * (1 + EQUAL_COST), variables.replicas.ravel()
    count = one_row_at_most("fewest[]", total, columns, replica_hours[columns])
    return equals.cheapest(ranks, same=same, count=count) or fewest


def _one_candidate(part: Sorted) -> bool:
    """Whether nothing is left to choose but a number of replicas; with fewer instances a plan would cost less."""
    problem = part.problem
    alone = len(part.candidates) == 1 and not len(problem.apis)
    return alone and problem.traffic.periods == 1 and not problem.candidates.replicas_in_force.any()

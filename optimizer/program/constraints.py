"""What any plan must obey: demand, capacity and the packing of replicas into whole instances.

Flows are in units of a candidate's reach (see `quantities`), so every coefficient is a ratio near what it bounds.
"""

import numpy as np

from optimizer.program.problem import Problem
from optimizer.program.quantities import best_rate_per_s, reach_per_s, trimming_groups
from optimizer.program.rows import Rows, at_least, at_most
from optimizer.program.variables import Variables, tagged


def demand(problem: Problem, variables: Variables) -> Rows:
    """sum over c of mix[c,k] flow[c] >= demand[k], divided by demand[k]; and the same of what the replicas can carry.

    The second block, sum over c of mix[c,k] best_rate[c] replicas[c] >= demand[k], is the first with capacity put in
    for the flows. It follows from the two and states the demand in whole numbers, from which the solver cuts better.
    """
    carried = routed_demand(problem, variables)
    candidate, request_class = carried.column - variables.flow[0], carried.row
    per_replica = carried.value * (best_rate_per_s(problem) / reach_per_s(problem))[candidate]
    names = carried.names + tagged("demand", [f"replicas|{name}" for name in problem.request_classes])
    return at_least(
        names,
        np.ones(len(names)),
        (request_class, carried.column, carried.value),
        (len(carried.names) + request_class, variables.replicas[candidate], per_replica),
    )


def routed_demand(problem: Problem, variables: Variables) -> Rows:
    """sum over c of mix[c,k] flow[c] >= demand[k], divided by demand[k]."""
    candidate, request_class = np.nonzero(problem.mix)
    share = problem.mix[candidate, request_class] * (
        reach_per_s(problem)[candidate] / problem.demand_per_s[request_class]
    )
    names = tagged("demand", problem.request_classes)
    return at_least(names, np.ones(len(names)), (request_class, variables.flow[candidate], share))


def capacity(problem: Problem, variables: Variables) -> Rows:
    """flow[c] <= best_rate[c] replicas[c], divided by best_rate[c].

    best_rate is max_utilization x rate, lowered to what a trimmed plan can draw from a replica where the demand is
    smaller than one replica or where spare replicas stand by. Lowering it excludes no trimmed plan and tightens the
    relaxation.
    """
    number = np.arange(len(problem.candidates))
    ratio = reach_per_s(problem) / best_rate_per_s(problem)
    return at_most(
        tagged("capacity", problem.candidates),
        np.zeros(len(number)),
        (number, variables.flow, ratio),
        (number, variables.replicas, -np.ones(len(number))),
    )


def packing(problem: Problem, variables: Variables) -> Rows:
    """For each offer o and replica size s: sum over c on o with g_c >= s of (g_c/s) replicas[c] <= floor(G_o/s) n_o.

    The rows are necessary and sufficient for the replicas to fit into the instances, each replica within one of them.
    Necessary: cut each instance into floor(G/s) slots of s GPUs. Sizes are powers of two, so a replica of g >= s GPUs
    fills g/s slots of its instance, and the slots of n instances number floor(G/s) n.
    Sufficient: place the replicas by falling size. When a replica of size s is next, every replica placed so far has a
    size that is a multiple of s, so in each instance the used part is whole slots of size s. The row of s says that
    the slots of all replicas of at least s, this one included, do not exceed floor(G/s) n: some instance has a free
    slot, and the replica goes there.
    """
    size, offer = problem.gpus_per_replica, problem.offer_index
    pairs = sorted({(int(o), int(s)) for o, s in zip(offer, size, strict=True)})
    offers, sizes = np.array([o for o, _ in pairs], dtype=np.int64), np.array([s for _, s in pairs], dtype=np.int64)
    row, candidate = np.nonzero((offers[:, None] == offer[None, :]) & (sizes[:, None] <= size[None, :]))
    slots = problem.gpus_per_instance[offers] // sizes
    return at_most(
        tagged("packing", [f"{problem.offers[o]}|{s}" for o, s in pairs]),
        np.zeros(len(pairs)),
        (row, variables.replicas[candidate], size[candidate] / sizes[row]),
        (np.arange(len(pairs)), variables.instances[offers], -slots.astype(float)),
    )


def first_instance(problem: Problem, variables: Variables) -> Rows:
    """sum over the candidates of offer o that serve class k alone of flow[c] <= demand[k] n_o; mixed ones one by one.

    In a trimmed plan the left side never exceeds demand[k], and it is 0 when nothing is bought, so the row holds for
    every trimmed plan. It says that a fraction of an instance can't serve everything, which the relaxation would
    otherwise assume wherever one instance is more than the demand needs. Where it is not, packing already implies it.
    """
    group = trimming_groups(problem, problem.offer_index)
    density = best_rate_per_s(problem) / reach_per_s(problem) / problem.gpus_per_replica
    densest = np.zeros(group.max(initial=-1) + 1)
    np.maximum.at(densest, group, density)
    first = np.unique(group, return_index=True)[1]
    gpus = problem.gpus_per_instance[problem.offer_index[first]]
    useful = densest * gpus > 1.0
    row = np.cumsum(useful) - 1
    member = np.flatnonzero(useful[group])
    lead = first[useful]
    return at_most(
        tagged("first_instance", [problem.candidates[c] for c in lead]),
        np.zeros(len(lead)),
        (row[group[member]], variables.flow[member], np.ones(len(member))),
        (np.arange(len(lead)), variables.instances[problem.offer_index[lead]], -np.ones(len(lead))),
    )

"""What any plan must obey: demand, capacity and the packing of replicas into whole instances, in every period.

Flows are in units of a stream's reach (see `problem.Streams`), so every coefficient is a ratio near what it bounds.
"""

import numpy as np

from optimizer.base.arrays import Ints
from optimizer.program.formulation.rows import Rows, Term, at_least, at_most
from optimizer.program.formulation.variables import Variables, by_period, tagged
from optimizer.program.problem.problem import Problem, Streams
from optimizer.program.problem.quantities import best_rate_per_s, streams_per_cell, trimming_groups, wanted_classes


def demand(problem: Problem, variables: Variables) -> Rows:
    """sum over streams of mix[m,k] flow >= demand[t,k], divided by demand; and the same of what replicas can carry.

    The second block, sum over c of the most of k that a replica of c serves x replicas[c] >= demand[k], is the first
    with capacity put in for the flows. It follows from the two and states the demand in whole numbers, from which the
    solver cuts better.
    """
    carried = routed_demand(problem, variables)
    period, request_class = wanted_classes(problem)
    row, candidate, share = _replica_share(problem)
    bought = carried.column >= (variables.bought[0] if len(variables.bought) else variables.count)
    count = len(carried.names)
    labels = [f"replicas|{problem.traffic.classes[k]}" for k in request_class.tolist()]
    names = carried.names + tagged("demand", _timed(problem, labels, period))
    return at_least(
        names,
        np.ones(len(names)),
        (carried.row, carried.column, carried.value),
        (count + row, variables.replicas[period[row], candidate], share),
        (count + carried.row[bought], carried.column[bought], carried.value[bought]),
    )


def routed_demand(problem: Problem, variables: Variables) -> Rows:
    """sum over streams of mix[m,k] flow[t,c,m] + bought >= demand[t,k], divided by demand[t,k]."""
    period, request_class = wanted_classes(problem)
    names = tagged("demand", _timed(problem, [problem.traffic.classes[k] for k in request_class.tolist()], period))
    row, stream, share = demand_shares(problem, problem.streams)
    api_row, api, api_share = demand_shares(problem, problem.api_streams)
    flows = (row, variables.flow[stream], share)
    return at_least(names, np.ones(len(names)), flows, (api_row, variables.bought[api], api_share))


def demand_shares(problem: Problem, streams: Streams) -> Term:
    """Entries (wanted class, stream, share of its demand that the stream's reach is)."""
    period, request_class = wanted_classes(problem)
    number = np.full(problem.traffic.demand_per_s.shape, -1, dtype=np.int64)
    number[period, request_class] = np.arange(len(period))
    mixes = problem.traffic.mixes[streams.mix]
    stream, k = np.nonzero(mixes)
    t = streams.period[stream]
    wanted = number[t, k] >= 0
    stream, k, t = stream[wanted], k[wanted], t[wanted]
    share = mixes[stream, k] * (streams.reach_per_s[stream] / problem.traffic.demand_per_s[t, k])
    return number[t, k], stream, share


def _replica_share(problem: Problem) -> Term:
    """Entries (wanted class, candidate, share of its demand that one replica carries).

    With one stream for the class it is best_rate; with several the largest max_utilization x rate, which any division
    of the replica among them stays below.
    """
    row, stream, share = demand_shares(problem, problem.streams)
    candidate = problem.streams.server[stream]
    reach = problem.streams.reach_per_s
    plain = problem.limits.max_utilization * problem.rate_of_stream_per_s / reach
    best = best_rate_per_s(problem) / reach
    order = np.lexsort((candidate, row))
    keys = np.stack([row[order], candidate[order]], axis=1)
    _, first, count = np.unique(keys, axis=0, return_index=True, return_counts=True)
    most = np.maximum.reduceat((share * plain[stream])[order], first) if len(first) else np.zeros(0)
    alone = (share * best[stream])[order][first]
    return keys[first, 0], keys[first, 1], np.where(count == 1, alone, most)


def capacity(problem: Problem, variables: Variables) -> Rows:
    """flow <= best_rate replicas for a stream, and for several on one replica: sum of flow / (u rate) <= replicas.

    best_rate is max_utilization x rate, lowered to what a trimmed plan can draw from a replica where the demand is
    smaller than one replica or where spare replicas stand by. Lowering it excludes no trimmed plan and tightens the
    relaxation; where it is not lowered and streams share a replica, the joint row alone says it.
    """
    streams, several = problem.streams, streams_per_cell(problem) > 1
    plain = problem.limits.max_utilization * problem.rate_of_stream_per_s
    best, shared = best_rate_per_s(problem), several[streams.period, streams.server]
    single = np.flatnonzero(~shared | (best < plain * (1 - 1e-9)))
    period, candidate = np.nonzero(several)
    number = np.full(several.shape, -1, dtype=np.int64)
    number[period, candidate] = len(single) + np.arange(len(period))
    joint = np.flatnonzero(shared)
    row, cell = np.arange(len(single)), (streams.period[single], streams.server[single])
    mixes = [f"|m{m}" if s else "" for m, s in zip(streams.mix[single].tolist(), shared[single], strict=True)]
    names = [f"{problem.candidates.ids[c]}{m}" for c, m in zip(cell[1].tolist(), mixes, strict=True)]
    names = _timed(problem, names, cell[0]) + _timed(problem, [problem.candidates.ids[c] for c in candidate], period)
    return at_most(
        tagged("capacity", names),
        np.zeros(len(names)),
        (row, variables.flow[single], streams.reach_per_s[single] / best[single]),
        (row, variables.replicas[cell], -np.ones(len(row))),
        (
            number[streams.period[joint], streams.server[joint]],
            variables.flow[joint],
            streams.reach_per_s[joint] / plain[joint],
        ),
        (len(single) + np.arange(len(period)), variables.replicas[period, candidate], -np.ones(len(period))),
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
    size, offer, periods = problem.candidates.gpus_per_replica, problem.candidates.offer, problem.traffic.periods
    pairs = sorted(set(zip(offer.tolist(), size.tolist(), strict=True)))
    offers, sizes = np.array([o for o, _ in pairs], dtype=np.int64), np.array([s for _, s in pairs], dtype=np.int64)
    row, candidate = _larger_on_the_offer(offers, sizes, offer, size)
    slots = problem.offers.gpus_per_instance[offers] // sizes
    shift, time = np.arange(periods)[:, None] * len(pairs), np.arange(periods)[:, None]
    return at_most(
        tagged("packing", by_period(problem, [f"{problem.offers.ids[o]}|{s}" for o, s in pairs])),
        np.zeros(periods * len(pairs)),
        (
            row + shift,
            variables.replicas[time, candidate],
            np.tile(size[candidate] / sizes[row], periods),
        ),
        (
            np.arange(len(pairs)) + shift,
            variables.instance_at[time, offers],
            np.tile(-slots.astype(float), periods),
        ),
    )


def _larger_on_the_offer(offers: Ints, sizes: Ints, offer: Ints, size: Ints) -> tuple[Ints, Ints]:
    """Entries (pair of offer and size, candidate on that offer of at least that size)."""
    first = np.searchsorted(offers, offer, side="left")
    count = np.searchsorted(offers, offer, side="right") - first
    candidate = np.repeat(np.arange(len(offer)), count)
    row = np.repeat(first, count) + np.arange(len(candidate)) - np.repeat(np.cumsum(count) - count, count)
    fits = sizes[row] <= size[candidate]
    return row[fits], candidate[fits]


def first_instance(problem: Problem, variables: Variables) -> Rows:
    """sum over the streams on offer o that serve class k alone of flow <= demand[k] n_o; mixed ones one by one.

    In a trimmed plan the left side never exceeds demand[k], and it is 0 when nothing is bought, so the row holds for
    every trimmed plan. It says that a fraction of an instance can't serve everything, which the relaxation would
    otherwise assume wherever one instance is more than the demand needs. Where it is not, packing already implies it.
    """
    streams, candidates = problem.streams, problem.candidates
    group = trimming_groups(problem, candidates.offer)
    density = best_rate_per_s(problem) / streams.reach_per_s / candidates.gpus_per_replica[streams.server]
    densest = np.zeros(group.max(initial=-1) + 1)
    np.maximum.at(densest, group, density)
    first = np.unique(group, return_index=True)[1]
    gpus = problem.offers.gpus_per_instance[candidates.offer[streams.server[first]]]
    useful = densest * gpus > 1.0
    row = np.cumsum(useful) - 1
    member, lead = np.flatnonzero(useful[group]), first[useful]
    offer, period = candidates.offer[streams.server[lead]], streams.period[lead]
    alike = (candidates.rate_per_s[streams.server[lead]] > 0).sum(axis=1) > 1
    leaders = zip(streams.server[lead].tolist(), streams.mix[lead].tolist(), alike, strict=True)
    names = [f"{candidates.ids[c]}{f'|m{m}' if several else ''}" for c, m, several in leaders]
    return at_most(
        tagged("first_instance", _timed(problem, names, period)),
        np.zeros(len(lead)),
        (row[group[member]], variables.flow[member], np.ones(len(member))),
        (np.arange(len(lead)), variables.instance_at[period, offer], -np.ones(len(lead))),
    )


def _timed(problem: Problem, members: list[str], period: Ints) -> list[str]:
    """Each member with its period where there are several."""
    if problem.traffic.periods == 1:
        return members
    return [f"{name}|t{t}" for name, t in zip(members, period.tolist(), strict=True)]

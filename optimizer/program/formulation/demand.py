"""What any plan must obey: demand, capacity and the packing of replicas into whole instances, in every period.

Flows are in units of a stream's reach (see `problem.Streams`), so every coefficient is a ratio near what it bounds.
"""

from typing import NamedTuple

import numpy as np

from optimizer.base.arrays import Flags, Floats, Ints
from optimizer.program.formulation.rows import Rows, Term, at_least, at_most, family_of, tagged
from optimizer.program.formulation.variables import Variables, by_period, demand_names, stream_names, timed
from optimizer.program.problem.indices import Groups, grouped, matches, positions
from optimizer.program.problem.problem import Problem, Streams
from optimizer.program.problem.quantities import best_rate_per_s, streams_per_cell, trimming_groups


def demand(problem: Problem, variables: Variables) -> Rows:
    """sum over streams of mix[m,k] flow >= demand[t,k], divided by demand; and the same of what replicas can carry.

    The second block, sum over c of the most of k that a replica of c serves x replicas[c] >= demand[k], is the first
    with capacity put in for the flows. It follows from the two and states the demand in whole numbers, from which the
    solver cuts better.
    """
    demands, bought = problem.demands, _bought_shares(problem, variables)
    row, candidate, share = _replica_share(problem)
    replicas = at_least(
        timed(problem, [f"replicas|{name}" for name in _wanted_classes(problem)], demands.period),
        1.0,
        (row, variables.replicas[demands.period[row], candidate], share),
        bought,
    )
    blocks = {"flows": routed_demand(problem, variables), "replicas": replicas}
    if (np.count_nonzero(problem.traffic.mixes, axis=0) > 1).any():
        blocks["instances"] = _demand_on_whole_instances(problem, variables)
    return family_of("demand", **blocks)


def routed_demand(problem: Problem, variables: Variables) -> Rows:
    """sum over streams of mix[m,k] flow[t,c,m] + bought >= demand[t,k], divided by demand[t,k]."""
    row, stream, share = demand_shares(problem, problem.streams)
    names = timed(problem, _wanted_classes(problem), problem.demands.period)
    return at_least(names, 1.0, (row, variables.flow[stream], share), _bought_shares(problem, variables))


def _wanted_classes(problem: Problem) -> list[str]:
    """(D,) the class of each demand."""
    return [problem.traffic.classes[k] for k in problem.demands.request_class.tolist()]


def _bought_shares(problem: Problem, variables: Variables) -> Term:
    """Entries (demand, column of what a hosted API is sent, share of the demand that its reach is)."""
    row, stream, share = demand_shares(problem, problem.api_streams)
    return row, variables.bought[stream], share


def demand_shares(problem: Problem, streams: Streams) -> tuple[Ints, Ints, Floats]:
    """Entries (demand, stream, share of the demand that the stream's reach is)."""
    mixes = problem.traffic.mixes[streams.mix]
    stream, request_class = np.nonzero(mixes)
    row = problem.demands.row[streams.period[stream], request_class]
    wanted = row >= 0
    stream, request_class, row = stream[wanted], request_class[wanted], row[wanted]
    demand_per_s = problem.traffic.demand_per_s[streams.period[stream], request_class]
    return row, stream, mixes[stream, request_class] * (streams.reach_per_s[stream] / demand_per_s)


def _replica_share(problem: Problem) -> tuple[Ints, Ints, Floats]:
    """Entries (demand, candidate, share of the demand that one replica carries).

    With one stream for the class it is best_rate; with several the largest max_utilization x rate, which any division
    of the replica among them stays below.
    """
    row, stream, share = demand_shares(problem, problem.streams)
    candidate, reach = problem.streams.server[stream], problem.streams.reach_per_s
    plain = share * (problem.limits.max_utilization * problem.rate_of_stream_per_s / reach)[stream]
    best = share * (best_rate_per_s(problem) / reach)[stream]
    # one group per (demand, candidate) -> its streams
    pairs = grouped(row, candidate)
    most = np.zeros(len(pairs.first))
    np.maximum.at(most, pairs.number, plain)
    alone = np.bincount(pairs.number) == 1
    return row[pairs.first], candidate[pairs.first], np.where(alone, best[pairs.first], most)


def _demand_on_whole_instances(problem: Problem, variables: Variables) -> Rows:
    """sum of n_o over o that may serve all of k + sum over the others of mix[m,k] flow >= demand[t,k], by demand.

    An offer may, where an instance full of one of its streams serves more of the class than is wanted. Where such an
    offer has an instance the row holds; else it has no flow, and the row is the demand. So it follows from the others.
    It says that a fraction of an instance can't serve a class whole, which the relaxation would otherwise assume where
    several mixes with the class share it: `first_instance` takes them one by one.
    """
    row, stream, share = demand_shares(problem, problem.streams)
    offer = problem.candidates.offer[problem.streams.server[stream]]
    pairs = grouped(row, offer)
    serves_all, several = _serve_all(problem, pairs)
    # demands that several mixes on one such offer serve whole -> their rows
    wanted = np.unique(row[pairs.first[serves_all & several]])
    number = positions(wanted, len(problem.demands))
    lead = pairs.first[serves_all]
    lead = lead[number[row[lead]] >= 0]
    beside = np.flatnonzero(~serves_all[pairs.number] & (number[row] >= 0))
    api_row, api_stream, api_share = demand_shares(problem, problem.api_streams)
    hosted = np.flatnonzero(number[api_row] >= 0)
    return at_least(
        [f"instances|{name}" for name in demand_names(problem, wanted)],
        1.0,
        (number[row[beside]], variables.flow[stream[beside]], share[beside]),
        (number[row[lead]], variables.instance_at[problem.demands.period[row[lead]], offer[lead]], 1.0),
        (number[api_row[hosted]], variables.bought[api_stream[hosted]], api_share[hosted]),
    )


def _serve_all(problem: Problem, pairs: Groups) -> tuple[Flags, Flags]:
    """For groups of entries of `demand_shares` by demand and offer: whether an instance may carry the demand whole, and
    whether several mixes on it carry some of it."""
    _, stream, share = demand_shares(problem, problem.streams)
    of_instance = share * (_rate_of_instance_per_s(problem) / problem.streams.reach_per_s)[stream]
    most = np.zeros(len(pairs.first))
    np.maximum.at(most, pairs.number, of_instance)
    each = grouped(pairs.number, problem.streams.mix[stream]).first
    return most > 1.0, np.bincount(pairs.number[each], minlength=len(most)) > 1


def _rate_of_instance_per_s(problem: Problem) -> Floats:
    """(N,) the most requests/s of each stream that an instance full of its candidate serves.

    With s the smallest replica on an offer of G GPUs, the packing row of s says that replicas of g GPUs fill at least
    g / (s floor(G/s)) of an instance.
    """
    candidates, gpus = problem.candidates, problem.offers.gpus_per_instance
    smallest = gpus.copy()
    np.minimum.at(smallest, candidates.offer, candidates.gpus_per_replica)
    replicas = (smallest * (gpus // smallest))[candidates.offer] / candidates.gpus_per_replica
    return np.asarray(problem.limits.max_utilization * problem.rate_of_stream_per_s * replicas[problem.streams.server])


def capacity(problem: Problem, variables: Variables) -> Rows:
    """flow <= best_rate replicas for a stream, and for several on one replica: sum of flow / (u rate) <= replicas.

    best_rate is max_utilization x rate, lowered to what a trimmed plan can draw from a replica where the demand is
    smaller than one replica or where spare replicas stand by. Lowering it excludes no trimmed plan and tightens the
    relaxation; where it is not lowered and streams share a replica, the joint row alone says it.
    """
    streams, reach, ids = problem.streams, problem.streams.reach_per_s, problem.candidates.ids
    plain, best = problem.limits.max_utilization * problem.rate_of_stream_per_s, best_rate_per_s(problem)
    # (period, candidate) -> whether several streams share its replicas
    several = streams_per_cell(problem) > 1
    shared = several[streams.period, streams.server]
    single = np.flatnonzero(~shared | (best < plain * (1 - 1e-9)))
    single_row, joint = np.arange(len(single)), np.flatnonzero(shared)
    period, candidate = np.nonzero(several)
    # (period, candidate) -> its row in the joint block
    joint_row = several.cumsum().reshape(several.shape) - 1
    return family_of(
        "capacity",
        single=at_most(
            stream_names(problem, single, shared[single]),
            0.0,
            (single_row, variables.flow[single], reach[single] / best[single]),
            (single_row, variables.replicas[streams.period[single], streams.server[single]], -1.0),
        ),
        joint=at_most(
            timed(problem, [ids[c] for c in candidate.tolist()], period),
            0.0,
            (joint_row[streams.period[joint], streams.server[joint]], variables.flow[joint], (reach / plain)[joint]),
            (np.arange(len(period)), variables.replicas[period, candidate], -1.0),
        ),
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
    slots = slots_of(problem, problem.candidates.offer, problem.candidates.gpus_per_replica)
    # (T, 1): the rows of a period follow those of the one before
    time = np.arange(problem.traffic.periods)[:, None]
    shift = time * len(slots.names)
    return at_most(
        tagged("packing", by_period(problem, slots.names)),
        0.0,
        (slots.row + shift, variables.replicas[time, slots.entry], slots.taken),
        (np.arange(len(slots.names)) + shift, variables.instance_at[time, slots.offer], -slots.there),
    )


class Slots(NamedTuple):
    """For each offer and replica size on it: a name, the offer, and the slots of that size in an instance; then entries
    (row, which replicas, slots that one of them takes) of all replicas of at least the size."""

    names: list[str]
    offer: Ints
    there: Ints
    row: Ints
    entry: Ints
    taken: Floats


def slots_of(problem: Problem, offer: Ints, size: Ints) -> Slots:
    """The slots of replicas of so many GPUs each, given the offer of each."""
    first = grouped(offer, size).first
    row_offer, row_size = offer[first], size[first]
    # each kind of replica in every row of its offer whose size it has at least
    entry, row = matches(offer, row_offer)
    fits = row_size[row] <= size[entry]
    entry, row = entry[fits], row[fits]
    ids = [problem.offers.ids[o] for o in row_offer.tolist()]
    return Slots(
        names=[f"{name}|{s}" for name, s in zip(ids, row_size.tolist(), strict=True)],
        offer=row_offer,
        there=problem.offers.gpus_per_instance[row_offer] // row_size,
        row=row,
        entry=entry,
        taken=size[entry] / row_size[row],
    )


def first_instance(problem: Problem, variables: Variables) -> Rows:
    """sum over the streams on offer o that serve class k alone of flow <= demand[k] n_o; mixed ones one by one.

    In a trimmed plan the left side never exceeds demand[k], and it is 0 when nothing is bought, so the row holds for
    every trimmed plan. It says that a fraction of an instance can't serve everything, which the relaxation would
    otherwise assume wherever one instance is more than the demand needs. Where it is not, packing already implies it.
    """
    streams, candidates = problem.streams, problem.candidates
    groups = trimming_groups(problem, candidates.offer)
    per_gpu = best_rate_per_s(problem) / streams.reach_per_s / candidates.gpus_per_replica[streams.server]
    densest = np.zeros(len(groups.first))
    np.maximum.at(densest, groups.number, per_gpu)
    gpus = problem.offers.gpus_per_instance[candidates.offer[streams.server[groups.first]]]
    # groups of which one instance could serve more than everything get a row, in the name of their first stream
    useful = densest * gpus > 1.0
    row_of_group, member, lead = np.cumsum(useful) - 1, np.flatnonzero(useful[groups.number]), groups.first[useful]
    server, period = streams.server[lead], streams.period[lead]
    serves_several = (candidates.rate_per_s[server] > 0).sum(axis=1) > 1
    return at_most(
        tagged("first_instance", stream_names(problem, lead, serves_several)),
        0.0,
        (row_of_group[groups.number[member]], variables.flow[member], 1.0),
        (np.arange(len(lead)), variables.instance_at[period, candidates.offer[server]], -1.0),
    )

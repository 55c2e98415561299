"""What must be left when something is lost: spare replicas, surviving places, presence in several of them."""

import numpy as np

from optimizer.base.arrays import Ints
from optimizer.program.formulation.demand import demand_shares
from optimizer.program.formulation.rows import Rows, at_least, at_most
from optimizer.program.formulation.variables import Variables, by_period, tagged
from optimizer.program.problem.data import Labels
from optimizer.program.problem.losses import best_share_per_replica
from optimizer.program.problem.problem import Problem
from optimizer.program.problem.quantities import label_numbers, labels, may_not_serve, streams_per_cell, wanted_classes


def spare_replicas(problem: Problem, variables: Variables) -> Rows:
    """With s spare: sum of flow / rate <= replicas - s used, flow <= reach used, replicas >= (s+1) used.

    Each deployment that serves anything still serves its flow within the SLA, at full rate, after losing s replicas.
    The big-M of the second row is reach: no trimmed plan routes more. The third row excludes no plan (a deployment
    with flow has more than s replicas by the first) and tightens the relaxation.
    """
    streams, spare, cells = problem.streams, problem.limits.spare_replicas, variables.replicas.size
    cell = streams.period * len(problem.candidates) + streams.server
    every, flows = np.arange(cells), np.arange(len(streams))
    ids = by_period(problem, problem.candidates.ids)
    several = (streams_per_cell(problem) > 1).ravel()[cell]
    used = [f"used|{ids[at]}{f'|m{m}' if s else ''}" for at, m, s in zip(cell, streams.mix, several, strict=True)]
    names = [f"survive|{name}" for name in ids] + used + [f"least|{name}" for name in ids]
    last = cells + len(flows) + every
    return at_most(
        tagged("spare_replicas", names),
        np.zeros(len(names)),
        (cell, variables.flow, streams.reach_per_s / problem.rate_of_stream_per_s),
        (every, variables.used, np.full(cells, float(spare))),
        (every, variables.replicas, -np.ones(cells)),
        (cells + flows, variables.flow, np.ones(len(flows))),
        (cells + flows, variables.used.ravel()[cell], -np.ones(len(flows))),
        (last, variables.used, np.full(cells, spare + 1.0)),
        (last, variables.replicas, -np.ones(cells)),
    )


def survive(problem: Problem, variables: Variables) -> Rows:
    """After each loss e: sum over streams left of mix flow[e] + bought >= demand, and flow[e] within what is left.

    left[e,c] = replicas[c], 0 where the place of c is lost, or replicas[c] less what one instance holds where an
    instance of its offer is. What is left runs at full rate; the flows of hosted APIs stay as they are. The first
    block says the same in whole replicas, summed over the candidates: it follows from the others and is all that the
    relaxation needs.
    """
    lost, (period, request_class) = variables.losses, wanted_classes(problem)
    events, wanted = len(lost.names), len(period)
    classes = [f"{problem.traffic.classes[k]}|t{t}" for t, k in zip(period, request_class, strict=True)]
    row, share = _class_rows(problem, variables)
    counted = [f"replicas|{event}|{name}" for event in lost.names for name in classes]
    entries = [(row[0], row[1], share)]
    if not len(lost.event):
        return at_least(tagged("survive", counted), np.ones(events * wanted), *entries)
    flows, block = events * wanted, lost.event * len(problem.streams) + lost.stream
    position = np.full(events * len(problem.streams), -1, dtype=np.int64)
    position[block] = np.arange(len(block))
    at, stream, part = demand_shares(problem, problem.streams)
    pair = position[np.arange(events)[:, None] * len(problem.streams) + stream]
    kept = pair >= 0
    served = np.broadcast_to(flows + at + np.arange(events)[:, None] * wanted, pair.shape)[kept]
    entries.append((served, variables.failover[pair[kept]], np.broadcast_to(part, pair.shape)[kept]))
    entries.append(_api_entries(problem, variables, flows))
    demands = [f"flow|{event}|{name}" for event in lost.names for name in classes]
    within, names = _within_what_is_left(problem, variables, 2 * flows)
    lower = np.concatenate([np.ones(2 * flows), np.zeros(len(names))])
    return at_least(tagged("survive", counted + demands + names), lower, *entries, *within)


def _class_rows(problem: Problem, variables: Variables) -> tuple[tuple[Ints, Ints], np.ndarray]:
    """Entries of the first block: what whole replicas that are not lost, and hosted APIs, carry of each class."""
    lost, (period, request_class) = variables.losses, wanted_classes(problem)
    number = np.full(problem.traffic.demand_per_s.shape, -1, dtype=np.int64)
    number[period, request_class] = np.arange(len(period))
    t, k, candidate, share = best_share_per_replica(problem)
    event, entry = np.nonzero(~lost.gone[:, candidate])
    row = event * len(period) + number[t, k][entry]
    api_row, column, part = _api_entries(problem, variables, 0)
    columns = np.concatenate([variables.replicas[t, candidate][entry], column])
    return (np.concatenate([row, api_row]), columns), np.concatenate([share[entry], part])


def _api_entries(problem: Problem, variables: Variables, shift: int) -> tuple[Ints, Ints, np.ndarray]:
    """Entries of hosted APIs that are not lost, one block of wanted classes per event."""
    lost, wanted = variables.losses, len(wanted_classes(problem)[0])
    row, api, share = demand_shares(problem, problem.api_streams)
    event, entry = np.nonzero(~lost.api_gone[:, problem.api_streams.server[api]])
    return shift + event * wanted + row[entry], variables.bought[api[entry]], share[entry]


def _within_what_is_left(
    problem: Problem, variables: Variables, shift: int
) -> tuple[list[tuple[Ints, Ints, np.ndarray]], list[str]]:
    """Rows left[e,c] - sum of flow[e] / rate >= 0, and outlasts - flow[e] >= 0 where an instance is lost."""
    lost, streams = variables.losses, problem.streams
    t, c = streams.period[lost.stream], streams.server[lost.stream]
    keys, row = np.unique(np.stack([lost.event, t, c], axis=1), axis=0, return_inverse=True)
    event, period, candidate = keys.T
    row, ids = row.reshape(-1), problem.candidates.ids
    names = [f"left|{lost.names[e]}|{ids[c]}|t{t}" for e, t, c in keys.tolist()]
    less = lost.thinned[event, candidate]
    thin, load = np.flatnonzero(less), streams.reach_per_s / problem.rate_of_stream_per_s
    entries = [
        (shift + row, variables.failover, -load[lost.stream]),
        (shift + np.arange(len(keys)), variables.replicas[period, candidate], np.ones(len(keys))),
    ]
    if len(thin):
        switched = np.flatnonzero(lost.thinned[lost.event, c])
        after = shift + len(keys) + np.arange(len(switched))
        entries += [
            (shift + thin, variables.outlasts[period[thin], candidate[thin]], -less[thin].astype(float)),
            (after, variables.failover[switched], -np.ones(len(switched))),
            (after, variables.outlasts[t[switched], c[switched]], np.ones(len(switched))),
        ]
        pairs = zip(lost.event[switched], lost.stream[switched], strict=True)
        names += [f"outlasts|{lost.names[e]}|{ids[streams.server[n]]}|s{n}" for e, n in pairs]
    return entries, names


def min_providers(problem: Problem, variables: Variables) -> Rows:
    """sum of present[p] >= min_providers; present[p] <= deployments (or replicas) of p that can serve."""
    present, least = variables.provider_present, problem.limits.min_providers
    return _presence("min_providers", problem.offers.provider, present, least, problem, variables)


def min_regions(problem: Problem, variables: Variables) -> Rows:
    """sum of present[r] >= min_regions; present[r] <= deployments (or replicas) in r that can serve."""
    present, least = variables.region_present, problem.limits.min_regions
    return _presence("min_regions", problem.offers.region, present, least, problem, variables)


def _presence(family: str, place: Labels, present: Ints, least: int, problem: Problem, variables: Variables) -> Rows:
    """A place counts with one replica there, or spare + 1 of one candidate; a spot replica that may not serve does not.

    An empty instance does not count: it is bought but serves nobody. In every period.
    """
    member = np.flatnonzero(~may_not_serve(problem))
    columns = variables.used if variables.used.size else variables.replicas
    periods, places = present.shape
    at = label_numbers(place)[problem.candidates.offer[member]]
    time = np.arange(periods)[:, None]
    number = np.arange(present.size)
    return at_least(
        tagged(family, by_period(problem, [*labels(place)]) + by_period(problem, ["count"])),
        np.append(np.zeros(present.size), np.full(periods, float(least))),
        (at + time * places, columns[time, member], np.ones(periods * len(member))),
        (number, present, -np.ones(present.size)),
        (present.size + np.repeat(np.arange(periods), places), present, np.ones(present.size)),
    )

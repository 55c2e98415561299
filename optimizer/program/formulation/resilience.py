"""What must be left when something is lost: spare replicas, surviving places, presence in several of them."""

import numpy as np

from optimizer.base.arrays import Ints
from optimizer.program.formulation.demand import demand_shares
from optimizer.program.formulation.rows import Rows, Term, at_least, at_most, family_of
from optimizer.program.formulation.variables import Variables, by_period
from optimizer.program.problem.data import Labels
from optimizer.program.problem.indices import grouped, positions
from optimizer.program.problem.losses import best_share_per_replica
from optimizer.program.problem.problem import Problem
from optimizer.program.problem.quantities import label_numbers, labels, may_not_serve, streams_per_cell


def spare_replicas(problem: Problem, variables: Variables) -> Rows:
    """With s spare: sum of flow / rate <= replicas - s used, flow <= reach used, replicas >= (s+1) used.

    Each deployment that serves anything still serves its flow within the SLA, at full rate, after losing s replicas.
    The big-M of the second row is reach: no trimmed plan routes more. The third row excludes no plan (a deployment
    with flow has more than s replicas by the first) and tightens the relaxation.
    """
    streams, spare = problem.streams, problem.limits.spare_replicas
    ids, every = by_period(problem, problem.candidates.ids), np.arange(variables.replicas.size)
    # stream -> its candidate in its period
    cell = streams.period * len(problem.candidates) + streams.server
    several = (streams_per_cell(problem) > 1).ravel()[cell]
    flows = [f"{ids[c]}{f'|m{m}' if s else ''}" for c, m, s in zip(cell, streams.mix, several, strict=True)]
    return family_of(
        "spare_replicas",
        survive=at_most(
            [f"survive|{name}" for name in ids],
            0.0,
            (cell, variables.flow, streams.reach_per_s / problem.rate_of_stream_per_s),
            (every, variables.used, float(spare)),
            (every, variables.replicas, -1.0),
        ),
        used=at_most(
            [f"used|{name}" for name in flows],
            0.0,
            (np.arange(len(flows)), variables.flow, 1.0),
            (np.arange(len(flows)), variables.used.ravel()[cell], -1.0),
        ),
        least=at_most(
            [f"least|{name}" for name in ids],
            0.0,
            (every, variables.used, spare + 1.0),
            (every, variables.replicas, -1.0),
        ),
    )


def survive(problem: Problem, variables: Variables) -> Rows:
    """After each loss e: sum over streams left of mix flow[e] + bought >= demand, and flow[e] within what is left.

    left[e,c] = replicas[c], 0 where the place of c is lost, or replicas[c] less what one instance holds where an
    instance of its offer is. What is left runs at full rate; the flows of hosted APIs stay as they are. The first
    block says the same in whole replicas, summed over the candidates: it follows from the others and is all that the
    relaxation needs.
    """
    lost, demands = variables.losses, problem.demands
    classes = [problem.traffic.classes[k] for k in demands.request_class.tolist()]
    names = [f"{e}|{k}|t{t}" for e in lost.names for k, t in zip(classes, demands.period.tolist(), strict=True)]
    bought = _bought_after_loss(problem, variables)
    counted = at_least([f"replicas|{name}" for name in names], 1.0, _replicas_left(problem, variables), bought)
    if not len(lost.event):
        return family_of("survive", replicas=counted)
    return family_of(
        "survive",
        replicas=counted,
        flow=at_least([f"flow|{name}" for name in names], 1.0, _flows_after_loss(problem, variables), bought),
        left=_within_what_is_left(problem, variables),
        outlasts=_outlasting(problem, variables),
    )


def _replicas_left(problem: Problem, variables: Variables) -> Term:
    """Entries of what whole replicas that are not lost carry of each demand, demands within losses."""
    lost, demands = variables.losses, problem.demands
    demand, candidate, share = best_share_per_replica(problem)
    event, entry = np.nonzero(~lost.gone[:, candidate])
    replicas = variables.replicas[demands.period[demand], candidate]
    return event * len(demands) + demand[entry], replicas[entry], share[entry]


def _bought_after_loss(problem: Problem, variables: Variables) -> Term:
    """Entries of hosted APIs that are not lost."""
    row, stream, share = demand_shares(problem, problem.api_streams)
    event, entry = np.nonzero(~variables.losses.api_gone[:, problem.api_streams.server[stream]])
    return event * len(problem.demands) + row[entry], variables.bought[stream[entry]], share[entry]


def _flows_after_loss(problem: Problem, variables: Variables) -> Term:
    """Entries of the flows after each loss."""
    lost, streams = variables.losses, len(problem.streams)
    row, stream, share = demand_shares(problem, problem.streams)
    events = np.arange(len(lost.names))[:, None]
    # (loss, entry) -> its flow after the loss, -1 where its candidate is lost
    failover = positions(lost.event * streams + lost.stream, len(events) * streams)[events * streams + stream]
    event, entry = np.nonzero(failover >= 0)
    return event * len(problem.demands) + row[entry], variables.failover[failover[event, entry]], share[entry]


def _within_what_is_left(problem: Problem, variables: Variables) -> Rows:
    """left[e,c] - sum of flow[e] / rate >= 0 for each loss, period and candidate that is not lost."""
    lost, streams, ids = variables.losses, problem.streams, problem.candidates.ids
    period, server = streams.period[lost.stream], streams.server[lost.stream]
    cells = grouped(lost.event, period, server)
    event, t, c = lost.event[cells.first], period[cells.first], server[cells.first]
    # row -> replicas that one instance may take along
    taken = lost.thinned[event, c]
    thinned = np.flatnonzero(taken)
    load = (streams.reach_per_s / problem.rate_of_stream_per_s)[lost.stream]
    return at_least(
        [f"left|{lost.names[e]}|{ids[c]}|t{t}" for e, t, c in zip(event, t, c, strict=True)],
        0.0,
        (cells.number, variables.failover, -load),
        (np.arange(len(event)), variables.replicas[t, c], 1.0),
        (thinned, variables.outlasts[t[thinned], c[thinned]], -taken[thinned]),
    )


def _outlasting(problem: Problem, variables: Variables) -> Rows:
    """outlasts - flow[e] >= 0 where an instance is lost."""
    lost, streams, ids = variables.losses, problem.streams, problem.candidates.ids
    period, server = streams.period[lost.stream], streams.server[lost.stream]
    flow = np.flatnonzero(lost.thinned[lost.event, server])
    row, pairs = np.arange(len(flow)), zip(lost.event[flow], lost.stream[flow], strict=True)
    return at_least(
        [f"outlasts|{lost.names[e]}|{ids[streams.server[n]]}|s{n}" for e, n in pairs],
        0.0,
        (row, variables.failover[flow], -1.0),
        (row, variables.outlasts[period[flow], server[flow]], 1.0),
    )


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
    serving = np.flatnonzero(~may_not_serve(problem))
    columns = variables.used if variables.used.size else variables.replicas
    periods, places = present.shape
    # candidate -> its place
    place_of = label_numbers(place)[problem.candidates.offer[serving]]
    time = np.arange(periods)[:, None]
    return family_of(
        family,
        place=at_least(
            by_period(problem, labels(place)),
            0.0,
            (place_of + time * places, columns[time, serving], 1.0),
            (np.arange(present.size), present, -1.0),
        ),
        count=at_least(
            by_period(problem, ["count"]), float(least), (np.repeat(np.arange(periods), places), present, 1.0)
        ),
    )

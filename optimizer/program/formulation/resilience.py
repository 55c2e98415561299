"""What must be left when something is lost: spare replicas, surviving places, presence in several of them."""

from typing import NamedTuple

import numpy as np

from optimizer.base.arrays import Floats, Ints
from optimizer.program.formulation.demand import demand_shares
from optimizer.program.formulation.rows import Rows, at_least, at_most, family_of
from optimizer.program.formulation.variables import Variables, by_period, cell_ids, demand_names
from optimizer.program.problem.data import Fullest, Labels
from optimizer.program.problem.indices import grouped
from optimizer.program.problem.loss_levels import LossLevels
from optimizer.program.problem.losses import full_rate_shares
from optimizer.program.problem.problem import Problem
from optimizer.program.problem.quantities import label_numbers, labels, may_not_serve, streams_per_cell

LINES = (2, 3, 4, 5, 6, 8, 11, 16, 23, 32, 64, 128)
"""The n of the lines below N / (N - 1) that the program knows; more of them would bound it closer in between."""


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
    """After each loss what is left, at full rate, carries the demand: carried - what is lost >= 1 for each demand.

    carried is the share of a demand that all replicas at full rate and hosted APIs carry. What is left runs at full
    rate, which serves each class most, since every candidate serves one mix; what APIs are sent stays as it is.
    """
    blocks = {"carried": _carried(problem, variables), "left": _without_the_lost(problem, variables)}
    if "instance" in problem.limits.survive:
        blocks["spread"] = _spread_over_instances(problem, variables)
    if problem.fullest.divided:
        blocks["fullest"] = _without_the_fullest(problem.fullest, problem, variables)
    if problem.fullest_place.divided:
        blocks["fullest_place"] = _without_the_fullest(problem.fullest_place, problem, variables)
        blocks["within"] = _within_the_fullest(problem, variables)
    levels = variables.demand_levels
    if len(levels):
        names = demand_names(problem, levels.of)
        blocks["instance"] = _without_an_instance(problem, variables)
        blocks["exposed"] = _may_be_lost(levels, variables.exposed, variables.placed, names)
        blocks["rising"] = _rising(levels, variables.exposed, names)
    return family_of("survive", **blocks)


def _carried(problem: Problem, variables: Variables) -> Rows:
    """sum of share replicas + bought - carried >= 0 for each demand."""
    demand, candidate, share = full_rate_shares(problem)
    row, stream, bought = demand_shares(problem, problem.api_streams)
    number = np.arange(len(problem.demands))
    return at_least(
        [f"carried|{name}" for name in demand_names(problem, number)],
        0.0,
        (demand, variables.replicas[problem.demands.period[demand], candidate], share),
        (row, variables.bought[stream], bought),
        (number, variables.carried, -1.0),
    )


class _Lost(NamedTuple):
    """What each loss of a place takes of each demand: the loss and the demand of a row, and the entries of all rows."""

    event: Ints
    demand: Ints
    taken: tuple[tuple[Ints, Ints, Floats], ...]


def _lost_with_places(problem: Problem, variables: Variables) -> _Lost:
    """The losses of places and the demands that each takes part of."""
    lost, demands = variables.losses, problem.demands
    demand, candidate, share = full_rate_shares(problem)
    event, entry = np.nonzero(lost.gone[:, candidate])
    api_row, stream, bought = demand_shares(problem, problem.api_streams)
    api_event, api_entry = np.nonzero(lost.api_gone[:, problem.api_streams.server[stream]])
    # (loss, demand) of each entry -> its row
    keys = np.append(event * len(demands) + demand[entry], api_event * len(demands) + api_row[api_entry])
    rows, row = np.unique(keys, return_inverse=True)
    row_of_replica, row_of_api = np.split(row.reshape(-1), [len(event)])
    of_event, of_demand = np.divmod(rows, max(len(demands), 1))
    replicas = variables.replicas[demands.period[demand], candidate][entry]
    on_apis = (row_of_api, variables.bought[stream[api_entry]], bought[api_entry])
    return _Lost(of_event, of_demand, ((row_of_replica, replicas, share[entry]), on_apis))


def _without_the_lost(problem: Problem, variables: Variables) -> Rows:
    """carried - sum over what is lost >= 1 for each loss of a place and each demand that it takes part of."""
    lost = _lost_with_places(problem, variables)
    return at_least(
        _names_of("left", lost, problem, variables),
        1.0,
        (np.arange(len(lost.demand)), variables.carried[lost.demand], 1.0),
        *((row, column, -share) for row, column, share in lost.taken),
    )


def _within_the_fullest(problem: Problem, variables: Variables) -> Rows:
    """sum over what is lost <= most for each loss of a place and each demand, as far as a search has said so."""
    lost = _lost_with_places(problem, variables)
    most = problem.fullest_place.most[lost.demand]
    told = np.isfinite(most)
    number = np.cumsum(told) - 1
    names = _names_of("within", lost, problem, variables)
    return at_most(
        [name for name, said in zip(names, told.tolist(), strict=True) if said],
        most[told],
        *((number[row[told[row]]], column[told[row]], share[told[row]]) for row, column, share in lost.taken),
    )


def _names_of(block: str, lost: _Lost, problem: Problem, variables: Variables) -> list[str]:
    names, wanted = variables.losses.names, demand_names(problem, lost.demand)
    return [f"{block}|{names[event]}|{name}" for event, name in zip(lost.event.tolist(), wanted, strict=True)]


def _spread_over_instances(problem: Problem, variables: Variables) -> Rows:
    """carried + N / (n (n - 1)) + 2 / (n - 1) bought >= (n + 1) / (n - 1), N the instances that may serve the class.

    Of N instances the fullest carries at least the N-th part of what replicas carry, x, so x (1 - 1 / N) >= 1 - bought:
    x >= (1 - bought) N / (N - 1). N / (N - 1) falls ever less steeply, so at whole N it lies on or above the line
    through its points at n and n + 1, which is (n + 1) / (n - 1) - N / (n (n - 1)). Where fewer than two instances
    serve the class, all of it is bought. Counting instances that do not serve it only lowers the right side. The rows
    follow from the others for whole numbers and are what the relaxation knows of the loss of an instance.
    """
    demands, count = problem.demands, np.array(LINES)
    number, lines = np.arange(len(demands)), len(LINES)
    # (demand, offer) with a candidate that serves the class
    demand, candidate, _ = full_rate_shares(problem)
    serving = grouped(demand, problem.candidates.offer[candidate]).first
    of_demand, offer = demand[serving], problem.candidates.offer[candidate][serving]
    row, stream, bought = demand_shares(problem, problem.api_streams)
    line = np.arange(lines)[:, None]
    return at_least(
        [f"spread|{n}|{name}" for n in LINES for name in demand_names(problem, number)],
        np.repeat((count + 1.0) / (count - 1.0), len(demands)),
        (line * len(demands) + number, np.broadcast_to(variables.carried, (lines, len(demands))), 1.0),
        (
            line * len(demands) + of_demand,
            np.broadcast_to(variables.instance_at[demands.period[of_demand], offer], (lines, len(offer))),
            np.broadcast_to((1.0 / (count * (count - 1.0)))[:, None], (lines, len(offer))),
        ),
        (
            line * len(demands) + row,
            np.broadcast_to(variables.bought[stream], (lines, len(row))),
            bought * (2.0 / (count - 1.0))[:, None],
        ),
    )


def _without_an_instance(problem: Problem, variables: Variables) -> Rows:
    """carried - sum of step exposed >= 1 for each demand: what the fullest instance carries of it may be lost.

    Where a search has said how much that is at least it is 1 + least, and levels begin there.
    """
    levels, number = variables.demand_levels, np.arange(len(problem.demands))
    return at_least(
        [f"instance|{name}" for name in demand_names(problem, number)],
        1.0 + problem.fullest.least if problem.fullest.divided else 1.0,
        (number, variables.carried, 1.0),
        (levels.of, variables.exposed, -levels.step),
    )


def _without_the_fullest(fullest: Fullest, problem: Problem, variables: Variables) -> Rows:
    """carried >= 1 + least for each demand: as much as a search says that the fullest one carries at least."""
    number = np.arange(len(problem.demands))
    names = [f"fullest|{name}" for name in demand_names(problem, number)]
    return at_least(names, 1.0 + fullest.least, (number, variables.carried, 1.0))


def _may_be_lost(levels: LossLevels, reached: Ints, placed: Ints, names: list[str]) -> Rows:
    """placed[t,p] <= most[t,p] reached: what stands on an instance may be lost.

    Args:
        levels: Of what may be lost.
        reached: (L,) columns, whether each level may be lost.
        placed: (T, P) columns of the instances by what stands on them.
        names: (L,) of the levels.
    """
    row, of_level = np.arange(len(levels.level)), levels.level.tolist()
    return at_most(
        [f"lost|{names[level]}|p{p}" for level, p in zip(of_level, levels.content.tolist(), strict=True)],
        0.0,
        (row, placed[levels.period, levels.content], 1.0),
        (row, reached[levels.level], -levels.most.astype(float)),
    )


def _rising(levels: LossLevels, reached: Ints, names: list[str]) -> Rows:
    """reached at a level <= reached at the level before: who may lose more may lose less."""
    upper = levels.follows
    row = np.arange(len(upper))
    return at_most(
        [f"rising|{names[level]}|l{level}" for level in upper.tolist()],
        0.0,
        (row, reached[upper], 1.0),
        (row, reached[upper - 1], -1.0),
    )


def spare_on_other_instances(problem: Problem, variables: Variables) -> Rows:
    """sum of flow / rate <= replicas - sum of step stacked: each candidate serves its flow without any one instance."""
    streams, levels = problem.streams, variables.replica_levels
    ids, names = by_period(problem, problem.candidates.ids), cell_ids(problem, levels.of)
    return family_of(
        "spare_on_other_instances",
        left=at_most(
            [f"left|{name}" for name in ids],
            0.0,
            (
                streams.period * len(problem.candidates) + streams.server,
                variables.flow,
                streams.reach_per_s / problem.rate_of_stream_per_s,
            ),
            (levels.of, variables.stacked, levels.step),
            (np.arange(variables.replicas.size), variables.replicas, -1.0),
        ),
        stacked=_may_be_lost(levels, variables.stacked, variables.placed, names),
        rising=_rising(levels, variables.stacked, names),
    )


def placement(problem: Problem, variables: Variables) -> Rows:
    """replicas[t,c] <= sum over contents p of count[p,c] placed[t,p]; sum over p of o of placed[t,p] <= instances."""
    contents, (periods, candidates) = variables.contents, variables.replicas.shape
    offer_of_row, row = np.unique(contents.offer, return_inverse=True)
    # (T, 1): the rows of a period follow those of the one before
    time = np.arange(periods)[:, None]
    names = [problem.offers.ids[o] for o in offer_of_row.tolist()]
    return family_of(
        "placement",
        held=at_most(
            [f"held|{name}" for name in by_period(problem, problem.candidates.ids)],
            0.0,
            (np.arange(variables.replicas.size), variables.replicas, 1.0),
            (
                contents.candidate + time * candidates,
                variables.placed[:, contents.content],
                np.broadcast_to(-contents.count.astype(float), (periods, len(contents.count))),
            ),
        ),
        bought=at_most(
            [f"bought|{name}" for name in by_period(problem, names)],
            0.0,
            (row.reshape(-1) + time * len(names), variables.placed, 1.0),
            (np.arange(len(names)) + time * len(names), variables.instance_at[:, offer_of_row], -1.0),
        ),
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

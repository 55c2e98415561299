"""A lower bound on every plan's cost, and on every plan that uses a given candidate, from any multipliers.

The relaxation supplies multipliers; nothing here trusts that they are optimal or even feasible. With a price per unit
of demand, of a surviving share and of a least replica (what is gained) and a charge per unit of each limit, a trimmed
plan (see `quantities`) costs

    sum price n  >=  gained - charged + sum over columns of instances ( adjusted_price n - worth of what runs on them )
                                      + sum over hosted APIs ( adjusted_price - worth ) flow

because demands are met and limits are kept. `adjusted_price` adds what the limits charge for an instance or an API; a
flow is worth what it gains less what it costs to send its answers and what limits charge for it, a replica what it
gains by being there, and so an instance, since more of them lose less with one. In one period t and on one offer o the
flow is limited twice: by what fits into n instances, and, for each trimming group, by the demand itself. With any
prices z >= 0 on the groups,

    worth on o in t  <=  n ( sum over groups of z  +  F[t,o](worth - z) )

where F is the most worth that fits into one instance. One replica is filled by falling worth per share of its
capacity, each stream up to what a replica draws of it; an instance is filled by falling worth per GPU, which is
optimal since its packing rows are nested (see `constraints.packing`). An instance that is paid all month gathers the
worth of every period. If every adjusted price is at least the worth it buys, each term is at least 0, so
gained - charged bounds every plan; and a plan with a replica of c has one instance that holds it, so its cost is at
least that plus what the best content with c falls short. Where the condition fails by a little, all worths are scaled
down until it holds; a flow's cost comes down with its gain, which counts it as worth no less than it is. The bound of
a candidate is the best over a few choices of z and over the periods.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from optimizer.base.arrays import Floats, Ints
from optimizer.program.formulation.model import Program, hourly_cost
from optimizer.program.formulation.registry import FAMILY
from optimizer.program.formulation.rows import Rows, by_name
from optimizer.program.formulation.variables import instance_columns
from optimizer.program.problem.problem import Problem
from optimizer.program.problem.quantities import best_rate_per_s, streams_per_cell, trimming_groups


@dataclass(frozen=True, eq=False)
class Multipliers:
    """What non-negative prices on the relaxation's rows make of its columns, in USD/h over the month.

    Attributes:
        flow_worth: (N,) of the reach of a stream, less what it costs.
        replica_worth: (T, C) of a replica's being there; negative where a limit on replicas charges for it.
        api_worth, api_price: (B,) of the reach of an API's stream, and what it costs with the limits' charges.
        instance_price: (I,) of an instance with the limits' charges.
        instance_worth: (I,) of an instance's being there, since more of them lose less when one is lost.
        gained: What demands, survival and least replicas are worth, less what limits on flows and replicas charge.
        charged: What the right sides of limits on instances are worth.
        group: (N,) the price z of a stream's trimming group, for its reach.
    """

    flow_worth: Floats
    replica_worth: Floats
    api_worth: Floats
    api_price: Floats
    instance_price: Floats
    instance_worth: Floats
    gained: float
    charged: float
    group: Floats


@dataclass(frozen=True, eq=False)
class Bound:
    """What no plan can undercut.

    Attributes:
        usd_per_hour: Every plan costs at least this.
        with_candidate_usd_per_hour: (C,) every plan that uses the candidate costs at least this.
    """

    usd_per_hour: float
    with_candidate_usd_per_hour: Floats

    def raised_to(self, other: "Bound") -> "Bound":
        """What this bound and another one of the same problem say together."""
        return Bound(
            max(self.usd_per_hour, other.usd_per_hour),
            np.maximum(self.with_candidate_usd_per_hour, other.with_candidate_usd_per_hour),
        )

    def for_whole(self, candidates: Ints, count: int) -> "Bound":
        """The bound of a part that no other one of `count` candidates is in: infinite for those."""
        with_candidate = np.full(count, np.inf)
        with_candidate[candidates] = self.with_candidate_usd_per_hour
        return Bound(self.usd_per_hour, with_candidate)


def no_bound(problem: Problem) -> Bound:
    """What is known of the cost of plans before anything is solved."""
    return Bound(0.0, np.zeros(len(problem.candidates)))


def read_multipliers(program: Program, duals: Floats) -> Multipliers:
    """Multipliers from the duals of the relaxation, clipped to the signs that make them valid."""
    columns = program.variables
    worth, price, group = np.zeros(columns.count), hourly_cost(program), np.zeros(columns.count)
    gained = charged = 0.0
    for name, dual in prices_of(program.families, duals).items():
        rows, charges = program.families[name], FAMILY[name].charges
        if charges in ("flow", "replicas"):
            # what must be there is worth its price, what may not exceed a limit costs it
            least = np.isfinite(rows.lower)
            signed = np.where(least, dual, -dual)
            rows.add_products(worth, signed)
            gained += float(signed @ np.where(least, rows.lower, rows.upper))
        elif name == "first_instance":
            on_flow = np.isin(rows.column, columns.flow)
            group[rows.column[on_flow]] = dual[rows.row[on_flow]]
        elif charges == "instances":
            rows.add_products(price, dual)
            charged += float(dual @ rows.upper)
    return Multipliers(
        flow_worth=worth[columns.flow] - price[columns.flow],
        replica_worth=worth[columns.replicas],
        api_worth=worth[columns.bought],
        api_price=price[columns.bought],
        instance_price=price[columns.instances],
        instance_worth=worth[columns.instances],
        gained=gained,
        charged=charged,
        group=group[columns.flow],
    )


def prices_of(families: Mapping[str, Rows], duals: Floats) -> dict[str, Floats]:
    """What the duals of a relaxation say a unit of each row of each family is worth, never negative.

    The first two blocks of the demand state the same, so the price of the second stands on the first.
    """
    prices = {name: np.abs(dual) for name, dual in by_name(families, duals).items()}
    demand, blocks = prices["demand"], families["demand"].blocks
    demand[blocks["flows"]] += demand[blocks["replicas"]]
    demand[blocks["replicas"]] = 0.0
    if "survive" in families:
        _pass_on(prices["survive"], families["survive"])
    return prices


def _pass_on(price: Floats, survive: Rows) -> None:
    """What is carried of a demand is worth what all losses of it are: their prices stand on the row that carries it.

    Then the column of what is carried, which is free and costs nothing, is worth nothing.
    """
    carried = survive.blocks["carried"]
    lead = carried.stop - carried.start
    of_row = np.full(int(survive.column.max(initial=-1)) + 1, -1)
    given = (survive.row < lead) & (survive.value < 0)
    of_row[survive.column[given]] = survive.row[given]
    price[carried] = 0.0
    taken = (of_row[survive.column] >= 0) & (survive.row >= lead)
    np.add.at(price, of_row[survive.column[taken]], price[survive.row[taken]] * survive.value[taken])


def bound_from(problem: Problem, multipliers: Multipliers) -> Bound:
    """The bound that the multipliers prove, by the argument in the module's docstring."""
    worth = np.maximum(multipliers.flow_worth, 0.0)
    group_prices = (np.zeros_like(worth), np.minimum(multipliers.group, worth), worth)
    contents = [_contents(problem, worth, multipliers.replica_worth, z) for z in group_prices]
    instance_at, _, _ = instance_columns(problem)
    price, most = multipliers.instance_price, np.min([content.most for content in contents], axis=0)
    # (I,) worth of a column of instances, over all periods that it runs in
    gathered = multipliers.instance_worth.copy()
    np.add.at(gathered, instance_at, most)
    scale = min(1.0, _smallest_ratio(price, gathered), _smallest_ratio(multipliers.api_price, multipliers.api_worth))
    lower = scale * multipliers.gained - multipliers.charged
    # (T, O) what the other periods leave of the price for this one to earn
    left = price[instance_at] - scale * (gathered[instance_at] - most)
    offer = problem.candidates.offer
    extra = np.zeros((len(most), len(offer)))
    for content in contents:
        valid = (left >= scale * content.most * (1.0 - 1e-12))[:, offer]
        extra = np.maximum(extra, np.where(valid, left[:, offer] - scale * content.most_with_candidate, 0.0))
    return Bound(lower, lower + extra.min(axis=0, initial=np.inf))


def _smallest_ratio(price: Floats, worth: Floats) -> float:
    """The largest factor by which all worths may be multiplied and still cost no less; nothing for free allows any."""
    at_most = np.maximum(worth, price * 0.5)
    return float(np.divide(price, at_most, out=np.ones_like(price), where=at_most > 0).min(initial=1.0))


@dataclass(frozen=True, eq=False)
class _Contents:
    """The most worth of an instance's content for one choice of group prices z.

    Attributes:
        most: (T, O) sum of z + F.
        most_with_candidate: (T, C) the same with one replica of the candidate placed.
    """

    most: Floats
    most_with_candidate: Floats


def _contents(problem: Problem, worth: Floats, replica_worth: Floats, group_price: Floats) -> _Contents:
    streams, offer = problem.streams, problem.candidates.offer
    groups = trimming_groups(problem, offer)
    # within a group one price must serve all: the highest keeps the inequality and lowers no worth below it
    highest = np.zeros(len(groups.first))
    np.maximum.at(highest, groups.number, group_price)
    # (T, O) what an offer pays for the groups on it
    charge = np.zeros((problem.traffic.periods, len(problem.offers)))
    np.add.at(charge, (streams.period[groups.first], offer[streams.server[groups.first]]), highest)
    value = _value_of_replica(problem, np.maximum(worth - highest[groups.number], 0.0)) + replica_worth
    filled, rest = _filled(problem, value)
    return _Contents(charge + filled, charge[:, offer] + value + rest)


def _filled(problem: Problem, value: Floats) -> tuple[Floats, Floats]:
    """(T, O) the most worth that fits into one instance, and (T, C) beside one replica of a candidate.

    Args:
        problem: The problem.
        value: (T, C) worth of a replica.
    """
    offer, (periods, candidates), offers = problem.candidates.offer, value.shape, len(problem.offers)
    sizes, size = np.unique(problem.candidates.gpus_per_replica, return_inverse=True)
    size = size.reshape(candidates)
    # (T, C) -> the row of the offer in the period
    row = np.arange(periods)[:, None] * offers + offer
    per_gpu = np.zeros((periods * offers, len(sizes)))
    np.maximum.at(per_gpu, (row, size), value / problem.candidates.gpus_per_replica)
    room = np.tile(sizes * (problem.offers.gpus_per_instance[:, None] // np.maximum(sizes, 1)), (periods, 1))
    # (T x O, sizes) what still fits in once a replica of each size is placed
    rest = np.zeros_like(per_gpu)
    for column, placed in enumerate(sizes):
        rest[:, column] = _greedy(per_gpu, room - np.where(sizes <= placed, placed, 0), sizes)
    return _greedy(per_gpu, room, sizes).reshape(periods, offers), rest[row, size]


def _value_of_replica(problem: Problem, worth: Floats) -> Floats:
    """(T, C) the most that one replica's flows are worth: its streams by falling worth per share of its capacity."""
    streams, reach = problem.streams, problem.streams.reach_per_s
    most = best_rate_per_s(problem) / reach
    value = np.zeros((problem.traffic.periods, len(problem.candidates)))
    if streams_per_cell(problem).max(initial=0) > 1:
        load = reach / (problem.limits.max_utilization * problem.rate_of_stream_per_s)
        most = np.minimum(most, _room_left(problem, worth / load, most * load) / load)
    np.add.at(value, (streams.period, streams.server), worth * most)
    return value


def _room_left(problem: Problem, density: Floats, wanted: Floats) -> Floats:
    """(N,) share of a replica that is left for each stream once those of higher density took what they want."""
    cell: Ints = problem.streams.period * len(problem.candidates) + problem.streams.server
    order = np.lexsort((-density, cell))
    # what those before it in the replica's order took, first of all streams, then of its own replica
    before = np.cumsum(wanted[order]) - wanted[order]
    starts = np.flatnonzero(np.diff(cell[order], prepend=-1))
    before -= np.repeat(before[starts], np.diff(np.append(starts, len(order))))
    left = np.empty_like(wanted)
    left[order] = np.maximum(1.0 - before, 0.0)
    return left


def _greedy(density: Floats, room: Ints, sizes: Ints) -> Floats:
    """(P,) most worth in one instance: fill by falling worth per GPU (density) within nested rooms.

    Args:
        density: (P, S) worth per GPU of the best replica of each size.
        room: (P, S) GPUs left for replicas of at least each size.
        sizes: (S,) rising.
    """
    left, total, rows = np.maximum(room, 0.0), np.zeros(len(density)), np.arange(len(density))
    for column in np.argsort(-density, axis=1, kind="stable").T:
        # a replica takes room of every size up to its own
        counted = sizes <= sizes[column][:, None]
        filled = np.where(counted, left, np.inf).min(axis=1)
        total += filled * density[rows, column]
        left -= np.where(counted, filled[:, None], 0.0)
    return total

"""A lower bound on every plan's cost, and on every plan that uses a given candidate, from any multipliers.

The relaxation supplies multipliers; nothing here trusts that they are optimal or even feasible. With
y[k] >= 0 for demand and m[f] >= 0 for each limit f (GPUs, money, power, quotas, spot), a trimmed plan (see
`quantities`) costs

    sum price n  >=  y.demand - m.limits + sum over offers o of ( adjusted_price[o] n[o] - worth of the flow on o )

because demand is met and limits are kept. `adjusted_price` adds what the limits charge for an instance; the flow of a
candidate is worth y.mix less the spot charge per request. On one offer the flow is limited twice: by what fits into
n[o] instances, and, for each trimming group, by the demand itself. With any prices z >= 0 on the groups,

    worth of the flow on o  <=  n[o] ( sum over groups on o of z  +  F[o](worth - z) )

where F is the most worth that fits into one instance: maximize sum value r over packings of an instance, a greedy
solution by worth per GPU, since the packing rows of an instance are nested (see `constraints.packing`).
If adjusted_price >= sum z + F for every offer, each term of the sum is at least 0, so y.demand - m.limits bounds every
plan; and a plan with a replica of c has one instance that holds it, so its cost is at least that plus
adjusted_price - sum z - (worth of c + F of the GPUs left beside it). Where the condition fails by a little, all worths
are scaled down until it holds. The bound of a candidate is the best over a few choices of z.
"""

from dataclasses import dataclass

import numpy as np

from optimizer.program.model import Program
from optimizer.program.problem import Floats, Problem
from optimizer.program.quantities import best_rate_per_s, reach_per_s, trimming_groups


@dataclass(frozen=True, eq=False)
class Multipliers:
    """Non-negative prices of the relaxation's rows.

    Attributes:
        demand: (K,) USD/h for the whole demand of a class.
        spot: USD/h for serving the whole demand on spot.
        adjusted_price_usd_per_hour: (O,) price of an instance with all limits' charges.
        charged_usd_per_hour: What the limits' right sides are worth: multiplier x limit, summed.
        group: (C,) USD/h for the reach of a candidate, the price z of its trimming group.
    """

    demand: Floats
    spot: float
    adjusted_price_usd_per_hour: Floats
    charged_usd_per_hour: float
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


def read_multipliers(program: Program, duals: Floats) -> Multipliers:
    """Multipliers from the duals of the relaxation, clipped to the signs that make them valid."""
    problem, start, by_family = program.problem, 0, {}
    for name, rows in program.families.items():
        by_family[name] = np.abs(duals[start : start + len(rows.names)])
        start += len(rows.names)
    price, charged = problem.price_usd_per_hour.copy(), 0.0
    for name, rows in program.families.items():
        if name in ("max_gpus", "max_monthly_usd", "max_power_kw", "quotas"):
            np.add.at(price, rows.column - program.variables.instances[0], by_family[name][rows.row] * rows.value)
            charged += float(by_family[name] @ rows.upper)
    spot = float(by_family["max_spot_share"][0]) if "max_spot_share" in by_family else 0.0
    charged += spot * (problem.limits.max_spot_share or 0.0)
    group_price = np.zeros(len(problem.candidates))
    rows = program.families["first_instance"]
    on_flow = rows.column >= program.variables.flow[0]
    group_price[rows.column[on_flow] - program.variables.flow[0]] = by_family["first_instance"][rows.row[on_flow]]
    per_class = by_family["demand"].reshape(-1, len(problem.request_classes)).sum(axis=0)
    return Multipliers(per_class, spot, price, charged, group_price)


def bound_from(problem: Problem, multipliers: Multipliers) -> Bound:
    """The bound that the multipliers prove, by the argument in the module's docstring."""
    reach = reach_per_s(problem)
    worth = (problem.mix / problem.demand_per_s) @ multipliers.demand * reach
    spot = problem.spot[problem.offer_index]
    worth -= np.where(spot, multipliers.spot * reach / problem.demand_per_s.sum(), 0.0)
    worth = np.maximum(worth, 0.0)
    price = multipliers.adjusted_price_usd_per_hour
    choices = [_Choice(problem, worth, z) for z in (np.zeros_like(worth), np.minimum(multipliers.group, worth), worth)]
    most = np.min([choice.most_per_instance for choice in choices], axis=0)
    scale = min(1.0, float((price / np.maximum(most, price * 0.5)).min(initial=1.0)))
    lower = scale * float(multipliers.demand.sum()) - multipliers.charged_usd_per_hour
    if multipliers.spot and scale < 1.0:
        # the spot charge was scaled with the worths, so its right side may be too
        lower += (1.0 - scale) * multipliers.spot * (problem.limits.max_spot_share or 0.0)
    extra = np.zeros(len(worth))
    for choice in choices:
        valid = (price >= scale * choice.most_per_instance * (1.0 - 1e-12))[problem.offer_index]
        added = price[problem.offer_index] - scale * choice.most_with_candidate
        extra = np.maximum(extra, np.where(valid, added, 0.0))
    return Bound(lower, lower + extra)


class _Choice:
    """The worth of an instance's content for one choice of group prices z.

    Attributes:
        most_per_instance: (O,) sum of z + F.
        most_with_candidate: (C,) the same with one replica of the candidate placed.
    """

    def __init__(self, problem: Problem, worth: Floats, group_price: Floats) -> None:
        offers, size = problem.offer_index, problem.gpus_per_replica
        group = trimming_groups(problem, offers)
        first = np.unique(group, return_index=True)[1]
        # within a group one price must serve all: the highest keeps the inequality and lowers no worth below it
        highest = np.zeros(len(first))
        np.maximum.at(highest, group, group_price)
        charge = np.zeros(len(problem.offers))
        np.add.at(charge, offers[first], highest)
        value = np.maximum(worth - highest[group], 0.0) * best_rate_per_s(problem) / reach_per_s(problem)
        sizes, number = np.unique(size, return_inverse=True)
        number = number.reshape(-1)
        density = np.zeros((len(problem.offers), len(sizes)))
        np.maximum.at(density, (offers, number), value / size)
        room = sizes * (problem.gpus_per_instance[:, None] // sizes).astype(float)
        self.most_per_instance = charge + _greedy(density, room, sizes.astype(float))
        beside = (
            np.stack(
                [_greedy(density, room - np.where(sizes <= taken, taken, 0), sizes.astype(float)) for taken in sizes],
                axis=1,
            )
            if len(sizes)
            else np.zeros_like(density)
        )
        self.most_with_candidate = charge[offers] + value + beside[offers, number]


def _greedy(density: Floats, room: Floats, sizes: Floats) -> Floats:
    """(O,) most worth in one instance: fill by falling worth per GPU (density) within nested rooms.

    Args:
        density: (O, S) worth per GPU of the best replica of each size.
        room: (O, S) GPUs left for replicas of at least each size.
        sizes: (S,) rising.
    """
    left, total, rows = np.maximum(room, 0.0), np.zeros(len(density)), np.arange(len(density))
    for place in np.argsort(-density, axis=1, kind="stable").T:
        counted = sizes[None, :] <= sizes[place][:, None]
        taken = np.where(counted, left, np.inf).min(axis=1)
        total += taken * density[rows, place]
        left = left - np.where(counted, taken[:, None], 0.0)
    return total

"""Starts inside the bound of a large problem: a few offers relaxed over the week, every other one priced against them.

Pattern prices leave out what starting an instance costs, although it joins the periods. For any f[o,t,u] from 0 to what
a start of offer o costs at the change from period t to u,

    cost of starts at the change  >=  f * (instances[u,o] - instances[t,o]),   since starts >= both that and 0,

so the right side of `patterns` still bounds every plan once an instance of o is f dearer in u and f cheaper in t. That
holds for any such f, demand prices and charges; it is computed from them alone, as long as no price falls below 0,
where the least over all counts would be none. One f for each offer and change loses nothing: a schedule costs a convex
function of its counts, which its supporting prices describe. The relaxation of a few offers supplies all three. Offers
outside it move what they earn back in time as far as a start costs; those that still pay join it in the next round.
"""

from dataclasses import dataclass

import numpy as np

from optimizer.base.arrays import Flags, Floats, Ints
from optimizer.program.formulation.changes import starts
from optimizer.program.formulation.model import build_program, hourly_cost, model_proto
from optimizer.program.formulation.registry import FAMILY
from optimizer.program.formulation.rows import Rows
from optimizer.program.large.patterns import PatternBound
from optimizer.program.large.pricing import Pricing
from optimizer.program.problem.problem import Problem, compacted
from optimizer.program.proof.relaxation import Bound
from optimizer.program.solver import Clock, solve_linear

MOST_ROUNDS = 6
OFFERS, MOST_STREAMS = 12, 20_000
"""How many rounds, how many of the closest offers the first relaxation holds, and how many flows it has at most."""

PAYS = 1e-6
"""Share of the bound that an offer outside the relaxation must earn to join it."""


@dataclass(frozen=True, eq=False)
class Week:
    """The bound with starts, and the relaxation it was found with.

    Attributes:
        found: The better of the two bounds, and where to look for a plan.
        instances: (T, O) fractional counts of the relaxation of the offers that it held, 0 elsewhere.
    """

    found: PatternBound
    instances: Floats


@dataclass(frozen=True, eq=False)
class _Prices:
    """What the relaxation of some offers says: demand (D,), charge (F,), moved (O, X) by change, instances (T, O)."""

    demand: Floats
    charge: Floats
    moved: Floats
    instances: Floats


def bound_over_the_week(problem: Problem, found: PatternBound, clock: Clock) -> Week | None:
    """A bound that starts are part of, from the one that leaves them out; None where no relaxation could be solved.

    Args:
        problem: Of several periods.
        found: The bound by patterns.
        clock: After which the best bound so far is taken.
    """
    pricing, best = Pricing(problem), None
    chosen = _closest(problem, found)
    for _ in range(MOST_ROUNDS):
        prices = _relaxed(problem, pricing, chosen, clock)
        if prices is None:
            break
        moved = _nowhere_negative(problem, pricing, prices, _moved(problem, pricing, prices, chosen))
        point = pricing.at(prices.demand, prices.charge, price_of_moving(problem, pricing.stock.unit, moved))
        if best is None or point.value > best[0].value:
            best = point, prices
        earner, earned = pricing.stock.offer[point.fillings.unit], np.minimum(point.fillings.reduced_cost, 0.0)
        earning = np.bincount(earner, earned, len(chosen))
        joining = ~chosen & (earning < -PAYS * point.value)
        if not joining.any():
            break
        chosen |= joining
    if best is None:
        return None
    point, prices = best
    each, mixed = pricing.bound(point), (prices.instances > 0).any(axis=0)
    bound = Bound(
        max(each.usd_per_hour, found.bound.usd_per_hour),
        np.maximum(each.with_candidate_usd_per_hour, found.bound.with_candidate_usd_per_hour),
    )
    return Week(PatternBound(bound, found.mixed | mixed, pricing.worth(point.demand)), prices.instances)


def _closest(problem: Problem, found: PatternBound) -> Flags:
    """(O,) offers of the mixture, those with the lowest bounds, and for every mix one that serves it."""
    lowest, offer = found.bound.with_candidate_usd_per_hour, problem.candidates.offer
    order = np.argsort(lowest, kind="stable")
    serves = problem.candidates.rate_per_s[order] > 0
    chosen = found.mixed.copy()
    chosen[offer[order[serves.argmax(axis=0)[serves.any(axis=0)]]]] = True
    chosen[offer[order[:OFFERS]]] = True
    return chosen


def _relaxed(problem: Problem, pricing: Pricing, chosen: Flags, clock: Clock) -> _Prices | None:
    """The duals and counts of the relaxation of the chosen offers, starts included."""
    part = compacted(problem, chosen[problem.candidates.offer])
    if len(part.problem.streams) > MOST_STREAMS:
        return None
    program = build_program(part.problem, relaxed=True)
    changes = starts(part.problem, program.variables)
    answer = solve_linear(model_proto(program, hourly_cost(program), changes), clock)
    if answer.status != "optimal" or not len(answer.duals):
        return None
    blocks = dict(program.families) | {"starts": changes}
    ends = np.cumsum([len(rows.names) for rows in blocks.values()])
    duals = dict(zip(blocks, np.split(np.abs(answer.duals), ends[:-1]), strict=True))
    # the second half of the demand rows states the first again
    demand = duals["demand"].reshape(2, -1).sum(axis=0)
    instances = np.zeros((problem.traffic.periods, len(problem.offers)))
    instances[:, part.offers] = answer.values[program.variables.instance_at]
    moved = np.zeros((len(problem.offers), len(np.nonzero(problem.traffic.start_share)[0])))
    elastic = part.offers[~part.problem.offers.always_paid]
    moved[elastic] = duals["starts"].reshape(len(elastic), moved.shape[1])
    return _Prices(demand, _charges(pricing.limits, blocks, duals), moved, instances)


def _charges(limits: Rows, blocks: dict[str, Rows], duals: dict[str, Floats]) -> Floats:
    """(F,) the duals of limits on instances; a limit of which the relaxation held no offer charges nothing."""
    number = {name: at for at, name in enumerate(limits.names)}
    charge = np.zeros(len(limits.names))
    for family, rows in blocks.items():
        for name, dual in zip(rows.names, duals[family], strict=True) if FAMILY[family].charges == "instances" else ():
            charge[number[name]] = dual
    return charge


def _moved(problem: Problem, pricing: Pricing, prices: _Prices, chosen: Flags) -> Floats:
    """(O, X) f by change: the relaxation's for its offers; the rest move what they earn back as far as a start costs.

    Going through the changes from the last to the first, twice since a week begins again, what an instance earns in the
    period after is moved to the one before, where it may fill what is missing there.
    """
    before, after = np.nonzero(problem.traffic.start_share)
    most = problem.offers.price_usd_per_hour[:, None] * problem.traffic.start_share[before, after]
    most = np.where(problem.offers.always_paid[:, None], 0.0, most)
    worth, price = pricing.worth(prices.demand), pricing.price(prices.charge)[pricing.stock.unit]
    moved = np.where(chosen[:, None], np.clip(prices.moved, 0.0, most), 0.0)
    left = ~chosen & ~problem.offers.always_paid
    earned = (pricing.stock.net(worth) / pricing.stock.load).max(axis=2, initial=0.0) - price
    for change in [*np.argsort(-after, kind="stable").tolist()] * 2:
        t, u = before[change], after[change]
        step = np.where(left, np.clip(np.minimum(earned[u], most[:, change] - moved[:, change]), 0.0, None), 0.0)
        moved[:, change] += step
        earned[u] -= step
        earned[t] += step
    return np.asarray(moved)


def _nowhere_negative(problem: Problem, pricing: Pricing, prices: _Prices, moved: Floats) -> Floats:
    """(O, X) the same, less for offers that an instance of would be cheaper than free in some period."""
    before, _ = np.nonzero(problem.traffic.start_share)
    unit, price = pricing.stock.unit, pricing.price(prices.charge)
    short = ((price + price_of_moving(problem, unit, moved))[unit] < 0).any(axis=0)
    out = np.zeros(unit.shape)
    np.add.at(out, before, moved.T)
    scale = (price[unit] / np.maximum(out, price[unit])).min(axis=0, initial=1.0)
    return moved * np.where(short, scale, 1.0)[:, None]


def price_of_moving(problem: Problem, unit: Ints, moved: Floats) -> Floats:
    """(I,) what f (O, X) adds to the price of each unit: f in the period after a change, -f in the one before."""
    before, after = np.nonzero(problem.traffic.start_share)
    price = np.zeros(int(unit.max(initial=-1)) + 1)
    np.add.at(price, unit[after].T, moved)
    np.subtract.at(price, unit[before].T, moved)
    return price

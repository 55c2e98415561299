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

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from optimizer.base.arrays import Flags, Floats
from optimizer.base.clock import Clock
from optimizer.program.formulation.changes import starts
from optimizer.program.formulation.model import build_program, hourly_cost, model_proto
from optimizer.program.formulation.rows import Rows
from optimizer.program.large.patterns import PatternBound
from optimizer.program.large.pricing import Pricing
from optimizer.program.problem.problem import Problem, compacted
from optimizer.program.proof.relaxation import prices_of
from optimizer.program.proof.steps import lowest_bounds
from optimizer.program.solver import solve_linear

MOST_ROUNDS = 6
OFFERS, MOST_STREAMS = 12, 20_000
"""How many rounds, how many of the closest offers the first relaxation holds, and how many flows it has at most."""

PAYS = 1e-6
"""Share of the bound that an offer outside the relaxation must earn to join it."""


@dataclass(frozen=True, eq=False)
class _Relaxation:
    """What the relaxation of some offers says.

    Attributes:
        demand, charge: (D,), (F,) prices of demands and limits on instances.
        start_worth: (O, X) of an offer's starts at a change; 0 for offers that it does not hold.
        instances: (T, O) fractional counts.
    """

    demand: Floats
    charge: Floats
    start_worth: Floats
    instances: Floats


def bound_over_the_week(problem: Problem, found: PatternBound, clock: Clock) -> PatternBound:
    """A bound that starts are part of, from the one that leaves them out; the same where no relaxation was solved.

    Args:
        problem: Of several periods.
        found: The bound by patterns.
        clock: After which the best bound so far is taken.
    """
    pricing, best = Pricing(problem), None
    chosen = _closest(problem, found)
    for _ in range(MOST_ROUNDS):
        relaxation = _relaxed(pricing, chosen, clock)
        if relaxation is None:
            break
        moved = _nowhere_negative(pricing, relaxation, _moved(pricing, relaxation, chosen))
        priced = pricing.at(relaxation.demand, relaxation.charge, _price_of_moving(pricing, moved))
        if best is None or priced.value > best[0].value:
            best = priced, relaxation, moved
        # (O,) what offers earn; those outside that still pay join the relaxation
        earner, earned = pricing.units.offer[priced.knapsacks.unit], np.minimum(priced.knapsacks.reduced_cost, 0.0)
        joining = ~chosen & (np.bincount(earner, earned, len(chosen)) < -PAYS * priced.value)
        if not joining.any():
            break
        chosen |= joining
    if best is None:
        return found
    priced, relaxation, moved = best
    return PatternBound(
        bound=pricing.bound(priced).raised_to(found.bound),
        mixed=found.mixed | (relaxation.instances > 0).any(axis=0),
        counts=found.counts,
        worth=pricing.worth(priced.demand),
        demand=priced.demand,
        instances=relaxation.instances,
        moved=moved,
    )


def _closest(problem: Problem, found: PatternBound) -> Flags:
    """(O,) offers of the mixture, those with the lowest bounds, and for every mix one that serves it."""
    chosen = found.mixed.copy()
    chosen[problem.candidates.offer[lowest_bounds(problem, found.bound, OFFERS)]] = True
    return chosen


def _relaxed(pricing: Pricing, chosen: Flags, clock: Clock) -> _Relaxation | None:
    """The relaxation of the chosen offers, starts included; None where it is too large or was not solved."""
    problem = pricing.problem
    part = compacted(problem, chosen[problem.candidates.offer])
    if len(part.problem.streams) > MOST_STREAMS:
        return None
    program = build_program(part.problem, relaxed=True)
    changes = starts(part.problem, program.variables)
    result = solve_linear(model_proto(program, hourly_cost(program), {"starts": changes}), clock)
    if result.status != "optimal" or not len(result.duals):
        return None
    families = program.families | {"starts": changes}
    prices = prices_of(families, result.duals)
    instances = np.zeros((problem.traffic.periods, len(problem.offers)))
    instances[:, part.offers] = result.values[program.variables.instance_at]
    # offers paid by the hour -> what their starts are worth at each change
    start_worth = np.zeros((len(problem.offers), len(problem.traffic.changes[0])))
    elastic = part.offers[~part.problem.offers.always_paid]
    start_worth[elastic] = prices["starts"].reshape(-1, start_worth.shape[1])
    return _Relaxation(
        demand=_prices_of_demand(families["demand"], prices["demand"]),
        charge=_charges(pricing.limits, families, prices),
        start_worth=start_worth,
        instances=instances,
    )


def _prices_of_demand(demand: Rows, prices: Floats) -> Floats:
    """(D,) the prices of the rows that state each demand: of its flows, and of whole instances where there is one."""
    price = dict(zip(demand.names, prices.tolist(), strict=True))
    flows = demand.names[demand.blocks["flows"]]
    return np.array([price[name] + price.get(name.replace("[", "[instances|", 1), 0.0) for name in flows])


def _charges(limits: Rows, families: Mapping[str, Rows], prices: Mapping[str, Floats]) -> Floats:
    """(F,) the prices of limits on instances; a limit of which the relaxation held no offer charges nothing."""
    charges = {name: price for f, rows in families.items() for name, price in zip(rows.names, prices[f], strict=True)}
    return np.array([charges.get(name, 0.0) for name in limits.names])


def _moved(pricing: Pricing, relaxation: _Relaxation, chosen: Flags) -> Floats:
    """(O, X) f by change: the relaxation's for its offers; the rest move what they earn back as far as a start costs.

    Going through the changes from the last to the first, twice since a week begins again, what an instance earns in the
    period after is moved to the one before, where it may fill what is missing there.
    """
    traffic, offers, units = pricing.problem.traffic, pricing.problem.offers, pricing.units
    before, after = traffic.changes
    # (O, X) what a start costs
    most = np.where(offers.always_paid, 0.0, offers.price_usd_per_hour)[:, None] * traffic.start_share[before, after]
    moved = np.where(chosen[:, None], np.clip(relaxation.start_worth, 0.0, most), 0.0)
    outside = ~chosen & ~offers.always_paid
    # (T, O) what an instance full of its dearest mix earns
    worth, price = pricing.worth(relaxation.demand), pricing.price(relaxation.charge)[units.unit]
    earned = (units.net(worth) / units.load).max(axis=2, initial=0.0) - price
    for change in np.argsort(-after, kind="stable").tolist() * 2:
        t, u = before[change], after[change]
        step = np.where(outside, np.clip(np.minimum(earned[u], most[:, change] - moved[:, change]), 0.0, None), 0.0)
        moved[:, change] += step
        earned[u] -= step
        earned[t] += step
    return np.asarray(moved)


def _nowhere_negative(pricing: Pricing, relaxation: _Relaxation, moved: Floats) -> Floats:
    """(O, X) the same, less for offers that an instance of would be cheaper than free in some period."""
    unit, charged = pricing.units.unit, pricing.price(relaxation.charge)
    price = charged[unit]
    short = ((charged + _price_of_moving(pricing, moved))[unit] < 0).any(axis=0)
    # (T, O) what is moved out of a period
    out = np.zeros(unit.shape)
    np.add.at(out, pricing.problem.traffic.changes[0], moved.T)
    scale = (price / np.maximum(out, price)).min(axis=0, initial=1.0)
    return moved * np.where(short, scale, 1.0)[:, None]


def _price_of_moving(pricing: Pricing, moved: Floats) -> Floats:
    """(I,) what f (O, X) adds to the price of each unit: f in the period after a change, -f in the one before."""
    before, after = pricing.problem.traffic.changes
    price = np.zeros_like(pricing.units.price_usd_per_hour)
    np.add.at(price, pricing.units.unit[after].T, moved)
    np.subtract.at(price, pricing.units.unit[before].T, moved)
    return price

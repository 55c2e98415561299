"""The bound that any prices of demand and charges of limits give, by the inequality that `patterns` states."""

from copy import copy
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from optimizer.base.arrays import Flags, Floats, Ints
from optimizer.program.formulation.demand import demand_shares
from optimizer.program.formulation.objective import api_cost_usd_per_hour
from optimizer.program.formulation.registry import active_families
from optimizer.program.formulation.rows import Rows, stacked
from optimizer.program.formulation.variables import lay_out
from optimizer.program.large.column_generation import Patterns
from optimizer.program.large.covering import Cover, least_counts
from optimizer.program.large.knapsack import Counts, Knapsacks, Worth, fill, reduced_cost_floor, units_of
from optimizer.program.problem.indices import positions
from optimizer.program.problem.problem import Problem
from optimizer.program.proof.relaxation import Bound

LEAST_SERVED: Final = 1e-9
"""Share of a demand below which a pattern serves nothing of it."""


@dataclass(frozen=True, eq=False)
class PricedBound:
    """Multipliers (demand (D,), charge (F,), both >= 0), the bound they give and the knapsacks that pay there.

    `price` is that of an instance of each unit (I,), with all charges.
    """

    demand: Floats
    charge: Floats
    price: Floats
    value: float
    knapsacks: Knapsacks


class Pricing:
    """Evaluates the right side of the module's inequality."""

    def __init__(self, problem: Problem) -> None:
        self.problem, self.units = problem, units_of(problem)
        self.counts = Counts.available(problem, self.units)
        self.limits = _limits_on_instances(problem)
        # (T, M, K) share of the reach of a mix at which it has served a class whole: at once where it does not hold it
        mixes, reach = problem.traffic.mixes, problem.reach_per_s[:, :, None]
        sent, asked = (
            mixes * reach,
            np.broadcast_to(problem.traffic.demand_per_s[:, None], (*reach.shape[:2], mixes.shape[1])),
        )
        whole = np.minimum(np.divide(asked, sent, out=np.zeros_like(sent), where=sent > 0), 1.0)
        self._served_in_turn = np.argsort(whole, axis=2, kind="stable")
        self._length = np.diff(np.take_along_axis(whole, self._served_in_turn, axis=2), axis=2, prepend=0.0)
        self.api_rows, self.api_cost = demand_shares(problem, problem.api_streams), api_cost_usd_per_hour(problem)

    def held_to(self, counts: Counts) -> "Pricing":
        """The same of plans with so many instances of each unit."""
        held = copy(self)
        held.counts = counts
        return held

    def at(self, demand: Floats, charge: Floats, moved: Floats | float = 0.0) -> PricedBound:
        """The bound at some multipliers, and the knapsacks of units that pay there.

        Args:
            demand: (D,) USD/h for serving the whole demand of a class.
            charge: (F,) USD/h for one unit of a limit.
            moved: (I,) what starts move from the price of one unit to another's, see `start_costs`.
        """
        worth, price = self.worth(demand), self.price(charge) + moved
        floor, there = reduced_cost_floor(self.units, worth, price), self.counts.most > 0
        paying = np.flatnonzero(there & ((floor < 0) | (self.counts.least > 0)))
        knapsacks = fill(self.units, worth, price, paying, self.counts)
        row, stream, share = self.api_rows
        api = self.api_cost.copy()
        np.subtract.at(api, stream, demand[row] * share)
        # what must be there costs what it costs, also where that is more than it is worth
        must = self.counts.least[knapsacks.unit] > 0
        left = np.where(must, knapsacks.reduced_cost, np.minimum(knapsacks.reduced_cost, 0.0))
        value = float(demand.sum() - charge @ self.limits.upper) + float(left.sum() + np.minimum(api, 0.0).sum())
        return PricedBound(demand, charge, price, value, knapsacks)

    def bound(self, priced: PricedBound) -> Bound:
        """The bound on every plan, and on every plan with a candidate: with its offer in the cheapest period."""
        reduced = reduced_cost_floor(self.units, self.worth(priced.demand), priced.price)
        reduced[priced.knapsacks.unit] = priced.knapsacks.reduced_cost
        extra = np.maximum(reduced, 0.0)[self.units.unit].min(axis=0, initial=np.inf)
        return Bound(priced.value, priced.value + extra[self.problem.candidates.offer])

    def whole(self, priced: PricedBound) -> tuple[float, Ints]:
        """The bound that rounds every hour up to whole instances, and (O,) the machines paid all month that it tells
        of."""
        price = priced.price[self.units.unit]
        cover = Cover(self.problem, self.worth(priced.demand), price)
        usd_per_hour, counts = least_counts(cover, self.problem, price[0])
        return usd_per_hour - float(priced.charge @ self.limits.upper), counts

    def closest_patterns(self, priced: PricedBound, most: int) -> Patterns:
        """Knapsacks of the units that come closest to paying."""
        worth, price = self.worth(priced.demand), self.price(priced.charge)
        floor = np.where(self.counts.least > 0, -np.inf, reduced_cost_floor(self.units, worth, price))
        closest = np.argsort(floor, kind="stable")[:most]
        closest = closest[self.counts.most[closest] > 0]
        return self.patterns(fill(self.units, worth, price, closest, self.counts))

    def worth(self, demand: Floats) -> Worth:
        """Of the whole reach of a mix the sum over its classes of multiplier x share of the class's demand."""
        traffic, demands = self.problem.traffic, self.problem.demands
        per_request = np.zeros(traffic.demand_per_s.shape)
        wanted = (demands.period, demands.request_class)
        per_request[wanted] = demand / traffic.demand_per_s[wanted]
        # (T, M, K) of each class in the whole reach, by where in the reach it is served whole
        of_class = per_request[:, None] * traffic.mixes * self.problem.reach_per_s[:, :, None]
        of_class = np.take_along_axis(of_class, self._served_in_turn, axis=2)
        left = np.cumsum(of_class[:, :, ::-1], axis=2)[:, :, ::-1]
        return Worth(
            of_reach=np.asarray(per_request @ traffic.mixes.T * self.problem.reach_per_s),
            of_all=np.bincount(demands.period, weights=demand, minlength=traffic.periods).astype(np.float64),
            length=self._length,
            of_part=left * self._length,
        )

    def at_first(self) -> PricedBound:
        """The bound where each class is worth what serving it alone costs."""
        return self.at(self.separable(), np.zeros(len(self.limits.upper)))

    def separable(self) -> Floats:
        """(D,) a start: each class costs what its cheapest server takes for it, counts being fractions."""
        load, most = self.units.load, self.problem.offers.available[:, None]
        return self._cheapest(load, np.isfinite(load) & (load <= most))

    def artificial_cost(self) -> Floats:
        """(D,) USD/h for serving a class by itself on whole instances of offers that can be had without end.

        Scarce ones may cost next to nothing, and serve one class or the other: what a class is worth is far beyond.
        """
        instances, scarce = np.ceil(self.units.load), np.isfinite(self.problem.offers.available)
        return self._cheapest(instances, np.isfinite(instances) & ~scarce[:, None])

    def patterns(self, knapsacks: Knapsacks) -> Patterns:
        """The knapsacks as columns of the master problem."""
        traffic, demands, period = self.problem.traffic, self.problem.demands, knapsacks.period
        flow = knapsacks.share * self.problem.reach_per_s[period]
        # (cell, class) -> share of the demand served, of which no more than all counts
        demand_per_s = traffic.demand_per_s[period]
        served = np.divide(flow @ traffic.mixes, demand_per_s, out=np.zeros_like(demand_per_s), where=demand_per_s > 0)
        # a share that is a rounding error lets the linear program of patterns go in circles
        served = np.where(served < LEAST_SERVED, 0.0, np.minimum(served, 1.0))
        cell, request_class = np.nonzero(served)
        cost = self.units.price_usd_per_hour[knapsacks.unit] * knapsacks.count
        egress = self.units.egress_at(period, self.units.offer[knapsacks.unit[knapsacks.cell_unit]])
        np.add.at(cost, knapsacks.cell_unit, (knapsacks.share * egress).sum(axis=1))
        row = demands.row[period[cell], request_class]
        entries = (row, knapsacks.cell_unit[cell], served[cell, request_class])
        return Patterns(knapsacks.unit, knapsacks.count, cost, entries)

    def price(self, charge: Floats) -> Floats:
        """(I,) USD/h of an instance of a unit with what the limits charge for it."""
        price = self.units.price_usd_per_hour.copy()
        self.limits.add_products(price, charge)
        return price

    def _cheapest(self, instances: Floats, there: Flags) -> Floats:
        """(D,) least price of the reach of a mix with the class, if so many (T, O, M) instances serve it.

        Of offers that are there (T, O, M); where none is, of all.
        """
        cost = self.units.price_usd_per_hour[self.units.unit][:, :, None] * instances + self.units.egress_usd_per_hour
        cost = np.where(there | ~there.any(axis=1, keepdims=True), cost, np.inf)
        # (T, M) of the cheapest offer, or hosted API
        cheapest = cost.min(axis=1, initial=np.inf)
        streams, demands = self.problem.api_streams, self.problem.demands
        np.minimum.at(cheapest, (streams.period, streams.mix), self.api_cost)
        holds = self.problem.traffic.mixes[:, demands.request_class].T > 0
        return np.asarray(np.where(holds, cheapest[demands.period], np.inf).min(axis=1, initial=np.inf))


def _limits_on_instances(problem: Problem) -> Rows:
    """The rows of all limits that count instances, with their entries on instances alone.

    Their left sides never fall when an instance is added; what else they count is left out here. How many of an offer
    can be had is no row: each knapsack holds no more (see `Counts`), so periods that ask for the same stay alike.
    """
    variables = lay_out(problem, relaxed=True)
    charging = [family for family in active_families(problem, relaxed=True) if family.charges == "instances"]
    families = [family for family in charging if family.name != "availability"]
    rows = stacked({family.name: family.rows(problem, variables) for family in families})
    unit = positions(variables.instances, variables.count)[rows.column]
    on_instances = unit >= 0
    return replace(rows, row=rows.row[on_instances], column=unit[on_instances], value=rows.value[on_instances])

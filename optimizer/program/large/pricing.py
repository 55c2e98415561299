"""The bound that any prices of demand and charges of limits give, by the inequality that `patterns` states."""

from dataclasses import dataclass

import numpy as np

from optimizer.base.arrays import Floats
from optimizer.program.formulation.demand import demand_shares
from optimizer.program.formulation.objective import api_cost_usd_per_hour
from optimizer.program.formulation.registry import active_families
from optimizer.program.formulation.rows import Rows, at_most
from optimizer.program.formulation.variables import lay_out
from optimizer.program.large.column_generation import Patterns
from optimizer.program.large.knapsack import Fillings, fill, reduced_cost_floor, stock_of
from optimizer.program.problem.problem import Problem
from optimizer.program.problem.quantities import wanted_classes
from optimizer.program.proof.relaxation import Bound


@dataclass(frozen=True, eq=False)
class Point:
    """Multipliers (demand (D,), charge (F,), both >= 0), the bound they give and the patterns they ask for."""

    demand: Floats
    charge: Floats
    price: Floats
    value: float
    fillings: Fillings


class Pricing:
    """Evaluates the right side of the module's inequality."""

    def __init__(self, problem: Problem) -> None:
        self._problem, self.stock = problem, stock_of(problem)
        self._wanted = wanted_classes(problem)
        self.limits = _limits_on_instances(problem)
        self.api_rows, self.api_cost = demand_shares(problem, problem.api_streams), api_cost_usd_per_hour(problem)

    def at(self, demand: Floats, charge: Floats, moved: Floats | float = 0.0) -> Point:
        """The bound at some multipliers, and the fillings of units that pay there.

        Args:
            demand: (D,) USD/h for serving the whole demand of a class.
            charge: (F,) USD/h for one unit of a limit.
            moved: (I,) what starts move from the price of one unit to another's, see `starting`.
        """
        worth, price = self.worth(demand), self.price(charge) + moved
        paying = np.flatnonzero(reduced_cost_floor(self.stock, worth, price) < 0)
        fillings = fill(self.stock, worth, price, paying)
        row, stream, share = self.api_rows
        api = self.api_cost.copy()
        np.subtract.at(api, stream, demand[row] * share)
        earned = float(np.minimum(fillings.reduced_cost, 0.0).sum() + np.minimum(api, 0.0).sum())
        return Point(demand, charge, price, float(demand.sum() - charge @ self.limits.upper) + earned, fillings)

    def bound(self, point: Point) -> Bound:
        """The bound on every plan, and on every plan with a candidate: with its offer in the cheapest period."""
        reduced = reduced_cost_floor(self.stock, self.worth(point.demand), point.price)
        reduced[point.fillings.unit] = point.fillings.reduced_cost
        extra = np.maximum(reduced, 0.0)[self.stock.unit].min(axis=0, initial=np.inf)
        return Bound(point.value, point.value + extra[self._problem.candidates.offer])

    def closest_patterns(self, point: Point, most: int) -> Patterns:
        """Fillings of the units that come closest to paying."""
        worth, price = self.worth(point.demand), self.price(point.charge)
        closest = np.argsort(reduced_cost_floor(self.stock, worth, price), kind="stable")[:most]
        return self.patterns(fill(self.stock, worth, price, closest))

    def worth(self, demand: Floats) -> Floats:
        """(T, M) of the whole reach of a mix: sum over its classes of multiplier x share of the class's demand."""
        traffic = self._problem.traffic
        per_request = np.zeros(traffic.demand_per_s.shape)
        per_request[self._wanted] = demand / traffic.demand_per_s[self._wanted]
        return np.asarray(per_request @ traffic.mixes.T * self._problem.reach_per_s)

    def separable(self) -> Floats:
        """(D,) a start: each class costs what its cheapest server takes for it, counts being fractions."""
        return self._cheapest(self.stock.load)

    def alone(self) -> Floats:
        """(D,) USD/h for serving a class by itself on whole instances."""
        return self._cheapest(np.ceil(self.stock.load))

    def patterns(self, fillings: Fillings) -> Patterns:
        """The fillings as columns of the master problem."""
        traffic, period = self._problem.traffic, fillings.period
        flow = fillings.share * self._problem.reach_per_s[period]
        demand = traffic.demand_per_s[period]
        served = np.divide(flow @ traffic.mixes, demand, out=np.zeros_like(demand), where=demand > 0)
        number = np.full(traffic.demand_per_s.shape, -1, dtype=np.int64)
        number[self._wanted] = np.arange(len(self._wanted[0]))
        cell, request_class = np.nonzero(served)
        row = number[period[cell], request_class]
        cost = self.stock.price_usd_per_hour[fillings.unit] * fillings.count
        if self.stock.sending_usd_per_hour is not None:
            offer = self.stock.offer[fillings.unit[fillings.cell_unit]]
            sent = (fillings.share * self.stock.sending_usd_per_hour[period, offer]).sum(axis=1)
            np.add.at(cost, fillings.cell_unit, sent)
        entries = (row, fillings.cell_unit[cell], served[cell, request_class])
        return Patterns(fillings.unit, fillings.count, cost, entries)

    def price(self, charge: Floats) -> Floats:
        price = self.stock.price_usd_per_hour.copy()
        np.add.at(price, self.limits.column, charge[self.limits.row] * self.limits.value)
        return price

    def _cheapest(self, instances: Floats) -> Floats:
        """(D,) least price of the reach of a mix with the class, if so many (T, O, M) instances serve it."""
        each = self.stock.price_usd_per_hour[self.stock.unit][:, :, None] * instances
        if self.stock.sending_usd_per_hour is not None:
            each += self.stock.sending_usd_per_hour
        cheapest = each.min(axis=1, initial=np.inf)
        streams = self._problem.api_streams
        np.minimum.at(cheapest, (streams.period, streams.mix), self.api_cost)
        period, request_class = self._wanted
        holds = self._problem.traffic.mixes[:, request_class].T > 0
        return np.asarray(np.where(holds, cheapest[period], np.inf).min(axis=1, initial=np.inf))


def _limits_on_instances(problem: Problem) -> Rows:
    """The rows of all limits that count instances, with their entries on instances alone.

    Their left sides never fall when an instance is added; what else they count is left out here.
    """
    variables = lay_out(problem, relaxed=True)
    families = [family for family in active_families(problem, relaxed=True) if family.charges == "instances"]
    blocks = [family.rows(problem, variables) for family in families]
    start = np.cumsum([0, *(len(block.names) for block in blocks)])
    terms = []
    for block, first in zip(blocks, start[:-1].tolist(), strict=True):
        on = np.isin(block.column, variables.instances)
        terms.append((block.row[on] + first, block.column[on] - variables.instances[0], block.value[on]))
    if not terms:
        terms = [(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64), np.zeros(0))]
    upper = np.concatenate([np.zeros(0), *(block.upper for block in blocks)])
    return at_most([name for block in blocks for name in block.names], upper, *terms)

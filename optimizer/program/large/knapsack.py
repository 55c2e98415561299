"""What whole instances are worth at given prices of demand: every instance filled with the dearest requests first.

A unit is a column of `instances`: an offer in one period, or in all of them where it is paid all month. Its cells are
the periods in which it runs. In a cell, n instances hold at most n times what one holds, and a trimmed plan (see
`quantities`) draws at most the reach of each mix. With load[m] the instances that the whole reach of mix m fills, and
worth[m] USD/h for serving it, less what the offer charges for sending the answers, n instances hold at most

    V(n) = max sum over m of worth[m] x[m]   subject to   sum over m of load[m] x[m] <= n,  0 <= x[m] <= 1,
                                                          sum over m of worth[m] x[m] <= all

which is filled by falling worth per load, so V is concave and piecewise linear. `all` is what serving every class whole
is worth in the period. Several mixes hold the same class, so the reach of all of them is worth more; but a unit need
not count for more of a class than is wanted of it: where it serves more, the others need serve nothing, and else what
all units serve is counted whole. So V may be held to that. For the same reason a mix is taken in parts: its reach ends
where its last class is served whole, and a class that is served whole before is worth nothing in what is beyond. A part
is worth less per load than the one before it. V is never less than the true worth:
load[m] is that of the candidate that carries most of m on a full instance, every candidate's replicas are allowed to
be fractions, and what else a policy asks is left out. With s the smallest replica on an offer of G GPUs, the packing
row of s says that replicas of g GPUs fill at least g / (s floor(G/s)) of an instance.
"""

from dataclasses import dataclass, field

import numpy as np

from optimizer.base.arrays import Floats, Ints
from optimizer.program.formulation.objective import egress_table_usd_per_hour
from optimizer.program.formulation.variables import instance_columns
from optimizer.program.problem.indices import positions
from optimizer.program.problem.problem import Problem


@dataclass(frozen=True, eq=False)
class Worth:
    """What serving requests is worth at some prices of demand.

    Attributes:
        of_reach: (T, M) USD/h for the whole reach of a mix.
        of_all: (T,) USD/h for every class, as much of it as is wanted.
        length, of_part: (T, M, J) the parts of each mix: their share of its reach, and USD/h for what they serve of
            classes that are not served whole before; none where each mix is taken whole.
    """

    of_reach: Floats
    of_all: Floats
    length: Floats = field(default_factory=lambda: np.zeros((0, 0, 0)))
    of_part: Floats = field(default_factory=lambda: np.zeros((0, 0, 0)))

    def in_parts(self) -> tuple[Floats, Floats]:
        """(T, M, J) the share of the reach that each part is, and its worth."""
        whole = self.of_reach[:, :, None]
        return (self.length, self.of_part) if self.length.size else (np.ones_like(whole), whole)

    def by_kind(self, kind: Ints) -> "Worth":
        """The same of periods (T,) of one kind together, whose hours are added up."""
        first, count = np.unique(kind, return_index=True)[1], kind.max() + 1
        reach, total = np.zeros((count, self.of_reach.shape[1])), np.zeros(count)
        part = np.zeros((count, *self.of_part.shape[1:]))
        np.add.at(reach, kind, self.of_reach)
        np.add.at(total, kind, self.of_all)
        if not self.length.size:
            return Worth(reach, total)
        np.add.at(part, kind, self.of_part)
        return Worth(reach, total, self.length[first], part)

    def scaled(self, factor: Floats) -> "Worth":
        """So many times (T,) as much in each period."""
        part = self.of_part * factor[:, None, None] if self.length.size else self.of_part
        return Worth(self.of_reach * factor[:, None], self.of_all * factor, self.length, part)

    def at(self, period: Ints) -> "Worth":
        """The same of some periods, in that order."""
        length, part = (each[period] if self.length.size else each for each in (self.length, self.of_part))
        return Worth(self.of_reach[period], self.of_all[period], length, part)


@dataclass(frozen=True, eq=False)
class Units:
    """What can be bought and what it carries; I units, O offers, T periods, M mixes.

    Attributes:
        price_usd_per_hour: (I,) of one instance of a unit, spread over the month.
        unit: (T, O) the unit of an offer in a period.
        offer: (I,) the offer of a unit.
        load: (T, O, M) instances filled by the whole reach of a mix; infinite where it is not served.
        egress_usd_per_hour: (T, O, M) for the answers of the whole reach; one 0 for all where nothing is charged.
    """

    price_usd_per_hour: Floats
    unit: Ints
    offer: Ints
    load: Floats
    egress_usd_per_hour: Floats = field(default_factory=lambda: np.zeros((1, 1, 1)))

    def net(self, worth: Worth) -> Floats:
        """(T, O, M), or (T, 1, M) where all offers are alike: the worth of the reach less what sending costs."""
        return np.asarray(worth.of_reach[:, None, :] - self.egress_usd_per_hour)

    def parts_at(self, worth: Worth, period: Ints, offer: Ints) -> tuple[Floats, Floats, Floats]:
        """(N, M x J) load and net worth of the parts of mixes, and their share of the reach, for N pairs of period and
        offer."""
        length, of_part = (each[period] for each in worth.in_parts())
        with np.errstate(invalid="ignore"):
            load = np.where(length > 0, self.load[period, offer][:, :, None] * length, np.inf)
        net = of_part - self.egress_at(period, offer)[:, :, None] * length
        flat = (len(period), length.shape[1] * length.shape[2])
        return load.reshape(flat), net.reshape(flat), length.reshape(flat)

    def egress_at(self, period: Ints, offer: Ints) -> Floats:
        """(N, M) the egress of N pairs of period and offer."""
        return np.broadcast_to(self.egress_usd_per_hour, self.load.shape)[period, offer]


@dataclass(frozen=True, eq=False)
class Knapsacks:
    """The best whole count of some units at given prices, and what they hold.

    Attributes:
        unit: (U,) which units.
        count: (U,) instances, at least 1.
        reduced_cost: (U,) USD/h that they cost beyond what they hold; negative where buying pays.
        cell_unit: (N,) position in `unit` of each cell.
        period: (N,) of each cell.
        share: (N, M) of the reach of each mix that the instances carry.
    """

    unit: Ints
    count: Floats
    reduced_cost: Floats
    cell_unit: Ints
    period: Ints
    share: Floats


def units_of(problem: Problem) -> Units:
    """The units of a problem."""
    candidates, gpus, offers = problem.candidates, problem.offers.gpus_per_instance, len(problem.offers)
    smallest = gpus.copy()
    np.minimum.at(smallest, candidates.offer, candidates.gpus_per_replica)
    # candidate -> replicas that a full instance holds, fractions of them included
    replicas = (smallest * (gpus // smallest))[candidates.offer] / candidates.gpus_per_replica
    rate = np.zeros((offers, len(problem.traffic.mixes)))
    np.maximum.at(rate, candidates.offer, candidates.rate_per_s * replicas[:, None] * problem.limits.max_utilization)
    reach = problem.reach_per_s[:, None, :]
    served = (rate > 0) & (reach > 0)
    unit, offer, share = instance_columns(problem)
    return Units(
        price_usd_per_hour=problem.offers.price_usd_per_hour[offer] * share,
        unit=unit,
        offer=offer,
        load=np.divide(reach, rate, out=np.full(served.shape, np.inf), where=served),
        egress_usd_per_hour=egress_table_usd_per_hour(problem) if problem.egress.charged else np.zeros((1, 1, 1)),
    )


def reduced_cost_floor(units: Units, worth: Worth, price: Floats) -> Floats:
    """(I,) what an instance full of its dearest mix would cost beyond its worth, found without filling anything.

    Where it is not negative, no count of the unit has a smaller reduced cost.

    Args:
        units: The units.
        worth: Of requests.
        price: (I,) USD/h of an instance, with all charges.
    """
    dearest = np.zeros(len(price))
    full = (units.net(worth) / units.load).max(axis=2, initial=0.0)
    np.add.at(dearest, units.unit, np.minimum(full, worth.of_all[:, None]))
    return np.asarray(price - dearest)


@dataclass(frozen=True, eq=False)
class Counts:
    """Between how many instances (I,) a plan of interest has of each unit; infinite where that is not limited."""

    least: Floats
    most: Floats

    @classmethod
    def available(cls, problem: Problem, units: Units) -> "Counts":
        """As many of each as can be had."""
        return cls(np.zeros(len(units.offer)), np.floor(problem.offers.available[units.offer]))


def fill(units: Units, worth: Worth, price: Floats, chosen: Ints, counts: Counts) -> Knapsacks:
    """The count of each of some units that costs least beyond what it holds, and what it holds.

    Args:
        units: All of them.
        worth: Of requests.
        price: (I,) USD/h of an instance, with all charges.
        chosen: (U,) the units to fill, of each of which there may be one.
        counts: Between how many there may be.
    """
    number = positions(chosen, len(price))[units.unit]
    period, offer = np.nonzero(number >= 0)
    cell_unit = number[period, offer]
    load, net, length = units.parts_at(worth, period, offer)
    cells = _SortedCells(load, net, worth.of_all[period], cell_unit, len(chosen))
    count = cells.best_count(price[chosen], counts.least[chosen], counts.most[chosen])
    return Knapsacks(
        unit=chosen,
        count=count,
        reduced_cost=price[chosen] * count - cells.value(count),
        cell_unit=cell_unit,
        period=period,
        share=(cells.shares(count) * length).reshape(len(period), *worth.in_parts()[0].shape[1:]).sum(axis=2),
    )


def worth_of_one(units: Units, worth: Worth) -> Floats:
    """(T, O) the most worth that one instance of an offer holds in a period."""
    periods, offers, _ = units.load.shape
    cell = np.arange(periods * offers)
    load, net, _ = units.parts_at(worth, cell // offers, cell % offers)
    cells = _SortedCells(load, net, np.repeat(worth.of_all, offers), cell, periods * offers)
    return cells.value(np.ones(periods * offers)).reshape(periods, offers)


class _SortedCells:
    """Cells with their mixes by falling worth per load, for reading off V at any count."""

    def __init__(self, load: Floats, worth: Floats, most: Floats, cell_unit: Ints, units: int) -> None:
        self._cell_unit, self._units = cell_unit, units
        density = worth / load
        self._order = np.argsort(-density, axis=1, kind="stable")
        self._density = np.take_along_axis(density, self._order, axis=1)
        # what is worth nothing fills nothing
        self._whole = np.take_along_axis(np.where(density > 0, load, 0.0), self._order, axis=1)
        # nor does what is worth more than all that is wanted
        earned = self._whole * self._density
        left = np.maximum(most[:, None] - (np.cumsum(earned, axis=1) - earned), 0.0)
        self._load = np.divide(np.minimum(earned, left), self._density, out=np.zeros_like(left), where=earned > 0)
        self._before = np.cumsum(self._load, axis=1) - self._load

    def value(self, count: Floats) -> Floats:
        """(U,) worth of what `count` (U,) instances of each unit hold."""
        total = np.zeros(self._units)
        np.add.at(total, self._cell_unit, (self._filled(count) * self._density).sum(axis=1))
        return total

    def shares(self, count: Floats) -> Floats:
        """(N, M) of the reach of each mix that is carried in each cell."""
        ordered = np.divide(self._filled(count), self._whole, out=np.zeros_like(self._load), where=self._whole > 0)
        share: Floats = np.empty_like(ordered)
        np.put_along_axis(share, self._order, ordered, axis=1)
        return share

    def best_count(self, price: Floats, least: Floats, most: Floats) -> Floats:
        """(U,) the whole count, at least 1, with the least price x count - V(count), by bisection on its slope.

        V is concave: within limits (U,) the best count is the one nearest to the best of all.
        """
        fewest = np.maximum(least, 1.0)
        low, high = (np.clip(each, fewest, most) for each in self._count_range(price))
        while (low < high).any():
            middle = np.floor((low + high) / 2)
            pays = self.value(middle + 1) - self.value(middle) > price
            low, high = np.where(pays & (low < high), middle + 1, low), np.where(pays, high, np.minimum(high, middle))
        return low

    def _count_range(self, price: Floats) -> tuple[Floats, Floats]:
        """(U,) between which counts the best one lies.

        A single cell pays for itself up to where what is added is worth less than the price, so the best count is one
        of the two whole numbers there; several cells may pay together until all they want is served.
        """
        alone = np.bincount(self._cell_unit, minlength=self._units)[self._cell_unit] == 1
        paying = np.where(self._density >= price[self._cell_unit][:, None], self._load, 0.0).sum(axis=1)
        low, high = np.ones(self._units), np.ones(self._units)
        np.maximum.at(low, self._cell_unit[alone], np.floor(paying[alone]))
        np.maximum.at(high, self._cell_unit, np.ceil(np.where(alone, paying, self._load.sum(axis=1))))
        return low, high

    def _filled(self, count: Floats) -> Floats:
        """(N, M) instances taken up by each mix, in the order of density."""
        room = count[self._cell_unit][:, None] - self._before
        return np.asarray(np.clip(room, 0.0, self._load))

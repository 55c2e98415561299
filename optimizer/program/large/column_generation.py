"""The master problem of the pattern bound: the cheapest mixture of patterns that meets the demand, and its prices."""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from optimizer.base.arrays import Flags, Floats, Ints
from optimizer.base.clock import Clock
from optimizer.program.basis import AT_LOWER_BOUND, IN_BASIS, Basis
from optimizer.program.formulation.model import Columns, assemble
from optimizer.program.formulation.rows import Rows, Term, at_least, at_most, between, numbered, stacked
from optimizer.program.problem.indices import matches, positions
from optimizer.program.solver import solve_linear

IMPROVES = 1e-9
"""Relative fall of the cost below which a pattern is no improvement."""

KEPT_GAPS = 5.0
"""Patterns are dropped that cost more, beyond the last prices, than so many times what is left to gain."""

ARTIFICIAL_PENALTY = 100.0
"""How many times dearer an artificial column becomes where the mixture uses it."""

IN_MIXTURE = 1e-6
"""Weight above which a column counts as used."""


@dataclass(frozen=True, eq=False)
class Patterns:
    """Ways to fill whole instances; P patterns.

    Attributes:
        unit: (P,) the unit whose instances are filled.
        count: (P,) how many.
        cost_usd_per_hour: (P,) of them.
        served: Entries (demand row, pattern, share of the demand served).
    """

    unit: Ints
    count: Floats
    cost_usd_per_hour: Floats
    served: tuple[Ints, Ints, Floats]

    def __len__(self) -> int:
        return len(self.unit)

    def select(self, listed: Ints) -> "Patterns":
        """Those listed, in the order listed."""
        row, pattern, share = self.served
        number = positions(listed, len(self))[pattern]
        on = number >= 0
        served = (row[on], number[on], share[on])
        return Patterns(self.unit[listed], self.count[listed], self.cost_usd_per_hour[listed], served)

    def followed_by(self, other: "Patterns") -> "Patterns":
        """Both, one after the other."""
        row, pattern, share = other.served
        return Patterns(
            unit=np.append(self.unit, other.unit),
            count=np.append(self.count, other.count),
            cost_usd_per_hour=np.append(self.cost_usd_per_hour, other.cost_usd_per_hour),
            served=(
                np.append(self.served[0], row),
                np.append(self.served[1], pattern + len(self)),
                np.append(self.served[2], share),
            ),
        )


@dataclass(frozen=True, eq=False)
class Mixture:
    """The master's optimum.

    Attributes:
        value: Its cost.
        demand, charge, unit: (D,), (F,), (I,) the prices of demands, limits and units.
        weight, artificial: (P,), (D,) of the patterns and of the artificial columns.
    """

    value: float
    demand: Floats
    charge: Floats
    unit: Floats
    weight: Floats
    artificial: Floats


class _Corner(NamedTuple):
    """Where the last mixture was found, see `Basis`: of the patterns (P,), of APIs and artificial columns, and of the
    rows of demands (D,), of units (I,), each of which has one once it has patterns, and of limits (F,)."""

    pattern: Ints
    other: Ints
    demand: Ints
    unit: Ints
    limit: Ints


class Master:
    """Minimize cost over weights of patterns, APIs and artificial columns, each of which serves one class alone.

    sum of what they serve >= 1 for each demand, instances within the limits, weights of one unit's patterns sum to at
    most 1, to 1 where there must be some of it, an API serves its reach at most once. An artificial column needs no
    unit, so there is always a solution.
    """

    def __init__(self, must: Flags, limits: Rows, api_rows: Term, api_cost: Floats, artificial_cost: Floats) -> None:
        self._must, self._limits, self._artificial_cost = must, limits, artificial_cost
        self._api_rows, self._api_cost = api_rows, api_cost
        none, no_numbers = np.zeros(0, dtype=np.int64), np.zeros(0)
        self._patterns = Patterns(none, no_numbers, no_numbers, (none, none, no_numbers))
        self._last = Mixture(
            value=np.inf,
            demand=artificial_cost,
            charge=np.zeros(len(limits.upper)),
            # what must be there joins whatever it costs
            unit=np.where(must, -np.inf, 0.0),
            weight=no_numbers,
            artificial=np.zeros(len(artificial_cost)),
        )
        self._penalized = np.zeros(len(artificial_cost), dtype=np.bool_)
        self._corner: _Corner | None = None

    def add(self, found: Patterns, most: int, gap: float) -> int:
        """Add the patterns that cost least beyond the last prices, and how many there were.

        Patterns that cost more beyond them than `gap`, the distance of the last mixture from the bound, are dropped:
        at those prices none of them is part of a better mixture.
        """
        old, reduced = self._patterns, self._reduced_cost(found)
        new = np.argsort(reduced, kind="stable")[:most]
        new = new[reduced[new] < -IMPROVES * found.cost_usd_per_hour[new]]
        keep = (self._reduced_cost(old) <= KEPT_GAPS * gap) | (self._last.weight > IN_MIXTURE)
        if (corner := self._corner) is not None:
            keep |= corner.pattern == IN_BASIS
        kept = np.flatnonzero(keep)
        if corner is not None:
            statuses = np.append(corner.pattern[kept], np.full(len(new), AT_LOWER_BOUND))
            self._corner = corner._replace(pattern=statuses)
        self._patterns = old.select(kept).followed_by(found.select(new))
        self._last = replace(self._last, weight=np.append(self._last.weight[kept], np.zeros(len(new))))
        return len(new)

    def _reduced_cost(self, patterns: Patterns) -> Floats:
        """(P,) what patterns cost beyond the last prices."""
        row, pattern, share = patterns.served
        reduced = patterns.cost_usd_per_hour.copy()
        np.subtract.at(reduced, pattern, self._last.demand[row] * share)
        charge = np.zeros(len(self._last.unit))
        self._limits.add_products(charge, self._last.charge)
        return reduced + charge[patterns.unit] * patterns.count + self._last.unit[patterns.unit]

    def price_out_artificials(self) -> bool:
        """Make the artificial columns dear that the last mixture uses; whether it used any.

        They are there to begin with and cap what a demand can be worth, which can be more than serving it alone costs.
        """
        used = (self._last.artificial > IN_MIXTURE) & ~self._penalized
        self._artificial_cost = np.where(used, ARTIFICIAL_PENALTY, 1.0) * self._artificial_cost
        self._penalized |= used
        return bool(used.any())

    def solve(self, clock: Clock) -> Mixture | None:
        """The cheapest mixture of the patterns so far; None when time ran out."""
        patterns = self._patterns
        first_api, first_artificial = len(patterns), len(patterns) + len(self._api_cost)
        cost = np.concatenate([patterns.cost_usd_per_hour, self._api_cost, self._artificial_cost])
        upper = np.full(len(cost), np.inf)
        upper[first_api:first_artificial] = 1.0
        rows = stacked(
            {
                "demand": self._demand_rows(first_api, first_artificial),
                "unit": self._unit_rows(),
                "limit": self._limit_rows(),
            }
        )
        columns = Columns.fractions(upper)
        units = np.unique(patterns.unit)
        result = solve_linear(assemble(columns, cost, rows), clock, self._start(units))
        if result.status != "optimal" or not len(result.duals):
            return None
        if result.basis is not None:
            self._corner = self._corner_at(result.basis, rows, units)
        unit_price, price = np.zeros(len(self._last.unit)), -result.duals[rows.blocks["unit"]]
        unit_price[units] = np.where(self._must[units], price, np.maximum(price, 0.0))
        self._last = Mixture(
            value=float(cost @ result.values),
            demand=np.maximum(result.duals[rows.blocks["demand"]], 0.0),
            charge=np.maximum(-result.duals[rows.blocks["limit"]], 0.0),
            unit=unit_price,
            weight=result.values[:first_api],
            artificial=result.values[first_artificial:],
        )
        return self._last

    def _start(self, units: Ints) -> Basis | None:
        """Where the next mixture is looked for from, with rows for so many units; None for the first."""
        if (corner := self._corner) is None:
            return None
        rows = np.concatenate([corner.demand, corner.unit[units], corner.limit])
        return Basis(np.append(corner.pattern, corner.other), rows)

    def _corner_at(self, basis: Basis, rows: Rows, units: Ints) -> _Corner:
        """A basis, by what its columns and rows stand for."""
        unit = np.full(len(self._last.unit), IN_BASIS)
        unit[units] = basis.rows[rows.blocks["unit"]]
        pattern, other = np.split(basis.columns, [len(self._patterns)])
        return _Corner(pattern, other, basis.rows[rows.blocks["demand"]], unit, basis.rows[rows.blocks["limit"]])

    def mixed_counts(self) -> Floats:
        """(I,) instances of each unit in the last mixture, fractions of them among these."""
        used = np.where(self._last.weight > IN_MIXTURE, self._last.weight, 0.0)
        return np.bincount(self._patterns.unit, used * self._patterns.count, len(self._last.unit)).astype(np.float64)

    def _demand_rows(self, first_api: int, first_artificial: int) -> Rows:
        """Each demand is met."""
        row, stream, share = self._api_rows
        demand = np.arange(len(self._artificial_cost))
        return at_least(
            numbered("demand", len(demand)),
            1.0,
            self._patterns.served,
            (row, first_api + stream, share),
            (demand, first_artificial + demand, 1.0),
        )

    def _unit_rows(self) -> Rows:
        """The patterns of a unit make up at most one, or one where there must be some of it."""
        units, number = np.unique(self._patterns.unit, return_inverse=True)
        entries = (number.reshape(-1), np.arange(len(self._patterns)), 1.0)
        lower = np.where(self._must[units], 1.0, -np.inf)
        return between(numbered("unit", len(units)), lower, 1.0, entries)

    def _limit_rows(self) -> Rows:
        """The limits on instances, each pattern counting its instances."""
        limits, patterns = self._limits, self._patterns
        by_unit = np.argsort(limits.column, kind="stable")
        # each pattern with every entry of its unit
        pattern, place = matches(patterns.unit, limits.column[by_unit])
        entry = by_unit[place]
        value = limits.value[entry] * patterns.count[pattern]
        return at_most(limits.names, limits.upper, (limits.row[entry], pattern, value))

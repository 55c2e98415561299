"""The master problem of the pattern bound: the cheapest mixture of patterns that meets the demand, and its prices."""

from dataclasses import dataclass

import numpy as np

from optimizer.base.arrays import Floats, Ints
from optimizer.program.formulation.model import Columns, assemble
from optimizer.program.formulation.rows import Rows, Term, at_least, at_most
from optimizer.program.formulation.variables import tagged
from optimizer.program.solver import Clock, solve_linear

IMPROVES = 1e-9
"""Relative fall of the cost below which a pattern is no improvement."""

KEPT_GAPS = 5.0
"""Patterns are dropped that cost more, beyond the last prices, than so many times what is left to gain."""

FORBIDDING = 100.0
"""How many times dearer serving a class alone becomes where it is not to be."""

IN_MIXTURE = 1e-6
"""Weight above which a pattern counts as used."""


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
    served: Term


@dataclass(frozen=True, eq=False)
class Mixture:
    """The master's optimum: its cost and the prices (D,) of demands and (F,) of limits."""

    value: float
    demand: Floats
    charge: Floats


class Master:
    """Minimize cost over weights of patterns, APIs and classes served alone.

    sum of what they serve >= 1 for each demand, instances within the limits, weights of one unit's patterns sum to at
    most 1, an API serves its reach at most once. Serving a class alone needs no unit, so there is always a solution.
    """

    def __init__(self, limits: Rows, api_rows: Term, api_cost: Floats, alone: Floats) -> None:
        self._limits, self._api_rows, self._alone, self._api_cost = limits, api_rows, alone, api_cost
        none = np.zeros(0, dtype=np.int64)
        self._patterns = Patterns(none, np.zeros(0), np.zeros(0), (none, none, np.zeros(0)))
        self._weight, self._demand, self._charge = np.zeros(0), alone, np.zeros(len(limits.upper))
        self._alone_weight = np.zeros(len(alone))
        self._units, self._unit_price, self._forbidden = none, np.zeros(0), np.zeros(len(alone), dtype=np.bool_)

    def add(self, found: Patterns, most: int, gap: float) -> int:
        """Take the patterns that cost least beyond the last prices, and how many there were.

        Patterns that cost more beyond them than `gap`, the distance of the last mixture from the bound, are dropped:
        at those prices none of them is part of a better mixture.
        """
        old, beyond = self._patterns, self._beyond(found)
        taken = np.argsort(beyond, kind="stable")[:most]
        taken = taken[beyond[taken] < -IMPROVES * found.cost_usd_per_hour[taken]]
        kept = np.flatnonzero((self._beyond(old) <= KEPT_GAPS * gap) | (self._weight > IN_MIXTURE))
        self._patterns = _joined(_taken(old, kept), _taken(found, taken))
        self._weight = np.concatenate([self._weight[kept], np.zeros(len(taken))])
        return len(taken)

    def _beyond(self, patterns: Patterns) -> Floats:
        """(P,) what patterns cost beyond the last prices."""
        row, pattern, share = patterns.served
        beyond = patterns.cost_usd_per_hour.copy()
        np.subtract.at(beyond, pattern, self._demand[row] * share)
        charge = np.zeros(int(max(patterns.unit.max(initial=-1), self._limits.column.max(initial=-1))) + 1)
        np.add.at(charge, self._limits.column, self._charge[self._limits.row] * self._limits.value)
        return beyond + charge[patterns.unit] * patterns.count + self._price_of(patterns.unit)

    def forbid_alone(self) -> bool:
        """Make serving a class alone dear where the last mixture does so; whether it did anywhere.

        It is there to begin with and caps what a demand can be worth, which can be more than serving it alone costs.
        """
        used = (self._alone_weight > IN_MIXTURE) & ~self._forbidden
        self._alone, self._forbidden = np.where(used, FORBIDDING * self._alone, self._alone), self._forbidden | used
        return bool(used.any())

    def solve(self, clock: Clock) -> Mixture | None:
        """The cheapest mixture of the patterns so far; None when time ran out."""
        patterns, demands, apis = self._patterns, len(self._alone), len(self._api_cost)
        first_api, first_alone = len(patterns.unit), len(patterns.unit) + apis
        row, stream, share = self._api_rows
        names = [f"pattern[{p}]" for p in range(first_alone + demands)]
        upper = np.full(len(names), np.inf)
        upper[first_api:first_alone] = 1.0
        every = np.arange(demands)
        met = at_least(
            tagged("demand", [str(d) for d in range(demands)]),
            np.ones(demands),
            patterns.served,
            (row, first_api + stream, share),
            (every, first_alone + every, np.ones(demands)),
        )
        units, number = np.unique(patterns.unit, return_inverse=True)
        columns = np.arange(len(patterns.unit))
        once = at_most(
            tagged("unit", [str(u) for u in units.tolist()]),
            np.ones(len(units)),
            (number.reshape(-1), columns, np.ones(len(columns))),
        )
        cost = np.concatenate([patterns.cost_usd_per_hour, self._api_cost, self._alone])
        blocks = [met, once, self._limited(columns)]
        model = assemble(Columns(names, upper, np.zeros(len(names), dtype=np.bool_)), cost, blocks)
        answer = solve_linear(model, clock)
        if answer.status != "optimal" or not len(answer.duals):
            return None
        self._weight, self._alone_weight, self._units = answer.values[:first_api], answer.values[first_alone:], units
        parts = np.split(answer.duals, np.cumsum([demands, len(units)]))
        self._demand, self._charge = np.maximum(parts[0], 0.0), np.maximum(-parts[2], 0.0)
        self._unit_price = np.maximum(-parts[1], 0.0)
        return Mixture(float(cost @ answer.values), self._demand, self._charge)

    def mixed_units(self) -> Ints:
        """The units whose patterns have weight in the last mixture."""
        return np.unique(self._patterns.unit[self._weight > IN_MIXTURE])

    def _price_of(self, unit: Ints) -> Floats:
        """(P,) the price of the row of each unit; 0 where it has none yet."""
        if not len(self._units):
            return np.zeros(len(unit))
        at = np.minimum(np.searchsorted(self._units, unit), len(self._units) - 1)
        return np.asarray(np.where(self._units[at] == unit, self._unit_price[at], 0.0))

    def _limited(self, columns: Ints) -> Rows:
        """The limits on instances, each pattern counting its instances."""
        limits, patterns = self._limits, self._patterns
        order = np.argsort(limits.column, kind="stable")
        column = limits.column[order]
        first = np.searchsorted(column, patterns.unit, side="left")
        count = np.searchsorted(column, patterns.unit, side="right") - first
        pattern = np.repeat(columns, count)
        entry = order[np.repeat(first - np.cumsum(count) + count, count) + np.arange(len(pattern))]
        value = limits.value[entry] * patterns.count[pattern]
        return at_most(limits.names, limits.upper, (limits.row[entry], pattern, value))


def _taken(patterns: Patterns, which: Ints) -> Patterns:
    """Those listed, in the order listed."""
    row, pattern, share = patterns.served
    number = np.full(len(patterns.unit), -1, dtype=np.int64)
    number[which] = np.arange(len(which))
    on = number[pattern] >= 0
    served = (row[on], number[pattern[on]], share[on])
    return Patterns(patterns.unit[which], patterns.count[which], patterns.cost_usd_per_hour[which], served)


def _joined(first: Patterns, second: Patterns) -> Patterns:
    pairs = zip(first.served, (second.served[0], second.served[1] + len(first.unit), second.served[2]), strict=True)
    row, pattern, share = (np.concatenate(pair) for pair in pairs)
    return Patterns(
        np.concatenate([first.unit, second.unit]),
        np.concatenate([first.count, second.count]),
        np.concatenate([first.cost_usd_per_hour, second.cost_usd_per_hour]),
        (row, pattern, share),
    )

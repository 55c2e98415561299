"""What an offer adds to every relaxation of the plans: rows of its own alone, worked out once and placed many times."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from optimizer.base.arrays import Floats, Ints
from optimizer.plan.certify.figures import Figures, FlowTerms
from optimizer.plan.verify.certificate.problem import SECONDS_PER_HOUR

OWN, REPLICAS, INSTANCES = range(3)
"""What the columns of a block are counted from: its own first one, the offer's first one of replicas, its instances."""


@dataclass(frozen=True)
class RowBlock:
    """Columns without a bound, and rows that hold what is on the left of them to nothing.

    Attributes:
        cost: Of each column, USD an hour.
        flows: Candidate and mix of each column.
        rows: How many there are.
        row, column, value: (entries,) rows and columns counted from the block's first ones.
        counted_from: (entries,) what a column is counted from.
    """

    cost: list[float]
    flows: tuple[tuple[int, int], ...]
    rows: int
    row: Ints
    column: Ints
    value: Floats
    counted_from: Ints


@dataclass
class _RowsOfBlock:
    """Rows as they are added; a term is what its column is counted from, the column and a value."""

    count: int = 0
    entries: list[tuple[int, int, int, float]] = field(default_factory=list)

    def add(self, *terms: tuple[int, int, float]) -> None:
        self.entries += [(self.count, *term) for term in terms]
        self.count += 1

    def block(self, cost: list[float], flows: Sequence[tuple[int, int]]) -> RowBlock:
        row, counted_from, column, value = zip(*self.entries, strict=True)
        row_at, column_at, counted = (np.array(each, dtype=np.int64) for each in (row, column, counted_from))
        return RowBlock(cost, tuple(flows), self.count, row_at, column_at, np.array(value, dtype=np.float64), counted)


class RowBlocks:
    """The same candidates in the same plans have the same block."""

    def __init__(self, figures: Figures) -> None:
        """Nothing is worked out yet."""
        self.figures = figures
        self._of_sizes = dict[tuple[int, ...], RowBlock]()
        self._of_flows = dict[tuple[object, ...], RowBlock]()

    def of_sizes(self, there: Sequence[int]) -> RowBlock:
        """Blocks of each size that an offer's candidates take, within those of its instances."""
        key = tuple(there)
        if key not in self._of_sizes:
            self._of_sizes[key] = self._sizes(there)
        return self._of_sizes[key]

    def of_flows(self, there: Sequence[int], terms: FlowTerms, most: Mapping[int, int], *, at_cost: bool) -> RowBlock:
        """What the candidates of an offer are sent, in shares of each mix's reach, within what replicas draw.

        Args:
            there: Candidates of the offer, at least one.
            terms: Of the offer.
            most: The most replicas of candidates, where there is such a number.
            at_cost: Whether costs count.
        """
        key = (*there, terms.after_loss, terms.kept, at_cost, *(most.get(c) for c in there))
        if key not in self._of_flows:
            self._of_flows[key] = self._flows(there, terms, most, at_cost)
        return self._of_flows[key]

    def _gpus(self, c: int) -> int:
        return int(self.figures.problem.candidates[c]["gpus"])

    def _gpus_of_instance(self, there: Sequence[int]) -> int:
        problem = self.figures.problem
        return int(problem.offers[problem.candidates[there[0]]["offer"]]["gpus"])

    def _sizes(self, there: Sequence[int]) -> RowBlock:
        rows, room, size_of = _RowsOfBlock(), self._gpus_of_instance(there), [self._gpus(c) for c in there]
        for size in sorted(set(size_of)):
            taken = [(REPLICAS, at, float(gpus // size)) for at, gpus in enumerate(size_of) if gpus >= size]
            rows.add(*taken, (INSTANCES, 0, -float(room // size)))
        return rows.block([], [])

    def _flows(self, there: Sequence[int], terms: FlowTerms, most: Mapping[int, int], at_cost: bool) -> RowBlock:
        rows, cost, flows = _RowsOfBlock(), list[float](), list[tuple[int, int]]()
        columns, dense = defaultdict[int, list[int]](list), defaultdict[int, float](float)
        room, reach = self._gpus_of_instance(there), self.figures.reach
        for at, c in enumerate(there):
            found, first = self.figures.drawn(c, terms, most.get(c)), len(flows)
            flows += [(c, m) for m in found]
            cost += [self._sending_usd(m, terms) if at_cost else 0.0 for m in found]
            for column, (m, (drawn, _)) in enumerate(found.items(), start=first):
                # each mix that a candidate is sent, within what its replicas draw of it
                share = terms.kept * drawn / reach[m]
                rows.add((OWN, column, 1.0), (REPLICAS, at, -share))
                columns[m].append(column)
                dense[m] = max(dense[m], share * (room // self._gpus(c)))
            if len(found) > 1:
                # all mixes that it is sent, within its replicas, which each takes up by what it asks of one
                taken = enumerate((asked / terms.kept for _, asked in found.values()), start=first)
                rows.add(*((OWN, column, value) for column, value in taken), (REPLICAS, at, -1.0))
        # each mix that the offer is sent, within its reach for each instance, where one would hold more than that
        for m in (m for m in columns if dense[m] > 1.0):
            rows.add(*((OWN, column, 1.0) for column in columns[m]), (INSTANCES, 0, -1.0))
        return rows.block(cost, flows)

    def _sending_usd(self, m: int, terms: FlowTerms) -> float:
        """USD an hour of sending the answers to all of a mix's reach."""
        return float(terms.egress.get(str(m), 0)) * SECONDS_PER_HOUR * self.figures.reach[m]  # type: ignore[arg-type]

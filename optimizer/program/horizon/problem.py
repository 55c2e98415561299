"""Purchases over months as plain numbers: machines by the month or for a term, and what must be served."""

from dataclasses import dataclass, field, replace

import numpy as np

from optimizer.base.arrays import Floats, Ints
from optimizer.program.horizon.tree import Tree


@dataclass(frozen=True, eq=False)
class Machines:
    """X kinds of instances: what a whole one sustains of each of M mixes when it serves nothing else.

    Attributes:
        ids: (X,) unique.
        capacity_per_s: (X, M) requests/s; 0 of what it does not serve.
    """

    ids: tuple[str, ...]
    capacity_per_s: Floats


@dataclass(frozen=True, eq=False)
class Hourly:
    """H offers that are paid while they run.

    Attributes:
        ids: (H,) unique.
        machine: (H,) of which kind an instance is.
        usd: (H, N) net present cost of an instance that runs all month in each node.
        monthly_usd: (H, N) the same on that month's bill.
    """

    ids: tuple[str, ...]
    machine: Ints
    usd: Floats
    monthly_usd: Floats

    def select(self, kept: Ints) -> "Hourly":
        """Those listed."""
        names = tuple(self.ids[each] for each in kept.tolist())
        return Hourly(names, self.machine[kept], self.usd[kept], self.monthly_usd[kept])


@dataclass(frozen=True, eq=False)
class Deals:
    """D ways to hold an instance for a term: rented for it, or bought and resold.

    Attributes:
        ids: (D,) unique.
        machine: (D,) of which kind an instance is.
        term_months: (D,) how long it is held.
        usd: (D, N) net present cost of one that begins in each node; infinite where it cannot.
        monthly_usd: (D, N) its cost spread over its term, by which one is compared with a month on demand.
    """

    ids: tuple[str, ...]
    machine: Ints
    term_months: Ints
    usd: Floats
    monthly_usd: Floats

    def select(self, kept: Ints) -> "Deals":
        """Those listed."""
        names = tuple(self.ids[each] for each in kept.tolist())
        return Deals(names, self.machine[kept], self.term_months[kept], self.usd[kept], self.monthly_usd[kept])


@dataclass(frozen=True, eq=False)
class Ceilings:
    """R limits on what is held in any hour, sum of weight x instances <= most.

    Attributes:
        names: (R,).
        hourly: (R, H) weight of an instance that is paid while it runs.
        deals: (R, D) weight of one held for a term, whether it serves or not.
        most: (R,).
    """

    names: tuple[str, ...]
    hourly: Floats
    deals: Floats
    most: Floats

    def select(self, hourly: Ints, deals: Ints) -> "Ceilings":
        """For the offers listed."""
        return Ceilings(self.names, self.hourly[:, hourly], self.deals[:, deals], self.most)


@dataclass(frozen=True, eq=False)
class Starts:
    """C changes from the hours of one cell to those of another within a month, at which what runs more is started.

    Attributes:
        before, after: (C,) the cells, as positions within their month.
        share: (C,) of a month's cost that is paid for each instance more.
    """

    before: Ints
    after: Ints
    share: Floats

    @classmethod
    def none(cls) -> "Starts":
        """Nothing is paid for starting."""
        nowhere = np.zeros(0, dtype=np.int64)
        return cls(nowhere, nowhere, np.zeros(0))


@dataclass(frozen=True, eq=False)
class HorizonProblem:
    """What may be signed or rented in each node of a tree, and what must be served in each.

    A node's month has cells: hours that are alike. J cells over all nodes, K request classes.

    Attributes:
        mixes: (M, K) requests of each class per request of a mix.
        cell_node: (J,) whose month the hours belong to.
        cell_share: (J,) share of the month's hours.
        demand_per_s: (J, K).
        kept: Whether an instance that is held serves one mix all month; else it may serve another in other hours.
        starts: What is paid by the hour is paid while it starts, too.
        switch_usd: (N,) net present cost of each instance of a kind that begins to serve a mix, against the month
            before and in the hours of most demand; zeros where that is free.
    """

    tree: Tree
    machines: Machines
    hourly: Hourly
    deals: Deals
    ceilings: Ceilings
    mixes: Floats
    cell_node: Ints
    cell_share: Floats
    demand_per_s: Floats
    kept: bool = False
    starts: Starts = field(default_factory=Starts.none)
    switch_usd: Floats = field(default_factory=lambda: np.zeros(0))

    @property
    def switches(self) -> bool:
        """Whether it costs anything to begin serving on an instance."""
        return bool(self.switch_usd.any())

    @property
    def cells(self) -> Ints:
        """(N, cells of a month) the cells of each node, in the order of the problem's."""
        return np.argsort(self.cell_node, kind="stable").reshape(len(self.tree.month), -1)

    @property
    def busiest_cell(self) -> Ints:
        """(N,) the cell of each node in which most is asked; of equals the first."""
        order = np.lexsort((np.arange(len(self.cell_node)), -self.demand_per_s.sum(axis=1), self.cell_node))
        first = np.unique(self.cell_node[order], return_index=True)[1]
        return np.asarray(order[first])

    def select(self, hourly: Ints, deals: Ints) -> "HorizonProblem":
        """The problem with the offers listed."""
        return replace(
            self,
            hourly=self.hourly.select(hourly),
            deals=self.deals.select(deals),
            ceilings=self.ceilings.select(hourly, deals),
        )

    def without_deals(self) -> "HorizonProblem":
        """The problem in which nothing is held for a term."""
        return self.select(np.arange(len(self.hourly.ids)), np.zeros(0, dtype=np.int64))

    def known_to_be(self, branch: int) -> "HorizonProblem":
        """The problem of one branch that is known from the start."""
        tree, nodes = self.tree.alone(branch)
        position = np.full(len(self.tree.month), -1, dtype=np.int64)
        position[nodes] = np.arange(len(nodes))
        cells = np.flatnonzero(position[self.cell_node] >= 0)
        return self._on(tree, nodes, cells, position[self.cell_node[cells]], self.demand_per_s[cells])

    def expected(self) -> "HorizonProblem":
        """The problem of one branch that is the weighted mean of all: prices, switching and demand."""
        node, weight = self.tree.node, self.tree.weight
        cells = [np.flatnonzero(np.isin(self.cell_node, path)) for path in node]
        demand = sum(w * self.demand_per_s[own] for w, own in zip(weight, cells, strict=True))
        mean = np.einsum("b,...bt->...t", weight, self.hourly.usd[:, node])
        mean_monthly = np.einsum("b,...bt->...t", weight, self.hourly.monthly_usd[:, node])
        deals = np.einsum("b,...bt->...t", weight, self.deals.usd[:, node])
        deals_monthly = np.einsum("b,...bt->...t", weight, self.deals.monthly_usd[:, node])
        alone = self.known_to_be(0)
        switch = np.einsum("b,bt->t", weight, self.switch_usd[node]) if self.switches else self.switch_usd
        return replace(
            alone,
            demand_per_s=np.asarray(demand),
            hourly=replace(alone.hourly, usd=mean, monthly_usd=mean_monthly),
            deals=replace(alone.deals, usd=deals, monthly_usd=deals_monthly),
            switch_usd=switch,
        )

    def _on(self, tree: Tree, nodes: Ints, cells: Ints, cell_node: Ints, demand: Floats) -> "HorizonProblem":
        return replace(
            self,
            tree=tree,
            hourly=replace(self.hourly, usd=self.hourly.usd[:, nodes], monthly_usd=self.hourly.monthly_usd[:, nodes]),
            deals=replace(self.deals, usd=self.deals.usd[:, nodes], monthly_usd=self.deals.monthly_usd[:, nodes]),
            cell_node=cell_node,
            cell_share=self.cell_share[cells],
            demand_per_s=demand,
            switch_usd=self.switch_usd[nodes] if self.switches else self.switch_usd,
        )

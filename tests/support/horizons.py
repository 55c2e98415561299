"""Small purchases over months, drawn at random, and their optimum by trying everything."""

from functools import cache
from itertools import product
from typing import TypeAlias

import numpy as np

from optimizer.base.arrays import Floats, Ints
from optimizer.program.horizon.problem import Ceilings, Deals, HorizonProblem, Hourly, Machines
from optimizer.program.horizon.tree import parting

Choice: TypeAlias = tuple[float, tuple[int, ...]]

MOST_SIGNED = 2
"""Of each deal in each node; demand needs no more of the smallest machine."""


def drawn_horizon(seed: int) -> HorizonProblem:
    """Two or three months, up to three branches, two machines, an hourly offer of each and up to two deals."""
    random = np.random.default_rng(seed)
    months, branches = int(random.integers(2, 4)), int(random.integers(1, 4))
    weight = random.integers(1, 4, branches).astype(float)
    parts = [int(each) for each in random.integers(1, months + 1, branches)]
    tree = parting(months, parts, weight / weight.sum())
    nodes, mixes, cells = len(tree.month), int(random.integers(1, 3)), int(random.integers(1, 3))
    switching = bool(random.integers(0, 3) == 0) and cells == 1 and mixes == 1
    capacity = random.uniform(1.0, 3.0, (2, mixes)) * (random.uniform(size=(2, mixes)) < 0.8)
    capacity[0] = np.maximum(capacity[0], 1.0)
    fade = 0.95**tree.month
    price = random.uniform(5, 20, (2, 1)) * random.uniform(0.7, 1.3, (2, nodes))
    deals = int(random.integers(0, 3 if nodes <= 3 else 2))
    term = random.integers(1, months + 1, deals)
    machine = random.integers(0, 2, deals)
    monthly = price[machine] * random.uniform(0.5, 1.1, (deals, 1))
    share = random.dirichlet(np.ones(cells))
    limited = bool(random.integers(0, 3) == 0)
    ceilings = Ceilings(
        names=("gpus",) if limited else (),
        hourly=np.ones((int(limited), 2)),
        deals=np.ones((int(limited), deals)),
        most=np.full(int(limited), float(random.integers(1, 4))),
    )
    return HorizonProblem(
        tree=tree,
        machines=Machines(("large", "small"), capacity),
        hourly=Hourly(("large by the hour", "small by the hour"), np.arange(2), price * fade, price),
        deals=Deals(tuple(f"deal {d}" for d in range(deals)), machine, term, monthly * term[:, None] * fade, monthly),
        ceilings=ceilings,
        mixes=np.eye(mixes),
        cell_node=np.repeat(np.arange(nodes), cells),
        cell_share=np.tile(share, nodes),
        demand_per_s=random.uniform(0.2, 2.0 / mixes, (nodes * cells, mixes)),
        switch_usd=np.where(tree.month > 0, 4.0, 0.0) if switching else np.zeros(0),
    )


def tried_out(problem: HorizonProblem) -> float:
    """The least expected cost over every choice; infinite where there is none."""
    tree, deals, ceilings = problem.tree, problem.deals, problem.ceilings
    nodes, best = len(tree.month), np.inf
    serving = cache(lambda cell, held, weighs: _choices(problem, cell, np.array(held), np.array(weighs)))
    for flat in product(range(MOST_SIGNED + 1), repeat=len(deals.ids) * nodes):
        sign = np.array(flat, dtype=np.int64).reshape(len(deals.ids), nodes)
        signed_usd = float((sign * deals.usd * tree.probability).sum())
        if signed_usd >= best:
            continue
        # what is held in each node, and what it weighs under each limit
        held, weighs = np.zeros((2, nodes), dtype=np.int64), np.zeros((len(ceilings.names), nodes))
        for deal, node in product(range(len(deals.ids)), range(nodes)):
            start = node
            while start >= 0 and tree.month[node] - tree.month[start] < deals.term_months[deal]:
                held[deals.machine[deal], node] += sign[deal, start]
                weighs[:, node] += ceilings.deals[:, deal] * sign[deal, start]
                start = int(tree.parent[start])
        choices = [
            serving(cell, tuple(held[:, node].tolist()), tuple(weighs[:, node].tolist()))
            for cell, node in enumerate(problem.cell_node.tolist())
        ]
        best = min(best, signed_usd + _served_usd(problem, choices))
    return float(best)


def _served_usd(problem: HorizonProblem, choices: list[list[Choice]]) -> float:
    """The least that serving costs where each cell has these choices; one cell a node where switching costs."""
    tree = problem.tree
    if not problem.switches:
        least = np.array([min((usd for usd, _ in each), default=np.inf) for each in choices])
        return float((least * tree.probability[problem.cell_node]).sum())
    children = [np.flatnonzero(tree.parent == node).tolist() for node in range(len(tree.month))]

    @cache
    def least_from(node: int, before: tuple[int, ...] | None) -> float:
        found = np.inf
        for usd, used in choices[node]:
            risen = 0 if before is None else sum(max(b - a, 0) for a, b in zip(before, used, strict=True))
            own = tree.probability[node] * (usd + risen * problem.switch_usd[node])
            if own < found:
                found = min(found, own + sum(least_from(child, used) for child in children[node]))
        return float(found)

    return least_from(0, None)


def _choices(problem: HorizonProblem, cell: int, held: Ints, weighs: Floats) -> list[Choice]:
    """Every way to serve a cell: what it costs, and how many instances of each machine serve each mix."""
    capacity, demand = problem.machines.capacity_per_s, problem.demand_per_s[cell]
    node, share = problem.cell_node[cell], problem.cell_share[cell]
    places = [(x, m) for x in range(2) for m in range(capacity.shape[1]) if capacity[x, m] > 0]
    found = []
    for used in product(range(MOST_SIGNED + 1), repeat=len(places)):
        got, count = np.zeros(len(demand)), np.zeros(2, dtype=np.int64)
        for (x, m), n in zip(places, used, strict=True):
            got += n * capacity[x, m] * problem.mixes[m]
            count[x] += n
        # what is held serves first, for it costs nothing more
        rented = np.maximum(count - held, 0)
        if (got < demand).any() or (problem.ceilings.hourly @ rented + weighs > problem.ceilings.most).any():
            continue
        found.append((float(problem.hourly.usd[:, node] @ rented * share), used))
    return found

"""Small purchases over months, drawn at random, and their optimum by trying everything."""

from collections.abc import Callable
from functools import cache
from itertools import product
from typing import TypeAlias

import numpy as np

from optimizer.base.arrays import Floats, Ints
from optimizer.program.horizon.problem import Ceilings, Deals, HorizonProblem, Hourly, Machines, Starts
from optimizer.program.horizon.tree import parting

Counts: TypeAlias = tuple[int, ...]
Choice: TypeAlias = tuple[float, Counts, Counts]
"""What it costs, how many instances of each machine serve each mix, and how many of each machine are rented."""
Serving: TypeAlias = Callable[[int, Counts, tuple[float, ...]], list[Choice]]

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
        kept=bool(random.integers(0, 2)),
        starts=_drawn_starts(random, cells if mixes == 1 else 1),
        switch_usd=np.where(tree.month > 0, 4.0, 0.0) if switching else np.zeros(0),
    )


def _drawn_starts(random: np.random.Generator, cells: int) -> Starts:
    """Of two cells in a month sometimes each follows the other."""
    if cells < 2 or random.integers(0, 3) == 0:
        return Starts.none()
    return Starts(np.array([0, 1]), np.array([1, 0]), random.uniform(0.0, 0.5, 2))


def tried_out(problem: HorizonProblem) -> float:
    """The least expected cost over every choice; infinite where there is none."""
    tree, deals, ceilings = problem.tree, problem.deals, problem.ceilings
    nodes, best = len(tree.month), np.inf
    serving = cache(lambda *asked: _choices(problem, *asked))
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
        best = min(best, signed_usd + _served_usd(problem, held, weighs, serving))
    return float(best)


def _served_usd(problem: HorizonProblem, held: Ints, weighs: Floats, serving: Serving) -> float:
    """The least that serving costs with what is held; one cell a node where switching costs."""
    tree = problem.tree
    children = [np.flatnonzero(tree.parent == node).tolist() for node in range(len(tree.month))]

    @cache
    def least_from(node: int, before: Counts | None) -> float:
        cells = np.flatnonzero(problem.cell_node == node).tolist()
        limits = tuple(weighs[:, node].tolist())
        found = np.inf
        for there in _splits(problem, tuple(held[:, node].tolist())):
            choices = [serving(cell, there, limits) for cell in cells]
            if not problem.switches:
                found = min(found, tree.probability[node] * _month_usd(problem, node, choices))
                continue
            for usd, used, _ in choices[0]:
                risen = 0 if before is None else sum(max(b - a, 0) for a, b in zip(before, used, strict=True))
                own = tree.probability[node] * (usd + risen * problem.switch_usd[node])
                if own < found:
                    found = min(found, own + sum(least_from(child, used) for child in children[node]))
        return float(found)

    if problem.switches:
        return least_from(0, None)
    return sum(least_from(node, None) for node in range(len(tree.month)))


def _month_usd(problem: HorizonProblem, node: int, choices: list[list[Choice]]) -> float:
    """The least that a month costs where each of its cells has these choices."""
    starts, usd = problem.starts, problem.hourly.usd[:, node]
    if not len(starts.share):
        return sum(min((each[0] for each in cell), default=np.inf) for cell in choices)
    least = np.inf
    for ways in product(*choices):
        rented = np.array([way[2] for way in ways])
        risen = np.maximum(rented[starts.after] - rented[starts.before], 0)
        least = min(least, sum(way[0] for way in ways) + float(starts.share @ risen @ usd))
    return least


def _places(problem: HorizonProblem) -> list[tuple[int, int]]:
    """Every machine and mix that it serves."""
    return [(int(x), int(m)) for x, m in np.argwhere(problem.machines.capacity_per_s > 0)]


def _splits(problem: HorizonProblem, held: Counts) -> list[Counts]:
    """What may be held: of each machine, or, where it is kept to one mix all month, of each machine for each mix."""
    if not problem.kept:
        return [held]
    places = _places(problem)
    ways = product(*(range(held[x] + 1) for x, _ in places))
    return [
        way
        for way in ways
        if all(sum(n for n, (x, _) in zip(way, places, strict=True) if x == own) <= held[own] for own in range(2))
    ]


def _choices(problem: HorizonProblem, cell: int, there: Counts, weighs: tuple[float, ...]) -> list[Choice]:
    """Every way to serve a cell: what it costs, and how many instances of each machine serve each mix."""
    capacity, demand = problem.machines.capacity_per_s, problem.demand_per_s[cell]
    node, share, places = problem.cell_node[cell], problem.cell_share[cell], _places(problem)
    found = []
    for used in product(range(MOST_SIGNED + 1), repeat=len(places)):
        got, rented, count = np.zeros(len(demand)), np.zeros(2, dtype=np.int64), np.zeros(2, dtype=np.int64)
        for number, ((x, m), n) in enumerate(zip(places, used, strict=True)):
            got += n * capacity[x, m] * problem.mixes[m]
            count[x] += n
            rented[x] += max(n - there[number], 0) if problem.kept else 0
        # what is held serves first, for it costs nothing more
        rented = rented if problem.kept else np.maximum(count - np.array(there), 0)
        if (got < demand).any() or (problem.ceilings.hourly @ rented + weighs > problem.ceilings.most).any():
            continue
        found.append((float(problem.hourly.usd[:, node] @ rented * share), used, tuple(rented.tolist())))
    return found

"""The cheapest purchases over a tree of months, and what is bought by those who look ahead less.

`solve_horizon` knows the branches and their weights. `month_by_month` signs in each month what makes that month alone
cheapest, as a plan does that is made anew every month; what it signed before it keeps and need not pay again.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

import numpy as np

from optimizer.base.arrays import Floats, Ints
from optimizer.base.clock import Clock
from optimizer.program.horizon.formulation import lay_out, model_of
from optimizer.program.horizon.problem import Ceilings, Deals, HorizonProblem
from optimizer.program.horizon.tree import line
from optimizer.program.proof.state import EQUAL_COST
from optimizer.program.solver import Status, solve_integer

NOTHING = np.zeros((0, 0, 0), dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Purchases:
    """What is decided in every node, what it costs, and what was proven.

    Attributes:
        status: `optimal` and `infeasible` are proven; `feasible` has a bound.
        expected_usd: Net present cost, weighted over branches; infinite without a plan.
        bound_usd: No plan of the problem costs less; 0 where nothing is known.
        sign: (D, N) begun in each node; empty without a plan.
        run: (H, M, J) instances paid while they run.
        serve: (X, M, J) instances held for a term that serve.
    """

    status: Status
    expected_usd: float
    bound_usd: float
    sign: Ints = field(default_factory=lambda: np.zeros((0, 0), dtype=np.int64))
    run: Ints = field(default_factory=lambda: NOTHING)
    serve: Ints = field(default_factory=lambda: NOTHING)

    @property
    def found(self) -> bool:
        """Whether there is a plan."""
        return bool(np.isfinite(self.expected_usd))

    @property
    def relative_gap(self) -> float:
        """(cost - bound) / cost."""
        return (self.expected_usd - self.bound_usd) / self.expected_usd if self.expected_usd else 0.0

    def or_cheaper(self, other: "Purchases") -> "Purchases":
        """The cheaper of two decisions on one problem, with what is proven of it here."""
        if other.expected_usd >= self.expected_usd:
            return self
        return other._above(min(self.bound_usd, other.expected_usd))

    def undercut_by(self, others: "Iterable[Purchases]") -> "Purchases":
        """The same where decisions on other problems may cost as little as their bounds say, if that is less."""
        least_usd = min((each.bound_usd for each in others if each.status != "infeasible"), default=np.inf)
        return self if not self.found or least_usd >= self.bound_usd else self._above(least_usd)

    def _above(self, bound_usd: float) -> "Purchases":
        proven = self.expected_usd - bound_usd <= EQUAL_COST * self.expected_usd
        return replace(self, status="optimal" if proven else "feasible", bound_usd=bound_usd)


def solve_horizon(
    problem: HorizonProblem, clock: Clock, relative_gap: float = 0.0, fixed: tuple[Ints, Ints] | None = None
) -> Purchases:
    """The purchases of least expected net present cost, to within a gap.

    Args:
        problem: What to solve.
        clock: Where it has run out the best that was found is returned, with its bound.
        relative_gap: Search no further than proven within this of the cheapest.
        fixed: Nodes, and (D, those nodes) how many of each deal are signed in them.
    """
    layout = lay_out(problem)
    if not layout.count:
        return Purchases("infeasible" if problem.demand_per_s.any() else "optimal", np.inf, 0.0)
    found = solve_integer(model_of(problem, layout, fixed), clock, relative_gap=relative_gap)
    if not len(found.values):
        return Purchases(found.status, np.inf, max(found.bound, 0.0) if np.isfinite(found.bound) else 0.0)
    values = np.rint(found.values).astype(np.int64)
    sign, run, serve = (np.where(place >= 0, values[place], 0) for place in (layout.sign, layout.run, layout.serve))
    serve = np.where(layout.direct[:, None, None], _held(problem, sign) * _served(problem), serve)
    cost = cost_usd(problem, sign, run, serve)
    bound = min(found.bound, cost)
    if cost - bound <= EQUAL_COST * cost:
        return Purchases("optimal", cost, cost, sign, run, serve)
    return Purchases("feasible", cost, bound, sign, run, serve)


def month_by_month(problem: HorizonProblem, clock: Clock) -> Purchases:
    """What is bought where every month is planned for itself: the cheapest month, given what was signed before.

    A term counts with its cost a month, so it is signed as soon as that is below a month on demand. Its cost is that of
    all nodes; nothing is proven of it. What it costs to begin serving is no part of its decisions, but of its cost.
    """
    tree, machines, mixes = problem.tree, len(problem.machines.ids), len(problem.mixes)
    sign = np.zeros((len(problem.deals.ids), len(tree.month)), dtype=np.int64)
    run = np.zeros((len(problem.hourly.ids), mixes, len(problem.cell_node)), dtype=np.int64)
    serve = np.zeros((machines, mixes, len(problem.cell_node)), dtype=np.int64)
    for node in range(len(tree.month)):
        cells = np.flatnonzero(problem.cell_node == node)
        found = solve_horizon(_month(problem, node, cells, _running(problem, sign, node)), clock)
        if not found.found:
            return Purchases(found.status, np.inf, 0.0)
        sign[:, node] = found.sign[: len(sign), 0]
        run[:, :, cells], serve[:, :, cells] = found.run, found.serve
    return Purchases("feasible", cost_usd(problem, sign, run, serve), 0.0, sign, run, serve)


def cost_usd(problem: HorizonProblem, sign: Ints, run: Ints, serve: Ints) -> float:
    """Expected net present cost of decisions: what is signed, what runs, and what begins to serve."""
    return float(node_usd(problem, sign, run, serve) @ problem.tree.probability)


def node_usd(problem: HorizonProblem, sign: Ints, run: Ints, serve: Ints) -> Floats:
    """(N,) net present cost of what is decided in each node."""
    usd = np.where(sign > 0, problem.deals.usd, 0.0)
    total = (usd * sign).sum(axis=0)
    # (H, J) instances of each offer over all mixes
    ran = run.sum(axis=1) * problem.hourly.usd[:, problem.cell_node] * problem.cell_share
    np.add.at(total, problem.cell_node, ran.sum(axis=0))
    total += (started_within(problem, run) * problem.hourly.usd).sum(axis=0)
    if problem.switches:
        total += problem.switch_usd * started(problem, run, serve)
    return np.asarray(total)


def started_within(problem: HorizonProblem, run: Ints) -> Floats:
    """(H, N) months that instances of each offer are paid for while they start within each month."""
    cells, starts = problem.cells, problem.starts
    # (H, M, N, C) instances more after each change
    risen = np.maximum(run[:, :, cells[:, starts.after]] - run[:, :, cells[:, starts.before]], 0)
    return np.asarray(risen.sum(axis=1) @ starts.share)


def started(problem: HorizonProblem, run: Ints, serve: Ints) -> Ints:
    """(N,) instances that serve in the busiest hours of a month and did not in those of the month before."""
    used = serve.copy()
    np.add.at(used, problem.hourly.machine, run)
    busy, parent = used[:, :, problem.busiest_cell], problem.tree.parent
    risen = np.maximum(busy - busy[:, :, parent], 0).sum(axis=(0, 1))
    return np.where(parent >= 0, risen, 0)


def _served(problem: HorizonProblem) -> Ints:
    """(X, M, 1) one for each mix that a machine serves."""
    return np.asarray((problem.machines.capacity_per_s > 0)[:, :, None].astype(np.int64))


def _held(problem: HorizonProblem, sign: Ints) -> Ints:
    """(X, 1, J) instances of each machine that are held for a term, in each cell."""
    held = np.zeros((len(problem.machines.ids), len(problem.tree.month)), dtype=np.int64)
    for deal, machine in enumerate(problem.deals.machine.tolist()):
        nodes, starts = problem.tree.running(int(problem.deals.term_months[deal]))
        np.add.at(held[machine], nodes, sign[deal, starts])
    return held[:, None, problem.cell_node]


def _running(problem: HorizonProblem, sign: Ints, node: int) -> Ints:
    """(D,) how many of each deal run in a node."""
    signed = sign[:, problem.tree.up_to(node)]
    months_ago = np.arange(signed.shape[1])
    return np.asarray((signed * (months_ago < problem.deals.term_months[:, None])).sum(axis=1))


def _month(problem: HorizonProblem, node: int, cells: Ints, running: Ints) -> HorizonProblem:
    """A node's month alone; what is held already costs nothing more, and there is no more of it than was signed."""
    deals, limits, count = problem.deals, problem.ceilings, len(problem.deals.ids)
    held = np.flatnonzero(running)
    names = tuple(f"held {deal}" for deal in held.tolist())
    usd = np.concatenate([deals.monthly_usd[:, [node]], np.zeros((len(held), 1))])
    usd[:count][~np.isfinite(deals.usd[:, [node]])] = np.inf
    ceilings = Ceilings(
        names=(*limits.names, *names),
        hourly=np.vstack([limits.hourly, np.zeros((len(held), limits.hourly.shape[1]))]),
        deals=np.block(
            [
                [limits.deals, np.zeros((len(limits.names), len(held)))],
                [np.zeros((len(held), count)), np.eye(len(held))],
            ]
        ),
        most=np.concatenate([limits.most - limits.deals @ running, running[held]]),
    )
    hourly_usd = problem.hourly.monthly_usd[:, [node]]
    return replace(
        problem,
        tree=line(1),
        hourly=replace(problem.hourly, usd=hourly_usd, monthly_usd=hourly_usd),
        deals=Deals(
            ids=(*deals.ids, *names),
            machine=np.concatenate([deals.machine, deals.machine[held]]),
            term_months=np.ones(count + len(held), dtype=np.int64),
            usd=usd,
            monthly_usd=usd,
        ),
        ceilings=ceilings,
        cell_node=np.zeros(len(cells), dtype=np.int64),
        cell_share=problem.cell_share[cells],
        demand_per_s=problem.demand_per_s[cells],
        switch_usd=np.zeros(0),
    )

"""The rows and columns of purchases over months: what is signed in a node, what runs and serves in each of its hours.

    minimize    sum usd sign + sum probability share usd run + sum share usd risen + sum switch_usd started
    demand      for each cell and class: sum capacity mix (run + serve) >= demand, divided by it, no share above 1
    held        for each cell and machine: sum over mixes of serve <= sum of sign over deals still in their term
    ceilings    for each cell and limit: sum weight run + sum weight sign over deals still in their term <= most
    risen       for each node, offer, mix and change within its month: run after it, less run before it
    started     for each node and kind in service: run + serve in its busiest cell, less the same of its parent's

A machine that serves one mix needs no `serve`: whatever is held serves. Nothing here names the branches: a node is one
set of decisions, so that what is decided before branches part is the same in all of them.
"""

from dataclasses import dataclass

import numpy as np
from ortools.math_opt import model_pb2

from optimizer.base.arrays import Flags, Floats, Ints
from optimizer.program.formulation.model import Columns, assemble
from optimizer.program.formulation.rows import Rows, Term, at_least, at_most, between, numbered, stacked
from optimizer.program.horizon.problem import HorizonProblem


@dataclass(frozen=True, eq=False)
class HorizonLayout:
    """Where each decision sits among the columns; -1 where there is none.

    Attributes:
        sign: (D, N).
        run: (H, M, J).
        serve: (X, M, J) of machines held for a term that may serve several mixes; where they are kept to one, the cells
            of a node share a column.
        started: (X, M, N) where that is charged.
        risen: (H, M, N, C) where starts within a month are.
        direct: (X,) machines held for a term that serve one mix.
        count: Of all columns.
    """

    sign: Ints
    run: Ints
    serve: Ints
    started: Ints
    risen: Ints
    direct: Flags
    count: int


def lay_out(problem: HorizonProblem) -> HorizonLayout:
    """The columns, in the order of the objective's terms."""
    tree, served = problem.tree, problem.machines.capacity_per_s > 0
    nodes, cells = len(tree.month), len(problem.cell_node)
    held = np.isin(np.arange(len(served)), problem.deals.machine)
    direct = held & (served.sum(axis=1) == 1) & (not problem.switches)
    used = held | np.isin(np.arange(len(served)), problem.hourly.machine)
    runs, serves = served[problem.hourly.machine], served & (held & ~direct)[:, None]
    starts = served & used[:, None] & problem.switches
    later = np.broadcast_to(tree.parent >= 0, (*starts.shape, nodes))
    wanted = (
        np.isfinite(problem.deals.usd),
        np.broadcast_to(runs[..., None], (*runs.shape, cells)),
        np.broadcast_to(serves[..., None], (*serves.shape, cells)),
        starts[..., None] & later,
        np.broadcast_to(runs[:, :, None, None], (*runs.shape, nodes, len(problem.starts.share))),
    )
    places, first = list[Ints](), 0
    for flags in wanted:
        place = np.full(flags.shape, -1, dtype=np.int64)
        place[flags] = first + np.arange(int(flags.sum()))
        places.append(place)
        first += int(flags.sum())
    sign, run, serve, started, risen = places
    if problem.kept:
        # the column of a node's first cell stands for all of its cells
        first_cell = np.unique(problem.cell_node, return_index=True)[1]
        serve = serve[:, :, first_cell[problem.cell_node]]
    return HorizonLayout(sign, run, serve, started, risen, direct=direct, count=first)


def objective(problem: HorizonProblem, layout: HorizonLayout) -> Floats:
    """(columns,) net present cost of each decision, times how likely its node is."""
    tree, cost = problem.tree, np.zeros(layout.count)
    signed, ran, begun = layout.sign >= 0, layout.run >= 0, layout.started >= 0
    cost[layout.sign[signed]] = (tree.probability * np.where(signed, problem.deals.usd, 0.0))[signed]
    # (J,) how much of a month's cost in its node each cell stands for
    share = tree.probability[problem.cell_node] * problem.cell_share
    usd = np.broadcast_to((problem.hourly.usd[:, problem.cell_node] * share)[:, None, :], ran.shape)
    cost[layout.run[ran]] = usd[ran]
    begins, rising = layout.risen >= 0, problem.starts.share
    usd = (tree.probability * problem.hourly.usd)[:, None, :, None] * rising
    cost[layout.risen[begins]] = np.broadcast_to(usd, begins.shape)[begins]
    if problem.switches:
        switch = np.broadcast_to(tree.probability * problem.switch_usd, begun.shape)
        cost[layout.started[begun]] = switch[begun]
    return cost


def model_of(
    problem: HorizonProblem, layout: HorizonLayout, fixed: tuple[Ints, Ints] | None = None
) -> model_pb2.ModelProto:
    """The model to solve.

    Args:
        problem: What it is about.
        layout: Its columns.
        fixed: Nodes, and (D, those nodes) how many of each deal are signed in them.
    """
    blocks = {"demand": _demand(problem, layout), "held": _held(problem, layout)}
    if problem.ceilings.names:
        blocks["ceilings"] = _ceilings(problem, layout)
    if len(problem.starts.share):
        blocks["risen"] = _risen(problem, layout)
    if problem.switches:
        blocks["started"] = _started(problem, layout)
    if fixed is not None:
        nodes, counts = fixed
        place = layout.sign[:, nodes]
        row = np.arange(int((place >= 0).sum()))
        value = counts[place >= 0]
        blocks["fixed"] = between(numbered("fixed", len(row)), value, value, (row, place[place >= 0], 1.0))
    columns = Columns(_upper(problem, layout), np.ones(layout.count, dtype=np.bool_))
    return assemble(columns, objective(problem, layout), stacked(blocks))


def _demand(problem: HorizonProblem, layout: HorizonLayout) -> Rows:
    """What runs and what is held serve every class that is wanted in a cell."""
    demand, capacity = problem.demand_per_s, problem.machines.capacity_per_s
    cell, request_class = np.nonzero(demand > 0)
    row_of = np.full(demand.shape, -1, dtype=np.int64)
    row_of[cell, request_class] = np.arange(len(cell))
    # (X, M, K) requests/s of each class that an instance serves in each mix
    serves = capacity[:, :, None] * problem.mixes
    terms = [_served(problem, layout.run, serves[problem.hourly.machine], row_of)]
    terms.append(_served(problem, layout.serve, serves, row_of))
    terms += _served_directly(problem, layout, serves, row_of)
    return at_least(numbered("demand", len(cell)), 1.0, *terms)


def _served(problem: HorizonProblem, place: Ints, serves: Floats, row_of: Ints) -> Term:
    """Entries (demand, column, share of the demand) of counts by offer or machine, mix and cell."""
    offer, mix, cell = np.nonzero(place >= 0)
    entry, request_class = np.nonzero((serves[offer, mix] > 0) & (row_of[cell] >= 0))
    row = row_of[cell[entry], request_class]
    share = serves[offer[entry], mix[entry], request_class] / problem.demand_per_s[cell[entry], request_class]
    return row, place[offer[entry], mix[entry], cell[entry]], np.minimum(share, 1.0)


def _served_directly(problem: HorizonProblem, layout: HorizonLayout, serves: Floats, row_of: Ints) -> list[Term]:
    """The same of deals whose machine serves one mix: what was signed in a node serves while its term runs."""
    terms = []
    for deal in np.flatnonzero(layout.direct[problem.deals.machine]).tolist():
        # (K,) of its one mix
        one = serves[problem.deals.machine[deal]].sum(axis=0)
        cell, column = _signed_before(problem, layout, deal)
        entry, request_class = np.nonzero((one > 0) & (row_of[cell] >= 0))
        share = one[request_class] / problem.demand_per_s[cell[entry], request_class]
        terms.append((row_of[cell[entry], request_class], column[entry], np.minimum(share, 1.0)))
    return terms


def _signed_before(problem: HorizonProblem, layout: HorizonLayout, deal: int) -> tuple[Ints, Ints]:
    """Every (cell, column) of a deal signed in a node whose term covers the cell."""
    node, start = problem.tree.running(int(problem.deals.term_months[deal]))
    column = layout.sign[deal, start]
    node, column = node[column >= 0], column[column >= 0]
    # (pairs, cells of a month)
    cells = problem.cells[node]
    return cells.ravel(), np.repeat(column, cells.shape[1])


def _held(problem: HorizonProblem, layout: HorizonLayout) -> Rows:
    """What serves of a machine that is held is held."""
    machine, mix, cell = np.nonzero(layout.serve >= 0)
    cells = len(problem.cell_node)
    held = np.unique(machine)
    row_of = np.full(len(layout.serve), -1, dtype=np.int64)
    row_of[held] = np.arange(len(held)) * cells
    terms: list[Term] = [(row_of[machine] + cell, layout.serve[machine, mix, cell], 1.0)]
    for deal, own in enumerate(problem.deals.machine.tolist()):
        if row_of[own] >= 0:
            at, column = _signed_before(problem, layout, deal)
            terms.append((row_of[own] + at, column, -1.0))
    return at_most(numbered("held", len(held) * cells), 0.0, *terms)


def _ceilings(problem: HorizonProblem, layout: HorizonLayout) -> Rows:
    """Every limit in every cell."""
    limits, cells = problem.ceilings, len(problem.cell_node)
    offer, mix, cell = np.nonzero(layout.run >= 0)
    limit, entry = np.nonzero(limits.hourly[:, offer])
    column = layout.run[offer[entry], mix[entry], cell[entry]]
    terms: list[Term] = [(limit * cells + cell[entry], column, limits.hourly[limit, offer[entry]])]
    for deal in range(len(problem.deals.ids)):
        at, signed = _signed_before(problem, layout, deal)
        limit, entry = np.nonzero(np.broadcast_to(limits.deals[:, deal, None], (len(limits.names), len(at))))
        terms.append((limit * cells + at[entry], signed[entry], limits.deals[limit, deal]))
    most = np.repeat(limits.most, cells)
    return at_most(numbered("ceiling", len(most)), most, *terms)


def _risen(problem: HorizonProblem, layout: HorizonLayout) -> Rows:
    """What runs more in the cell after a change than in the one before is started."""
    offer, mix, node, number = np.nonzero(layout.risen >= 0)
    row, cells = np.arange(len(offer)), problem.cells
    after, before = cells[node, problem.starts.after[number]], cells[node, problem.starts.before[number]]
    return at_most(
        numbered("risen", len(row)),
        0.0,
        (row, layout.run[offer, mix, after], 1.0),
        (row, layout.run[offer, mix, before], -1.0),
        (row, layout.risen[offer, mix, node, number], -1.0),
    )


def _started(problem: HorizonProblem, layout: HorizonLayout) -> Rows:
    """What serves in a node's busiest cell, less what served in its parent's, was started."""
    machine, mix, node = np.nonzero(layout.started >= 0)
    row = np.arange(len(machine))
    terms: list[Term] = [(row, layout.started[machine, mix, node], -1.0)]
    busiest, parent = problem.busiest_cell, problem.tree.parent[node]
    for at, sign in ((busiest[node], 1.0), (busiest[parent], -1.0)):
        serve = layout.serve[machine, mix, at]
        terms.append((row[serve >= 0], serve[serve >= 0], sign))
        for offer, own in enumerate(problem.hourly.machine.tolist()):
            ran = np.flatnonzero(machine == own)
            terms.append((row[ran], layout.run[offer, mix[ran], at[ran]], sign))
    return at_most(numbered("started", len(row)), 0.0, *terms)


def _upper(problem: HorizonProblem, layout: HorizonLayout) -> Floats:
    """(columns,) more instances of a machine than serve the highest demand of every class help nobody."""
    serves = problem.machines.capacity_per_s[:, :, None] * problem.mixes
    peak = problem.demand_per_s.max(axis=0)
    with np.errstate(divide="ignore"):
        most = np.where(serves > 0, np.ceil(peak / np.where(serves > 0, serves, np.inf)) + 1, 0.0).sum(axis=(1, 2))
    upper = np.zeros(layout.count)
    for place, machine in ((layout.sign, problem.deals.machine), (layout.run, problem.hourly.machine)):
        own = np.broadcast_to(most[machine].reshape(-1, *[1] * (place.ndim - 1)), place.shape)
        upper[place[place >= 0]] = own[place >= 0]
    own = np.broadcast_to(most[problem.hourly.machine][:, None, None, None], layout.risen.shape)
    upper[layout.risen[layout.risen >= 0]] = own[layout.risen >= 0]
    for place in (layout.serve, layout.started):
        own = np.broadcast_to(most[:, None, None], place.shape)
        upper[place[place >= 0]] = own[place >= 0]
    return upper

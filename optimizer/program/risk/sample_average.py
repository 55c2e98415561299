"""The purchases that are best over a sample of draws, as one mixed-integer program.

    minimize    mean over draws of (1 − w) cost + w (threshold + beyond / (1 − a))
    cost        in each draw: sum usd bought + sum top_up_usd rented + sum unserved_usd unserved
    demand      in each draw, of each workload: sum rate bought + top_up_rate rented + unserved >= demand
    beyond      in each draw: beyond >= cost − threshold

`bought` is decided before the draw is known and is the same in all of them; `rented`, `unserved` and `beyond` are
decided in each. `threshold` is free, so that the second part is w times the tail (see `measure`). Demand is divided by
itself, with no share above 1: a purchase that serves more than all of it serves all of it.
"""

from dataclasses import dataclass

import numpy as np
from ortools.math_opt import model_pb2

from optimizer.base.arrays import Flags, Floats, Ints
from optimizer.base.clock import Clock
from optimizer.program.formulation.model import Columns, assemble
from optimizer.program.formulation.rows import Rows, Term, at_least, numbered, stacked
from optimizer.program.risk.dominance import undominated
from optimizer.program.risk.measure import Aim, value_at_risk
from optimizer.program.risk.problem import RiskProblem, outcome
from optimizer.program.solver import Status, solve_integer


@dataclass(frozen=True, eq=False)
class Bought:
    """The purchases that were found for a sample.

    Attributes:
        status: Of the search; `optimal` and `infeasible` are proven.
        counts: (U,) instances of each purchase; empty where none was found.
        aim_usd: What is minimized, worked out again from the counts; infinite where none was found.
        bound_usd: No purchases come to less over this sample.
        threshold_usd: The value at risk of the sample.
    """

    status: Status
    counts: Ints
    aim_usd: float
    bound_usd: float
    threshold_usd: float


@dataclass(frozen=True, eq=False)
class _Layout:
    """Where each decision sits among the columns; -1 where there is none."""

    bought: Ints
    """(U,)."""
    rented: Ints
    """(W, S)."""
    unserved: Ints
    """(W, S)."""
    beyond: Ints
    """(S,)."""
    threshold: int
    count: int


def best_purchases(problem: RiskProblem, aim: Aim, clock: Clock, relative_gap: float = 0.0) -> Bought:
    """The purchases of least weighted mean and tail over the problem's draws, to within a gap."""
    kept = undominated(problem)
    few = problem.select(kept)
    layout = _lay_out(few, aim)
    found = solve_integer(_model(few, aim, layout), clock, relative_gap=relative_gap)
    bound = max(found.bound, 0.0) if np.isfinite(found.bound) else 0.0
    if not len(found.values):
        return Bought(found.status, np.zeros(0, dtype=np.int64), np.inf, bound, 0.0)
    counts = np.zeros(len(problem.workload), dtype=np.int64)
    counts[kept] = np.rint(found.values[layout.bought]).astype(np.int64)
    cost = outcome(problem, counts).cost_usd
    usd = aim.of(cost)
    return Bought(found.status, counts, usd, min(bound, usd), value_at_risk(cost, aim.level))


def _lay_out(problem: RiskProblem, aim: Aim) -> _Layout:
    """The columns, in the order of the program's terms."""
    wanted: tuple[Flags, ...] = (
        np.ones(len(problem.workload), dtype=np.bool_),
        problem.top_up.rate_per_s > 0,
        np.broadcast_to(np.isfinite(problem.top_up.unserved_usd)[:, None], problem.demand_per_s.shape),
        np.full(problem.draws, aim.weight > 0),
    )
    places, first = list[Ints](), 0
    for flags in wanted:
        place = np.full(flags.shape, -1, dtype=np.int64)
        place[flags] = first + np.arange(int(flags.sum()))
        places.append(place)
        first += int(flags.sum())
    bought, rented, unserved, beyond = places
    return _Layout(bought, rented, unserved, beyond, threshold=first, count=first + 1)


def _model(problem: RiskProblem, aim: Aim, layout: _Layout) -> model_pb2.ModelProto:
    """The model to solve."""
    draws = problem.draws
    objective = np.zeros(layout.count)
    for _, column, usd in _cost(problem, layout):
        np.add.at(objective, column, (1 - aim.weight) * usd / draws)
    blocks = {"demand": _demand(problem, layout)}
    if aim.weight > 0:
        objective[layout.beyond] = aim.weight / (1 - aim.level) / draws
        objective[layout.threshold] = aim.weight
        draw = np.arange(draws)
        terms: list[Term] = [(draw, layout.beyond, 1.0), (draw, np.full(draws, layout.threshold), 1.0)]
        terms += [(row, column, -usd) for row, column, usd in _cost(problem, layout)]
        blocks["beyond"] = at_least(numbered("beyond", draws), 0.0, *terms)
    whole = np.zeros(layout.count, dtype=np.bool_)
    whole[layout.bought] = True
    whole[layout.rented[layout.rented >= 0]] = True
    columns = Columns(_upper(problem, layout), whole)
    return assemble(columns, objective, stacked(blocks))


def _cost(problem: RiskProblem, layout: _Layout) -> list[tuple[Ints, Ints, Floats]]:
    """What each draw costs, as entries (draw, column, USD a month)."""
    purchase, draw = np.nonzero(problem.usd)
    entries = [(draw, layout.bought[purchase], problem.usd[purchase, draw])]
    workload, draw = np.nonzero(layout.rented >= 0)
    entries.append((draw, layout.rented[workload, draw], problem.top_up.usd[workload, draw]))
    workload, draw = np.nonzero(layout.unserved >= 0)
    usd = problem.top_up.unserved_usd[workload] * problem.demand_per_s[workload, draw]
    entries.append((draw, layout.unserved[workload, draw], usd))
    return entries


def _demand(problem: RiskProblem, layout: _Layout) -> Rows:
    """What is bought and rented serves every workload in every draw, but for the share that is left unserved."""
    demand, draws = problem.demand_per_s, problem.draws
    purchase, draw = np.nonzero(problem.rate_per_s)
    workload = problem.workload[purchase]
    share = np.minimum(problem.rate_per_s[purchase, draw] / demand[workload, draw], 1.0)
    terms: list[Term] = [(workload * draws + draw, layout.bought[purchase], share)]
    workload, draw = np.nonzero(layout.rented >= 0)
    share = np.minimum(problem.top_up.rate_per_s[workload, draw] / demand[workload, draw], 1.0)
    terms.append((workload * draws + draw, layout.rented[workload, draw], share))
    workload, draw = np.nonzero(layout.unserved >= 0)
    terms.append((workload * draws + draw, layout.unserved[workload, draw], 1.0))
    return at_least(numbered("demand", demand.size), 1.0, *terms)


def _upper(problem: RiskProblem, layout: _Layout) -> Floats:
    """(columns,) more instances than serve all of the highest demand where they sustain least help nobody."""
    upper = np.full(layout.count, np.inf)
    rate = np.where(problem.rate_per_s > 0, problem.rate_per_s, np.inf).min(axis=1)
    peak = problem.demand_per_s.max(axis=1)
    upper[layout.bought] = np.minimum(np.ceil(peak[problem.workload] / rate), problem.most)
    there = layout.rented >= 0
    with np.errstate(divide="ignore"):
        most = np.ceil(problem.demand_per_s / np.where(there, problem.top_up.rate_per_s, np.inf))
    upper[layout.rented[there]] = most[there]
    upper[layout.unserved[layout.unserved >= 0]] = 1.0
    return upper

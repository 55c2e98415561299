"""The rival: GPUs chosen by an integer program that assigns slices of demand, after Mélange (arXiv 2404.14527).

Written from the published formulation, as the baseline of the benchmarks only. The demand of each request class is cut
into `slice_factor` equal slices. With rate[g,k] the requests/s of class k that one GPU of type g sustains:

    minimize    sum over g of cost[g] * count[g]
    subject to  sum over g of assigned[s,g] = 1                                    for each slice s
                sum over s of assigned[s,g] * slice[s] / rate[g,class of s] <= count[g]   for each type g
                assigned[s,g] in {0, 1}, count[g] whole

A type with rate 0 can't serve the class and has no variable for its slices.
"""

import time
from dataclasses import dataclass
from typing import Literal

import numpy as np
from instances import Instance
from ortools.linear_solver import pywraplp

Backend = Literal["CBC", "HIGHS"]


@dataclass(frozen=True)
class SliceAnswer:
    """What the rival found.

    Attributes:
        cost_usd_per_hour: None when it found nothing within its limit.
        proven: Whether it proved its own program optimal.
        wall_s: From arrays to answer, building included.
    """

    cost_usd_per_hour: float | None
    proven: bool
    wall_s: float


def solve_in_slices(instance: Instance, slice_factor: int, backend: Backend, limit_s: float) -> SliceAnswer:
    """The cheapest counts when every slice goes to one GPU type as a whole."""
    start_s = time.perf_counter()
    solver = pywraplp.Solver.CreateSolver(backend)
    infinity = solver.infinity()
    counts = [solver.IntVar(0, infinity, f"count[{name}]") for name in instance.names]
    capacity = [solver.RowConstraint(-infinity, 0, f"capacity[{name}]") for name in instance.names]
    for row, count in zip(capacity, counts, strict=True):
        row.SetCoefficient(count, -1.0)
    rate = instance.rate_per_s
    for k in np.flatnonzero(instance.demand_per_s).tolist():
        slice_per_s = float(instance.demand_per_s[k]) / slice_factor
        able = np.flatnonzero(rate[:, k]).tolist()
        for s in range(slice_factor):
            once = solver.RowConstraint(1, 1, f"slice[{k},{s}]")
            for g in able:
                assigned = solver.BoolVar(f"assigned[{k},{s},{g}]")
                once.SetCoefficient(assigned, 1.0)
                capacity[g].SetCoefficient(assigned, slice_per_s / float(rate[g, k]))
    objective = solver.Objective()
    for count, cost in zip(counts, instance.cost_usd_per_hour.tolist(), strict=True):
        objective.SetCoefficient(count, cost)
    objective.SetMinimization()
    solver.SetTimeLimit(int(limit_s * 1000))
    status = solver.Solve()
    found = status in (pywraplp.Solver.OPTIMAL, pywraplp.Solver.FEASIBLE)
    cost = objective.Value() if found else None
    return SliceAnswer(cost, status == pywraplp.Solver.OPTIMAL, time.perf_counter() - start_s)

"""The plain rival: counts whole, each class's demand split over GPU types as it comes, on HiGHS as it is.

Nothing of our strengthening, no candidate removed, default tolerances. With load[g,k] the GPUs of type g that the whole
demand of class k fills:

    minimize    sum over g of cost[g] * count[g]
    subject to  sum over g of split[g,k] >= 1                          for each class k
                sum over k of load[g,k] * split[g,k] <= count[g]       for each type g
                0 <= split <= 1, count[g] whole
"""

import datetime
import time
from dataclasses import dataclass

import numpy as np
from instances import Instance
from ortools.math_opt.python import mathopt

from optimizer.program.formulation.model import Columns, assemble
from optimizer.program.formulation.rows import at_least, at_most, numbered, stacked


@dataclass(frozen=True)
class SplitAnswer:
    """What the rival found and proved, in USD/h, and the CPU seconds it took; infinite cost for no plan."""

    cost_usd_per_hour: float
    bound_usd_per_hour: float
    cpu_s: float


def solve_split(instance: Instance, limit_s: float, relative_gap: float) -> SplitAnswer:
    """The cheapest counts, proven within the gap or as far as the limit allows."""
    start_s = time.process_time()
    rate = instance.rate_per_s
    gpus, classes = rate.shape
    g, k = np.nonzero(rate)
    split, count = gpus + np.arange(len(g)), np.arange(gpus)
    rows = stacked(
        {
            "demand": at_least(numbered("demand", classes), 1.0, (k, split, 1.0)),
            "capacity": at_most(
                numbered("capacity", gpus), 0.0, (g, split, instance.demand_per_s[k] / rate[g, k]), (count, count, -1.0)
            ),
        }
    )
    whole = np.arange(gpus + len(g)) < gpus
    columns = Columns(np.where(whole, np.inf, 1.0), whole)
    cost = np.append(instance.cost_usd_per_hour, np.zeros(len(g)))
    parameters = mathopt.SolveParameters(
        time_limit=datetime.timedelta(seconds=limit_s), relative_gap_tolerance=relative_gap, random_seed=0
    )
    model = mathopt.Model.from_model_proto(assemble(columns, cost, rows))
    bounds = mathopt.solve(model, mathopt.SolverType.HIGHS, params=parameters).termination.objective_bounds
    return SplitAnswer(bounds.primal_bound, bounds.dual_bound, time.process_time() - start_s)

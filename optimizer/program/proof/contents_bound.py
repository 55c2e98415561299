"""Which candidates a plan within a cost may use where a search has said what the fullest instance carries.

With s[p, d] the share of demand d that content p carries at full rate, a[p, d] what it serves in use and n[p]
instances, every plan of such a box keeps, for each demand, each offer of which only so many can be had, and all
instances where a plan may have only so many,

    sum of s n + bought >= 1 + least,     sum of a n + bought >= 1,     sum of n <= most

and costs at least sum of price n and what the APIs cost. So with any prices y, z >= 0 on the first two and w >= 0 on
the third it costs at least sum of y (1 + least) + sum of z - sum of w most, and with an instance of content p so
much more as that one's price and w are above what it carries is worth. The prices are those of the linear program of
these rows, scaled down until nothing is worth more than it costs.
"""

import numpy as np

from optimizer.base.arrays import Flags, Floats
from optimizer.base.clock import Clock
from optimizer.program.formulation.demand import demand_shares
from optimizer.program.formulation.model import Columns, assemble
from optimizer.program.formulation.objective import api_cost_usd_per_hour
from optimizer.program.formulation.rows import Rows, at_least, at_most, family_of, numbered
from optimizer.program.problem.instance_contents import InstanceContents, instance_contents
from optimizer.program.problem.losses import rates_per_demand, shares_at_full_rate
from optimizer.program.problem.problem import Problem
from optimizer.program.proof.state import EQUAL_COST
from optimizer.program.solver import solve_linear


def contents_within(problem: Problem, usd_per_hour: float, clock: Clock) -> tuple[Flags, int]:
    """(C,) the candidates that are part of a content that a plan of the box needs, of at most this cost; how many."""
    contents = instance_contents(problem)
    needed = _within(problem, contents, usd_per_hour, clock)
    found = np.zeros(len(problem.candidates), dtype=np.bool_)
    found[contents.candidate[needed[contents.content]]] = True
    return found, int(needed.sum())


def _within(problem: Problem, contents: InstanceContents, usd_per_hour: float, clock: Clock) -> Flags:
    """(P,) contents that a plan of at most this cost may have."""
    every = np.ones(len(contents), dtype=np.bool_)
    if not len(contents) or not np.isfinite(usd_per_hour):
        return every
    carried, wanted = _carried(problem, contents), np.append(1.0 + problem.fullest.least, np.ones(len(problem.demands)))
    cost = np.append(problem.offers.price_usd_per_hour[contents.offer], api_cost_usd_per_hour(problem))
    counted, most = _counted(problem, contents)
    rows = _rows(carried, wanted, counted, most)
    result = solve_linear(assemble(Columns.fractions(np.full(len(cost), np.inf)), cost, rows), clock)
    if result.status == "infeasible":
        return ~every
    if result.status != "optimal" or not len(result.duals):
        return every
    worth, charge = np.split(np.abs(result.duals), [len(wanted)])
    cost[: len(contents)] += counted @ charge
    value = carried @ worth
    scale = float(np.divide(cost, value, out=np.ones_like(cost), where=value > cost).min(initial=1.0))
    least = scale * float(worth @ wanted) - float(charge @ most)
    above: Floats = (cost - scale * value)[: len(contents)]
    return np.asarray(least + above <= usd_per_hour * (1 + 10 * EQUAL_COST))


def _carried(problem: Problem, contents: InstanceContents) -> Floats:
    """(P + B, 2D) what contents, then hosted APIs, carry of each demand: at full rate, then in use."""
    replicas = np.zeros((len(contents), len(problem.candidates)))
    replicas[contents.content, contents.candidate] = contents.count
    left = replicas @ shares_at_full_rate(problem).T
    used = replicas @ rates_per_demand(problem).T * problem.limits.max_utilization
    bought = np.zeros((len(problem.api_streams), len(problem.demands)))
    demand, stream, share = demand_shares(problem, problem.api_streams)
    bought[stream, demand] = share
    return np.vstack([np.hstack([left, used]), np.hstack([bought, bought])])


def _counted(problem: Problem, contents: InstanceContents) -> tuple[Flags, Floats]:
    """(P, L) what instances of a content count towards, and (L,) how many there may be: of a scarce offer, of all."""
    available, instances = problem.offers.available, problem.ceiling.instances
    scarce = np.flatnonzero(np.isfinite(available))
    counted, most = contents.offer[:, None] == scarce, available[scarce]
    if instances is None:
        return counted, most
    return np.column_stack([counted, np.ones(len(contents), dtype=np.bool_)]), np.append(most, instances)


def _rows(carried: Floats, wanted: Floats, counted: Flags, most: Floats) -> Rows:
    """What every plan of the box keeps."""
    column, row = np.nonzero(carried)
    content, limit = np.nonzero(counted)
    return family_of(
        "contents",
        carried=at_least(numbered("carried", len(wanted)), wanted, (row, column, carried[column, row])),
        counted=at_most(numbered("counted", len(most)), most, (limit, content, 1.0)),
    )

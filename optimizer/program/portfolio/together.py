"""All services as one program: their programs side by side, with rows for what they share; for few services.

Each service keeps its own columns and rows; what is added are pools, a row for each shared limit, and for what is lent
of each pool, in every joint period, and the budget. What is proven of it is proven of all plans of the services, and a
gap that prices leave, since plans are whole, is closed.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from optimizer.base.arrays import Flags, Floats, Ints
from optimizer.base.clock import Clock
from optimizer.base.units import HOURS_PER_MONTH
from optimizer.program.formulation.model import Columns, Program, assemble, build_program, hourly_cost
from optimizer.program.formulation.rows import Rows, Term, at_least, at_most, numbered, stacked
from optimizer.program.formulation.variables import integers, upper_bounds
from optimizer.program.portfolio.shared import Shared, budget_rows
from optimizer.program.problem.problem import Problem, Sorted, compacted, sorted_problem
from optimizer.program.proof.dominance import undominated
from optimizer.program.proof.relaxation import no_bound
from optimizer.program.proof.state import SearchResult, SearchState, incumbent_of
from optimizer.program.solve import Solution, with_plan
from optimizer.program.solver import SolverResult, integer_solver, solve_integer


@dataclass(frozen=True, eq=False)
class Block:
    """One service's part of the program.

    Attributes:
        problem: Sorted, with the candidates that no other one replaces at any prices.
        units: (L, O) what an instance of each offer takes of each limit.
        lent: (Q, O) whether an offer is the pool's.
        period: (J,) the service's own period in each joint period.
    """

    problem: Problem
    units: Floats
    lent: Floats
    period: Ints

    @property
    def cells(self) -> int:
        """Candidates times periods, by which the program grows."""
        return len(self.problem.candidates) * self.problem.traffic.periods


@dataclass(frozen=True, eq=False)
class Together:
    """What the solver found.

    Attributes:
        bound_usd: A month; no plans together undercut it.
        infeasible: Whether there are none.
        values: Of each block's columns; empty without plans.
        pools: (Q,) instances.
    """

    bound_usd: float
    infeasible: bool
    values: tuple[Floats, ...] = ()
    pools: Ints | None = None


def essential(problem: Problem) -> Sorted:
    """The part of a problem that is worth solving at any prices of what is shared, sorted.

    Its limits must name what is shared: an offer that takes of it replaces none that does not.
    """
    whole = sorted_problem(problem).problem
    return compacted(whole, undominated(whole))


def solved_together(blocks: Sequence[Block], shared: Shared, clock: Clock, node_limit: int) -> Together:
    """The cheapest plans of all services, as far as the solver gets."""
    programs = [build_program(block.problem) for block in blocks]
    first = np.cumsum([0, *(program.variables.count for program in programs)])
    pools = first[-1] + np.arange(len(shared.pool_usd))
    cost = np.concatenate([*(hourly_cost(program) for program in programs), shared.pool_usd / HOURS_PER_MONTH])
    rows = {
        f"{n}:{family}": each.moved(f"{n}:", int(first[n]))
        for n, program in enumerate(programs)
        for family, each in program.families.items()
    }
    rows |= _shared_rows(blocks, programs, first, pools, shared)
    rows["budget"] = budget_rows(cost, shared.budget_usd / HOURS_PER_MONTH)
    solver = integer_solver(max(block.problem.traffic.periods for block in blocks))
    result = solve_integer(assemble(_columns(programs, shared), cost, stacked(rows)), clock, solver, node_limit)
    return _read(result, first, pools)


def _read(result: SolverResult, first: Ints, pools: Ints) -> Together:
    """What a solver says, by blocks that begin at a column each (blocks + 1,), and by the columns of pools (Q,)."""
    bound_usd = max(result.bound, 0.0) * HOURS_PER_MONTH
    if not len(result.values):
        return Together(bound_usd if np.isfinite(bound_usd) else 0.0, result.status == "infeasible")
    values = tuple(np.split(result.values[: first[-1]], first[1:-1]))
    return Together(bound_usd, infeasible=False, values=values, pools=np.rint(result.values[pools]).astype(np.int64))


def _columns(programs: Sequence[Program], shared: Shared) -> Columns:
    """The columns of every program, then the pools."""
    upper = [upper_bounds(program.variables, relaxed=False) for program in programs]
    whole: list[Flags] = [integers(program.variables) for program in programs]
    pools = len(shared.pool_usd)
    return Columns(
        np.concatenate([*upper, shared.pool_most]),
        np.concatenate([*whole, np.ones(pools, dtype=np.bool_)]),
    )


def _shared_rows(
    blocks: Sequence[Block], programs: Sequence[Program], first: Ints, pools: Ints, shared: Shared
) -> dict[str, Rows]:
    """Limits and pools in every joint period, and what is signed for of each pool at least."""
    periods, count = len(shared.hours), len(pools)
    limits, lending = np.arange(len(shared.most) * periods), np.arange(count * periods)
    starts = list(zip(blocks, programs, first[:-1].tolist(), strict=True))
    units = [_taken(block.units, block, program, start) for block, program, start in starts]
    lent = [_taken(block.lent, block, program, start) for block, program, start in starts]
    own = (lending, np.repeat(pools, periods), -1.0)
    return {
        "limits": at_most(numbered("shared", len(limits)), np.repeat(shared.most, periods), *units),
        "pools": at_most(numbered("lent", len(lending)), 0.0, *lent, own),
        "signed": at_least(numbered("signed", count), shared.pool_least, (np.arange(count), pools, 1.0)),
    }


def _taken(weight: Floats, block: Block, program: Program, start: int) -> Term:
    """(limit or pool x joint period, column of instances, units) of a service whose columns begin at `start`.

    Args:
        weight: (L or Q, O) units that an instance takes.
        block: The service.
        program: Its rows and columns.
        start: Its first column among all.
    """
    periods = len(block.period)
    which, offer = np.nonzero(weight)
    # (entries, J)
    column = start + program.variables.instance_at[block.period][:, offer].T
    row = which[:, None] * periods + np.arange(periods)
    return row.ravel(), column.ravel(), np.repeat(weight[which, offer], periods)


def solution_of(problem: Problem, values: Floats) -> Solution | None:
    """The plan that a block's columns mean, in the order of the service's problem."""
    order, part = sorted_problem(problem), essential(problem)
    plan = incumbent_of(SolverResult("feasible", 0.0, values), build_program(part.problem), part, order.problem)
    if plan is None:
        return None
    found = SearchResult("feasible", no_bound(order.problem), plan)
    return with_plan(order, found, plan, SearchState(Clock()))

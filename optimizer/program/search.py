"""The search for the cheapest machines: relaxation, incumbent, elimination, final solve; each step a proof."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np

from optimizer.base.units import HOURS_PER_MONTH
from optimizer.program.bounds import Bound, bound_from, read_multipliers
from optimizer.program.dominance import undominated
from optimizer.program.model import Program, build_program, hourly_cost, model_proto
from optimizer.program.problem import Flags, Floats, Ints, Problem, Sorted, compacted
from optimizer.program.solver import Answer, Clock, Status, solve_integer, solve_linear
from optimizer.program.variables import label_numbers

EQUAL_COST = 1e-9
"""Relative difference below which two costs are the same."""

INCUMBENT_COLUMNS = 24
INCUMBENT_NODES = 5
"""Size of the first, restricted solve: only its incumbent is used, so these steer speed and never the result."""


@dataclass(frozen=True, eq=False)
class Machines:
    """Whole counts: (O,) instances and (C,) replicas of some problem, and their hourly cost."""

    instances: Ints
    replicas: Ints
    usd_per_hour: float


@dataclass(eq=False)
class Ledger:
    """What the search did, for the result: phases with their wall time, columns removed by argument."""

    progress: Callable[[str], None]
    clock: Clock
    phase_wall_s: dict[str, float] = field(default_factory=dict)
    eliminated: dict[str, int] = field(default_factory=dict)
    columns_solved: int = 0

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Announce a phase and add its wall time."""
        self.progress(name)
        start_s = time.perf_counter()
        yield
        self.phase_wall_s[name] = self.phase_wall_s.get(name, 0.0) + time.perf_counter() - start_s


@dataclass(frozen=True, eq=False)
class Found:
    """The end of a search.

    Attributes:
        status: Of the whole problem.
        bound_usd_per_hour: No plan costs less.
        machines: In the problem's index order; None without a plan.
        with_candidate_usd_per_hour: (C,) no plan with the candidate costs less; infinite where it is in no plan as
            cheap as the one found.
    """

    status: Status
    bound_usd_per_hour: float
    machines: Machines | None
    with_candidate_usd_per_hour: Floats


def search(problem: Problem, ledger: Ledger, eliminate: bool = True) -> Found:
    """The cheapest machines for a sorted problem.

    Args:
        problem: In canonical order.
        ledger: Written as the search goes.
        eliminate: Whether to remove candidates by proof before the final solve; the optimum is the same.
    """
    everything = np.ones(len(problem.candidates), dtype=np.bool_)
    if not eliminate:
        return _final(problem, everything, None, None, ledger)
    with ledger.phase("dominance"):
        keep = undominated(problem)
        ledger.eliminated["dominance"] = int((~keep).sum())
    with ledger.phase("relaxation"):
        bound = _relaxation_bound(problem, keep, ledger)
    if bound is None:
        return _final(problem, keep, None, None, ledger)
    with ledger.phase("incumbent"):
        promising = _promising(problem, keep, bound)
        answer, incumbent = _solve_on(problem, promising, ledger, INCUMBENT_NODES)
    remaining = keep & _can_beat(problem, bound, incumbent)
    ledger.eliminated["reduced_cost"] = int((keep & ~remaining).sum())
    if answer.status in ("optimal", "infeasible") and not (remaining & ~promising).any():
        return _found(problem, keep, bound, answer, incumbent)
    return _final(problem, keep, bound, incumbent, ledger)


def _final(problem: Problem, keep: Flags, bound: Bound | None, incumbent: Machines | None, ledger: Ledger) -> Found:
    """Solve the program on every candidate that no argument has removed."""
    with ledger.phase("final"):
        answer, machines = _solve_on(problem, keep & _can_beat(problem, bound, incumbent), ledger, None)
    if machines is None or (incumbent is not None and incumbent.usd_per_hour < machines.usd_per_hour):
        machines = incumbent
    return _found(problem, keep, bound, answer, machines)


def _found(problem: Problem, keep: Flags, bound: Bound | None, answer: Answer, machines: Machines | None) -> Found:
    status = answer.status if machines is None or answer.status == "optimal" else "feasible"
    lower = max(answer.bound, bound.usd_per_hour if bound is not None else 0.0)
    each = np.zeros(len(problem.candidates)) if bound is None else bound.with_candidate_usd_per_hour
    each = np.where(keep & _can_beat(problem, bound, machines), each, np.inf)
    return Found(status, lower, machines, each)


def _relaxation_bound(problem: Problem, keep: Flags, ledger: Ledger) -> Bound | None:
    """Bounds on every plan, and on every plan with a given candidate, infinite for candidates already removed."""
    part = compacted(problem, keep)
    program = build_program(part.problem, relaxed=True)
    answer = solve_linear(model_proto(program, hourly_cost(program)), ledger.clock)
    if answer.status != "optimal" or not len(answer.duals):
        return None
    bound = bound_from(part.problem, read_multipliers(program, answer.duals))
    each = np.full(len(problem.candidates), np.inf)
    each[part.candidates] = bound.with_candidate_usd_per_hour
    return Bound(bound.usd_per_hour, each)


def _promising(problem: Problem, keep: Flags, bound: Bound) -> Flags:
    """The candidates with the lowest bounds: overall, and for each group that some family wants variety in."""
    limits, offer = problem.limits, problem.offer_index
    order = np.argsort(np.where(keep, bound.with_candidate_usd_per_hour, np.inf), kind="stable")
    chosen = np.zeros(len(order), dtype=np.bool_)
    chosen[order[:INCUMBENT_COLUMNS]] = True
    wanted: list[Ints] = [np.where(serves, 0, -1) for serves in problem.mix.T > 0]
    if limits.min_providers > 1:
        wanted.append(label_numbers(problem.provider)[offer])
    if limits.min_regions > 1:
        wanted.append(label_numbers(problem.region)[offer])
    if limits.max_distinct_configurations is not None:
        wanted.append(label_numbers(problem.configuration))
    for group in wanted:
        first = np.unique(group[order], return_index=True)[1]
        chosen[order[first]] = True
    return chosen & keep


def _can_beat(problem: Problem, bound: Bound | None, incumbent: Machines | None) -> Flags:
    """(C,) candidates whose bound does not exceed the cost of a known plan or the budget."""
    if bound is None:
        return np.ones(len(problem.candidates), dtype=np.bool_)
    ceiling = np.inf if incumbent is None else incumbent.usd_per_hour
    if problem.limits.max_monthly_usd is not None:
        ceiling = min(ceiling, problem.limits.max_monthly_usd / HOURS_PER_MONTH)
    return np.asarray(bound.with_candidate_usd_per_hour <= ceiling * (1 + 10 * EQUAL_COST))


def _solve_on(problem: Problem, keep: Flags, ledger: Ledger, node_limit: int | None) -> tuple[Answer, Machines | None]:
    """Solve the program on some of the candidates; machines in the whole problem's index order."""
    ledger.columns_solved = int(keep.sum())
    if not keep.any():
        return Answer("infeasible", np.inf, np.zeros(0), np.zeros(0)), None
    part = compacted(problem, keep)
    program = build_program(part.problem)
    answer = solve_integer(model_proto(program, hourly_cost(program)), ledger.clock, node_limit)
    return answer, machines_of(answer, program, part, problem)


def machines_of(answer: Answer, program: Program, part: Sorted, problem: Problem) -> Machines | None:
    """The answer's counts, rounded to the whole numbers they are within the solver's tolerance."""
    if not len(answer.values):
        return None
    instances = np.zeros(len(problem.offers), dtype=np.int64)
    replicas = np.zeros(len(problem.candidates), dtype=np.int64)
    instances[part.offers] = np.rint(answer.values[program.variables.instances])
    replicas[part.candidates] = np.rint(answer.values[program.variables.replicas])
    return Machines(instances, replicas, float(instances @ problem.price_usd_per_hour))

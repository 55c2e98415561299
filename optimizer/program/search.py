"""The search for the cheapest machines: relaxation, incumbent, elimination, final solve; each step a proof."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

import numpy as np

from optimizer.base.units import HOURS_PER_MONTH
from optimizer.program.bounds import Bound, bound_from, read_multipliers
from optimizer.program.dominance import undominated
from optimizer.program.given import Flags, Floats, Ints
from optimizer.program.model import Program, build_program, hourly_cost, model_proto
from optimizer.program.patterns import pattern_bound
from optimizer.program.problem import Problem, Sorted, compacted
from optimizer.program.quantities import busiest_period, label_numbers
from optimizer.program.solver import Answer, Clock, Status, integer_solver, solve_integer, solve_linear
from optimizer.program.starting import Week, bound_over_the_week
from optimizer.program.thinning import promising_part
from optimizer.program.variables import Variables, lay_out
from optimizer.program.windows import counted_by_period, planned_by_windows

EQUAL_COST = 1e-9
"""Relative difference below which two costs are the same."""

INCUMBENT_COLUMNS = 24
INCUMBENT_NODES = 5
"""Size of the first, restricted solve: only its incumbent is used, so these steer speed and never the result."""

MANY_STREAMS = 3_000
"""Flows of undominated candidates beyond which the bound by patterns is sharper and sooner than the relaxation's."""

MANY_STREAMS_WITH_STARTS = 1_000
"""The same where starts are paid for, which the small search's relaxation leaves out."""

WEEK_COLUMNS = 12
"""Candidates besides the bound's mixture that a first plan by windows chooses from."""

LARGE_PARTS = ((0, 200), (100, 200), (400, 400))
"""The same for a large problem: parts tried for a first plan, by candidates besides the bound's mixture, and nodes."""

_NONE = np.zeros(0)


@dataclass(frozen=True, eq=False)
class Machines:
    """A bought plan of some problem.

    Attributes:
        instances: (T, O) whole instances that run in each period.
        replicas: (T, C).
        api_flow_per_s: (B,) requests/s sent to hosted APIs, in the order of the problem's API streams.
        usd_per_hour: The month's bill divided by its hours.
    """

    instances: Ints
    replicas: Ints
    api_flow_per_s: Floats
    usd_per_hour: float

    @property
    def used(self) -> Flags:
        """(C,) whether a candidate ever has a replica."""
        return np.asarray((self.replicas > 0).any(axis=0))


@dataclass(eq=False)
class Ledger:
    """What the search may do and did: where it may end, phases with their wall time, columns removed by argument."""

    progress: Callable[[str], None]
    clock: Clock
    relative_gap: float = 0.0
    node_limit: int | None = None
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
    if keep[problem.streams.server].sum() > (
        MANY_STREAMS_WITH_STARTS if problem.traffic.start_share.any() else MANY_STREAMS
    ):
        return _search_large(problem, keep, ledger)
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
    if _close_enough(bound, incumbent, ledger):
        # what the solver proved holds for the promising candidates alone
        return _found(problem, keep, bound, replace(answer, status="feasible", bound=bound.usd_per_hour), incumbent)
    return _final(problem, keep, bound, incumbent, ledger)


def _search_large(problem: Problem, keep: Flags, ledger: Ledger) -> Found:
    """The same with the sharper bound, and a first plan from the part of the problem that it points to."""
    part = compacted(problem, keep)
    with ledger.phase("relaxation"):
        found = pattern_bound(part.problem, ledger.clock)
        week = bound_over_the_week(part.problem, found, ledger.clock) if problem.traffic.start_share.any() else None
        found = found if week is None else week.found
        each = np.full(len(problem.candidates), np.inf)
        each[part.candidates] = found.bound.with_candidate_usd_per_hour
        bound = Bound(found.bound.usd_per_hour, each)
    with ledger.phase("incumbent"):
        incumbent = None if week is None else _planned_over_the_week(part, week, problem, ledger)
        for candidates, nodes in LARGE_PARTS if ledger.relative_gap else LARGE_PARTS[:1]:
            if _close_enough(bound, incumbent, ledger):
                break
            promising = promising_part(part, found, candidates)
            _, machines = _solve_part(promising, problem, ledger, nodes, bound.usd_per_hour)
            incumbent = _cheaper(machines, incumbent)
    remaining = keep & _can_beat(problem, bound, incumbent)
    ledger.eliminated["reduced_cost"] = int((keep & ~remaining).sum())
    if _close_enough(bound, incumbent, ledger) or ledger.clock.expired:
        ended: Status = "unproven" if incumbent is None else "feasible"
        return _found(problem, keep, bound, Answer(ended, bound.usd_per_hour, _NONE, _NONE), incumbent)
    return _final(problem, keep, bound, incumbent, ledger)


def _planned_over_the_week(part: Sorted, week: Week, problem: Problem, ledger: Ledger) -> Machines | None:
    """A first plan by windows, where what the policy asks for can be held against a few periods at a time."""
    if not counted_by_period(problem.limits):
        return None
    inner = promising_part(part, week.found, WEEK_COLUMNS)
    estimate = week.instances[:, np.searchsorted(part.offers, inner.offers)]
    enough = week.found.bound.usd_per_hour / (1 - ledger.relative_gap)
    answer = planned_by_windows(inner.problem, estimate, ledger.clock, enough)
    if answer is None:
        return None
    program = Program(inner.problem, lay_out(inner.problem, relaxed=False), {}, relaxed=False)
    return machines_of(answer, program, inner, problem)


def _cheaper(one: Machines | None, other: Machines | None) -> Machines | None:
    known = [machines for machines in (one, other) if machines is not None]
    return min(known, key=lambda machines: machines.usd_per_hour) if known else None


def _close_enough(bound: Bound, incumbent: Machines | None, ledger: Ledger) -> bool:
    """Whether the plan at hand is already proven within the gap asked for, if one was."""
    if incumbent is None or not ledger.relative_gap:
        return False
    return incumbent.usd_per_hour - bound.usd_per_hour <= ledger.relative_gap * incumbent.usd_per_hour


def _final(problem: Problem, keep: Flags, bound: Bound | None, incumbent: Machines | None, ledger: Ledger) -> Found:
    """Solve the program on every candidate that no argument has removed."""
    with ledger.phase("final"):
        known = bound.usd_per_hour if bound is not None else 0.0
        left = keep & _can_beat(problem, bound, incumbent)
        answer, machines = _solve_on(problem, left, ledger, ledger.node_limit, known)
    return _found(problem, keep, bound, answer, _cheaper(machines, incumbent))


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
    limits, offers, candidates = problem.limits, problem.offers, problem.candidates
    order = np.argsort(np.where(keep, bound.with_candidate_usd_per_hour, np.inf), kind="stable")
    chosen = candidates.replicas_in_force > 0
    chosen[order[:INCUMBENT_COLUMNS]] = True
    elastic = ~offers.always_paid[candidates.offer]
    wanted: list[Ints] = [np.where(serves, elastic, -1) for serves in candidates.rate_per_s.T > 0]
    if limits.min_providers > 1 or limits.max_provider_share is not None or "provider" in limits.survive:
        wanted.append(label_numbers(offers.provider)[candidates.offer])
    if limits.min_regions > 1 or "region" in limits.survive:
        wanted.append(label_numbers(offers.region)[candidates.offer])
    if limits.max_distinct_configurations is not None:
        wanted.append(label_numbers(candidates.configuration))
    if limits.max_engines is not None:
        wanted.append(label_numbers(candidates.engine))
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
    in_force: Flags = problem.candidates.replicas_in_force > 0
    return (bound.with_candidate_usd_per_hour <= ceiling * (1 + 10 * EQUAL_COST)) | in_force


def _solve_on(
    problem: Problem, keep: Flags, ledger: Ledger, node_limit: int | None, bound_usd_per_hour: float = 0.0
) -> tuple[Answer, Machines | None]:
    """Solve the program on some of the candidates; machines in the whole problem's index order.

    A plan that the gap asked for allows, given what no plan undercuts, ends it.
    """
    if not keep.any() and not len(problem.apis):
        return Answer("infeasible", np.inf, np.zeros(0), np.zeros(0)), None
    return _solve_part(compacted(problem, keep), problem, ledger, node_limit, bound_usd_per_hour)


def _solve_part(
    part: Sorted, problem: Problem, ledger: Ledger, node_limit: int | None, bound_usd_per_hour: float
) -> tuple[Answer, Machines | None]:
    """Solve the program of a part of the problem."""
    ledger.columns_solved = len(part.candidates)
    program = build_program(part.problem)
    enough = bound_usd_per_hour / (1 - ledger.relative_gap)
    model, solver = model_proto(program, hourly_cost(program)), integer_solver(problem.traffic.periods)
    answer = solve_integer(model, ledger.clock, solver, node_limit, ledger.relative_gap, enough)
    return answer, machines_of(answer, program, part, problem)


def machines_of(answer: Answer, program: Program, part: Sorted, problem: Problem) -> Machines | None:
    """The answer's counts, rounded to the whole numbers they are within the solver's tolerance."""
    if not len(answer.values):
        return None
    variables, periods = program.variables, problem.traffic.periods
    instances = np.zeros((periods, len(problem.offers)), dtype=np.int64)
    replicas = np.zeros((periods, len(problem.candidates)), dtype=np.int64)
    instances[:, part.offers] = np.rint(answer.values[variables.instance_at])
    replicas[:, part.candidates] = np.rint(answer.values[variables.replicas])
    exact = answer.values.copy()
    exact[variables.instances] = np.rint(exact[variables.instances])
    sent = np.maximum(exact[variables.bought], 0.0) * part.problem.api_streams.reach_per_s
    exact[variables.starts] = _starts(exact, variables)
    exact[variables.changed] = _changed(exact, program)
    return Machines(instances, replicas, sent, float(exact @ hourly_cost(program)))


def _starts(values: Floats, variables: Variables) -> Floats:
    """What must be started at each change of periods, whatever slack the solver left there."""
    offer, before, after = variables.elastic_changes.T
    more = values[variables.instance_at[after, offer]] - values[variables.instance_at[before, offer]]
    return np.asarray(np.maximum(more, 0.0))


def _changed(values: Floats, program: Program) -> Floats:
    """Replicas started and stopped against those in force, whatever slack the solver left there."""
    if not len(program.variables.changed):
        return np.zeros(0)
    more = np.rint(values[program.variables.replicas[busiest_period(program.problem)]])
    more -= program.problem.candidates.replicas_in_force
    return np.concatenate([np.maximum(more, 0.0), np.maximum(-more, 0.0)])

"""The search for the cheapest machines: relaxation, incumbent, elimination, final solve; each step a proof."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from optimizer.base.units import HOURS_PER_MONTH
from optimizer.program.bounds import Bound, bound_from, read_multipliers
from optimizer.program.components import better, joined, separable_parts
from optimizer.program.dominance import undominated
from optimizer.program.found import EQUAL_COST, Found, Ledger, Machines, machines_of
from optimizer.program.given import Flags, Ints
from optimizer.program.model import Program, build_program, hourly_cost, model_proto
from optimizer.program.patterns import pattern_bound
from optimizer.program.problem import Problem, Sorted, compacted
from optimizer.program.quantities import label_numbers, stands_in_force
from optimizer.program.solver import Answer, Clock, Status, integer_solver, solve_integer, solve_linear
from optimizer.program.starting import Week, bound_over_the_week
from optimizer.program.thinning import promising_part
from optimizer.program.variables import lay_out
from optimizer.program.windows import counted_by_period, planned_by_windows

INCUMBENT_COLUMNS = 24
INCUMBENT_NODES = 5
"""Size of the first, restricted solve: only its incumbent is used, so these steer speed and never the result."""

MANY_STREAMS = 3_000
"""Flows of undominated candidates beyond which the bound by patterns is sharper and sooner than the relaxation's."""

MANY_STREAMS_WITH_STARTS = 1_000
"""The same where starts are paid for, which the small search's relaxation leaves out."""

SEPARATED_STREAMS = 1_000
"""Flows of undominated candidates beyond which workloads that share nothing are searched one by one."""

WEEK_COLUMNS = 12
"""Candidates besides the bound's mixture that a first plan by windows chooses from."""

LARGE_PARTS = ((0, 200, 3), (100, 200, 5), (400, 400, 5))
"""The same for a large problem: parts tried for a first plan, by candidates besides the mixture, nodes and mixes."""

_NONE = np.zeros(0)


def search(problem: Problem, ledger: Ledger, eliminate: bool = True) -> Found:
    """The cheapest machines for a sorted problem.

    Args:
        problem: In canonical order.
        ledger: Written as the search goes.
        eliminate: Whether to remove candidates by proof before the final solve; the optimum is the same.
    """
    if not eliminate:
        return _final(problem, np.ones(len(problem.candidates), dtype=np.bool_), None, None, ledger)
    with ledger.phase("dominance"):
        keep = undominated(problem)
        ledger.eliminated["dominance"] = int((~keep).sum())
    streams = keep[problem.streams.server].sum()
    if streams > SEPARATED_STREAMS and len(parts := separable_parts(problem, keep)) > 1:
        return _search_parts(problem, parts, ledger)
    if streams > (MANY_STREAMS_WITH_STARTS if problem.traffic.start_share.any() else MANY_STREAMS):
        return _search_large(problem, keep, ledger)
    with ledger.phase("relaxation"):
        bound = _relaxation_bound(problem, keep, ledger)
    if bound is None:
        return _final(problem, keep, None, None, ledger)
    with ledger.phase("incumbent"):
        promising = _promising(problem, keep, bound)
        everything = not (keep & ~promising).any()
        nodes = ledger.node_limit if everything else INCUMBENT_NODES
        answer, incumbent = _solve_on(problem, promising, ledger, nodes)
    remaining = keep & _can_beat(problem, bound, incumbent, ledger)
    ledger.eliminated["reduced_cost"] = int((keep & ~remaining).sum())
    if everything or (answer.status in ("optimal", "infeasible") and not (remaining & ~promising).any()):
        return _found(problem, keep, bound, answer, incumbent, ledger)
    if _close_enough(bound, incumbent, ledger):
        # what the solver proved holds for the promising candidates alone
        ended = replace(answer, status="feasible", bound=bound.usd_per_hour)
        return _found(problem, keep, bound, ended, incumbent, ledger)
    return _final(problem, keep, bound, incumbent, ledger)


def _search_parts(problem: Problem, parts: Sequence[Sorted], ledger: Ledger) -> Found:
    """The same for each part alone in an equal share of the time left, then again for those that ran out of theirs."""
    founds = [_search_part(part, ledger, len(parts) - number) for number, part in enumerate(parts)]
    limited, again = ledger.clock.left_s() is not None, replace(ledger, eliminated={}, columns_solved=0)
    behind = [number for number, found in enumerate(founds) if limited and not _ended(found, ledger)]
    for left, number in zip(range(len(behind), 0, -1), behind, strict=True):
        if not ledger.clock.expired:
            founds[number] = better(founds[number], _search_part(parts[number], again, left))
    return joined(problem, parts, founds)


def _search_part(part: Sorted, ledger: Ledger, waiting: int) -> Found:
    """The same for one part while `waiting` parts want the time that is left."""
    left_s = ledger.clock.left_s()
    clock = Clock(None if left_s is None else left_s / waiting)
    inner = replace(ledger, clock=clock, ceiling_usd_per_hour=np.inf, eliminated={}, columns_solved=0)
    found = search(part.problem, inner)
    for argument, count in inner.eliminated.items():
        ledger.eliminated[argument] = ledger.eliminated.get(argument, 0) + count
    ledger.columns_solved += inner.columns_solved
    return found


def _ended(found: Found, ledger: Ledger) -> bool:
    """Whether nothing more is wanted of a search, or no more time would change it."""
    bound = Bound(found.bound_usd_per_hour, found.with_candidate_usd_per_hour)
    return found.status in ("optimal", "infeasible") or _close_enough(bound, found.machines, ledger)


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
        for candidates, nodes, mixes in LARGE_PARTS if ledger.relative_gap else LARGE_PARTS[:1]:
            if _close_enough(bound, incumbent, ledger):
                break
            promising = promising_part(part, found, candidates, mixes)
            _, machines = _solve_part(promising, problem, ledger, nodes, bound.usd_per_hour)
            incumbent = _cheaper(machines, incumbent)
    remaining = keep & _can_beat(problem, bound, incumbent, ledger)
    ledger.eliminated["reduced_cost"] = int((keep & ~remaining).sum())
    if _close_enough(bound, incumbent, ledger) or ledger.clock.expired:
        ended: Status = "unproven" if incumbent is None else "feasible"
        return _found(problem, keep, bound, Answer(ended, bound.usd_per_hour, _NONE, _NONE), incumbent, ledger)
    return _final(problem, keep, bound, incumbent, ledger)


def _planned_over_the_week(part: Sorted, week: Week, problem: Problem, ledger: Ledger) -> Machines | None:
    """A first plan by windows, where what the policy asks for can be held against a few periods at a time."""
    if not counted_by_period(problem):
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
        left = keep & _can_beat(problem, bound, incumbent, ledger)
        answer, machines = _solve_on(problem, left, ledger, ledger.node_limit, known)
    return _found(problem, keep, bound, answer, _cheaper(machines, incumbent), ledger)


def _found(
    problem: Problem, keep: Flags, bound: Bound | None, answer: Answer, machines: Machines | None, ledger: Ledger
) -> Found:
    status = answer.status if machines is None or answer.status == "optimal" else "feasible"
    lower = min(max(answer.bound, bound.usd_per_hour if bound is not None else 0.0), ledger.ceiling_usd_per_hour)
    each = np.zeros(len(problem.candidates)) if bound is None else bound.with_candidate_usd_per_hour
    each = np.where(keep & _can_beat(problem, bound, machines, ledger), each, np.inf)
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
    chosen = stands_in_force(problem)
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


def _can_beat(problem: Problem, bound: Bound | None, incumbent: Machines | None, ledger: Ledger) -> Flags:
    """(C,) candidates whose bound does not exceed the cost of a known plan, the budget or what is of interest."""
    if bound is None:
        return np.ones(len(problem.candidates), dtype=np.bool_)
    ceiling = min(ledger.ceiling_usd_per_hour, np.inf if incumbent is None else incumbent.usd_per_hour)
    if problem.limits.max_monthly_usd is not None:
        ceiling = min(ceiling, problem.limits.max_monthly_usd / HOURS_PER_MONTH)
    return (bound.with_candidate_usd_per_hour <= ceiling * (1 + 10 * EQUAL_COST)) | stands_in_force(problem)


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

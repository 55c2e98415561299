"""The simplest plan within a cost: fewest configurations, then places, then instances, and the cheapest of those.

One count after the other is brought down: the program is asked for the cheapest plan of at most so many, by halving,
until one more would be too few. That there is none within the cost is proven each time, so the last plan found is the
first in that order, and of plans that are as simple the cheapest. What no plan within the cost can use is left out
before, by the bounds of the relaxation.

Fewer instances are simpler only as long as no workload comes to stand on a single one, whose loss takes all of it down:
where the cheapest plan of so few configurations and places has it on several, machines of which one could carry all of
it are left out when instances are brought down.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from math import ceil
from typing import Final, NamedTuple, TypeAlias

import numpy as np

from optimizer.base.arrays import Flags, Ints
from optimizer.base.units import HOURS_PER_MONTH
from optimizer.program.laid_out import LaidOut, preferred, search_laid_out
from optimizer.program.problem.problem import Problem, Sorted, compacted
from optimizer.program.problem.quantities import labels, serves_all
from optimizer.program.problem.single_instances import kept_on_several, on_a_single_instance
from optimizer.program.proof.dominance import undominated
from optimizer.program.proof.state import EQUAL_COST, Incumbent, SearchState
from optimizer.program.proof.steps import within_cutoff
from optimizer.program.search import affordable_candidates, not_too_dear, one_configuration_each

HARDLY_FEWER: Final = ("instances",)
"""Counts of which one less is asked for first, for mostly there is no plan of fewer; of others the fewest are."""

FEWEST_OR_HARDLY_FEWER: Final = ("places",)
"""Counts of which one less is asked for second, where the fewest are too few."""


MOST_CELLS, MOST_BILLED_CELLS = 10_000, 1_000
"""Candidates times periods beyond which a count is not brought down; fewer where instances have least billed times."""


NEAR: Final = 0.01
"""Gap at which the search for a plan of few configurations of a week ends."""


class Complexity(NamedTuple):
    """What there is to operate in a plan, in the order in which less of it is preferred.

    Attributes:
        configurations: That ever run, as `max_distinct_configurations` counts them.
        places: Providers, of machines and of hosted APIs, and regions of machines, added up.
        instances: That run at once, at most.
    """

    configurations: int
    places: int
    instances: int


@dataclass(frozen=True)
class Simplest:
    """The end of the search.

    Attributes:
        plan: In the problem's index order; None where no plan within the cost is simpler than the known one.
        proven: Whether none is simpler than this one, or than the known one, nor as simple and cheaper.
    """

    plan: Incumbent | None
    proven: bool


SimplerSearch: TypeAlias = Callable[[Problem, SearchState], Simplest]
"""Looks for a simpler plan of a sorted problem, within the cutoff of a state."""


def complexity(problem: Problem, replicas: Ints, instances: Ints, api_used: Flags) -> Complexity:
    """What there is to operate where these (T, C) replicas and (T, O) instances run and these (A,) APIs are called."""
    ran, bought = np.flatnonzero(replicas.any(axis=0)), np.flatnonzero(instances.any(axis=0))
    providers = {problem.offers.provider[o] for o in bought} | {
        problem.apis.provider[a] for a in np.flatnonzero(api_used)
    }
    regions = {problem.offers.region[o] for o in bought}
    configurations = {problem.candidates.configuration[c] for c in ran}
    return Complexity(len(configurations), len(providers) + len(regions), int(instances.sum(axis=1).max(initial=0)))


def least_complexity(problem: Problem) -> Complexity:
    """What no plan has less of, for a look at its limits: a configuration for each workload on one instance.

    Hosted APIs may serve without any of it, save workloads that keep replicas running, and those of which they do not
    serve a class. Every region is one of a provider, so there are no fewer of them.
    """
    limits = problem.limits
    if len(problem.apis):
        configurations = len(_on_machines(problem))
        return Complexity(configurations, 2, 1) if configurations else Complexity(0, 1, 0)
    sharing = 1 if limits.max_provider_share is None else ceil(1 / limits.max_provider_share * (1 - EQUAL_COST))
    providers = max(limits.min_providers, sharing, 1 + ("provider" in limits.survive))
    regions = max(limits.min_regions, providers, 1 + ("region" in limits.survive))
    instances = max(regions, 1 + ("instance" in limits.survive))
    return Complexity(len(labels(problem.traffic.workload)), providers + regions, instances)


def _on_machines(problem: Problem) -> set[str]:
    """The workloads that need a replica, whatever hosted APIs serve."""
    traffic = problem.traffic
    kept = np.flatnonzero(traffic.least_replicas.max(axis=0, initial=0))
    alone = np.flatnonzero(~(traffic.mixes[problem.apis.mix] > 0).any(axis=0))
    workloads = labels(traffic.workload)
    return {workloads[w] for w in kept.tolist()} | {traffic.workload[k] for k in alone.tolist()}


def held_to(problem: Problem, most: Complexity) -> Problem:
    """The problem of the plans that are no more complicated in anything."""
    for name, count in most._asdict().items():
        problem = _held_to(problem, name, count)
    return problem


def held_to_configurations(problem: Problem, most: int) -> Problem:
    """The problem of the plans of at most so many configurations."""
    return _held_to(problem, "configurations", most)


def search_simplest(
    problem: Problem,
    state: SearchState,
    known: Complexity,
    break_ties: bool,
    single: frozenset[str],
    counts: Collection[str] = Complexity._fields,
    least_usd_per_month: float = 0.0,
) -> Simplest:
    """The simplest plan of a sorted problem that costs no more than the state's cutoff.

    Args:
        problem: In canonical order.
        state: Its cutoff is what a plan may cost.
        known: Of a plan that is among these.
        break_ties: Whether it matters which of several equally simple and cheap plans is found.
        single: The workloads that stand on a single instance in the known plan.
        counts: Those that are to be brought down; the others are left open.
        least_usd_per_month: What no plan of the problem undercuts, as far as is known.
    """
    state = replace(state, least_usd_per_hour=least_usd_per_month / HOURS_PER_MONTH)
    part, within = _within_cutoff(problem, state)
    found, proven, reached, counted = None, True, known, list[str]()
    for name, least in least_complexity(problem)._asdict().items():
        if name not in counts:
            continue
        if name == "instances":
            part = _on_several(problem, part, found.single if found else single)
            within = _within_budget(part.problem, state)
        asked = within
        for held in counted:
            asked = _held_to(asked, held, getattr(reached, held))
        low, at_most = least, getattr(reached, name)
        if low < at_most and not serves_all(asked):
            continue
        if low < at_most and _takes_long(_held_to(asked, name, low)):
            proven = False
            continue
        most = at_most - 1 if name in HARDLY_FEWER else low
        while low < at_most:
            if state.clock.expired:
                proven = False
                break
            step = _fewer(within, asked, name, most, state, known)
            proven = proven and step.result.status in ("optimal", "infeasible")
            if step.result.incumbent is not None:
                found = _Found(step, part, step.result.incumbent)
                reached = complexity_of(part.problem, found.plan)
                at_most = getattr(reached, name)
            elif step.result.status == "infeasible":
                low = most + 1
            else:
                break
            most = _next(name, least, low, at_most, within.traffic.periods, only_least=most == least)
        counted.append(name)
    if found is None:
        return Simplest(None, proven)
    plan = preferred(found.step, found.plan, state.clock) if break_ties and proven else found.plan
    return Simplest(plan.for_whole(found.part, problem), proven)


class _Found(NamedTuple):
    """The last plan of the search, in the part of the problem that it was looked for in."""

    step: LaidOut
    part: Sorted
    plan: Incumbent

    @property
    def single(self) -> frozenset[str]:
        """The workloads that stand on a single instance."""
        return on_a_single_instance(self.part.problem, self.plan.replicas, self.plan.instances)


def _on_several(problem: Problem, part: Sorted, single: frozenset[str]) -> Sorted:
    """The part of a problem without machines of which one could carry a whole workload, but for these workloads."""
    keep = np.zeros(len(problem.candidates), dtype=np.bool_)
    keep[part.candidates] = kept_on_several(part.problem, single)
    return part if keep[part.candidates].all() else compacted(problem, keep)


def _next(name: str, least: int, low: int, at_most: int, periods: int, *, only_least: bool) -> int:
    """How many are asked for next, where there is no plan of fewer than `low` and one of `at_most`.

    Of configurations ever more beyond the least, as many again as there is no plan of, for a plan of few is mostly the
    simplest; of those of a week one more each time. That there is no plan of so few is known much sooner than one is
    found.
    """
    half = (low + at_most) // 2
    if name == "configurations":
        return low if periods > 1 else min(half, low + (low - least) - 1)
    return at_most - 1 if only_least and name in FEWEST_OR_HARDLY_FEWER else half


def _fewer(within: Problem, asked: Problem, name: str, most: int, state: SearchState, known: Complexity) -> LaidOut:
    """The cheapest plan of at most so many of what is counted by a name.

    A week in which no plan has as few, however many it has of what was counted before, has none with all of these held;
    where that is not asked, far fewer candidates and offers differ in anything that matters. Where any instance may be
    lost, a plan with no more of them than the known one is looked for first: the cheapest of all may have many small
    ones, which would be brought down one search after the other.
    """
    if "instance" in within.limits.survive and within.traffic.periods == 1 and name != "instances":
        no_more = search_laid_out(_held_to(_held_to(asked, "instances", known.instances), name, most), state)
        if (result := within_cutoff(no_more.result, state)).incumbent is not None:
            return no_more._replace(result=result)
    each = one_configuration_each(asked, undominated(asked))
    if asked is not within and within.traffic.periods > 1 and not each:
        alone = search_laid_out(_held_to(within, name, most), state)
        if alone.result.status == "infeasible":
            return alone
    step = search_laid_out(_held_to(asked, name, most), state)
    return step._replace(result=within_cutoff(step.result, state))


def search_no_more(problem: Problem, state: SearchState, most: Complexity) -> Simplest:
    """The cheapest plan of a sorted problem with no more to operate, if it costs no more than the state's cutoff.

    None where that would take long to know.
    """
    if problem.traffic.periods == 1:
        # a single search leaves out by itself what is replaced and what is too dear, sooner of few
        part = compacted(problem, not_too_dear(problem, state))
        held = held_to(_within_budget(part.problem, state), most)
        result = within_cutoff(search_laid_out(held, state).result, state)
        plan = None if result.incumbent is None else result.incumbent.for_whole(part, problem)
        return Simplest(plan, result.status in ("optimal", "infeasible"))
    part, asked = _within_cutoff(problem, state)
    held = held_to(asked, most)
    if _takes_long(held):
        return Simplest(None, proven=False)
    result = within_cutoff(search_laid_out(held, state).result, state)
    plan = result.incumbent
    return Simplest(None if plan is None else plan.for_whole(part, problem), result.status in ("optimal", "infeasible"))


def search_near(problem: Problem, state: SearchState) -> Simplest:
    """A plan of a sorted problem near the cheapest, if it costs no more than the state's cutoff."""
    near = replace(state, relative_gap=NEAR)
    return Simplest(within_cutoff(search_laid_out(problem, near).result, near).incumbent, proven=False)


def _within_cutoff(problem: Problem, state: SearchState) -> tuple[Sorted, Problem]:
    """The part of a problem that a plan within the state's cutoff may use, and its problem with that as the budget.

    Where the cost is a row of the program, what is too dear is ruled out without looking for the cheapest of it.
    """
    part = compacted(problem, affordable_candidates(problem, state))
    return part, _within_budget(part.problem, state)


def _takes_long(problem: Problem) -> bool:
    """Whether the first node of the program, or of one of its parts, takes longer than a simpler plan is worth."""
    periods = problem.traffic.periods
    if periods == 1:
        return False
    keep, most = undominated(problem), MOST_BILLED_CELLS if problem.has_minimum_billing else MOST_CELLS
    parts = one_configuration_each(problem, keep) or [keep]
    return max(int(part.sum()) for part in parts) * periods > most


def _within_budget(problem: Problem, state: SearchState) -> Problem:
    """The problem where plans cost at most the state's cutoff, or as much as its own budget if that is less."""
    own = problem.limits.max_monthly_usd
    most_usd_per_month = state.cutoff_usd_per_hour * HOURS_PER_MONTH * (1 + EQUAL_COST)
    least = most_usd_per_month if own is None else min(own, most_usd_per_month)
    return replace(problem, limits=replace(problem.limits, max_monthly_usd=least))


def _held_to(problem: Problem, name: str, most: int) -> Problem:
    """The problem where plans have at most so many of what is counted by that name."""
    if name != "configurations":
        return replace(problem, ceiling=replace(problem.ceiling, **{name: most}))
    own = problem.limits.max_distinct_configurations
    fewest = most if own is None else min(own, most)
    return replace(problem, limits=replace(problem.limits, max_distinct_configurations=fewest))


def complexity_of(problem: Problem, plan: Incumbent) -> Complexity:
    """What there is to operate in a plan of the search."""
    used = np.zeros(len(problem.apis), dtype=np.bool_)
    used[problem.api_streams.server[plan.api_flow_per_s > 0]] = True
    return complexity(problem, plan.replicas, plan.instances, used)

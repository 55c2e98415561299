"""Batches with a deadline: in how many of the hours that they have it costs least to work on them, or little more."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Final, NamedTuple, TypeAlias

from optimizer.base.clock import Clock, Limit, LimitReached
from optimizer.inputs.scenario.restating import worked_on_in
from optimizer.inputs.scenario.scenario import Scenario, Workload
from optimizer.plan.question.inquiry import Answer, Inquiry
from optimizer.plan.question.simplifying import ANY_NUMBER, allowed_usd, in_place_of, no_more
from optimizer.plan.question.solving import less_than, solved, solved_for_least_cost
from optimizer.program.proof.state import EQUAL_COST

MOST_TRIED: Final = 256
"""Ways to give several batches their hours up to which each is tried; of more one batch after the other has a turn."""

SHARE_OF_HOURS: Final = 0.6
"""Of what is left of a limit, for trying them; the rest is for the plan in the best ones."""

WITH_A_PLAN: Final = ("optimal", "feasible")

Hours: TypeAlias = tuple[int, ...]
"""Of each batch, in how many it is worked on."""


class _Tried(NamedTuple):
    """Numbers of hours, and the best plan in them to within the gap of plans that are compared, if one is cheaper than
    a plan that was known."""

    asked: Inquiry
    found: Answer
    known_usd: float = math.inf

    @property
    def usd(self) -> float:
        """Of a month; infinite where there is no plan."""
        cost_usd = self.found.solution.cost_usd_per_month
        return math.inf if cost_usd is None else cost_usd

    @property
    def least_usd(self) -> float:
        """What no plan in these hours undercuts; infinite where there is none, 0 where nothing is known."""
        solution = self.found.solution
        return self.known_usd if solution.outcome == "infeasible" else solution.bound_usd_per_month or 0.0


@dataclass(frozen=True)
class _EveryNumber:
    """The numbers of hours that were tried, the most first; whether these are all, and the limit that cut it short."""

    tried: Sequence[_Tried]
    complete: bool
    limit: Limit | None = None

    @property
    def cheapest(self) -> _Tried:
        """The first that costs least."""
        enough = min(each.usd for each in self.tried) * (1 + EQUAL_COST)
        return next(each for each in self.tried if each.usd <= enough)


def hours_in_words(scenario: Scenario) -> list[str]:
    """That each of several plans works on batches in hours of its own, where there is one."""
    due = [each.name for each in scenario.workloads if each.deadline is not None]
    return [f"each plan works on {' and '.join(due)} in the hours in which that costs least"] if due else []


def at_best_hours(inquiry: Inquiry) -> Inquiry:
    """The question whose batches are worked on at one rate in as many hours, from their start, as cost least.

    Instances are whole and are paid by the hour, so a batch that leaves the last one half idle may cost less in fewer
    hours. Of equals the most hours stay.
    """
    return _every_number(inquiry).cheapest.asked if _due(inquiry) else inquiry


def solved_at_best_hours(inquiry: Inquiry, known_usd: float | None = None) -> Answer:
    """The simplest plan that is as good as cheapest, in the hours that cost least, with what is proven of all hours.

    A single batch is worked on in other hours where that is simpler for as little more as simplicity may cost. Without
    a batch only what is cheaper than a plan that is known need be looked for, as `solved` does.
    """
    if not _due(inquiry):
        return solved(inquiry, known_usd=known_usd)
    every = _every_number(inquiry)
    answer = _of_all_hours(solved(replace(every.cheapest.asked, clock=inquiry.clock)), every)
    if len(_due(inquiry)) > 1 or not (inquiry.simplifies and inquiry.scenario.policy.simplicity_percent):
        return answer
    return _in_simpler_hours(answer, every.tried)


def in_hours_of(inquiry: Inquiry, other: Inquiry) -> Inquiry:
    """The question with batches worked on in as many hours as another, of more demand, has for them."""
    due = _due(inquiry)
    return _in_hours(inquiry, due, tuple(_hours_of(other.scenario.workloads[position]) for position in due))


def any_plan_at_any_hours(inquiry: Inquiry) -> bool:
    """Whether there is a plan in some numbers of hours of those that are tried, the most first.

    A batch alone asks least of every hour in the most hours, so that others help only where what all of them take
    together is limited.
    """
    due, policy = _due(inquiry), inquiry.scenario.policy
    windows = [_window_hours(inquiry, position) for position in due]
    if math.prod(windows) > MOST_TRIED:
        return math.isfinite(_every_number(inquiry).cheapest.usd)
    over_the_month = policy.max_monthly_usd is not None or policy.max_carbon_kg_per_month is not None
    ways = _ways(windows) if over_the_month or len(inquiry.scenario.workloads) > 1 else [tuple(windows)]
    asked = (_in_hours(inquiry, due, hours) if due else inquiry for hours in ways)
    return any(solved_for_least_cost(each).solution.outcome in WITH_A_PLAN for each in asked)


def _of_all_hours(answer: Answer, every: _EveryNumber) -> Answer:
    """The plan where none in other hours costs less, else that one; with what no plan undercuts in any hours.

    Plans were compared to within a gap, so that where one in other hours may cost less it is looked for.
    """
    clock, limit = answer.inquiry.clock, every.limit
    # of hours that a limit left untried nothing is known
    least_usd = 0.0 if limit is not None and not every.complete else math.inf
    for other in sorted(every.tried, key=lambda each: each.least_usd):
        known_usd = less_than((answer.cheapest or answer).solution.cost_usd_per_month)
        if other is every.cheapest or other.least_usd >= (math.inf if known_usd is None else known_usd):
            continue
        if clock.expired:
            least_usd, limit = min(least_usd, other.least_usd), clock.reached
            continue
        asked = replace(other.asked, clock=clock, best_and_bound=None, any_of_equals=True, falls_back=False)
        found = solved_for_least_cost(asked, known_usd=known_usd).solution
        if found.cost_usd_per_month is not None:
            answer = solved(replace(other.asked, clock=clock))
        elif found.outcome != "infeasible":
            least_usd, limit = min(least_usd, found.bound_usd_per_month or 0.0), found.ended_by
    return replace(_undercut_by(answer, least_usd, limit), other_hours_untried=not every.complete)


def _undercut_by(answer: Answer, least_usd: float, limit: Limit | None) -> Answer:
    """The same answer where a plan in other hours may cost as little as that, if that is below what is proven of it."""
    own = (answer.cheapest or answer).solution
    if least_usd == math.inf or least_usd >= (own.bound_usd_per_month or math.inf):
        return answer
    if own.cost_usd_per_month is None:
        return replace(answer, solution=own.left_open(limit or "time limit"))
    bounded = own.above(least_usd, limit)
    if answer.cheapest is None:
        return replace(answer, solution=bounded)
    shown = replace(answer.solution, outcome=bounded.outcome, reason=bounded.reason, ended_by=bounded.ended_by)
    shown = replace(shown, bound_usd_per_month=bounded.bound_usd_per_month, relative_gap=bounded.relative_gap)
    return replace(answer, solution=shown, cheapest=replace(answer.cheapest, solution=bounded))


def _in_simpler_hours(answer: Answer, tried: Sequence[_Tried]) -> Answer:
    """The plan in the hours whose own cheapest is the simplest, if it is simpler than that in the cheapest hours.

    Beside another plan it does to have no more to operate than that one, but for instances (`simplified`).
    """
    cheapest, shown = answer.cheapest or answer, answer.inquiry.shown
    if answer.solution.outcome != "optimal" or answer.kept:
        return answer
    if shown is not None and no_more(answer.complexity, shown._replace(instances=ANY_NUMBER)):
        return answer

    def may_stand(found: Answer, usd: float) -> bool:
        return usd <= allowed_usd(cheapest, found.complexity.configurations) and found.complexity < answer.complexity

    simpler = [each for each in tried if math.isfinite(each.usd) and may_stand(each.found, each.usd)]
    if not simpler:
        return answer
    asked = min(simpler, key=lambda each: (each.found.complexity, each.usd)).asked
    found = solved(replace(asked, clock=answer.inquiry.clock))
    cost_usd = found.solution.cost_usd_per_month
    if cost_usd is None or not may_stand(found, cost_usd):
        return answer
    return replace(in_place_of(cheapest, found, found.simplicity_proven), inquiry=found.inquiry)


def _due(inquiry: Inquiry) -> list[int]:
    """The workloads that have a deadline."""
    return [position for position, each in enumerate(inquiry.scenario.workloads) if each.deadline is not None]


def _window_hours(inquiry: Inquiry, position: int) -> int:
    """From when a batch is there to when it must be done."""
    deadline = inquiry.scenario.workloads[position].deadline
    return 0 if deadline is None else deadline.window_hours


def _hours_of(workload: Workload) -> int:
    """In how many hours from its start a batch is worked on."""
    deadline, demand = workload.deadline, workload.demand
    if deadline is None:
        return 0
    weekly = () if demand is None else demand.weekly()
    working = tuple(rate > 0 for rate in weekly)
    return next(
        (hours for hours in range(deadline.window_hours) if deadline.is_open(hours) == working), deadline.window_hours
    )


def _ways(windows: Sequence[int]) -> Iterator[Hours]:
    """Every number of hours in which each batch may be worked on, the most first."""
    return product(*(range(window, 0, -1) for window in windows))


def _every_number(inquiry: Inquiry) -> _EveryNumber:
    """The best plan in every number of hours in which each batch may be worked on.

    The bound of one way is none of another, so all are tried together: each alone may be best where it is while fewer
    hours of two cost less than either. Of too many each batch in its turn has the hours that cost least beside those of
    the others.
    """
    due = _due(inquiry)
    windows = [_window_hours(inquiry, position) for position in due]
    trying = inquiry.clock.share(SHARE_OF_HOURS)
    if math.prod(windows) <= MOST_TRIED:
        ways = list(_ways(windows))
        tried = list(_tried(inquiry, due, ways, trying))
        return _EveryNumber(tried, len(tried) == len(ways), trying.reached)
    kept, tried = tuple(windows), list[_Tried]()
    for number, window in enumerate(windows):
        ways = [(*kept[:number], hours, *kept[number + 1 :]) for hours in range(window, 0, -1)]
        one = list(_tried(inquiry, due, ways, trying.share(1 / (len(windows) - number))))
        kept = ways[one.index(_EveryNumber(one, complete=False).cheapest)]
        tried += one
    return _EveryNumber(tried, complete=False)


def _tried(inquiry: Inquiry, due: Sequence[int], ways: Sequence[Hours], clock: Clock) -> Iterator[_Tried]:
    """Each way in an equal share of what is left; the first at any rate, the others as far as time goes.

    Of several batches only what is cheaper than the ways before is looked for, which is soon known not to be.
    """
    least_usd = math.inf
    for number, hours in enumerate(ways):
        if number and clock.expired:
            return
        asked, known_usd = _in_hours(inquiry, due, hours), least_usd if len(due) > 1 else math.inf
        own = replace(asked, clock=clock.share(1 / (len(ways) - number)))
        try:
            found = _Tried(asked, _compared(own, known_usd), known_usd)
        except LimitReached:
            if not number:
                raise
            return
        least_usd = min(least_usd, found.usd)
        yield found


def _in_hours(inquiry: Inquiry, due: Sequence[int], hours: Hours) -> Inquiry:
    """The question with batches worked on in so many hours, in the periods that these ask for."""
    workloads = list(inquiry.scenario.workloads)
    for position, count in zip(due, hours, strict=True):
        workloads[position] = worked_on_in(workloads[position], count)
    scenario = inquiry.scenario.model_copy(update={"workloads": tuple(workloads)})
    return replace(inquiry.changed(scenario), hour_to_period=None)


def _compared(inquiry: Inquiry, known_usd: float) -> Answer:
    """The best plan, to within the gap of plans that are compared, if it is cheaper than a known one."""
    asked = replace(inquiry.for_comparison(), best_and_bound=None)
    return solved_for_least_cost(asked, known_usd=None if known_usd == math.inf else less_than(known_usd))

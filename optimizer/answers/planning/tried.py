"""A plan that answers to its simulation: where simulated requests break a promise, replicas are counted on for less.

What a replica sustains is lowered to what a simulation finds it to hold, and the question is solved again with that;
the new plan is simulated in its turn. Where the first plan holds, nothing changes.
"""

import math
from dataclasses import dataclass, replace
from typing import Final

from optimizer.answers.planning.until_it_holds import (
    MOST_ROUNDS_SOON,
    Attempt,
    confirmed_by_simulation,
    counting_on_less,
    decided,
    is_to_go_on,
    raised_to,
    until_it_holds,
)
from optimizer.base.clock import Clock, Limit
from optimizer.plan.question.inquiry import Answer, Inquiry
from optimizer.plan.question.make_weights import without_make_weights
from optimizer.plan.question.simplifying import allowed_usd, in_place_of, is_simpler
from optimizer.plan.question.solving import of_every_hour, tidied
from optimizer.plan.question.soon import first_answer, found_soon
from optimizer.plan.readback.readback import read_back
from optimizer.plan.record.fleet import PlannedFleet
from optimizer.plan.record.simulation import Simulation

SHARE_OF_FIRST: Final = 0.35
"""Of what is left of a limit, until a first plan of few periods holds, before every hour is asked."""

SHARE_OF_REST, SHARE_OF_EVERY_HOUR = 0.85, 0.8
"""The same, for going on with a search that was cut short once its plan has been simulated; and the share of that for
the search, before its plan is simulated and what that can do without is looked for."""

SHARE_OF_TIDYING: Final = 0.5
"""Of what is left of it then, for breaking ties, which may take longer than the search did."""


@dataclass(frozen=True)
class SimulatedPlan:
    """A plan with what simulated requests say of it.

    Attributes:
        answer: The solved question, at lowered rates where plans before it did not hold.
        bought: Its plan.
        simulation: None where the time was up.
        ended: Whether no limit of the clock cut the rounds short, or a search that decided how one went on.
    """

    answer: Answer
    bought: PlannedFleet
    simulation: Simulation | None
    ended: bool

    @property
    def proven(self) -> bool:
        """Whether the same question has the same plan, however fast the machine."""
        return self.ended and self.answer.proven


def tried(asked: Inquiry, answer: Answer, clock: Clock) -> SimulatedPlan:
    """The answer where its plan holds under simulated load; else that of the question with lowered rates.

    Args:
        asked: The question as it was first put to the solver.
        answer: Its answer, which has a plan.
        clock: Of the whole question.
    """
    bought = read_back(answer)
    if clock.expired:
        left_out = clock.reached if answer.every_hour_is_due else None
        return SimulatedPlan(_cut_short(answer, left_out), bought, None, ended=False)
    own = clock.share(SHARE_OF_FIRST) if answer.every_hour_is_due else clock
    attempt, ended = until_it_holds(asked, answer, Attempt(answer, bought, confirmed_by_simulation(asked, bought)), own)
    if attempt.answer.every_hour_is_due and attempt.holds and not own.expired:
        attempt = _of_more_periods(asked, attempt, own)
    shown, at_less = attempt, False
    while at_less or is_to_go_on(attempt.answer):
        if clock.expired:
            break
        known, since_s = attempt, clock.spent_s
        attempt, refuted = _further(asked, known, clock.share(SHARE_OF_REST))
        if not (at_less and attempt.bought is known.bought):
            shown = min((shown, attempt), key=lambda each: (not each.holds, each.cost_usd, -_bound_of(each.answer)))
        if refuted is None or not attempt.holds or len(refuted.rounds) >= MOST_ROUNDS_SOON:
            break
        ended, left_s = False, clock.left_s()
        # every hour at once where there is time for it, else a plan of few periods that holds
        at_less = left_s is None or left_s > clock.spent_s - since_s
        less = counting_on_less(asked, attempt, refuted, clock) if at_less else None
        if less is not None:
            attempt = less
            continue
        # what no plan undercuts stands where replicas are counted on for less
        first, at_less = replace(attempt.answer, every_hour_is_due=True), False
        attempt, _ = until_it_holds(asked, first, refuted, clock.share(SHARE_OF_FIRST))
        if not attempt.holds:
            break
        shown = min((shown, attempt), key=lambda each: each.cost_usd)
    simulation = shown.simulation.model_copy(update={"rounds": shown.rounds})
    left_out = clock.reached if shown.answer.every_hour_is_due else None
    return SimulatedPlan(_cut_short(shown.answer, left_out), shown.bought, simulation, ended)


def _of_more_periods(asked: Inquiry, known: Attempt, clock: Clock) -> Attempt:
    """A plan of as many periods as the policy says, where one is cheaper than a known one of very few: what stands if
    every hour has none in time, and the less it costs the fewer plans of every hour are to be looked at. Where it does
    not hold, one of very few that does at what its replicas hold."""
    most = asked.scenario.policy.elastic.max_periods
    if most <= known.answer.formulation.periods.count:
        return known
    inquiry = replace(known.answer.inquiry, clock=clock)
    more = found_soon(inquiry, inquiry, most)
    least_usd = more.solution.cost_usd_per_month
    if least_usd is None or least_usd >= known.cost_usd:
        return known
    solution = more.solution.above(min(_bound_of(known.answer), least_usd), known.answer.solution.ended_by)
    due = replace(more, solution=solution, every_hour_is_due=True)
    found = _simulated(asked, due, known)
    if not found.holds:
        # what breaks it would break a plan of every hour
        found, _ = until_it_holds(asked, due, found, clock)
    return found if found.holds else known


def _further(asked: Inquiry, known: Attempt, clock: Clock) -> tuple[Attempt, Attempt | None]:
    """What every hour tells of a plan of few periods, or of one whose search was cut short: a bound, or a cheaper plan.

    Returns:
        The plan to show, and a cheaper one that breaks a promise which this one keeps, if that is why it is not shown.
    """
    answer = replace(known.answer, every_hour_is_due=False)
    own = answer.cheapest or answer
    more, least_usd = of_every_hour(own, clock.share(SHARE_OF_EVERY_HOUR)), own.solution.cost_usd_per_month or 0.0
    if more.solution.outcome == "infeasible":
        return replace(known, answer=raised_to(answer, least_usd)), None
    bound_usd = max(own.solution.bound_usd_per_month or 0.0, more.solution.bound_usd_per_month or 0.0)
    if more.solution.cost_usd_per_month is None:
        raised = raised_to(answer, min(bound_usd, least_usd))
        return replace(known, answer=_cut_short(raised, more.solution.ended_by)), None
    bound_usd = min(bound_usd, more.solution.cost_usd_per_month)
    other = replace(more, solution=more.solution.above(bound_usd, more.solution.ended_by), simplicity_proven=False)
    shown_usd = answer.solution.cost_usd_per_month or math.inf
    simpler_still = answer.cheapest is not None and is_simpler(answer, other)
    if simpler_still and shown_usd <= allowed_usd(other, answer.complexity.configurations):
        return replace(known, answer=in_place_of(other, answer, proven=False)), None
    found = decided(asked, _simulated(asked, other, known))
    # a plan that breaks a promise for certain is not worth what takes longer than to tell that
    if not found.breaks or known.breaks:
        tidy = tidied(other, clock.share(SHARE_OF_TIDYING))
        for each in (_without_make_weights(tidy, clock), tidy):
            if each is not other and _as_sure_as(known, cheaper := _simulated(asked, each, known)):
                return cheaper, None
    return (found, None) if _as_sure_as(known, found) else (replace(known, answer=raised_to(answer, bound_usd)), found)


def _simulated(asked: Inquiry, answer: Answer, known: Attempt) -> Attempt:
    """Another answer to the question of a known attempt, at the same rates."""
    bought = read_back(answer)
    return Attempt(answer, bought, confirmed_by_simulation(asked, bought), known.rounds)


def _as_sure_as(known: Attempt, found: Attempt) -> bool:
    """Whether a plan holds, or as much is known of that as of another one."""
    return found.holds or found.simulation.holds is known.simulation.holds


def _cut_short(answer: Answer, limit: Limit | None) -> Answer:
    """The answer, if a limit ended what was left of it: its search is one that was cut short."""
    if limit is None or answer.solution.cost_usd_per_month is None or answer.cheapest is not None:
        return answer
    return replace(answer, solution=answer.solution.above(_bound_of(answer), limit))


def _bound_of(answer: Answer) -> float:
    """What no plan undercuts, in USD a month."""
    return (answer.cheapest or answer).solution.bound_usd_per_month or 0.0


def _without_make_weights(cheapest: Answer, clock: Clock) -> Answer:
    """The plan without the configurations that it can do without, as far as it may be simpler at all."""
    if not cheapest.inquiry.simplifies:
        return cheapest
    asked = replace(cheapest.inquiry, looks_ahead=False, clock=clock)
    simpler = without_make_weights(cheapest, asked, allowed_usd(cheapest, cheapest.complexity.configurations))
    return cheapest if simpler is None else in_place_of(cheapest, simpler, proven=False)


def confirmed_answer(asked: Inquiry) -> Answer:
    """The answer to a question whose plan is the one that `plan` shows; its inquiry counts on no more than that."""
    found = confirmed_plan(asked)
    return found.answer if isinstance(found, SimulatedPlan) else found


def confirmed_plan(asked: Inquiry) -> SimulatedPlan | Answer:
    """The plan that `plan` shows, with what simulated requests say of it; the answer alone where it has no plan."""
    answer = first_answer(asked)
    return answer if answer.solution.cost_usd_per_month is None else tried(asked, answer, asked.clock)

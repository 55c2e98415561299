"""A plan that answers to its simulation: where simulated requests break a promise, replicas are counted on for less.

What a replica sustains is lowered to what a simulation finds it to hold, and the question is solved again with that;
the new plan is simulated in its turn. Where the first plan holds, nothing changes.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from optimizer.base.clock import Clock, Limit, LimitReached
from optimizer.performance.candidates.lowering import LoweredRate, others_lowered
from optimizer.plan.question.asking import answered
from optimizer.plan.question.enlarging import enlarged
from optimizer.plan.question.inquiry import Answer, Inquiry
from optimizer.plan.question.make_weights import without_make_weights
from optimizer.plan.question.simplifying import allowed_usd, in_place_of
from optimizer.plan.question.solving import of_every_hour, of_few_periods
from optimizer.plan.question.soon import first_answer, found_soon
from optimizer.plan.readback.readback import read_back
from optimizer.plan.record.fleet import PlannedFleet
from optimizer.plan.record.simulation import HeldRate, Simulation, SimulationRound
from optimizer.plan.simulate.held import held_rates, lowered_rates
from optimizer.plan.simulate.judging import promises, room
from optimizer.plan.simulate.simulated import confirmed

MOST_ROUNDS: Final = 6
"""Plans that may break a promise before one is shown as it is; most need one."""

ROUNDS_ALONE: Final = 4
"""Of them, in which each configuration is counted on for less by its own simulation alone; then all others are, too."""

SHARE_OF_ROUND: Final = 0.5
"""Of what is left of a limit, for solving again."""

SHARE_OF_LARGER: Final = 0.35
"""Of what is left of a limit then, for making the plan before larger."""

SHARE_OF_FIRST: Final = 0.5
"""The same, until a first plan of few periods holds, before every hour is asked."""

SHARE_OF_REST, SHARE_OF_EVERY_HOUR = 0.7, 0.8
"""The same, for going on with a search that was cut short once its plan has been simulated; and the share of that for
the search, before what its plan can do without."""


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


@dataclass(frozen=True)
class _Attempt:
    """An answer, its plan, what simulated requests say of it, and the plans before it that broke a promise."""

    answer: Answer
    bought: PlannedFleet
    simulation: Simulation
    rounds: tuple[SimulationRound, ...] = ()

    @property
    def holds(self) -> bool:
        """Whether it keeps every promise."""
        return self.simulation.holds is True

    @property
    def cost_usd(self) -> float:
        """Of the cheapest plan of its answer, beside which a simpler one may be shown."""
        return (self.answer.cheapest or self.answer).solution.cost_usd_per_month or math.inf


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
    attempt, ended = _until_it_holds(asked, answer, _Attempt(answer, bought, _confirmed(asked, bought)), own)
    shown = attempt
    while _is_to_go_on(attempt.answer) and not clock.expired:
        attempt, refuted = _further(asked, attempt, clock.share(SHARE_OF_REST))
        shown = min((shown, attempt), key=lambda each: (not each.holds, each.cost_usd, -_bound_of(each.answer)))
        if refuted is None or not attempt.holds or len(refuted.rounds) >= MOST_ROUNDS:
            break
        # what no plan undercuts stands where replicas are counted on for less
        first = replace(attempt.answer, every_hour_is_due=True)
        attempt, _ = _until_it_holds(asked, first, refuted, clock.share(SHARE_OF_FIRST))
        ended = False
        if not attempt.holds:
            break
        shown = min((shown, attempt), key=lambda each: each.cost_usd)
    simulation = shown.simulation.model_copy(update={"rounds": shown.rounds})
    left_out = clock.reached if shown.answer.every_hour_is_due else None
    return SimulatedPlan(_cut_short(shown.answer, left_out), shown.bought, simulation, ended)


def held_plan(asked: Inquiry, answer: Answer) -> PlannedFleet | None:
    """The plan that is shown of a question and its answer, beside another; None where it breaks a promise all the same.

    Every hour of a week is not asked once more.

    Raises:
        LimitReached: before that was known.
    """
    asked.still_wanted()
    bought = read_back(answer)
    attempt, _ = _until_it_holds(asked, answer, _Attempt(answer, bought, _confirmed(asked, bought)), asked.clock)
    if attempt.simulation.holds is False:
        asked.still_wanted()
        return None
    return attempt.bought


def _until_it_holds(asked: Inquiry, first: Answer, attempt: _Attempt, clock: Clock) -> tuple[_Attempt, bool]:
    """The first plan that holds as replicas are counted on for less, or the last one; and whether no limit had a part
    in it.

    Args:
        asked: The question as it was first put to the solver.
        first: An answer at rates that are no lower.
        attempt: What is known.
        clock: Of the whole question.
    """
    ended = True
    while not attempt.holds and len(attempt.rounds) < MOST_ROUNDS:
        answer, found, rounds = attempt.answer, attempt.simulation, attempt.rounds
        # another plan would be lowered elsewhere: only a proven one leads to the same next one every time
        ended = ended and answer.proven and not clock.expired
        try:
            held = _held(asked, attempt.bought, found, answer.inquiry.lowered, clock)
        except LimitReached:
            return attempt, False
        if not held:
            break
        lowered = (*answer.inquiry.lowered, *lowered_rates(held, asked.scenario.policy))
        others = others_lowered(lowered) if len(rounds) >= ROUNDS_ALONE else ()
        again = _with_less(asked, (first, answer), (*lowered, *others), clock)
        left_no_plan = again.solution.cost_usd_per_month is None
        told = (*rounds, _round(attempt.bought, found, held, others, left_no_plan=left_no_plan))
        if left_no_plan:
            return replace(attempt, rounds=told), ended and again.solution.outcome == "infeasible"
        bought = read_back(again)
        attempt = _Attempt(again, bought, _confirmed(asked, bought), told)
    return attempt, ended


def _is_to_go_on(answer: Answer) -> bool:
    """Whether a plan of a week is one of few periods that was found soon, or its search was cut short."""
    return answer.every_hour_is_due or (answer.inquiry.over_time and answer.solution.ended_by is not None)


def _further(asked: Inquiry, known: _Attempt, clock: Clock) -> tuple[_Attempt, _Attempt | None]:
    """What every hour tells of a plan of few periods, or of one whose search was cut short: a bound, or a cheaper plan.

    Returns:
        The plan to show, and a cheaper one that breaks a promise which this one keeps, if that is why it is not shown.
    """
    answer = replace(known.answer, every_hour_is_due=False)
    own = answer.cheapest or answer
    more, least_usd = of_every_hour(own, clock.share(SHARE_OF_EVERY_HOUR)), own.solution.cost_usd_per_month or 0.0
    if more.solution.outcome == "infeasible":
        return replace(known, answer=_raised(answer, least_usd)), None
    bound_usd = max(own.solution.bound_usd_per_month or 0.0, more.solution.bound_usd_per_month or 0.0)
    if more.solution.cost_usd_per_month is None:
        raised = _raised(answer, min(bound_usd, least_usd))
        return replace(known, answer=_cut_short(raised, more.solution.ended_by)), None
    bound_usd = min(bound_usd, more.solution.cost_usd_per_month)
    other = replace(more, solution=more.solution.above(bound_usd, more.solution.ended_by), simplicity_proven=False)
    shown_usd = answer.solution.cost_usd_per_month or math.inf
    if answer.cheapest is not None and shown_usd <= allowed_usd(other, answer.complexity.configurations):
        return replace(known, answer=in_place_of(other, answer, proven=False)), None
    simpler = _without_make_weights(other, clock)
    for each in (simpler, other) if simpler is not other else (other,):
        bought = read_back(each)
        cheaper = _Attempt(each, bought, _confirmed(asked, bought), known.rounds)
        if cheaper.holds or cheaper.simulation.holds is known.simulation.holds:
            return cheaper, None
    return replace(known, answer=_raised(answer, bound_usd)), cheaper


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


def _confirmed(asked: Inquiry, bought: PlannedFleet) -> Simulation:
    """What simulated requests say of a plan, or said of the same machines at other prices."""

    def work() -> Simulation:
        return confirmed(asked.scenario, asked.catalogs, bought)

    return work() if asked.kept is None else asked.kept.simulated("confirmed", asked.scenario, bought, work)


def _held(
    asked: Inquiry, bought: PlannedFleet, found: Simulation, lowered: Sequence[LoweredRate], clock: Clock
) -> list[HeldRate]:
    """What its replicas hold, or held at other prices."""

    def work() -> list[HeldRate]:
        return held_rates(asked.scenario, asked.catalogs, bought, found, lowered, clock)

    return work() if asked.kept is None else asked.kept.simulated(tuple(lowered), asked.scenario, bought, work)


def confirmed_answer(asked: Inquiry) -> Answer:
    """The answer to a question whose plan is the one that `plan` shows; its inquiry counts on no more than that."""
    found = confirmed_plan(asked)
    return found.answer if isinstance(found, SimulatedPlan) else found


def confirmed_plan(asked: Inquiry) -> SimulatedPlan | Answer:
    """The plan that `plan` shows, with what simulated requests say of it; the answer alone where it has no plan."""
    answer = first_answer(asked)
    return answer if answer.solution.cost_usd_per_month is None else tried(asked, answer, asked.clock)


def _with_less(asked: Inquiry, before: tuple[Answer, Answer], lowered: Sequence[LoweredRate], clock: Clock) -> Answer:
    """The question again, with replicas counted on for less.

    A search that was cut short may find a worse plan than the one that broke a promise, made larger: the cheaper of the
    two is the answer.

    Args:
        asked: As it was first put to the solver.
        before: Its first answer, at the rates that are predicted, and the one whose plan broke a promise.
        lowered: What replicas are counted on for.
        clock: Of the whole question.
    """
    first, broken = before
    own = clock.share(SHARE_OF_ROUND)
    if _is_to_go_on(broken) or first.every_hour_is_due:
        again = _soon(first, replace(broken.inquiry, clock=own).with_lowered(lowered))
    else:
        again = answered(replace(asked, clock=own).with_lowered(lowered))
    if again.every_hour_is_due and not own.expired:
        return again
    found = (again.cheapest or again).solution
    if again.enough or found.outcome not in ("feasible", "unproven"):
        return again
    larger = enlarged(broken, replace(broken.inquiry, clock=clock.share(SHARE_OF_LARGER)).with_lowered(lowered))
    least_usd = found.cost_usd_per_month or math.inf
    if larger is None or (larger.solution.cost_usd_per_month or math.inf) >= least_usd:
        return _raised(again, _bound_usd(first, again))
    bound_usd = max(found.bound_usd_per_month or 0.0, _bound_usd(first, larger))
    return replace(larger, solution=larger.solution.above(bound_usd, found.ended_by))


def _soon(first: Answer, lowered: Inquiry) -> Answer:
    """A plan at lowered rates after a search that was cut short, with what that one proved: what it left open is asked
    once more when a plan holds (`_further`), not of each that does not."""
    again = (found_soon if first.every_hour_is_due else of_few_periods)(lowered)
    solution = again.solution
    if solution.cost_usd_per_month is None:
        return again
    # what few periods say is true of these alone
    least_usd = min(_bound_usd(first, again), solution.cost_usd_per_month)
    ended_by = lowered.clock.reached or first.solution.ended_by
    return replace(again, solution=solution.above(least_usd, ended_by), every_hour_is_due=True)


def _bound_usd(first: Answer, later: Answer) -> float:
    """What no plan undercuts at the rates that are predicted, which none does at lower ones; 0 for another question.

    What was proven of the predicted mixes alone, as time was up, is not told of what lies between them, too.
    """
    same = (first.inquiry.avoided, first.inquiry.scenario) == (later.inquiry.avoided, later.inquiry.scenario)
    as_wide = first.mixes_settled or not later.mixes_settled
    return (first.solution.bound_usd_per_month or 0.0) if same and as_wide else 0.0


def _raised(answer: Answer, bound_usd: float) -> Answer:
    """An answer whose search was cut short, where no plan costs less than so much."""
    found = (answer.cheapest or answer).solution
    if found.cost_usd_per_month is None or bound_usd <= (found.bound_usd_per_month or 0.0):
        return answer
    raised = found.above(bound_usd, found.ended_by)
    shown = replace(
        answer.solution,
        outcome=raised.outcome,
        reason=raised.reason,
        bound_usd_per_month=raised.bound_usd_per_month,
        relative_gap=raised.relative_gap,
    )
    cheapest = None if answer.cheapest is None else replace(answer.cheapest, solution=raised)
    return replace(answer, solution=shown, cheapest=cheapest)


def _round(
    bought: PlannedFleet, found: Simulation, held: list[HeldRate], others: Sequence[LoweredRate], *, left_no_plan: bool
) -> SimulationRound:
    """What a plan that did not hold is remembered by."""
    item, limit = min(promises(found), key=room)
    return SimulationRound.model_validate(
        {
            "monthly_cost_usd": bought.monthly_cost_usd,
            "workload": item.workload,
            "class": item.request_class,
            "limit": limit,
            "lowered": held,
            "others_counted_share": {each.workload: each.counted_share for each in others},
            "left_no_plan": left_no_plan,
        }
    )

"""The rounds until a plan holds: what breaks a promise is counted on for less, and the question is solved again."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from optimizer.base.clock import Clock, LimitReached
from optimizer.performance.candidates.lowering import LoweredRate, others_lowered
from optimizer.plan.explain.comparing import Asking
from optimizer.plan.question.asking import answered, as_decided
from optimizer.plan.question.enlarging import enlarged
from optimizer.plan.question.inquiry import Answer, Inquiry
from optimizer.plan.question.solving import of_few_periods
from optimizer.plan.question.soon import found_soon
from optimizer.plan.readback.readback import read_back
from optimizer.plan.readback.sent import as_sent
from optimizer.plan.record.fleet import PlannedFleet
from optimizer.plan.record.simulation import HeldRate, Simulation, SimulationRound
from optimizer.plan.simulate.held import held_rates, lowered_rates
from optimizer.plan.simulate.judging import in_doubt, promises, room, without_doubt
from optimizer.plan.simulate.simulated import DECIDING_REQUESTS, confirmed, holds_at_a_look

MOST_ROUNDS: Final = 6
"""Plans that may break a promise before one is shown as it is; most need one."""

ROUNDS_ALONE: Final = 4
"""Of them, in which each configuration is counted on for less by its own simulation alone; then all others are, too."""

MOST_ROUNDS_SOON, ROUNDS_ALONE_SOON = 10, 8
"""The same where a plan of a week is found soon, each in a second or two: as many kinds as its every hour may run."""

SHARE_OF_ROUND: Final = 0.5
"""Of what is left of a limit, for solving again."""

SHARE_OF_LARGER: Final = 0.35
"""Of what is left of a limit then, for making the plan before larger."""

WORK_OF_ROUND: Final = 1_000
"""Simplex iterations that a round beside another plan counts as before its question is asked again: simulating it, and
what its replicas hold, takes most of it, and a limit of work ended no such rounds."""


@dataclass(frozen=True)
class Attempt:
    """An answer, its plan, what simulated requests say of it, and the plans before it that broke a promise."""

    answer: Answer
    bought: PlannedFleet
    simulation: Simulation
    rounds: tuple[SimulationRound, ...] = ()

    @property
    def holds(self) -> bool:
        """Whether it keeps every promise, as far as so many requests can tell."""
        return without_doubt(self.simulation.classes)

    @property
    def breaks(self) -> bool:
        """Whether it breaks one for certain."""
        return self.simulation.holds is False

    @property
    def cost_usd(self) -> float:
        """Of the cheapest plan of its answer, beside which a simpler one may be shown."""
        return (self.answer.cheapest or self.answer).solution.cost_usd_per_month or math.inf


def held_beside(asked: Inquiry, answer: Answer, again: Asking | None = None) -> Attempt:
    """An answer beside another one as replicas are counted on until its plan holds, or the last that does not.

    Every hour of a week is not asked once more. `again` is how the question is asked with replicas counted on for less,
    None as any question is.

    Raises:
        LimitReached: before it was known whether it holds.
    """
    asked.still_wanted()
    bought = read_back(answer)
    first = Attempt(answer, bought, confirmed_by_simulation(asked, bought))
    attempt, _ = until_it_holds(asked, answer, first, asked.clock, again)
    if attempt.breaks:
        asked.still_wanted()
    return attempt


def held_answer(asked: Inquiry, answer: Answer, again: Asking | None) -> Answer | None:
    """The answer beside another where a look at few requests says that its plan holds, else as `held_beside` if the
    question is asked `again`; None where none was found.

    Raises:
        LimitReached: before that was known.
    """
    asked.still_wanted()
    if _holds_at_a_look(asked, answer):
        return answer
    if again is None:
        return None

    def asked_again(lowered: Inquiry) -> Answer:
        lowered.clock.spend(WORK_OF_ROUND)
        return again(lowered)

    attempt = held_beside(asked, answer, asked_again)
    return None if attempt.breaks else attempt.answer


def _holds_at_a_look(asked: Inquiry, answer: Answer) -> bool:
    """Whether few requests say that its plan holds, or said so of the same machines at other prices."""
    if asked.kept is None:
        return holds_at_a_look(asked.scenario, asked.catalogs, as_sent(answer))
    bought = read_back(answer)

    def look() -> bool:
        return holds_at_a_look(asked.scenario, asked.catalogs, bought)

    return asked.kept.simulated("at a look", asked.scenario, bought, look)


def held_plan(asked: Inquiry, answer: Answer) -> PlannedFleet | None:
    """The plan that is shown of a question and its answer, beside another; None where it leaves a promise in doubt.

    Raises:
        LimitReached: before that was known.
    """
    attempt = held_beside(asked, answer)
    return attempt.bought if attempt.holds else None


def counted_on_for_less(asked: Inquiry, answer: Answer) -> tuple[LoweredRate, ...] | None:
    """What replicas of a plan hold where that is less than it counts on; None where it breaks a promise all the same.

    Raises:
        LimitReached: before that was known.
    """
    asked.still_wanted()
    bought, lowered = read_back(answer), answer.inquiry.lowered
    found = confirmed_by_simulation(asked, bought)
    held = [] if found.holds else _held(asked, bought, found, lowered, asked.clock)
    return None if found.holds is False and not held else lowered_rates(held, asked.scenario.policy)


def until_it_holds(
    asked: Inquiry, first: Answer, attempt: Attempt, clock: Clock, again: Asking | None = None
) -> tuple[Attempt, bool]:
    """The first plan that holds as replicas are counted on for less, or the last one; and whether no limit had a part
    in it.

    Args:
        asked: The question as it was first put to the solver.
        first: An answer at rates that are no lower.
        attempt: What is known.
        clock: Of the whole question.
        again: How it is asked once more; None as any question is.
    """
    ended, soon = True, first.every_hour_is_due
    most, alone = (MOST_ROUNDS_SOON, ROUNDS_ALONE_SOON) if soon else (MOST_ROUNDS, ROUNDS_ALONE)
    while not attempt.holds and len(attempt.rounds) < most:
        answer, found, rounds = attempt.answer, attempt.simulation, attempt.rounds
        # another plan would be lowered elsewhere: only a proven one leads to the same next one every time
        ended = ended and answer.proven and not clock.expired
        try:
            held = _held(asked, attempt.bought, found, answer.inquiry.lowered, clock)
        except LimitReached:
            return attempt, False
        if not held:
            attempt = decided(asked, attempt)
            if attempt.simulation is found or not attempt.breaks:
                return attempt, ended
            continue
        lowered = (*answer.inquiry.lowered, *lowered_rates(held, asked.scenario.policy))
        others = others_lowered(lowered) if len(rounds) >= alone else ()
        later = _with_less(asked, (first, answer), (*lowered, *others), clock, again)
        left_no_plan = later.solution.cost_usd_per_month is None
        told = (*rounds, _round(attempt.bought, found, held, others, left_no_plan=left_no_plan))
        if left_no_plan:
            return replace(attempt, rounds=told), ended and later.solution.outcome == "infeasible"
        bought = read_back(later)
        attempt = Attempt(later, bought, confirmed_by_simulation(asked, bought), told)
    return attempt, ended


def decided(asked: Inquiry, attempt: Attempt) -> Attempt:
    """The same, told by more requests where fewer left it open."""
    if attempt.simulation.holds is not None:
        return attempt

    def work() -> Simulation:
        return confirmed(asked.scenario, asked.catalogs, attempt.bought, DECIDING_REQUESTS)

    kept = asked.kept
    found = work() if kept is None else kept.simulated("decided", asked.scenario, attempt.bought, work)
    return replace(attempt, simulation=found)


def counting_on_less(asked: Inquiry, known: Attempt, refuted: Attempt, clock: Clock) -> Attempt | None:
    """A plan that holds, of the question in which replicas are counted on for what those of a cheaper one hold that
    broke a promise; None where each of these holds alone what it is sent, or time is up."""
    lowered = refuted.answer.inquiry.lowered
    try:
        held = _held(asked, refuted.bought, refuted.simulation, lowered, clock)
    except LimitReached:
        return None
    if not held:
        return None
    inquiry = known.answer.inquiry.with_lowered((*lowered, *lowered_rates(held, asked.scenario.policy)))
    told = (*refuted.rounds, _round(refuted.bought, refuted.simulation, held, (), left_no_plan=False))
    return replace(known, answer=replace(known.answer, inquiry=inquiry, cheapest=None), rounds=told)


def is_to_go_on(answer: Answer) -> bool:
    """Whether a plan of a week is one of few periods that was found soon, or its search was cut short.

    A batch may be worked on in other hours, of which going on with these says nothing.
    """
    due = any(workload.deadline is not None for workload in answer.inquiry.scenario.workloads)
    cut_short = answer.inquiry.over_time and not due and answer.solution.ended_by is not None
    return answer.every_hour_is_due or cut_short


def confirmed_by_simulation(asked: Inquiry, bought: PlannedFleet) -> Simulation:
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

    what = (found.requests, *lowered)
    return work() if asked.kept is None else asked.kept.simulated(what, asked.scenario, bought, work)


def _with_less(
    asked: Inquiry, before: tuple[Answer, Answer], lowered: Sequence[LoweredRate], clock: Clock, asking: Asking | None
) -> Answer:
    """The question again, with replicas counted on for less.

    A search that was cut short, or one of few periods after one of every hour, may find a worse plan than the one that
    broke a promise, made larger: the cheaper of the two is the answer.

    Args:
        asked: As it was first put to the solver.
        before: Its first answer, at the rates that are predicted, and the one whose plan broke a promise.
        lowered: What replicas are counted on for.
        clock: Of the whole question.
        asking: How it is asked; None for the question itself, which alone may go on from a plan of few periods.
    """
    first, broken = before
    own = clock.share(SHARE_OF_ROUND)
    if asking is None and (is_to_go_on(broken) or first.every_hour_is_due):
        again = _soon(asked, before, lowered, own)
    else:
        again = (asking or answered)(replace(asked, clock=own).with_lowered(lowered))
    if again.every_hour_is_due and broken.every_hour_is_due and not own.expired:
        return again
    found = (again.cheapest or again).solution
    if again.enough or found.outcome not in ("feasible", "unproven"):
        return again
    larger = enlarged(broken, replace(broken.inquiry, clock=clock.share(SHARE_OF_LARGER)).with_lowered(lowered))
    least_usd = found.cost_usd_per_month or math.inf
    if larger is None or (larger.solution.cost_usd_per_month or math.inf) >= least_usd:
        return raised_to(again, _bound_usd(first, again))
    bound_usd = max(found.bound_usd_per_month or 0.0, _bound_usd(first, larger))
    solution = larger.solution.above(bound_usd, found.ended_by)
    return replace(larger, solution=solution, every_hour_is_due=again.every_hour_is_due)


def _soon(asked: Inquiry, before: tuple[Answer, Answer], lowered: Sequence[LoweredRate], clock: Clock) -> Answer:
    """A plan at lowered rates after a search that was cut short, with what that one proved: what it left open is asked
    once more when a plan holds (`_further`), not of each that does not.

    Args:
        asked: As it was first put to the solver.
        before: Its first answer, at the rates that are predicted, and the one whose plan broke a promise.
        lowered: What replicas are counted on for.
        clock: Of the round.
    """
    first, broken = before
    if first.every_hour_is_due:
        known = replace(broken.inquiry, clock=clock).with_lowered(lowered)
        again = found_soon(as_decided(replace(asked, clock=clock), broken).with_lowered(lowered), known)
    else:
        again = of_few_periods(replace(broken.inquiry, clock=clock).with_lowered(lowered))
    solution = again.solution
    if solution.cost_usd_per_month is None:
        return again
    # what few periods say is true of these alone
    least_usd = min(_bound_usd(first, again), solution.cost_usd_per_month)
    ended_by = clock.reached or first.solution.ended_by
    return replace(again, solution=solution.above(least_usd, ended_by), every_hour_is_due=True)


def _bound_usd(first: Answer, later: Answer) -> float:
    """What no plan undercuts at the rates that are predicted, which none does at lower ones; 0 for another question.

    What was proven of the predicted mixes alone, as time was up, is not told of what lies between them, too.
    """
    same = (first.inquiry.avoided, first.inquiry.scenario) == (later.inquiry.avoided, later.inquiry.scenario)
    as_wide = first.mixes_settled or not later.mixes_settled
    return (first.solution.bound_usd_per_month or 0.0) if same and as_wide else 0.0


def raised_to(answer: Answer, bound_usd: float) -> Answer:
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
    item, limit = min((each for each in promises(found) if in_doubt(each[1])), key=room)
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

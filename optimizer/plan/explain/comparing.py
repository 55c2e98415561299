"""Questions beside the chosen plan: each asked in its turn, as far as time goes, and told in facts and one sentence."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_FLOOR, Decimal
from functools import partial
from typing import Final, TypeAlias

from optimizer.base.arrays import Flags
from optimizer.base.clock import LimitReached
from optimizer.plan.question.inquiry import Answer, Inquiry
from optimizer.plan.question.simplifying import simplified
from optimizer.plan.question.solving import less_than, solved_for_least_cost
from optimizer.plan.readback.outline import outlined
from optimizer.plan.readback.summary import summarized
from optimizer.plan.record.explanation import Alternative
from optimizer.plan.record.fields import CENT, Outcome, difference_of_cents
from optimizer.plan.record.fleet import Outline, PlannedFleet

NONE_CHEAPER: Final[Mapping[Outcome, Outcome]] = {"infeasible": "optimal", "unproven": "feasible"}
"""What it says of a known plan that none cheaper was found."""

SHARE_OF_FIRST_TRY, SHARE_OF_SECOND_TRY = 0.25, 0.5
"""Of what is left of a limit, for one comparison: one that takes long leaves time for those behind it."""

TOO_SHORT: Final = 0.5
"""Of what the plan's own week took in few periods: a comparison of a week that has less time is not begun."""

ASKED_FIRST: Final = (
    "configurations",
    "listed",
    "measured",
    "provider",
    "spot",
    "commitment",
    "sellers",
    "unmeasured",
    "speculation",
    "availability",
)
"""Kinds of questions that the first page answers, in the order in which they are missed where time is short."""

OF_FIRST_PAGE: Final = frozenset(ASKED_FIRST) | {
    "mix_classes",
    "consumer_gpus",
    "seed",
    "countries",
    "regions",
    "unknown_quality",
}
"""All kinds that it may answer."""

LARGEST_GAP_SHOWN: Final = 0.25
"""Of a plan that a limit left unproven, which is told as what the comparison costs at most."""


NONE_HOLDS: Final = "no plan was found that keeps every promise when requests arrive one by one"
NOT_HELD: Final = (
    "for its plan was not seen to keep every promise when requests arrive one by one, and no other was looked for"
)

Asking: TypeAlias = Callable[[Inquiry], Answer]
"""How a question is answered."""

Held: TypeAlias = Callable[[Inquiry, Answer, Asking | None], Answer | None]
"""An answer as replicas are counted on until simulated requests find its plan to hold, the question asked again each
time; its own plan alone where that is not said; None where none was found."""


class LeastCostAlone(Exception):
    """A comparison of which a least cost is known, and why there is no plan to show."""

    def __init__(self, why: str, least_usd: float) -> None:
        super().__init__(why)
        self.least_usd = Decimal(repr(least_usd)).quantize(CENT, ROUND_FLOOR)


@dataclass(frozen=True)
class SideQuestion:
    """A question to be asked beside the chosen plan."""

    kind: str
    change: str
    asked: Callable[[], Inquiry]
    """Predicts what must be predicted for it."""
    keep: Sequence[Flags] | None = None
    """By entry of the options (P,) which configurations may be used; all, where None."""
    admits_more: bool = False
    """Whether the chosen plan is still to be had."""

    @property
    def turn(self) -> int:
        """Which are asked before it: the lower the sooner."""
        return ASKED_FIRST.index(self.kind) if self.kind in ASKED_FIRST else len(ASKED_FIRST)

    def beside(self, chosen: PlannedFleet, held: Held, *, first: bool) -> Alternative:
        """Its answer in a share of what is left of a limit, told as `told` says; a plan that simulated requests do not
        say to hold is followed by others after the first try alone."""
        known_usd = float(chosen.monthly_cost_usd) if self.admits_more else None
        asking = partial(_as_far_as_time_goes, keep=self.keep, known_usd=known_usd)
        # a batch is worked on in the hours of the chosen plan, where others may cost less
        hours_kept = False
        try:
            inquiry = self.asked()
            hours_kept = any(workload.deadline is not None for workload in inquiry.scenario.workloads)
            own = replace(inquiry, clock=inquiry.clock.share(SHARE_OF_FIRST_TRY if first else SHARE_OF_SECOND_TRY))
            answer = that_holds(own, asking(own), None if first else asking, held)
        except LeastCostAlone as reached:
            if hours_kept:
                return without_plan(self.kind, self.change, "unproven", f"not compared, {reached}")
            bounded = without_plan(self.kind, self.change, "unproven", self._bounded(chosen, reached))
            return bounded.model_copy(update={"at_least_usd": reached.least_usd})
        except LimitReached as reached:
            return without_plan(self.kind, self.change, "unproven", f"not compared, {reached}")
        return told(self.kind, self.change, chosen, answer, admits_more=self.admits_more, at_most=hours_kept)

    def once_more(self, chosen: PlannedFleet, known: Alternative, held: Held) -> Alternative:
        """Its answer with more time where it has none yet; what a first try said stands if a second says no more."""
        if known.outcome != "unproven":
            return known
        again = self.beside(chosen, held, first=False)
        none_holds = without_plan(self.kind, self.change, "unproven", NONE_HOLDS)
        return known if again.outcome == "unproven" and again != none_holds else again

    def _bounded(self, chosen: PlannedFleet, known: LeastCostAlone) -> str:
        """What a least cost says: how much is due at least, or saved at most."""
        above = known.least_usd - chosen.monthly_cost_usd
        if above > 0:
            return f"at least ${known.least_usd:,.2f} a month ({signed(above)}), {known}"
        return f"saves at most ${-above:,.2f} a month, {known}" if self.admits_more else f"not compared, {known}"


def compared(chosen: PlannedFleet, held: Held, *groups: Iterable[SideQuestion]) -> tuple[list[Alternative], ...]:
    """The answers to groups of questions, all asked in one turn, and those that its share of the time was too short for
    once more at the end; those of the first page before the others."""
    asked = [list(group) for group in groups]
    questions = [question for group in asked for question in group]
    in_turn = sorted(range(len(questions)), key=lambda n: questions[n].turn)
    found = {n: questions[n].beside(chosen, held, first=True) for n in in_turn}
    found |= {n: questions[n].once_more(chosen, found[n], held) for n in in_turn}
    rows = iter([found[n] for n in range(len(questions))])
    return tuple([next(rows) for _ in group] for group in asked)


def that_holds(asked: Inquiry, answer: Answer, again: Asking | None, held: Held) -> Answer:
    """An answer whose plan holds under simulated load, without a plan where none was found that does.

    Args:
        asked: The question.
        answer: By formulas alone.
        again: How it is asked again where replicas are counted on for less; None where it is not.
        held: What simulates its plan.

    Raises:
        LeastCostAlone: its plan does not hold and the question is not asked again, or no time was left for that.
        LimitReached: the same, where nothing is known of what it costs.
    """
    if answer.solution.cost_usd_per_month is None:
        return answer
    least_usd = (answer.cheapest or answer).solution.bound_usd_per_month
    try:
        found = held(asked, answer, again)
    except LimitReached as reached:
        if not least_usd:
            raise
        raise LeastCostAlone(str(reached), least_usd) from reached
    if found is None and again is None and least_usd:
        raise LeastCostAlone(NOT_HELD, least_usd)
    return replace(answer, solution=answer.solution.without_its_plan()) if found is None else found


def _as_far_as_time_goes(inquiry: Inquiry, keep: Sequence[Flags] | None, known_usd: float | None) -> Answer:
    """The simplest plan that is as good as cheapest, or the best that was found in time: so much is due at most.

    Raises:
        LeastCostAlone: no time was left for more than a least cost, which bounds what is due.
        LimitReached: what was found in time says too little: none, none cheaper than a known plan that is still to be
            had, or where none is known one that may be far above the cheapest.
    """
    left_s = inquiry.clock.left_s()
    if inquiry.close_enough and left_s is not None and left_s < TOO_SHORT * inquiry.few_periods_s:
        # it would end with nothing, and what it takes is time of the questions behind it, or of whoever waits
        raise LimitReached("time limit")
    known = None if known_usd is None else less_than(known_usd)
    cheapest = solved_for_least_cost(replace(inquiry, settles=True), keep, known)
    found = cheapest.solution
    if found.ended_by is None or found.outcome in ("optimal", "infeasible"):
        try:
            return simplified(replace(cheapest, inquiry=replace(cheapest.inquiry, settles=False)), keep, known_usd)
        except LimitReached as reached:
            if found.cost_usd_per_month is None or not _of_every_plan(cheapest.inquiry):
                raise
            raise LeastCostAlone(str(reached), found.bound_usd_per_month or 0.0) from reached
    if found.cost_usd_per_month is None or found.relative_gap is None:
        raise LimitReached(found.ended_by)
    says_much = found.relative_gap <= LARGEST_GAP_SHOWN if known_usd is None else found.cost_usd_per_month < known_usd
    if not says_much:
        raise LimitReached(found.ended_by)
    return replace(cheapest, simplicity_proven=False)


def _of_every_plan(inquiry: Inquiry) -> bool:
    """Whether what is proven of a program is true of every plan: no hour rounded up, no capacity added up by shares."""
    return inquiry.week.exact and not inquiry.mixes_between()


def told(
    kind: str,
    change: str,
    chosen: PlannedFleet,
    answer: Answer,
    *,
    admits_more: bool = False,
    at_most: bool = False,
) -> Alternative:
    """A solved alternative beside the chosen plan, in facts and one sentence.

    Where the change `admits_more` the chosen plan is still to be had: an answer without a plan knows of none cheaper,
    and one that is simpler and costs as much or more changes nothing.
    Where only some plans were looked at it costs that `at_most`.
    """
    found = answer.solution.outcome
    other: Outline = chosen
    if admits_more and found in NONE_CHEAPER:
        found = NONE_CHEAPER[found]
    elif found not in ("optimal", "feasible"):
        return without_plan(kind, change, found, "no plan meets the scenario" if found == "infeasible" else NONE_HOLDS)
    else:
        other = outlined(answer)
    if admits_more and other.monthly_cost_usd >= chosen.monthly_cost_usd:
        other = chosen
    difference = difference_of_cents(other.monthly_cost_usd, chosen.monthly_cost_usd)
    summary = summarized(other)
    outcome: Outcome = "feasible" if at_most else found
    bounded = "at most " if outcome == "feasible" else ""
    return Alternative(
        kind=kind,
        change=change,
        outcome=outcome,
        monthly_cost_usd=other.monthly_cost_usd,
        difference_usd=difference,
        summary=summary,
        text=f"{change}: {bounded}${other.monthly_cost_usd:,.2f} a month ({signed(difference)}), {summary}",
    )


def unchanged(kind: str, change: str, chosen: PlannedFleet) -> Alternative:
    """What the chosen plan already does; nothing was looked for that does it for less."""
    summary, cost = summarized(chosen), chosen.monthly_cost_usd
    return Alternative(
        kind=kind,
        change=change,
        outcome="feasible",
        monthly_cost_usd=cost,
        difference_usd=cost - cost,
        summary=summary,
        text=f"{change}: at most ${cost:,.2f} a month ({signed(cost - cost)}), {summary}",
    )


def without_plan(kind: str, change: str, outcome: Outcome, why: str) -> Alternative:
    return Alternative(
        kind=kind,
        change=change,
        outcome=outcome,
        monthly_cost_usd=None,
        difference_usd=None,
        summary="",
        text=f"{change}: {why}",
    )


def signed(amount: Decimal) -> str:
    return f"{'−' if amount < 0 else '+'}${abs(amount):,.2f}"

"""The plan for each result that a benchmark run may have, against today's plan where that result is true.

A run has `RESULTS` results, equally likely, from the best to the worst: of five the first stands for the best fifth, so
one in ten would be better. Were a result known, the question would be asked with it (`knowing`). Who does not know it
runs today's plan, and where that turns out too small for the result, more of the same (`blind`). The difference is what
the run saves in that case.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property
from typing import Final

import numpy as np

from optimizer.base.arrays import Flags, Floats
from optimizer.performance.candidates.avoiding import keeping_to_measured, letting_in
from optimizer.performance.candidates.measuring import once_measured, partly
from optimizer.performance.candidates.options import PoolOptions, WorkloadOptions
from optimizer.performance.physics.categorical import Categorical
from optimizer.performance.uncertainty.learning import margins_after_run
from optimizer.plan.experiment.subjects import Subject, rows_of, subjects_of, subjects_used
from optimizer.plan.question.inquiry import COMPARISON_GAP, Answer, Inquiry
from optimizer.plan.question.narrowing import narrowed, restricted
from optimizer.plan.question.solving import solved
from optimizer.plan.readback.outline import outlined
from optimizer.plan.record.fields import CENT
from optimizer.plan.record.fleet import PlannedFleet
from optimizer.program.proof.state import EQUAL_COST

RESULTS: Final = 5
"""Equally likely results of a run that are told apart, each at the middle of its share."""
BEST: Final = 0


@dataclass(frozen=True)
class Prospect:
    """What one result of a run would come to.

    Attributes:
        too_small: Whether today's plan breaks a promise at the scenario's confidence where the result is true.
        blind_usd: A month of the plan one would run without knowing; None where more of the same keeps no promise.
        knowing_usd: A month of the plan one would run; None where none keeps its promises.
        changes: Whether that is another plan than today's.
        answer: That other plan, solved.
    """

    too_small: bool
    blind_usd: Decimal | None
    knowing_usd: Decimal | None
    changes: bool
    answer: Answer | None

    @property
    def saved_usd(self) -> Decimal:
        """A month; nothing is claimed where one of the two plans is not to be had."""
        if self.blind_usd is None or self.knowing_usd is None:
            return Decimal(0)
        return max(self.blind_usd - self.knowing_usd, Decimal(0))


@dataclass(frozen=True)
class Prospects:
    """A decided question with its plan, ready to be asked with results of runs.

    Attributes:
        today: The question beside its plan; configurations that nobody measured are among its options.
        subjects: What a run of each of its configurations speaks for, by options.
        bought: The plan.
        running: What it runs, in the terms of `subjects`.
    """

    today: Inquiry
    subjects: tuple[Categorical[Subject], ...]
    bought: PlannedFleet
    running: tuple[Subject, ...]

    @classmethod
    def of(cls, decided: Inquiry, answer: Answer, bought: PlannedFleet) -> "Prospects":
        """Cut down to what a measurement could admit; nothing is predicted yet.

        Args:
            decided: The question as its answer decided it, beside that answer.
            answer: To it.
            bought: Its plan.
        """
        asked = decided.for_comparison()
        if any("measured" in choice.fixed for choice in asked.options):
            open_to_all = tuple(letting_in(choice, "measured") for choice in asked.options)
            few = narrowed(replace(asked, options=open_to_all))
            few = replace(few, options=tuple(keeping_to_measured(choice, few.catalogs) for choice in few.options))
        else:
            few = narrowed(asked)
        subjects = tuple(subjects_of(choice) for choice in few.options)
        return cls(few, subjects, bought, tuple(subjects_used(answer.inquiry.options, answer.used)))

    @property
    def worth_usd(self) -> Decimal:
        """The least that another plan must save a month, where plans are compared to within a gap that gap."""
        gap = COMPARISON_GAP if self.today.close_enough else EQUAL_COST
        return max(CENT, self.bought.monthly_cost_usd * Decimal(repr(gap)))

    @cached_property
    def measured(self) -> tuple[tuple[WorkloadOptions, ...], ...]:
        """All options for each result, as if a run had been made of each configuration; predicted once."""
        confidence, catalogs = self.today.scenario.policy.confidence, self.today.catalogs
        return tuple(
            tuple(
                once_measured(choice, margins_after_run(catalogs, choice.configurations, confidence, result))
                for choice in self.today.options
            )
            for result in ((number + 0.5) / RESULTS for number in range(RESULTS))
        )

    def asked(self, wanted: Collection[Subject], result: int) -> Inquiry:
        """Today's question were runs of some subjects to have a result."""
        rows = [rows_of(names, wanted) for names in self.subjects]
        triples = zip(self.today.options, self.measured[result], rows, strict=True)
        options = tuple(partly(own, other, mine) if mine.any() else own for own, other, mine in triples)
        return replace(self.today, options=options)

    def prospect(self, subject: Subject, result: int) -> Prospect:
        """What one result of a run would come to.

        Raises:
            LimitReached: the clock ran out first.
        """
        asked, cost_usd = self.asked([subject], result), self.bought.monthly_cost_usd
        unchanged = Prospect(too_small=False, blind_usd=cost_usd, knowing_usd=cost_usd, changes=False, answer=None)
        better, worse = self._moved(asked)
        blind_usd: Decimal | None = cost_usd
        too_small = False
        if worse and subject in self.running:
            of_the_same = _cost_usd(solved(*self._more_of_the_same(asked)))
            too_small = of_the_same is None or of_the_same >= cost_usd + self.worth_usd
            blind_usd = of_the_same if too_small else cost_usd
        if not (better or too_small):
            return unchanged
        answer = solved(asked)
        found_usd = _cost_usd(answer)
        if not too_small and (found_usd is None or found_usd > cost_usd - self.worth_usd):
            return unchanged
        return Prospect(too_small, blind_usd, found_usd, changes=True, answer=answer)

    def could_win(self, left_out: Collection[Subject]) -> tuple[list[Subject], Decimal]:
        """What a plan would run were all others measured at their best, and how much less than today's plan that costs.

        Where it runs none of them, or saves nothing, no single one of them does: it admits fewer plans.

        Args:
            left_out: Subjects that stay as they are.

        Raises:
            LimitReached: the clock ran out first.
        """
        kept = {*left_out, *self.running}
        others = {subject for names in self.subjects for subject in names.categories if subject not in kept}
        answer = solved(self.asked(others, BEST))
        cheapest = answer.cheapest or answer
        least_usd = _cost_usd(cheapest)
        below_usd = Decimal(0) if least_usd is None else self.bought.monthly_cost_usd - least_usd
        if below_usd < self.worth_usd:
            return [], Decimal(0)
        used = {subject for each in (answer, cheapest) for subject in subjects_used(each.inquiry.options, each.used)}
        return sorted(others & used), below_usd

    def _moved(self, asked: Inquiry) -> tuple[bool, bool]:
        """Whether some configuration sustains more than today, or less; what fails a criterion sustains nothing."""
        pairs = [
            (_rates(own.pools), _rates(other.pools))
            for own, other in zip(self.today.options, asked.options, strict=True)
            if own is not other
        ]
        return any((after > now).any() for now, after in pairs), any((after < now).any() for now, after in pairs)

    def _more_of_the_same(self, asked: Inquiry) -> tuple[Inquiry, Sequence[Flags]]:
        """The question on what the plan already runs where it already rents, in any number."""
        own = restricted(asked, [purchase.offer for purchase in self.bought.purchases])
        return own, [rows_of(subjects_of(choice), self.running) for choice in own.options]


def _rates(pools: Sequence[PoolOptions]) -> Floats:
    return np.stack([np.where(pool.passed, pool.rate_per_s, 0.0) for pool in pools])


def _cost_usd(answer: Answer) -> Decimal | None:
    return None if answer.solution.cost_usd_per_month is None else outlined(answer).monthly_cost_usd

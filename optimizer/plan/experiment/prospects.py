"""The plan for each result that a benchmark run may have, against today's plan where that result is true.

A run has `RESULTS` results, equally likely, from the best to the worst: of five the first stands for the best fifth, so
one in ten would be better. Were a result known, the question would be asked with it (`knowing`). Who does not know it
runs today's plan, and where that turns out too small for the result, more of the same (`blind`). The difference is what
the run saves in that case, less what the cheapest plan of today would save without any run where that is why.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property
from typing import Final

import numpy as np

from optimizer.base.arrays import Flags, Floats
from optimizer.inputs.catalog.records import Catalogs
from optimizer.performance.candidates.avoiding import keeping_to_measured, letting_in
from optimizer.performance.candidates.measuring import predicted_again
from optimizer.performance.candidates.options import PoolOptions, WorkloadOptions
from optimizer.performance.candidates.selecting import partly
from optimizer.performance.physics.categorical import Categorical
from optimizer.performance.physics.own import SAME, DeploymentName, deployment_names
from optimizer.performance.physics.setup import Configuration, categorical
from optimizer.performance.uncertainty.learning import after_each_run, after_run
from optimizer.plan.experiment.subjects import Subject, rows_of, subject_of, subjects_of, subjects_used
from optimizer.plan.question.inquiry import COMPARISON_GAP, Answer, Inquiry
from optimizer.plan.question.narrowing import narrowed, restricted
from optimizer.plan.question.solving import solved
from optimizer.plan.readback.outline import outlined
from optimizer.plan.record.fields import CENT, cents
from optimizer.plan.record.fleet import Outline, PlannedFleet
from optimizer.program.proof.state import EQUAL_COST
from optimizer.program.simplest import Complexity

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
        without_usd: Of the difference, a month: what the cheapest plan of today saves without any run, where that other
            plan gives up, too, what today's costs more for.
    """

    too_small: bool
    blind_usd: Decimal | None
    knowing_usd: Decimal | None
    changes: bool
    answer: Answer | None
    without_usd: Decimal = Decimal(0)

    @property
    def saved_usd(self) -> Decimal:
        """A month; nothing is claimed where one of the two plans is not to be had."""
        if self.blind_usd is None or self.knowing_usd is None:
            return Decimal(0)
        return max(self.blind_usd - self.without_usd - self.knowing_usd, Decimal(0))


@dataclass(frozen=True)
class Prospects:
    """A decided question with its plan, ready to be asked with results of runs.

    Attributes:
        today: The question beside its plan; configurations that nobody measured are among its options.
        subjects: What a run of each of its configurations speaks for, by options.
        bought: The plan.
        running: What it runs, in the terms of `subjects`.
        cheapest_usd: A month of today's cheapest plan; less than the plan's where that is simpler, or runs already.
        kept: Whether the plan is what runs already, whatever else is cheaper.
    """

    today: Inquiry
    subjects: tuple[Categorical[Subject], ...]
    bought: PlannedFleet
    running: tuple[Subject, ...]
    cheapest_usd: Decimal
    kept: bool

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
        running = tuple(subjects_used(answer.inquiry.options, answer.used))
        least_usd = bought.monthly_cost_usd if answer.cheapest is None else outlined(answer.cheapest).monthly_cost_usd
        return cls(few, subjects, bought, running, cheapest_usd=least_usd, kept=answer.kept)

    @property
    def worth_usd(self) -> Decimal:
        """The least that another plan must save a month, where plans are compared to within a gap that gap."""
        gap = COMPARISON_GAP if self.today.close_enough else EQUAL_COST
        return max(CENT, self.bought.monthly_cost_usd * Decimal(repr(gap)))

    @cached_property
    def names(self) -> tuple[Categorical[DeploymentName], ...]:
        """What each configuration is called where measurements of one's own are told apart, by options."""
        catalogs, options = self.today.catalogs, self.today.options
        return tuple(deployment_names(catalogs, categorical(choice.configurations, SAME)) for choice in options)

    @cached_property
    def alike(self) -> dict[Subject, list[Configuration]]:
        """What a run of each subject is made of, wherever it stands."""
        found: dict[Subject, list[Configuration]] = {}
        for choice, subjects in zip(self.today.options, self.subjects, strict=True):
            for configuration, code in zip(choice.configurations, subjects.codes, strict=True):
                found.setdefault(subjects.categories[code], []).append(configuration)
        return found

    @cached_property
    def gpu_of(self) -> dict[Subject, str]:
        """The engine and GPU of each subject, in the terms of `names`."""
        first = categorical([run[0] for run in self.alike.values()], SAME)
        found = deployment_names(self.today.catalogs, first)
        return {each: found.categories[code].gpu for each, code in zip(self.alike, found.codes, strict=True)}

    @cached_property
    def best(self) -> tuple[WorkloadOptions, ...]:
        """All options, each configuration as its own run at its best would leave it."""
        after = after_each_run(self.today.catalogs, list(self.alike.values()), _share_of_better(BEST))
        return self._with(after, [np.ones(len(names.codes), np.bool_) for names in self.names])

    def all_at_best(self, wanted: Collection[Subject]) -> Inquiry:
        """Today's question were some subjects measured, each at its best, as far as each run tells of itself."""
        triples = zip(self.today.options, self.best, self.subjects, strict=True)
        options = tuple(partly(own, other, rows_of(names, wanted)) for own, other, names in triples)
        return replace(self.today, options=options)

    def asked(self, subject: Subject, result: int) -> Inquiry:
        """Today's question were a run to have a result, with what it tells of its neighbours."""
        after = after_run(self.today.catalogs, self.alike[subject], _share_of_better(result))
        gpu = self.gpu_of[subject]
        rows = [names.passing(lambda name: name.gpu == gpu) for names in self.names]
        return replace(self.today, options=self._with(after, rows))

    def tells_of_plan(self, subject: Subject) -> bool:
        """Whether a run tells of something that the plan runs: what it is made of, or a neighbour."""
        return self.gpu_of[subject] in {self.gpu_of[each] for each in self.running}

    def _with(self, after: Catalogs, rows: Sequence[Flags]) -> tuple[WorkloadOptions, ...]:
        confidence = self.today.scenario.policy.confidence
        return tuple(
            predicted_again(choice, np.flatnonzero(mine), after, confidence) if mine.any() else choice
            for choice, mine in zip(self.today.options, rows, strict=True)
        )

    def prospect(self, subject: Subject, result: int) -> Prospect:
        """What one result of a run would come to.

        Raises:
            LimitReached: the clock ran out first.
        """
        asked, cost_usd = self.asked(subject, result), self.bought.monthly_cost_usd
        unchanged = Prospect(too_small=False, blind_usd=cost_usd, knowing_usd=cost_usd, changes=False, answer=None)
        better, worse = self._moved(asked)
        blind_usd: Decimal | None = cost_usd
        too_small, compared = False, self.today.shown
        if worse and self.tells_of_plan(subject):
            more = solved(*self._more_of_the_same(asked))
            of_the_same = _cost_usd(more)
            too_small = of_the_same is None or of_the_same >= cost_usd + self.worth_usd
            if too_small:
                blind_usd, compared = of_the_same, compared if of_the_same is None else more.complexity
        if not (better or too_small):
            return unchanged
        answer = solved(asked)
        if self._is_todays(answer):
            return unchanged
        found_usd, without_usd = _cost_usd(answer), self._saved_without(answer, compared)
        if not too_small and (found_usd is None or found_usd > cost_usd - without_usd - self.worth_usd):
            return unchanged
        return Prospect(too_small, blind_usd, found_usd, changes=True, answer=answer, without_usd=without_usd)

    def could_win(self, left_out: Collection[Subject]) -> tuple[list[Subject], Decimal]:
        """What a plan would run were all others measured at their best, and how much less a month any plan may cost.

        Where it runs none of them, or saves nothing, no single one of them does: it admits fewer plans. How much less
        comes from the bound of its cost, so where plans are only compared it may be more than the plan found saves.

        Args:
            left_out: Subjects that stay as they are.

        Raises:
            LimitReached: the clock ran out first.
        """
        kept = {*left_out, *self.running}
        others = {subject for names in self.subjects for subject in names.categories if subject not in kept}
        answer = solved(self.all_at_best(others))
        cheapest = answer.cheapest or answer
        least_usd, bought_usd = _cost_usd(cheapest), self.bought.monthly_cost_usd
        used = {subject for each in (answer, cheapest) for subject in subjects_used(each.inquiry.options, each.used)}
        saves = least_usd is not None and bought_usd - least_usd >= self.worth_usd
        winning = sorted(others & used) if saves else []
        # what the plan found saves without any of them is no matter of theirs
        from_usd = bought_usd if winning or least_usd is None else min(bought_usd, least_usd)
        below_usd = cents(from_usd - Decimal(repr(answer.solution.bound_usd_per_month or 0.0)))
        return winning, below_usd if below_usd >= self.worth_usd else Decimal(0)

    def could_replace(self, left_out: Collection[Subject]) -> list[Subject]:
        """What a plan would run of what tells of today's, each at its best, were today's no use, as a bad run may say.

        Args:
            left_out: Subjects that are no use either.

        Raises:
            LimitReached: the clock ran out first.
        """
        gpus, out = {self.gpu_of[each] for each in self.running}, {*left_out, *self.running}
        twins = {subject for subject, gpu in self.gpu_of.items() if gpu in gpus} - out
        if not twins:
            return []
        answer = solved(self.all_at_best(twins), [~rows_of(names, out) for names in self.subjects])
        return sorted(twins & {*subjects_used(answer.inquiry.options, answer.used)})

    def _is_todays(self, answer: Answer) -> bool:
        """Whether a plan buys and runs what today's does, which then is not too small either."""
        found, bought = outlined(answer), self.bought
        return (found.purchases, found.hosted, _running(found)) == (bought.purchases, bought.hosted, _running(bought))

    def _saved_without(self, answer: Answer, compared: Complexity | None) -> Decimal:
        """What today's cheapest plan saves a month where a plan, too, has more to operate, or leaves what runs."""
        if answer.solution.cost_usd_per_month is None or compared is None:
            return Decimal(0)
        more = any(own > other for own, other in zip(answer.complexity, compared, strict=True))
        given_up = more or (self.kept and not answer.kept)
        return self.bought.monthly_cost_usd - self.cheapest_usd if given_up else Decimal(0)

    def _moved(self, asked: Inquiry) -> tuple[bool, bool]:
        """Whether some configuration sustains more than today, or less; what fails a criterion sustains nothing."""
        pairs = [
            (_rates(own.pools), _rates(other.pools))
            for own, other in zip(self.today.options, asked.options, strict=True)
            if own is not other
        ]
        return any((after > now).any() for now, after in pairs), any((after < now).any() for now, after in pairs)

    def _more_of_the_same(self, asked: Inquiry) -> tuple[Inquiry, Sequence[Flags]]:
        """The question on what the plan already runs where it already rents, in any number, and the APIs it calls."""
        called = {(item.provider, item.api) for item in self.bought.hosted}
        rows = tuple(row for row in asked.catalogs.serverless if (row.provider, row.provider_model_name) in called)
        asked = replace(asked, catalogs=replace(asked.catalogs, serverless=rows))
        own = restricted(asked, [purchase.offer for purchase in self.bought.purchases])
        return own, [rows_of(subjects_of(choice), self.running) for choice in own.options]


def _share_of_better(result: int) -> float:
    """Of all results, those that are better than this one."""
    return (result + 0.5) / RESULTS


def _rates(pools: Sequence[PoolOptions]) -> Floats:
    return np.stack([np.where(pool.passed, pool.rate_per_s, 0.0) for pool in pools])


def _running(plan: Outline) -> list[tuple[Subject, str, str, int]]:
    return sorted((subject_of(d.workload, d), d.provider, d.instance_type, d.replicas) for d in plan.deployments)


def _cost_usd(answer: Answer) -> Decimal | None:
    return None if answer.solution.cost_usd_per_month is None else outlined(answer).monthly_cost_usd

"""The main question: the cheapest plan that meets a scenario, proven, verified and explained."""

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from decimal import ROUND_FLOOR, Decimal
from typing import Final

from optimizer.answers.planning.explanation import explained, with_variations, without_plan
from optimizer.answers.planning.tried import tried
from optimizer.answers.planning.until_it_holds import held_answer
from optimizer.answers.withheld import confirmed
from optimizer.base.clock import Clock
from optimizer.base.errors import refuse
from optimizer.base.memory import Memory
from optimizer.base.progress import BestAndBound, Progress, silent
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.scenario.checks import check_scenario
from optimizer.inputs.scenario.scenario import Scenario
from optimizer.plan.explain.simplicity import simplicity_of
from optimizer.plan.grounds.accepted import accepted_of
from optimizer.plan.grounds.question import asked
from optimizer.plan.grounds.rejections import Census, census
from optimizer.plan.grounds.scope import bound_of, reason_of, scope_of
from optimizer.plan.question.inquiry import Answer, Inquiry
from optimizer.plan.question.mixing import mixing_of
from optimizer.plan.question.price_free import PriceFree
from optimizer.plan.question.soon import first_answer
from optimizer.plan.readback.costs import costs
from optimizer.plan.record.explanation import Explanation
from optimizer.plan.record.fields import CENT
from optimizer.plan.record.fleet import PlannedFleet
from optimizer.plan.record.origin import inputs_of
from optimizer.plan.record.report import PlanReport, PriceDays, Simplicity, SolverFacts, Verification
from optimizer.plan.verify.verify import verify
from optimizer.program.problem.formulate import SAME_PLATFORM
from optimizer.program.solve import Solution

SHARE_OF_PLAN, SHARE_OF_WEEK = 0.6, 0.4
"""Of what is left of a limit once candidates are predicted, for a plan at one load and for one of a week. The rest is
for simulating it, for the same question again where its replicas do not hold what they were counted on for, for going
on with the search of a week, and for verifying and comparing."""

SHARE_OF_COMPARISONS, SHARE_OF_PLAN_BESIDE = 0.08, 0.3
"""Of a limit, and of what the plan took if that is more: what comparisons may use. A thorough answer uses it up."""

SHARE_OF_TIME: Final = 0.15
"""Of a limit of time, for the plan and comparisons, which have less where the plan took most of that."""

OPTIMIZE_PHASES = ("predicting", "solving", "simulating", "verifying", "comparing", "varying")


class Stopwatch:
    """Announces phases and adds up their wall time, which is reported and never used."""

    def __init__(self, progress: Progress | None) -> None:
        self.begin = progress or silent
        self.seconds = 0.0

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Says that a phase begins and times it."""
        self.begin(name)
        started = time.perf_counter()
        yield
        self.seconds += time.perf_counter() - started


def optimize(
    scenario: Scenario,
    catalogs: Catalogs,
    *,
    time_limit_s: float | None = None,
    work_limit: int | None = None,
    max_memory_gb: float | None = None,
    progress: Progress | None = None,
    best_and_bound: BestAndBound | None = None,
    thorough: bool = False,
    kept: PriceFree | None = None,
) -> PlanReport:
    """The cheapest plan for a scenario, or the proof that none exists with the nearest misses and ways out.

    Args:
        scenario: What is asked.
        catalogs: What is known.
        time_limit_s: For all of it; without proof in time the outcome is `feasible` or `unproven`.
        work_limit: The same in simplex iterations, which end at the same place on every machine.
        max_memory_gb: What the process may hold before the search ends as if time were up; by default most of the
            machine's memory.
        progress: Told the name of each phase (`OPTIMIZE_PHASES`) as it begins.
        best_and_bound: Told USD a month of the best plan so far, where there is one, and what no plan undercuts.
        thorough: Whether to vary every limit and find how far each and the prices may move before the plan changes;
            otherwise only what binds and the demand are moved by a step.
        kept: What was predicted and simulated for reports before this one, on catalogs with other prices; this one's
            is kept there, too. The report is the same without.

    Returns:
        The plan with its proof, its verification and its explanation; without a plan, why there is none.

    Raises:
        InputError: the scenario names what the catalogs do not know.
        LimitReached: all the memory that is allowed was used before anything was searched.
        VerificationFailed: the plan did not survive independent arithmetic.
        SolverFailure: the solver ended without an answer it can stand for.
    """
    clock = Clock(time_limit_s, work_limit, memory=Memory(max_memory_gb))
    found = optimized(scenario, catalogs, clock, progress, best_and_bound=best_and_bound, thorough=thorough, kept=kept)
    return found.report


@dataclass(frozen=True)
class Optimized:
    """A report with the solved question behind it, and the plan that it tells of, where there is one."""

    report: PlanReport
    answer: Answer
    bought: PlannedFleet | None


def optimized(
    scenario: Scenario,
    catalogs: Catalogs,
    clock: Clock,
    progress: Progress | None = None,
    *,
    best_and_bound: BestAndBound | None = None,
    thorough: bool = False,
    first_page: bool = False,
    kept: PriceFree | None = None,
) -> Optimized:
    """What `optimize` says, on the clock of whoever asks more than that; of `first_page` what that page tells alone."""
    refuse(check_scenario(scenario, catalogs))
    watch = Stopwatch(progress)
    with watch.phase("predicting"):
        inquiry = Inquiry.of(scenario, catalogs, clock, kept)
        counts = census(inquiry.options, inquiry.market)
    with watch.phase("solving"):
        share = SHARE_OF_WEEK if inquiry.over_time else SHARE_OF_PLAN
        asked_first = replace(inquiry, clock=clock.share(share), best_and_bound=best_and_bound)
        answer = first_answer(asked_first)
        inquiry = answer.inquiry
    if answer.solution.outcome not in ("optimal", "feasible"):
        with watch.phase("comparing"):
            explanation = without_plan(answer, inquiry.beside_a_plan(clock), counts)
        unverified = Verification(passed=None, checks=[])
        return Optimized(_report(answer, counts, watch, explanation, unverified, None, None), answer, None)
    with watch.phase("simulating"):
        held = tried(asked_first, answer, clock)
        answer, bought, inquiry = held.answer, held.bought, held.answer.inquiry
        cheapest_holds = None
        if answer.cheapest is not None and held.simulation is not None and not clock.expired:
            cheapest_holds = held_answer(inquiry, answer.cheapest, None) is not None
    with watch.phase("verifying"):
        simplicity = simplicity_of(answer, bought, cheapest_holds=cheapest_holds)
        verification = verified(inquiry, bought, simplicity)
    beside = inquiry.beside_a_plan(clock if thorough else _for_comparing(clock), answer.complexity)
    with watch.phase("comparing"):
        explanation = explained(answer, beside, bought, counts, simplicity, first_page=first_page)
    with watch.phase("varying"):
        if not first_page:
            explanation = with_variations(explanation, answer, beside, bought, thorough=thorough)
    report = _report(answer, counts, watch, explanation, verification, bought, simplicity)
    return Optimized(report.model_copy(update={"simulation": held.simulation}), answer, bought)


def _for_comparing(clock: Clock) -> Clock:
    """What may be spent beside a plan: a share of what was spent on it, or of the limit where that is more."""
    seconds, work, spent_s = clock.time_limit_s, clock.work_limit, clock.spent_s
    left_s = None if seconds is None else min(SHARE_OF_COMPARISONS * seconds, SHARE_OF_TIME * seconds - spent_s)
    return clock.part(
        None if left_s is None else max(SHARE_OF_PLAN_BESIDE * spent_s, left_s),
        None if work is None else math.ceil(max(SHARE_OF_PLAN_BESIDE * clock.spent_work, SHARE_OF_COMPARISONS * work)),
    )


def verified(inquiry: Inquiry, bought: PlannedFleet, simplicity: Simplicity | None = None) -> Verification:
    """The checks of a plan, and of what it costs for being simple where that is told, all of which hold.

    Raises:
        VerificationFailed: one does not.
    """
    found = verify(inquiry.scenario, inquiry.catalogs, bought, simplicity=simplicity, avoided=inquiry.avoided)
    return confirmed(found, f"the plan for {inquiry.scenario.name} is withheld, it breaks its promises")


def _report(
    answer: Answer,
    counts: Census,
    watch: Stopwatch,
    explanation: Explanation,
    verification: Verification,
    bought: PlannedFleet | None,
    simplicity: Simplicity | None,
) -> PlanReport:
    solution, inquiry, fleet = answer.solution, answer.inquiry, bought or PlannedFleet()
    total = None if bought is None else bought.monthly_cost_usd
    least = simplicity.cheapest.monthly_cost_usd if simplicity and simplicity.cheapest else total
    mixing = mixing_of(answer)
    eliminated = {SAME_PLATFORM: (answer.cheapest or answer).formulation.same_platform, **solution.eliminated}
    return PlanReport(
        scenario=inquiry.scenario.name,
        asked=tuple(asked(inquiry.scenario)),
        outcome=solution.outcome,
        monthly_cost_usd=total,
        cheapest_usd=least,
        simplicity=simplicity,
        accepted=tuple(accepted_of(inquiry, fleet, explanation.benchmark)),
        bound_usd=proven_usd(solution, least),
        bound_of=bound_of(answer),
        relative_gap=solution.relative_gap,
        scope=scope_of(answer),
        catalog_as_of=inquiry.catalogs.as_of,
        prices_as_of=PriceDays.of(fleet.deployments, fleet.hosted),
        confidence=inquiry.scenario.policy.confidence,
        solver=SolverFacts(
            name=solution.solver,
            reason=reason_of(answer),
            candidates_evaluated=counts.evaluated,
            candidates_kept=counts.kept,
            columns_solved=solution.columns_solved,
            eliminated={name: eliminated[name] for name in sorted(eliminated)},
            mixes_between=mixing.predicted_mixes,
            mixes_settled=mixing.settled,
            classes_joined=mixing.joined,
            rounds=answer.rounds,
            wall_s=round(watch.seconds, 3),
        ),
        deployments=fleet.deployments,
        purchases=fleet.purchases,
        hosted=fleet.hosted,
        periods=fleet.periods,
        placement=fleet.placement,
        containers=fleet.containers,
        migration=fleet.migration,
        costs=costs(bought, inquiry.scenario.policy) if bought else None,
        explanation=explanation,
        verification=verification,
        inputs=inputs_of(inquiry.scenario, inquiry.catalogs),
    )


def proven_usd(solution: Solution, total: Decimal | None) -> Decimal | None:
    """What no plan undercuts: the cost of the cheapest where that is proven, else the solver's bound rounded down."""
    if total is None or solution.bound_usd_per_month is None:
        return None
    return (
        total if solution.relative_gap == 0 else Decimal(repr(solution.bound_usd_per_month)).quantize(CENT, ROUND_FLOOR)
    )

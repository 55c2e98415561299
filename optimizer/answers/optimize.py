"""The main question: the cheapest plan that meets a scenario, proven, verified and explained."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import ROUND_FLOOR, Decimal

from optimizer.base.errors import InputError, VerificationFailed
from optimizer.base.progress import Progress, silent
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.scenario.checks import check_scenario
from optimizer.inputs.scenario.scenario import Scenario
from optimizer.plan.explain.alternatives import (
    central_prediction,
    insurance,
    next_best,
    opportunities,
    rule_of_thumb,
    summarized,
)
from optimizer.plan.explain.binding import requirements, with_deciding
from optimizer.plan.explain.breakpoints import limit_breakpoints, price_breakpoints
from optimizer.plan.explain.levers import levers
from optimizer.plan.explain.marginal import marginal_values, worth_moving
from optimizer.plan.explain.ways_out import ways_out
from optimizer.plan.grounds.exposure import exposure
from optimizer.plan.grounds.rejections import Census, census, nearest_misses
from optimizer.plan.grounds.warnings import warnings
from optimizer.plan.question.inquiry import Answer, Inquiry
from optimizer.plan.question.narrowing import narrowed
from optimizer.plan.readback.costs import costs
from optimizer.plan.readback.readback import read_back
from optimizer.plan.record.explanation import Breakpoint, Explanation, Exposure, MarginalValue
from optimizer.plan.record.fields import CENT
from optimizer.plan.record.fleet import PlannedFleet
from optimizer.plan.record.origin import inputs_of
from optimizer.plan.record.report import PlanReport, SolverFacts, Verification
from optimizer.plan.verify.verify import verify
from optimizer.program.problem.formulate import SAME_PLATFORM
from optimizer.program.solve import Solution

PHASES = ("predicting", "solving", "verifying", "comparing", "varying")


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
    progress: Progress | None = None,
    thorough: bool = False,
) -> PlanReport:
    """The cheapest plan for a scenario, or the proof that none exists with the nearest misses and ways out.

    Args:
        scenario: What is asked.
        catalogs: What is known.
        time_limit_s: For each solve; without proof in time the outcome is `feasible` or `unproven`.
        progress: Told the name of each phase (`PHASES`) as it begins.
        thorough: Whether to vary every limit and find how far each and the prices may move before the plan changes;
            otherwise only what binds and the demand are moved by a step.

    Returns:
        The plan with its proof, its verification and its explanation; without a plan, why there is none.

    Raises:
        InputError: the scenario names what the catalogs do not know.
        VerificationFailed: the plan did not survive independent arithmetic.
        SolverFailure: the solver ended without an answer it can stand for.
    """
    findings = check_scenario(scenario, catalogs)
    if findings:
        raise InputError(findings)
    watch = Stopwatch(progress)
    with watch.phase("predicting"):
        inquiry = Inquiry.of(scenario, catalogs, time_limit_s)
        counts = census(inquiry.options, inquiry.market)
    with watch.phase("solving"):
        answer = inquiry.solved()
        inquiry = answer.inquiry
    if answer.solution.outcome not in ("optimal", "feasible"):
        with watch.phase("comparing"):
            explanation = _without_plan(answer, counts)
        return _report(answer, counts, watch, explanation, Verification(passed=None, checks=[]), None)
    bought = read_back(answer)
    with watch.phase("verifying"):
        verification = verified(inquiry, bought)
    with watch.phase("comparing"):
        explanation = _explained(answer, bought, counts)
    with watch.phase("varying"):
        explanation = explanation.model_copy(update=_variations(answer, bought, explanation, thorough))
    return _report(answer, counts, watch, explanation, verification, bought)


def verified(inquiry: Inquiry, bought: PlannedFleet) -> Verification:
    """The checks of a plan, all of which hold.

    Raises:
        VerificationFailed: one does not.
    """
    verification = verify(inquiry.scenario, inquiry.catalogs, bought)
    if not verification.passed:
        wrong = "; ".join(f"{check.name}: {check.text}" for check in verification.checks if not check.passed)
        raise VerificationFailed(f"the plan for {inquiry.scenario.name} is withheld, it breaks its promises: {wrong}")
    return verification


def _explained(answer: Answer, bought: PlannedFleet, counts: Census) -> Explanation:
    inquiry = answer.inquiry.for_comparison()
    scenario, few = inquiry.scenario, narrowed(inquiry)
    promises = insurance(inquiry, bought)
    limits = with_deciding(few, bought, requirements(scenario, inquiry.catalogs, bought), promises)
    return Explanation(
        summary=_summary(answer, bought),
        binding=[item for item in limits if item.binding],
        requirements=limits,
        alternatives=sorted(
            next_best(few, bought), key=lambda item: (item.monthly_cost_usd is None, item.monthly_cost_usd)
        ),
        opportunities=[
            *promises.values(),
            *opportunities(inquiry, bought),
            *central_prediction(few, bought),
        ],
        baselines=list(rule_of_thumb(few, bought)),
        rejected=counts.rejected,
        nearest_misses=[],
        conflict=[],
        relaxations=[],
        marginal_values=[],
        breakpoints=[],
        exposure=None,
        warnings=warnings(scenario, inquiry.catalogs, bought, answer.formulation.periods),
    )


def _variations(
    answer: Answer, bought: PlannedFleet, explanation: Explanation, thorough: bool
) -> dict[str, list[MarginalValue] | list[Breakpoint] | Exposure]:
    """What a step of a limit costs, how far it may go and what all rests on; less where nobody would wait for it."""
    inquiry = answer.inquiry
    if inquiry.for_comparison().close_enough and not thorough:
        return {}
    limits, few = explanation.requirements, narrowed(inquiry)
    every = levers(inquiry.scenario, inquiry.options, bought.deployments)
    moved = every if thorough else worth_moving(every, limits)
    points = [*limit_breakpoints(few, bought, every), *price_breakpoints(few, bought)] if thorough else []
    values = list(marginal_values(few, bought, limits, moved))
    rests_on = {"exposure": exposure(answer, bought)} if thorough else {}
    return {"marginal_values": values, "breakpoints": points, **rests_on}


def _summary(answer: Answer, bought: PlannedFleet) -> str:
    proof = "proven optimal" if answer.solution.outcome == "optimal" else f"within {answer.solution.relative_gap:.2%}"
    name = answer.inquiry.scenario.name
    return f"${bought.monthly_cost_usd:,.2f} a month for {name}, {proof}: {summarized(bought)}."


def _without_plan(answer: Answer, counts: Census) -> Explanation:
    inquiry, proven = answer.inquiry, answer.solution.outcome == "infeasible"
    conflict, relaxations = ways_out(inquiry) if proven else ([], [])
    verdict = "No plan meets" if proven else "No plan was found in time for"
    kept = f"{counts.kept:,} of {counts.evaluated:,} candidates meet the service levels"
    way = f" Cheapest way out: {relaxations[0].text}." if relaxations else ""
    return Explanation(
        summary=f"{verdict} {inquiry.scenario.name}: {answer.solution.reason}; {kept}.{way}",
        binding=[],
        requirements=[],
        alternatives=[],
        opportunities=[],
        baselines=[],
        rejected=counts.rejected,
        nearest_misses=nearest_misses(inquiry.options, inquiry.market),
        conflict=conflict,
        relaxations=relaxations,
        marginal_values=[],
        breakpoints=[],
        exposure=None,
        warnings=[],
    )


def _report(
    answer: Answer,
    counts: Census,
    watch: Stopwatch,
    explanation: Explanation,
    verification: Verification,
    bought: PlannedFleet | None,
) -> PlanReport:
    solution, inquiry, fleet = answer.solution, answer.inquiry, bought or PlannedFleet()
    total = None if bought is None else bought.monthly_cost_usd
    eliminated = {SAME_PLATFORM: answer.formulation.same_platform, **solution.eliminated}
    return PlanReport(
        scenario=inquiry.scenario.name,
        outcome=solution.outcome,
        monthly_cost_usd=total,
        bound_usd=_bound_usd(solution, total),
        relative_gap=solution.relative_gap,
        catalog_as_of=inquiry.catalogs.as_of,
        confidence=inquiry.scenario.policy.confidence,
        solver=SolverFacts(
            name=solution.solver,
            reason=solution.reason,
            candidates_evaluated=counts.evaluated,
            candidates_kept=counts.kept,
            columns_solved=solution.columns_solved,
            eliminated={name: eliminated[name] for name in sorted(eliminated)},
            mixes_between=inquiry.mixes_between(),
            rounds=answer.rounds,
            wall_s=round(watch.seconds, 3),
        ),
        deployments=fleet.deployments,
        purchases=fleet.purchases,
        hosted=fleet.hosted,
        periods=fleet.periods,
        migration=fleet.migration,
        costs=costs(bought) if bought else None,
        explanation=explanation,
        verification=verification,
        inputs=inputs_of(inquiry.scenario, inquiry.catalogs),
    )


def _bound_usd(solution: Solution, total: Decimal | None) -> Decimal | None:
    """What no plan undercuts: the plan's own cost where that is proven, else the solver's bound rounded down."""
    if total is None or solution.bound_usd_per_month is None:
        return None
    return (
        total if solution.relative_gap == 0 else Decimal(repr(solution.bound_usd_per_month)).quantize(CENT, ROUND_FLOOR)
    )

"""`experiment`: which benchmark run to buy first, by what its results would save less what the run costs."""

import operator
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Final, Literal

from pydantic import Field

from optimizer.answers.planning.tried import SimulatedPlan, confirmed_plan
from optimizer.base.clock import Clock
from optimizer.base.errors import Finding, InputError, refuse
from optimizer.base.memory import Memory
from optimizer.base.model import Strict
from optimizer.base.progress import Progress, silent
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.scenario.checks import check_scenario
from optimizer.inputs.scenario.scenario import Scenario
from optimizer.plan.experiment.prospects import RESULTS, Prospect, Prospects
from optimizer.plan.experiment.trials import Trial, Trials, tried
from optimizer.plan.grounds.benchmark import commands_of, configuration_of, limits_in_words, load_in_words
from optimizer.plan.question.inquiry import COMPARISON_GAP, Inquiry
from optimizer.plan.readback.outline import outlined
from optimizer.plan.readback.summary import summarized
from optimizer.plan.record.fields import Figure, Outcome, Usd
from optimizer.plan.record.fleet import Outline, PlannedFleet

SCHEMA_VERSION: Final = 1
BUDGET_USD: Final = 50.0
MOST_BUDGET_USD: Final = 10**12
SHARE_OF_PLAN: Final = 0.4
"""Of a limit, for the plan that results are held against."""
EXPERIMENT_PHASES: Final = ("predicting", "solving", "experimenting")


class ExperimentResult(Strict):
    """One result that a run may have, all equally likely, and what it would come to."""

    probability: Figure
    plan_too_small: bool
    """Whether today's plan breaks a promise at the scenario's confidence where this is true."""
    blind_usd: Usd | None
    """A month of the plan one would run without knowing: today's, or more of the same where that is too small; None
    where more of the same keeps no promise."""
    knowing_usd: Usd | None
    """A month of the best plan, knowing; None where none keeps its promises."""
    saves_usd: Usd
    """The difference, less what the cheapest plan of today saves without any run where the best plan has more to
    operate or leaves what runs already; 0 where one of the two is not to be had."""
    becomes: str
    """That plan in a phrase; empty where it is today's."""


class ExperimentRun(Strict):
    """A benchmark run: of what, for how much, and what it is expected to save."""

    configuration: str
    workload: str
    model: str
    engine: str
    gpu: str
    precision: str
    kv_precision: str
    speculation: str = Field(default="", exclude_if=operator.not_)
    tensor_parallel: int
    pipeline_parallel: int
    in_plan: bool
    performance: Literal["measured", "calibrated", "estimated"]
    """What its prediction rests on today."""
    price_usd: Usd
    hours: Figure
    """That every instance is paid for: start, warming up and requests, or the least time that is billed."""
    instances: int
    provider: str
    pricing_term: str
    expected_saving_usd_per_month: Usd
    net_usd: Usd
    """What the first month is expected to save, less the price."""
    chance_plan_changes: Figure
    chance_plan_too_small: Figure
    results: list[ExperimentResult]
    """From the best to the worst; those that there was no time for are left out and save nothing."""
    results_left_out: int
    load: str
    """What one replica is sent: as much as in the plan that most good results lead to, where that uses it."""
    limits: str
    """What must be kept at the replica."""
    decides: str
    """What is so if they are kept."""
    at_todays_load: bool
    command: str
    """Of vLLM's own load generator, which sends to any engine."""


class ExperimentReport(Strict):
    """The runs worth buying, the one with the largest saving less its price first."""

    schema_version: int = SCHEMA_VERSION
    scenario: str
    confidence: Figure
    budget_usd: Usd
    outcome: Outcome
    """Of the plan that results are held against."""
    monthly_cost_usd: Usd | None
    plan: str
    """The same in a phrase."""
    runs: list[ExperimentRun]
    """Within the budget, each by itself."""
    over_budget: list[ExperimentRun]
    rest_saves_at_most_usd: Usd | None
    """A month, if all that is not listed were measured at its best at once; None where there was no time to tell."""
    compared_within_percent: Figure
    """Of the plan's cost: plans that differ by less are taken to be the same."""
    not_worked_out: list[str]


def experiment(
    scenario: Scenario,
    catalogs: Catalogs,
    *,
    budget_usd: float | Decimal = BUDGET_USD,
    time_limit_s: float | None = None,
    work_limit: int | None = None,
    progress: Progress | None = None,
) -> ExperimentReport:
    """Which benchmark run to buy first.

    Args:
        scenario: What is asked.
        catalogs: What is known.
        budget_usd: That no run may exceed.
        time_limit_s: For all of it.
        work_limit: The same in simplex iterations, which end at the same place on every machine.
        progress: Told the name of each phase (`EXPERIMENT_PHASES`) as it begins.

    Returns:
        The runs with what each of their results would come to; none where there is no plan to hold them against.

    Raises:
        InputError: the scenario names what the catalogs do not know, or the budget is no amount.
        LimitReached: all the memory that is allowed was used before anything was searched.
    """
    refuse(check_scenario(scenario, catalogs))
    budget = _budget(budget_usd)
    begin, clock = progress or silent, Clock(time_limit_s, work_limit, memory=Memory())
    begin("predicting")
    inquiry = Inquiry.of(scenario, catalogs, clock.share(SHARE_OF_PLAN))
    begin("solving")
    found = confirmed_plan(inquiry)
    if not isinstance(found, SimulatedPlan):
        return _report(scenario, budget, found.solution.outcome)
    begin("experimenting")
    beside = found.answer.inquiry.beside_a_plan(clock, found.answer.complexity)
    prospects = Prospects.of(beside, found.answer, found.bought)
    trials = tried(prospects)
    runs = [_run(each, found.bought) for each in sorted(trials.found, key=_most_worth_first)]
    return _report(
        scenario,
        budget,
        found.answer.solution.outcome,
        bought=found.bought,
        runs=runs,
        left_usd=trials.left_usd,
        within=COMPARISON_GAP if prospects.today.close_enough else 0.0,
        not_worked_out=list(_not_worked_out(trials)),
    )


def _budget(usd: float | Decimal) -> Decimal:
    """The budget as money. Raises InputError: it is none."""
    budget = Decimal(str(usd))
    if not budget.is_finite() or not 0 <= budget <= MOST_BUDGET_USD:
        problem = f"'{usd}' is not a finite number of at least 0 and at most {MOST_BUDGET_USD}"
        raise InputError([Finding("experiment", 0, "budget_usd", problem)])
    return budget


def _report(
    scenario: Scenario,
    budget_usd: Decimal,
    outcome: Outcome,
    *,
    bought: PlannedFleet | None = None,
    runs: Sequence[ExperimentRun] = (),
    left_usd: Decimal | None = None,
    within: float = 0.0,
    not_worked_out: Sequence[str] = (),
) -> ExperimentReport:
    return ExperimentReport(
        scenario=scenario.name,
        confidence=scenario.policy.confidence,
        budget_usd=budget_usd,
        outcome=outcome,
        monthly_cost_usd=None if bought is None else bought.monthly_cost_usd,
        plan="" if bought is None else summarized(bought),
        runs=[run for run in runs if run.price_usd <= budget_usd],
        over_budget=[run for run in runs if run.price_usd > budget_usd],
        rest_saves_at_most_usd=left_usd,
        compared_within_percent=within * 100,
        not_worked_out=list(not_worked_out),
    )


def _not_worked_out(trials: Trials) -> Iterator[str]:
    """What a limit of the clock left out, in words."""
    results = sum(each.results_left_out for each in trials.found)
    if results:
        noun = "result" if results == 1 else "results"
        yield f"{results} {noun} of runs: not worked out, the {trials.reached} was reached"
    for subject in trials.untried:
        yield f"{subject.words}, in the plan: not worked out, the {trials.reached} was reached"
    if trials.reached is not None and trials.left_usd is None:
        yield f"runs of what the plan does not use: not looked for, the {trials.reached} was reached"
    elif trials.reached is not None:
        yield f"some runs of what the plan does not use: not looked at, the {trials.reached} was reached"


def _most_worth_first(trial: Trial) -> tuple[object, ...]:
    """The largest saving less its price, of equals the one that is likelier to change something, then by name."""
    return -trial.net_usd, -trial.chance_of_change, trial.subject


def _run(trial: Trial, bought: PlannedFleet) -> ExperimentRun:
    d, subject = trial.runs[0].d, trial.subject
    return ExperimentRun(
        configuration=configuration_of(trial.runs[0]),
        workload=subject.workload,
        model=d.model,
        engine=d.engine,
        gpu=d.gpu,
        precision=d.precision,
        kv_precision=d.kv_precision,
        speculation=d.speculation,
        tensor_parallel=d.tensor_parallel,
        pipeline_parallel=d.pipeline_parallel,
        in_plan=trial.in_plan,
        performance=d.provenance.performance,
        price_usd=trial.price.usd,
        hours=trial.price.hours,
        instances=trial.price.instances,
        provider=d.provider,
        pricing_term=trial.price.pricing_term,
        expected_saving_usd_per_month=trial.expected_usd,
        net_usd=trial.net_usd,
        chance_plan_changes=trial.chance_of_change,
        chance_plan_too_small=trial.chance_too_small,
        results=list(_results(trial, bought)),
        results_left_out=trial.results_left_out,
        load=load_in_words(trial.runs),
        decides=_decides(trial, bought),
        at_todays_load=trial.decides is None,
        limits=limits_in_words(trial.runs) or "no failed request",
        command=commands_of(trial.runs),
    )


def _decides(trial: Trial, bought: PlannedFleet) -> str:
    if trial.decides is None:
        return "today's plan stands"
    return f"${trial.decides.knowing_usd:,.2f} a month would do, {_becomes(trial.decides, bought)}"


def _results(trial: Trial, bought: PlannedFleet) -> Iterator[ExperimentResult]:
    for each in trial.by_result:
        yield ExperimentResult(
            probability=1 / RESULTS,
            plan_too_small=each.too_small,
            blind_usd=each.blind_usd,
            knowing_usd=each.knowing_usd,
            saves_usd=each.saved_usd,
            becomes=_becomes(each, bought),
        )


def _becomes(prospect: Prospect, bought: PlannedFleet) -> str:
    """The plan in a phrase, with its engines where only these tell it from today's."""
    if prospect.answer is None or prospect.knowing_usd is None:
        return ""
    other: Outline = outlined(prospect.answer)
    phrase, engines = summarized(other), _engines(other)
    if phrase != summarized(bought):
        return phrase
    return f"{phrase}, in other shares" if engines == _engines(bought) else f"{phrase} with {' and '.join(engines)}"


def _engines(plan: Outline) -> list[str]:
    return sorted({d.engine for d in plan.deployments})

"""The life of a deployment: training once and again, serving re-planned as demand grows, month by month."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal

from optimizer.answers.lifecycle.arithmetic import cumulative_usd, inference_share, overtaking_month
from optimizer.answers.lifecycle.training import PricedRun, priced, training_cost
from optimizer.answers.lifecycle.types import LifecycleReport, MonthOfLife, TrainingCost
from optimizer.answers.optimize import verified
from optimizer.base.errors import Finding, InputError
from optimizer.base.units import (
    GRAMS_PER_KILOGRAM,
    HOURS_PER_MONTH,
    SECONDS_PER_MONTH,
    TOKENS_PER_MILLION,
    WATTS_PER_KILOWATT,
)
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.scenario.checks import check_scenario
from optimizer.inputs.scenario.scenario import Grid, Lifecycle, Scenario, Workload
from optimizer.plan.explain.alternatives import summarized
from optimizer.plan.question.inquiry import Inquiry
from optimizer.plan.question.narrowing import narrowed
from optimizer.plan.readback.readback import read_back
from optimizer.plan.record.fields import Outcome
from optimizer.plan.record.fleet import Deployment, PlannedFleet

PROVEN_FIRST: tuple[Outcome, ...] = ("optimal", "feasible", "infeasible", "unproven", "failed")
Progress = Callable[[str], None]


@dataclass(frozen=True)
class Fleet:
    """What serves one level of demand; without a plan `bought` is None and `reason` says why."""

    outcome: Outcome
    reason: str
    bought: PlannedFleet | None


def lifecycle(
    scenario: Scenario, catalogs: Catalogs, *, time_limit_s: float | None = None, progress: Progress | None = None
) -> LifecycleReport:
    """Training and serving of a scenario over the months of its `lifecycle`, each fleet solved for its own demand.

    Args:
        scenario: With a `lifecycle` section.
        catalogs: What is known.
        time_limit_s: For each solve.
        progress: Told `phase_of` each month that is planned.

    Raises:
        InputError: no `lifecycle` section, names that the catalogs do not know, a run without any price.
        VerificationFailed: a fleet did not survive independent arithmetic.
    """
    life = scenario.lifecycle
    if life is None:
        hint = "add for example lifecycle: {months: 12, growth_percent_per_month: 5}"
        raise InputError([Finding("scenario", 0, "lifecycle", "is missing", hint)])
    findings = check_scenario(scenario, catalogs)
    if findings:
        raise InputError(findings)
    inquiry = Inquiry.of(scenario, catalogs, time_limit_s)
    runs = [priced(run, inquiry.market) for run in life.training]
    months = _added_up(runs, list(_months(narrowed(inquiry), life, runs, progress)))
    grid = scenario.policy.grid
    training = [training_cost(run, life.months, catalogs, grid) for run in runs]
    return _report(inquiry, life, runs, training, months)


def phase_of(month: int) -> str:
    """What `progress` is told as a month's fleet is planned."""
    return f"month {month}"


def growth_factor(growth_percent_per_month: float, month: int) -> float:
    """Demand of a month, counted from 1, over that of the first."""
    return float((1 + growth_percent_per_month / 100) ** (month - 1))


def grown(scenario: Scenario, factor: float) -> Scenario:
    """The scenario with every workload's rate multiplied."""
    return scenario.model_copy(update={"workloads": tuple(_grown(each, factor) for each in scenario.workloads)})


def _grown(workload: Workload, factor: float) -> Workload:
    if workload.requests_per_second is not None:
        return workload.model_copy(update={"requests_per_second": workload.requests_per_second * factor})
    demand = workload.demand
    if demand is None:
        raise ValueError(f"the trace of workload {workload.name} was not loaded")
    week, peak = demand.weekly_requests_per_second, demand.peak_requests_per_second
    scaled = {
        "weekly_requests_per_second": None if week is None else tuple(rate * factor for rate in week),
        "peak_requests_per_second": None if peak is None else peak * factor,
    }
    return workload.model_copy(update={"demand": demand.model_copy(update=scaled)})


def _months(
    inquiry: Inquiry, life: Lifecycle, runs: Sequence[PricedRun], progress: Progress | None
) -> Iterator[MonthOfLife]:
    """Every month but for its cumulative spend; a fleet is planned for the busiest of the months it is kept for."""
    fleets: dict[float, Fleet] = {}
    for month in range(1, life.months + 1):
        first = month - (month - 1) % life.replan_every_months
        kept_for = range(first, min(first + life.replan_every_months, life.months + 1))
        busiest = max(growth_factor(life.growth_percent_per_month, each) for each in kept_for)
        if busiest not in fleets:
            if progress is not None:
                progress(phase_of(month))
            fleets[busiest] = _fleet(inquiry.changed(grown(inquiry.scenario, busiest)))
        now = grown(inquiry.scenario, growth_factor(life.growth_percent_per_month, month))
        yield _month(month, now, fleets[busiest], runs)


def _fleet(inquiry: Inquiry) -> Fleet:
    answer = inquiry.solved()
    outcome = answer.solution.outcome
    if outcome not in ("optimal", "feasible"):
        return Fleet(outcome, answer.solution.reason, None)
    bought = read_back(answer)
    verified(inquiry, bought)
    return Fleet(outcome, answer.solution.reason, bought)


def _month(month: int, scenario: Scenario, fleet: Fleet, runs: Sequence[PricedRun]) -> MonthOfLife:
    """One month of a fleet, its cumulative spend left open."""
    bought, grid = fleet.bought, scenario.policy.grid
    peak = sum(_output_tokens(each) * each.peak_requests_per_second() for each in scenario.workloads)
    mean = sum(_output_tokens(each) * _mean_rate(each) for each in scenario.workloads)
    power = _power_kw(bought.deployments, grid) if bought else None
    serving = bought.monthly_cost_usd if bought else None
    tokens = Decimal(repr(mean)) * SECONDS_PER_MONTH / TOKENS_PER_MILLION
    return MonthOfLife(
        month=month,
        requests_per_second=sum(each.peak_requests_per_second() for each in scenario.workloads),
        outcome=fleet.outcome,
        plan=summarized(bought) if bought else fleet.reason,
        gpus=sum(each.gpus for each in bought.purchases) if bought else None,
        serving_usd=serving,
        training_usd=sum((run.usd_per_month for run in runs), Decimal(0)),
        storage_usd=sum((run.storage_usd(month) for run in runs), Decimal(0)),
        cumulative_usd=None,
        cost_per_million_output_tokens_usd=None if serving is None else serving / tokens,
        power_kw=power,
        energy_kwh=None if power is None else power * HOURS_PER_MONTH,
        carbon_kg=_carbon_kg(bought.deployments, grid) if bought else None,
        output_tokens_per_second=peak,
        tokens_per_second_per_watt=None if not power else peak / (power * WATTS_PER_KILOWATT),
    )


def _output_tokens(workload: Workload) -> float:
    return sum(item.share * item.output_tokens for item in workload.classes())


def _mean_rate(workload: Workload) -> float:
    week = workload.demand.weekly() if workload.demand is not None else (workload.peak_requests_per_second(),)
    return sum(week) / len(week)


def _power_kw(deployments: Sequence[Deployment], grid: Grid | None) -> float | None:
    """Rated power of all GPUs, times the facility's PUE where it is known."""
    drawn = [each.power_kw for each in deployments]
    facility = grid.pue if grid else 1.0
    return None if None in drawn else sum(power for power in drawn if power is not None) * facility


def _carbon_kg(deployments: Sequence[Deployment], grid: Grid | None) -> float | None:
    """A month of each deployment at rated power on the grid of its region; None where a figure is not known."""
    if grid is None:
        return None
    total = 0.0
    for each in deployments:
        intensity = grid.intensity_g_per_kwh(each.region)
        if intensity is None or each.power_kw is None:
            return None
        total += each.power_kw * grid.pue * HOURS_PER_MONTH * intensity / GRAMS_PER_KILOGRAM
    return total


def _report(
    inquiry: Inquiry,
    life: Lifecycle,
    runs: Sequence[PricedRun],
    training: Sequence[TrainingCost],
    months: Sequence[MonthOfLife],
) -> LifecycleReport:
    grid = inquiry.scenario.policy.grid
    trained = sum((run.cost_usd for run in training), Decimal(0))
    stored = sum((month.storage_usd for month in months), Decimal(0))
    served = [month.serving_usd for month in months]
    serving = None if None in served else sum((usd for usd in served if usd is not None), Decimal(0))
    return LifecycleReport(
        scenario=inquiry.scenario.name,
        outcome=max((month.outcome for month in months), key=PROVEN_FIRST.index),
        catalog_as_of=inquiry.catalogs.as_of,
        months=life.months,
        growth_percent_per_month=life.growth_percent_per_month,
        training=list(training),
        by_month=list(months),
        training_before_serving_usd=_before(runs),
        training_usd=trained,
        storage_usd=stored,
        serving_usd=serving,
        total_usd=None if serving is None else serving + trained + stored,
        inference_share=None if serving is None else float(inference_share(trained + stored, serving)),
        overtaking_month=_overtaking(runs, months),
        first_month_without_plan=next((month.month for month in months if month.serving_usd is None), None),
        energy_kwh=_whole([*(month.energy_kwh for month in months), *_of_runs(training, "energy_kwh_per_run")]),
        carbon_kg=_whole([*(month.carbon_kg for month in months), *_of_runs(training, "carbon_kg_per_run")]),
        pue=grid.pue if grid else None,
        notes=list(_notes(inquiry.scenario)),
    )


def _added_up(runs: Sequence[PricedRun], months: Sequence[MonthOfLife]) -> list[MonthOfLife]:
    """The months with their cumulative spend."""
    paid = [None if m.serving_usd is None else m.serving_usd + m.training_usd + m.storage_usd for m in months]
    totals = cumulative_usd(_before(runs), paid)
    return [month.model_copy(update={"cumulative_usd": total}) for month, total in zip(months, totals, strict=True)]


def _before(runs: Sequence[PricedRun]) -> Decimal:
    return sum((run.before_serving_usd for run in runs), Decimal(0))


def _overtaking(runs: Sequence[PricedRun], months: Sequence[MonthOfLife]) -> int | None:
    """Serving against all training up to the same month."""
    trained = cumulative_usd(_before(runs), [month.training_usd for month in months])
    return overtaking_month(trained, cumulative_usd(Decimal(0), [month.serving_usd for month in months]))


def _of_runs(training: Sequence[TrainingCost], field: str) -> Iterator[float | None]:
    """A figure of a run times its runs."""
    for run in training:
        figure: float | None = getattr(run, field)
        yield None if figure is None else figure * run.runs


def _whole(figures: Sequence[float | None]) -> float | None:
    """The sum, which is not known where a part is not."""
    return None if None in figures else sum(figure for figure in figures if figure is not None)


def _notes(scenario: Scenario) -> Iterator[str]:
    """What the figures leave out."""
    yield "power is the GPUs' rated power all month, an upper bound; hosts and networks are not counted"
    if scenario.policy.grid is None:
        yield "carbon is not known: give policy.grid: {g_co2_per_kwh: …, pue: …}"
    yield "prices stay as they are today"

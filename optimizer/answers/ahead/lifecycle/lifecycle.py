"""The life of a deployment: training once and again, serving re-planned as demand grows, month by month."""

from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Final, TypeVar

from optimizer.answers.ahead.lifecycle.arithmetic import cumulative_usd, inference_share, overtaking_month
from optimizer.answers.ahead.lifecycle.fleets import FleetAtDemand, Fleets, growth_factor
from optimizer.answers.ahead.lifecycle.training import PricedRun, priced, training_cost
from optimizer.answers.ahead.lifecycle.types import LifecycleReport, MonthOfLife, TrainingCost
from optimizer.base.clock import Clock
from optimizer.base.errors import Finding, InputError, refuse
from optimizer.base.memory import Memory
from optimizer.base.progress import Progress, silent
from optimizer.base.units import (
    GRAMS_PER_KILOGRAM,
    HOURS_PER_MONTH,
    SECONDS_PER_MONTH,
    TOKENS_PER_MILLION,
    WATTS_PER_KILOWATT,
)
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.scenario.checks import check_scenario, outgrown
from optimizer.inputs.scenario.scenario import Grid, Lifecycle, Scenario, Workload
from optimizer.performance.market.market import grid_g_per_kwh
from optimizer.plan.question.growing import grown
from optimizer.plan.question.inquiry import Inquiry
from optimizer.plan.readback.summary import summarized
from optimizer.plan.record.fields import Outcome
from optimizer.plan.record.fleet import Deployment
from optimizer.plan.record.simulation import BY_FORMULAS

PROVEN_FIRST: Final[tuple[Outcome, ...]] = ("optimal", "feasible", "infeasible", "unproven", "failed")
Figure = TypeVar("Figure", float, Decimal)


def lifecycle(
    scenario: Scenario,
    catalogs: Catalogs,
    *,
    time_limit_s: float | None = None,
    work_limit: int | None = None,
    progress: Progress | None = None,
) -> LifecycleReport:
    """Training and serving of a scenario over the months of its `lifecycle`, each fleet solved for its own demand.

    Args:
        scenario: With a `lifecycle` section.
        catalogs: What is known.
        time_limit_s: For all of it.
        work_limit: The same in simplex iterations, which end at the same place on every machine.
        progress: Told `phase_of` each month that is planned.

    Returns:
        Cost, power and carbon by month and in all, and the month in which serving overtakes training.

    Raises:
        InputError: no `lifecycle` section, names that the catalogs do not know, a run without any price, growth beyond
            what a scenario may ask for.
        VerificationFailed: a fleet did not survive independent arithmetic.
    """
    life = scenario.lifecycle
    if life is None:
        hint = "add for example lifecycle: {months: 12, growth_percent_per_month: 5}"
        raise InputError([Finding("scenario", 0, "lifecycle", "is missing", hint)])
    factors = [(month, growth_factor(life.growth_percent_per_month, month)) for month in range(1, life.months + 1)]
    refuse([*check_scenario(scenario, catalogs), *outgrown(scenario, factors)])
    inquiry = Inquiry.of(scenario, catalogs, Clock(time_limit_s, work_limit, memory=Memory()))
    runs = [priced(run, inquiry.market) for run in life.training]
    months = _added_up(runs, list(_months(inquiry, life, runs, progress or silent)))
    training = [training_cost(run, life.months, catalogs, scenario.policy.grid) for run in runs]
    return _report(inquiry, life, runs, training, months)


def phase_of(month: int) -> str:
    """What `progress` is told as a month's fleet is planned."""
    return f"month {month}"


def _months(inquiry: Inquiry, life: Lifecycle, runs: Sequence[PricedRun], begin: Progress) -> Iterator[MonthOfLife]:
    """Every month but for its cumulative spend; a fleet is planned for the busiest of the months it is kept for."""
    step, end = life.replan_every_months, life.months + 1
    kept_for = [range(month, min(month + step, end)) for month in range(1, end, step)]
    growth = {month: growth_factor(life.growth_percent_per_month, month) for month in range(1, end)}
    busiest = [max(growth[month] for month in months) for months in kept_for]
    fleets, planned = Fleets(inquiry), list[FleetAtDemand]()
    for number, months in enumerate(kept_for):
        if fleets.is_new(busiest[number]):
            begin(phase_of(months[0]))
        # what is left in equal shares for the fleets still to be planned
        planned.append(fleets.next(busiest[number], inquiry.clock.share(1 / (len(kept_for) - number))))
    again = fleets.in_time_left(busiest)
    for months, factor, first in zip(kept_for, busiest, planned, strict=True):
        fleet = again.get(factor, first)
        for month in months:
            demand = grown(fleet.scenario, growth[month] / factor)
            kept = fleet if month == months[0] else fleet.kept()
            yield _month(month, demand, kept, runs=runs, catalogs=inquiry.catalogs)


def _month(
    month: int, scenario: Scenario, fleet: FleetAtDemand, *, runs: Sequence[PricedRun], catalogs: Catalogs
) -> MonthOfLife:
    """One month of a fleet, its cumulative spend left open."""
    bought, grid, workloads = fleet.bought, scenario.policy.grid, scenario.workloads
    peak_tokens = sum(_output_tokens(each) * each.peak_requests_per_second() for each in workloads)
    mean_tokens = sum(_output_tokens(each) * _mean_rate(each) for each in workloads)
    millions = Decimal(repr(mean_tokens)) * SECONDS_PER_MONTH / TOKENS_PER_MILLION
    power_kw = _power_kw(bought.deployments, grid) if bought else None
    return MonthOfLife(
        month=month,
        requests_per_second=sum(each.peak_requests_per_second() for each in workloads),
        outcome=fleet.outcome,
        reason="" if fleet.outcome == "optimal" else fleet.reason,
        bound_usd=fleet.bound_usd,
        relative_gap=fleet.relative_gap,
        plan=summarized(bought) if bought else fleet.reason,
        gpus=sum(each.gpus for each in bought.purchases) if bought else None,
        serving_usd=fleet.usd,
        training_usd=sum((run.usd_per_month for run in runs), Decimal(0)),
        storage_usd=sum((run.storage_usd(month) for run in runs), Decimal(0)),
        cumulative_usd=None,
        cost_per_million_output_tokens_usd=None if fleet.usd is None else fleet.usd / millions,
        power_kw=power_kw,
        energy_kwh=None if power_kw is None else power_kw * HOURS_PER_MONTH,
        carbon_kg=_carbon_kg(bought.deployments, catalogs, grid) if bought else None,
        output_tokens_per_second=peak_tokens,
        tokens_per_second_per_watt=peak_tokens / (power_kw * WATTS_PER_KILOWATT) if power_kw else None,
    )


def _output_tokens(workload: Workload) -> float:
    return sum(item.share * item.output_tokens for item in workload.classes())


def _mean_rate(workload: Workload) -> float:
    week = workload.demand.weekly() if workload.demand is not None else (workload.peak_requests_per_second(),)
    return sum(week) / len(week)


def _power_kw(deployments: Sequence[Deployment], grid: Grid | None) -> float | None:
    """Rated power of all GPUs, times the facility's PUE where it is known."""
    rated_kw = _total([each.power_kw for each in deployments], 0.0)
    return None if rated_kw is None else rated_kw * (grid.pue if grid else 1.0)


def _carbon_kg(deployments: Sequence[Deployment], catalogs: Catalogs, grid: Grid | None) -> float | None:
    """A month of each deployment at rated power on the grid of its region; None where a figure is not known."""
    if grid is None:
        return None
    kilograms = []
    for each in deployments:
        grams_per_kwh = grid_g_per_kwh(catalogs, grid, each.provider, each.region)
        if each.power_kw is None or grams_per_kwh is None:
            return None
        kilograms.append(each.power_kw * grid.pue * HOURS_PER_MONTH * grams_per_kwh / GRAMS_PER_KILOGRAM)
    return sum(kilograms)


def _total(figures: Sequence[Figure | None], start: Figure) -> Figure | None:
    """The sum, which is not known where a part is not."""
    known = [figure for figure in figures if figure is not None]
    return sum(known, start) if len(known) == len(figures) else None


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
    serving = _total([month.serving_usd for month in months], Decimal(0))
    energy = [*(month.energy_kwh for month in months), *(_of_all_runs(run, run.energy_kwh_per_run) for run in training)]
    carbon = [*(month.carbon_kg for month in months), *(_of_all_runs(run, run.carbon_kg_per_run) for run in training)]
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
        energy_kwh=_total(energy, 0.0),
        carbon_kg=_total(carbon, 0.0),
        pue=grid.pue if grid else None,
        notes=list(_notes(inquiry.scenario)),
    )


def _of_all_runs(run: TrainingCost, figure: float | None) -> float | None:
    return None if figure is None else figure * run.runs


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


def _notes(scenario: Scenario) -> Iterator[str]:
    """What the figures leave out."""
    yield "power is the GPUs' rated power all month, an upper bound; hosts and networks are not counted"
    if scenario.policy.grid is None:
        yield "carbon is not known: give policy.grid: {pue: …}"
    yield "prices stay as they are today"
    if scenario.policy.migration is not None:
        yield "each fleet is moved to from the one before it, which is paid for in its first month"
    yield BY_FORMULAS

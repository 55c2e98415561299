"""The life of a deployment in words and tables: the total first, then the months, training, power and carbon."""

from collections.abc import Iterator
from textwrap import fill

from optimizer.answers.lifecycle.types import LifecycleReport, MonthOfLife, TrainingCost
from optimizer.base.units import HOURS_PER_DAY
from optimizer.report.layout.elements import Section, Table, money
from optimizer.report.layout.markdown import section_markdown
from optimizer.report.layout.text import DEFAULT_WIDTH, section_text

MOST_MONTHS_SHOWN = 24


def lifecycle_text(report: LifecycleReport) -> str:
    """The answer for a terminal, ending in a newline."""
    parts = [fill(summary(report), DEFAULT_WIDTH), *(section_text(section) for section in lifecycle_sections(report))]
    return "\n\n".join(parts) + "\n"


def lifecycle_markdown(report: LifecycleReport) -> str:
    """The answer as one Markdown document."""
    head = [f"# Life of {report.scenario}", summary(report)]
    return "\n\n".join([*head, *(section_markdown(section) for section in lifecycle_sections(report))]) + "\n"


def summary(report: LifecycleReport) -> str:
    """The total, its parts and the crossover, or the month from which nothing serves the demand."""
    if report.total_usd is None or report.serving_usd is None or report.inference_share is None:
        month = report.by_month[(report.first_month_without_plan or 1) - 1]
        return (
            f"No plan for {report.scenario} from month {month.month}, at {month.requests_per_second:.3g} req/s: "
            f"{month.plan}."
        )
    parts = [f"training {money(report.training_usd)}"]
    parts += [f"checkpoints {money(report.storage_usd)}"] if report.storage_usd else []
    parts += [f"serving {money(report.serving_usd)} ({report.inference_share:.1%})"]
    total = f"{money(report.total_usd)} over {report.months} months for {report.scenario}"
    return f"{total}: {', '.join(parts)}{_crossover(report)}."


def _crossover(report: LifecycleReport) -> str:
    if not report.training_usd:
        return ""
    found = report.overtaking_month
    return f"; serving overtakes training {f'in month {found}' if found else f'not within {report.months} months'}"


def lifecycle_sections(report: LifecycleReport) -> tuple[Section, ...]:
    """Months, training, other sizes of the runs, power, and what the figures leave out."""
    sections = [_months(report)]
    if report.training:
        sections += [Section("Training", (), _training(report.training))]
    sections += [_sizes(run) for run in report.training if run.scaling]
    return (*sections, _power(report), Section("Read with care", tuple(report.notes)))


def _months(report: LifecycleReport) -> Section:
    """Every month of a short life; of a long one the first and last, and those in which the plan changes."""
    growth = f"{report.growth_percent_per_month:+g} % a month" if report.growth_percent_per_month else "no growth"
    shown = report.by_month
    if len(shown) > MOST_MONTHS_SHOWN:
        shown = list(_turning_points(report.by_month))
    lines = [f"demand: {growth}"]
    if len(shown) < len(report.by_month):
        lines.append(f"{len(shown)} of {len(report.by_month)} months: first, last, and where the plan changes")
    headings = (">month", ">req/s", "plan", ">training", ">storage", ">serving", ">cumulative", ">$/M out")
    return Section("By month", tuple(lines), Table(headings, tuple(_month(month) for month in shown)))


def _turning_points(months: list[MonthOfLife]) -> Iterator[MonthOfLife]:
    for at, month in enumerate(months):
        if at in (0, len(months) - 1) or month.plan != months[at - 1].plan:
            yield month


def _month(month: MonthOfLife) -> tuple[str, ...]:
    unit = month.model_dump(mode="json")["cost_per_million_output_tokens_usd"]
    return (
        str(month.month),
        f"{month.requests_per_second:.3g}",
        month.plan,
        f"{month.training_usd:,.2f}" if month.training_usd else "",
        f"{month.storage_usd:,.2f}" if month.storage_usd else "",
        "no plan" if month.serving_usd is None else f"{month.serving_usd:,.2f}",
        "" if month.cumulative_usd is None else f"{month.cumulative_usd:,.2f}",
        unit or "",
    )


def _training(runs: list[TrainingCost]) -> Table:
    headings = ("run", "GPUs", ">hours", ">$/GPU-h", ">overhead", ">$ a run", ">runs", ">all runs", "price of")
    return Table(
        headings,
        tuple(
            (
                run.name,
                f"{run.gpus:,}× {run.gpu or 'GPU'}",
                f"{run.hours:,.4g}",
                f"{run.usd_per_gpu_hour:.4g}",
                f"{run.overhead_share:.0%}",
                f"{run.cost_per_run_usd:,.2f}",
                f"{run.runs:,.4g}",
                f"{run.cost_usd:,.2f}",
                run.price_source if run.price_as_of is None else f"{run.price_source}, {run.price_as_of}",
            )
            for run in runs
        ),
    )


def _sizes(run: TrainingCost) -> Section:
    """Time against cost over the numbers of GPUs that were tried."""
    rows = tuple(
        (
            f"{size.gpus:,}",
            f"{size.hours / HOURS_PER_DAY:,.3g}",
            f"{size.cost_usd:,.2f}",
            f"{size.efficiency:.0%}",
            "chosen" if size.chosen else "",
        )
        for size in run.scaling
    )
    lines = ("Efficiency: GPU-hours of the smallest size over those of this one.",)
    table = Table((">GPUs", ">days", ">$ a run", ">efficiency", ""), rows)
    return Section(f"{run.name} on more or fewer GPUs", lines, table)


def _power(report: LifecycleReport) -> Section:
    """The first and the last month, and the whole."""
    first, last = report.by_month[0], report.by_month[-1]
    facility = f"PUE {report.pue:g}" if report.pue is not None else "GPUs alone, no PUE given"
    rows = [
        ("power", _figure(first.power_kw), _figure(last.power_kw), "", "kW"),
        ("energy", _figure(first.energy_kwh), _figure(last.energy_kwh), _figure(report.energy_kwh), "kWh"),
        ("carbon", _figure(first.carbon_kg), _figure(last.carbon_kg), _figure(report.carbon_kg), "kg CO2"),
        ("output", _figure(first.output_tokens_per_second), _figure(last.output_tokens_per_second), "", "tokens/s"),
        (
            "output for power",
            _figure(first.tokens_per_second_per_watt),
            _figure(last.tokens_per_second_per_watt),
            "",
            "tokens/s per W",
        ),
    ]
    headings = ("", ">month 1", f">month {last.month}", ">all, with training", "unit")
    return Section("Power and carbon", (facility,), Table(headings, tuple(rows)))


def _figure(value: float | None) -> str:
    """Three significant digits, never fewer than the units."""
    if value is None:
        return "unknown"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"

"""The life of a deployment in words and tables: the total first, then the months, training, power and carbon."""

from collections.abc import Iterator, Mapping
from itertools import groupby, pairwise
from textwrap import fill
from typing import Final

from optimizer.answers.ahead.lifecycle.types import LifecycleReport, MonthOfLife, TrainingCost
from optimizer.base.figures import figure
from optimizer.base.units import HOURS_PER_DAY
from optimizer.plan.explain.simplicity import rounded_up_percent
from optimizer.report.layout.amounts import money
from optimizer.report.layout.columns import Cell, table_of
from optimizer.report.layout.elements import Section, Table
from optimizer.report.layout.markdown import section_markdown
from optimizer.report.layout.text import DEFAULT_WIDTH, section_text

MOST_MONTHS_SHOWN: Final = 24
MONTH_COLUMNS: Final[Mapping[str, Cell]] = {
    ">month": "{month}",
    ">req/s": "{requests_per_second:figure}",
    "plan": "{plan}",
    ">training": lambda month: f"{month.training_usd:,.2f}" if month.training_usd else "",
    ">storage": lambda month: f"{month.storage_usd:,.2f}" if month.storage_usd else "",
    ">serving": "{serving_usd:,.2f|no plan}",
    ">cumulative": "{cumulative_usd:,.2f}",
    ">$/M out": "{cost_per_million_output_tokens_usd:unit_price}",
}
TRAINING_COLUMNS: Final[Mapping[str, Cell]] = {
    "run": "{name}",
    "GPUs": "{gpus:,}× {gpu:|GPU}",
    ">hours": "{hours:rounded}",
    ">$/GPU-h": "{usd_per_gpu_hour:rounded}",
    ">overhead": "{overhead_share:.0%}",
    ">$ a run": "{cost_per_run_usd:,.2f}",
    ">runs": "{runs:rounded}",
    ">all runs": "{cost_usd:,.2f}",
    "price of": lambda run: run.price_source if run.price_as_of is None else f"{run.price_source}, {run.price_as_of}",
}
SIZE_COLUMNS: Final[Mapping[str, Cell]] = {
    ">GPUs": "{gpus:,}",
    ">days": lambda size: figure(size.hours / HOURS_PER_DAY),
    ">$ a run": "{cost_usd:,.2f}",
    ">efficiency": "{efficiency:.0%}",
    "": lambda size: "chosen" if size.chosen else "",
}


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
            f"No plan for {report.scenario} from month {month.month}, at {figure(month.requests_per_second)} req/s: "
            f"{month.plan}."
        )
    parts = [f"training {money(report.training_usd)}"]
    parts += [f"checkpoints {money(report.storage_usd)}"] if report.storage_usd else []
    parts += [f"serving {money(report.serving_usd)} ({report.inference_share:.1%})"]
    total = f"{money(report.total_usd)} over {report.months} months for {report.scenario}"
    return f"{total}: {', '.join(parts)}{_crossover(report)}.{_left_open(report)}"


def _left_open(report: LifecycleReport) -> str:
    """That not every month's plan is proven to be the cheapest."""
    months = sum(month.outcome == "feasible" for month in report.by_month)
    return f" {months} of {report.months} months are not proven to be the cheapest." if months else ""


def _crossover(report: LifecycleReport) -> str:
    if not report.training_usd:
        return ""
    found = report.overtaking_month
    return f"; serving overtakes training {f'in month {found}' if found else f'not within {report.months} months'}"


def lifecycle_sections(report: LifecycleReport) -> tuple[Section, ...]:
    """Months, training, other sizes of the runs, power, and what the figures leave out."""
    training = [Section("Training", table=table_of(report.training, TRAINING_COLUMNS))] if report.training else []
    sizes = [_sizes(run) for run in report.training if run.scaling]
    return _months(report), *training, *sizes, _power(report), Section("Read with care", tuple(report.notes))


def _months(report: LifecycleReport) -> Section:
    """Every month of a short life; of a long one the first and last, and those in which the plan changes."""
    percent = report.growth_percent_per_month
    growth = f"{figure(percent)} % growth a month" if percent else "no growth"
    months = report.by_month
    shown = months if len(months) <= MOST_MONTHS_SHOWN else _turning_points(months)
    fewer = f"{len(shown)} of {len(months)} months: first, last, and where the plan changes"
    known = (*_spent_before(months[0]), *_not_proven(months))
    lines = (f"demand: {growth}", *known, fewer if len(shown) < len(months) else "")
    return Section("By month", lines, table_of(shown, MONTH_COLUMNS))


def _spent_before(first: MonthOfLife) -> Iterator[str]:
    """What the first month's total counts beside what is spent in it."""
    if first.cumulative_usd is not None and first.serving_usd is not None:
        before_usd = first.cumulative_usd - first.serving_usd - first.training_usd - first.storage_usd
        if before_usd:
            yield f"training before month 1: {money(before_usd)}, counted in the cumulative cost"


def _not_proven(months: list[MonthOfLife]) -> Iterator[str]:
    """Months in a row whose plan may not be the cheapest: how far it may be above that, and why."""
    for text, alike in groupby(months, key=_how_far):
        first, *others = alike
        named = f"months {first.month} to {others[-1].month}" if others else f"month {first.month}"
        if text:
            yield f"{named}: {text}"


def _how_far(month: MonthOfLife) -> str:
    if month.outcome != "feasible" or month.serving_usd is None:
        return ""
    if not month.bound_usd:
        return f"how far above the cheapest is not known, {month.reason}"
    percent = rounded_up_percent(float(month.serving_usd / month.bound_usd - 1) * 100)
    return f"at most {percent} % above the cheapest, {month.reason}"


def _turning_points(months: list[MonthOfLife]) -> list[MonthOfLife]:
    changed = [month for before, month in pairwise(months[:-1]) if month.plan != before.plan]
    return [months[0], *changed, months[-1]]


def _sizes(run: TrainingCost) -> Section:
    """Time against cost over the numbers of GPUs that were tried."""
    lines = ("Efficiency: GPU-hours of the smallest size over those of this one.",)
    return Section(f"{run.name} on more or fewer GPUs", lines, table_of(run.scaling, SIZE_COLUMNS))


def _power(report: LifecycleReport) -> Section:
    """The first and the last month, and the whole."""
    first, last = report.by_month[0], report.by_month[-1]
    facility = f"PUE {figure(report.pue)}" if report.pue is not None else "GPUs alone, no PUE given"
    rows = tuple(
        (what, _figure(getattr(first, field)), _figure(getattr(last, field)), whole, unit)
        for what, field, whole, unit in (
            ("power", "power_kw", "", "kW"),
            ("energy", "energy_kwh", _figure(report.energy_kwh), "kWh"),
            ("carbon", "carbon_kg", _figure(report.carbon_kg), "kg CO2"),
            ("output", "output_tokens_per_second", "", "tokens/s"),
            ("output for power", "tokens_per_second_per_watt", "", "tokens/s per W"),
        )
    )
    headings = ("", ">month 1", f">month {last.month}", ">all, with training", "unit")
    return Section("Power and carbon", (facility,), Table(headings, rows))


def _figure(value: float | None) -> str:
    """Three significant digits, never fewer than the units."""
    if value is None:
        return "unknown"
    return f"{value:,.0f}" if abs(value) >= 100 else figure(value)

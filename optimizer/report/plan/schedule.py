"""What runs at which hour: a bar for each hour of a Monday and a Saturday, and what a month of it costs."""

from collections.abc import Iterator, Sequence
from typing import Final

from optimizer.base.figures import figure
from optimizer.base.units import HOURS_PER_DAY, HOURS_PER_WEEK
from optimizer.plan.readback.summary import EVERYWHERE
from optimizer.plan.record.fleet import InstanceLayout, LoadedReplicas, Period
from optimizer.plan.record.report import PlanReport
from optimizer.report.layout.amounts import money, plural
from optimizer.report.layout.elements import Section, Table

BARS: Final = " ▁▂▃▄▅▆▇█"
HEADINGS: Final = ("what", "Monday 0–23 h", "Saturday", ">least", ">most", ">h/month", ">$/month")
SATURDAY: Final = 5 * HOURS_PER_DAY
"""The first hour of that day in a week that begins on Monday."""


def schedule_section(report: PlanReport) -> Section:
    """Demand and everything that follows it, hour by hour; empty where demand is the same all week."""
    if len(report.periods) < 2:
        return Section("By the hour")
    start_up = report.costs.start_up_usd if report.costs else 0
    lingering = report.costs.minimum_billing_usd if report.costs else 0
    line = f"{len(report.periods)} periods of alike hours"
    line += f"; {money(start_up)} of the month is for instances that start" if start_up else ""
    line += f"; {money(lingering)} of it is for hours billed after they stop" if lingering else ""
    rows = tuple(
        (what, *_days(report.periods, values), f"{figure(min(values))}", f"{figure(max(values))}", hours, cost)
        for what, values, hours, cost in _series(report)
    )
    return Section("By the hour", (line,), Table(HEADINGS, rows))


def schedule_in_short(report: PlanReport) -> Section:
    """What comes and goes over the week, and for how long it is paid; empty where nothing does."""
    told = []
    for item in report.purchases:
        running = [part.instances for part in item.schedule]
        if min(running) < max(running):
            hours = f"{item.instance_hours_per_month:,.0f} instance-hours a month"
            told.append(f"{min(running)} to {max(running)} of {_named(item.offer, ' at')}, {hours}")
    return Section("By the hour", (*told, "each hour: --verbose") if told else (), run_in=True)


def _series(report: PlanReport) -> Iterator[tuple[str, Sequence[float], str, str]]:
    """What is shown: its name, its value in every period, the hours paid and the cost of a month."""
    for name in report.periods[0].requests_per_second:
        yield f"{name}: requests/s", [period.requests_per_second[name] for period in report.periods], "", ""
    for item in report.purchases:
        hours = "paid all month" if item.always_paid else f"{item.instance_hours_per_month:,.0f}"
        yield _named(item.offer), [part.instances for part in item.schedule], hours, f"{item.monthly_cost_usd:,.2f}"
        for layout in item.layouts:
            yield f"holding {_contents(layout)}", [part.instances for part in layout.schedule], "", ""
    for hosted in report.hosted:
        what = f"{hosted.workload} {hosted.request_class}: requests/s to {hosted.provider}"
        yield what, [part.requests_per_second for part in hosted.schedule], "", f"{hosted.monthly_cost_usd:,.2f}"


def _named(offer: str, of: str = ",") -> str:
    """An offer by what people call it: GPUs, provider and region, with the term where it is not on demand."""
    place, _, gpus, term = offer.rsplit("/", 3)
    provider, _, region = place.partition("/")
    named = f"{gpus.replace('x', '×', 1)}{of} {provider}{'' if region == EVERYWHERE else f' {region}'}"
    paid, _, months = term.partition("-")
    how_long = f" {months}" if paid == "committed" else ""
    return named if term == "on_demand" else f"{named}, {paid.replace('_', ' ')}{how_long}"


def _contents(layout: InstanceLayout) -> str:
    """What an instance holds, in short."""
    return ", ".join(map(_held, layout.contents))


def _held(item: LoadedReplicas) -> str:
    gpus = item.tensor_parallel * item.pipeline_parallel
    return f"{item.replicas:,}× {item.workload} {item.precision} on {gpus} {plural('GPU', gpus)}"


def by_hour(periods: Sequence[Period], values: Sequence[float]) -> list[float]:
    """(168,) a value for every hour of the week, Monday 0 h first, from one for every period."""
    hours = [0.0] * HOURS_PER_WEEK
    for period, value in zip(periods, values, strict=True):
        for first, last in period.hours_of_week:
            hours[first : last + 1] = [value] * (last + 1 - first)
    return hours


def _days(periods: Sequence[Period], values: Sequence[float]) -> tuple[str, str]:
    """A bar for each hour of the two days, to the scale of the highest."""
    highest = max(values) or 1.0
    hours = by_hour(periods, values)
    bars = "".join(BARS[max(value > 0, round(value / highest * (len(BARS) - 1)))] for value in hours)
    return bars[:HOURS_PER_DAY], bars[SATURDAY : SATURDAY + HOURS_PER_DAY]

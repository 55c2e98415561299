"""What runs at which hour: a bar for each hour of a Monday and a Saturday, and what a month of it costs."""

from collections.abc import Sequence

from optimizer.base.units import HOURS_PER_DAY
from optimizer.plan.record.fleet import Period
from optimizer.plan.record.report import PlanReport
from optimizer.report.layout.elements import Section, Table

BARS = " ▁▂▃▄▅▆▇█"
SATURDAY = 5


def schedule_section(report: PlanReport) -> Section:
    """Demand and everything that follows it, hour by hour; empty where demand is the same all week."""
    if len(report.periods) < 2:
        return Section("By the hour")
    headings = ("what", "Monday 0–23 h", "Saturday", ">least", ">most", ">h/month", ">$/month")
    rows: list[tuple[str, ...]] = []
    for name in report.periods[0].requests_per_second:
        demand = [period.requests_per_second[name] for period in report.periods]
        rows.append((f"{name}: requests/s", *_days(report.periods, demand), *_range(demand), "", ""))
    for item in report.purchases:
        counts = [float(part.instances) for part in item.schedule]
        paid = "paid all month" if item.always_paid else f"{item.instance_hours_per_month:,.0f}"
        bill = (paid, f"{item.monthly_cost_usd:,.2f}")
        rows.append((item.offer, *_days(report.periods, counts), *_range(counts), *bill))
    for hosted in report.hosted:
        sent = [part.requests_per_second for part in hosted.schedule]
        what = f"{hosted.workload} {hosted.request_class}: requests/s to {hosted.provider}"
        rows.append((what, *_days(report.periods, sent), *_range(sent), "", f"{hosted.monthly_cost_usd:,.2f}"))
    start_up = report.costs.start_up_usd if report.costs else 0
    lingering = report.costs.minimum_billing_usd if report.costs else 0
    line = f"{len(report.periods)} periods of alike hours; ${start_up:,.2f} of the month is for instances that start"
    line += f", ${lingering:,.2f} for hours billed after they stop." if lingering else "."
    return Section("By the hour", (line,), Table(headings, tuple(rows)))


def _days(periods: Sequence[Period], values: Sequence[float]) -> tuple[str, str]:
    """A bar for each hour of the two days, to the scale of the highest."""
    by_hour = [0.0] * HOURS_PER_DAY * 7
    for period, value in zip(periods, values, strict=True):
        for first, last in period.hours_of_week:
            by_hour[first : last + 1] = [value] * (last + 1 - first)
    highest = max(values) or 1.0
    bars = "".join(BARS[max(value > 0, round(value / highest * (len(BARS) - 1)))] for value in by_hour)
    saturday = SATURDAY * HOURS_PER_DAY
    return bars[:HOURS_PER_DAY], bars[saturday : saturday + HOURS_PER_DAY]


def _range(values: Sequence[float]) -> tuple[str, str]:
    return f"{min(values):.3g}", f"{max(values):.3g}"

"""One self-contained HTML page of a plan: its sections, and charts as embedded images; nothing is loaded."""

import base64
from collections.abc import Callable, Iterator
from html import escape
from typing import Final, NamedTuple

from optimizer.answers.planning.page import Page
from optimizer.plan.record.report import PlanReport
from optimizer.report.layout.amounts import percent
from optimizer.report.layout.elements import Section
from optimizer.report.layout.html import answer_html, scrolling, section_html
from optimizer.report.plan.charts import (
    cost_chart,
    frontier_chart,
    has_latencies,
    latency_chart,
    memory_chart,
    moves,
    rejection_chart,
    roofline_chart,
    shows_something,
    week_chart,
)
from optimizer.report.plan.sections import plan_answer

FIRST_PAGE: Final = ("Question", "Plan", "By the hour", "What else it could cost", "Before you sign")
"""Sections for who decides; the charts and all others come after them."""


class PlanChart(NamedTuple):
    """A figure that a plan alone has the data of: its heading, what it shows in a sentence, and who draws it."""

    title: str
    caption: str
    draw: Callable[[PlanReport], str]


COST: Final = PlanChart(
    "The month's cost",
    "Of each deployment: for load, for headroom, for idle GPUs.",
    lambda report: cost_chart(report.deployments, report.purchases),
)
WEEK: Final = PlanChart("The week", "Demand against capacity by hour.", week_chart)
MEMORY: Final = PlanChart(
    "Memory", "Memory of one GPU at the planned load.", lambda report: memory_chart(report.deployments)
)


class Chart(NamedTuple):
    """A figure of the page: its heading, what it shows in a sentence, and the drawing."""

    title: str
    caption: str
    svg: str


def page_html(page: Page) -> str:
    """The whole page as one document.

    Args:
        page: A plan with the data of its charts.

    Returns:
        HTML that loads nothing.

    Raises:
        InputError: matplotlib is not installed.
    """
    report = page.report
    answer = plan_answer(report, verbose=True)
    planned = report.monthly_cost_usd is not None
    first = [section for section in answer.sections if not planned or section.title in FIRST_PAGE]
    others = [section for section in answer.sections if section not in first]
    days = report.prices_as_of
    prices = f"Prices of {days.words}, facts" if days else "Prices and facts"
    basis = f"<p>{prices} as of {report.catalog_as_of.isoformat()}; every figure re-solved or recomputed.</p>"
    rest = [*map(_figure, _charts(page)), *_told_without_chart(page), *map(section_html, others)]
    return answer_html(answer.title, answer.summary, planned, [basis, *map(section_html, first)], rest)


def _charts(page: Page) -> Iterator[Chart]:
    """Every chart that has something to show."""
    report, own = page.report, plan_charts(page.report)
    if COST in own:
        yield _drawn(COST, report)
    share = percent(report.confidence)
    for at, curve in enumerate(curve for curve in page.curves if has_latencies(curve)):
        yield Chart(
            "" if at else "Latency against load",
            f"{curve.label}: {share} bounds of one replica and the limits; the capacity leaves room for error.",
            latency_chart(curve),
        )
    for chart in (WEEK, MEMORY):
        if chart in own:
            yield _drawn(chart, report)
    if page.roofline:
        caption = (
            "Left of the dotted line reading weights takes the time, right of it computing; the line is what the GPU "
            "allows, the distance to it is attention, communication and overhead."
        )
        yield Chart("Roofline", caption, roofline_chart(page.roofline))
    if page.frontier is not None and moves(page.frontier):
        yield Chart("What a limit costs", page.frontier.summary, frontier_chart(page.frontier))
    for found in page.rejections:
        if shows_something(found):
            caption = f"{found.workload}: the first requirement that the closest configuration of each GPU fails."
            yield Chart("What was considered", caption, rejection_chart(found))


def plan_charts(report: PlanReport) -> tuple[PlanChart, ...]:
    """Those of a plan's own charts that have something to show."""
    deployments = report.deployments
    costs = (COST,) if any(d.monthly_cost_usd for d in deployments) else ()
    week = (WEEK,) if deployments and len(report.periods) > 1 else ()
    return (*costs, *week, *((MEMORY,) if deployments else ()))


def _drawn(chart: PlanChart, report: PlanReport) -> Chart:
    return Chart(chart.title, chart.caption, chart.draw(report))


def _told_without_chart(page: Page) -> Iterator[str]:
    """What a chart would show as a flat line, in its sentence."""
    if page.frontier is not None and not moves(page.frontier):
        yield section_html(Section("What a limit costs", (page.frontier.summary,)))


def _figure(chart: Chart) -> str:
    heading = f"<h2>{escape(chart.title)}</h2>" if chart.title else ""
    image = base64.b64encode(chart.svg.encode()).decode()
    alt = escape(f"{chart.title}: {chart.caption}" if chart.title else chart.caption)
    shown = scrolling(chart.title or chart.caption, f'<img alt="{alt}" src="data:image/svg+xml;base64,{image}">')
    return f"{heading}<figure>{shown}<figcaption>{escape(chart.caption)}</figcaption></figure>"

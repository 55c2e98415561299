"""One self-contained HTML page of a plan: its sections, and charts as embedded images; nothing is loaded."""

import base64
from collections.abc import Iterator
from html import escape

from optimizer.answers.page import Page
from optimizer.report.layout.amounts import percent
from optimizer.report.layout.html import answer_html, section_html
from optimizer.report.plan.charts import (
    cost_chart,
    frontier_chart,
    latency_chart,
    memory_chart,
    rejection_chart,
    roofline_chart,
    week_chart,
)
from optimizer.report.plan.sections import plan_answer


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
    first, *others = map(section_html, answer.sections)
    figures = (_figure(name, caption, svg) for name, caption, svg in _charts(page))
    basis = f"<p>Prices and facts as of {report.catalog_as_of.isoformat()}; every figure re-solved or recomputed.</p>"
    return answer_html(answer.title, answer.summary, bool(report.deployments), [basis, first, *figures, *others])


def _charts(page: Page) -> Iterator[tuple[str, str, str]]:
    """Title, caption and SVG of every chart that has data."""
    deployments = page.report.deployments
    if deployments:
        yield "Where the money goes", "The month's cost of each deployment.", cost_chart(deployments)
        share = percent(page.report.confidence)
        for at, curve in enumerate(page.curves):
            yield (
                "Latency against load" if at == 0 else "",
                f"{curve.label}: {share} bounds of one replica and the limits; the capacity leaves room for error.",
                latency_chart(curve),
            )
        if len(page.report.periods) > 1:
            yield "The week", "Demand against capacity by hour.", week_chart(page.report)
        yield "Memory", "Memory of one GPU at the planned load.", memory_chart(deployments)
    if page.roofline:
        caption = (
            "Left of the dotted line reading weights takes the time, right of it computing; the line is what the GPU "
            "allows, the distance to it is attention, communication and overhead."
        )
        yield "Roofline", caption, roofline_chart(page.roofline)
    if page.frontier is not None:
        yield "What a limit costs", page.frontier.summary, frontier_chart(page.frontier)
    for found in page.rejections:
        caption = (
            f"{found.workload}: the first requirement that the closest configuration of each GPU and precision fails."
        )
        yield "What was considered", caption, rejection_chart(found)


def _figure(title: str, caption: str, svg: str) -> str:
    heading = f"<h2>{escape(title)}</h2>" if title else ""
    image = base64.b64encode(svg.encode()).decode()
    alt = escape(f"{title}: {caption}" if title else caption)
    return (
        f'{heading}<figure><img alt="{alt}" src="data:image/svg+xml;base64,{image}">'
        f"<figcaption>{escape(caption)}</figcaption></figure>"
    )

"""The charts of a comparison: what each choice costs against the cheapest, and cost over demand by hosting."""

from typing import Any

import numpy as np

from optimizer.answers.compare.types import Comparison, HostingFacts
from optimizer.report.layout.figures import COLOURS, drawn, literal, series_style


def compare_chart(answer: Comparison, top: int) -> str:
    """The choices' costs as bars; by hosting the cost of each way over the requests of a month.

    Raises:
        InputError: matplotlib is not installed.
    """
    if answer.hosting is not None and answer.hosting.ways:
        return _break_even_chart(answer, answer.hosting)
    return _spread_chart(answer, top)


def _spread_chart(answer: Comparison, top: int) -> str:
    rows = [row for row in answer.choices if row.monthly_cost_usd is not None][:top]

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        for index, row in enumerate(rows):
            cost, complies = float(row.monthly_cost_usd or 0), row.verdict == "complies"
            style = {"color": COLOURS[0]} if complies else {"color": "white", "hatch": "//", "edgecolor": COLOURS[1]}
            axes.barh(index, cost, height=0.6, **style)
            axes.text(cost, index, f" ${cost:,.0f}{'' if complies else ', not admitted'}", va="center", fontsize=8)
        axes.set_yticks(range(len(rows)), [literal(row.choice) for row in rows], fontsize=8)
        axes.invert_yaxis()
        axes.set(xlabel="US dollars a month, the best plan under each choice")
        axes.set_title(f"{answer.scenario} by {answer.by.replace('_', ' ')}", fontsize=10)
        axes.margins(x=0.2)

    return drawn(1.2 + 0.28 * max(len(rows), 1), draw)


def _break_even_chart(answer: Comparison, facts: HostingFacts) -> str:
    def draw(figure: Any) -> None:
        axes = figure.subplots()
        requests = [point.requests_per_month for point in facts.curve]
        for index, way in enumerate(facts.ways):
            # a gap in the line where there is no plan: None is NaN as a float
            costs = np.array([point.monthly_cost_usd[way] for point in facts.curve], dtype=float)
            axes.plot(requests, costs, **series_style(index), markersize=4, label=way)
        for item in facts.break_evens:
            axes.plot(item.requests_per_month, float(item.monthly_cost_usd), "kx", markersize=8)
            axes.axvline(item.requests_per_month, color="0.7", linewidth=0.8)
        axes.axvline(answer.requests_per_month, color="black", linestyle=":", label="the scenario's demand")
        axes.set(xscale="log", yscale="log", xlabel="requests a month", ylabel="US dollars a month")
        axes.set_title(f"{answer.scenario} by hosting; × marks where the order flips", fontsize=10)
        axes.grid(visible=True)
        axes.legend(fontsize=8)

    return drawn(3.4, draw)

"""What own measurements changed, in words and tables."""

from collections.abc import Iterator

from optimizer.answers.accuracy.own import MovedConfiguration, MovedMetric, MovedNeighbour, OwnCalibration
from optimizer.base.figures import figure
from optimizer.report.layout.elements import Section, Table

NAMES = {"tpot": "TPOT", "ttft": "TTFT", "throughput": "output tokens/s"}
"""Metrics as tables call them."""

MEANING = (
    "error: median over points of what predictions are off; by the others: where each point is predicted from all "
    "others; after: with the overlay, of the rows that it was made from",
    "interval: nine of ten measurements are expected within the prediction times and divided by about this factor",
    "in plans: by which predictions for plans move, at open arrivals (TPOT, TTFT) and at full load (tokens/s)",
)


def own_sections(found: OwnCalibration, data: str, written: str) -> tuple[Section, ...]:
    """The change by configuration, what moves along, and what the rows leave open."""
    rows = tuple(_row(item, metric) for item in found.configurations for metric in item.metrics)
    headings = ("measured", "", ">points", ">error, %", ">by the others", ">after", ">interval", ">after", ">in plans")
    lines = (f"{found.rows:,} rows of {data}.", *MEANING, f"written: {written}; plan with `--catalogs`")
    moved = Section("Your measurements", lines, Table(headings, rows))
    near = Section(
        "What moves along",
        ("As far as the public measurements have errors in common (docs/confirm.md); other GPUs and engines do not.",),
        Table(("", *(f">{name}" for name in NAMES.values())), tuple(_near(item) for item in found.neighbours)),
    )
    told = (*(f"left out: {each}" for each in found.left_out), *found.remarks, *_few(found))
    return (moved, near, *([Section("To be known", told)] if told else []))


def _row(item: MovedConfiguration, metric: MovedMetric) -> tuple[str, ...]:
    others = metric.error_by_others_percent
    return (
        f"{item.model} {item.configuration} on {item.gpu} with {item.engine}",
        NAMES[metric.metric],
        f"{metric.points}",
        f"{metric.error_before_percent:.1f}",
        "" if others is None else f"{others:.1f}",
        f"{metric.error_after_percent:.1f}",
        f"× {figure(metric.interval_before)}",
        f"× {figure(metric.interval_after)}",
        f"× {figure(metric.plan_factor)}",
    )


def _near(item: MovedNeighbour) -> tuple[str, ...]:
    what = f"other precisions and layouts of {item.model}" if item.model else "other models"
    factors = (f"× {figure(item.factors[name])}" if name in item.factors else "" for name in NAMES)
    return (f"{what} on {item.gpu} with {item.engine}", *factors)


def _few(found: OwnCalibration) -> Iterator[str]:
    """Configurations of which a slip would not show."""
    for item in found.configurations:
        if max(metric.points for metric in item.metrics) == 1:
            name = f"{item.model} {item.configuration} on {item.gpu}"
            yield f"{name}: one point; a second, at another load, would show a slip"

"""What own measurements changed, in words and tables."""

from collections.abc import Iterator

from optimizer.answers.accuracy.own import MovedConfiguration, MovedMetric, MovedNeighbour, OwnCalibration
from optimizer.base.figures import figure
from optimizer.report.layout.elements import Section, Table

NAMES = {"tpot": "TPOT", "ttft": "TTFT", "throughput": "output tokens/s"}
"""Metrics as tables call them."""

MEANING = (
    "off: median over points, in percent; by others: with each point predicted from all others; after: with these rows",
    "interval: nine of ten measurements are expected within the prediction times and divided by this factor",
    "plans: by which step times of plans move, or tokens/s at full load; at a given rate TPOT moves further than that",
)


def own_sections(found: OwnCalibration, data: str, written: str) -> tuple[Section, ...]:
    """The change by configuration, what moves along, and what the rows leave open."""
    rows = tuple(_row(item, metric) for item in found.configurations for metric in item.metrics)
    headings = ("measured", "", ">points", ">off", ">by others", ">after", ">interval", ">after", ">plans")
    rows_read = f"{found.rows:,} {'row' if found.rows == 1 else 'rows'} of {data}"
    lines = (rows_read, *MEANING, f"written: {written}; give it with --catalogs")
    moved = Section("Your measurements", lines, Table(headings, rows))
    near = Section(
        "What moves along",
        ("as far as errors of public measurements are alike; what runs on other GPUs or engines does not move",),
        Table(("", *(f">{name}" for name in NAMES.values())), tuple(_near(item) for item in found.neighbours)),
    )
    told = (*(f"left out: {each}" for each in found.left_out), *found.remarks, *_few(found))
    return (moved, near, *([Section("To be known", told)] if told else []))


def _row(item: MovedConfiguration, metric: MovedMetric) -> tuple[str, ...]:
    others = metric.error_by_others_percent
    return (
        f"{_what(item)}, {_engine(item.engine)}",
        NAMES[metric.metric],
        f"{metric.points}",
        f"{metric.error_before_percent:.1f}",
        "" if others is None else f"{others:.1f}",
        f"{metric.error_after_percent:.1f}",
        f"× {figure(metric.interval_before)}",
        f"× {figure(metric.interval_after)}",
        f"× {figure(metric.plan_factor)}",
    )


def _what(item: MovedConfiguration) -> str:
    weights, cache, layout = item.configuration.split(" ")
    return f"{item.model} {weights}, KV {cache}, {layout} on {item.gpu}"


def _near(item: MovedNeighbour) -> tuple[str, ...]:
    what = f"other precisions and layouts of {item.model}" if item.model else "other models"
    factors = (f"× {figure(item.factors[name])}" if name in item.factors else "" for name in NAMES)
    return (f"{what} on {item.gpu}, {_engine(item.engine)}", *factors)


def _engine(era: str) -> str:
    """An engine with the era of its releases."""
    engine, _, releases = era.partition(":")
    return f"{engine} (era {releases})" if releases else engine


def _few(found: OwnCalibration) -> Iterator[str]:
    """Configurations of which a slip would not show."""
    for item in found.configurations:
        if max(metric.points for metric in item.metrics) == 1:
            yield f"{_what(item)}: one point; a second, at another load, would show a slip"

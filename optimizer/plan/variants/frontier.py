"""The least cost against one or two requirements: every point an optimum, and the values where the plan changes."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import pairwise
from typing import Final

import numpy as np

from optimizer.inputs.requirements.stated import with_field
from optimizer.inputs.scenario.scenario import STATISTICS, Scenario, Workload
from optimizer.plan.explain.pricing import SAME_COST
from optimizer.plan.question.batches import solved_at_best_hours
from optimizer.plan.question.inquiry import Inquiry
from optimizer.plan.readback.outline import outlined
from optimizer.plan.readback.summary import summarized
from optimizer.plan.record.fields import Outcome
from optimizer.plan.record.fleet import Outline

SWEEPABLE: Final[Mapping[str, str]] = {
    "ttft_ms": "ms",
    "tpot_ms": "ms",
    "requests_per_second": "requests/s",
    "min_quality": "share",
    "confidence": "",
}
"""Fields that a frontier moves along, with their units."""
USUAL_STATISTIC: Final = {"ttft_ms": "p95", "tpot_ms": "mean"}
STRICT_WHERE_LOW: Final = frozenset(USUAL_STATISTIC)
"""Fields that ask for more the lower they are; the others ask for more the higher they are."""
PRECISION: Final[Mapping[str, float]] = {"min_quality": 1.001, "confidence": 1.001}
"""Ratio to which a change is bracketed; a percent unless said here."""
USUAL_PRECISION: Final = 1.01
PROVEN: Final = frozenset({"optimal", "infeasible"})
"""Outcomes of points of which nothing more is to be found out."""
DIGITS: Final = 4
MAX_CHANGES: Final = 25
"""Changes of plan told between two neighbouring points; more would be noise of whole numbers."""


@dataclass(frozen=True)
class Sweep:
    """Values of one requirement, evenly spaced.

    Attributes:
        field: One of SWEEPABLE.
        workload: The only workload it moves; None for all.
    """

    field: str
    start: float
    end: float
    count: int
    workload: str | None = None

    @property
    def name(self) -> str:
        """The field as it was asked for."""
        return f"{self.workload}.{self.field}" if self.workload else self.field

    def values(self) -> tuple[float, ...]:
        """From start to end."""
        return tuple(float(f"{value:.6g}") for value in np.linspace(self.start, self.end, self.count).tolist())


@dataclass(frozen=True)
class Point:
    """The optimum at some values of the swept fields."""

    values: Mapping[str, float]
    outcome: Outcome
    plan: Outline | None

    @property
    def cost_usd(self) -> Decimal | None:
        """Of a month."""
        return self.plan.monthly_cost_usd if self.plan else None


@dataclass(frozen=True)
class Change:
    """Two values of one field, hardly apart, between which the optimum's cost changes."""

    field: str
    before: Point
    after: Point


def set_to(scenario: Scenario, sweep: Sweep, value: float) -> Scenario:
    """The scenario with the swept field at a value; latencies with several statistics keep their ratios."""
    if sweep.field == "confidence":
        return with_field(scenario, "policy.confidence", value)
    for workload in scenario.workloads:
        if sweep.workload in (None, workload.name):
            for field, level in _fields(workload, sweep.field, value):
                scenario = with_field(scenario, f"workloads[{workload.name}].{field}", level)
    return scenario


def _fields(workload: Workload, field: str, value: float) -> Iterator[tuple[str, float]]:
    if field in USUAL_STATISTIC:
        latency = getattr(workload.slo, field)
        limits = latency.limits_ms() if latency else {USUAL_STATISTIC[field]: value}
        first = limits[next(name for name in STATISTICS if name in limits)]
        yield from ((f"slo.{field}.{name}", limit / first * value) for name, limit in limits.items())
    elif field == "requests_per_second" and workload.demand is not None:
        yield "demand.peak_requests_per_second", value
    else:
        yield field, value


def points(inquiry: Inquiry, first: Sweep, second: Sweep | None, told: Callable[[], None]) -> list[list[Point]]:
    """One row per value of the second sweep, one point per value of the first.

    Args:
        inquiry: The scenario, narrowed or whole.
        first: Moves fastest.
        second: None for a frontier along one line.
        told: Called after every point.
    """
    rows, waiting = [], first.count * (second.count if second else 1)
    for other in second.values() if second else (None,):
        row = []
        for value in first.values():
            # what is left in equal shares, one of them for where the plan changes
            in_turn = replace(inquiry, clock=inquiry.clock.share(1 / (waiting + 1)))
            row.append(_at(in_turn, first, value, second, other))
            waiting -= 1
            told()
        rows.append(row)
    rows = [_handed_on(row, first) for row in rows]
    if second is None:
        return rows
    lines = [_handed_on(line, second) for line in zip(*rows, strict=True)]
    return [list(row) for row in zip(*lines, strict=True)]


def _handed_on(line: Sequence[Point], sweep: Sweep) -> list[Point]:
    """Points along one field, each at most as dear as those that ask for more: their plans do for it, too."""
    found, known = list[Point](), None
    for point in line if _first_is_strict(sweep) else reversed(line):
        known = _at_most(point, known)
        found.append(known)
    return found if _first_is_strict(sweep) else found[::-1]


def _first_is_strict(sweep: Sweep) -> bool:
    """Whether the values that come first ask for more than those after them."""
    return (sweep.start < sweep.end) == (sweep.field in STRICT_WHERE_LOW)


def _at_most(point: Point, stricter: Point | None) -> Point:
    """The point with the plan of one that asks for more, where a search that was cut short knows none so cheap."""
    if point.outcome in PROVEN or stricter is None or stricter.plan is None:
        return point
    if point.plan is not None and point.plan.monthly_cost_usd <= stricter.plan.monthly_cost_usd:
        return point
    return replace(point, outcome="feasible", plan=stricter.plan)


def _at(inquiry: Inquiry, first: Sweep, value: float, second: Sweep | None, other: float | None) -> Point:
    scenario, values = set_to(inquiry.scenario, first, value), {first.name: value}
    if second is not None and other is not None:
        scenario, values = set_to(scenario, second, other), {**values, second.name: other}
    answer = solved_at_best_hours(inquiry.changed(scenario))
    found = answer.solution.outcome in ("optimal", "feasible")
    return Point(values, answer.solution.outcome, outlined(answer) if found else None)


def changes(inquiry: Inquiry, first: Sweep, second: Sweep | None, row: list[Point]) -> Iterator[Change]:
    """Where along one row the optimum's cost changes, each bracketed by bisection, in order."""
    for left, right in pairwise(row):
        start = left
        for _ in range(MAX_CHANGES):
            if alike(start, right):
                break
            before, after = _bracket(inquiry, first, second, start, right)
            yield Change(first.name, before, after)
            start = after


def _bracket(inquiry: Inquiry, first: Sweep, second: Sweep | None, left: Point, right: Point) -> tuple[Point, Point]:
    """The last point like the left one and the first unlike it; the cost is monotone in every swept field."""
    other = left.values[second.name] if second else None
    near = PRECISION.get(first.field, USUAL_PRECISION)
    while True:
        low, high = left.values[first.name], right.values[first.name]
        middle = float(f"{(low * high) ** 0.5:.{DIGITS}g}")
        if max(low, high) <= near * min(low, high) or not min(low, high) < middle < max(low, high):
            return left, right
        stricter = left if _first_is_strict(first) else right
        found = _at_most(_at(inquiry, first, middle, second, other), stricter)
        if alike(found, left):
            left = found
        else:
            right = found


def all_told(rows: Sequence[Sequence[Point]], found: Sequence[Change]) -> bool:
    """Whether every point is proven, and those changes lead from each point to its neighbour.

    Args:
        rows: Of `points`.
        found: Of `changes` of all of them; some are missing where a limit was reached, or where there are very many.
    """
    ends = (end for change in found for end in (change.before, change.after))
    if not all(point.outcome in PROVEN for point in (*(point for row in rows for point in row), *ends)):
        return False
    return all(_leads_to(left, right, found) for row in rows for left, right in pairwise(row))


def _leads_to(left: Point, right: Point, found: Sequence[Change]) -> bool:
    """Whether the last change between two neighbours ends at what the second of them costs."""
    between = [each for each in found if _lies(left, each.before, right) and _lies(left, each.after, right)]
    return alike(between[-1].after if between else left, right)


def _lies(left: Point, point: Point, right: Point) -> bool:
    """Whether a point lies between two others, they themselves included, in each of its fields."""
    ends = {name: sorted((value, right.values[name])) for name, value in left.values.items()}
    return all(low <= point.values[name] <= high for name, (low, high) in ends.items())


def alike(one: Point, other: Point) -> bool:
    """Whether two optima cost the same, or both are none; a plan paid by its use stays itself at another cost."""
    if one.plan is None or other.plan is None:
        return one.plan is other.plan
    if one.plan.hosted and other.plan.hosted and summarized(one.plan) == summarized(other.plan):
        return True
    return abs(one.plan.monthly_cost_usd - other.plan.monthly_cost_usd) < SAME_COST

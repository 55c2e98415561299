"""A frontier as a table with bars, or as a grid of plans by letter."""

from collections.abc import Iterator
from decimal import Decimal
from string import ascii_uppercase

from optimizer.answers.planning.frontier import Frontier, FrontierChange, FrontierPoint, SweptField
from optimizer.report.layout.amounts import number
from optimizer.report.layout.bars import bar
from optimizer.report.layout.columns import table_of
from optimizer.report.layout.elements import Section, Table, WrittenAnswer, with_content
from optimizer.report.plan.sections import unit_of


def frontier_answer(answer: Frontier) -> WrittenAnswer:
    """The points, the values where the plan changes, and what the letters stand for."""
    sections = (
        Section("Frontier", table=_line(answer) if len(answer.sweeps) == 1 else _grid(answer)),
        Section("Where it changes", tuple(_changes(answer))),
        Section("Plans", table=Table(("", "plan"), tuple((_letter(at), plan) for at, plan in enumerate(answer.plans)))),
        Section("Read with care", tuple(answer.notes)),
    )
    return WrittenAnswer(with_content(sections), answer.summary, f"Frontier of {answer.scenario}")


def _changes(answer: Frontier) -> Iterator[str]:
    yield from (f"{item.text}{_plans(item)}" for item in answer.breakpoints)
    if not answer.complete:
        yield "There may be more: not every point is proven, or not every change between two of them was found."


def _plans(item: FrontierChange) -> str:
    """The letters of the plans on both sides."""
    letters = [_letter(plan) for plan in (item.before_plan, item.after_plan) if plan is not None]
    return f" ({' → '.join(letters)})"


def _axis(sweep: SweptField) -> str:
    """The field with its unit where its name does not say it."""
    named = sweep.field.endswith(f"_{sweep.unit}") or sweep.field.endswith("requests_per_second")
    return sweep.field if named else f"{sweep.field}{unit_of(sweep.unit)}"


def _line(answer: Frontier) -> Table:
    (sweep,) = answer.sweeps
    highest = max((point.monthly_cost_usd for point in answer.points if point.monthly_cost_usd is not None), default=0)
    return table_of(
        answer.points,
        {
            f">{_axis(sweep)}": lambda point: number(point.values[sweep.field]),
            ">a month": "{monthly_cost_usd:money|no plan}",
            "cost": lambda point: bar(point.monthly_cost_usd, Decimal(highest)),
            "plan": _mark,
        },
    )


def _grid(answer: Frontier) -> Table:
    first, second = answer.sweeps
    by_values = {(p.values[first.field], p.values[second.field]): p for p in answer.points}
    rows = tuple(
        (number(other), *(_cell(by_values[value, other]) for value in first.values)) for other in second.values
    )
    corner = f">{_axis(second)} ↓ {_axis(first)} →"
    return Table((corner, *(f">{number(value)}" for value in first.values)), rows)


def _cell(point: FrontierPoint) -> str:
    return "–" if point.monthly_cost_usd is None else f"{point.monthly_cost_usd:,.0f} {_mark(point)}"


def _mark(point: FrontierPoint) -> str:
    if point.plan is None:
        return ""
    return _letter(point.plan) + ("" if point.outcome == "optimal" else " (not proven)")


def _letter(at: int) -> str:
    """A, B … Z, AA, AB …"""
    rest, last = divmod(at, len(ascii_uppercase))
    return (_letter(rest - 1) if rest else "") + ascii_uppercase[last]

"""A frontier as a table with bars, or as a grid of plans by letter, for text and Markdown."""

from string import ascii_uppercase

from optimizer.answers.frontier import Frontier, FrontierChange, FrontierPoint, SweptField
from optimizer.report.layout.elements import Section, Table, money
from optimizer.report.layout.markdown import answer_markdown
from optimizer.report.layout.text import answer_text
from optimizer.report.plan.sections import number, unit_of

BAR_CELLS = 30
FULL, EMPTY = "█", "·"


def frontier_text(answer: Frontier) -> str:
    """The whole answer as text, ending in a newline."""
    return answer_text(answer.summary, frontier_sections(answer))


def frontier_markdown(answer: Frontier) -> str:
    """The whole answer as one Markdown document."""
    return answer_markdown(f"Frontier of {answer.scenario}", answer.summary, frontier_sections(answer))


def frontier_sections(answer: Frontier) -> tuple[Section, ...]:
    """The points, the values where the plan changes, and what the letters stand for."""
    shape = _line(answer) if len(answer.sweeps) == 1 else _grid(answer)
    turns = Section("Where it changes", tuple(f"{item.text}{_turn(item)}" for item in answer.breakpoints))
    legend = tuple((_letter(at), plan) for at, plan in enumerate(answer.plans))
    parts = (shape, turns, Section("Plans", (), Table(("", "plan"), legend)))
    return tuple(part for part in parts if part.lines or (part.table and part.table.rows))


def _turn(item: FrontierChange) -> str:
    letters = [_letter(at) for at in (item.before_plan, item.after_plan) if at is not None]
    return f" ({' → '.join(letters)})"


def _axis(sweep: SweptField) -> str:
    """The field with its unit where its name does not say it."""
    said = sweep.field.endswith(f"_{sweep.unit}") or sweep.field.endswith("requests_per_second")
    return sweep.field if said else f"{sweep.field}{unit_of(sweep.unit)}"


def _line(answer: Frontier) -> Section:
    (sweep,) = answer.sweeps
    costs = [float(point.monthly_cost_usd) for point in answer.points if point.monthly_cost_usd is not None]
    highest = max(costs, default=1.0)
    rows = tuple(
        (number(point.values[sweep.field]), _cost(point), _bar(point, highest), _mark(point)) for point in answer.points
    )
    return Section("Frontier", (), Table((f">{_axis(sweep)}", ">a month", "cost", "plan"), rows))


def _grid(answer: Frontier) -> Section:
    first, second = answer.sweeps
    by_values = {(p.values[first.field], p.values[second.field]): p for p in answer.points}
    rows = tuple(
        (number(other), *(_cell(by_values[value, other]) for value in first.values)) for other in second.values
    )
    corner = f">{_axis(second)} ↓ {_axis(first)} →"
    return Section("Frontier", (), Table((corner, *(f">{number(value)}" for value in first.values)), rows))


def _cell(point: FrontierPoint) -> str:
    return "–" if point.monthly_cost_usd is None else f"{point.monthly_cost_usd:,.0f} {_mark(point)}"


def _cost(point: FrontierPoint) -> str:
    return "no plan" if point.monthly_cost_usd is None else money(point.monthly_cost_usd)


def _bar(point: FrontierPoint, highest: float) -> str:
    if point.monthly_cost_usd is None:
        return EMPTY
    return FULL * max(round(float(point.monthly_cost_usd) / highest * BAR_CELLS), 1)


def _mark(point: FrontierPoint) -> str:
    if point.plan is None:
        return ""
    return _letter(point.plan) + ("" if point.outcome == "optimal" else " (not proven)")


def _letter(at: int) -> str:
    """A, B … Z, AA, AB …"""
    rest, last = divmod(at, len(ascii_uppercase))
    return (_letter(rest - 1) if rest else "") + ascii_uppercase[last]

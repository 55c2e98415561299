"""Cost against one or two requirements, each point a proven optimum, with the values where the plan changes."""

import operator
from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import inf, prod
from typing import Final

from pydantic import Field, ValidationError

from optimizer.base.clock import Clock, Limit, until_limit
from optimizer.base.errors import Finding, InputError, did_you_mean, refuse
from optimizer.base.figures import exactly
from optimizer.base.memory import Memory
from optimizer.base.model import Strict
from optimizer.base.progress import Progress, silent
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.requirements.avoided import SPEED
from optimizer.inputs.scenario.checks import check_scenario
from optimizer.inputs.scenario.loading import findings_of
from optimizer.inputs.scenario.scenario import Scenario, Workload
from optimizer.inputs.scenario.yaml_lines import Document
from optimizer.plan.question.asking import decided
from optimizer.plan.question.inquiry import Inquiry
from optimizer.plan.question.narrowing import narrowed
from optimizer.plan.question.solving import for_variations
from optimizer.plan.readback.summary import summarized
from optimizer.plan.record.fields import Figure, Outcome, Usd
from optimizer.plan.record.simulation import BY_FORMULAS
from optimizer.plan.variants.frontier import (
    PROVEN,
    SWEEPABLE,
    Change,
    Point,
    Sweep,
    all_told,
    changes,
    points,
    set_to,
)

SCHEMA_VERSION: Final = 1
MAX_POINTS: Final = 400
"""Enough for a chart, few enough to be solved in minutes."""
RANGE: Final = f"A and B positive and different, N a whole number from 2 to {MAX_POINTS}"


class SweptField(Strict):
    """One axis of a frontier."""

    field: str
    values: list[Figure]
    unit: str


class FrontierPoint(Strict):
    """The cheapest plan at some values of the swept fields."""

    values: dict[str, Figure]
    outcome: Outcome
    monthly_cost_usd: Usd | None
    plan: int | None
    """Position in `plans`."""


class FrontierChange(Strict):
    """Where the optimum's cost changes: it is the one up to a value, the other from the next on."""

    field: str
    at: dict[str, Figure]
    """Values of the other swept field."""
    holds_to: Figure
    changes_at: Figure
    before_usd: Usd | None
    after_usd: Usd | None
    before_plan: int | None
    after_plan: int | None
    text: str


class Frontier(Strict):
    """The whole answer to `optimizer frontier`."""

    schema_version: int = SCHEMA_VERSION
    scenario: str
    summary: str
    sweeps: list[SweptField]
    points: list[FrontierPoint]
    breakpoints: list[FrontierChange]
    plans: list[str]
    """The distinct plans on the frontier, in words."""
    notes: list[str] = Field(default_factory=list, exclude_if=operator.not_)
    """What a reader must know of the figures."""
    complete: bool
    """Whether every point is proven and every change of plan between two of them stands in `breakpoints`."""


def sweep_of(text: str, scenario: Scenario) -> Sweep:
    """Reads `FIELD=A:B:N`, or `WORKLOAD.FIELD=A:B:N` for one workload of several.

    Raises:
        InputError: it is not of that form, the field can't be swept, or the numbers make no sense.
    """
    name, _, numbers = text.partition("=")
    workload, _, field = name.rpartition(".")
    names = [item.name for item in scenario.workloads]
    if field not in SWEEPABLE:
        whole = f"{workload} is swept with all statistics that it limits" if workload in SWEEPABLE else ""
        hint = whole or did_you_mean(field, SWEEPABLE) or f"one of {', '.join(SWEEPABLE)}"
        raise _refused(f"'{name}' cannot be swept", hint)
    if workload and workload not in names:
        raise _refused(f"no workload is named '{workload}'", did_you_mean(workload, names) or ", ".join(names))
    if field == "requests_per_second" and not workload and len(names) > 1:
        raise _refused("several workloads have a demand of their own", f"say which: {names[0]}.{field}=…")
    try:
        start, end, count = (float(number) for number in numbers.split(":"))
    except ValueError as error:
        raise _refused(f"'{numbers}' is not A:B:N", f"for instance {name}=100:1000:10") from error
    if not _is_range(start, end, count):
        raise _refused(f"'{numbers}' is no range", RANGE)
    return Sweep(field, start, end, int(count), workload or None)


def _is_range(start: float, end: float, count: float) -> bool:
    return (0 < start < end < inf or 0 < end < start < inf) and 2 <= count <= MAX_POINTS and float(count).is_integer()


def _refused(problem: str, hint: str) -> InputError:
    return InputError([Finding("frontier", 0, "--sweep", problem, hint)])


def frontier(
    scenario: Scenario,
    catalogs: Catalogs,
    sweeps: Sequence[Sweep],
    *,
    time_limit_s: float | None = None,
    work_limit: int | None = None,
    progress: Progress | None = None,
) -> Frontier:
    """Cost along one or two sweeps.

    Args:
        scenario: Everything that is not swept.
        catalogs: What is known.
        sweeps: One or two.
        time_limit_s: For all of it.
        work_limit: The same in simplex iterations, which end at the same place on every machine.
        progress: Told the name of each step (`frontier_steps`) as it begins.

    Returns:
        Every point with its proven cost, the distinct plans, and the values between which one takes over from another.

    Raises:
        InputError: the scenario names what the catalogs do not know, or a sweep leaves the range of its field.
    """
    return swept(scenario, catalogs, sweeps, Clock(time_limit_s, work_limit, memory=Memory()), progress)


def swept(
    scenario: Scenario, catalogs: Catalogs, sweeps: Sequence[Sweep], clock: Clock, progress: Progress | None = None
) -> Frontier:
    """What `frontier` says, on the clock of whoever asks more than that."""
    refuse(check_scenario(scenario, catalogs))
    first, second = _axes(scenario, sweeps)
    whole = replace(decided(Inquiry.of(scenario, catalogs, clock)), simplifies=False)
    inquiry = whole if any(sweep.field == "min_quality" for sweep in sweeps) else narrowed(whole)
    inquiry = for_variations(inquiry)
    begin, steps = progress or silent, iter(frontier_steps(sweeps))

    def begin_next() -> None:
        begin(next(steps))

    begin_next()
    rows = points(inquiry, first, second, begin_next)
    beside = inquiry.beside_a_plan(clock)
    found, limit = until_limit(change for row in rows for change in changes(beside, first, second, row))
    solved = [point for row in rows for point in row]
    ends = [point for change in found for point in (change.before, change.after)]
    plans = list(dict.fromkeys(summarized(point.plan) for point in (*solved, *ends) if point.plan))
    complete = all_told(rows, found)
    return Frontier(
        scenario=scenario.name,
        summary=_summary(inquiry, " and ".join(sweep.name for sweep in sweeps), solved, _left_out(complete, limit)),
        sweeps=[
            SweptField(field=sweep.name, values=list(sweep.values()), unit=SWEEPABLE[sweep.field]) for sweep in sweeps
        ],
        points=[
            FrontierPoint(
                values=dict(point.values),
                outcome=point.outcome,
                monthly_cost_usd=point.cost_usd,
                plan=_index(point, plans),
            )
            for point in solved
        ],
        breakpoints=[_change(change, first, plans) for change in found],
        plans=plans,
        notes=[BY_FORMULAS],
        complete=complete,
    )


def frontier_steps(sweeps: Sequence[Sweep]) -> list[str]:
    """What `progress` is told, in order."""
    total = prod(sweep.count for sweep in sweeps)
    return [*(f"point {number} of {total}" for number in range(1, total + 1)), "changes"]


def _axes(scenario: Scenario, sweeps: Sequence[Sweep]) -> tuple[Sweep, Sweep | None]:
    if not 1 <= len(sweeps) <= 2 or len({sweep.name for sweep in sweeps}) < len(sweeps):
        raise _refused("give one sweep, or two of different fields", "for instance --sweep ttft_ms=200:2000:10")
    for sweep in sweeps:
        if not _is_range(sweep.start, sweep.end, sweep.count):
            raise _refused(
                f"{sweep.name} from {exactly(sweep.start)} to {exactly(sweep.end)} in {sweep.count} is no range", RANGE
            )
    first, second = sweeps[0], (sweeps[1] if len(sweeps) > 1 else None)
    if first.count * (second.count if second else 1) > MAX_POINTS:
        raise _refused(f"{first.count} × {second.count if second else 1} points", f"at most {MAX_POINTS} in all")
    for sweep in sweeps:
        for workload in scenario.workloads if sweep.field == "requests_per_second" else ():
            if sweep.workload in (None, workload.name) and (why := _without_one_rate(workload)):
                raise _refused(f"{sweep.name} is not one number: {why}", "`optimizer sweep` varies any field")
        for value in (sweep.start, sweep.end):
            try:
                set_to(scenario, sweep, value)
            except ValidationError as error:
                raise InputError(_misfits(scenario, sweep, value, error)) from error
    return first, second


def _without_one_rate(workload: Workload) -> str:
    """Why no rate says by itself how much is asked of a workload; empty where one does."""
    if workload.deadline is not None:
        return f"the rate of {workload.name} follows from its deadline"
    weekly = workload.demand is not None and workload.demand.hourly is None
    return f"{workload.name} has a rate for each hour of the week" if weekly else ""


def _misfits(scenario: Scenario, sweep: Sweep, value: float, error: ValidationError) -> Iterator[Finding]:
    """Why a scenario does not take a value of its swept field, in the words of a scenario that says it."""
    document = Document("frontier", scenario.model_dump(exclude_defaults=True), {})
    for each in findings_of(document, error, Scenario):
        problem = f"{sweep.name} cannot be {exactly(value)}: {each.field}: {each.problem}"
        yield Finding("frontier", 0, "--sweep", problem, each.hint)


def _index(point: Point, plans: Sequence[str]) -> int | None:
    return plans.index(summarized(point.plan)) if point.plan else None


def _change(change: Change, first: Sweep, plans: Sequence[str]) -> FrontierChange:
    holds, starts = change.before.values[first.name], change.after.values[first.name]
    unit = SWEEPABLE[first.field].removeprefix("share")
    others = {name: value for name, value in change.before.values.items() if name != first.name}
    where = "".join(f", {name} {exactly(value)}" for name, value in others.items())
    return FrontierChange(
        field=first.name,
        at=others,
        holds_to=holds,
        changes_at=starts,
        before_usd=change.before.cost_usd,
        after_usd=change.after.cost_usd,
        before_plan=_index(change.before, plans),
        after_plan=_index(change.after, plans),
        text=f"{first.name} {exactly(holds)} → {exactly(starts)} {unit}".rstrip()
        + f"{where}: {_cost(change.before)} → {_cost(change.after)}",
    )


def _cost(point: Point) -> str:
    return "no plan" if point.cost_usd is None else f"${point.cost_usd:,.2f}"


def _left_out(complete: bool, limit: Limit | None) -> str:
    """Why changes of plan may be missing, as the end of a sentence; empty where none are."""
    if limit:
        return f"; the {limit} was reached before every change of plan was found"
    return "" if complete else "; the plan may change at more values than are told"


def _summary(inquiry: Inquiry, fields: str, solved: Sequence[Point], left_out: str) -> str:
    name, plan = inquiry.scenario.name, f"plan{' on measured speeds' if SPEED in inquiry.avoided else ''}"
    costs = [float(point.cost_usd) for point in solved if point.cost_usd is not None]
    if not costs:
        found = all(point.outcome == "infeasible" for point in solved)
        return f"No plan {'meets' if found else 'was found in time for'} {name} anywhere along {fields}."
    proven = all(point.outcome in PROVEN for point in solved)
    proof, or_less = ("each proven optimal", "") if proven else ("some not proven in time", " or less")
    infeasible = f", {len(solved) - len(costs)} without a plan" if len(costs) < len(solved) else ""
    range_usd = f"${min(costs):,.2f} to ${max(costs):,.2f} a month{or_less}"
    told = f"{len(solved)} points, {proof}{infeasible}{left_out}"
    return f"The cheapest {plan} for {name} costs {range_usd} along {fields}: {told}."

"""When nothing fits: the conflict, and the cheapest changes that resolve it, each re-solved before it is offered."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property
from typing import Final, NamedTuple, TypeAlias

from optimizer.base.clock import Limit, until_limit
from optimizer.inputs.requirements.declaration import Value
from optimizer.inputs.requirements.stated import StatedRequirement, askable, shown, waivable, with_field
from optimizer.inputs.scenario.scenario import Scenario
from optimizer.plan.explain.comparing import NONE_HOLDS
from optimizer.plan.explain.conflict import conflict_of, conflicts_of, plan_of, plan_without
from optimizer.plan.question.asking import answered
from optimizer.plan.question.inquiry import Answer, Inquiry
from optimizer.plan.readback.summary import summarized
from optimizer.plan.record.explanation import ConflictItem, FieldChange, Relaxation
from optimizer.plan.record.fleet import Outline

KNEE = 1.05
"""The tightest value with a plan is often absurdly dear; the strictest whose plan costs no more than so many times the
least is offered beside it."""
WORTH_OFFERING = 0.98
"""A looser value is offered when its plan costs at most this share of the one before."""
MOST_DEAR: Final = 10
"""A way out whose plan costs more than so many times that of another is none: nobody would take it."""

STEPS_FURTHER: Final = (1, 2, 4, 8)
"""So much looser than a value whose plan breaks a promise others are tried, until one has a plan that holds."""

HeldPlan: TypeAlias = Callable[[Inquiry, Answer], Outline | None]
"""The plan that is shown of a question and its answer once it was simulated; None where it breaks a promise."""
Changes: TypeAlias = tuple[tuple[StatedRequirement, Value | bool | None], ...]
"""Requirements with what they are set to."""

BROKEN: Final = f"no way out, for {NONE_HOLDS}"
BUDGET: Final = "max_monthly_usd"


@dataclass(frozen=True)
class WayOut:
    """Askeds set to new values, and the plan that they allow."""

    changes: Changes
    plan: Outline
    strictest: bool = True
    """Whether nothing stricter has a plan; looser ways stand beside it because they save a lot."""


class WaysFound(NamedTuple):
    """Why nothing fits, and what would help.

    Attributes:
        conflict: The requirements that cannot hold together.
        ways: What resolves it, cheapest first.
        broken: What would by its formulas, in words, had it a plan that keeps its promises.
        left_out: What of all this a limit left no time for, in words.
    """

    conflict: list[ConflictItem]
    ways: list[Relaxation]
    broken: tuple[str, ...]
    left_out: list[str]


def ways_out(inquiry: Inquiry, held: HeldPlan) -> WaysFound:
    """The sets of requirements that cannot hold together, and the ways out.

    Args:
        inquiry: An infeasible scenario; a limit of its clock leaves what was found by then.
        held: The plan of a way out that its reader would be shown.
    """
    # whether there is a plan and what it costs at least needs no simple one; what is offered does
    whole, inquiry = inquiry, replace(inquiry, simplifies=False)
    conflicts, limit = until_limit(conflicts_of(inquiry))
    left_out = [f"conflicts beyond those named: not worked out, the {limit} was reached"] if limit else []
    ways, broken, limit = held_ways(whole, _ways(inquiry, conflicts), held)
    left_out += [f"ways out beyond those named: not worked out, the {limit} was reached"] if limit else []
    told = _told(conflicts, [way for way in ways if len(way.changes) == 1 and len(conflicts) <= 1])
    return WaysFound(told, [relaxation(way) for way in worth_telling(ways)], broken, left_out)


def worth_telling(ways: Sequence[WayOut]) -> list[WayOut]:
    """Those that somebody might take, the cheapest first."""
    cheapest_first = sorted(ways, key=lambda way: (way.plan.monthly_cost_usd, _words(way)))
    return [way for way in cheapest_first if _usd(way) <= MOST_DEAR * _usd(cheapest_first[0])]


def _usd(way: WayOut) -> Decimal:
    return way.plan.monthly_cost_usd


def held_ways(
    inquiry: Inquiry, ways: Iterator[WayOut], held: HeldPlan
) -> tuple[list[WayOut], tuple[str, ...], Limit | None]:
    """Ways out as they are offered, those whose plans break a promise in words, and the limit that cut this short.

    Args:
        inquiry: The question that they lead out of.
        ways: By formulas alone, as they are found.
        held: The plan of a way out that its reader would be shown.
    """
    tried, limit = until_limit((way, _as_offered(inquiry, way, held)) for way in ways)
    broken = tuple(f"{_words(way)}: {BROKEN}" for way, offered in tried if offered is None)
    return list(_saving(offered for _, offered in tried if offered is not None)), broken, limit


def _as_offered(inquiry: Inquiry, way: WayOut, held: HeldPlan) -> WayOut | None:
    """The same way out, or one as little looser as it takes, with the plan that its reader would get: on what was
    measured if there is one, simple, and one that keeps its promises under simulated load; None where none is found."""
    for changes in _loosened(inquiry, way.changes, held):
        if (plan := _shown(inquiry, changes, held)) is not None:
            return replace(way, changes=changes, plan=plan, strictest=way.strictest and changes == way.changes)
    return None


def _loosened(inquiry: Inquiry, changes: Changes, held: HeldPlan) -> Iterator[Changes]:
    """Themselves; then all numbers some steps further on, with a budget for the cheapest plan that holds there."""
    yield changes
    if not any(item.requirement.name == BUDGET for item, _ in changes):
        yield from _further(inquiry, changes)
        return
    for further in (changes, *_further(inquiry, changes)):
        cheapest = _shown(replace(inquiry, simplifies=False), _with_budget(further, None), held)
        if cheapest is not None:
            yield _with_budget(further, _budget_of(cheapest))
            return


def _further(inquiry: Inquiry, changes: Changes) -> Iterator[Changes]:
    """Every number but the budget so many steps looser, as long as one of them goes so far."""
    looser = {item.field: _beyond(inquiry, item, to) for item, to in changes if item.requirement.name != BUDGET}
    for steps in STEPS_FURTHER:
        if all(len(values) <= steps for values in looser.values()):
            return
        yield tuple(
            (item, values[min(steps, len(values) - 1)] if (values := looser.get(item.field)) else to)
            for item, to in changes
        )


def _beyond(inquiry: Inquiry, item: StatedRequirement, to: Value | bool | None) -> tuple[float, ...]:
    """The values of a requirement from one on, from strict to loose."""
    values = askable(inquiry.scenario, item.field, item.looser_values())
    return values[values.index(to) :] if to in values else ()


def _with_budget(changes: Changes, usd: float | None) -> Changes:
    return tuple((item, usd if item.requirement.name == BUDGET else to) for item, to in changes)


def _shown(inquiry: Inquiry, changes: Changes, held: HeldPlan) -> Outline | None:
    """The plan that is shown where requirements are set to those values."""
    scenario = inquiry.scenario
    for item, to in changes:
        scenario = with_field(scenario, item.field, to)
    asked = inquiry.changed(scenario)
    answer = answered(asked)
    return held(asked, answer) if answer.solution.outcome in ("optimal", "feasible") else None


def _saving(ways: Iterable[WayOut]) -> Iterator[WayOut]:
    """Without those that are looser in the same requirements and save next to nothing."""
    least: dict[tuple[str, ...], Decimal] = {}
    for way in ways:
        fields, usd = tuple(item.field for item, _ in way.changes), way.plan.monthly_cost_usd
        if fields not in least or usd <= Decimal(WORTH_OFFERING) * least[fields]:
            least[fields] = usd
            yield way


def _ways(inquiry: Inquiry, conflicts: Sequence[Sequence[StatedRequirement]]) -> Iterator[WayOut]:
    """Each requirement of the one conflict, and each default, loosened alone; all together where none alone helps."""
    named = [item for conflict in conflicts for item in conflict]
    unwritten = [item for item in waivable(inquiry.scenario) if not item.written and item not in named]
    found = False
    for item in (*named, *unwritten) if len(conflicts) <= 1 else ():
        for way in alone(inquiry, item):
            found = True
            yield way
    if named and not found:
        yield from together(inquiry, named)


def alone(inquiry: Inquiry, item: StatedRequirement) -> Iterator[WayOut]:
    """One requirement loosened as little as restores a plan, then to the knee of its cost, then dropped."""
    removed = plan_without(inquiry, [item])
    if removed is None:
        return
    looser = _Looser(inquiry, inquiry.scenario, item)
    tightest = _tightened(looser, removed)
    yield tightest
    cheapest = tightest.plan.monthly_cost_usd
    for way in (_knee(looser, removed), WayOut(((item, item.without),), removed, strictest=False)):
        if way.plan.monthly_cost_usd <= Decimal(WORTH_OFFERING) * cheapest:
            yield way
            cheapest = way.plan.monthly_cost_usd


class _Looser:
    """The looser values of a requirement, and the plan that each allows, which is solved for once.

    Attributes:
        item: The requirement.
        values: From strict to loose.
    """

    def __init__(self, inquiry: Inquiry, scenario: Scenario, item: StatedRequirement) -> None:
        """In a scenario in which only this requirement stands in the way."""
        self.item, self._inquiry, self._scenario = item, inquiry, scenario
        self._plans: dict[float, Outline | None] = {}

    @cached_property
    def values(self) -> tuple[float, ...]:
        return askable(self._scenario, self.item.field, self.item.looser_values())

    def plan(self, value: float) -> Outline | None:
        if value not in self._plans:
            self._plans[value] = plan_of(self._inquiry, with_field(self._scenario, self.item.field, value))
        return self._plans[value]


def _knee(looser: _Looser, removed: Outline) -> WayOut:
    """The strictest value beyond which loosening saves next to nothing."""
    worth = removed.monthly_cost_usd * Decimal(KNEE)
    return replace(_tightened(looser, removed, worth), strictest=False)


def together(inquiry: Inquiry, conflict: Sequence[StatedRequirement]) -> Iterator[WayOut]:
    """All requirements of all conflicts loosened at once, then each tightened again as far as the others allow; and
    as far as that costs little, where it saves."""
    loose = list(conflict)
    while (plan := plan_without(inquiry, loose)) is None:
        further = conflict_of(inquiry, loose)
        if not further:
            return
        loose += further
    needed = list(loose)
    for item in loose:
        fewer = [other for other in needed if other is not item]
        without = plan_without(inquiry, fewer)
        if without is not None:
            needed, plan = fewer, without
    tightest = _all_tightened(inquiry, needed, plan)
    yield tightest
    knee = _all_tightened(inquiry, needed, plan, plan.monthly_cost_usd * Decimal(KNEE))
    if knee.plan.monthly_cost_usd <= Decimal(WORTH_OFFERING) * tightest.plan.monthly_cost_usd:
        yield replace(knee, strictest=False)


def _all_tightened(
    inquiry: Inquiry, needed: Sequence[StatedRequirement], plan: Outline, most_usd: Decimal | None = None
) -> WayOut:
    """Requirements that are all loosened, each tightened in its turn as far as the others allow, and a cost a month."""
    values: dict[str, Value | bool | None] = {item.field: item.without for item in needed}
    for item in needed:
        others = inquiry.scenario
        for other in needed:
            if other is not item:
                others = with_field(others, other.field, values[other.field])
        way = _tightened(_Looser(inquiry, others, item), plan, most_usd)
        values[item.field], plan = way.changes[0][1], way.plan
    return WayOut(tuple((item, values[item.field]) for item in needed), plan)


def _tightened(looser: _Looser, removed: Outline, most_usd: Decimal | None = None) -> WayOut:
    """The strictest value of a requirement that still allows a plan, by bisection over the looser values.

    Args:
        looser: The values, and where plans are solved.
        removed: The plan without the requirement.
        most_usd: What the plan may cost a month; any plan does without it.
    """
    item = looser.item
    if item.requirement.name == BUDGET:
        return WayOut(((item, _budget_of(removed)),), removed)
    best = WayOut(((item, item.without),), removed)
    low, high = 0, len(looser.values)
    while low < high:
        middle = (low + high) // 2
        plan = looser.plan(looser.values[middle])
        if plan is None or (most_usd is not None and plan.monthly_cost_usd > most_usd):
            low = middle + 1
        else:
            high, best = middle, WayOut(((item, looser.values[middle]),), plan)
    return best


def _budget_of(plan: Outline) -> float:
    """The least budget in whole dollars that a plan keeps."""
    return float(plan.monthly_cost_usd.to_integral_value(rounding="ROUND_CEILING"))


def relaxation(way: WayOut) -> Relaxation:
    """A way out as it is told."""
    changes = [
        FieldChange.model_validate({"field": item.field, "from": item.value, "to": to, "unit": item.unit})
        for item, to in way.changes
    ]
    plan = f"${way.plan.monthly_cost_usd:,.2f} a month, {summarized(way.plan)}"
    return Relaxation(changes=changes, monthly_cost_usd=way.plan.monthly_cost_usd, text=f"{_words(way)}: {plan}")


def _words(way: WayOut) -> str:
    return " and ".join(_said(item, to) for item, to in way.changes)


def _said(item: StatedRequirement, to: Value | bool | None) -> str:
    if to is None:
        return f"remove {item.field} ({shown(item.value, item.unit)})"
    return f"set {item.field} to {shown(to, item.unit)} (now {shown(item.value, item.unit)})"


def _told(conflicts: Sequence[Sequence[StatedRequirement]], ways: Sequence[WayOut]) -> list[ConflictItem]:
    """Each requirement with what the rest of the scenario would need of it, where one way out moves it alone."""
    needed = {item.field: to for way in reversed(ways) for item, to in way.changes if way.strictest}
    told = []
    for number, conflict in enumerate(conflicts, start=1):
        for item in conflict:
            value, text = shown(item.value, item.unit), f"{item.field} = {shown(item.value, item.unit)}"
            if not item.written:
                text += ", the default"
            if isinstance(to := needed.get(item.field), float | int):
                text += f"; the rest of the scenario needs {shown(to, item.unit)}"
            told.append(
                ConflictItem(
                    conflict=number,
                    requirement=item.field,
                    value=value,
                    written=item.written,
                    line=None,
                    text=text,
                )
            )
    return told

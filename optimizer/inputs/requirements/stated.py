"""What one scenario asks, requirement by requirement, and the scenario edited as a person would edit the file."""

import math
import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar, get_args

from pydantic import ValidationError

from optimizer.base.errors import did_you_mean
from optimizer.base.figures import exactly
from optimizer.base.model import Strict
from optimizer.inputs.requirements.declaration import Requirement, Step, Value
from optimizer.inputs.requirements.of_workloads import OF_WORKLOADS
from optimizer.inputs.requirements.registry import REQUIREMENTS
from optimizer.inputs.scenario.fields import FieldError
from optimizer.inputs.scenario.scenario import Latency, Policy, Quota, Scenario, Workload

WAY_OUT_RATIO: Final = 1.05
"""Ways out move a number that moves by ratio in steps of this."""

PATH_STEP: Final = re.compile(r"\[[^\]]*\]|[^.\[\]]+")
"""One step of a path: a field, or a list element in brackets, whose name may hold dots."""


@dataclass(frozen=True)
class StatedRequirement:
    """A requirement as one scenario states it.

    Attributes:
        requirement: Its declaration.
        field: Its path, list elements by name.
        value: What it asks now: a number, or names and promises in words.
        written: Whether the scenario says so; else it is the default.
        statistic: Of a latency.
        workload: Whose it is; empty for the policy's.
    """

    requirement: Requirement
    field: str
    value: float | str
    written: bool = True
    statistic: str = ""
    workload: str = ""

    @property
    def unit(self) -> str:
        """Of the value; names have none."""
        return self.requirement.unit

    @property
    def without(self) -> Value | bool | None:
        """The value that asks nothing; None removes the field."""
        return self.requirement.without

    @property
    def number(self) -> float | None:
        """The value where it is a number."""
        return None if isinstance(self.value, str) else float(self.value)

    @property
    def label(self) -> str:
        """What the number is called, with whose it is."""
        parts = (self.workload, self.requirement.label, self.statistic)
        return " ".join(part for part in parts if part)

    def looser_values(self) -> tuple[float, ...]:
        """From just looser than the value in force to the loosest worth trying, in steps people would choose."""
        step = self.requirement.step
        return () if step is None or self.number is None else looser_values(self.requirement, step, self.number)


def looser_values(requirement: Requirement, step: Step, value: float) -> tuple[float, ...]:
    """The values of a number from strict to loose, the one in force left out."""
    if step.kind == "ratio":
        count = math.ceil(math.log(step.reach) / math.log(WAY_OUT_RATIO))
        return tuple(rounded_up(value * WAY_OUT_RATIO ** (k + 1)) for k in range(count))
    if step.loosest is None:
        return ()
    up = requirement.sense == "at_most"
    end = max(value, step.loosest) if up else min(value, step.loosest)
    count = math.floor(abs(end - value) / step.size + 1e-9)
    return tuple(round(value + (step.size if up else -step.size) * (k + 1), 6) for k in range(count))


def stated_requirements(scenario: Scenario) -> tuple[StatedRequirement, ...]:
    """Everything that is asked, in the registry's order: each workload's own, then the policy's, defaults included."""
    own = (
        item
        for workload in scenario.workloads
        for requirement in OF_WORKLOADS
        for item in _stated(requirement, scenario, workload)
    )
    return (*own, *(item for each in REQUIREMENTS if not each.of_workload for item in _stated(each, scenario, None)))


def waivable(scenario: Scenario) -> tuple[StatedRequirement, ...]:
    """What could be done without: all but the demand."""
    return tuple(item for item in stated_requirements(scenario) if item.requirement.waivable)


def _stated(requirement: Requirement, scenario: Scenario, workload: Workload | None) -> Iterator[StatedRequirement]:
    """The requirement as it is stated: nothing where it asks nothing, one item a statistic of a latency."""
    name = "" if workload is None else workload.name
    stands = any(_stands(field, scenario, workload) for field in requirement.only_with)
    if requirement.only_with and not stands and not requirement.prefers:
        return
    for field in (requirement.field, *requirement.also):
        value, default = _value(field, scenario, workload), _default(field)
        preferred = value in requirement.prefers and not stands
        if preferred or _asks_nothing(requirement, value, default):
            continue
        path = field.replace("[]", f"[{name}]", 1)
        if isinstance(value, Latency):
            for statistic, limit in value.limits_ms().items():
                yield StatedRequirement(requirement, f"{path}.{statistic}", limit, statistic=statistic, workload=name)
            continue
        yield StatedRequirement(requirement, path, _in_words(value), written=value != default, workload=name)


def _value(field: str, scenario: Scenario, workload: Workload | None) -> Any:
    """What stands at a path of the schema; None below a record that was not given."""
    value: Any = workload if field.startswith("workloads[]") else scenario
    for step in field.removeprefix("workloads[].").split("."):
        value = None if value is None else getattr(value, step)
    return value


def _stands(field: str, scenario: Scenario, workload: Workload | None) -> bool:
    """Whether a field is given, by the workload in question or by any."""
    whose = scenario.workloads if workload is None else (workload,)
    return any(_value(field, scenario, each) is not None for each in whose)


def _default(field: str) -> Any:
    """What the schema takes where the field is left away."""
    record: Any = Workload if field.startswith("workloads[]") else Policy
    default = None
    for step in field.removeprefix("workloads[].").removeprefix("policy.").split("."):
        info = record.model_fields[step]
        default = info.get_default(call_default_factory=True)
        kinds = (info.annotation, *get_args(info.annotation))
        record = next((kind for kind in kinds if isinstance(kind, type) and issubclass(kind, Strict)), None)
    return default


def _asks_nothing(requirement: Requirement, value: Any, default: Any) -> bool:
    if value is None:
        return True
    if requirement.without is None:
        return bool(value == default)
    if isinstance(requirement.without, tuple):
        return set(value) == set(requirement.without)
    if requirement.sense == "at_least" or isinstance(value, bool | str):
        return bool(value == requirement.without)
    return bool(value >= requirement.without) if requirement.without else not value


def _in_words(value: Any) -> float | str:
    """A number as it is; anything else as people write it."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value
    if isinstance(value, tuple):
        return ", ".join(getattr(item, "name", str(item)) for item in value)
    if isinstance(value, Mapping):
        return ", ".join(f"{name}: {exactly(figure)}" for name, figure in value.items())
    return str(getattr(value, "words", value))


def with_field(scenario: Scenario, field: str, value: Value | bool | None) -> Scenario:
    """The scenario with one field set anew; None removes it, and with it a record that it leaves empty."""
    return Scenario.model_validate(edited(scenario, {field: value}))


def edited(scenario: Scenario, values: Mapping[str, Any]) -> dict[str, Any]:
    """What a scenario says with fields set anew, all at once and not yet validated; None removes a field.

    Raises:
        FieldError: a path leads to no field.
    """
    raw = scenario.model_dump(exclude_defaults=True)
    for field, value in values.items():
        set_field(raw, field, value)
    return raw


def set_field(raw: dict[str, Any], field: str, value: Any) -> None:
    """One field set in place, or removed with the record that it leaves empty."""
    *steps, last = PATH_STEP.findall(field) or [""]
    node: Any = raw
    trail: list[tuple[Any, str]] = []
    for step in steps:
        if step.startswith("["):
            node = _named(node, step[1:-1], field)
        else:
            trail.append((_record(node, field), step))
            node = node.setdefault(step, {})
    _record(node, field)
    if last.startswith("["):
        raise FieldError(field, "names a whole entry of a list", "name one of its fields")
    if value is None:
        node.pop(last, None)
        if not node and trail:
            parent, name = trail[-1]
            parent.pop(name)
    else:
        node[last] = value


def _record(node: Any, field: str) -> dict[str, Any]:
    """A place in a scenario that has fields."""
    if isinstance(node, dict):
        return node
    if isinstance(node, list | tuple):
        raise FieldError(field, "leads through a list", "name the entry in brackets, as in workloads[chat]")
    raise FieldError(field, "leads through a value that has no fields", "")


def _named(node: Any, name: str, field: str) -> Any:
    """The element of a list that has that name."""
    items = node if isinstance(node, list | tuple) else ()
    elements = {_element(item, position): item for position, item in enumerate(items)}
    if name not in elements:
        hint = did_you_mean(name, elements) or f"there is {', '.join(elements) or 'none'}"
        raise FieldError(field, f"nothing there is named '{name}'", hint)
    return elements[name]


Asked = TypeVar("Asked", bound=Value)


def askable(scenario: Scenario, field: str, values: Sequence[Asked]) -> tuple[Asked, ...]:
    """Which of some values, from strict to loose, a scenario may ask.

    Numbers end somewhere, and some of them hold others in bounds: what may be asked has two ends and no gap.
    """
    raw = scenario.model_dump(exclude_defaults=True)
    first = next((at for at, value in enumerate(values) if _is_askable(raw, field, value)), len(values))
    if first == len(values) or _is_askable(raw, field, values[-1]):
        return tuple(values[first:])
    beyond = bisect_left(values, True, lo=first + 1, key=lambda value: not _is_askable(raw, field, value))
    return tuple(values[first:beyond])


def _is_askable(raw: dict[str, Any], field: str, value: Value) -> bool:
    """Whether what a scenario says is one with that value, too; the value of the field is left standing."""
    set_field(raw, field, value)
    try:
        Scenario.model_validate(raw)
    except ValidationError:
        return False
    return True


def _element(item: object, position: int) -> str:
    """What a list element is called in a path: its name, or what a quota covers; anything else by its position."""
    if isinstance(item, Mapping) and "name" in item:
        return str(item["name"])
    try:
        return Quota.model_validate(item).name
    except ValidationError:
        return str(position)


def rounded_up(value: float, digits: int = 3) -> float:
    """The next value with so many significant digits."""
    step = 10.0 ** (math.floor(math.log10(value)) - digits + 1)
    return round(math.ceil(value / step - 1e-9) * step, 9)


def shown(value: Value | bool, unit: str = "") -> str:
    """A value of the scenario as people write it, with its unit."""
    if isinstance(value, tuple):
        return ", ".join(value)
    if isinstance(value, bool):
        return str(value).lower()
    number = value if isinstance(value, str) else f"{value:,.6f}".rstrip("0").rstrip(".")
    return f"{number} {'' if unit == 'share' else unit}".rstrip()


def own_fields(*decided: str) -> frozenset[str]:
    """The workload's fields whose requirements decide that: levels, candidates, offers or the fleet."""
    return _fields("workloads[].", decided)


def policy_fields(*decided: str) -> frozenset[str]:
    """The policy's fields whose requirements decide that."""
    return _fields("policy.", decided)


def _fields(record: str, decided: tuple[str, ...]) -> frozenset[str]:
    fields = (f for item in REQUIREMENTS if item.decides in decided for f in (item.field, *item.also))
    return frozenset(field.removeprefix(record).split(".")[0] for field in fields if field.startswith(record))

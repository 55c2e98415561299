"""Every number of the scenario that can be set a little tighter or looser, with its natural step and its range."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from optimizer.inputs.requirements.declaration import Requirement
from optimizer.inputs.requirements.registry import BY_NAME
from optimizer.inputs.requirements.stated import StatedRequirement, askable, stated_requirements
from optimizer.inputs.scenario.scenario import Scenario
from optimizer.performance.candidates.options import WorkloadOptions
from optimizer.plan.record.fleet import Deployment, PlannedFleet

Direction = Literal["tighter", "looser"]

SHARE_STEP: Final = 0.1
"""One natural step of a number that moves by ratio: ten percent of itself."""
REACH: Final = 4.0
"""Breakpoints are looked for up to this factor of the value in force."""
QUALITY_STEPS: Final = 10_000
PEAK: Final = "demand.peak_requests_per_second"
ORDER: Final = ("fixed", "ratio", "whole")
"""The policy's numbers are told by how they move, then in the registry's order."""


@dataclass(frozen=True)
class Lever:
    """One number of the scenario.

    Attributes:
        requirement: What it is a number of.
        field: Its path.
        what: Its name in words.
        value: What the scenario says now.
        steps: The value one natural step in each direction, where there is one.
        ends: How far breakpoints are looked for in each direction, where they are.
    """

    requirement: Requirement
    field: str
    what: str
    value: float
    steps: dict[Direction, float]
    ends: dict[Direction, float]

    @property
    def unit(self) -> str:
        """Of the value."""
        return self.requirement.unit

    @property
    def whole(self) -> bool:
        """Whether only whole numbers make sense."""
        return self.requirement.step is not None and self.requirement.step.kind == "whole"


def levers(scenario: Scenario, options: Sequence[WorkloadOptions], chosen: Sequence[Deployment]) -> tuple[Lever, ...]:
    """All numbers worth moving, each workload's first.

    Args:
        scenario: What is asked.
        options: Whose precisions say which quality floors there are.
        chosen: The plan, whose instances say what one more means to a limit on GPUs.
    """
    asked = stated_requirements(scenario)
    own = [lever for item in asked if item.workload for lever in _of_workload(item, scenario, options)]
    numbers = [item for item in asked if not item.workload and item.number is not None and item.requirement.step]
    numbers = [item for item in numbers if item.requirement.decides != "offers"]
    limits = [_moved(item.requirement, item.field, item.label, float(item.value), chosen) for item in numbers]
    limits += _of_quotas(scenario, chosen)
    return tuple(_askable(scenario, lever) for lever in (*own, *sorted(limits, key=_by_movement)))


def that_matter(moved: Sequence[Lever], bought: PlannedFleet) -> tuple[Lever, ...]:
    """Without those that say how replicas are kept, where the plan has none: what it buys does not depend on them."""
    if bought.deployments or bought.containers:
        return tuple(moved)
    return tuple(lever for lever in moved if lever.requirement.of_workload or lever.requirement.over != "deployment")


def _askable(scenario: Scenario, lever: Lever) -> Lever:
    """The lever moved no further than a scenario may say."""
    steps, ends = (
        {way: to for way, to in found.items() if askable(scenario, lever.field, (to,))}
        for found in (lever.steps, lever.ends)
    )
    return replace(lever, steps=steps, ends=ends)


def _by_movement(lever: Lever) -> int:
    step = lever.requirement.step
    return ORDER.index(step.kind) if step is not None and step.kind in ORDER else len(ORDER)


def is_demand(field: str) -> bool:
    """Whether a field says how much is asked for; that is met exactly, so it always binds."""
    return field.endswith("requests_per_second")


def _of_workload(item: StatedRequirement, scenario: Scenario, options: Sequence[WorkloadOptions]) -> Iterator[Lever]:
    """A demand by the hour is moved by its peak; a profile given hour by hour has no one number to move."""
    requirement = item.requirement
    if requirement.step is not None and requirement.step.kind == "floors":
        yield _floors(item, [choice for choice in options if choice.workload.name == item.workload])
    elif item.number is not None and requirement.step is not None:
        yield _moved(requirement, item.field, item.label, item.number, ())
    elif requirement.name == "demand":
        workload = next(each for each in scenario.workloads if each.name == item.workload)
        peak = workload.demand.peak_requests_per_second if workload.demand else None
        if peak is not None:
            yield _moved(requirement, f"workloads[{item.workload}].{PEAK}", item.label, peak, ())


def _of_quotas(scenario: Scenario, chosen: Sequence[Deployment]) -> list[Lever]:
    """Each quota is a number of its own, moved by the instances of the plan that it covers."""
    found = []
    for quota in scenario.policy.quotas:
        covered = [d for d in chosen if quota.covers(d.provider, d.region, d.gpu)]
        field, size = f"policy.quotas[{quota.name}].max_gpus", max((d.gpus_per_instance for d in covered), default=1)
        found.append(_whole(BY_NAME["quotas"], field, f"quota {quota.name}", quota.max_gpus, size))
    return found


def _moved(requirement: Requirement, field: str, what: str, value: float, chosen: Sequence[Deployment]) -> Lever:
    """The lever of a number that moves as its declaration says."""
    step = requirement.step
    if step is not None and step.kind == "whole":
        size = min((d.gpus_per_instance for d in chosen), default=1) if requirement.unit == "GPUs" else 1
        return _whole(requirement, field, what, int(value), size)
    tighter = 1 if requirement.sense == "at_least" else -1
    if step is not None and step.kind == "fixed":
        steps: dict[Direction, float] = {
            "tighter": round(_within(value + tighter * step.size, value, step.strictest), 6),
            "looser": round(_within(value - tighter * step.size, value, step.loosest), 6),
        }
        ends: dict[Direction, float] = {
            "tighter": _tidy(value * REACH**tighter) if step.strictest is None else step.strictest,
            "looser": _tidy(value * REACH**-tighter) if step.loosest is None else step.loosest,
        }
        steps, ends = ({way: to for way, to in found.items() if to != value and to > 0} for found in (steps, ends))
    else:
        steps = {
            "tighter": _tidy(value * (1 + tighter * SHARE_STEP)),
            "looser": _tidy(value * (1 - tighter * SHARE_STEP)),
        }
        ends = {"tighter": _tidy(value * REACH**tighter), "looser": _tidy(value * REACH**-tighter)}
    return Lever(requirement, field, what, value, steps, ends)


def _within(to: float, value: float, end: float | None) -> float:
    """A value on the way to an end, which it does not pass."""
    if end is None:
        return to
    return min(to, max(end, value)) if to > value else max(to, min(end, value))


def _tidy(value: float) -> float:
    return float(f"{value:.6g}")


def _whole(requirement: Requirement, field: str, what: str, value: int, size: int) -> Lever:
    """The lever of a count, moved by so many at a time."""
    step, rising = requirement.step, requirement.sense == "at_least"
    least = int((step.loosest if rising else step.strictest) or 0) if step is not None else 0
    tighter = size if rising else -size
    steps: dict[Direction, float] = {"tighter": value + tighter, "looser": value - tighter}
    far = max(int(value * REACH), value + size)
    ends: dict[Direction, float] = {"tighter": far if rising else least, "looser": least if rising else far}
    steps, ends = ({way: to for way, to in found.items() if to >= least and to != value} for found in (steps, ends))
    return Lever(requirement, field, what, value, steps, ends)


def _floors(item: StatedRequirement, options: Sequence[WorkloadOptions]) -> Lever:
    """The floors at which the next precision falls out or comes in."""
    floor = float(item.value)
    estimates = [estimate for choice in options for estimate in choice.quality if estimate is not None]
    known = [e.share if item.requirement.name == "min_quality" else e.worst_share for e in estimates]
    shares = {share for share in known if share is not None and share <= 1}
    admitted = sorted({_rounded_down(share) for share in shares if share >= floor})
    barred = sorted({_rounded_down(share) for share in shares if 0 < share < floor})
    steps: dict[Direction, float] = {}
    if len(admitted) > 1:
        steps["tighter"] = admitted[1]
    if barred:
        steps["looser"] = barred[-1]
    return Lever(item.requirement, item.field, item.label, floor, steps, {})


def _rounded_down(share: float) -> float:
    """So that the precision whose share this is still passes a floor of so much."""
    return math.floor(share * QUALITY_STEPS) / QUALITY_STEPS

"""The limits of a scenario as sliders, and the frontier behind each: where it changes, and what is the plan between."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from optimizer.answers.planning.frontier import Frontier
from optimizer.answers.planning.page import FRONTIER_POINTS, FRONTIER_REACH
from optimizer.inputs.requirements.stated import StatedRequirement, shown, stated_requirements
from optimizer.inputs.scenario.scenario import CENTRAL_CONFIDENCE, Scenario
from optimizer.plan.variants.frontier import SWEEPABLE

DEMAND: Final = "demand"
MOST_CONFIDENT: Final = 0.99
DECADE: Final = 10.0
"""A share of quality is moved from ten times as much lost to a tenth of it."""


@dataclass(frozen=True)
class Slider:
    """A number of the scenario that can be moved.

    Attributes:
        field: Its path.
        label: What it is called.
        value: As it is.
        unit: Of the value.
        low, high: Ends of the slider.
        step: Between two of its positions.
        sweep: As `frontier` is asked for it; empty where no frontier runs along it.
    """

    field: str
    label: str
    value: float
    unit: str
    low: float
    high: float
    step: float
    sweep: str = ""

    @property
    def now(self) -> str:
        """The value with its unit."""
        return shown(self.value, self.unit)


def sliders_of(scenario: Scenario) -> list[Slider]:
    """Every number that a loaded scenario limits itself by, those with a frontier first.

    A rate that follows from users, tokens or a deadline is no number of the scenario: the form moves what it follows
    from.
    """
    found = [slider for item in stated_requirements(scenario) for slider in _sliders(item, scenario)]
    return sorted(found, key=lambda slider: not slider.sweep)


def _sliders(item: StatedRequirement, scenario: Scenario) -> Iterator[Slider]:
    requirement = item.requirement
    workload = next((each for each in scenario.workloads if each.name == item.workload), None)
    if requirement.name == DEMAND and workload is not None:
        if workload.stated_as or (workload.demand is not None and workload.demand.hourly is None):
            return
        height = "requests_per_second" if workload.demand is None else "demand.peak_requests_per_second"
        yield _slider(item, f"workloads[{workload.name}].{height}", workload.peak_requests_per_second(), scenario)
    elif (
        item.number is not None and requirement.step is not None and (item.written or requirement.name == "confidence")
    ):
        yield _slider(item, item.field, item.number, scenario)


def _slider(item: StatedRequirement, field: str, value: float, scenario: Scenario) -> Slider:
    name = "requests_per_second" if item.requirement.name == DEMAND else item.requirement.name
    several = len(scenario.workloads) > 1 and item.workload
    sweep = (f"{item.workload}.{name}" if several else name) if name in SWEEPABLE else ""
    low, high, step = _range(item, name, value)
    return Slider(field, item.label, value, item.unit, low, high, step, sweep)


def _range(item: StatedRequirement, name: str, value: float) -> tuple[float, float, float]:
    """From half to twice a quantity; of a share, by what it leaves to one."""
    if name == "confidence":
        return CENTRAL_CONFIDENCE, MOST_CONFIDENT, 0.01
    if item.unit == "share" or 0 < value < 1:
        lost = max(1 - value, 0.001)
        return round(max(1 - lost * DECADE, 0.01), 4), round(1 - lost / DECADE, 4), 0.001
    if isinstance(item.value, int):
        strictest = item.requirement.step.strictest if item.requirement.step else None
        return max(value // 2, strictest or 0), max(value * 2, value + 4), 1
    low, high = value / FRONTIER_REACH, value * FRONTIER_REACH
    return low, high, float(f"{(high - low) / 150:.1g}")


def sweep_text(slider: Slider) -> str:
    """The frontier along a slider, as `optimizer frontier --sweep` takes it."""
    return f"{slider.sweep}={slider.low:.12g}:{slider.high:.12g}:{FRONTIER_POINTS}"


def curve_of(answer: Frontier, slider: Slider) -> dict[str, Any]:
    """The frontier as a stepped line: every point and both sides of every change, in the order of the limit.

    Returns:
        `x` (N,), `usd` (N,) in US dollars a month with None where no plan is, `plan` (N,) positions in `plans`,
        `proven` (N,), and `changes`, the values at which another plan takes over.
    """
    field = answer.sweeps[0].field
    corners: dict[float, tuple[float | None, int | None, bool]] = {}
    for point in answer.points:
        cost = None if point.monthly_cost_usd is None else float(point.monthly_cost_usd)
        corners[point.values[field]] = (cost, point.plan, point.outcome in ("optimal", "infeasible"))
    for change in answer.breakpoints:
        sides = (
            (change.holds_to, change.before_usd, change.before_plan),
            (change.changes_at, change.after_usd, change.after_plan),
        )
        for at, usd, plan in sides:
            corners.setdefault(at, (None if usd is None else float(usd), plan, True))
    line = sorted(corners.items())
    return {
        "x": [at for at, _ in line],
        "usd": [usd for _, (usd, _, _) in line],
        "plan": [plan for _, (_, plan, _) in line],
        "proven": [proven for _, (_, _, proven) in line],
        "plans": answer.plans,
        "changes": sorted(change.changes_at for change in answer.breakpoints),
        "now": slider.value,
        "unit": "" if slider.unit == "share" else slider.unit,
        "label": slider.label,
    }

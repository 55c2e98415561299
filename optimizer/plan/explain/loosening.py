"""The scenario's requirements one by one: what each asks, how to do without it, and the values between.

A requirement is named by the path of its field; setting the field anew gives the scenario without it, exactly as a
person would edit the file.
"""

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, get_args

from optimizer.inputs.catalog.kinds import Confidence, PricingTerm, ProviderKind
from optimizer.inputs.scenario.scenario import CENTRAL_CONFIDENCE, STATISTICS, Policy, Quota, Scenario, Workload

MAX_LATENCY_FACTOR: Final = 4096.0
"""A latency limit is loosened up to this factor before it counts as removed."""
LATENCY_PRECISION: Final = 1.05
LEAST_QUALITY: Final = 0.005
"""The lowest floor worth asking for; below it there is none."""
BUDGET_FACTOR: Final = 1e9
ANY_AGE_DAYS: Final = 36_500
EVERYTHING: Final = {
    "provider_kinds": get_args(ProviderKind),
    "pricing_terms": get_args(PricingTerm),
    "price_confidence": get_args(Confidence),
}
"""Policy fields that list what is admitted, with all there is."""

STEP: Final = re.compile(r"\[[^\]]*\]|[^.\[\]]+")
"""One step of a path: a field, or a list element in brackets, whose name may hold dots."""

Value = float | str | tuple[str, ...]


@dataclass(frozen=True)
class Scale:
    """The values a numeric requirement may take, from strict to loose.

    Attributes:
        start: The value in force.
        end: The loosest value worth trying.
        step: Whole steps of this size between them; 0 for steps by ratio.
    """

    start: float
    end: float
    step: float

    def values(self) -> tuple[float, ...]:
        """From just looser than the value in force to the loosest, in steps people would choose."""
        if self.step:
            count = math.floor(abs(self.end - self.start) / self.step + 1e-9)
            sign = math.copysign(1.0, self.end - self.start)
            return tuple(round(self.start + sign * self.step * (k + 1), 6) for k in range(count))
        count = math.ceil(math.log(self.end / self.start) / math.log(LATENCY_PRECISION))
        return tuple(rounded_up(self.start * LATENCY_PRECISION ** (k + 1)) for k in range(count))


@dataclass(frozen=True)
class Requirement:
    """One field of the scenario that can be loosened.

    Attributes:
        field: Its path, list elements by name.
        value: What it asks now, as in the scenario.
        without: The value that asks nothing; None removes the field.
        unit: Unit of the value, empty for lists and counts.
        scale: The values between, None where there are none.
    """

    field: str
    value: float | str
    without: Value | None
    unit: str
    scale: Scale | None


def requirements_of(scenario: Scenario) -> tuple[Requirement, ...]:
    """What the scenario asks beyond its demand, service levels first."""
    levels = (item for workload in scenario.workloads for item in _of_workload(workload))
    return (*levels, *(item for item in _of_policy(scenario.policy) if not _is_default(scenario.policy, item)))


def defaults_of(scenario: Scenario) -> tuple[Requirement, ...]:
    """What is asked without having been written: the defaults that keep something out."""
    return tuple(item for item in _of_policy(scenario.policy) if _is_default(scenario.policy, item))


def _of_policy(policy: Policy) -> Iterator[Requirement]:
    yield from _numbers(policy)
    yield from _lists(policy)


def _is_default(policy: Policy, item: Requirement) -> bool:
    name = item.field.removeprefix("policy.")
    return bool(getattr(policy, name) == Policy.model_fields[name].default)


def with_field(scenario: Scenario, field: str, value: Value | None) -> Scenario:
    """The scenario with one field set anew; None removes it, and with it a record that it leaves empty."""
    raw = scenario.model_dump(exclude_defaults=True)
    *steps, last = STEP.findall(field)
    node: Any = raw
    trail: list[tuple[Any, str]] = []
    for step in steps:
        if step.startswith("["):
            node = next(item for item in node if _element(item) == step[1:-1])
        else:
            trail.append((node, step))
            node = node.setdefault(step, {})
    if value is None:
        node.pop(last, None)
        if not node and trail:
            parent, name = trail[-1]
            parent.pop(name)
    else:
        node[last] = value
    return Scenario.model_validate(raw)


def _element(item: Mapping[str, Any]) -> str:
    """What a list element is called in a path: its name, or what a quota covers."""
    return str(item["name"]) if "name" in item else Quota.model_validate(item).name


def rounded_up(value: float, digits: int = 3) -> float:
    """The next value with so many significant digits."""
    step = 10.0 ** (math.floor(math.log10(value)) - digits + 1)
    return round(math.ceil(value / step - 1e-9) * step, 9)


def shown(value: Value, unit: str = "") -> str:
    """A value of the scenario as people write it, with its unit."""
    if isinstance(value, tuple):
        return ", ".join(value)
    number = value if isinstance(value, str) else f"{value:,.6f}".rstrip("0").rstrip(".")
    return f"{number} {'' if unit == 'share' else unit}".rstrip()


def _of_workload(workload: Workload) -> Iterator[Requirement]:
    path = f"workloads[{workload.name}]"
    for metric in ("ttft_ms", "tpot_ms", "e2e_ms"):
        latency = getattr(workload.slo, metric)
        for statistic in STATISTICS if latency else ():
            limit = getattr(latency, statistic)
            if limit is not None:
                scale = Scale(limit, limit * MAX_LATENCY_FACTOR, 0)
                yield Requirement(f"{path}.slo.{metric}.{statistic}", limit, None, "ms", scale)
    if workload.min_quality is not None:
        scale = Scale(workload.min_quality, LEAST_QUALITY, 0.005)
        yield Requirement(f"{path}.min_quality", workload.min_quality, None, "share", scale)
    if workload.min_replicas:
        yield Requirement(f"{path}.min_replicas", workload.min_replicas, None, "", Scale(workload.min_replicas, 0, 1))
    for name in ("providers", "regions", "countries"):
        if getattr(workload, name).restricts:
            yield Requirement(f"{path}.{name}", _written(getattr(workload, name)), None, "", None)


def _numbers(policy: Policy) -> Iterator[Requirement]:
    if policy.max_monthly_usd is not None:
        scale = Scale(policy.max_monthly_usd, policy.max_monthly_usd * BUDGET_FACTOR, 0)
        yield Requirement("policy.max_monthly_usd", policy.max_monthly_usd, None, "USD", scale)
    for name, unit, step, most in (
        ("max_gpus", "GPUs", 1.0, 20_000.0),
        ("max_distinct_configurations", "configurations", 1.0, 200.0),
        ("max_power_kw", "kW", 0.5, 20_000.0),
        ("max_engines", "engines", 1.0, 20.0),
        ("max_spot_share", "share", 0.05, 1.0),
        ("max_provider_share", "share", 0.05, 1.0),
    ):
        limit = getattr(policy, name)
        if limit is not None:
            yield Requirement(f"policy.{name}", limit, None, unit, Scale(limit, max(limit, most), step))
    carbon = policy.max_carbon_kg_per_month
    if carbon is not None:
        scale = Scale(carbon, carbon * BUDGET_FACTOR, 0)
        yield Requirement("policy.max_carbon_kg_per_month", carbon, None, "kg", scale)
    for name, floor in (("spare_replicas", 0), ("min_providers", 1), ("min_regions", 1)):
        asked = getattr(policy, name)
        if asked != floor:
            yield Requirement(f"policy.{name}", asked, floor, "", Scale(asked, floor, 1))
    if policy.max_utilization < 1:
        scale = Scale(policy.max_utilization, 1.0, 0.05)
        yield Requirement("policy.max_utilization", policy.max_utilization, 1.0, "share", scale)
    if policy.confidence > CENTRAL_CONFIDENCE:
        scale = Scale(policy.confidence, CENTRAL_CONFIDENCE, 0.05)
        yield Requirement("policy.confidence", policy.confidence, CENTRAL_CONFIDENCE, "", scale)


def _lists(policy: Policy) -> Iterator[Requirement]:
    """Lists of names can only be dropped or opened; what is left out by default is asked for like any other."""
    places = ("providers", "regions", "countries", "hosting")
    for name in (*places, "gpus", "engines", "precisions", "kv_precisions", "quotas"):
        if getattr(policy, name) != Policy.model_fields[name].default:
            yield Requirement(f"policy.{name}", _written(getattr(policy, name)), None, "", None)
    yield from _promises(policy)
    for name, everything in EVERYTHING.items():
        if set(getattr(policy, name)) != set(everything):
            yield Requirement(f"policy.{name}", ", ".join(getattr(policy, name)), everything, "", None)
    age_days = policy.max_price_age_days
    if age_days is not None and age_days < ANY_AGE_DAYS:
        yield Requirement("policy.max_price_age_days", age_days, ANY_AGE_DAYS, "days", None)


def _promises(policy: Policy) -> Iterator[Requirement]:
    """What must hold beyond today's demand and prices can only be dropped whole."""
    robust, migration = policy.robust, policy.migration
    factors = f"demand × {robust.demand:g}, throughput × {robust.throughput:g}, price × {robust.price:g}"
    written = {
        "survive": f"the loss of any {' or '.join(policy.survive.loss_of)}",
        "robust": factors,
        "migration": "the plan in force" if migration is None else f"at most {migration.max_changes} changes",
    }
    for name, text in written.items():
        if getattr(policy, name) != Policy.model_fields[name].default:
            yield Requirement(f"policy.{name}", text, None, "", None)


def _written(value: Any) -> str:
    if hasattr(value, "allow"):
        parts = [
            f"{verb} {', '.join(names)}" for verb, names in (("allow", value.allow), ("deny", value.deny)) if names
        ]
        return "; ".join(parts)
    return ", ".join(getattr(item, "name", str(item)) for item in value)

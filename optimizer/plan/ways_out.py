"""When nothing fits: which single limits, loosened, bring a plan back, each way re-solved before it is offered."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from optimizer.inputs.scenario import STATISTICS, Policy, Scenario, Workload
from optimizer.plan.alternatives import summarized
from optimizer.plan.inquiry import Inquiry
from optimizer.plan.plan import ConflictItem, FieldChange, Relaxation
from optimizer.plan.readback import Bought, read_back

MAX_LOOSENING = 4096.0
"""A latency limit is loosened up to this factor before giving up on it."""
PRECISION = 1.05
"""The offered limit is within this factor of the tightest that was found feasible."""
POLICY_LIMITS = {
    "max_monthly_usd": "USD",
    "max_gpus": "GPUs",
    "max_distinct_configurations": "configurations",
    "max_power_kw": "kW",
    "max_spot_share": "share",
}
POLICY_FLOORS = {"spare_replicas": 0, "min_providers": 1, "min_regions": 1}
POLICY_LISTS = ("providers", "gpus", "regions", "engines", "precisions", "kv_precisions", "quotas")


@dataclass(frozen=True)
class Change:
    """A scenario with some fields set anew, and the fields as a person would set them."""

    scenario: Scenario
    fields: tuple[FieldChange, ...]


def ways_out(inquiry: Inquiry) -> tuple[list[ConflictItem], list[Relaxation]]:
    """Every requirement whose loosening alone restores feasibility, as part of the conflict and as a way out.

    Each relaxation was solved and read back; they come cheapest first.
    """
    found: list[tuple[Decimal, Relaxation]] = []
    conflict: list[ConflictItem] = []
    for change in (*_policy_changes(inquiry.scenario), *_quality_changes(inquiry.scenario)):
        plan = _plan(Inquiry.of(change.scenario, inquiry.catalogs))
        if plan is not None:
            found.append((plan.monthly_cost_usd, _relaxation(_tightened(inquiry, change, plan), plan)))
            conflict += [_conflict_item(field) for field in change.fields]
    for change, plan in _latency_changes(inquiry):
        found.append((plan.monthly_cost_usd, _relaxation(change, plan)))
        conflict += [_conflict_item(field) for field in change.fields]
    ordered = sorted(found, key=lambda pair: (pair[0], pair[1].text))
    return conflict, [relaxation for _, relaxation in ordered]


def _plan(inquiry: Inquiry) -> Bought | None:
    answer = inquiry.solved()
    return read_back(answer) if answer.solution.outcome in ("optimal", "feasible") else None


def _policy_changes(scenario: Scenario) -> Iterator[Change]:
    policy = scenario.policy
    for name, unit in POLICY_LIMITS.items():
        if getattr(policy, name) is not None:
            yield _policy_change(scenario, name, None, unit)
    for name, floor in POLICY_FLOORS.items():
        if getattr(policy, name) != floor:
            yield _policy_change(scenario, name, floor, "")
    for name in POLICY_LISTS:
        neutral = Policy.model_fields[name].default
        if getattr(policy, name) != neutral:
            yield _policy_change(scenario, name, None, "")


def _policy_change(scenario: Scenario, name: str, to: float | None, unit: str) -> Change:
    neutral = Policy.model_fields[name].default if to is None else to
    policy = scenario.policy.model_copy(update={name: neutral})
    was = getattr(scenario.policy, name)
    shown = was if isinstance(was, int | float) else _written(was)
    field = FieldChange.model_validate({"field": f"policy.{name}", "from": shown, "to": to, "unit": unit})
    return Change(scenario.model_copy(update={"policy": policy}), (field,))


def _written(value: Any) -> str:
    if hasattr(value, "allow"):
        parts = [
            f"{verb} {', '.join(names)}" for verb, names in (("allow", value.allow), ("deny", value.deny)) if names
        ]
        return "; ".join(parts)
    return ", ".join(getattr(item, "name", str(item)) for item in value)


def _quality_changes(scenario: Scenario) -> Iterator[Change]:
    for workload in scenario.workloads:
        if workload.min_quality is not None:
            path = f"workloads[{workload.name}].min_quality"
            field = FieldChange.model_validate(
                {"field": path, "from": workload.min_quality, "to": None, "unit": "share"}
            )
            yield Change(_with_workload(scenario, workload.model_copy(update={"min_quality": None})), (field,))


def _with_workload(scenario: Scenario, changed: Workload) -> Scenario:
    workloads = tuple(changed if item.name == changed.name else item for item in scenario.workloads)
    return scenario.model_copy(update={"workloads": workloads})


def _latency_changes(inquiry: Inquiry) -> Iterator[tuple[Change, Bought]]:
    """For each latency limit alone, the tightest limit (within PRECISION) under which a plan exists."""
    for workload in inquiry.scenario.workloads:
        for metric in ("ttft_ms", "tpot_ms", "e2e_ms"):
            latency = getattr(workload.slo, metric)
            for statistic in STATISTICS if latency else ():
                limit = getattr(latency, statistic)
                if limit is not None:
                    yield from _loosened(inquiry, workload, metric, statistic, limit)


def _loosened(
    inquiry: Inquiry, workload: Workload, metric: str, statistic: str, limit: float
) -> Iterator[tuple[Change, Bought]]:
    def change(factor: float) -> Change:
        to = _rounded_up(limit * factor)
        latency = getattr(workload.slo, metric).model_copy(update={statistic: to})
        slo = workload.slo.model_copy(update={metric: latency})
        path = f"workloads[{workload.name}].slo.{metric}.{statistic}"
        field = FieldChange.model_validate({"field": path, "from": limit, "to": to, "unit": "ms"})
        return Change(_with_workload(inquiry.scenario, workload.model_copy(update={"slo": slo})), (field,))

    widest = change(MAX_LOOSENING)
    plan = _plan(inquiry.under_levels(widest.scenario))
    if plan is None:
        return
    tight, loose, best = 1.0, MAX_LOOSENING, (widest, plan)
    while loose / tight > PRECISION:
        middle = change(math.sqrt(tight * loose))
        plan = _plan(inquiry.under_levels(middle.scenario))
        if plan is None:
            tight = math.sqrt(tight * loose)
        else:
            loose, best = math.sqrt(tight * loose), (middle, plan)
    yield best


def _rounded_up(value: float, digits: int = 3) -> float:
    step = 10.0 ** (math.floor(math.log10(value)) - digits + 1)
    return math.ceil(value / step - 1e-9) * step


def _tightened(inquiry: Inquiry, change: Change, plan: Bought) -> Change:
    """A numeric limit set to what the plan found needs, where that alone is feasible; else the limit removed."""
    needed: dict[str, float] = {
        "policy.max_monthly_usd": math.ceil(plan.monthly_cost_usd),
        "policy.max_gpus": sum(purchase.gpus for purchase in plan.purchases),
    }
    field = change.fields[0]
    if field.field not in needed:
        return change
    name = field.field.removeprefix("policy.")
    tightened = _policy_change(inquiry.scenario, name, needed[field.field], field.unit)
    return tightened if _plan(Inquiry.of(tightened.scenario, inquiry.catalogs)) is not None else change


def _relaxation(change: Change, plan: Bought) -> Relaxation:
    words = " and ".join(_said(field) for field in change.fields)
    text = f"{words}: ${plan.monthly_cost_usd:,.2f} a month, {summarized(plan.deployments)}"
    return Relaxation(changes=list(change.fields), monthly_cost_usd=plan.monthly_cost_usd, text=text)


def _said(field: FieldChange) -> str:
    unit = f" {field.unit}" if field.unit else ""
    if field.to is None:
        return f"remove {field.field} ({field.from_}{unit})"
    return f"set {field.field} to {field.to:g}{unit} (now {field.from_})"


def _conflict_item(field: FieldChange) -> ConflictItem:
    unit = f" {field.unit}" if field.unit else ""
    text = f"{field.field} = {field.from_}{unit}: without it a plan exists"
    return ConflictItem(requirement=field.field, value=f"{field.from_}", text=text)

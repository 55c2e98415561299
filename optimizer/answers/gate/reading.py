"""Plans of before, read from their files and believed only where they fit together."""

from collections.abc import Iterable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Final

from pydantic import ValidationError

from optimizer.answers.gate.baseline import Baseline, GatePlan
from optimizer.base.errors import Finding, InputError
from optimizer.base.files import read_text, refuse_hidden_signs
from optimizer.plan.record.fields import CENT
from optimizer.plan.record.origin import content_sha256
from optimizer.plan.record.report import SCHEMA_VERSION

WRITTEN_BY: Final = "write it with optimizer plan SCENARIO --format json --output FILE"
NOT_HERE: Final = (
    f"{WRITTEN_BY}; if it is committed, the clone may lack it: check out with fetch-depth: 0; a first gate needs none"
)
EDITED: Final = f"somebody edited the file; {WRITTEN_BY}"
FIGURE: Final = Decimal("1e-5")
"""How far a figure of six digits may be off, as a share of it."""
PROBLEMS_NAMED: Final = 5
"""Of one file that is no plan."""


def read_baselines(paths: Iterable[Path]) -> tuple[Baseline, ...]:
    """Plans of before.

    Args:
        paths: Files of `optimizer plan --format json`, and folders of them.

    Returns:
        The plans with their files, sorted by scenario.

    Raises:
        InputError: a file cannot be read, is not a plan or contradicts itself, or two are of the same scenario; all
            problems at once.
    """
    findings: list[Finding] = []
    found: dict[str, Baseline] = {}
    for path in (each for given in paths for each in (sorted(given.glob("*.json")) if given.is_dir() else [given])):
        try:
            baseline = _parsed(read_text(path, hint=WRITTEN_BY if path.exists() else NOT_HERE), str(path))
        except InputError as error:
            findings += error.findings
        else:
            findings += _contradictions(baseline)
            twin = found.setdefault(baseline.plan.scenario, baseline)
            if twin is not baseline:
                problem = f"{twin.file} is a plan of the same scenario, {baseline.plan.scenario}"
                findings.append(Finding(str(path), 0, "scenario", problem, "give one baseline for each scenario"))
    if findings:
        raise InputError(findings)
    return tuple(found[name] for name in sorted(found))


def baseline_in(text: str, name: str) -> Baseline:
    """A plan of before.

    Args:
        text: As `optimizer plan --format json` writes it.
        name: What findings call it.

    Raises:
        InputError: it is not a plan or contradicts itself; all its problems at once.
    """
    baseline = _parsed(text, name)
    if findings := _contradictions(baseline):
        raise InputError(findings)
    return baseline


def _parsed(text: str, name: str) -> Baseline:
    """A plan of before, whatever it says.

    Raises:
        InputError: it is not a plan.
    """
    try:
        baseline = Baseline(name, GatePlan.model_validate_json(text))
        refuse_hidden_signs(text, name)
        # figures beyond what may run are found now, with the file at hand
        tuple(baseline.running)
    except ValidationError as error:
        raise InputError(_no_plan(name, error)) from error
    return baseline


def _contradictions(baseline: Baseline) -> list[Finding]:
    return [Finding(baseline.file, 0, *misfit) for misfit in _misfits(baseline.plan)]


def _no_plan(name: str, error: ValidationError) -> Iterator[Finding]:
    """Fields that are missing or hold what no plan holds, a number that is not finite or below zero among them."""
    for each in error.errors()[:PROBLEMS_NAMED]:
        yield Finding(name, 0, ".".join(map(str, each["loc"])), f"not a plan: {each['msg']}", WRITTEN_BY)


Misfit = tuple[str, str, str]
"""A field, what does not fit, and how to mend it."""


def _misfits(plan: GatePlan) -> Iterator[Misfit]:
    """Everything in which a plan contradicts itself, or that this version cannot know the meaning of."""
    if plan.schema_version != SCHEMA_VERSION:
        problem = f"schema version {plan.schema_version}, this program reads {SCHEMA_VERSION}"
        yield "schema_version", problem, f"plan it again with this version: {WRITTEN_BY}"
        return
    if (plan.monthly_cost_usd is None) == (plan.outcome in ("optimal", "feasible")):
        cost = "no cost" if plan.monthly_cost_usd is None else "a cost"
        yield "monthly_cost_usd", f"the outcome is {plan.outcome} with {cost}", EDITED
    if plan.inputs is not None:
        if content_sha256(plan.inputs.scenario) != plan.inputs.scenario_sha256:
            yield "inputs.scenario", "is not what inputs.scenario_sha256 was taken of", EDITED
        if plan.inputs.scenario.get("name") != plan.scenario:
            yield "scenario", f"{plan.scenario} was planned from {plan.inputs.scenario.get('name')}", EDITED
    yield from _wrong_lines(plan)
    if plan.monthly_cost_usd is not None:
        yield from _wrong_sums(plan, plan.monthly_cost_usd)


def _wrong_lines(plan: GatePlan) -> Iterator[Misfit]:
    """Instances at their price, hour by hour."""
    for number, paid in enumerate(plan.purchases):
        hours = Decimal(repr(paid.instance_hours_per_month))
        due = hours * (paid.price_usd_per_hour + paid.storage_usd_per_hour)
        if abs(due - paid.monthly_cost_usd) > CENT + due * FIGURE:
            problem = f"{paid.monthly_cost_usd:.2f}, but price times hours is {due:.2f} ({paid.offer})"
            yield f"purchases[{number}].monthly_cost_usd", problem, EDITED


def _wrong_sums(plan: GatePlan, shown: Decimal) -> Iterator[Misfit]:
    """What runs, what is bought for it, and the bill by kind, each add up to the month."""
    if plan.costs is None:
        yield "costs", "a plan that costs something has its bill by kind here", EDITED
        return
    once = [plan.migration.one_time_cost_usd] if plan.migration else []
    instances = [each.monthly_cost_usd for each in plan.deployments]
    bought = [each.monthly_cost_usd for each in plan.purchases]
    requests = [each.monthly_cost_usd for each in plan.hosted]
    sent = [] if plan.costs.egress_usd is None else [plan.costs.egress_usd]
    sums = {
        "deployments, hosted APIs and changes": [*instances, *requests, *once],
        "purchases, hosted APIs, egress and changes": [*bought, *requests, *sent, *once],
        "costs by kind": [amount for _, amount in plan.costs if amount is not None],
    }
    for what, amounts in sums.items():
        total = sum(amounts, Decimal(0))
        if abs(total - shown) > CENT * (len(amounts) + 1):
            yield "monthly_cost_usd", f"{shown:.2f}, but {what} add up to {total:.2f}", EDITED

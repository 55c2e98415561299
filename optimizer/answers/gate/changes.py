"""What differs between two plans and between two scenarios: deployments by what they are, fields by their path."""

from collections import defaultdict
from decimal import Decimal
from typing import Literal

from optimizer.answers.gate.baseline import GateApiUse, GateDeployment, GatePlan
from optimizer.answers.gate.types import DeploymentChange, Edit
from optimizer.base.errors import Finding
from optimizer.base.figures import figure
from optimizer.base.units import SECONDS_PER_MONTH
from optimizer.inputs.scenario.loading import ScenarioFile
from optimizer.plan.record.origin import PlanInputs, asked, fields_of

Key = tuple[str, ...]
SHOWN_CHARACTERS = 60


def changes(before: GatePlan | None, after: GatePlan) -> list[DeploymentChange]:
    """Everything that runs before or after, what stays the same included, sorted by workload."""
    was, now = _running(before) if before is not None else {}, _running(after)
    return [_change(key, was.get(key), now.get(key)) for key in sorted(was.keys() | now.keys())]


def _running(plan: GatePlan) -> dict[Key, tuple[str, Decimal]]:
    """What runs: how much of it, and what it costs; deployments that differ in their layout only are added up."""
    replicas: defaultdict[Key, int] = defaultdict(int)
    rates: defaultdict[Key, float] = defaultdict(float)
    costs: defaultdict[Key, Decimal] = defaultdict(Decimal)
    for ran in plan.deployments:
        replicas[_key(ran)] += ran.replicas
        costs[_key(ran)] += ran.monthly_cost_usd
    for sent in plan.hosted:
        rates[_hosted_key(sent)] += sent.requests_per_month / SECONDS_PER_MONTH
        costs[_hosted_key(sent)] += sent.monthly_cost_usd
    amounts = {key: f"{count}×" for key, count in replicas.items()}
    amounts |= {key: f"{figure(rate)} req/s" for key, rate in rates.items()}
    return {key: (amount, costs[key]) for key, amount in amounts.items()}


def _key(ran: GateDeployment) -> Key:
    pool = f" {ran.pool}" if ran.pool not in ("", "all") else ""
    term = f"{ran.pricing_term} {ran.commitment_months} months" if ran.commitment_months else ran.pricing_term
    gpus = f"{ran.gpus_per_replica}× {ran.gpu}"
    what = f"{ran.model} {ran.precision} on {gpus}, {ran.engine}, KV {ran.kv_precision}"
    return f"{ran.workload}{pool}", what, f"{ran.provider} {ran.region} {ran.instance_type} {term.replace('_', ' ')}"


def _hosted_key(sent: GateApiUse) -> Key:
    return f"{sent.workload} {sent.request_class}", f"{sent.model} by the request", f"{sent.provider} {sent.api}"


def _change(key: Key, was: tuple[str, Decimal] | None, now: tuple[str, Decimal] | None) -> DeploymentChange:
    sign: Literal["+", "~", "-", "="] = "+" if was is None else "-" if now is None else "=" if was == now else "~"
    return DeploymentChange(
        sign=sign,
        what=f"{key[0]}: {key[1]}",
        where=key[2],
        before=was[0] if was else "",
        after=now[0] if now else "",
        before_usd=was[1] if was else None,
        after_usd=now[1] if now else None,
    )


def edits(before: PlanInputs | None, file: ScenarioFile) -> list[Edit]:
    """The fields that were changed, each with its line in today's file or that of the nearest field above it."""
    if before is None:
        return []
    was, now = dict(fields_of(before.scenario)), dict(fields_of(asked(file.scenario)))
    return [
        Edit(field=field, before=_shown(was.get(field)), after=_shown(now.get(field)), line=line_of(file, field))
        for field in sorted(was.keys() | now.keys())
        if was.get(field) != now.get(field)
    ]


def line_of(file: ScenarioFile, field: str) -> int:
    """The line of a field, or of the nearest field above it."""
    return file.located([Finding("", 0, field, "")])[0].line


def _shown(text: str | None) -> str | None:
    return text if text is None or len(text) <= SHOWN_CHARACTERS else f"{text[:SHOWN_CHARACTERS]}…"

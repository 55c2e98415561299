"""What differs between two plans and between two scenarios: deployments by what they are, fields by their path."""

from collections import defaultdict
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

from optimizer.answers.gate.baseline import GateApiUse, GateDeployment, GatePlan
from optimizer.answers.gate.types import DeploymentChange, Edit
from optimizer.base.errors import Finding
from optimizer.base.figures import figure
from optimizer.base.units import SECONDS_PER_MONTH
from optimizer.inputs.scenario.loading import ScenarioFile
from optimizer.plan.record.fields import significant
from optimizer.plan.record.origin import PlanInputs, asked, fields_of, stated

Key = tuple[str, ...]
SHOWN_CHARACTERS = 60


@dataclass(frozen=True)
class Runs:
    """How much of something runs, what it is paid at, and what it costs a month."""

    how_much: str
    at: str
    usd: Decimal


def changes(before: GatePlan | None, after: GatePlan) -> list[DeploymentChange]:
    """Everything that runs before or after, what stays the same included, sorted by workload."""
    was, now = _running(before) if before is not None else {}, _running(after)
    return [_change(key, was.get(key), now.get(key)) for key in sorted(was.keys() | now.keys())]


def _running(plan: GatePlan) -> dict[Key, Runs]:
    """What runs; deployments that differ in their layout only are added up."""
    deployments: defaultdict[Key, list[GateDeployment]] = defaultdict(list)
    hosted: defaultdict[Key, list[GateApiUse]] = defaultdict(list)
    for ran in plan.deployments:
        deployments[_key(ran)].append(ran)
    for sent in plan.hosted:
        hosted[_hosted_key(sent)].append(sent)
    found = {}
    for key, several in deployments.items():
        # an hour of an offer has one price, whatever layouts run on it
        count, price = sum(each.instances for each in several), several[0].price_usd_per_hour
        at = f"{count:,} × {price.normalize():f} USD/h" if count and price is not None else ""
        usd = sum((each.monthly_cost_usd for each in several), Decimal(0))
        found[key] = Runs(f"{sum(each.replicas for each in several):,}×", at, usd)
    for key, uses in hosted.items():
        requests = sum(each.requests_per_month for each in uses)
        at = f"{figure(requests)} × {significant(uses[0].usd_per_request)} USD"
        usd = sum((each.monthly_cost_usd for each in uses), Decimal(0))
        found[key] = Runs(f"{figure(requests / SECONDS_PER_MONTH)} req/s", at, usd)
    return found


def _key(ran: GateDeployment) -> Key:
    pool = f" {ran.pool}" if ran.pool not in ("", "all") else ""
    term = f"{ran.pricing_term} {ran.commitment_months} months" if ran.commitment_months else ran.pricing_term
    gpus = f"{ran.gpus_per_replica}× {ran.gpu}"
    what = f"{ran.model} {ran.precision} on {gpus}, {ran.engine}, KV {ran.kv_precision}"
    what += f", drafting {ran.speculation}" if ran.speculation else ""
    return f"{ran.workload}{pool}", what, f"{ran.provider} {ran.region} {ran.instance_type} {term.replace('_', ' ')}"


def _hosted_key(sent: GateApiUse) -> Key:
    return f"{sent.workload} {sent.request_class}", f"{sent.model} by the {sent.paid_by}", f"{sent.provider} {sent.api}"


def _change(key: Key, was: Runs | None, now: Runs | None) -> DeploymentChange:
    same = was is not None and now is not None and (was.how_much, was.usd) == (now.how_much, now.usd)
    sign: Literal["+", "~", "-", "="] = "+" if was is None else "-" if now is None else "=" if same else "~"
    return DeploymentChange(
        sign=sign,
        what=f"{key[0]}: {key[1]}",
        where=key[2],
        before=was.how_much if was else "",
        after=now.how_much if now else "",
        before_at=was.at if was else "",
        after_at=now.at if now else "",
        before_usd=was.usd if was else None,
        after_usd=now.usd if now else None,
    )


def edits(before: PlanInputs | None, file: ScenarioFile) -> list[Edit]:
    """The fields that were changed, each with its line in today's file or that of the nearest field above it."""
    if before is None:
        return []
    was, now = dict(fields_of(stated(before.scenario))), dict(fields_of(stated(asked(file.scenario))))
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

"""What a plan expects of one replica of a deployment: its load, its limits, its cache, and what an hour of it costs."""

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

from optimizer.base.errors import Finding, InputError, did_you_mean
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.scenario.scenario import Scenario
from optimizer.plan.benchmark.promises import PromisedLimit
from optimizer.plan.benchmark.runs import BenchmarkRun, runs_of
from optimizer.plan.record.fleet import Deployment, PeriodReplicas
from optimizer.plan.record.naming import deployment_names
from optimizer.plan.record.report import PlanReport
from optimizer.plan.verify.claim import Claim


@dataclass(frozen=True)
class PlannedReplica:
    """One replica of a deployment, as planned.

    Attributes:
        name: Of the deployment.
        d: The deployment.
        rates_per_s: (low, high) requests a second that it is sent, over the periods in which it serves.
        cv2: Squared variation of the gaps between requests, at the busiest.
        input_tokens: Of a request, over the mix of classes.
        output_tokens: Likewise.
        cached_share: Of a prompt, in the prefix cache.
        limits: What requests are promised.
        smallest_share: Of its requests, those of the rarest class: limits are promised to each class, metrics tell of
            all together.
        usd_per_hour: What an hour of it costs, over the month.
    """

    name: str
    d: Deployment
    rates_per_s: tuple[float, float]
    cv2: float
    input_tokens: float
    output_tokens: float
    cached_share: float
    limits: tuple[PromisedLimit, ...]
    smallest_share: float
    usd_per_hour: Decimal

    @property
    def kv_cache_share(self) -> float:
        """Of the KV cache, what the planned load fills on average."""
        vram = self.d.vram
        return vram.kv_cache_gib / (vram.kv_cache_gib + vram.free_gib)


def planned_replica(
    report: PlanReport, scenario: Scenario, catalogs: Catalogs, deployment: str | None
) -> PlannedReplica:
    """What is planned of the deployment of that name, or of the only one.

    Raises:
        InputError: there is no such deployment, several and none is named, it only stands by, or its schedule names a
            period of which the plan says no hours.
    """
    claim = Claim(scenario, catalogs, report.fleet)
    deployments = [d for d, _, _ in claim.placed]
    by_name = dict(zip(deployment_names(deployments), deployments, strict=True))
    name = _chosen(deployment, by_name)
    runs = [run for run in runs_of(scenario, catalogs, report.fleet) if name in (run.deployment_name, *run.also_for)]
    if not runs:
        raise InputError([Finding("--deployment", 0, "", f"{name} only stands by: nothing is planned of its load")])
    return _planned(name, by_name[name], runs, report)


def _chosen(deployment: str | None, by_name: dict[str, Deployment]) -> str:
    known = f"the plan has {', '.join(by_name)}"
    if not by_name:
        raise InputError(
            [Finding("plan", 0, "deployments", "nothing runs by this plan", "name one that has deployments")]
        )
    if deployment is None and len(by_name) == 1:
        return next(iter(by_name))
    if deployment is None:
        raise InputError([Finding("--deployment", 0, "", f"say whose metrics these are: {known}")])
    if deployment not in by_name:
        hint = did_you_mean(deployment, by_name) or known
        raise InputError([Finding("--deployment", 0, "", f"no deployment '{deployment}'", hint)])
    return deployment


def _planned(name: str, d: Deployment, runs: list[BenchmarkRun], report: PlanReport) -> PlannedReplica:
    serving = [entry for entry in d.schedule if entry.replicas and entry.requests_per_second > 0]
    rates = [entry.requests_per_second / entry.replicas for entry in serving]
    at_busiest = sum(run.rate_per_s for run in runs)
    shares = [run.rate_per_s / at_busiest for run in runs]
    limits = {(limit.metric, limit.statistic): limit for run in runs for limit in run.limits}
    return PlannedReplica(
        name=name,
        d=d,
        rates_per_s=(min(rates), max(rates)),
        cv2=max(run.cv2 for run in runs),
        input_tokens=sum(share * run.served.input_tokens for share, run in zip(shares, runs, strict=True)),
        output_tokens=sum(share * run.served.output_tokens for share, run in zip(shares, runs, strict=True)),
        cached_share=runs[0].cached_share,
        limits=tuple(limits.values()),
        smallest_share=min(shares),
        usd_per_hour=d.monthly_cost_usd / Decimal(sum(_replica_hours(d.schedule, report))),
    )


def _replica_hours(schedule: list[PeriodReplicas], report: PlanReport) -> Iterator[float]:
    """Of a month, period by period.

    Raises:
        InputError: a period is scheduled of which the plan says no hours.
    """
    hours = {period.period: period.hours_per_month for period in report.periods}
    for entry in schedule:
        if entry.period not in hours:
            problem = f"there is no period {entry.period} in periods"
            raise InputError([Finding("plan", 0, "deployments.schedule", problem, "`optimizer verify` checks a plan")])
        yield entry.replicas * hours[entry.period]

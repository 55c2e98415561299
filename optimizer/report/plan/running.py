"""What runs where, at what load, how fast and for how much: a row each, for the page of who decides."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Final

from optimizer.base.figures import figure
from optimizer.inputs.catalog.quality import SIXTEEN_BIT
from optimizer.plan.grounds.quotes import price_doubts, quotes_worth_taking
from optimizer.plan.readback.summary import EVERYWHERE, UNSAID_TERMS, offer_of
from optimizer.plan.record.fleet import Deployment, Hosted, ReplicaChanges
from optimizer.plan.record.report import PlanReport, PriceDays
from optimizer.report.layout.amounts import plural
from optimizer.report.layout.elements import Section, Table
from optimizer.report.plan.latency_columns import LatencyColumns, latency_columns

OF_REPLICAS: Final = (">replicas", ">of max")
"""Columns of which hosted APIs have nothing."""


def deployments_in_short(report: PlanReport) -> Section:
    """A row each of what runs where, at what load, how fast at the bounds and for how much.

    What is the same in all rows stands above them, the model of each workload in the question. Instances that several
    rows run on are counted and paid once.
    """
    models = dict.fromkeys(d.model for d in report.deployments)
    engines = " and ".join(dict.fromkeys(f"{d.engine} {d.engine_version}" for d in report.deployments))
    runs_on = f"{' and '.join(models)} on {engines}" if engines else ""
    days = PriceDays.of(report.deployments, report.hosted)
    prices = f"prices of {days.words}" if days else ""
    basis = "; ".join(filter(None, (runs_on, prices)))
    latencies = latency_columns(report.deployments, report.explanation.requirements)
    rows = (*_deployed(report, latencies), *(by_request(item, len(latencies)) for item in report.hosted))
    quotes = quotes_worth_taking(report.deployments, report.explanation.alternatives)
    headings = ("what runs", "where", ">replicas", ">req/s", ">of max", *latencies, ">$/month")
    told = (basis, *_moved(report.migration), *price_doubts(report.deployments), *quotes)
    return Section("Plan", told, Table(headings, rows).without(() if report.deployments else OF_REPLICAS))


def _moved(changes: ReplicaChanges | None) -> Iterator[str]:
    """What moving from what runs today takes, and costs beside the rows."""
    if changes is not None and (changes.started or changes.stopped):
        what = f"moving from what runs today: {changes.started:,} {plural('replica', changes.started)} started"
        once = f", ${changes.one_time_cost_usd:,.2f} once, counted in the amount" if changes.one_time_cost_usd else ""
        yield f"{what}, {changes.stopped:,} stopped{once}"


def _deployed(report: PlanReport, latencies: LatencyColumns) -> Iterator[tuple[str, ...]]:
    """The rows of what runs on machines."""
    workloads = {d.workload for d in report.deployments} | {item.workload for item in report.hosted}
    bought = {purchase.offer: purchase.instances for purchase in report.purchases}
    sharing = defaultdict[str, list[Deployment]](list)
    for d in report.deployments:
        sharing[offer_of(d)].append(d)
    for d in report.deployments:
        first, *others = sharing[offer_of(d)]
        instances = bought.get(offer_of(d), d.instances) if others else d.instances
        cost = sum((each.monthly_cost_usd for each in (first, *others)), Decimal(0))
        yield (
            f"{_whose(d, several=len(workloads) > 1)}{_model(d, report.deployments)}{_what(d)}",
            _where(d, instances) if d is first else f"the same {instances:,}× {d.instance_type}",
            f"{d.replicas:,}",
            figure(d.requests_per_second),
            f"{d.utilization:.0%}",
            *(cell(d) for cell in latencies.values()),
            f"{cost:,.2f}" if d is first else "",
        )


def what_runs(d: Deployment) -> str:
    """A row in words: the workload, its classes where they are not all, the precision and the GPUs of a replica."""
    return f"{' '.join(filter(None, (d.workload, '' if d.pool == 'all' else d.pool)))} {_what(d)}"


def _whose(d: Deployment, *, several: bool) -> str:
    """The workload where there are several, and the classes where it is not all of them."""
    whose = " ".join(filter(None, (d.workload if several else "", "" if d.pool == "all" else d.pool)))
    return f"{whose}: " if whose else ""


def _model(d: Deployment, deployments: Sequence[Deployment]) -> str:
    """The model where the workload runs several."""
    models = {each.model for each in deployments if each.workload == d.workload}
    return f"{d.model} " if len(models) > 1 else ""


def _what(d: Deployment) -> str:
    stages = f" in {d.pipeline_parallel} stages" if d.pipeline_parallel > 1 else ""
    return f"{precisions_of(d)} on {d.gpus_per_replica}×{d.gpu}{stages}"


def _where(d: Deployment, instances: int) -> str:
    months = f" {d.commitment_months} months" if d.pricing_term == "committed" else ""
    term = "" if d.pricing_term in UNSAID_TERMS else f", {d.pricing_term.replace('_', ' ')}{months}"
    region = "" if d.region == EVERYWHERE else f" {d.region}"
    return f"{instances:,}× {d.instance_type} at {d.provider}{region}{term}"


def by_request(item: Hosted, latencies: int) -> tuple[str, ...]:
    """The row of what a hosted API serves: the most that is sent to it, and its bill; blank in columns of latencies."""
    most = figure(max(part.requests_per_second for part in item.schedule))
    what = f"{item.workload} {item.request_class}: {item.model}"
    return (
        what,
        f"{item.provider}, by the {item.paid_by}",
        "",
        most,
        "",
        *("",) * latencies,
        f"{item.monthly_cost_usd:,.2f}",
    )


def precisions_of(d: Deployment) -> str:
    """Of the weights, of the KV cache where that is not in 16 bits, and what is drafted."""
    cache = () if d.kv_precision in SIXTEEN_BIT else (f"KV {d.kv_precision}",)
    return ", ".join((d.precision, *cache, *filter(None, (d.speculation,))))

"""`watch`: whether what runs is what was planned, by what its servers tell Prometheus."""

import re
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Final

from optimizer.answers.running.watch.judged import Watched
from optimizer.answers.running.watch.planned import PlannedReplica, planned_replica
from optimizer.answers.running.watch.scrapes import observe
from optimizer.answers.running.watch.types import WatchedBill, WatchedFigure, WatchReport, WatchVerdict
from optimizer.answers.running.watch.window import Window
from optimizer.base.arguments import check_within
from optimizer.base.errors import Finding, InputError
from optimizer.base.units import HOURS_PER_MONTH, SECONDS_PER_HOUR
from optimizer.inputs.catalog.entries.deploying import Quantity
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.scenario.scenario import Scenario
from optimizer.plan.benchmark.runs import SURE
from optimizer.plan.record.report import PlanReport

GRAVEST_FIRST: Final[tuple[WatchVerdict, ...]] = ("drifted", "undecided", "within")
TOLERANCE: Final = 0.1
LEAST_S, MOST_S = 0.001, 31 * 86_400
REPOSITORY: Final = re.compile(r"[\w.-]+/[\w.-]+")
"""Of models, as those are named that others publish; not a path."""
MILLION: Final = 1_000_000
OF_BILL: Final[tuple[Quantity, ...]] = ("requests", "input_tokens", "output_tokens")


def watch(
    sources: Sequence[str],
    report: PlanReport,
    scenario: Scenario,
    catalogs: Catalogs,
    *,
    deployment: str | None = None,
    interval_s: float | None = None,
    tolerance: float = TOLERANCE,
    served_as: str | None = None,
) -> WatchReport:
    """Holds the metrics of a deployment's servers against what is planned of it.

    Args:
        sources: URLs, one a replica; or one file, or two, the earlier first. A folder holds a file for each replica.
        report: The plan.
        scenario: What it was made for.
        catalogs: Those that it was made from.
        deployment: Whose metrics they are; needed where the plan has several.
        interval_s: Seconds between two reads of URLs, or between two files that bear no time stamps.
        tolerance: By how much load and cache may differ from the plan, as a share of it.
        served_as: What the servers call the model, where that is no name of it that the catalogs know.

    Returns:
        A verdict on each quantity and on all of them, and what a million tokens cost.

    Raises:
        InputError: there is no such deployment, nobody recorded what its engine calls its metrics, or a source cannot
            be read or tells of something else.
    """
    check_within("watch", interval_s=(interval_s, LEAST_S, MOST_S), tolerance=(tolerance, 0, 1))
    planned = planned_replica(report, scenario, catalogs, deployment)
    metrics = _names(planned, catalogs)
    window = Window(observe(sources, interval_s), metrics.get("replica_label", ""))
    _check_model(window, metrics, planned, catalogs, served_as)
    replicas = len(window.replicas(metrics["requests"]))
    watched = Watched(planned, window, metrics, replicas, tolerance)
    figures = list(watched.figures())
    missing = _missing(watched)
    verdicts = {each.verdict for each in figures}
    d = planned.d
    return WatchReport(
        verdict=next(verdict for verdict in GRAVEST_FIRST if verdict in verdicts),
        scenario=report.scenario,
        plan=report.plan_id,
        deployment=planned.name,
        engine=d.engine,
        engine_version=d.engine_version,
        moments=window.moments,
        seconds=window.seconds,
        replicas=replicas,
        planned_replicas=[entry.replicas for entry in d.schedule if entry.requests_per_second > 0],
        tolerance=tolerance,
        sure=SURE,
        figures=figures,
        bill=None if missing else _bill(watched),
        bill_needs=missing,
        notes=[
            *_called_otherwise(window, metrics["requests"], planned, catalogs, served_as),
            *_left_out(window, metrics),
            *_notes(planned, catalogs, figures),
        ],
    )


def _names(planned: PlannedReplica, catalogs: Catalogs) -> dict[Quantity, str]:
    """What the planned release calls its metrics.

    Raises:
        InputError: nobody recorded it.
    """
    d = planned.d
    metrics = catalogs.deploying.metrics_of(d.engine, d.engine_version)
    if "requests" not in metrics:
        known = ", ".join(catalogs.deploying.metric_versions(d.engine)) or "none"
        problem = f"the metrics of {d.engine} {d.engine_version} are not known; known releases of it: {known}"
        hint = "say them in an engine_metrics.csv, in a folder given with --catalogs"
        raise InputError([Finding("plan", 0, "engine_version", problem, hint)])
    return metrics


def _check_model(
    window: Window, metrics: dict[Quantity, str], planned: PlannedReplica, catalogs: Catalogs, served_as: str | None
) -> None:
    """That the servers tell of requests, and of the planned model alone.

    Raises:
        InputError: they do not.
    """
    metric = metrics["requests"]
    if not window.replicas(metric):
        hint = "is it another engine, or a release that calls it otherwise?"
        raise InputError([Finding("--metrics", 0, metric, "no server tells of it", hint)])
    models = window.models(metric)
    if len(models) > 1:
        problem = f"several models in one place: {', '.join(models)}"
        raise InputError([Finding("--metrics", 0, metric, problem, "give the servers of one deployment")])
    for name in models:
        if name != served_as and (served_as is not None or _is_another(planned.d.model, name, catalogs)):
            problem = f"of the model {name}, planned is {catalogs.published_name(planned.d.model)}"
            hint = f"if the servers call that so, say --served-model-name {name}"
            raise InputError([Finding("--metrics", 0, metric, problem, hint)])


def _is_another(model: str, name: str, catalogs: Catalogs) -> bool:
    """Whether a name is another model's: one that the catalogs know, or a repository that is none of the model's."""
    if _is_known(name, catalogs):
        return catalogs.model(name).id != catalogs.model(model).id
    return REPOSITORY.fullmatch(name) is not None


def _is_known(name: str, catalogs: Catalogs) -> bool:
    return name in catalogs.models or name.casefold() in catalogs.aliases


def _called_otherwise(
    window: Window, metric: str, planned: PlannedReplica, catalogs: Catalogs, served_as: str | None
) -> Iterator[str]:
    """A name of one's own, which says nothing of which model it is."""
    planned_name = catalogs.published_name(planned.d.model)
    for name in window.models(metric):
        if name != served_as and not _is_known(name, catalogs):
            yield f"the servers call their model {name}, which is taken to be {planned_name}"


def _missing(watched: Watched) -> str:
    """Why nobody can tell what tokens cost; empty where it can be told."""
    if why := watched.no_rate():
        return f"needs a rate: {why}"
    told = [watched.per_second(name) for name in OF_BILL]
    if None in told:
        return "needs to know how many tokens prompts and answers have, which is not told"
    return "" if sum(amount or 0.0 for amount in told[1:]) > 0 else "nothing was served: no token bears the cost"


def _bill(watched: Watched) -> WatchedBill:
    """What tokens cost at the rate that was seen, at the planned price of a replica's hour."""
    planned, d = watched.planned, watched.planned.d
    requests, prompt, answer = (watched.per_second(name) or 0.0 for name in OF_BILL)
    return WatchedBill(
        usd_per_month=d.monthly_cost_usd,
        usd_per_month_of_seen=planned.usd_per_hour * watched.replicas * HOURS_PER_MONTH,
        usd_per_replica_hour=planned.usd_per_hour,
        requests_per_second=requests,
        tokens_per_second=prompt + answer,
        usd_per_million_tokens=_per_million(planned.usd_per_hour, prompt + answer),
        planned_usd_per_million_tokens=d.cost_per_million_tokens_usd,
        usd_per_million_output_tokens=_per_million(planned.usd_per_hour, answer) if answer > 0 else None,
        planned_usd_per_million_output_tokens=d.cost_per_million_output_tokens_usd,
    )


def _per_million(usd_per_hour: Decimal, tokens_per_second: float) -> Decimal:
    return usd_per_hour / Decimal(tokens_per_second * SECONDS_PER_HOUR) * MILLION


def _left_out(window: Window, metrics: dict[Quantity, str]) -> Iterator[str]:
    """Replicas of which one moment tells only: what they did before is not what happened between the two."""
    new = len(window.newcomers(metrics["requests"]))
    if new:
        who = "1 replica was" if new == 1 else f"{new} replicas were"
        yield f"{who} not there at the first moment, so their counters and histograms are left out"


def _notes(planned: PlannedReplica, catalogs: Catalogs, figures: Sequence[WatchedFigure]) -> list[str]:
    """What the names of metrics have to tell, and what they cannot."""
    d = planned.d
    used = {figure.metric for figure in figures}
    rows = (row for row in catalogs.deploying.metrics if (row.engine, row.version) == (d.engine, d.engine_version))
    notes = [f"{row.metric}: {row.note}" for row in rows if row.note and row.metric in used]
    if planned.smallest_share < 1:
        notes.append("metrics do not tell classes apart: a limit is within where even the rarest class must keep it")
    if len(d.schedule) > 1:
        notes.append("the plan differs over the week: a rate is as planned between its calmest and its busiest hours")
    return notes

"""Whether measurements keep a plan's promises: the verdict, a row a promise, and the runs that do not count."""

from typing import Final

from optimizer.answers.running.check.types import CheckedPromise, CheckedRun, CheckReport
from optimizer.base.figures import exactly, figure
from optimizer.report.confirmed import METRICS
from optimizer.report.layout.amounts import percent
from optimizer.report.layout.elements import Section, Table, WrittenAnswer, with_content

VERDICTS: Final = {
    "kept": "keeps every promise",
    "broken": "breaks a promise",
    "undecided": "is not decided yet",
    "unfit": "is not decided: a run is not the promised one",
}
NAMES: Final = METRICS | {"requests_per_second": "requests/s"}
PROMISES: Final = ("request class", "promise", ">at the replica", ">measured", ">predicted", "as predicted", "verdict")


def check_answer(found: CheckReport) -> WrittenAnswer:
    """The verdict first, then promise by promise."""
    summary = f"The plan for {found.scenario} {VERDICTS[found.verdict]}: {_counts(found)}."
    unfit = tuple(f"{_place(run)}: {reason}" for run in found.runs for reason in run.reasons)
    notes = tuple(f"{_place(run)}: {note}" for run in found.runs for note in run.notes)
    sections = (
        Section("Not the promised run", unfit),
        Section("Promises", table=Table(PROMISES, tuple(_row(promise) for promise in found.promises))),
        Section("Why", tuple(f"{promise_name(promise)} {promise.text}" for promise in found.promises)),
        Section("What would decide", tuple(_more(promise) for promise in found.promises if _is_open(promise))),
        Section("Not measured", tuple(found.not_measured)),
        Section("Not benchmarked", tuple(found.not_benchmarked)),
        Section("How it was judged", (*_how(found), *notes)),
    )
    return WrittenAnswer(with_content(sections), summary, "Check")


def _counts(found: CheckReport) -> str:
    """How many promises have which verdict."""
    verdicts = [promise.verdict for promise in found.promises]
    return ", ".join(f"{verdicts.count(verdict)} {verdict}" for verdict in VERDICTS if verdict in verdicts)


def promise_name(promise: CheckedPromise) -> str:
    """What is promised to whom."""
    statistic = "" if promise.metric == "requests_per_second" else f" {promise.statistic}"
    return f"{promise.deployment} {promise.request_class} {NAMES[promise.metric]}{statistic}"


def _row(promise: CheckedPromise) -> tuple[str, ...]:
    unit = "" if promise.metric == "requests_per_second" else " ms"
    least = "≥" if promise.metric == "requests_per_second" else "≤"
    interval = (
        f"{figure(promise.predicted)} ({figure(promise.predicted_low)}–{figure(promise.predicted_high)}){unit}"
        if promise.predicted is not None and promise.predicted_low is not None and promise.predicted_high is not None
        else ""
    )
    statistic = "" if promise.metric == "requests_per_second" else f" {promise.statistic}"
    return (
        f"{promise.deployment} {promise.request_class}",
        f"{NAMES[promise.metric]}{statistic}",
        f"{least} {exactly(promise.limit_at_replica)}{unit}",
        "" if promise.measured is None else f"{figure(promise.measured)}{unit}",
        interval,
        {None: "", True: "yes", False: "no"}[promise.as_predicted],
        promise.verdict,
    )


def _is_open(promise: CheckedPromise) -> bool:
    return promise.verdict in ("undecided", "unfit")


def _more(promise: CheckedPromise) -> str:
    needed = promise.more_requests_needed
    if needed is None:
        return f"{promise_name(promise)}: too near its limit, or too little in the files, for any number to decide"
    if not promise.requests:
        return f"{promise_name(promise)}: the promised run, {needed:,} requests"
    return f"{promise_name(promise)}: {needed:,} more requests, if what was seen stays"


def _place(run: CheckedRun) -> str:
    return f"{run.file} {run.place}".strip()


def _how(found: CheckReport) -> tuple[str, ...]:
    alike = {promise.deployment: promise.also_for for promise in found.promises if promise.also_for}
    return (
        *(f"{name} speaks for {', '.join(others)} as well" for name, others in alike.items()),
        f"a percentile is kept where at least its share of all requests is within every limit of it, broken where less "
        f"is, each ruled out at {percent(found.sure)} by an exact binomial bound",
        "limits are those at the replica: what passes before it is taken off",
    )

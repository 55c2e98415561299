"""The verdict on one promise: an exact bound on a share, an interval around a mean, or a queue that settled or grew."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from optimizer.answers.running.check.evidence import (
    BOTH_SIDES,
    Counted,
    Limits,
    MeanOf,
    answered,
    counted,
    mean_of,
    rate_of,
    statistic_of,
)
from optimizer.answers.running.check.fitness import asked_more, served_less
from optimizer.answers.running.check.types import CheckedPromise, CheckVerdict
from optimizer.base.figures import exactly, figure
from optimizer.inputs.importing.load_results.fitness import fell_behind
from optimizer.inputs.importing.load_results.record import LoadResult
from optimizer.performance.simulation.sample_sizes import more_requests, proves_at_least, proves_below
from optimizer.performance.simulation.statistics import share_of
from optimizer.plan.benchmark.promises import PromisedLimit
from optimizer.plan.benchmark.runs import SURE, BenchmarkRun

RATE: Final = "requests_per_second"
LEAST_FOR_RATE: Final = 271
"""Requests of which chance moves the rate by no more than a tenth, 19 times in 20: (1.645 / 0.1)²."""
FROM_ARRIVAL: Final = frozenset({"ttft_ms", "e2e_ms"})
"""Latencies that grow without end where a replica does not keep up."""

UNKNOWN: Final = (
    *("promised_share", "share_within", "lower_bound", "upper_bound", "share_within_alone", "measured"),
    *("measured_low", "measured_high", "predicted", "predicted_low", "predicted_high", "as_predicted"),
)
"""What a record leaves out where nothing says it."""


@dataclass(frozen=True)
class PromiseFinding:
    """What is said of a promise.

    Attributes:
        verdict: On it.
        more: Requests until it is decided; None where no number is known to decide it.
        text: What was seen, in a phrase.
        figures: Fields of the record beside those.
    """

    verdict: CheckVerdict
    more: int | None
    text: str
    figures: dict[str, Any]


def checked_promises(run: BenchmarkRun, results: Sequence[LoadResult], unfit: bool) -> list[CheckedPromise]:
    """Every promise of a run of the plan, held against the runs that were made of it.

    Args:
        run: Of the plan.
        results: Runs that count.
        unfit: Whether runs were given for it of which none counts.
    """
    sent = sum(counted([result], {}).sent for result in results)
    found = []
    for limit in run.limits:
        finding = _left_open(run, unfit) if not results else _finding(run, limit, results)
        found.append(_of_limit(run, limit, finding, sent, results))
    if not any(limit.metric in FROM_ARRIVAL for limit in run.limits):
        finding = _left_open(run, unfit) if not results else _kept_up(results)
        found.append(_of_rate(run, finding, sent, results))
    return found


def _left_open(run: BenchmarkRun, unfit: bool) -> PromiseFinding:
    if unfit:
        return PromiseFinding("unfit", run.requests, "no run that was given is the promised one", {})
    return PromiseFinding("undecided", run.requests, "not measured", {})


def _finding(run: BenchmarkRun, limit: PromisedLimit, results: Sequence[LoadResult]) -> PromiseFinding:
    """What all runs say; kept only where none had it easier, broken only by those that had it no harder."""
    found = _of_all(run, limit, results)
    behind = [less for result in results if (less := served_less(run, result))]
    if found.verdict == "kept" and behind:
        return PromiseFinding("undecided", None, f"{found.text}; but {behind[0]}", found.figures)
    as_hard = [result for result in results if not asked_more(run, result)]
    if found.verdict == "broken" and len(as_hard) < len(results):
        if as_hard and (alone := _of_all(run, limit, as_hard)).verdict == "broken":
            return alone
        text = f"{found.text}; but more was sent, or in larger bursts, than promised"
        return PromiseFinding("undecided", None, text, found.figures)
    return found


def _of_all(run: BenchmarkRun, limit: PromisedLimit, results: Sequence[LoadResult]) -> PromiseFinding:
    return _of_mean(limit, results) if limit.promised_share is None else _of_share(run, limit, results)


def _of_share(run: BenchmarkRun, limit: PromisedLimit, results: Sequence[LoadResult]) -> PromiseFinding:
    """All limits of a percentile hold together for so many requests as the percentile says."""
    promised = limit.promised_share or 0.0
    together: dict[str, float] = {
        item.metric: item.at_replica_ms for item in run.limits if item.statistic == limit.statistic
    }
    within = counted(results, together)
    verdict: CheckVerdict = "undecided"
    if proves_at_least(within.at_least, within.sent, promised, SURE):
        verdict = "kept"
    elif proves_below(within.at_most, within.sent, promised, SURE):
        verdict = "broken"
    alone = counted(results, {limit.metric: limit.at_replica_ms})
    figures = {
        "share_within": within.at_least / within.sent,
        "lower_bound": share_of(within.at_least, within.sent, BOTH_SIDES).low,
        "upper_bound": share_of(within.at_most, within.sent, BOTH_SIDES).high,
        "share_within_alone": alone.at_least / alone.sent if alone.exact else None,
    }
    more = 0 if verdict != "undecided" else _more(within, promised)
    return PromiseFinding(verdict, more, _share_in_words(within, together, figures["lower_bound"] or 0.0), figures)


def _more(within: Counted, promised: float) -> int | None:
    """From what is sure: enough surely within, or enough surely outside; None where the files leave that open."""
    if within.at_least / within.sent > promised or within.exact:
        return more_requests(within.at_least, within.sent, promised, SURE)
    return (
        more_requests(within.at_most, within.sent, promised, SURE) if within.at_most / within.sent < promised else None
    )


def _share_in_words(within: Counted, together: Limits, lower_bound: float) -> str:
    which = "within every limit of it" if len(together) > 1 else "within"
    seen = f"{within.at_least:,}" if within.exact else f"{within.at_least:,} to {within.at_most:,}"
    return f"{seen} of {within.sent:,} requests {which}; of all at least {figure(100 * lower_bound, 4)} %"


def _of_mean(limit: PromisedLimit, results: Sequence[LoadResult]) -> PromiseFinding:
    found = mean_of(results, limit.metric)
    if found is None:
        text = "too short a run, or too little in the file, to bound a mean: single requests would (--save-detailed)"
        return PromiseFinding("undecided", None, text, {})
    low_ms, high_ms = found.value_ms - found.error_ms, found.value_ms + found.error_ms
    kept, broken = high_ms <= limit.at_replica_ms, low_ms > limit.at_replica_ms
    verdict: CheckVerdict = "kept" if kept else "broken" if broken else "undecided"
    text = f"mean {figure(found.value_ms)} ms ({figure(low_ms)}–{figure(high_ms)})"
    more = 0 if verdict != "undecided" else _more_for_mean(found, limit.at_replica_ms)
    return PromiseFinding(verdict, more, text, {"measured_low": low_ms, "measured_high": high_ms})


def _more_for_mean(found: MeanOf, limit_ms: float) -> int | None:
    """What narrows the interval to the limit, since it shrinks with the root of the requests."""
    away_ms = abs(limit_ms - found.value_ms)
    return round(found.requests * ((found.error_ms / away_ms) ** 2 - 1)) + 1 if away_ms else None


def _kept_up(results: Sequence[LoadResult]) -> PromiseFinding:
    """Where no promise is of the time since a request arrived, the rate itself is the promise."""
    behind = [flaw for result in results for flaw in fell_behind(result)]
    unknown = [result for result in results if result.requests_per_s is None]
    if behind:
        return PromiseFinding("broken", 0, behind[0].problem, {})
    if unknown:
        return PromiseFinding("undecided", None, "the file does not say how many requests a second were answered", {})
    missing = LEAST_FOR_RATE - sum(answered(result) for result in results)
    if missing > 0:
        return PromiseFinding("undecided", missing, "too few requests to tell a rate from chance", {})
    return PromiseFinding("kept", 0, "as many requests were answered as were sent", {})


def _of_limit(
    run: BenchmarkRun, limit: PromisedLimit, finding: PromiseFinding, sent: int, results: Sequence[LoadResult]
) -> CheckedPromise:
    measured = statistic_of(results, limit.metric, limit.statistic)
    return _record(
        run,
        finding,
        metric=limit.metric,
        statistic=limit.statistic,
        limit=limit.limit_ms,
        limit_at_replica=limit.at_replica_ms,
        promised_share=limit.promised_share,
        requests=sent,
        measured=measured,
        predicted=limit.predicted_ms,
        predicted_low=limit.low_ms,
        predicted_high=limit.high_ms,
        as_predicted=None if measured is None else limit.low_ms <= measured <= limit.high_ms,
        text=f"≤ {exactly(limit.at_replica_ms)} ms: {finding.text}",
    )


def _of_rate(run: BenchmarkRun, finding: PromiseFinding, sent: int, results: Sequence[LoadResult]) -> CheckedPromise:
    return _record(
        run,
        finding,
        metric=RATE,
        statistic="mean",
        limit=run.rate_per_s,
        limit_at_replica=run.rate_per_s,
        requests=sent,
        measured=rate_of(results),
        text=finding.text,
    )


def _record(run: BenchmarkRun, finding: PromiseFinding, **fields: Any) -> CheckedPromise:
    return CheckedPromise.model_validate(
        {
            **dict.fromkeys(UNKNOWN),
            "workload": run.d.workload,
            "class": run.served.name,
            "deployment": run.deployment_name,
            "also_for": list(run.also_for),
            "verdict": finding.verdict,
            "more_requests_needed": finding.more,
            **finding.figures,
            **fields,
        }
    )

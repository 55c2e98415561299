"""Whether what runs is what was planned: the verdict, a row a quantity, and what tokens cost."""

from collections.abc import Iterator
from typing import Final

from optimizer.answers.running.watch.types import WatchedBill, WatchedFigure, WatchReport
from optimizer.base.figures import exactly, figure
from optimizer.plan.record.fields import significant
from optimizer.report.layout.amounts import money, percent, plural
from optimizer.report.layout.elements import Section, Table, WrittenAnswer, with_content

VERDICTS: Final = {
    "within": "runs as planned",
    "drifted": "does not run as planned",
    "undecided": "cannot be told to run as planned",
}
NAMES: Final = {
    "requests_per_second": "requests/s of a replica",
    "input_tokens": "prompt tokens",
    "output_tokens": "answer tokens",
    "cached_input_share": "of prompts in the cache",
    "ttft_ms": "TTFT",
    "tpot_ms": "TPOT",
    "e2e_ms": "end to end",
    "kv_cache_share": "of the KV cache in use",
}
SHARES: Final = ("cached_input_share", "kv_cache_share")
HEADINGS: Final = ("quantity", ">planned", ">seen", "verdict")


def watch_answer(found: WatchReport) -> WrittenAnswer:
    """The verdict first, then quantity by quantity, then the bill."""
    verdicts = [each.verdict for each in found.figures]
    counts = ", ".join(f"{verdicts.count(each)} {each}" for each in VERDICTS if each in verdicts)
    summary = f"{found.deployment} of the plan for {found.scenario} {VERDICTS[found.verdict]}: {counts}."
    sections = (
        Section("What was planned", table=Table(HEADINGS, tuple(_row(each) for each in found.figures))),
        Section("Why", tuple(f"{_name(each)}: {each.text}" for each in found.figures)),
        Section("What it costs", tuple(_bill(found, found.bill)) if found.bill else (found.bill_needs,)),
        Section("How it was judged", tuple(_how(found))),
    )
    return WrittenAnswer(with_content(sections), summary, "Watch")


def _name(each: WatchedFigure) -> str:
    latency = each.quantity.endswith("_ms")
    return f"{NAMES[each.quantity]} {each.statistic}" if latency else NAMES[each.quantity]


def _row(each: WatchedFigure) -> tuple[str, ...]:
    return (_name(each), _planned(each), _seen(each), each.verdict)


def _planned(each: WatchedFigure) -> str:
    low, high = each.planned_low, each.planned_high
    if low is None:
        return "" if high is None else f"≤ {_amount(each, high)}"
    return f"≥ {_amount(each, low)}" if high is None else f"{_amount(each, low)}–{_amount(each, high)}"


def _seen(each: WatchedFigure) -> str:
    """A mean as it is, a percentile as the bucket that holds it."""
    if each.measured is not None:
        return _amount(each, each.measured)
    if each.measured_low is None:
        return ""
    if each.measured_high is None:
        return f"> {_amount(each, each.measured_low)}"
    return f"{figure(each.measured_low, 4)}–{_amount(each, each.measured_high)}"


def _amount(each: WatchedFigure, value: float) -> str:
    if each.quantity in SHARES:
        return percent(float(f"{value:.3g}"))
    return f"{figure(value, 4)} ms" if each.quantity.endswith("_ms") else figure(value, 4)


def _bill(found: WatchReport, bill: WatchedBill) -> Iterator[str]:
    planned = bill.planned_usd_per_million_tokens
    against = f", planned ${significant(planned)}" if planned is not None else ""
    yield f"${significant(bill.usd_per_million_tokens)} per million tokens{against}"
    answers, of_plan = bill.usd_per_million_output_tokens, bill.planned_usd_per_million_output_tokens
    if answers is not None:
        against = f", planned ${significant(of_plan)}" if of_plan is not None else ""
        yield f"${significant(answers)} per million answer tokens{against}"
    month = f"{money(bill.usd_per_month)} a month for all"
    if not min(found.planned_replicas) <= found.replicas <= max(found.planned_replicas):
        seen = f"{money(bill.usd_per_month_of_seen)} a month for {found.replicas}"
        month = f"{seen}, planned {money(bill.usd_per_month)} for {_replicas(found)}"
    yield (
        f"a replica at ${significant(bill.usd_per_replica_hour)} an hour ({month}) "
        f"and {figure(bill.tokens_per_second, 4)} tokens a second, as long as that rate stays"
    )


def _how(found: WatchReport) -> Iterator[str]:
    yield f"{found.replicas:,} {plural('replica', found.replicas)} told of {_time(found)}; planned {_replicas(found)}"
    yield (
        f"load and cache may differ from the plan by {percent(found.tolerance)} of it; bounds are sure at "
        f"{percent(found.sure)} each; requests in the bucket that a limit lies in count for neither side"
    )
    yield f"names are those of {found.engine} {found.engine_version}"
    yield from found.notes


def _time(found: WatchReport) -> str:
    """Of which time the servers told."""
    if found.moments == 1:
        return "all since it started" if found.replicas == 1 else "all since they started"
    return "an unknown time" if found.seconds is None else f"{exactly(found.seconds)} s"


def _replicas(found: WatchReport) -> str:
    low, high = min(found.planned_replicas), max(found.planned_replicas)
    return f"{low}" if low == high else f"{low} to {high}"

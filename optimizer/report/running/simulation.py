"""Whether a plan keeps its promises under simulated load: the verdict, a row a limit, and how busy replicas were."""

import math
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Final

from optimizer.base.units import HOURS_PER_DAY, MINUTES_PER_HOUR, MS_PER_S, SECONDS_PER_MINUTE
from optimizer.plan.record.report import PlanReport
from optimizer.plan.record.simulation import (
    MeasuredLimit,
    Phase,
    SimulatedClass,
    SimulatedCost,
    SimulatedPart,
    Simulation,
)
from optimizer.plan.simulate.judging import MEAN
from optimizer.plan.simulate.simulated import WARM_UP
from optimizer.report.confirmed import METRICS
from optimizer.report.layout.amounts import DAYS
from optimizer.report.layout.bars import bar
from optimizer.report.layout.elements import Section, Table, WrittenAnswer, with_content
from optimizer.report.layout.html import answer_html, section_html

MOST_SPELLS: Final = 10
"""Stretches of time that are shown."""
LONG_MS: Final = 10_000.0
"""From which on a time is told in seconds."""
THOUSAND: Final = 1000
MINUTES_PER_DAY: Final = HOURS_PER_DAY * MINUTES_PER_HOUR
PHASES: Final[Mapping[Phase, str]] = {"before": "before it", "lost": "while it lasts", "after": "since"}
VERDICTS = {True: "keeps its promises", False: "breaks a promise", None: "is not decided by so few requests"}


def simulation_answer(report: PlanReport, found: Simulation) -> WrittenAnswer:
    """The verdict first, then what was measured."""
    return WrittenAnswer(with_content(_sections(found)), _summary(report, found), "Simulation")


def simulation_html(report: PlanReport, found: Simulation) -> str:
    """The same as one self-contained page."""
    title = f"Simulation of the plan for {report.scenario}"
    parts = [section_html(section) for section in with_content(_sections(found))]
    return answer_html(title, _summary(report, found), found.holds is True, parts)


def _summary(report: PlanReport, found: Simulation) -> str:
    """The verdict, and of what."""
    lengths = f", lengths of {found.lengths}" if found.lengths else ""
    part = " as far as it was simulated" if found.holds and found.not_simulated else ""
    meanwhile = " while replicas are lost" if found.lost else ""
    return (
        f"The plan for {report.scenario} {VERDICTS[found.holds]}{meanwhile}{part}: {found.requests:,} requests "
        f"simulated, arrivals {found.arrivals}{lengths}."
    )


def _sections(found: Simulation) -> Iterator[Section]:
    interval = f"{found.likely:.0%} interval"
    of_limits = ("request class", "promise", ">limit", ">simulated", f">{interval}", "verdict")
    within = f">within all limits, {interval}"
    of_classes = ("request class", ">requests", within, ">TTFT p50", ">p95", ">p99", ">TPOT p50", ">p95", ">p99")
    limits = tuple(_limit(item, limit) for item in found.classes for limit in item.limits)
    yield Section("Promises while replicas are lost" if found.lost else "Promises", table=Table(of_limits, limits))
    yield _loss(found)
    yield _what_broke(found)
    classes = Table(of_classes, tuple(_share(item) for item in found.classes))
    yield Section("What requests meet", tuple(_of_means(found)), table=classes)
    yield _autoscaling(found)
    yield _prefix_caches(found)
    time = _heading(found)
    of_parts = ("workload", time, ">requests", ">within all limits", ">TTFT p95", "")
    yield Section("Over time", table=Table(of_parts, tuple(_part(each, found.days) for each in found.over_time)))
    yield Section("Replicas", table=_replicas(found))
    of_costs = ("workload", ">$/1,000 requests", ">$/1,000 within all limits")
    yield Section("What a request costs", table=Table(of_costs, tuple(_cost(each) for each in found.costs)))
    yield Section("How it was simulated", _how(found))


def _replicas(found: Simulation) -> Table:
    """A line a deployment."""
    rows = tuple(
        (
            f"{d.workload} on {d.gpu}",
            d.provider,
            f"{d.replicas_simulated:,} of {d.replicas:,}",
            f"{d.busy_share:.0%}",
            f"{d.concurrency:,.1f}",
            "" if d.waiting is None else f"{d.waiting:,.1f}",
            f"{d.preempted:,}",
        )
        for d in found.deployments
    )
    figures = (">simulated", ">busy", ">requests running", ">waiting or read", ">sent back to the queue")
    return Table(("deployment", "provider", *figures), rows)


def _autoscaling(found: Simulation) -> Section:
    """What a scaler made of the week, and under it what the plan's own schedule does with the same requests."""
    scaled = found.autoscaling
    if scaled is None:
        return Section("Replicas that follow what arrived")
    days = f"{found.days} {'day' if found.days == 1 else 'days'}"
    headings = ("workload", "replicas", ">within all limits", ">minutes broken", ">replica hours", ">most", ">starts")
    rows = tuple(
        (
            each.workload,
            who,
            f"{run.share_within_limits:.2%}",
            f"{run.broken_minutes:,.0f} of {each.minutes:,}",
            f"{run.replica_hours:,.1f}",
            f"{run.most_replicas:,}",
            f"{run.starts:,.0f}",
        )
        for each in scaled.workloads
        for who, run in (("by what arrived", each.scaled), ("the plan's hours, ready in time", each.planned))
    )
    lines = (
        f"instances cost ${scaled.cost_usd:,.2f} in {days}; ${scaled.planned_cost_usd:,.2f} in the plan's hours",
        *(
            f"{each.workload}: a replica starts in {each.start_up_s:,.0f} s, {each.start_up}"
            for each in scaled.workloads
        ),
        f"aims at {scaled.target:.0%} of what replicas sustain, {scaled.rule}",
        "a minute is judged by its own requests: where a mean just keeps its limit, that of many minutes does not",
    )
    return Section("Replicas that follow what arrived", lines, Table(headings, rows))


def _prefix_caches(found: Simulation) -> Section:
    """What was found of prompts whose blocks a trace says, and how large the caches are that it was looked for in."""
    headings = ("request class", ">of prompt tokens found", ">repeated in the trace", ">the plan counts on")
    rows = tuple(
        (_name(item), f"{one.found_share:.1%}", f"{one.repeated_share:.1%}", f"{one.planned_share:.1%}")
        for item in found.classes
        if (one := item.prefix_cache) is not None
    )
    sizes = (
        f"{d.workload} on {d.gpu}: the KV cache of a replica holds {d.kv_cache_tokens:,} tokens, of what runs and, in "
        "what that leaves, of prompts that may be found again"
        for d in found.deployments
        if d.kv_cache_tokens is not None
    )
    return Section("Prefix caches", tuple(sizes), Table(headings, rows))


def _loss(found: Simulation) -> Section:
    """What was lost, and what it did."""
    time = _heading(found)
    headings = ("workload", "requests that came", time, ">requests", ">within all limits", ">TTFT p95")
    rows = tuple(
        (
            each.workload,
            PHASES[each.phase],
            *_time_and_requests(each, found.days),
            f"{each.share_within_limits:.1%}",
            _late(each),
        )
        for each in found.phases
    )
    return Section("The loss", found.lost, Table(headings, rows))


def _what_broke(found: Simulation) -> Section:
    """Of promises that do not hold, the longest stretches of time in which they were broken."""
    not_kept = {
        (item.workload, item.request_class, limit.metric, limit.statistic)
        for item in found.classes
        for limit in item.limits
        if limit.verdict != "holds"
    }
    mine = [s for s in found.broken_spells if (s.workload, s.request_class, s.metric, s.statistic) in not_kept]
    longest = sorted(mine, key=lambda spell: spell.from_s - spell.to_s)[:MOST_SPELLS]
    time = _heading(found)
    headings = ("request class", "promise", ">limit", time, ">requests", ">outside the limit", ">worst")
    rows = tuple(
        (
            f"{each.workload} {each.request_class}",
            f"{METRICS[each.metric]} {each.statistic}",
            duration(each.limit_ms),
            _time(each.from_s, each.to_s, found.days),
            f"{each.requests:,}",
            f"{round(each.requests * (1 - each.share_within_limit)):,}",
            duration(each.worst_ms),
        )
        for each in mine
        if each in longest
    )
    more = (f"the {len(rows)} longest of {len(mine):,} stretches of time; all are in broken_spells of the JSON",)
    return Section("What broke, and when", more if len(mine) > len(rows) else (), Table(headings, rows))


def _of_means(found: Simulation) -> Iterator[str]:
    """Why a promise may hold that many requests are outside of."""
    if any(limit.statistic == MEAN for item in found.classes for limit in item.limits):
        yield "a limit on a mean is held against each request here: some are outside it where the mean keeps it"


def _of_days(found: Simulation) -> Iterator[str]:
    """How days are judged, and what a schedule of the plan's own counts on."""
    if found.days is not None:
        yield "a promise holds where no hour's requests alone break it"
    if found.days is not None and found.autoscaling is None:
        yield "start replicas policy.elastic.start_up_minutes before the hour that needs them: the plan pays for it"


def _blocks(found: Simulation) -> Iterator[str]:
    """What of prompts is found, and what is not."""
    if any(item.prefix_cache is not None for item in found.classes):
        yield "prompts are found by their blocks in the cache of the replica that they go to, answers never"


def _name(item: SimulatedClass) -> str:
    return f"{item.workload} {item.request_class}"


def _limit(item: SimulatedClass, limit: MeasuredLimit) -> tuple[str, ...]:
    high = "more" if limit.high_ms is None else duration(limit.high_ms)
    return (
        _name(item),
        f"{METRICS[limit.metric]} {limit.statistic}{_at(limit)}",
        duration(limit.limit_ms),
        duration(limit.value_ms),
        f"{duration(limit.low_ms)} to {high}",
        limit.verdict,
    )


def _at(limit: MeasuredLimit) -> str:
    """The hour that breaks a promise of days, which begin on Monday."""
    if limit.hour is None:
        return ""
    day, hour = divmod(limit.hour, HOURS_PER_DAY)
    return f", {DAYS[day]} {hour}:00"


def _share(item: SimulatedClass) -> tuple[str, ...]:
    low, high = item.interval
    latencies = [duration(values[name]) for values in (item.ttft_ms, item.tpot_ms) for name in ("p50", "p95", "p99")]
    return (
        _name(item),
        f"{item.requests:,}",
        f"{item.share_within_limits:.1%} ({low:.1%}–{high:.1%})",
        *latencies,
    )


def _part(part: SimulatedPart, days: int | None) -> tuple[str, ...]:
    """A line of the picture over time."""
    share = Decimal(repr(part.share_within_limits))
    shown = bar(share, Decimal(1)) if share else ""
    return (part.workload, *_time_and_requests(part, days), _within(part), _late(part), shown)


def _heading(found: Simulation) -> str:
    return ">minutes" if found.days is None else ">when"


def _time_and_requests(part: SimulatedPart, days: int | None) -> tuple[str, str]:
    return _time(part.from_s, part.to_s, days), f"{part.requests:,}"


def _within(part: SimulatedPart) -> str:
    return f"{part.share_within_limits:.1%}"


def _time(from_s: float, to_s: float, days: int | None) -> str:
    """Minutes since the beginning; of days of a week the day and its time."""
    start, end = from_s / SECONDS_PER_MINUTE, to_s / SECONDS_PER_MINUTE
    if days is None:
        return f"{start:,.1f}–{end:,.1f}"
    day, minute = divmod(round(start), MINUTES_PER_DAY)
    return f"{DAYS[day % len(DAYS)]} {_clock(minute)}–{_clock(round(end) - day * MINUTES_PER_DAY)}"


def _clock(minute: int) -> str:
    """A time of a day, which may be the next one's."""
    hour, rest = divmod(minute, MINUTES_PER_HOUR)
    return f"{hour % HOURS_PER_DAY}:{rest:02}"


def _late(part: SimulatedPart) -> str:
    return "never" if part.ttft_p95_ms is None else duration(part.ttft_p95_ms)


def duration(milliseconds: float | None) -> str:
    """Milliseconds, from ten seconds on seconds; None is what never ends."""
    if milliseconds is None or not math.isfinite(milliseconds):
        return "never"
    if milliseconds >= LONG_MS:
        return f"{milliseconds / MS_PER_S:,.1f} s"
    return f"{milliseconds:,.0f} ms" if milliseconds == round(milliseconds) else f"{milliseconds:,.1f} ms"


def _cost(cost: SimulatedCost) -> tuple[str, ...]:
    within = cost.cost_per_request_within_limits_usd
    return (
        cost.workload,
        f"{cost.cost_per_request_usd * THOUSAND:,.4f}",
        "none is" if within is None else f"{within * THOUSAND:,.4f}",
    )


def _filling(found: Simulation) -> Iterator[str]:
    """How long what comes is simulated and counts in no promise."""
    if not found.lost:
        first = f"{WARM_UP:.0%} of the time" if found.days is None else "hour"
        yield f"promises are judged by what comes after the first {first}, in which replicas fill"


def _how(found: Simulation) -> tuple[str, ...]:
    steps = (
        "step times as predicted"
        if found.confidence <= 0.5
        else f"step times at the {found.confidence:.0%} bound that the plan is held to"
    )
    hours = "the hours in which each workload's replicas have most to do"
    if found.days is not None:
        hours = "from Monday on, every replica is ready when its hour begins, as the plan starts it"
    if found.autoscaling is not None:
        hours = "from Monday on, replicas are there that a scaler asked for as long ago as their start takes"
    return (
        f"{steps}; {hours}; {found.seeds} {'seed' if found.seeds == 1 else 'seeds'}",
        "requests go to deployments in the plan's shares"
        if found.autoscaling is None
        else "requests go to deployments by what the replicas that are there sustain",
        *_filling(found),
        *(_of_days(found)),
        *_blocks(found),
        *(f"not simulated: {item}" for item in found.not_simulated),
    )

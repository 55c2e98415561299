"""Whether a plan keeps its promises under simulated load: the verdict, a row a limit, and how busy replicas were."""

from optimizer.base.units import SECONDS_PER_MINUTE
from optimizer.plan.record.report import PlanReport
from optimizer.plan.record.simulation import MeasuredLimit, SimulatedClass, SimulatedPart, Simulation
from optimizer.report.confirmed import METRICS
from optimizer.report.layout.elements import Section, Table, WrittenAnswer, with_content

VERDICTS = {True: "keeps its promises", False: "breaks a promise", None: "is not decided by so few requests"}


def simulation_answer(report: PlanReport, found: Simulation) -> WrittenAnswer:
    """The verdict first, then what was measured."""
    lengths = f", lengths of {found.lengths}" if found.lengths else ""
    part = " as far as it was simulated" if found.holds and found.not_simulated else ""
    summary = (
        f"The plan for {report.scenario} {VERDICTS[found.holds]}{part}: {found.requests:,} requests simulated, "
        f"arrivals {found.arrivals}{lengths}{', replicas lost half-way' if found.lost else ''}."
    )
    limits = tuple(_limit(item, limit) for item in found.classes for limit in item.limits)
    shares = tuple(_share(item) for item in found.classes)
    replicas = tuple(
        (
            f"{d.workload} on {d.gpu}",
            d.provider,
            f"{d.replicas_simulated} of {d.replicas}",
            f"{d.busy_share:.0%}",
            f"{d.concurrency:.1f}",
            f"{d.preempted:,}",
        )
        for d in found.deployments
    )
    interval = f"{found.likely:.0%} interval"
    of_limits = ("request class", "promise", ">limit", ">simulated", f">{interval}", "verdict")
    within = f">within all limits, {interval}"
    of_classes = ("request class", ">requests", within, ">TTFT p50", ">p95", ">p99", ">TPOT p50", ">p95", ">p99")
    of_replicas = ("deployment", "provider", ">simulated", ">busy", ">requests running", ">sent back to the queue")
    of_parts = ("workload", ">minutes", ">requests", ">within all limits", ">TTFT p95")
    parts = tuple(_part(each) for each in found.over_time)
    sections = (
        Section("Promises", table=Table(of_limits, limits)),
        Section("What requests meet", table=Table(of_classes, shares)),
        Section("Over time", table=Table(of_parts, parts)),
        Section("Replicas", table=Table(of_replicas, replicas)),
        Section("How it was simulated", _how(found)),
    )
    return WrittenAnswer(with_content(sections), summary, "Simulation")


def _name(item: SimulatedClass) -> str:
    return f"{item.workload} {item.request_class}"


def _limit(item: SimulatedClass, limit: MeasuredLimit) -> tuple[str, ...]:
    high = "more" if limit.high_ms is None else f"{limit.high_ms:,.1f}"
    return (
        _name(item),
        f"{METRICS[limit.metric]} {limit.statistic}",
        f"{limit.limit_ms:,.0f} ms",
        f"{limit.value_ms:,.1f} ms",
        f"{limit.low_ms:,.1f}–{high} ms",
        limit.verdict,
    )


def _share(item: SimulatedClass) -> tuple[str, ...]:
    low, high = item.interval
    latencies = [f"{values[name]:,.1f} ms" for values in (item.ttft_ms, item.tpot_ms) for name in ("p50", "p95", "p99")]
    return (
        _name(item),
        f"{item.requests:,}",
        f"{item.share_within_limits:.1%} ({low:.1%}–{high:.1%})",
        *latencies,
    )


def _part(part: SimulatedPart) -> tuple[str, ...]:
    """A line of the picture over time."""
    late = "never" if part.ttft_p95_ms is None else f"{part.ttft_p95_ms:,.0f} ms"
    return (
        part.workload,
        f"{part.from_s / SECONDS_PER_MINUTE:,.1f}–{part.to_s / SECONDS_PER_MINUTE:,.1f}",
        f"{part.requests:,}",
        f"{part.share_within_limits:.1%}",
        late,
    )


def _how(found: Simulation) -> tuple[str, ...]:
    steps = (
        "step times as predicted"
        if found.confidence <= 0.5
        else f"step times at the {found.confidence:.0%} bound that the plan is held to"
    )
    hours = "the hours in which each workload's replicas have most to do"
    if found.days is not None:
        hours = "from Monday on, replicas that are started serve when the policy's start-up has passed"
    return (
        f"{steps}; {hours}; {found.seeds} {'seed' if found.seeds == 1 else 'seeds'}",
        "requests go to deployments in the plan's shares",
        *found.lost,
        *(f"not simulated: {item}" for item in found.not_simulated),
    )

"""A plan as titled sections of lines and tables; every form of the answer lays out the same sections."""

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Final

from optimizer.inputs.scenario.scenario import CENTRAL_CONFIDENCE
from optimizer.plan.grounds.quotes import price_doubts, quotes_worth_taking
from optimizer.plan.readback.summary import by_second_words
from optimizer.plan.record.explanation import Alternative, Breakpoint, MarginalValue, MeasuredRequirement
from optimizer.plan.record.fleet import Deployment, Hosted
from optimizer.plan.record.report import PlanReport, PriceDays
from optimizer.report.confirmed import confirmed_line
from optimizer.report.layout.amounts import change, money, number, percent
from optimizer.report.layout.columns import Cell, filled, table_of
from optimizer.report.layout.elements import Section, Table, WrittenAnswer, with_content
from optimizer.report.plan.brief import (
    at_most,
    choices_in_short,
    choices_section,
    least_words,
    proof_section,
    proof_words,
    proven_of,
    question_in_short,
    question_section,
    settled_by,
    shortened,
    signing_section,
)
from optimizer.report.plan.costs import costs_section
from optimizer.report.plan.latency_columns import latency_columns
from optimizer.report.plan.placement import placement_section
from optimizer.report.plan.running import OF_REPLICAS, by_request, deployments_in_short, precisions_of, what_runs
from optimizer.report.plan.schedule import schedule_in_short, schedule_section

MAX_REJECTIONS: Final = 6
PROVENANCE: Final = (
    "performance {provenance.performance} ({provenance.performance_note}); "
    "price {provenance.price_confidence}, {provenance.price_age_days} days old"
)
ENGINE: Final = (
    "{engine} {engine_version} on {gpu} by default: memory share {engine_starts_with.memory_utilization:.0%}, "
    "{engine_starts_with.max_num_seqs:,} sequences, {engine_starts_with.max_num_batched_tokens:,} tokens a step"
)
WHAT_RUNS_AT_WHAT_LOAD: Final[Mapping[str, Cell]] = {
    "what runs": lambda d: f"{d.workload}{'' if d.pool == 'all' else f' {d.pool}'}: {d.model} {precisions_of(d)}",
    "where": "{provider} {region}",
    ">replicas": "{replicas:,}",
    ">req/s": "{requests_per_second:figure}",
    ">of max": "{utilization:.0%}",
}
ALTERNATIVES: Final[Mapping[str, Cell]] = {
    "change": "{change}",
    ">a month": lambda item: at_most(item) + money(item.monthly_cost_usd, unknown="none fits"),
    ">difference": lambda item: at_most(item) + change(item.difference_usd),
    "plan": "{summary}",
}
NOT_SIMULATED: Final = "by formulas alone: none of these plans was held against simulated requests"
NO_PLAN: Final[Mapping[str, str]] = {"infeasible": "no plan"}
STEPS: Final[Mapping[str, Cell]] = {
    "step": lambda item: filled("{what} {to:number}, not {from_:number}", item) + unit_of(item.unit),
    ">a month": lambda item: money(item.monthly_cost_usd, NO_PLAN.get(item.outcome, "not found in time")),
    ">difference": "{change_usd:change}",
    "plan": "{summary}",
}
BREAKPOINTS: Final[Mapping[str, Cell]] = {
    "limit or price": "{what}",
    ">now": lambda item: number(item.from_) + unit_of(item.unit),
    "moved": "{direction}",
    ">changes at": lambda item: filled("beyond {holds_to:number}" if _holds(item) else "{changes_at:number}", item),
    ">a month": lambda item: "" if _holds(item) else money(item.monthly_cost_usd, unknown="no plan"),
    "to": lambda item: "" if _holds(item) else item.summary,
}
PURCHASES: Final[Mapping[str, Cell]] = {
    "offer": "{offer}",
    ">instances": "{instances:,}",
    ">GPUs": "{gpus:,}",
    ">idle": "{idle_gpus:,}",
    ">$/h": "{price_usd_per_hour}",
    ">a month": "{monthly_cost_usd:money}",
}
CHECKS: Final[Mapping[str, Cell]] = {
    "check": "{name}",
    "verdict": lambda check: "holds" if check.passed else "FAILS",
    "found": "{text}",
}


def plan_answer(report: PlanReport, verbose: bool) -> WrittenAnswer:
    """The whole answer."""
    said = [item.text for item in report.accepted] if report.monthly_cost_usd is not None else []
    said += [_saved(report, verbose)] if report.simplicity else []
    title, beside = f"Plan for {report.scenario}", " ".join(f"{text}." for text in said if text)
    return WrittenAnswer(plan_sections(report, verbose), report.explanation.summary, title, beside)


def _saved(report: PlanReport, verbose: bool) -> str:
    """What the cheapest would save and what it would take; in short only how its plan begins."""
    simplicity = report.simplicity
    if simplicity is None or simplicity.cheapest is None or verbose:
        return "" if simplicity is None else simplicity.text
    return simplicity.text.removesuffix(simplicity.cheapest.summary) + shortened(simplicity.cheapest.summary)


def plan_sections(report: PlanReport, verbose: bool = False) -> tuple[Section, ...]:
    """The report's sections in reading order: the answer, the reason, the way out, the proof."""
    sections = [question_section(report) if verbose else question_in_short(report)]
    if report.monthly_cost_usd is None:
        sections += [*_ways_out(report), *(_appendix(report) if verbose else ()), _basis(report, verbose)]
    elif verbose:
        sections += [*_reasons(report), *_appendix(report), _basis(report, verbose)]
    else:
        sections += _brief(report, report.monthly_cost_usd)
    return with_content(sections)


def _brief(report: PlanReport, cost_usd: Decimal) -> Iterator[Section]:
    """What to buy, what else it could cost, what to settle before signing, how sure it is."""
    yield deployments_in_short(report)
    yield _by_the_second(report)
    yield schedule_in_short(report)
    yield choices_in_short(report.explanation, cost_usd)
    yield signing_section(report)
    yield proof_section(report)


def _reasons(report: PlanReport) -> Iterator[Section]:
    """What runs, what to know before it is bought, what holds it in place, what else there is, what it costs."""
    explained = report.explanation
    others, measured = explained.alternatives, explained.requirements
    yield deployments_section(report.deployments, report.confidence, report.hosted, others, measured)
    yield schedule_section(report)
    yield _by_the_second(report)
    yield choices_section(explained)
    command = () if explained.benchmark is None else (explained.benchmark.command,)
    told_above = {*price_doubts(report.deployments)}
    warnings = (text for text in explained.warnings if text not in told_above)
    yield Section("Before you sign", (*warnings, *settled_by(explained), *command))
    yield placement_section(report.placement, report.deployments, len(report.periods))
    yield Section("What binds", tuple(item.text for item in explained.binding))
    yield Section("What holds with room", tuple(item.text for item in explained.requirements if not item.binding))
    yield _steps(explained.marginal_values)
    among = (
        "tighter: until these machines no longer do at this cost; looser, or at another price: until another plan with "
        "no more configurations, places and instances costs less"
    )
    points = table_of(explained.breakpoints, BREAKPOINTS)
    yield Section("How far it holds", (among, NOT_SIMULATED) if points.rows else (), points)
    yield _alternatives("Next best", (*explained.alternatives, *explained.baselines))
    yield _alternatives("What would change it", (*explained.opportunities, *explained.also_priced))
    yield costs_section(report)


def _by_the_second(report: PlanReport) -> Section:
    """Which containers serve what, and for which part of the time they are paid."""
    return Section("Paid by the second", tuple(map(by_second_words, report.containers)))


def _ways_out(report: PlanReport) -> Iterator[Section]:
    """What comes closest, what cannot hold together, what would help."""
    explained = report.explanation
    yield Section("Nearest misses", tuple(miss.text for miss in explained.nearest_misses))
    conflicts = sorted({item.conflict for item in explained.conflict})
    for conflict in conflicts:
        which = f"Conflict {conflict} of {len(conflicts)}: what" if len(conflicts) > 1 else "What"
        items = [item for item in explained.conflict if item.conflict == conflict]
        lines = (item.text if item.line is None else f"line {item.line}: {item.text}" for item in items)
        cannot = "cannot hold together" if len(items) > 1 else "cannot be met"
        yield Section(f"{which} {cannot}, even if nothing else were asked", tuple(lines))
    yield Section("What lets nothing in, and what is left out", tuple(explained.warnings))
    ways = tuple(way.text for way in explained.relaxations)
    yield Section("Ways out, re-solved", (*ways, *explained.broken_ways))


def _appendix(report: PlanReport) -> Iterator[Section]:
    """What was rejected, bought and checked, and what the numbers rest on."""
    rejected, exposure = report.explanation.rejected, report.explanation.exposure
    rows = tuple(
        (name, f"{rejected.by_reason[name]:,}", f"{rejected.only_reason.get(name, 0):,}")
        for name in _most_frequent_first(rejected.by_reason)
    )
    yield Section("Why candidates were rejected", table=Table(("criterion", ">failed it", ">failed only it"), rows))
    yield Section("Purchases", table=table_of(report.purchases, PURCHASES))
    yield Section("Verification", table=table_of(report.verification.checks, CHECKS))
    if exposure is not None:
        benchmark = exposure.benchmark
        first = () if benchmark is None else (f"measure first: {benchmark.text}", benchmark.command)
        yield Section("What the numbers rest on", (*(item.text for item in exposure.estimates), *first))


def deployments_section(
    deployments: Sequence[Deployment],
    confidence: float = CENTRAL_CONFIDENCE,
    hosted: Sequence[Hosted] = (),
    others: Sequence[Alternative] = (),
    measured: Sequence[MeasuredRequirement] = (),
) -> Section:
    """What runs where, at what load, how fast and for how much; with a confidence it is said what latencies are."""
    latencies = latency_columns(deployments, measured)
    columns: dict[str, Cell] = {**WHAT_RUNS_AT_WHAT_LOAD, **latencies, ">$/month": "{monthly_cost_usd:,.2f}"}
    rows = [row for d in deployments for row in (*table_of([d], columns).rows, *_details(d, len(columns)))]
    rows += [by_request(item, len(latencies)) for item in hosted]
    bounds = f"Latencies are the {percent(confidence)} bounds that the plan is held to."
    days = PriceDays.of(deployments, hosted)
    prices = f"Prices are of {days.words}." if days else ""
    notes = (bounds if confidence > CENTRAL_CONFIDENCE and deployments else "", prices)
    doubts = (*price_doubts(deployments), *quotes_worth_taking(deployments, others))
    lines = (*doubts, " ".join(filter(None, notes)))
    table = Table(tuple(columns), tuple(rows))
    return Section("Plan", lines, table.without(() if deployments else OF_REPLICAS))


def _details(d: Deployment, columns: int) -> Iterator[tuple[str, ...]]:
    """The rows below a deployment's: how it is laid out, and which classes it serves if not all of them alike."""
    rest = ("",) * (columns - 2)
    layout = f"{d.gpus_per_replica}×{d.gpu}"
    if d.gpus_per_replica > 1:
        layout += f" tp{d.tensor_parallel}" + (f" pp{d.pipeline_parallel}" if d.pipeline_parallel > 1 else "")
    instance = filled("{instances:,}× {instance_type}", d)
    term = "" if d.pricing_term == "on_demand" else filled(", {pricing_term:words}", d)
    yield (f"  {layout}, {d.engine} {d.engine_version}", f"{instance}{term}", *rest)
    if d.pool != "all" and len(d.classes) > 1:
        shares = ", ".join(f"{item.share:.1%} {item.name}" for item in d.classes)
        yield (f"  {shares}", "", *rest)


def _alternatives(title: str, items: Sequence[Alternative]) -> Section:
    useless = [item for item in items if item.difference_usd == 0]
    proven = [item.change for item in useless if item.outcome == "optimal"]
    found = [item.change for item in useless if item.outcome != "optimal"]
    lines = [f"the same plan is the cheapest: {'; '.join(proven)}"] * bool(proven)
    lines += [f"nothing cheaper was found, though it is not ruled out: {'; '.join(found)}"] * bool(found)
    return Section(title, tuple(lines), table_of((item for item in items if item.difference_usd != 0), ALTERNATIVES))


def _steps(items: Sequence[MarginalValue]) -> Section:
    same: dict[str, list[MarginalValue]] = {}
    for item in items:
        if _same(item):
            same.setdefault(item.what, []).append(item)
    kept = "; ".join(
        f"{what} {' or '.join(number(item.to) for item in steps)}{unit_of(steps[0].unit)}"
        for what, steps in same.items()
    )
    steps = table_of((item for item in items if not _same(item)), STEPS)
    lines = (f"the same plan at: {kept}" if kept else "", NOT_SIMULATED if steps.rows else "")
    return Section("What one step would cost", tuple(filter(None, lines)), steps)


def _same(item: MarginalValue) -> bool:
    """Whether nothing changes, the bill of what is paid by its use included."""
    return item.same_plan and not item.change_usd


def _holds(item: Breakpoint) -> bool:
    """Whether no other plan takes over in the range that was searched."""
    return item.changes_at is None


def unit_of(unit: str) -> str:
    """A unit behind a number; shares have none."""
    return f" {unit}" if unit not in ("", "share") else ""


def _basis(report: PlanReport, verbose: bool) -> Section:
    checks = report.verification.checks
    passed = sum(check.passed for check in checks)
    verified = f"{passed} of {len(checks)} checks of the plan hold, recomputed independently" if checks else ""
    known = dict.fromkeys(
        line for d in report.deployments for line in (_provenance(d, verbose), filled(ENGINE, d) if verbose else "")
    )
    left_out = _left_out(report.explanation.not_worked_out)
    tried, record = confirmed_line(report.simulation), report.explanation.track_record
    kept = record.text if record else ""
    lines = (_proof(report), _not_considered(report), _search(report), verified, tried, kept, left_out, *known)
    return Section("How sure", lines)


def _proof(report: PlanReport) -> str:
    """Whether the plan is the cheapest, and what that was proven of."""
    solver = report.solver
    proof = f"{proven_of(report)}{proof_words(report)}: {solver.reason}"
    if least := least_words(report):
        proof += f"; {least}"
    if solver.mixes_settled:
        proof += f"; between {solver.mixes_between} predicted mixes of classes, probes leave no cheaper plan possible"
    if solver.rounds > 1:
        proof += f"; solved {solver.rounds} times, each time with more mixes predicted"
    return proof


def _not_considered(report: PlanReport) -> str:
    """What the proof does not speak of, if anything."""
    left_out = "; ".join(report.scope.not_considered)
    return f"not considered: {left_out}" if left_out else ""


def _left_out(items: Sequence[str]) -> str:
    """What was not worked out, what shares a reason together."""
    whats: dict[str, list[str]] = {}
    for item in items:
        what, _, why = item.rpartition(": ")
        whats.setdefault(why, []).append(what)
    return ". ".join(f"{why[:1].upper()}{why[1:]}: {'; '.join(names)}" for why, names in whats.items())


def _search(report: PlanReport) -> str:
    """How many candidates there were, and what most of them fail."""
    solver, failed = report.solver, report.explanation.rejected.by_reason
    counts = f"{solver.candidates_evaluated:,} candidates evaluated, {solver.candidates_kept:,} kept"
    if solver.candidates_kept:
        unneeded = f"{sum(solver.eliminated.values()):,} shown unnecessary"
        counts += f"; {unneeded} before or by the last program, which had {solver.columns_solved:,}"
    names = _most_frequent_first(failed)[:MAX_REJECTIONS]
    most = ", ".join(f"{name.replace('_', ' ')} ({failed[name]:,})" for name in names)
    return f"{counts}; {f'most fail {most}' if most else ''}"


def _most_frequent_first(counts: Mapping[str, int]) -> list[str]:
    return sorted(counts, key=lambda name: (-counts[name], name))


def _provenance(d: Deployment, verbose: bool) -> str:
    source = f" ({d.provenance.price_source})" if verbose else ""
    quality = "unknown" if d.quality is None else f"{d.quality:.4f}"
    quality += f": {d.provenance.quality}" if verbose and d.quality is not None else ""
    return f"{what_runs(d)}: {filled(PROVENANCE, d)}{source}; quality {quality}"

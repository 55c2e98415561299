"""A plan as titled sections of lines and tables; text and Markdown lay out the same sections."""

from collections.abc import Iterable, Mapping, Sequence

from optimizer.inputs.scenario.scenario import CENTRAL_CONFIDENCE
from optimizer.plan.explain.levers import is_demand
from optimizer.plan.record.explanation import Alternative, Breakpoint, ConflictItem, MarginalValue
from optimizer.plan.record.fleet import Deployment
from optimizer.plan.record.report import PlanReport
from optimizer.report.layout.elements import Section, Table, change, money
from optimizer.report.plan.schedule import schedule_section

PROOF_WORDS = {
    "optimal": "proven optimal",
    "feasible": "best found, not proven",
    "infeasible": "proven infeasible",
    "unproven": "no plan found in time, none excluded",
    "failed": "failed",
}
MAX_REJECTIONS = 6
SMALL_SHARE = 0.0005


def plan_sections(report: PlanReport, verbose: bool = False) -> tuple[Section, ...]:
    """The report's sections in reading order: the answer, the reason, the way out, the proof."""
    if report.monthly_cost_usd is not None:
        parts = [
            deployments_section(report.deployments, report.confidence),
            schedule_section(report),
            _warnings(report),
            _limits(report, verbose),
            *variations(report, verbose),
            *_comparisons(report),
            _costs(report),
        ]
    else:
        parts = [_nearest_misses(report), *_ways_out(report)]
    if verbose:
        parts += [_rejected(report), _purchases(report), _checks(report)]
        parts += [_exposure(report)]
    parts += [_basis(report, verbose)]
    return tuple(part for part in parts if part.lines or (part.table and part.table.rows))


def deployments_section(deployments: Iterable[Deployment], confidence: float) -> Section:
    """What runs where, at what load, how fast and for how much."""
    headings = ("what runs", "where", ">replicas", ">req/s", ">of max", ">TTFT p95", ">TPOT mean", ">$/month")
    rows: list[tuple[str, ...]] = []
    for d in deployments:
        what = f"{d.workload}{'' if d.pool == 'all' else ' ' + d.pool}: {d.model} {d.precision}"
        degrees = f" tp{d.tensor_parallel}" + (f" pp{d.pipeline_parallel}" if d.pipeline_parallel > 1 else "")
        layout = f"{d.gpus_per_replica}×{d.gpu}" + (degrees if d.gpus_per_replica > 1 else "")
        latency = (f"{d.ttft_bound_ms['p95']:,.0f} ms", f"{d.tpot_bound_ms['mean']:.1f} ms")
        load = (f"{d.requests_per_second:.3g}", f"{d.utilization:.0%}")
        where = f"{d.provider} {d.region}"
        rows.append((what, where, str(d.replicas), *load, *latency, f"{d.monthly_cost_usd:,.2f}"))
        instance = f"{d.instances}× {d.instance_type}, {d.pricing_term.replace('_', ' ')}"
        rows.append((f"  {layout}, {d.engine}, KV {d.kv_precision}", instance, "", "", "", "", "", ""))
        if d.pool != "all" and len(d.classes) > 1:
            shares = ", ".join(f"{item.share:.1%} {item.name}" for item in d.classes)
            rows.append((f"  {shares}", "", "", "", "", "", "", ""))
    note = f"Latencies are the {_percent(confidence)} bounds that the plan is held to."
    return Section("Plan", (note,) if confidence > CENTRAL_CONFIDENCE else (), Table(headings, tuple(rows)))


def _warnings(report: PlanReport) -> Section:
    return Section("Before you sign", tuple(report.explanation.warnings))


def _serialized(deployment: Deployment, field: str) -> str:
    return str(deployment.model_dump(mode="json")[field])


def _percent(share: float) -> str:
    return f"{share * 100:g} %"


def _limits(report: PlanReport, verbose: bool) -> Section:
    items = report.explanation.requirements if verbose else report.explanation.binding
    return Section("What binds" if not verbose else "Requirements", tuple(item.text for item in items))


def _comparisons(report: PlanReport) -> list[Section]:
    said = report.explanation
    return [
        _alternatives("Next best", (*said.alternatives, *said.baselines)),
        _alternatives("What would change it", said.opportunities),
    ]


def _alternatives(title: str, items: Iterable[Alternative]) -> Section:
    rows, useless = [], []
    for item in items:
        if item.difference_usd == 0:
            useless.append(item.change)
            continue
        at_most = "≤ " if item.outcome == "feasible" else ""
        cost = "none fits" if item.monthly_cost_usd is None else at_most + money(item.monthly_cost_usd)
        difference = "" if item.difference_usd is None else change(item.difference_usd)
        rows.append((item.change, cost, difference, item.summary))
    lines = (f"no change {'; nor '.join(useless)}",) if useless else ()
    return Section(title, lines, Table(("change", ">a month", ">difference", "plan"), tuple(rows)))


def variations(report: PlanReport, verbose: bool) -> list[Section]:
    """What a step of each limit costs, of those that bind unless verbose, and how far limits and prices may move."""
    said = report.explanation
    if not verbose:
        binding = {item.requirement for item in said.binding}
        return [_steps([item for item in said.marginal_values if item.field in binding or is_demand(item.field)])]
    return [_steps(said.marginal_values), Section("How far it holds", table=_breakpoints(said.breakpoints))]


def _steps(items: Sequence[MarginalValue]) -> Section:
    rows: list[tuple[str, ...]] = []
    same: dict[str, list[MarginalValue]] = {}
    for item in items:
        if item.same_plan:
            same.setdefault(item.what, []).append(item)
            continue
        cost = "no plan" if item.monthly_cost_usd is None else money(item.monthly_cost_usd)
        difference = "" if item.change_usd is None else change(item.change_usd)
        step = f"{item.what} {number(item.to)}, not {number(item.from_)}{unit_of(item.unit)}"
        rows.append((step, cost, difference, item.summary))
    kept = [
        f"{what} {' or '.join(number(item.to) for item in steps)}{unit_of(steps[0].unit)}"
        for what, steps in same.items()
    ]
    lines = (f"the same plan at: {'; '.join(kept)}",) if kept else ()
    headings = ("step", ">a month", ">difference", "plan")
    return Section("What one step would cost", lines, Table(headings, tuple(rows)))


def _breakpoints(items: Sequence[Breakpoint]) -> Table:
    rows = []
    for item in items:
        now = f"{number(item.from_)}{unit_of(item.unit)}"
        if item.changes_at is None:
            rows.append((item.what, now, item.direction, f"beyond {number(item.holds_to)}", "", ""))
            continue
        cost = "no plan" if item.monthly_cost_usd is None else money(item.monthly_cost_usd)
        rows.append((item.what, now, item.direction, number(item.changes_at), cost, item.summary))
    return Table(("limit or price", ">now", "moved", ">changes at", ">a month", "to"), tuple(rows))


def number(value: float) -> str:
    """A quantity with as many digits as it has."""
    return f"{value:,.6f}".rstrip("0").rstrip(".")


def unit_of(unit: str) -> str:
    """A unit behind a number; shares have none."""
    return f" {unit}" if unit not in ("", "share") else ""


def _costs(report: PlanReport) -> Section:
    if report.costs is None:
        return Section("Where the money goes")
    costs = report.costs
    parts = [f"compute {money(costs.compute_usd)}"]
    parts += [f"of it headroom {money(costs.headroom_usd)}, idle GPUs {money(costs.idle_gpus_usd)}"]
    parts += [f"storage {money(costs.storage_usd)}"] if costs.storage_usd is not None else []
    sent = sum(d.egress_gb_per_month or 0 for d in report.deployments)
    parts += [f"egress {money(costs.egress_usd)} for {sent:,.0f} GB"] if costs.egress_usd is not None else []
    requests = [
        f"{d.workload} on {d.gpu}: ${_serialized(d, 'cost_per_request_usd')} a request, "
        f"${_serialized(d, 'cost_per_million_output_tokens_usd')} per million output tokens"
        if d.requests_per_second
        else f"{d.workload} on {d.gpu} stands by and serves nothing at the planned load"
        for d in report.deployments
    ]
    lines = ["; ".join(parts), *requests]
    lines += [f"not priced: {', '.join(costs.unpriced)}"] if costs.unpriced else []
    return Section("Where the money goes", tuple(lines))


def _nearest_misses(report: PlanReport) -> Section:
    return Section("Nearest misses", tuple(miss.text for miss in report.explanation.nearest_misses))


def _ways_out(report: PlanReport) -> list[Section]:
    said = report.explanation
    numbers = sorted({item.conflict for item in said.conflict})
    conflicts = []
    for number in numbers:
        which = f"Conflict {number} of {len(numbers)}: what" if len(numbers) > 1 else "What"
        title = f"{which} cannot hold together, even if nothing else were asked"
        conflicts.append(Section(title, tuple(_asked(item) for item in said.conflict if item.conflict == number)))
    return [*conflicts, Section("Ways out, re-solved", tuple(item.text for item in said.relaxations))]


def _asked(item: ConflictItem) -> str:
    return item.text if item.line is None else f"line {item.line}: {item.text}"


def _rejected(report: PlanReport) -> Section:
    rejected = report.explanation.rejected
    names = sorted(rejected.by_reason, key=lambda name: (-rejected.by_reason[name], name))
    rows = tuple((name, f"{rejected.by_reason[name]:,}", f"{rejected.only_reason.get(name, 0):,}") for name in names)
    return Section("Why candidates were rejected", table=Table(("criterion", ">failed it", ">failed only it"), rows))


def _purchases(report: PlanReport) -> Section:
    rows = tuple(
        (p.offer, str(p.instances), str(p.gpus), str(p.idle_gpus), f"{p.price_usd_per_hour}", money(p.monthly_cost_usd))
        for p in report.purchases
    )
    return Section("Purchases", table=Table(("offer", ">instances", ">GPUs", ">idle", ">$/h", ">a month"), rows))


def _checks(report: PlanReport) -> Section:
    rows = tuple((c.name, "holds" if c.passed else "FAILS", c.text) for c in report.verification.checks)
    return Section("Verification", table=Table(("check", "verdict", "found"), rows))


def _exposure(report: PlanReport) -> Section:
    """The estimates with the most money at stake, and what to measure first."""
    said = report.explanation.exposure
    if said is None:
        return Section("What the numbers rest on")
    lines = [item.text for item in said.estimates]
    if said.benchmark is not None:
        lines += [f"measure first: {said.benchmark.text}", said.benchmark.command]
    return Section("What the numbers rest on", tuple(lines))


def _basis(report: PlanReport, verbose: bool) -> Section:
    solver = report.solver
    counts = f"{solver.candidates_evaluated:,} candidates evaluated, {solver.candidates_kept:,} kept"
    gone = sum(solver.eliminated.values())
    if solver.candidates_kept:
        counts += f"; {gone:,} shown unnecessary, {solver.columns_solved:,} solved"
    proof = f"{PROOF_WORDS[report.outcome]}: {solver.reason}"
    if report.bound_usd is not None and report.relative_gap is not None:
        proof += f"; bound {money(report.bound_usd)}, gap {report.relative_gap:.2%}"
    if solver.mixes_between:
        proof += f"; between {solver.mixes_between} predicted mixes of classes, capacity is added up by shares"
    if solver.rounds > 1:
        proof += f"; solved {solver.rounds} times until every replica held at the mix it is sent"
        proof += "" if solver.mixes_between else ", in the end among replicas that serve one predicted mix each"
    failing = _top(report.explanation.rejected.by_reason)
    searched = f"{counts}; {failing}"
    checks = report.verification.checks
    verified = f"{sum(c.passed for c in checks)} of {len(checks)} checks of the plan hold, recomputed independently"
    lines = [proof, searched, *([verified] if checks else [])]
    return Section("How sure", (*lines, *_provenance(report.deployments, verbose)))


def _top(by_reason: Mapping[str, int]) -> str:
    ordered = sorted(by_reason, key=lambda name: (-by_reason[name], name))[:MAX_REJECTIONS]
    return (
        "most fail " + ", ".join(f"{name.replace('_', ' ')} ({by_reason[name]:,})" for name in ordered)
        if ordered
        else ""
    )


def _provenance(deployments: Iterable[Deployment], verbose: bool) -> list[str]:
    lines = []
    for d in deployments:
        p = d.provenance
        performance = f"performance {p.performance} ({p.performance_note})"
        source = f" ({p.price_source})" if verbose else ""
        price = f"price {p.price_confidence}, {p.price_age_days} days old{source}"
        known = "unknown" if d.quality is None else f"{d.quality:.4f}"
        quality = f"{known}: {p.quality}" if verbose and d.quality is not None else known
        lines.append(f"{d.workload} on {d.gpu}: {performance}; {price}; quality {quality}")
    return list(dict.fromkeys(lines))

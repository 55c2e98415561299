"""A plan as its page shows it: figures already written as they are read, so that templates only place them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from markupsafe import Markup

from optimizer.base.figures import figure
from optimizer.performance.market.criteria import CRITERIA
from optimizer.plan.grounds.quotes import price_doubts, quotes_worth_taking
from optimizer.plan.readback.summary import EVERYWHERE, offer_of
from optimizer.plan.record.explanation import MeasuredRequirement
from optimizer.plan.record.fields import significant
from optimizer.plan.record.fleet import Deployment, Hosted, Purchase
from optimizer.plan.record.report import PlanReport
from optimizer.report.layout.amounts import money, percent
from optimizer.report.layout.elements import Section
from optimizer.report.layout.html import section_html
from optimizer.report.plan.costs import paid_for
from optimizer.report.plan.running import precisions_of
from optimizer.report.plan.sections import plan_answer

ON_CARDS: Final = (
    "Before you sign",
    "What binds",
    "What else it could cost",
    "What holds with room",
    "Where the money goes",
    "Why candidates were rejected",
    "Ways out, re-solved",
)
"""Sections of the report that have a place of their own on the page."""


@dataclass(frozen=True)
class Card:
    """One thing to rent: what, where, its month, and facts by name; the same of each workload that runs on it."""

    what: str
    where: str
    cost: str
    facts: tuple[tuple[str, str], ...]
    runs: tuple[tuple[str, tuple[tuple[str, str], ...]], ...] = ()


@dataclass(frozen=True)
class BillPart:
    """What a part of the month's bill pays for; start and width are of a bar 1000 wide."""

    label: str
    amount: str
    share: str
    start: float
    width: float


@dataclass(frozen=True)
class HeldLimit:
    """A limit at the plan; how much of it is used, in percent, None where that is no share."""

    text: str
    binding: bool
    used: float | None


@dataclass(frozen=True)
class Failed:
    """A test and how many candidates failed it; shares are in percent of the test that most fail."""

    sentence: str
    failed: str
    only: str
    share: float
    only_share: float


@dataclass(frozen=True)
class PlanView:
    """All that the page of a plan shows.

    Attributes:
        summary: The answer in a sentence, without the amount that stands above it.
        amount: Of a month; empty where there is no plan.
        command: What runs the benchmark to make first; empty where there is none.
        simplicity: By how much it may be dearer than the cheapest; empty where it may not.
        names: GPUs, providers and precisions of the plan.
        choices: What else it could cost, as HTML; empty where nothing is told.
        ways: Ways out, in words.
        broken_ways: What is none, since simulated requests break a promise of every plan there, in words.
        sections: The rest of the report, as HTML.
    """

    title: str
    scenario: str
    summary: str
    beside: str
    amount: str
    bought: tuple[Card, ...]
    bill: tuple[BillPart, ...]
    costs: tuple[str, ...]
    held: tuple[HeldLimit, ...]
    signing: tuple[str, ...]
    command: str
    simplicity: str
    names: frozenset[str]
    choices: Markup
    ways: tuple[str, ...]
    broken_ways: tuple[str, ...]
    census: tuple[Failed, ...]
    considered: str
    rejected: str
    sections: tuple[Markup, ...]


def plan_view(report: PlanReport) -> PlanView:
    """The page of a plan, or of the proof that there is none."""
    answer = plan_answer(report, verbose=True)
    by_title = {section.title: section for section in answer.sections}
    explained, nothing = report.explanation, Section("")
    things = [*report.deployments, *report.hosted]
    signing = by_title.get("Before you sign", nothing)
    command = "" if explained.benchmark is None else explained.benchmark.command
    doubts = (*price_doubts(report.deployments), *quotes_worth_taking(report.deployments, explained.alternatives))
    return PlanView(
        title=answer.title,
        scenario=report.scenario,
        summary=_lead(report),
        beside=answer.beside,
        amount=money(report.monthly_cost_usd),
        bought=(*_all_rented(report), *map(_hosted, report.hosted)),
        bill=tuple(_bill(report)),
        costs=by_title.get("Where the money goes", nothing).lines[1:],
        held=tuple(map(_held, sorted(explained.requirements, key=lambda item: not item.binding))),
        signing=(*doubts, *(line for line in signing.lines if line != command)),
        command=command,
        simplicity=percent(report.simplicity.percent / 100) if report.simplicity and report.simplicity.percent else "",
        names=frozenset(
            name for item in things for field in ("gpu", "provider", "precision") if (name := getattr(item, field, ""))
        ),
        choices=_choices(by_title),
        ways=tuple(way.text for way in explained.relaxations),
        broken_ways=explained.broken_ways,
        census=tuple(_census(report)),
        considered=f"{report.solver.candidates_evaluated:,}",
        rejected=f"{explained.rejected.total:,}",
        sections=tuple(_html(section) for section in answer.sections if section.title not in ON_CARDS),
    )


def _lead(report: PlanReport) -> str:
    """The summary behind its amount, which stands above it in large figures."""
    amount = f"{money(report.monthly_cost_usd)} a month for {report.scenario}, "
    summary = report.explanation.summary
    rest = summary.removeprefix(amount)
    return summary if rest == summary else rest[:1].upper() + rest[1:]


def _html(section: Section) -> Markup:
    """As every report writes it; its own words are escaped there."""
    return Markup(section_html(section))


def _choices(by_title: dict[str, Section]) -> Markup:
    section = by_title.get("What else it could cost")
    return _html(section) if section and section.table.rows else Markup()


def _all_rented(report: PlanReport) -> Iterator[Card]:
    for bought in report.purchases:
        yield _rented(bought, [d for d in report.deployments if offer_of(d) == bought.offer])


def _rented(bought: Purchase, deployments: Sequence[Deployment]) -> Card:
    """Instances of one offer, and whatever runs on them."""
    gpus = f"{bought.gpus}" + (f", {bought.idle_gpus} of them idle" if bought.idle_gpus else "")
    price, cost = f"${bought.price_usd_per_hour} an hour", money(bought.monthly_cost_usd)
    if not deployments:
        return Card(
            f"{bought.instances:,} × {bought.offer}", "nothing runs on it", cost, (("GPUs", gpus), ("price", price))
        )
    d = deployments[0]
    place = d.provider if d.region == EVERYWHERE else f"{d.provider}, {d.region}"
    term = "" if d.pricing_term == "on_demand" else f", {d.pricing_term.replace('_', ' ')}"
    facts = (("GPU", d.gpu), ("GPUs", gpus), ("price", f"{price}, of {d.provenance.price_as_of}"))
    return Card(
        f"{bought.instances:,} × {d.instance_type}", f"{place}{term}", cost, facts, tuple(map(_running, deployments))
    )


def _running(d: Deployment) -> tuple[str, tuple[tuple[str, str], ...]]:
    gpus = "a GPU" if d.gpus_per_replica == 1 else f"{d.gpus_per_replica} GPUs"
    return (
        f"{d.workload}{'' if d.pool == 'all' else f' {d.pool}'}",
        (
            ("model", f"{d.model}, {precisions_of(d)}"),
            ("engine", f"{d.engine} {d.engine_version}"),
            ("replicas", f"{d.replicas} on {gpus}{' each' if d.replicas > 1 else ''}"),
            ("load", f"{figure(d.requests_per_second)} of {figure(d.max_requests_per_second)} requests/s"),
            ("first token p95", f"{d.ttft_bound_ms['p95']:,.0f} ms"),
            ("each further, mean", f"{d.tpot_bound_ms['mean']:.1f} ms"),
        ),
    )


def _hosted(item: Hosted) -> Card:
    facts = (
        ("runs", f"{item.workload} {item.request_class}"),
        ("model", item.model),
        ("requests", f"{figure(item.requests_per_month)} a month"),
        ("price", f"${significant(item.usd_per_request)} a request, of {item.price_as_of}"),
    )
    return Card(f"{item.model} by the {item.paid_by}", item.provider, money(item.monthly_cost_usd), facts)


def _bill(report: PlanReport) -> Iterator[BillPart]:
    """What is paid for, as parts of one bar, those of nothing left out."""
    costs = report.costs
    if costs is None:
        return
    beside = (("for storage", costs.storage_usd), ("for data sent out", costs.egress_usd))
    apart = (("by the request or second", costs.serverless_usd), ("for the move, once", costs.migration_usd))
    uses = [(use, usd) for use, usd in (*paid_for(costs, report.confidence), *beside, *apart) if usd]
    total, start = sum((usd for _, usd in uses), Decimal(0)), 0.0
    for use, usd in uses:
        share = float(usd / total)
        yield BillPart(use, money(usd), percent(round(share, 3)), round(start, 2), round(share * 1000, 2))
        start += share * 1000


def _held(item: MeasuredRequirement) -> HeldLimit:
    """At most and at least differ in the sign of limit less value; only what is used up to a limit is drawn."""
    at_most = abs((item.limit - item.value) - item.slack) <= abs((item.value - item.limit) - item.slack)
    parts = (item.value, item.limit) if at_most else (item.limit, item.value)
    used = None if parts[1] <= 0 else round(min(max(parts[0] / parts[1], 0.0), 1.0) * 100, 2)
    return HeldLimit(item.text, item.binding, used)


def _census(report: PlanReport) -> Iterator[Failed]:
    """Every test that somebody failed, the commonest first."""
    failed, only = report.explanation.rejected.by_reason, report.explanation.rejected.only_reason
    names: Sequence[str] = sorted(failed, key=lambda name: (-failed[name], name))
    most = max(failed.values(), default=1)
    for name in names:
        sentence = CRITERIA[name].sentence if name in CRITERIA else name.replace("_", " ")
        shares = (failed[name] / most * 100, only.get(name, 0) / most * 100)
        yield Failed(sentence, f"{failed[name]:,}", f"{only.get(name, 0):,}", *(round(share, 2) for share in shares))

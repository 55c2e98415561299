"""A gate's verdict in words and tables: what broke it first, then what changed and what that comes from."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from optimizer.answers.gate.types import Cause, DeploymentChange, Gated, GateReport, Reason
from optimizer.report.gate.history import Remembered, course_of
from optimizer.report.layout.amounts import change, money
from optimizer.report.layout.columns import table_of
from optimizer.report.layout.elements import Section, Table, WrittenAnswer, with_content

UNKNOWN: Final = "no plan"


def gate_answer(report: GateReport, verdicts: Sequence[Remembered] = ()) -> WrittenAnswer:
    """The verdict for a terminal, a pipeline's log or a document; what a pull request shows is `gate_comment`.

    Args:
        report: What the gate says.
        verdicts: Of a history, this one included.
    """
    course = Section("Verdicts so far", table=course_of(verdicts))
    return WrittenAnswer((*_sections(report), *with_content([course])), verdict_line(report), "Cost gate")


def verdict_line(report: GateReport) -> str:
    """Kept or broken, with the month's cost and its change; or that there is no verdict, and why."""
    if report.verdict == "not_evaluated":
        count = len(report.reasons)
        return f"Gate not evaluated: {f'{count} problems' if count > 1 else 'a problem'} to mend first."
    return f"Gate {report.verdict}: {cost_line(report)}."


def where(reason: Reason) -> str:
    """The file and line of a reason; nothing where its words say it."""
    return f"{reason.file}:{reason.line}" if reason.line else ""


def cost_line(report: GateReport | Gated) -> str:
    """What the month costs and how that moved."""
    if report.after_usd is None:
        return "not every scenario has a plan" if isinstance(report, GateReport) else UNKNOWN
    cost = f"{money(report.after_usd)} a month"
    if report.before_usd is None or report.change_usd is None:
        return cost
    return f"{cost}, {_change(report)} from {money(report.before_usd)}"


def _sections(report: GateReport) -> Iterator[Section]:
    """Every part that has something to say."""
    if report.reasons:
        places = (f" ({place})" if (place := where(reason)) else "" for reason in report.reasons)
        lines = tuple(
            f"{reason.rule}: {reason.text}{place}" for reason, place in zip(report.reasons, places, strict=True)
        )
        yield Section("What breaks it" if report.scenarios else "What keeps it from being judged", lines)
    if report.warnings:
        warnings = tuple(f"{warned.rule}: {warned.text}" if warned.rule else warned.text for warned in report.warnings)
        yield Section("Warnings", warnings)
    notes = tuple(dict.fromkeys(note for gated in report.scenarios for note in gated.notes))
    if report.causes or notes:
        yield Section("What the difference comes from", notes, causes_table(report.causes))
    if len(report.scenarios) + len(report.removed) > 1:
        yield Section("Scenarios", table=scenarios_table(report))
    for gated in report.scenarios:
        if gated.edits:
            yield Section(f"Edits of {gated.scenario}", table=edits_table(gated))
        if gated.deployments:
            yield Section(f"What runs for {gated.scenario}", table=changes_table(gated))
    if report.scenarios:
        pinned = f"pinned to {report.pin}" if report.pin else ""
        yield Section("Held", (f"rules kept: {rules_kept(report)}", f"catalogs of {report.catalogs_as_of}", pinned))


def rules_kept(report: GateReport) -> str:
    """Names of those that are kept wherever they were judged, each once; of a file's rules their own."""
    states: defaultdict[str, set[str]] = defaultdict(set)
    for ruling in report.rules:
        states[ruling.guardrail or ruling.rule].add(ruling.state)
    return ", ".join(name for name, found in states.items() if "kept" in found <= {"kept", "skipped"}) or "none"


def causes_table(causes: Iterable[Cause]) -> Table:
    """Each cause with its share of the difference."""
    return table_of(
        causes,
        {
            "cause": lambda cause: " + ".join((cause.cause, *cause.together_with)),
            ">a month": "{change_usd:change}",
            ">share": _share,
            "what happened": "{text}",
        },
    )


def _share(cause: Cause) -> str:
    """Of the whole difference; below zero where it works against that."""
    share = cause.share_percent
    return "" if share is None else f"{'−' if share < 0 else ''}{abs(share):.0f} %"


def scenarios_table(report: GateReport) -> Table:
    """Before and after of every scenario, the removed ones last."""
    today = table_of(
        report.scenarios,
        {
            "scenario": "{scenario}",
            ">before": lambda gated: "new" if gated.new else money(gated.before_usd, unknown=""),
            ">after": lambda gated: money(gated.after_usd, unknown=UNKNOWN),
            ">change": _change,
            "outcome": "{outcome}",
        },
    )
    gone = ((each.scenario, money(each.before_usd), "removed", change(-each.before_usd), "") for each in report.removed)
    return Table(today.headings, (*today.rows, *gone))


def edits_table(gated: Gated) -> Table:
    """Fields of the scenario that someone changed."""
    return table_of(
        gated.edits,
        {
            "field": "{field}",
            "before": lambda edit: edit.before or "—",
            "after": lambda edit: edit.after or "—",
            ">line": "{line}",
        },
    )


def changes_table(gated: Gated) -> Table:
    """What runs: new, changed, gone and the same; the same without a sign."""
    signs = {"+": "+", "~": "~", "-": "−"} if gated.baseline is not None else {}
    return table_of(
        gated.deployments,
        {
            "": lambda moved: signs.get(moved.sign, ""),
            "what": "{what}",
            "where": "{where}",
            "how many": how_many,
            "at": paid_at,
            ">$/month": month,
        },
    )


def how_many(moved: DeploymentChange) -> str:
    """Before and after; once where nothing moved or one side has none."""
    return " → ".join(dict.fromkeys(filter(None, (moved.before, moved.after))))


def paid_at(moved: DeploymentChange) -> str:
    """Count times unit price before and after; once where neither moved."""
    return " → ".join(dict.fromkeys(filter(None, (moved.before_at, moved.after_at))))


def month(moved: DeploymentChange) -> str:
    """Cost before and after; once where it did not move."""
    amounts = dict.fromkeys(amount for amount in (moved.before_usd, moved.after_usd) if amount is not None)
    return " → ".join(f"{amount:,.2f}" for amount in amounts)


def _change(report: GateReport | Gated) -> str:
    """In US dollars, and in percent where there is something to compare with."""
    share = report.change_percent
    percent = "" if share is None else f" ({'−' if share < 0 else '+'}{abs(share):.1f} %)"
    return "" if report.change_usd is None else change(report.change_usd) + percent

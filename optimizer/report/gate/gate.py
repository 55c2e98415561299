"""A gate's verdict in words and tables: what broke it first, then what changed and what that comes from."""

from collections.abc import Iterator
from decimal import Decimal

from optimizer.answers.gate.types import Cause, DeploymentChange, Gated, GateReport
from optimizer.report.layout.elements import Section, Table, change, money
from optimizer.report.layout.markdown import answer_markdown
from optimizer.report.layout.text import answer_text

UNKNOWN = "no plan"


def gate_text(report: GateReport) -> str:
    """The verdict for a terminal or a pipeline's log."""
    return answer_text(verdict_line(report), gate_sections(report))


def gate_markdown(report: GateReport) -> str:
    """The verdict as a document; what a pull request shows is `gate_comment`."""
    return answer_markdown("Cost gate", verdict_line(report), gate_sections(report))


def verdict_line(report: GateReport) -> str:
    """Kept or broken, with the month's cost and its change."""
    return f"Gate {report.verdict}: {cost_line(report)}."


def cost_line(report: GateReport | Gated) -> str:
    """What the month costs and how that moved."""
    if report.after_usd is None:
        return "not every scenario has a plan" if isinstance(report, GateReport) else UNKNOWN
    cost = f"{money(report.after_usd)} a month"
    if report.before_usd is None or report.change_usd is None:
        return cost
    return f"{cost}, {change(report.change_usd)}{_percent(report.change_percent)} from {money(report.before_usd)}"


def gate_sections(report: GateReport) -> Iterator[Section]:
    """Every part that has something to say."""
    if report.reasons:
        lines = tuple(f"{reason.rule}: {reason.text} ({reason.file}:{reason.line})" for reason in report.reasons)
        yield Section("What breaks it", lines)
    if report.warnings:
        yield Section(
            "Warnings", tuple(f"{each.rule}: {each.text}" if each.rule else each.text for each in report.warnings)
        )
    if report.causes:
        yield Section("What the difference comes from", _notes(report), causes_table(report.causes))
    if len(report.scenarios) > 1:
        yield Section("Scenarios", (), scenarios_table(report))
    for gated in report.scenarios:
        if gated.edits:
            yield Section(f"Edits of {gated.scenario}", (), edits_table(gated))
        if gated.deployments:
            yield Section(f"What runs for {gated.scenario}", (), changes_table(gated))
    kept = tuple(dict.fromkeys(ruling.rule for ruling in report.rules if ruling.state == "kept"))
    pinned = (f"pinned to {report.pin}",) if report.pin else ()
    yield Section("Held", (f"rules kept: {', '.join(kept) or 'none'}", f"catalogs of {report.catalogs_as_of}", *pinned))


def causes_table(causes: list[Cause]) -> Table:
    """Each cause with its share of the difference."""
    rows = tuple(
        (" + ".join((each.cause, *each.together_with)), change(each.change_usd), share(each), each.text)
        for each in causes
    )
    return Table(("cause", ">a month", ">share", "what happened"), rows)


def scenarios_table(report: GateReport) -> Table:
    """Before and after of every scenario."""
    rows = tuple((each.scenario, *_before_after(each), each.outcome) for each in report.scenarios)
    return Table(("scenario", ">before", ">after", ">change", "outcome"), rows)


def edits_table(gated: Gated) -> Table:
    """Fields of the scenario that someone changed."""
    rows = tuple((each.field, each.before or "—", each.after or "—", str(each.line)) for each in gated.edits)
    return Table(("field", "before", "after", ">line"), rows)


def changes_table(gated: Gated) -> Table:
    """What runs: new, changed, gone and the same."""
    compared = gated.baseline is not None
    rows = tuple(_change(each, compared) for each in gated.deployments)
    return Table(("", "what", "where", "how many", ">$/month"), rows)


def sign(each: DeploymentChange) -> str:
    """`+`, `~`, `−`, and nothing for what stays the same."""
    return {"=": "", "-": "−"}.get(each.sign, each.sign)


def how_many(each: DeploymentChange) -> str:
    """Before and after; once where nothing moved or one side has none."""
    return (
        f"{each.before} → {each.after}"
        if each.before and each.after and each.before != each.after
        else (each.after or each.before)
    )


def month(each: DeploymentChange) -> str:
    """Cost before and after; once where it did not move."""
    was, now = each.before_usd, each.after_usd
    if was is None or now is None or was == now:
        return f"{now if now is not None else was:,.2f}"
    return f"{was:,.2f} → {now:,.2f}"


def share(cause: Cause) -> str:
    """Of the whole difference, in percent."""
    return "" if cause.share_percent is None else f"{cause.share_percent:.0f} %"


def usd(amount: Decimal | None) -> str:
    """Money, or a word where there is none."""
    return UNKNOWN if amount is None else money(amount)


def _before_after(each: Gated) -> tuple[str, str, str]:
    new = "" if each.change_usd is None else "new"
    before = new if each.before_usd is None else money(each.before_usd)
    moved = "" if each.change_usd is None else change(each.change_usd) + _percent(each.change_percent)
    return before, usd(each.after_usd), moved


def _percent(percent: float | None) -> str:
    return "" if percent is None else f" ({'−' if percent < 0 else '+'}{abs(percent):.1f} %)"


def _change(each: DeploymentChange, compared: bool) -> tuple[str, ...]:
    return sign(each) if compared else "", each.what, each.where, how_many(each), month(each)


def _notes(report: GateReport) -> tuple[str, ...]:
    return tuple(dict.fromkeys(note for each in report.scenarios for note in each.notes))

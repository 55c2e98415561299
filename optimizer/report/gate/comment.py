"""A gate's verdict as a comment on a pull request: before → after, what changed first, what did not in one line."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from optimizer.answers.gate.types import Gated, GateReport
from optimizer.report.gate.gate import (
    causes_table,
    changes_table,
    cost_line,
    edits_table,
    how_many,
    month,
    paid_at,
    rules_kept,
    scenarios_table,
    verdict_line,
    where,
)
from optimizer.report.layout.amounts import plural
from optimizer.report.layout.elements import Table
from optimizer.report.layout.markdown import code, escaped, table_markdown

MARKER: Final = "<!-- optimizer-gate -->"
"""First line of every comment, by which a bot finds the one to update."""
UNCHANGED: Final = "<!-- nothing changed -->"
"""Second line where the gate is kept and no cost moved, by which a bot may leave such a comment out."""
MOST_CHARACTERS: Final = 60_000
"""Of a comment: GitHub takes 65,536 and GitLab more."""
MOST_TOLD: Final = 30
"""Reasons, and warnings."""
MOST_CHARACTERS_TOLD: Final = 300
"""Of one of them; all of it is in the other forms."""
MOST_NAMED: Final = 100
"""Scenarios without a change."""


@dataclass(frozen=True)
class Comment:
    """What is posted, and what did not fit; both end in a newline, the same verdict gives the same bytes.

    Attributes:
        rest: For a file beside it; empty where all of it fits.
    """

    text: str
    rest: str


def gate_comment(report: GateReport, run_url: str = "", rest_file: str = "") -> Comment:
    """The comment, the scenarios whose cost moved most first.

    Args:
        report: What the gate says.
        run_url: Where the run can be looked at; empty where nobody said.
        rest_file: What the file is called that takes what does not fit.
    """
    head, foot = [*_head(report)], [*_foot(report, run_url)]
    changed = sorted((each for each in report.scenarios if moved(each)), key=_by_change)
    blocks = ["\n\n".join(_scenario(each)) for each in changed]
    room = MOST_CHARACTERS - sum(len(part) + 2 for part in (*head, *foot)) - 200
    shown: list[str] = []
    for block in blocks:
        room -= len(block) + 2
        if room < 0:
            break
        shown.append(block)
    rest = blocks[len(shown) :]
    if rest:
        count = f"{len(rest)} more changed {plural('scenario', len(rest))}"
        foot.insert(0, escaped(f"{count} did not fit: they are in {rest_file or 'the JSON of the run'}."))
    return Comment(_joined([*head, *shown, *foot]), _joined(rest) if rest else "")


def moved(gated: Gated) -> bool:
    """Whether a scenario is new, or its cost, its fields or what runs for it changed, or nobody knows."""
    same = gated.change_usd == 0 and not gated.edits and all(each.sign == "=" for each in gated.deployments)
    return not same or gated.new or gated.baseline is None


def _by_change(gated: Gated) -> tuple[Decimal, str]:
    return -abs(gated.change_usd or Decimal(0)), gated.scenario


def _joined(parts: Iterable[str]) -> str:
    return "\n\n".join(parts) + "\n"


def _head(report: GateReport) -> Iterator[str]:
    nothing = report.verdict == "kept" and report.change_usd == 0 and not any(map(moved, report.scenarios))
    yield f"{MARKER}\n{UNCHANGED}" if nothing else MARKER
    yield f"### {'✅' if report.verdict == 'kept' else '❌'} {escaped(verdict_line(report))}"
    if report.reasons:
        places = (f" ({code(place)})" if (place := where(reason)) else "" for reason in report.reasons)
        lines = (
            f"**{reason.rule}**: {escaped(_short(reason.text))}{place}"
            for reason, place in zip(report.reasons, places, strict=True)
        )
        yield _bullets(lines)
    if report.warnings:
        yield _bullets(f"⚠️ {escaped(_short(warned.text))}" for warned in report.warnings)
    if report.causes:
        yield table_markdown(causes_table(report.causes))
    several = len(report.scenarios) + len(report.removed) > 1
    if several and (any(map(moved, report.scenarios)) or report.removed):
        changed = report.model_copy(update={"scenarios": sorted(filter(moved, report.scenarios), key=_by_change)})
        table = scenarios_table(changed)
        yield table_markdown(Table(table.headings, table.rows[:MOST_NAMED]))
        if len(table.rows) > MOST_NAMED:
            yield f"{len(table.rows) - MOST_NAMED} more are not in this table."


def _short(text: str) -> str:
    return text if len(text) <= MOST_CHARACTERS_TOLD else f"{text[:MOST_CHARACTERS_TOLD]}…"


def _bullets(lines: Iterable[str]) -> str:
    """The first of many, each a bullet."""
    told = list(lines)
    more = [f"and {len(told) - MOST_TOLD} more"] if len(told) > MOST_TOLD else []
    return "\n".join(f"- {line}" for line in (*told[:MOST_TOLD], *more))


def _foot(report: GateReport, run_url: str) -> Iterator[str]:
    still = sorted(each.scenario for each in report.scenarios if not moved(each))
    if still:
        more = f" and {len(still) - MOST_NAMED} more" if len(still) > MOST_NAMED else ""
        names = f"{', '.join(still[:MOST_NAMED])}{more}"
        summary = f"{len(still)} {plural('scenario', len(still))} unchanged"
        yield f"<details><summary>{summary}</summary>{escaped(names)}</details>"
    notes = dict.fromkeys(note for gated in report.scenarios for note in gated.notes)
    if notes:
        yield _bullets(map(escaped, notes))
    link = f"[run]({run_url})" if run_url else ""
    if not report.scenarios:
        if link:
            yield f"<sub>{link}</sub>"
        return
    pinned = f"pinned to {code(report.pin)}" if report.pin else ""
    held = f"Rules kept: {rules_kept(report)}", f"catalogs of {report.catalogs_as_of}", pinned, link
    yield f"<sub>{' · '.join(filter(None, held))}</sub>"


def _scenario(gated: Gated) -> Iterator[str]:
    """What moved in a `diff` block, which colours `+` and `-`; all that runs, folded."""
    changes = [moved for moved in gated.deployments if moved.sign != "="]
    if gated.baseline is not None and changes:
        lines = (
            f"{moved.sign} {moved.what}, {moved.where}: "
            f"{', '.join(filter(None, (how_many(moved), paid_at(moved))))}, {month(moved)} USD"
            for moved in changes
        )
        yield "\n".join(("```diff", *(" ".join(line.splitlines()).replace("```", "") for line in lines), "```"))
    if gated.edits:
        yield table_markdown(edits_table(gated))
    if gated.deployments:
        yield _folded(f"{gated.scenario}: {cost_line(gated)}", changes_table(gated))
    elif gated.outcome == "infeasible":
        yield escaped(f"{gated.scenario}: {cost_line(gated)}")


def _folded(summary: str, table: Table) -> str:
    """GitHub and GitLab both need the blank lines around Markdown inside HTML."""
    return f"<details><summary>{escaped(summary)}</summary>\n\n{table_markdown(table)}\n\n</details>"

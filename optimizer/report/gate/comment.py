"""A gate's verdict as a comment on a pull request: before → after, what changed first, what did not in one line."""

from collections.abc import Iterable, Iterator, Sequence
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
from optimizer.report.gate.history import Remembered, course_of
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
"""Of one of them, and of what a cause says; all of it is in the other forms."""
MOST_CHARACTERS_BELOW: Final = 8_000
"""Of the names of scenarios without a change, and of all notes together."""
RESERVED: Final = 400
"""Characters for sentences that say how much more there is."""
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


def gate_comment(
    report: GateReport, run_url: str = "", rest_file: str = "", verdicts: Sequence[Remembered] = ()
) -> Comment:
    """The comment, the scenarios whose cost moved most first.

    Args:
        report: What the gate says.
        run_url: Where the run can be looked at; empty where nobody said.
        rest_file: What the file is called that takes what does not fit.
        verdicts: Of a history, this one included.
    """
    foot = [*_foot(report, run_url, verdicts)]
    head = [*_head(report, _left(MOST_CHARACTERS - RESERVED, foot))]
    changed = sorted((each for each in report.scenarios if moved(each)), key=_by_change)
    blocks = ["\n\n".join(_scenario(each)) for each in changed]
    room = _left(MOST_CHARACTERS - RESERVED, (*head, *foot))
    shown = [*_fitting(blocks, room)]
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


def _left(room: int, parts: Iterable[str]) -> int:
    """Characters that parts leave, the empty lines between them counted."""
    return room - sum(len(part) + 2 for part in parts)


def _head(report: GateReport, room: int) -> list[str]:
    """The verdict and all that is about several scenarios, each part as far as those before it leave room."""
    nothing = report.verdict == "kept" and report.change_usd == 0 and not any(map(moved, report.scenarios))
    head = [
        f"{MARKER}\n{UNCHANGED}" if nothing else MARKER,
        f"### {'✅' if report.verdict == 'kept' else '❌'} {escaped(verdict_line(report))}",
    ]
    places = (f" ({code(place)})" if (place := where(reason)) else "" for reason in report.reasons)
    reasons = [
        f"**{reason.rule}**: {escaped(_short(reason.text))}{place}"
        for reason, place in zip(report.reasons, places, strict=True)
    ]
    warnings = [f"⚠️ {escaped(_short(warned.text))}" for warned in report.warnings]
    for lines in filter(None, (reasons, warnings)):
        head.append(_bullets(lines, _left(room, head)))
    if report.causes:
        causes = (each.model_copy(update={"text": _short(each.text)}) for each in report.causes)
        head += _rows(causes_table(causes), _left(room, head))
    several = len(report.scenarios) + len(report.removed) > 1
    if several and (any(map(moved, report.scenarios)) or report.removed):
        changed = report.model_copy(update={"scenarios": sorted(filter(moved, report.scenarios), key=_by_change)})
        head += _rows(scenarios_table(changed), _left(room, head))
    return head


def _short(text: str) -> str:
    return text if len(text) <= MOST_CHARACTERS_TOLD else f"{text[:MOST_CHARACTERS_TOLD]}…"


def _fitting(texts: Iterable[str], room: int) -> Iterator[str]:
    """The first texts that fit, each with two characters beside it; to be asked once they are escaped."""
    for text in texts:
        room -= len(text) + 2
        if room < 0:
            return
        yield text


def _bullets(lines: Sequence[str], room: int) -> str:
    """The first of many, each a bullet."""
    told = [*_fitting((f"- {line}" for line in lines[:MOST_TOLD]), room)]
    more = [f"- and {len(lines) - len(told)} more"] if len(lines) > len(told) else []
    return "\n".join((*told, *more))


def _rows(table: Table, room: int) -> Iterator[str]:
    """The first rows of a table, and how many more there are."""
    heading, *rows = (table_markdown(Table(table.headings, rows)) for rows in ((), *((row,) for row in table.rows)))
    told = [*_fitting((row.removeprefix(heading) for row in rows[:MOST_NAMED]), room - len(heading))]
    if told:
        yield heading + "".join(told)
    if len(rows) > len(told):
        yield f"{len(rows) - len(told)} more are not in this table."


def _foot(report: GateReport, run_url: str, verdicts: Sequence[Remembered]) -> Iterator[str]:
    still = sorted(each.scenario for each in report.scenarios if not moved(each))
    if still:
        told = [*_fitting(map(escaped, still[:MOST_NAMED]), MOST_CHARACTERS_BELOW)]
        more = f" and {len(still) - len(told)} more" if len(still) > len(told) else ""
        summary = f"{len(still)} {plural('scenario', len(still))} unchanged"
        yield f"<details><summary>{summary}</summary>{', '.join(told)}{more}</details>"
    notes = dict.fromkeys(note for gated in report.scenarios for note in gated.notes)
    if notes:
        yield _bullets([*map(escaped, notes)], MOST_CHARACTERS_BELOW)
    if verdicts:
        yield _folded("Verdicts so far", course_of(verdicts))
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

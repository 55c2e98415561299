"""A gate's verdict as a comment on a pull request: before → after, the plans' difference, the rest folded away."""

from collections.abc import Iterator
from typing import Final

from optimizer.answers.gate.types import Gated, GateReport
from optimizer.report.gate.gate import (
    causes_table,
    changes_table,
    cost_line,
    edits_table,
    how_many,
    month,
    rules_kept,
    scenarios_table,
    verdict_line,
    where,
)
from optimizer.report.layout.elements import Table
from optimizer.report.layout.markdown import code, escaped, table_markdown

MARKER: Final = "<!-- optimizer-gate -->"
"""First line of every comment, by which a bot finds the one to update."""


def gate_comment(report: GateReport) -> str:
    """The comment, ending in a newline; the same verdict gives the same bytes."""
    return "\n\n".join(_parts(report)) + "\n"


def _parts(report: GateReport) -> Iterator[str]:
    yield MARKER
    yield f"### {'✅' if report.verdict == 'kept' else '❌'} {escaped(verdict_line(report))}"
    if report.reasons:
        yield "\n".join(
            f"- **{reason.rule}**: {escaped(reason.text)}{f' ({code(place)})' if (place := where(reason)) else ''}"
            for reason in report.reasons
        )
    if report.warnings:
        yield "\n".join(f"- ⚠️ {escaped(warned.text)}" for warned in report.warnings)
    if report.causes:
        yield table_markdown(causes_table(report.causes))
    if len(report.scenarios) + len(report.removed) > 1:
        yield table_markdown(scenarios_table(report))
    for gated in report.scenarios:
        yield from _scenario(gated)
    if not report.scenarios:
        return
    pinned = f" · pinned to {code(report.pin)}" if report.pin else ""
    yield f"<sub>Rules kept: {rules_kept(report)} · catalogs of {report.catalogs_as_of}{pinned}</sub>"


def _scenario(gated: Gated) -> Iterator[str]:
    """What moved in a `diff` block, which colours `+` and `-`; all that runs, folded."""
    changes = [moved for moved in gated.deployments if moved.sign != "="]
    if gated.baseline is not None and changes:
        lines = (
            f"{moved.sign} {moved.what}, {moved.where}: {how_many(moved)}, {month(moved)} USD" for moved in changes
        )
        yield "\n".join(("```diff", *(" ".join(line.splitlines()).replace("```", "") for line in lines), "```"))
    if gated.edits:
        yield table_markdown(edits_table(gated))
    if gated.notes:
        yield "\n".join(f"- {escaped(note)}" for note in gated.notes)
    if gated.deployments:
        yield _folded(f"{gated.scenario}: {cost_line(gated)}", changes_table(gated))


def _folded(summary: str, table: Table) -> str:
    """GitHub and GitLab both need the blank lines around Markdown inside HTML."""
    return f"<details><summary>{escaped(summary)}</summary>\n\n{table_markdown(table)}\n\n</details>"

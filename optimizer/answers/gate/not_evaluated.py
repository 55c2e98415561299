"""The answer of a gate that could not judge: what is to be mended, in every form that a verdict has."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from optimizer.answers.gate.types import GateReport, Reason, Ruling
from optimizer.base.errors import Finding


def not_evaluated(findings: Sequence[Finding], place: str) -> GateReport:
    """A report without a verdict, so that no verdict of before is taken for one of today.

    Args:
        findings: What keeps the gate from judging, at least one.
        place: A scenario as named: where to show what is wrong with no file, such as an option.
    """
    return GateReport(
        verdict="not_evaluated",
        reasons=[_reason(finding, place) for finding in findings],
        before_usd=None,
        after_usd=None,
        change_usd=None,
        change_percent=None,
        causes=[],
        warnings=[],
        rules=[Ruling(rule="not_evaluated", scenario=None, state="broken", text="\n".join(map(str, findings)))],
        scenarios=[],
        catalogs_as_of="",
        pin=None,
    )


def _reason(finding: Finding, place: str) -> Reason:
    """At its line where it has one; else its words say where."""
    words = str(replace(finding, file="", line=0)).removeprefix(":").strip() if finding.line else str(finding)
    file = finding.file if finding.line or Path(finding.file).is_file() else place
    return Reason(rule="not_evaluated", limit=None, value=None, text=words, scenario=None, file=file, line=finding.line)

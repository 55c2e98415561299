"""A gate's verdict as JUnit XML, which every pipeline shows as tests: one suite a scenario, one case a rule."""

from collections import Counter
from collections.abc import Sequence
from typing import Final
from xml.etree import ElementTree as ET

from optimizer.answers.gate.types import GateReport, Ruling
from optimizer.report.layout.junit import junit_document

TOGETHER: Final = "all scenarios"
NO_VERDICT: Final = "not_evaluated"
"""An error, not a failure: nothing was judged."""


def gate_junit(report: GateReport) -> str:
    """The document, ending in a newline; a rule that only warns passes and says so, one not judged is skipped."""
    groups: dict[str, list[Ruling]] = {}
    for ruling in report.rules:
        groups.setdefault(ruling.scenario or TOGETHER, []).append(ruling)
    # the schema that Jenkins validates against counts what was skipped by the suite only
    counts = {name: count for name, count in _counts(report.rules).items() if name != "skipped"}
    root = ET.Element("testsuites", {"name": "optimizer gate", **counts})
    for name, rulings in groups.items():
        suite = ET.SubElement(root, "testsuite", {"name": name, **_counts(rulings)})
        for ruling in rulings:
            _case(suite, name, ruling)
    return junit_document(root)


def _case(suite: ET.Element, group: str, ruling: Ruling) -> None:
    case = ET.SubElement(suite, "testcase", {"classname": group, "name": _name(ruling), "time": "0"})
    if ruling.state == "broken":
        outcome = "error" if ruling.rule == NO_VERDICT else "failure"
        ET.SubElement(case, outcome, {"type": ruling.rule, "message": ruling.text}).text = ruling.text
    elif ruling.state == "skipped":
        ET.SubElement(case, "skipped", {"message": ruling.text})
    elif ruling.state == "warned":
        ET.SubElement(case, "system-out").text = f"warning: {ruling.text}"


def _name(ruling: Ruling) -> str:
    return f"{ruling.guardrail}: {ruling.rule}" if ruling.guardrail else ruling.rule


def _counts(rulings: Sequence[Ruling]) -> dict[str, str]:
    ended = Counter("error" if each.rule == NO_VERDICT else each.state for each in rulings)
    counts = {"failures": ended["broken"], "errors": ended["error"], "skipped": ended["skipped"]}
    return {"tests": str(len(rulings)), **{name: str(count) for name, count in counts.items()}, "time": "0"}

"""A gate's verdict as JUnit XML, which every pipeline shows as tests: one suite a scenario, one case a rule."""

from collections.abc import Sequence
from xml.etree import ElementTree as ET

from optimizer.answers.gate.types import GateReport, Ruling

TOGETHER = "all scenarios"


def gate_junit(report: GateReport) -> str:
    """The document, ending in a newline; a rule that only warns passes and says so in its output."""
    groups: dict[str, list[Ruling]] = {}
    for ruling in report.rules:
        groups.setdefault(ruling.scenario or TOGETHER, []).append(ruling)
    root = ET.Element("testsuites", {"name": "optimizer gate", **_counts(report.rules)})
    for name, rulings in groups.items():
        suite = ET.SubElement(root, "testsuite", {"name": name, **_counts(rulings)})
        for ruling in rulings:
            _case(suite, name, ruling)
    ET.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(root, encoding="unicode")}\n'


def _case(suite: ET.Element, group: str, ruling: Ruling) -> None:
    case = ET.SubElement(suite, "testcase", {"classname": group, "name": ruling.rule, "time": "0"})
    if ruling.state == "broken":
        failure = ET.SubElement(case, "failure", {"type": ruling.rule, "message": ruling.text})
        failure.text = ruling.text
    elif ruling.state == "warned":
        ET.SubElement(case, "system-out").text = f"warning: {ruling.text}"


def _counts(rulings: Sequence[Ruling]) -> dict[str, str]:
    broken = sum(ruling.state == "broken" for ruling in rulings)
    return {"tests": str(len(rulings)), "failures": str(broken), "errors": "0", "skipped": "0", "time": "0"}

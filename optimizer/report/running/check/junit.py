"""A verdict as JUnit XML, which every pipeline shows as tests: one suite a deployment, one case a promise."""

from collections.abc import Sequence
from xml.etree import ElementTree as ET

from optimizer.answers.running.check.types import CheckedPromise, CheckReport
from optimizer.report.layout.junit import junit_document
from optimizer.report.running.check.check import promise_name


def check_junit(found: CheckReport) -> str:
    """The document, ending in a newline: broken promises fail, undecided ones are skipped, unfit runs are errors."""
    unfit = [run for run in found.runs if not run.fit]
    # the schema that Jenkins validates against counts what was skipped by the suite only
    counts = {name: count for name, count in _counts(found.promises, errors=len(unfit)).items() if name != "skipped"}
    root = ET.Element("testsuites", {"name": "optimizer check", **counts})
    for deployment in dict.fromkeys(promise.deployment for promise in found.promises):
        mine = [promise for promise in found.promises if promise.deployment == deployment]
        suite = ET.SubElement(root, "testsuite", {"name": deployment, **_counts(mine)})
        for promise in mine:
            _case(suite, promise)
    if unfit:
        suite = ET.SubElement(root, "testsuite", {"name": "runs that do not count", **_counts([], errors=len(unfit))})
        for run in unfit:
            name = f"{run.file} {run.place}".strip()
            case = ET.SubElement(suite, "testcase", {"classname": "runs", "name": name, "time": "0"})
            ET.SubElement(case, "error", {"message": run.reasons[0]}).text = "\n".join(run.reasons)
    return junit_document(root)


def _case(suite: ET.Element, promise: CheckedPromise) -> None:
    name = promise_name(promise)
    case = ET.SubElement(suite, "testcase", {"classname": promise.deployment, "name": name, "time": "0"})
    element = {"broken": "failure", "unfit": "error", "undecided": "skipped"}.get(promise.verdict)
    if element is not None:
        ET.SubElement(case, element, {"message": promise.text}).text = promise.text


def _counts(promises: Sequence[CheckedPromise], errors: int = 0) -> dict[str, str]:
    verdicts = [promise.verdict for promise in promises]
    return {
        "tests": str(len(verdicts) + errors),
        "failures": str(verdicts.count("broken")),
        "errors": str(verdicts.count("unfit") + errors),
        "skipped": str(verdicts.count("undecided")),
        "time": "0",
    }

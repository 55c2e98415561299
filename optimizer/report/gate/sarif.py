"""A gate's verdict as SARIF 2.1.0, which code hosts show at the line that caused it."""

import hashlib
import re
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from optimizer.answers.gate.types import RULES, GateReport, Reason, Rule, Warned
from optimizer.base.version import VERSION
from optimizer.report.export import as_json

SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"
RULE_NAMES: Final = tuple(RULES)


def gate_sarif(report: GateReport) -> str:
    """The log, ending in a newline: an error for each reason, a warning for each rule that was let through."""
    results = [_result(reason, reason.rule, "error") for reason in report.reasons]
    results += [_result(warned, warned.rule, "warning") for warned in report.warnings if warned.rule]
    driver = {
        "name": "optimizer gate",
        "version": VERSION,
        "rules": [{"id": rule, "shortDescription": {"text": text}} for rule, text in RULES.items()],
    }
    invocation = {"executionSuccessful": report.verdict != "not_evaluated"}
    run = {
        "tool": {"driver": driver},
        "invocations": [invocation],
        "columnKind": "unicodeCodePoints",
        "results": results,
    }
    return as_json({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]})


def _result(remark: Reason | Warned, rule: Rule, level: str) -> dict[str, Any]:
    """One result; its fingerprint is that of what is demanded of whom, so that it is one alert while figures move."""
    identity = hashlib.sha256(f"{rule}{remark.guardrail}\n{remark.scenario or ''}\n{remark.file}".encode()).hexdigest()
    place = {"artifactLocation": {"uri": _uri(remark.file)}, "region": {"startLine": max(remark.line, 1)}}
    return {
        "ruleId": rule,
        "ruleIndex": RULE_NAMES.index(rule),
        "level": level,
        "message": {"text": _plain(remark.text)},
        "locations": [{"physicalLocation": place}],
        "partialFingerprints": {"demand/v1": identity},
    }


def _plain(text: str) -> str:
    """A message without links: square brackets make one in SARIF (3.11.6) unless a backslash stands before them."""
    return re.sub(r"([\\\[\]])", r"\\\1", text)


def _uri(file: str) -> str:
    """Relative files stay relative to the repository's root, as code hosts want them."""
    path = Path(file)
    return path.as_uri() if path.is_absolute() else quote(path.as_posix())

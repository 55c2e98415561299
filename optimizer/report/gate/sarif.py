"""A gate's verdict as SARIF 2.1.0, which code hosts show at the scenario's line."""

import hashlib
import json
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from optimizer.answers.gate.types import RULES, GateReport, Reason, Rule, Warned
from optimizer.base.version import VERSION

SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"
RULE_NAMES: Final = tuple(RULES)


def gate_sarif(report: GateReport) -> str:
    """The log, ending in a newline: an error for each reason, a warning for each rule that was let through."""
    files = {each.scenario: each.file for each in report.scenarios}
    results = [_error(reason) for reason in report.reasons]
    first = report.scenarios[0].file
    results += [
        _warning(each, each.rule, files.get(each.scenario or "", first)) for each in report.warnings if each.rule
    ]
    driver = {
        "name": "optimizer gate",
        "version": VERSION,
        "rules": [{"id": rule, "shortDescription": {"text": text}} for rule, text in RULES.items()],
    }
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2, ensure_ascii=False) + "\n"


def _error(reason: Reason) -> dict[str, Any]:
    return _result(reason.rule, "error", reason.text, reason.file, reason.line, reason.scenario)


def _warning(warned: Warned, rule: Rule, file: str) -> dict[str, Any]:
    return _result(rule, "warning", warned.text, file, 1, warned.scenario)


def _result(rule: Rule, level: str, text: str, file: str, line: int, scenario: str | None) -> dict[str, Any]:
    """One result; its fingerprint is that of what is demanded of whom, so that it is one alert while figures move."""
    identity = hashlib.sha256(f"{rule}\n{scenario or ''}\n{file}".encode()).hexdigest()
    place = {"artifactLocation": {"uri": _uri(file)}, "region": {"startLine": max(line, 1)}}
    return {
        "ruleId": rule,
        "ruleIndex": RULE_NAMES.index(rule),
        "level": level,
        "message": {"text": text},
        "locations": [{"physicalLocation": place}],
        "partialFingerprints": {"demand/v1": identity},
    }


def _uri(file: str) -> str:
    """Relative files stay relative to the repository's root, as code hosts want them."""
    path = Path(file)
    return path.as_uri() if path.is_absolute() else quote(path.as_posix())

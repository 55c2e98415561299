"""What pipelines read of a verdict is what their formats ask for: JUnit, SARIF 2.1.0, a comment, JSON, text."""

import json
from decimal import Decimal
from xml.etree import ElementTree as ET

import pytest
from markdown_it import MarkdownIt
from support.gate_cases import baseline, scenario, world

from optimizer.answers.gate.gate import gate
from optimizer.answers.gate.rules.demands import GateLimits
from optimizer.answers.gate.types import RULES, GateReport
from optimizer.inputs.catalog.records import Catalogs
from optimizer.report.export import as_json
from optimizer.report.gate.comment import MARKER, gate_comment
from optimizer.report.gate.gate import gate_answer
from optimizer.report.gate.junit import gate_junit
from optimizer.report.gate.sarif import gate_sarif
from optimizer.report.layout.markdown import answer_markdown
from optimizer.report.layout.text import answer_text


@pytest.fixture(scope="module")
def report(catalogs: Catalogs, tmp_path_factory: pytest.TempPathFactory) -> GateReport:
    """Two scenarios, one edited and one unchanged; a budget that breaks and an increase that only warns."""
    folder = tmp_path_factory.mktemp("gate")
    small = world(catalogs, l4="0.50", l40s="1.50")
    before = [baseline(scenario(folder, name, rate), small) for name, rate in (("one", 2), ("two", 2))]
    files = [scenario(folder, "one", 30), scenario(folder, "two", 2)]
    dearer = world(catalogs, l4="0.55", l40s="1.50")
    limits = GateLimits(
        max_monthly_usd=Decimal(500), max_increase_percent=Decimal(1), warn_only=("max_increase_percent",)
    )
    return gate(files, dearer, limits, before)


def test_the_report_breaks_and_warns(report: GateReport) -> None:
    assert [reason.rule for reason in report.reasons] == ["max_monthly_usd"]
    assert "max_increase_percent" in [each.rule for each in report.warnings]
    assert [len(each.edits) for each in report.scenarios] == [1, 0]


def test_junit_counts_and_nests_as_runners_expect(report: GateReport) -> None:
    root = ET.fromstring(gate_junit(report))
    assert root.tag == "testsuites"
    suites = root.findall("testsuite")
    assert [suite.get("name") for suite in suites] == ["all scenarios", "one", "two"]
    for suite in (root, *suites):
        assert int(suite.get("tests", "")) == len(list(suite.iter("testcase")))
        assert int(suite.get("failures", "")) == len(list(suite.iter("failure")))
        assert (suite.get("errors"), suite.get("skipped")) == ("0", "0")
        assert float(suite.get("time", "")) == 0
    for suite in suites:
        names = [(case.get("classname"), case.get("name")) for case in suite.findall("testcase")]
        assert len(names) == len(set(names))
        for case in suite:
            assert {child.tag for child in case} <= {"failure", "system-out"}
            assert all(failure.get("message") and failure.get("type") for failure in case.findall("failure"))
    (failure,) = root.iter("failure")
    assert failure.get("type") == "max_monthly_usd"


def test_sarif_has_what_the_standard_requires(report: GateReport) -> None:
    log = json.loads(gate_sarif(report))
    assert (log["version"], log["$schema"]) == ("2.1.0", "https://json.schemastore.org/sarif-2.1.0.json")
    (run,) = log["runs"]
    driver = run["tool"]["driver"]
    assert driver["name"]
    assert [rule["id"] for rule in driver["rules"]] == list(RULES)
    assert all(rule["shortDescription"]["text"] for rule in driver["rules"])
    assert [result["level"] for result in run["results"]] == ["error", "warning"]
    for result in run["results"]:
        assert driver["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["message"]["text"]
        (location,) = result["locations"]
        place = location["physicalLocation"]
        assert place["artifactLocation"]["uri"].endswith("/one.yaml")
        assert place["region"]["startLine"] >= 1
        assert all(isinstance(value, str) for value in result["partialFingerprints"].values())
    assert run["results"][0]["locations"][0]["physicalLocation"]["region"]["startLine"] == 5


def test_relative_paths_stay_relative_and_are_escaped(report: GateReport) -> None:
    reason = report.reasons[0].model_copy(update={"file": "my scenarios/one.yaml"})
    log = json.loads(gate_sarif(report.model_copy(update={"reasons": [reason]})))
    place = log["runs"][0]["results"][0]["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "my%20scenarios/one.yaml"


def test_the_comment_renders_and_starts_with_its_marker(report: GateReport) -> None:
    text = gate_comment(report)
    assert text.splitlines()[0] == MARKER
    assert text == gate_comment(report)
    page = MarkdownIt("commonmark", {"html": True}).enable("table").render(text)
    assert page.count("<table>") == page.count("</table>") == 5
    assert page.count("<details>") == page.count("</details>") == 2
    assert 'class="language-diff"' in page
    assert "~ chat: llama-3.1-8b" in page
    assert "<h3>❌ Gate broken: " in page


def test_texts_answer_first_and_fit(report: GateReport) -> None:
    text = answer_text(gate_answer(report))
    assert text.startswith("Gate broken: $")
    lines = text.splitlines()
    assert max(map(len, lines)) <= 120
    assert len(lines) <= 62
    assert answer_markdown(gate_answer(report)).startswith("# Cost gate\n\nGate broken: ")


def test_json_has_the_published_fields_and_survives_a_round_trip(report: GateReport) -> None:
    content = json.loads(as_json(report))
    published = ["verdict", "reasons", "before_usd", "after_usd", "change_usd", "change_percent", "causes"]
    assert list(content)[: len(published)] == published
    assert set(content["reasons"][0]) >= {"rule", "limit", "value", "text"}
    assert content["reasons"][0]["limit"] == "500.00"
    assert sum(Decimal(cause["change_usd"]) for cause in content["causes"]) == Decimal(content["change_usd"])
    assert as_json(GateReport.model_validate(content)) == as_json(report)

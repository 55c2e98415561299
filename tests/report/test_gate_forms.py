"""What pipelines read of a verdict is what their formats ask for: JUnit, SARIF 2.1.0, a comment, JSON, text."""

import csv
import io
import json
import re
from decimal import Decimal
from typing import Literal
from xml.etree import ElementTree as ET

import pytest
from markdown_it import MarkdownIt
from support.gate_cases import baseline, scenario, world

from optimizer.answers.gate.gate import gate
from optimizer.answers.gate.rules.demands import GateLimits
from optimizer.answers.gate.types import RULES, GateReport, Rule, Ruling
from optimizer.base.errors import InputError
from optimizer.inputs.catalog.records import Catalogs
from optimizer.report.export import as_json
from optimizer.report.gate.comment import MARKER, UNCHANGED, gate_comment
from optimizer.report.gate.gate import gate_answer, rules_kept
from optimizer.report.gate.history import appended, course_of, verdicts_in
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
    files = [scenario(folder, "one", 26), scenario(folder, "two", 2)]
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
        assert suite.get("errors") == "0"
        assert suite.get("skipped") == (None if suite is root else "0")
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
    text = gate_comment(report).text
    assert text.splitlines()[0] == MARKER
    assert text == gate_comment(report).text
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


def test_a_rule_that_one_scenario_breaks_or_only_warns_of_is_not_told_as_kept(report: GateReport) -> None:
    """`odd_price` is judged for each scenario; it was told as kept since one of them kept it."""
    states: list[tuple[Rule, Literal["kept", "broken", "warned", "skipped"]]] = [
        *(("odd_price", state) for state in ("kept", "warned")),
        *(("expired_price", state) for state in ("broken", "kept")),
        *(("zero_price", state) for state in ("kept", "skipped")),
    ]
    rules = [Ruling(rule=rule, scenario=f"{n}", state=state, text="") for n, (rule, state) in enumerate(states)]
    assert rules_kept(report.model_copy(update={"rules": rules})) == "zero_price"
    assert rules_kept(report.model_copy(update={"rules": rules[:2]})) == "none"


def test_json_has_the_published_fields_and_survives_a_round_trip(report: GateReport) -> None:
    content = json.loads(as_json(report))
    published = ["verdict", "reasons", "before_usd", "after_usd", "change_usd", "change_percent", "causes"]
    assert list(content)[: len(published)] == published
    assert set(content["reasons"][0]) >= {"rule", "limit", "value", "text"}
    assert content["reasons"][0]["limit"] == "500.00"
    assert sum(Decimal(cause["change_usd"]) for cause in content["causes"]) == Decimal(content["change_usd"])
    assert as_json(GateReport.model_validate(content)) == as_json(report)


SCHEMA_OF_JENKINS = {
    "testsuites": {"name", "time", "tests", "failures", "errors"},
    "testsuite": {"name", "tests", "failures", "errors", "time", "skipped"},
    "testcase": {"name", "time", "classname"},
    "failure": {"type", "message"},
    "error": {"type", "message"},
    "skipped": {"type", "message"},
    "system-out": set(),
}
"""Elements of junit-10.xsd (jenkinsci/xunit-plugin) and their attributes, as far as a gate writes them."""


@pytest.mark.parametrize("rule", ["max_monthly_usd", "not_evaluated"])
def test_junit_has_no_attribute_that_its_schema_lacks(rule: Rule, report: GateReport) -> None:
    states: list[Literal["broken", "warned", "skipped", "kept"]] = ["broken", "warned", "skipped", "kept"]
    rulings = [Ruling(rule=rule, scenario=None, state=state, text="…", guardrail="") for state in states]
    root = ET.fromstring(gate_junit(report.model_copy(update={"rules": rulings})))
    assert {each.tag for each in root.iter()} <= SCHEMA_OF_JENKINS.keys()
    assert all(set(each.attrib) <= SCHEMA_OF_JENKINS[each.tag] for each in root.iter())
    for suite in root:
        assert {"name", "tests", "failures", "errors"} <= set(suite.attrib)


def many(report: GateReport, count: int, *, changed: bool) -> GateReport:
    """The same with that many scenarios like the first, or like one that did not change."""
    first = report.scenarios[0]
    still = [each.model_copy(update={"sign": "="}) for each in first.deployments]
    update = {} if changed else {"change_usd": Decimal(0), "edits": [], "deployments": still, "notes": []}
    some = [first.model_copy(update={"scenario": f"s{number:03}-{'x' * 60}", **update}) for number in range(count)]
    return report.model_copy(update={"scenarios": [*some, first]})


def test_what_changed_comes_first_and_the_rest_is_one_line(report: GateReport) -> None:
    text = gate_comment(many(report, 12, changed=False)).text
    line = next(line for line in text.splitlines() if "12 scenarios unchanged" in line)
    assert line.startswith("<details><summary>")
    assert "s011-" in line
    assert text.index("one: $") < text.index("12 scenarios unchanged")
    assert UNCHANGED not in text


def test_a_comment_fits_and_the_rest_goes_into_a_file(report: GateReport) -> None:
    reasons = [report.reasons[0].model_copy(update={"text": "long " * 400})] * 200
    crowded = many(report, 400, changed=True).model_copy(update={"reasons": reasons})
    comment = gate_comment(crowded, "https://example.org/run/1", "comment.rest.md")
    assert len(comment.text) < 60_000
    assert "they are in comment.rest.md" in comment.text
    assert comment.text.count("</details>") + comment.rest.count("</details>") == 401
    assert "[run](https://example.org/run/1)" in comment.text
    assert gate_comment(report).rest == ""


@pytest.mark.parametrize("text", ["#1" * 400, "@a " * 400, "`|" * 400])
def test_a_comment_fits_whatever_its_head_would_say(text: str, report: GateReport) -> None:
    """Escaped signs are several characters."""
    long = {"text": text}
    told = {
        "reasons": [report.reasons[0].model_copy(update={**long, "file": "x" * 4000})] * 200,
        "warnings": [report.warnings[0].model_copy(update=long)] * 200,
        "causes": [report.causes[0].model_copy(update={"text": text * 100})] * 5,
    }
    crowded = many(many(report, 400, changed=False), 400, changed=True)
    still = [each.model_copy(update={"notes": [text * 50]}) for each in many(report, 400, changed=False).scenarios]
    crowded = crowded.model_copy(update={**told, "scenarios": [*crowded.scenarios, *still]})
    comment = gate_comment(crowded, "https://example.org/run/1", "comment.rest.md").text
    assert len(comment) < 60_000
    assert "- **max_monthly_usd**: " in comment
    assert "[run](https://example.org/run/1)" in comment
    assert "they are in comment.rest.md" in comment


def test_a_comment_says_by_a_mark_that_nothing_changed(report: GateReport) -> None:
    kept = many(report, 2, changed=False)
    same = {"scenarios": kept.scenarios[:2], "verdict": "kept", "change_usd": Decimal(0)}
    assert gate_comment(kept.model_copy(update=same)).text.startswith(f"{MARKER}\n{UNCHANGED}\n")


def test_the_difference_shows_count_times_unit_price(report: GateReport) -> None:
    line, *_ = (line for line in gate_comment(report).text.splitlines() if line.startswith("~ chat"))
    moved = report.scenarios[0].deployments[0]
    assert f"{moved.before_at} → {moved.after_at}" in line
    assert re.fullmatch(r"\d+ × 0\.5 USD/h", moved.before_at)
    count, price = moved.after_at.removesuffix(" USD/h").split(" × ")
    assert int(count) * Decimal(price) * 730 == moved.after_usd


def test_verdicts_are_remembered_line_by_line(report: GateReport) -> None:
    first = appended("", report, day="2026-11-22", run_url="https://example.org/1", file="h.csv")
    second = appended(first.rstrip("\n"), report, day="", run_url="", file="h.csv")
    rows = list(csv.DictReader(io.StringIO(second)))
    assert [row["day"] for row in rows] == ["2026-11-22", ""]
    assert (rows[0]["verdict"], rows[0]["broken"], rows[0]["warned"]) == (
        "broken",
        "max_monthly_usd",
        "max_increase_percent",
    )
    assert rows[0]["after_usd"] == f"{report.after_usd:.2f}"
    for wrong, problem in (
        ("a,b\n1,2\n", "no history of a gate"),
        (first + "2026-11-23,kept\n", "h.csv:3: 2 cells"),
        (first.replace(rows[0]["after_usd"], "1e999999999"), "h.csv:2: after_usd"),
    ):
        with pytest.raises(InputError, match=problem):
            appended(wrong, report, day="", run_url="", file="h.csv")


def test_the_course_of_verdicts_stands_in_every_form(report: GateReport) -> None:
    """The last dozen, each with a bar as long as its month costs; a dot where there was no plan."""
    history, costs = "", [*range(100, 1300, 100), None, 600]
    for after in costs:
        said = report.model_copy(update={"after_usd": None if after is None else Decimal(after)})
        history = appended(history, said, day="2026-11-22", run_url="", file="h.csv")
    verdicts = verdicts_in(history, "h.csv")
    assert [each.after_usd for each in verdicts] == costs
    bars = [cells[3] for cells in course_of(verdicts).rows]
    assert [len(cells) for cells in bars] == [*(round(30 * n / 12) for n in range(3, 13)), 1, 15]
    assert bars[-2] == "·"
    assert bars[-1] in answer_text(gate_answer(report, verdicts))
    assert bars[-1] in gate_comment(report, verdicts=verdicts).text
    assert "Verdicts so far" not in answer_text(gate_answer(report))

"""Every sentence of an answer states the numbers of its facts, and the text shows every fact it should."""

import json
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from support.paths import TESTS

from optimizer.plan.record.report import PlanReport
from optimizer.report.plan.sections import plan_sections

GOLDEN = TESTS / "golden"
REPORTS = sorted((GOLDEN / "reports").glob("*.json"))
ANSWERS = sorted((GOLDEN / "answers").glob("*.json"))
MONEY = ("monthly_cost_usd", "before_usd", "after_usd")


def records_with_text(path: Path) -> Iterator[dict[str, Any]]:
    """Every record of an answer that has words."""
    waiting: list[Any] = [json.loads(path.read_text(encoding="utf-8"))]
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict):
            waiting += node.values()
            if isinstance(node.get("text"), str):
                yield node
        elif isinstance(node, list):
            waiting += node


def dollars(amount: str) -> str:
    return f"${abs(Decimal(amount)):,.2f}"


@pytest.mark.parametrize("path", [*REPORTS, *ANSWERS], ids=lambda path: path.stem)
def test_money_in_words_is_the_money_in_the_facts(path: Path) -> None:
    records = [record for record in records_with_text(path) if any(record.get(name) is not None for name in MONEY)]
    for record in records:
        if record.get("same_plan") or record.get("difference_usd") == "0.00" or record.get("outcome") == "unproven":
            continue
        amounts = [dollars(record[name]) for name in MONEY if record.get(name) is not None]
        assert all(amount in record["text"] for amount in amounts), record["text"]
    assert records or path.stem.startswith("why-not")


@pytest.mark.parametrize("path", [*REPORTS, *ANSWERS], ids=lambda path: path.stem)
def test_limits_and_steps_in_words_are_those_in_the_facts(path: Path) -> None:
    for record in records_with_text(path):
        if record.get("changes_at") is not None and record.get("kind") == "limit":
            assert f"{record['changes_at']:,.10g}" in record["text"]
            assert f"{record['from']:,.10g}" in record["text"]
        if "same_plan" in record:
            assert f"{record['to']:,.10g} instead of {record['from']:,.10g}" in record["text"]
        for change in record.get("changes", []):
            if isinstance(change["to"], int | float):
                assert f"{change['to']:,.10g}" in record["text"]
        if "cost_factor" in record and record["cost_factor"] is not None:
            assert f"×{record['cost_factor']:.2f}" in record["text"]
        if "discount_percent" in record:
            assert f"{record['discount_percent']:.1f} %" in record["text"]


@pytest.mark.parametrize("path", REPORTS, ids=lambda path: path.stem)
def test_the_sections_tell_every_explained_fact(path: Path) -> None:
    report = PlanReport.model_validate_json(path.read_text(encoding="utf-8"))
    sections = plan_sections(report, verbose=True)
    cells = [cell for section in sections if section.table for row in section.table.rows for cell in row]
    words = "\n".join([*(line for section in sections for line in section.lines), *cells])
    explained = report.explanation
    for sentence in [*explained.requirements, *explained.nearest_misses, *explained.conflict, *explained.relaxations]:
        assert sentence.text in words
    assert all(item.what in words for item in explained.marginal_values)
    assert all(item.what in words for item in explained.breakpoints)
    if explained.exposure is not None:
        assert all(estimate.text in words for estimate in explained.exposure.estimates)


def test_no_change_is_said_of_what_was_compared_to_the_end() -> None:
    path = TESTS / "golden" / "reports" / "feasible.json"
    report = PlanReport.model_validate_json(path.read_text(encoding="utf-8"))
    useless = [item for item in report.explanation.opportunities if item.difference_usd == 0]
    assert {item.outcome for item in useless} == {"optimal"}
    open_ended = useless[0].model_copy(update={"outcome": "feasible"})
    explained = report.explanation.model_copy(update={"opportunities": [open_ended, *useless[1:]]})
    told = [
        line
        for section in plan_sections(report.model_copy(update={"explanation": explained}), verbose=True)
        for line in section.lines
    ]
    assert any(line.startswith("the same plan is the cheapest") and open_ended.change not in line for line in told)
    assert f"nothing cheaper was found, though it is not ruled out: {open_ended.change}" in told


@pytest.mark.parametrize(("outcome", "said"), [("infeasible", "no plan"), ("unproven", "not found in time")])
def test_a_step_without_a_plan_says_whether_there_is_none_or_time_ran_out(outcome: str, said: str) -> None:
    report = PlanReport.model_validate_json((GOLDEN / "reports" / "feasible.json").read_text(encoding="utf-8"))
    without = {"outcome": outcome, "monthly_cost_usd": None, "change_usd": None, "summary": ""}
    step = report.explanation.marginal_values[0].model_copy(update=without)
    explained = report.explanation.model_copy(update={"marginal_values": [step]})
    sections = plan_sections(report.model_copy(update={"explanation": explained}), verbose=True)
    (told,) = [each for each in sections if each.title == "What one step would cost"]
    assert told.table is not None
    assert [row[1] for row in told.table.rows] == [said]

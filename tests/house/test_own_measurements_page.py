"""docs/confirm.md tells what the stored results say of own measurements, and calls a miss a miss."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from support.paths import ROOT

RESULTS = ROOT / "benchmarks" / "results" / "own_measurements.json"

pytestmark = pytest.mark.skipif(not RESULTS.is_file(), reason="the results stand in the checkout")


@pytest.fixture
def stored() -> Any:
    return json.loads(RESULTS.read_text(encoding="utf-8"))


@pytest.fixture
def found(stored: Any) -> Any:
    return stored["judged"]


@pytest.fixture
def page() -> str:
    return (ROOT / "docs" / "confirm.md").read_text(encoding="utf-8")


def test_the_table_is_what_the_results_say(found: Any, page: str, script: Callable[[str], Any]) -> None:
    assert script("own_measurements_page").table(found) in page


def test_what_was_aimed_at_is_told_with_what_was_reached(found: Any, page: str) -> None:
    """With one point of a configuration known: TPOT within 6 %, TTFT within 12 %, at the median."""
    after = {
        (row["metric"], row["same_load"]): row["after_percent"]
        for row in found
        if (row["level"], row["known"]) == ("configuration", 1)
    }
    for metric, most in (("tpot", 6), ("ttft", 12)):
        for same_load, load in ((True, "of the same kind"), (False, "of any kind")):
            reached = after[metric, same_load]
            verdict = "reached" if reached <= most else "**missed**"
            assert f"| {metric.upper()}, loads {load} | ≤ {most} % | {reached} % | {verdict} |" in page


def test_what_intervals_of_plans_hold_is_told(stored: Any, page: str) -> None:
    names = {"tpot": "TPOT", "ttft": "TTFT", "throughput": "output tokens/s"}
    for row in stored["plans"]:
        held = row["held_after_percent"]
        verdict = "reached" if held >= 90 else "**missed**"
        what = f"{names[row['metric']]}, plans' intervals, {row['known']} known"
        assert f"| {what} | 90 % held | {held} % | {verdict} |" in page

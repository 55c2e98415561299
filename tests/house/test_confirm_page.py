"""What the page on confirming a plan shows of `benchmark` is what that command prints today."""

from collections.abc import Callable
from pathlib import Path

import pytest
from support.command import Command
from support.paths import ROOT

from optimizer.plan.record.report import PlanReport
from optimizer.report.export import as_json

PAGE = ROOT / "docs" / "confirm.md"

pytestmark = pytest.mark.skipif(not PAGE.is_file(), reason="the page stands in the checkout")


def test_the_predictions_on_the_page_are_those_of_the_plan(
    tmp_path: Path, optimizer: Command, planned: Callable[[str], PlanReport]
) -> None:
    (tmp_path / "plan.json").write_text(as_json(planned("chat-8b")), encoding="utf-8")
    said = optimizer("benchmark", tmp_path / "plan.json", "--tool", "vllm", "--output", tmp_path / "runs").out
    predicted = [line for line in said.splitlines() if " at the replica" in line and "predicted" in line]
    assert len(predicted) == 2
    page = PAGE.read_text(encoding="utf-8")
    assert [line for line in predicted if line not in page] == []
    # the verdict further down is one on the same predictions
    for line in predicted:
        value, interval = line.rpartition("predicted ")[2].split(" ms ")
        assert f"{value} {interval} ms" in page


def test_own_measurements_of_the_page_move_what_it_says(tmp_path: Path, optimizer: Command) -> None:
    page = PAGE.read_text(encoding="utf-8")
    rows = page.partition("cat > mine.csv <<END\n")[2].partition("END\n")[0]
    measurements = tmp_path / "mine.csv"
    measurements.write_text(rows, encoding="utf-8")
    said = optimizer("calibrate", "--own", str(measurements), "--output", str(tmp_path / "mine")).out
    there = said.replace(f"{tmp_path}/", "").splitlines()
    assert len(there) > 10
    assert [line for line in there if line not in page] == []

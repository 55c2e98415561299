"""Terminal output and Markdown of two fixed answers, letter for letter.

The answers are stored as JSON, so that neither prices nor the performance model can change the words. After an
intended change of words, write the files anew by running this module with OPTIMIZER_WRITE_GOLDEN=1.
"""

import os
from collections.abc import Callable

import pytest
from support.paths import TESTS

from optimizer.plan.record.report import PlanReport
from optimizer.report.export import as_json
from optimizer.report.layout.markdown import answer_markdown
from optimizer.report.layout.text import DEFAULT_WIDTH, answer_text
from optimizer.report.plan.sections import plan_answer

GOLDEN = TESTS / "golden" / "reports"
FORMS: dict[str, Callable[[PlanReport], str]] = {
    "txt": lambda report: answer_text(plan_answer(report, verbose=False)),
    "verbose.txt": lambda report: answer_text(plan_answer(report, verbose=True)),
    "md": lambda report: answer_markdown(plan_answer(report, verbose=True)),
}


@pytest.mark.parametrize("name", ["feasible", "infeasible"])
@pytest.mark.parametrize("form", sorted(FORMS))
def test_the_words_are_pinned(name: str, form: str) -> None:
    report = PlanReport.model_validate_json((GOLDEN / f"{name}.json").read_text(encoding="utf-8"))
    path = GOLDEN / f"{name}.{form}"
    text = FORMS[form](report)
    if os.environ.get("OPTIMIZER_WRITE_GOLDEN"):
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["feasible", "infeasible"])
def test_json_survives_a_round_trip(name: str) -> None:
    text = (GOLDEN / f"{name}.json").read_text(encoding="utf-8")
    assert as_json(PlanReport.model_validate_json(text)) == text


@pytest.mark.parametrize("name", ["feasible", "infeasible"])
def test_text_fits_the_width_and_one_screen(name: str) -> None:
    lines = (GOLDEN / f"{name}.txt").read_text(encoding="utf-8").splitlines()
    assert max(map(len, lines)) <= DEFAULT_WIDTH
    assert len(lines) <= 62
    assert not any(line != line.rstrip() for line in lines)

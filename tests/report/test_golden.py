"""The words of fixed answers, letter for letter, in every form.

The answers are stored as JSON, so that neither prices nor the performance model can change the words.
"""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel
from support.golden import Golden
from support.paths import TESTS

from optimizer.answers.compare.types import Comparison
from optimizer.answers.frontier import Frontier
from optimizer.answers.why_not import WhyNot
from optimizer.plan.record.report import PlanReport
from optimizer.report.compare.compare import compare_csv, compare_html, compare_markdown, compare_text
from optimizer.report.export import as_json
from optimizer.report.layout.text import DEFAULT_WIDTH
from optimizer.report.plan.frontier import frontier_markdown, frontier_text
from optimizer.report.plan.plan import plan_markdown, plan_text
from optimizer.report.plan.why_not import why_not_markdown, why_not_text

GOLDEN = TESTS / "golden"
FORMS: dict[type[BaseModel], dict[str, Callable[[Any], str]]] = {
    PlanReport: {"txt": plan_text, "verbose.txt": partial(plan_text, verbose=True), "md": plan_markdown},
    WhyNot: {"txt": why_not_text, "md": why_not_markdown},
    Frontier: {"txt": frontier_text, "md": frontier_markdown},
    Comparison: {"txt": compare_text, "md": compare_markdown, "csv": compare_csv, "html": compare_html},
}
STORED: dict[str, type[BaseModel]] = {
    "reports/*": PlanReport,
    "answers/why-not.*": WhyNot,
    "answers/frontier.*": Frontier,
    "compare/*": Comparison,
}
"""Where the answers of a kind are stored."""

ANSWERS = [(path, kind) for pattern, kind in STORED.items() for path in sorted(GOLDEN.glob(f"{pattern}.json"))]
PINNED = [(path, kind, form) for path, kind in ANSWERS for form in FORMS[kind]]
ONE_SCREEN = 62


def answer(path: Path, kind: type[BaseModel]) -> BaseModel:
    return kind.model_validate_json(path.read_text(encoding="utf-8"))


def test_every_stored_answer_is_of_a_kind_and_every_verdict_is_stored() -> None:
    assert {path for path, _ in ANSWERS} == set(GOLDEN.rglob("*.json"))
    verdicts = {found.verdict for path, kind in ANSWERS if isinstance(found := answer(path, kind), WhyNot)}
    assert verdicts == {"chosen", "dearer", "fails", "not_offered"}


@pytest.mark.parametrize(("path", "kind", "form"), PINNED, ids=[f"{path.stem}.{form}" for path, _, form in PINNED])
def test_the_words_are_pinned(path: Path, kind: type[BaseModel], form: str, golden: Golden) -> None:
    golden(path.with_name(f"{path.stem}.{form}"), FORMS[kind][form](answer(path, kind)))


@pytest.mark.parametrize(("path", "kind"), ANSWERS, ids=[path.stem for path, _ in ANSWERS])
def test_json_survives_a_round_trip(path: Path, kind: type[BaseModel], golden: Golden) -> None:
    golden(path, as_json(answer(path, kind)))


@pytest.mark.parametrize(("path", "kind"), ANSWERS, ids=[path.stem for path, _ in ANSWERS])
def test_text_fits_the_width_and_one_screen(path: Path, kind: type[BaseModel]) -> None:
    lines = FORMS[kind]["txt"](answer(path, kind)).splitlines()
    assert max(map(len, lines)) <= DEFAULT_WIDTH
    assert len(lines) <= ONE_SCREEN
    assert not any(line != line.rstrip() for line in lines)

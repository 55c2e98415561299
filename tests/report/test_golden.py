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
from optimizer.answers.planning.frontier import Frontier
from optimizer.answers.planning.why_not import WhyNot
from optimizer.plan.record.report import PlanReport
from optimizer.report.compare.compare import compare_answer, compare_csv, compare_html
from optimizer.report.export import as_json
from optimizer.report.layout.elements import WrittenAnswer
from optimizer.report.layout.markdown import answer_markdown
from optimizer.report.layout.text import DEFAULT_WIDTH, answer_text
from optimizer.report.plan.frontier import frontier_answer
from optimizer.report.plan.sections import plan_answer
from optimizer.report.plan.why_not import why_not_answer

GOLDEN = TESTS / "golden"


def in_words(written: Callable[[Any], WrittenAnswer]) -> dict[str, Callable[[Any], str]]:
    return {"txt": lambda found: answer_text(written(found)), "md": lambda found: answer_markdown(written(found))}


VERBOSE = in_words(partial(plan_answer, verbose=True))
FORMS: dict[type[BaseModel], dict[str, Callable[[Any], str]]] = {
    PlanReport: {
        "txt": in_words(partial(plan_answer, verbose=False))["txt"],
        "verbose.txt": VERBOSE["txt"],
        "md": VERBOSE["md"],
    },
    WhyNot: in_words(why_not_answer),
    Frontier: in_words(frontier_answer),
    Comparison: {**in_words(compare_answer), "csv": compare_csv, "html": compare_html},
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

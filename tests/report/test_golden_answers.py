"""Text and Markdown of fixed answers to why-not and frontier, letter for letter.

As with plans, the answers are stored as JSON, so that neither prices nor the performance model can change the words.
After an intended change of words, write the files anew by running this module with OPTIMIZER_WRITE_GOLDEN=1.
"""

import os
from collections.abc import Callable
from typing import Any

import pytest
from pydantic import BaseModel
from support.paths import TESTS

from optimizer.answers.frontier import Frontier
from optimizer.answers.why_not import WhyNot
from optimizer.report.export import as_json
from optimizer.report.layout.elements import WrittenAnswer
from optimizer.report.layout.markdown import answer_markdown
from optimizer.report.layout.text import DEFAULT_WIDTH, answer_text
from optimizer.report.plan.frontier import frontier_answer
from optimizer.report.plan.why_not import why_not_answer

GOLDEN = TESTS / "golden" / "answers"
KINDS: dict[str, tuple[type[BaseModel], Callable[[Any], WrittenAnswer]]] = {
    "why-not": (WhyNot, why_not_answer),
    "frontier": (Frontier, frontier_answer),
}
FORMS: dict[str, Callable[[WrittenAnswer], str]] = {"txt": answer_text, "md": answer_markdown}
NAMES = sorted(path.stem for path in GOLDEN.glob("*.json"))


def stored(name: str) -> tuple[BaseModel, WrittenAnswer]:
    kind, written = KINDS[name.split(".")[0]]
    answer = kind.model_validate_json((GOLDEN / f"{name}.json").read_text(encoding="utf-8"))
    return answer, written(answer)


def test_every_kind_of_verdict_is_stored() -> None:
    verdicts = [answer.verdict for answer, _ in map(stored, NAMES) if isinstance(answer, WhyNot)]
    assert sorted(verdicts) == ["chosen", "dearer", "fails", "fails", "fails", "not_offered"]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("form", ["md", "txt"])
def test_the_words_are_pinned(name: str, form: str) -> None:
    _, written = stored(name)
    path, text = GOLDEN / f"{name}.{form}", FORMS[form](written)
    if os.environ.get("OPTIMIZER_WRITE_GOLDEN"):
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")
    assert form == "md" or max(map(len, text.splitlines())) <= DEFAULT_WIDTH


@pytest.mark.parametrize("name", NAMES)
def test_json_survives_a_round_trip(name: str) -> None:
    answer, _ = stored(name)
    assert as_json(answer) == (GOLDEN / f"{name}.json").read_text(encoding="utf-8")

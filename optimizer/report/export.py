"""Answers in the form that was asked for: text, Markdown or JSON."""

import json
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

from optimizer.report.layout.elements import WrittenAnswer
from optimizer.report.layout.markdown import answer_markdown
from optimizer.report.layout.text import DEFAULT_WIDTH, answer_text

Content = BaseModel | Mapping[str, Any]
"""What `--format json` may be asked of: a record, or plain values by name."""


def as_json(content: Content) -> str:
    """An answer as `--format json` writes it.

    Args:
        content: A plan, a comparison or any other answer.

    Returns:
        Indented JSON, fields in their declared order, ending in a newline.
    """
    plain = content.model_dump(mode="json", by_alias=True) if isinstance(content, BaseModel) else content
    return json.dumps(plain, indent=2, ensure_ascii=False) + "\n"


def rendered(answer: WrittenAnswer, content: Content, form: str, *, width: int = DEFAULT_WIDTH) -> str:
    """The answer as `text` of some width or as `markdown`, or its content as `json`."""
    if form == "json":
        return as_json(content)
    return answer_markdown(answer) if form == "markdown" else answer_text(answer, width)

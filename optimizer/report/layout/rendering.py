"""Sections or their content in the form that was asked for: text, Markdown or JSON."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from optimizer.report.layout.elements import Section
from optimizer.report.layout.markdown import section_markdown
from optimizer.report.layout.text import section_text


def rendered(sections: Iterable[Section], content: Mapping[str, Any], form: str) -> str:
    """The answer as `text`, `markdown` or `json`, ending in a newline."""
    if form == "json":
        return json.dumps(content, indent=2, ensure_ascii=False) + "\n"
    lay_out = section_markdown if form == "markdown" else section_text
    return "\n\n".join(lay_out(section) for section in sections) + "\n"

"""YAML and JSON read with the line of every field, refusing what would be ambiguous or explosive."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import yaml

from optimizer.base.errors import Finding, InputError
from optimizer.base.signs import PROSE, unseen

Location = tuple[str | int, ...]
Remark = tuple[Location, int, str, str]
"""Where, on which line, what is wrong and how to mend it."""

MAX_DEPTH = 100
"""Groups and lists inside each other; the library's own recursion ends the process where nothing stops it."""
TOO_DEEP = "nested too deeply"
OF_LIBRARY = {
    "nesting depth": (TOO_DEEP, ""),
    "'tag:yaml.org,2002:value'": ("= alone is no value", "write the value, or quote the sign"),
    "found another document": ("another document begins", "a file holds one: leave out what follows ---"),
}
"""What is written in place of some of the library's own words, by a part of them."""

NUMBER_TAGS = ("tag:yaml.org,2002:int", "tag:yaml.org,2002:float")
MAX_DIGITS = 1000
LONG_NUMBER = re.compile(r"[-+]?[0-9.][0-9a-fA-FxXoO_.:+-]*$")
AMBIGUOUS_NUMBER = re.compile(r"[-+]?(\d[\d_]*:|0[\d_])")
"""YAML reads 1:40 as 100 (base 60) and 017 as 15 (base 8); nobody who writes them here means that."""

Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True)
class Document:
    """A parsed document and the line on which each of its fields stands."""

    file: str
    content: Any
    lines: dict[Location, int]

    def line(self, location: Location) -> int:
        """The line of a field, or of its nearest ancestor that is in the document."""
        while location and location not in self.lines:
            location = location[:-1]
        return self.lines.get(location, 1)

    def path(self, location: Location) -> str:
        """The field as people write it, list elements by their name where they have one."""
        text, node = "", self.content
        for step in location:
            node = _child(node, step)
            label = node["name"] if isinstance(node, dict) and isinstance(node.get("name"), str) else step
            text += f"[{label}]" if isinstance(step, int) else f".{step}" if text else str(step)
        return text


def parse(text: str, file: str) -> Document:
    """Reads YAML (or JSON, by the file's ending) and remembers lines.

    Raises:
        InputError: broken syntax, repeated keys, anchors and aliases, more than one document, an empty file.
    """
    if file.endswith(".json"):
        text = _checked_json(text, file)
    try:
        depth = 0
        for event in yaml.parse(text, Loader=Loader):
            line = event.start_mark.line + 1 if event.start_mark else 1
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            if depth > MAX_DEPTH:
                raise _error(file, line, TOO_DEEP)
            if getattr(event, "anchor", None):
                raise _error(file, line, "YAML anchors and aliases are not read", "write the value out")
            tag = getattr(event, "tag", None)
            if tag:
                raise _error(file, line, f"YAML tags such as {_short(tag)} are not read", "leave it out")
            if isinstance(event, yaml.ScalarEvent) and len(event.value) > MAX_DIGITS and LONG_NUMBER.match(event.value):
                raise _error(file, line, f"a number of {len(event.value):,} digits", "round it")
        node = yaml.compose(text, Loader=Loader)
        content = yaml.load(text, Loader=Loader)
        if node is None:
            raise _error(file, 1, "the file is empty")
        remarks: list[Remark] = []
        lines = dict(_walk(node, (), remarks))
    except yaml.YAMLError as error:
        raise _syntax_error(file, error) from error
    except RecursionError as error:
        raise _error(file, 1, TOO_DEEP) from error
    except ValueError as error:
        problem = str(error).split(";", maxsplit=1)[0]
        raise _error(file, 1, f"a value cannot be read: {problem[:1].lower()}{problem[1:]}") from error
    document = Document(file=file, content=content, lines=lines)
    if remarks:
        raise InputError(Finding(file, line, document.path(place), *texts) for place, line, *texts in remarks)
    return document


def _checked_json(text: str, file: str) -> str:
    """The same JSON in the subset that YAML also reads: tabs stand only between tokens in valid JSON."""
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        raise _error(file, error.lineno, f"broken JSON: {error.msg} (column {error.colno})") from error
    except RecursionError as error:
        raise _error(file, 1, TOO_DEEP) from error
    except ValueError as error:
        raise _error(file, 1, "holds a number of thousands of digits", "round it") from error
    return text.replace("\t", " ")


def _syntax_error(file: str, error: yaml.YAMLError) -> InputError:
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    problem = getattr(error, "problem", None) or str(error).splitlines()[0]
    told = (texts for words, texts in OF_LIBRARY.items() if words in problem)
    return _error(file, mark.line + 1 if mark else 1, *next(told, (f"broken YAML: {problem}", "")))


def _short(tag: str) -> str:
    return tag.replace("tag:yaml.org,2002:", "!!")[:MAX_DIGITS]


def _error(file: str, line: int, problem: str, hint: str = "") -> InputError:
    return InputError([Finding(file, line, "", problem, hint)])


def _walk(node: yaml.Node, location: Location, remarks: list[Remark]) -> Iterator[tuple[Location, int]]:
    """Every field's location and line, depth first; repeated keys and ambiguous numbers become remarks."""
    line = node.start_mark.line + 1
    yield location, line
    if isinstance(node, yaml.ScalarNode) and node.tag in NUMBER_TAGS and AMBIGUOUS_NUMBER.match(node.value):
        hint = "write the number in plain decimals, or quote the text"
        remarks.append((location, line, f"'{node.value}' is ambiguous", hint))
    prose = not PROSE.isdisjoint(location[-1:])
    if isinstance(node, yaml.ScalarNode) and (problem := unseen(node.value, lines=True, prose=prose)):
        remarks.append((location, line, problem, "write it without"))
    if isinstance(node, yaml.SequenceNode):
        for position, item in enumerate(node.value):
            yield from _walk(item, (*location, position), remarks)
    if isinstance(node, yaml.MappingNode):
        seen: set[str] = set()
        for key, value in node.value:
            field, line = (*location, key.value), key.start_mark.line + 1
            if isinstance(key.value, str) and (problem := unseen(key.value)):
                remarks.append((location, line, f"a field's name {problem}", "write it without"))
            if key.value in seen:
                remarks.append((field, line, "this key stands twice", "keep one"))
            seen.add(key.value)
            yield from _walk(value, field, remarks)
            yield field, line


def _child(node: Any, step: str | int) -> Any:
    try:
        return node[step]
    except (KeyError, IndexError, TypeError):
        return None

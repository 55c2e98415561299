"""A result file's text taken apart into runs: JSON, JSON lines, YAML, CSV or the log of MLPerf."""

import csv
import io
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from optimizer.base.errors import Finding, InputError
from optimizer.base.files import RepeatedKey, read_text, without_repeats
from optimizer.inputs.importing.load_results.fields import RunFields
from optimizer.inputs.scenario.yaml_lines import parse

MAX_RESULT_BYTES: Final = 256_000_000
"""Half a million requests with the gap before each token; JSON takes ten times this in memory."""

MAX_YAML_BYTES: Final = 2_000_000
"""Reports in YAML hold aggregates; its reader keeps the line of every field."""

MLPERF_TITLE: Final = "MLPerf Results Summary"
AIPERF_HEADINGS: Final = ("Metric", "avg")
FIRST_LINES: Final = 1000
"""Characters by which a file's kind is known."""

_YAML_FIELD: Final = re.compile(r"(#.*\n|---\n|\s)*[\w-]+:(\s|$)")
_UNIT: Final = re.compile(r"(?P<name>.*?)(?: \((?P<unit>[^()]*)\))?")


def runs_of(path: Path) -> tuple[RunFields, ...]:
    """The runs that a file holds, in its order, each still to be recognized.

    Raises:
        InputError: no such file, too large, not text, broken, or of no kind that is read.
    """
    text, file = _text(path), str(path)
    start = text[:FIRST_LINES]
    if MLPERF_TITLE in start:
        return (RunFields(file, "", 0, _log(text), as_text=True),)
    if start.lstrip()[:1] in ("{", "["):
        return tuple(_json(text, file))
    if path.suffix in (".yaml", ".yml") or _YAML_FIELD.match(start):
        return (_yaml(text, file),)
    if "," in start:
        return tuple(_csv(text, file))
    raise InputError([Finding(file, 1, "", "is neither JSON, YAML, CSV nor an MLPerf log", "give a tool's result")])


def _text(path: Path) -> str:
    text = read_text(path, MAX_RESULT_BYTES, hint_to_size="leave out the texts that the model wrote")
    if not text.strip():
        raise InputError([Finding(str(path), 0, "", "the file is empty")])
    return text


def _json(text: str, file: str) -> Iterator[RunFields]:
    """The objects of a file: one, a list of them, or one on each line."""
    try:
        content = _decoded(text, file, 0)
    except json.JSONDecodeError as error:
        if not error.msg.startswith("Extra data"):
            raise _broken(file, error.lineno, error.msg) from error
        yield from _json_lines(text, file)
        return
    if not isinstance(content, list):
        yield _run(content, file, "", 0)
        return
    if not content:
        raise _broken(file, 1, "an empty list")
    for position, item in enumerate(content):
        yield _run(item, file, f"[{position}]", 0)


def _json_lines(text: str, file: str) -> Iterator[RunFields]:
    for line, row in enumerate(text.split("\n"), start=1):
        if row.strip():
            try:
                content = _decoded(row, file, line)
            except json.JSONDecodeError as error:
                raise _broken(file, line, error.msg) from error
            yield _run(content, file, f"line {line}", line)


def _decoded(text: str, file: str, line: int) -> Any:
    try:
        return json.loads(text, object_pairs_hook=without_repeats)
    except json.JSONDecodeError:
        raise
    except RecursionError as error:
        raise _broken(file, line, "nested too deeply") from error
    except RepeatedKey as error:
        raise _broken(file, line, f"'{error}' stands twice") from error
    except ValueError as error:
        raise _broken(file, line, str(error).partition(";")[0]) from error


def _run(content: Any, file: str, run: str, line: int) -> RunFields:
    if not isinstance(content, dict):
        raise _broken(file, line, "a result is a group of fields")
    return RunFields(file, run, line, content)


def _broken(file: str, line: int, problem: str) -> InputError:
    return InputError([Finding(file, line, "", f"broken JSON: {problem[:1].lower()}{problem[1:]}")])


def _yaml(text: str, file: str) -> RunFields:
    if len(text) > MAX_YAML_BYTES:
        raise InputError([Finding(file, 0, "", f"more than {MAX_YAML_BYTES:,} characters", "save it as JSON")])
    return _run(parse(text, file).content, file, "", 0)


def _csv(text: str, file: str) -> Iterator[RunFields]:
    """One run a row; AIPerf's tables of metrics are one run."""
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        rows = [(reader.line_num, [cell.strip() for cell in row]) for row in reader]
    except csv.Error as error:
        raise InputError([Finding(file, reader.line_num, "", f"broken CSV: {error}")]) from error
    headings, findings = rows[0][1], []
    if tuple(headings[: len(AIPERF_HEADINGS)]) == AIPERF_HEADINGS:
        yield RunFields(file, "", 0, _metrics([row for _, row in rows]), as_text=True)
        return
    for line, row in rows[1:]:
        if row and len(row) != len(headings):
            findings.append(Finding(file, line, "", f"{len(row)} cells under {len(headings)} columns"))
    repeated = sorted({name for name in headings if name and headings.count(name) > 1})
    findings += [Finding(file, 1, name, "this column stands twice", "keep one") for name in repeated]
    if findings or len(rows) == 1:
        raise InputError(findings or [Finding(file, 1, "", "holds no run")])
    for line, row in rows[1:]:
        if row:
            yield RunFields(file, f"line {line}", line, dict(zip(headings, row, strict=True)), as_text=True)


def _metrics(rows: list[list[str]]) -> dict[str, Any]:
    """AIPerf's CSV in the shape of its JSON: each metric with its unit and its statistics, by its name there.

    Tables follow each other, each under its own headings: statistics, then single values, then GPUs, which are left.
    """
    metrics: dict[str, Any] = {}
    headings: list[str] = []
    for row in rows:
        if row[:1] == ["Metric"]:
            headings = ["avg" if name == "Value" else name for name in row[1:]]
        elif headings and len(row) == len(headings) + 1:
            named = _UNIT.fullmatch(row[0])
            name, unit = (named["name"], named["unit"]) if named else (row[0], None)
            metric = {"unit": unit, **dict(zip(headings, row[1:], strict=True))}
            metrics[re.sub(r"\W+", "_", name.casefold())] = metric
        else:
            headings = []
    return metrics


def _log(text: str) -> dict[str, str]:
    """The `name : value` lines of a log, the first of each name."""
    content: dict[str, str] = {}
    for row in text.split("\n"):
        name, colon, value = row.partition(":")
        if colon:
            content.setdefault(name.strip(), value.strip())
    return content

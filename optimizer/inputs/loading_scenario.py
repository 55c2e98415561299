"""Scenario files: found by name or path, read, validated, with every problem reported at once by line."""

import math
import types
import typing
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd
from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from optimizer.base.errors import Finding, InputError, did_you_mean
from optimizer.inputs.scenario import Demand, RequestClass, Scenario, Workload
from optimizer.inputs.shipped import shipped_dir
from optimizer.inputs.yaml_lines import Document, Location, parse

MAX_SCENARIO_BYTES = 1_000_000
PEAK_WINDOW_S = 60.0
TRACE_COLUMNS = ("arrived_at_s", "input_tokens", "output_tokens")
PROFILE_COLUMNS = ("hour_of_week", "requests_per_second")
HOURS_PER_WEEK = 168
PLAIN_WORDS = {
    "bool_parsing": "expected yes or no",
    "dict_type": "expected fields with values",
    "finite_number": "expected a finite number",
    "float_parsing": "expected a number",
    "float_type": "expected a number",
    "int_from_float": "expected a whole number",
    "int_parsing": "expected a whole number",
    "int_parsing_size": "expected a number of common size",
    "int_type": "expected a whole number",
    "model_attributes_type": "expected fields with values",
    "model_type": "expected fields with values",
    "string_type": "expected text",
    "tuple_type": "expected a list",
}
"""What pydantic's errors mean to someone who has never heard of pydantic."""

PROMPT_BINS = 4
"""A trace becomes at most this many classes by prompt length, each split in two by answer length."""


def find_scenario(name: str) -> Path:
    """The file of that path, or the shipped scenario of that name.

    Raises:
        InputError: neither exists; names the shipped scenarios.
    """
    path = Path(name)
    if path.is_file():
        return path
    shipped = {file.stem: file for file in sorted(shipped_dir("scenarios").glob("*.yaml"))}
    if name in shipped:
        return shipped[name]
    problem = (
        "is a folder, not a scenario file" if path.is_dir() else "no such file, and no shipped scenario of that name"
    )
    hint = did_you_mean(name, shipped) or f"shipped: {', '.join(shipped)}"
    raise InputError([Finding(name, 0, "", problem, hint)])


@dataclass(frozen=True)
class ScenarioFile:
    """A loaded scenario that still knows where each of its fields was written."""

    scenario: Scenario
    document: Document

    def located(self, findings: Iterable[Finding]) -> tuple[Finding, ...]:
        """The same findings with this file and the line of their field, or of the nearest field above it."""
        lines = {self.document.path(location): line for location, line in sorted(self.document.lines.items(), key=str)}
        return tuple(sorted(replace(f, file=self.document.file, line=_nearest(f.field, lines)) for f in findings))


def load_scenario(source: str | Path) -> Scenario:
    """Reads a scenario by path or shipped name, with its trace and profile files.

    Raises:
        InputError: every problem found, each with file, line and field.
    """
    return load_scenario_file(source).scenario


def load_scenario_file(source: str | Path) -> ScenarioFile:
    """As `load_scenario`, keeping the lines for whoever has something to say about a field later."""
    path = find_scenario(str(source))
    document = read_document(path)
    if not isinstance(document.content, dict):
        raise InputError(
            [Finding(str(path), 1, "", "a scenario is a mapping of fields", "start with name: and workloads:")]
        )
    try:
        scenario = Scenario.model_validate(document.content)
    except ValidationError as error:
        raise InputError(_finding(document, each) for each in error.errors() if not _is_echo(each)) from error
    return ScenarioFile(_with_files(scenario, document, path.parent), document)


def read_document(path: Path) -> Document:
    """The scenario's document with its lines. Raises InputError when it can't be read as text or is too large."""
    try:
        size = path.stat().st_size
        if size > MAX_SCENARIO_BYTES:
            problem = f"{size:,} bytes is more than a scenario may have ({MAX_SCENARIO_BYTES:,})"
            raise InputError([Finding(str(path), 0, "", problem, "long request lists belong in a trace CSV")])
        return parse(path.read_text(encoding="utf-8"), str(path))
    except (OSError, UnicodeDecodeError) as error:
        raise InputError([Finding(str(path), 0, "", f"cannot be read as text: {error}")]) from error


def _nearest(field: str, lines: Mapping[str, int]) -> int:
    while field and field not in lines:
        field = field[: max(field.rfind("."), field.rfind("["), 0)]
    return lines.get(field, 1)


def _is_echo(detail: ErrorDetails) -> bool:
    """A list whose items are wrong also counts as too short; only the items are the user's problem."""
    return detail["type"] == "too_short" and len(detail["input"]) >= detail["ctx"]["min_length"]


def _finding(document: Document, detail: ErrorDetails) -> Finding:
    """One pydantic error in the words of the person who wrote the file."""
    location = tuple(step for step in detail["loc"] if not _is_type_tag(step))
    kind, value = detail["type"], detail.get("input")
    hint = ""
    if kind == "extra_forbidden":
        known = _fields_at(location[:-1])
        problem = "unknown field"
        hint = did_you_mean(str(location[-1]), known) or f"known here: {', '.join(sorted(known))}"
    elif kind == "missing":
        problem = "missing"
    elif kind in ("too_short", "too_long"):
        least, most = detail["ctx"].get("min_length"), detail["ctx"].get("max_length")
        needed = f"at least {least}" if kind == "too_short" else f"at most {most}"
        problem = f"takes {needed} entries, not {len(detail['input'])}"
    else:
        message = PLAIN_WORDS.get(
            kind, detail["msg"].removeprefix("Value error, ").replace("Input should be", "must be")
        )
        shown = "" if kind == "value_error" else f", not {_shown(value)}"
        problem = message[0].lower() + message[1:] + shown
    return Finding(document.file, document.line(location), document.path(location), problem, hint)


def _shown(value: object) -> str:
    text = "nothing" if value is None else repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _is_type_tag(step: str | int) -> bool:
    """Pydantic names the branch of a union inside a location; people don't write it."""
    return isinstance(step, str) and ("[" in step or step in {"Latency"})


def _fields_at(location: Location) -> set[str]:
    """The field names that may stand at a location of a scenario."""
    model: type[BaseModel] | None = Scenario
    for step in location:
        if isinstance(step, str):
            if model is None or step not in model.model_fields:
                return set()
            model = _model_in(model.model_fields[step].annotation)
    return set(model.model_fields) if model else set()


def _model_in(annotation: Any) -> type[BaseModel] | None:
    """The record type inside an annotation such as `list[Quota]` or `Latency | None`."""
    if isinstance(annotation, type) and not isinstance(annotation, types.GenericAlias):
        return annotation if issubclass(annotation, BaseModel) else None
    return next((found for part in typing.get_args(annotation) if (found := _model_in(part))), None)


def _with_files(scenario: Scenario, document: Document, folder: Path) -> Scenario:
    """The scenario with every trace and profile file read into it; all their problems at once."""
    findings: list[Finding] = []
    workloads = []
    for position, workload in enumerate(scenario.workloads):
        at: Location = ("workloads", position)
        try:
            workloads.append(_workload_with_files(workload, folder))
        except InputError as error:
            field = "trace" if workload.trace else "demand"
            where = document.line((*at, field)), document.path((*at, field))
            findings += [Finding(document.file, *where, str(finding)) for finding in error.findings]
    if findings:
        raise InputError(findings)
    return scenario.model_copy(update={"workloads": tuple(workloads)})


def _workload_with_files(workload: Workload, folder: Path) -> Workload:
    if workload.trace is not None and workload.request_classes is None:
        rate, classes = classes_of_trace(folder / workload.trace)
        return workload.model_copy(update={"requests_per_second": rate, "request_classes": classes})
    if workload.demand is not None and workload.demand.profile is not None:
        weekly = _weekly_profile(folder / workload.demand.profile)
        return workload.model_copy(update={"demand": Demand(weekly_requests_per_second=weekly)})
    return workload


def classes_of_trace(path: Path) -> tuple[float, tuple[RequestClass, ...]]:
    """Peak requests per second and request classes of a trace.

    The peak is the busiest minute. Classes are quartiles of the prompt length, each split at its median
    answer length; a class carries the mean lengths of its requests, so the token totals are those of the trace.

    Raises:
        InputError: file or columns missing, rows that are not numbers, an empty trace.
    """
    frame = _numbers(path, TRACE_COLUMNS)
    if (frame[["input_tokens", "output_tokens"]] < 1).any(axis=None):
        raise InputError([Finding(str(path), 0, "", "token counts below 1", "drop rows without prompt or answer")])
    arrived_s = frame["arrived_at_s"] - frame["arrived_at_s"].min()
    busiest = (arrived_s // PEAK_WINDOW_S).value_counts().max()
    rate = float(busiest) / min(PEAK_WINDOW_S, max(1.0, math.ceil(arrived_s.max())))
    prompt_bin = frame["input_tokens"].rank(method="first", pct=True).mul(PROMPT_BINS).apply(math.ceil)
    long_answer = frame["output_tokens"] > frame.groupby(prompt_bin)["output_tokens"].transform("median")
    groups = frame.groupby([prompt_bin, long_answer])
    merged: dict[tuple[int, int], float] = {}
    for _, group in groups:
        lengths = (max(1, round(group["input_tokens"].mean())), max(1, round(group["output_tokens"].mean())))
        merged[lengths] = merged.get(lengths, 0.0) + len(group) / len(frame)
    return rate, tuple(
        RequestClass(share=share, input_tokens=prompt, output_tokens=answer)
        for (prompt, answer), share in sorted(merged.items())
    )


def _weekly_profile(path: Path) -> tuple[float, ...]:
    frame = _numbers(path, PROFILE_COLUMNS).sort_values("hour_of_week")
    if frame["hour_of_week"].tolist() != list(range(HOURS_PER_WEEK)):
        raise InputError([Finding(str(path), 0, "hour_of_week", f"must count 0 to {HOURS_PER_WEEK - 1}, each once")])
    rates = tuple(float(rate) for rate in frame["requests_per_second"])
    if min(rates) < 0 or max(rates) <= 0:
        raise InputError([Finding(str(path), 0, "requests_per_second", "rates are ≥ 0 and not all zero")])
    return rates


def _numbers(path: Path, columns: tuple[str, ...]) -> pd.DataFrame:
    """Those columns of a CSV file as finite numbers."""
    try:
        frame = pd.read_csv(path)
    except OSError as error:
        raise InputError([Finding(str(path), 0, "", f"cannot be read: {error.strerror}")]) from error
    except ValueError as error:
        raise InputError([Finding(str(path), 0, "", f"cannot be read as CSV: {error}")]) from error
    missing = [column for column in columns if column not in frame.columns]
    if missing:
        raise InputError([Finding(str(path), 1, "", f"columns missing: {', '.join(missing)}")])
    if frame.empty:
        raise InputError([Finding(str(path), 1, "", "no rows")])
    numbers: pd.DataFrame = frame[list(columns)].apply(pd.to_numeric, errors="coerce").astype(float)
    bad = ~numbers.map(math.isfinite).all(axis=1)
    if bad.any():
        first = int(bad.to_numpy().nonzero()[0][0]) + 2
        raise InputError([Finding(str(path), first, "", f"{int(bad.sum())} rows are not numbers, this is the first")])
    return numbers

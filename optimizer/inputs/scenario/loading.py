"""Scenario files: found by name or path, read, validated, with every problem reported at once by line."""

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Final

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from optimizer.base.errors import Finding, InputError, did_you_mean, some_of
from optimizer.base.figures import exactly
from optimizer.base.files import STANDARD_INPUT, name_of, read_text
from optimizer.inputs import scenario as door
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.catalog.shipped import shipped_dir
from optimizer.inputs.scenario.fields import AllowDeny, FieldError
from optimizer.inputs.scenario.names import record_in, with_unknown_names
from optimizer.inputs.scenario.other_words import field_meant
from optimizer.inputs.scenario.restating import restated, with_accepted, with_thinking
from optimizer.inputs.scenario.scenario import Scenario
from optimizer.inputs.scenario.yaml_lines import Document, Location, parse

MAX_SCENARIO_BYTES = 1_000_000
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
    "string_pattern_mismatch": "expected letters, digits, '.', '_' and '-', a letter or digit first",
    "string_type": "expected text",
    "tuple_type": "expected a list",
}
"""What pydantic's errors mean to someone who has never heard of pydantic."""

RANGES: Final[Mapping[str, tuple[str, str]]] = {
    "greater_than": ("greater than", "gt"),
    "greater_than_equal": ("greater than or equal to", "ge"),
    "less_than": ("less than", "lt"),
    "less_than_equal": ("less than or equal to", "le"),
}
"""Errors of numbers out of range: what they must be, and which limit says it."""

OTHER_FILES: Final[Mapping[str, tuple[frozenset[str], str]]] = {
    "a plan": (
        frozenset({"schema_version", "deployments"}),
        "give the scenario that it was made from; verify, simulate, export, benchmark and watch take plans",
    ),
    "a sweep": (frozenset({"scenario", "over"}), "give it to optimizer sweep"),
    "a sweep of cases": (frozenset({"scenario", "cases"}), "give it to optimizer sweep"),
    "a model's configuration": (frozenset({"model_type"}), "give it to optimizer catalog add-model"),
}
"""What else lies beside scenarios, by fields that each of them has, and where it belongs."""

_WANTS_FIELDS = ("dict_type", "model_attributes_type", "model_type")
"""Errors of who wrote something else where a record belongs."""

_MOST_TOLD = 8
"""Fields of a record up to which they are all named."""


def find_scenario(name: str) -> Path:
    """The file of that path, or the shipped scenario of that name.

    Raises:
        InputError: neither exists; names the shipped scenarios.
    """
    path = Path(name)
    if os.path.isfile(path) or path == STANDARD_INPUT:
        return path
    shipped = {file.stem: file for file in sorted(shipped_dir("scenarios").glob("*.yaml"))}
    if name in shipped:
        return shipped[name]
    if os.path.lexists(path):
        # a folder, a device, a link to nothing: whoever reads it says so
        return path
    hint = did_you_mean(name, shipped) or f"shipped: {', '.join(shipped)}"
    raise InputError([Finding(name, 0, "", "no such file, and no shipped scenario of that name", hint)])


@dataclass(frozen=True)
class ScenarioFile:
    """A loaded scenario that still knows where each of its fields was written."""

    scenario: Scenario
    document: Document

    def asked_of(self, catalogs: Catalogs) -> "ScenarioFile":
        """The same with what the catalogs say of `lengths`, `reasoning` and `speculation`, and what follows.

        Raises:
            InputError: they say nothing of a model, or a rate that follows is too large.
        """
        with self.naming_lines():
            with_rates = restated(door.with_lengths(self.scenario, catalogs))
            return replace(self, scenario=with_accepted(with_thinking(with_rates, catalogs), catalogs))

    def located(self, findings: Iterable[Finding]) -> tuple[Finding, ...]:
        """The same findings with this file and the line of their field, or of the nearest field above it."""
        lines = {self.document.path(location): line for location, line in sorted(self.document.lines.items(), key=str)}
        return tuple(sorted(replace(f, file=self.document.file, line=_nearest(f.field, lines)) for f in findings))

    @contextmanager
    def naming_lines(self) -> Iterator[None]:
        """What is found wrong with the scenario within leaves with this file and its lines."""
        try:
            yield
        except InputError as error:
            raise InputError(self.located(error.findings)) from error


def load_scenario(source: str | Path, catalogs: Catalogs | None = None) -> Scenario:
    """Reads a scenario, with the trace, profile and plan files that it names.

    Args:
        source: A YAML or JSON file, or the name of a shipped scenario.
        catalogs: What is known, where a workload asks them for lengths or how long its model thinks; names that they do
            not know are told beside wrong fields.

    Returns:
        The scenario, every field validated.

    Raises:
        InputError: every problem found, each with file, line and field.
    """
    return load_scenario_file(source, catalogs).scenario


def load_scenario_file(source: str | Path, catalogs: Catalogs | None = None) -> ScenarioFile:
    """Reads a scenario as `load_scenario` does, keeping the lines for whoever has something to say about a field later.

    Args:
        source: A YAML or JSON file, or the name of a shipped scenario.
        catalogs: As `load_scenario` takes them.

    Returns:
        The scenario and where each of its fields was written.

    Raises:
        InputError: every problem found, each with file, line and field.
    """
    path = find_scenario(str(source))
    return scenario_in(read_document(path), path.parent, catalogs)


def scenario_in(document: Document, folder: Path | None, catalogs: Catalogs | None = None) -> ScenarioFile:
    """The scenario in a document, with the files that it names.

    Args:
        document: As parsed.
        folder: Where it lies, or would lie; None where it may name no files.
        catalogs: As `load_scenario` takes them.

    Raises:
        InputError: every problem found, each with line and field.
    """
    try:
        file = _read(document, folder)
        return file if catalogs is None else file.asked_of(catalogs)
    except InputError as error:
        if catalogs is None:
            raise
        raise InputError(with_unknown_names(error.findings, document, Scenario, catalogs)) from error


def _read(document: Document, folder: Path | None) -> ScenarioFile:
    """The scenario with its files, held against no catalogs."""
    if not isinstance(document.content, dict):
        raise InputError(
            [Finding(document.file, 1, "", "a scenario is a mapping of fields", "start with name: and workloads:")]
        )
    for what, (fields, hint) in OTHER_FILES.items():
        if fields <= document.content.keys() and "workloads" not in document.content:
            raise InputError([Finding(document.file, 1, "", f"is {what}, not a scenario", hint)])
    try:
        scenario = Scenario.model_validate(document.content)
    except ValidationError as error:
        raise InputError(findings_of(document, error, Scenario)) from error
    file = ScenarioFile(door.with_files(scenario, document, folder), document)
    with file.naming_lines():
        return replace(file, scenario=restated(file.scenario))


def read_document(path: Path) -> Document:
    """The scenario's document with its lines. Raises InputError when it can't be read as text or is too large."""
    return parse(
        read_text(path, MAX_SCENARIO_BYTES, hint_to_size="long request lists belong in a trace CSV"), name_of(path)
    )


def _nearest(field: str, lines: Mapping[str, int]) -> int:
    while field and field not in lines:
        field = field[: max(field.rfind("."), field.rfind("["), 0)]
    return lines.get(field, 1)


def _is_echo(detail: ErrorDetails) -> bool:
    """A list whose items are wrong also counts as too short; only the items are the user's problem."""
    return detail["type"] == "too_short" and len(detail["input"]) >= detail["ctx"]["min_length"]


def findings_of(document: Document, error: ValidationError, root: type[BaseModel]) -> list[Finding]:
    """Everything that a document of some record has wrong, each with its line."""
    return [_finding(document, each, root) for each in error.errors() if not _is_echo(each)]


def _finding(document: Document, detail: ErrorDetails, root: type[BaseModel]) -> Finding:
    """One pydantic error in the words of the person who wrote the file."""
    location, hint = _written_location(detail), ""
    misfit = detail.get("ctx", {}).get("error")
    if isinstance(misfit, FieldError):
        location = (*location, *misfit.field.split("."))
        return Finding(document.file, document.line(location), document.path(location), misfit.problem, misfit.hint)
    match detail["type"]:
        case "extra_forbidden":
            known, problem = _fields_at(location[:-1], root), "unknown field"
            hint = field_meant(str(location[-1]), known)
        case "missing":
            problem = "missing"
        case "too_short":
            problem = f"takes at least {_entries(detail['ctx']['min_length'])}, not {len(detail['input'])}"
        case "too_long":
            problem = f"takes at most {_entries(detail['ctx']['max_length'])}, not {len(detail['input'])}"
        case kind:
            problem = value_in_words(detail)
            hint = _fields_wanted(detail.get("input"), _fields_at(location, root)) if kind in _WANTS_FIELDS else ""
    return Finding(document.file, document.line(location), document.path(location), problem, hint)


def value_in_words(detail: ErrorDetails) -> str:
    """What is wrong with one value, as people say it."""
    kind = detail["type"]
    message = detail["msg"].removeprefix("Value error, ").replace("Input should be", "must be")
    message = PLAIN_WORDS.get(kind, message) if kind not in RANGES else _of_range(kind, detail["ctx"])
    shown = "" if kind == "value_error" else f", not {_shown(detail.get('input'))}"
    return message[0].lower() + message[1:] + shown


def _of_range(kind: str, limits: Mapping[str, float]) -> str:
    """What a number must be, with the limit as people write it."""
    words, limit = RANGES[kind]
    return f"must be {words} {exactly(limits[limit])}"


def _entries(count: int) -> str:
    """So many of a list."""
    return f"{count} entr{'y' if count == 1 else 'ies'}"


def _fields_wanted(given: object, fields: set[str]) -> str:
    """How to write it with fields: names alone are those to allow; where few fields belong, it helps to know them."""
    names = [given] if isinstance(given, str) else given
    if fields == set(AllowDeny.model_fields) and isinstance(names, list) and names:
        return f"write {{allow: [{some_of([str(name) for name in names])}]}}; its fields: allow, deny"
    return f"its fields: {', '.join(sorted(fields))}" if 0 < len(fields) <= _MOST_TOLD else ""


def _shown(value: object) -> str:
    # YAML makes dates of what looks like one
    text = "nothing" if value is None else str(value) if isinstance(value, date) else repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _written_location(detail: ErrorDetails) -> Location:
    """Where it stands in the file; a field nobody knows may be called like a branch of a union."""
    if not detail["loc"]:
        return ()
    *above, last = detail["loc"]
    steps = tuple(step for step in above if not _is_type_tag(step))
    return steps if _is_type_tag(last) and detail["type"] != "extra_forbidden" else (*steps, last)


def _is_type_tag(step: str | int) -> bool:
    """Pydantic names the branch of a union inside a location; people don't write it."""
    return isinstance(step, str) and ("[" in step or step in {"Latency"})


def _fields_at(location: Location, root: type[BaseModel]) -> set[str]:
    """The field names that may stand at a location of a document."""
    model: type[BaseModel] | None = root
    for step in location:
        if isinstance(step, str):
            if model is None or step not in model.model_fields:
                return set()
            model = record_in(model.model_fields[step].annotation)
    return set(model.model_fields) if model else set()

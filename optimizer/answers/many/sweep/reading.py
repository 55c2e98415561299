"""The sweep file: one scenario and what to set in it, every run checked before the first is worked out."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import product
from math import prod
from pathlib import Path
from typing import Any, Final

from optimizer.answers.many.sweep.types import SweepRun, SweepRuns
from optimizer.base.errors import Finding, InputError, did_you_mean
from optimizer.base.version import VERSION
from optimizer.inputs.catalog.loading import load_catalogs
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.requirements.stated import edited
from optimizer.inputs.scenario.checks import check_scenario
from optimizer.inputs.scenario.fields import FieldError
from optimizer.inputs.scenario.loading import find_scenario, read_document, scenario_in
from optimizer.inputs.scenario.scenario import Scenario
from optimizer.inputs.scenario.yaml_lines import Document, Location
from optimizer.performance.candidates.enumeration import uncalibrated_engines
from optimizer.plan.question.dependence import levels_of, what_is_considered
from optimizer.plan.question.price_free import differ_in_prices_only
from optimizer.plan.record.origin import asked as as_recorded
from optimizer.plan.record.origin import catalogs_sha256, content_sha256

CATALOGS: Final = "catalogs"
"""The path whose values are folders of catalog files, not fields of the scenario."""
SHIPPED: Final = "shipped"
GIVEN: Final = ""
"""What runs call the catalogs that the sweep was asked of."""
FIELDS: Final = ("scenario", "over", "cases")
MAX_RUNS: Final = 100_000
QUOTES: Final = 'within braces a path with brackets wants quotes: {"workloads[chat].users": [100, 200]}'
EXAMPLE: Final = "for instance over: {policy.confidence: [0.5, 0.9]}"


@dataclass(frozen=True)
class _Case:
    """What one run sets, and where the file says so."""

    inputs: dict[str, Any]
    places: dict[str, Location]


def load_sweep(path: Path, catalogs: Catalogs) -> SweepRuns:
    """Reads a sweep file and works out what each of its runs asks.

    Args:
        path: A YAML or JSON file with `scenario` and either `over` or `cases`; files in it are named from its folder,
            or as on the command line.
        catalogs: What is known, where a run does not name catalogs of its own.

    Returns:
        The runs in the order of the file; of a product, the last path changes first.

    Raises:
        InputError: every problem of every run, each with file, line and path.
    """
    document = _read(path)
    cases = _cases(document)
    name = document.content["scenario"]
    beside = path.parent / name
    source = beside if beside.is_file() else find_scenario(name)
    written = read_document(source)
    base = scenario_in(written, source.parent)
    known, findings = _known(cases, catalogs, path.parent, document)
    hashes = {each: catalogs_sha256(known[each], by_second=True) for each in known}
    alike = {each: _first_alike(known[each], known) for each in known}
    asked = Scenario.model_validate(written.content)
    runs = list[SweepRun]()
    for case in cases:
        own = case.inputs.get(CATALOGS, GIVEN)
        try:
            scenario = _changed(asked, case, written, source.parent, known.get(own))
            if own in known:
                runs.append(_run(case.inputs, scenario, own, alike[own], hashes[own]))
        except InputError as error:
            findings += [_relocated(finding, case, document) for finding in error.findings]
    if findings:
        raise InputError(findings)
    varied = tuple(dict.fromkeys(each for case in cases for each in case.inputs))
    return SweepRuns(base.scenario.name, varied, tuple(runs), known)


def _read(path: Path) -> Document:
    """The sweep file as it is written; a path with brackets is what breaks YAML most easily."""
    try:
        return read_document(path)
    except InputError as error:
        broken = (replace(each, hint=QUOTES) if "broken YAML" in each.problem else each for each in error.findings)
        raise InputError(broken) from error


def _cases(document: Document) -> list[_Case]:
    """What each run sets, as the file says it."""
    content, findings = document.content, list[Finding]()

    def refuse(location: Location, problem: str, hint: str = "") -> None:
        findings.append(Finding(document.file, document.line(location), document.path(location), problem, hint))

    if not isinstance(content, dict):
        refuse((), "a sweep is a mapping of fields", f"start with scenario: and over:, {EXAMPLE}")
        raise InputError(findings)
    for field in content:
        if field not in FIELDS:
            refuse((field,), "unknown field", did_you_mean(str(field), FIELDS) or f"known here: {', '.join(FIELDS)}")
    if not isinstance(content.get("scenario"), str):
        refuse(("scenario",), "names no scenario", "a file, or the name of a shipped scenario")
    over, cases = content.get("over"), content.get("cases")
    if (over is None) == (cases is None):
        refuse((), "give either over or cases", EXAMPLE)
    elif over is not None:
        _check_over(over, refuse)
    elif not isinstance(cases, list) or not cases or not all(isinstance(each, dict) and each for each in cases):
        refuse(("cases",), "expected a list of mappings", "for instance cases: [{policy.confidence: 0.5}]")
    for location, folder in _folders(over, cases):
        if not isinstance(folder, str) and folder is not None:
            refuse(location, "expected a folder of catalog files", f"or {SHIPPED}")
    if findings:
        raise InputError(findings)
    return list(_of_product(over) if over is not None else _of_list(cases or []))


def _check_over(over: Any, refuse: Any) -> None:
    """Lists of values by path, and no more runs than anybody waits for."""
    if not isinstance(over, dict) or not over:
        refuse(("over",), "expected paths with lists of values", EXAMPLE)
        return
    for path, values in over.items():
        if not isinstance(values, list) or not values:
            refuse(("over", path), "expected a list of values", f"for instance {path}: [{values}]")
    count = prod(len(values) for values in over.values() if isinstance(values, list))
    if count > MAX_RUNS:
        refuse(("over",), f"{count:,} runs are more than the {MAX_RUNS:,} of one sweep", "split it into several files")


def _folders(over: Any, cases: Any) -> Iterator[tuple[Location, Any]]:
    """Every value of the path `catalogs`, with its place."""
    listed = over.get(CATALOGS) if isinstance(over, dict) else None
    for position, folder in enumerate(listed if isinstance(listed, list) else []):
        yield ("over", CATALOGS, position), folder
    for position, case in enumerate(cases if isinstance(cases, list) else []):
        if isinstance(case, dict) and CATALOGS in case:
            yield ("cases", position, CATALOGS), case[CATALOGS]


def _of_product(over: Mapping[str, list[Any]]) -> Iterator[_Case]:
    axes = [[(path, at, value) for at, value in enumerate(values)] for path, values in over.items()]
    for chosen in product(*axes):
        inputs = {str(path): value for path, _, value in chosen}
        yield _Case(inputs, {str(path): ("over", path, at) for path, at, _ in chosen})


def _of_list(cases: Iterable[Mapping[str, Any]]) -> Iterator[_Case]:
    for at, case in enumerate(cases):
        yield _Case(
            {str(path): value for path, value in case.items()}, {str(path): ("cases", at, path) for path in case}
        )


def _known(
    cases: Iterable[_Case], given: Catalogs, beside: Path, document: Document
) -> tuple[dict[str, Catalogs], list[Finding]]:
    """The catalogs that runs name, by name, and what is wrong with those that cannot be read."""
    known, findings = {GIVEN: given}, list[Finding]()
    folders = {case.inputs[CATALOGS]: case.places[CATALOGS] for case in cases if CATALOGS in case.inputs}
    for folder, place in folders.items():
        try:
            known[folder] = _laid_over(folder, beside, document, place)
        except InputError as error:
            findings += error.findings
    return known, findings


def _laid_over(folder: str | None, beside: Path, document: Document, place: Location) -> Catalogs:
    """The shipped catalogs, under those of a folder where one is named."""
    if folder is None or folder == SHIPPED:
        return load_catalogs()
    own = beside / folder
    if not own.is_dir() and not Path(folder).is_dir():
        where = document.file, document.line(place), CATALOGS
        raise InputError([Finding(*where, f"no such folder: {folder}", "a folder of your own catalog files")])
    return load_catalogs(own if own.is_dir() else Path(folder))


def _changed(asked: Scenario, case: _Case, written: Document, folder: Path, catalogs: Catalogs | None) -> Scenario:
    """The scenario with this case's values in the place of its own, held against the catalogs where there are any."""
    values, findings = dict[str, Any](), list[Finding]()
    for path, value in case.inputs.items():
        try:
            if path != CATALOGS:
                edited(asked, {path: value})
                values[path] = value
        except FieldError as error:
            findings.append(Finding("", 0, error.field, error.problem, error.hint))
    try:
        document = replace(written, content=edited(asked, values))
        scenario = scenario_in(document, folder, catalogs).scenario
        if catalogs is not None:
            findings += [*check_scenario(scenario, catalogs), *uncalibrated_engines(scenario.policy, catalogs)]
    except InputError as error:
        findings += error.findings
    if findings:
        raise InputError(findings)
    return scenario


def _first_alike(catalogs: Catalogs, known: Mapping[str, Catalogs]) -> str:
    """The first catalogs that differ from these in prices only, on which predictions are the same."""
    return next(name for name, each in known.items() if differ_in_prices_only(each, catalogs))


def _run(inputs: dict[str, Any], scenario: Scenario, catalogs: str, alike: str, hashes: Mapping[str, str]) -> SweepRun:
    predictions = (alike, scenario.promises_latency, what_is_considered(scenario))
    return SweepRun(
        key=content_sha256([VERSION, as_recorded(scenario), hashes]),
        inputs=inputs,
        scenario=scenario,
        catalogs=catalogs,
        predictions=content_sha256(repr(predictions)),
        levels=repr(levels_of(scenario)),
    )


def _relocated(finding: Finding, case: _Case, document: Document) -> Finding:
    """A problem of a changed scenario at the line of the sweep that makes it: of the path nearest to its field."""
    touching = [path for path in case.places if finding.field.startswith(path) or path.startswith(finding.field)]
    path = max(touching or case.places, key=lambda each: (len(each), each))
    line = document.line(case.places[path])
    return replace(finding, file=document.file, line=line, field=finding.field or path)

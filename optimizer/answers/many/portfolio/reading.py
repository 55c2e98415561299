"""A folder of scenarios and its `portfolio.yaml`: every problem of all of them at once."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

from pydantic import ValidationError

from optimizer.answers.many.portfolio.types import PortfolioFiles
from optimizer.base.errors import Finding, InputError, refuse
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.scenario.checks import check_scenario
from optimizer.inputs.scenario.loading import ScenarioFile, findings_of, load_scenario_file, read_document
from optimizer.inputs.scenario.names import unknown_names, with_unknown_names
from optimizer.inputs.scenario.portfolio import Portfolio
from optimizer.inputs.scenario.yaml_lines import Document
from optimizer.performance.candidates.enumeration import uncalibrated_engines
from optimizer.plan.portfolio.pools import check_pools

SUFFIXES: Final = (".json", ".yaml", ".yml")
SHARED: Final = "portfolio"
"""The file of that name says what the others share."""


def load_portfolio(folder: str | Path, catalogs: Catalogs) -> PortfolioFiles:
    """Reads a folder of scenarios and what they share.

    Args:
        folder: With scenario files, and `portfolio.yaml` where they share anything.
        catalogs: What is known.

    Returns:
        The scenarios in the order of their files, their names distinct, and what they share.

    Raises:
        InputError: every problem found, each with file, line and field.
    """
    path = Path(folder)
    if not path.is_dir():
        raise InputError([Finding(str(folder), 0, "", "no such folder", "a folder of scenario files")])
    found = [file for file in sorted(path.iterdir()) if file.suffix in SUFFIXES and file.is_file()]
    shared = [file for file in found if file.stem == SHARED]
    findings = list[Finding]()
    portfolio, document, files = Portfolio(), None, list[ScenarioFile]()
    try:
        if shared:
            portfolio, document = _shared(shared[0], catalogs)
    except InputError as error:
        findings += error.findings
    for file in found:
        try:
            if file not in shared:
                files.append(_scenario(file, catalogs))
        except InputError as error:
            findings += error.findings
    if not files and not findings:
        findings.append(Finding(str(folder), 0, "", "no scenario in this folder", f"they end in {', '.join(SUFFIXES)}"))
    findings += _repeated(files)
    if len(shared) > 1:
        findings.append(Finding(str(shared[1]), 0, "", f"{shared[0].name} is there already", "keep one of them"))
    refuse(findings)
    return PortfolioFiles(portfolio.name or path.resolve().name, tuple(files), portfolio, document)


def _shared(path: Path, catalogs: Catalogs) -> tuple[Portfolio, Document]:
    document = read_document(path)
    if not isinstance(document.content, dict):
        problem, hint = "a portfolio is a mapping of fields", "for instance max_monthly_usd: 20000"
        raise InputError([Finding(document.file, 1, "", problem, hint)])
    try:
        portfolio = Portfolio.model_validate(document.content)
    except ValidationError as error:
        wrong = findings_of(document, error, Portfolio)
        raise InputError(with_unknown_names(wrong, document, Portfolio, catalogs)) from error
    lines = {document.path(location): line for location, line in document.lines.items()}
    pools = (replace(f, file=document.file, line=lines.get(f.field, 1)) for f in check_pools(portfolio, catalogs))
    found = [*unknown_names(document, Portfolio, catalogs), *pools]
    if found:
        raise InputError(found)
    return portfolio, document


def _scenario(path: Path, catalogs: Catalogs) -> ScenarioFile:
    file = load_scenario_file(str(path), catalogs)
    findings = [*check_scenario(file.scenario, catalogs), *uncalibrated_engines(file.scenario.policy, catalogs)]
    if findings:
        raise InputError(file.located(findings))
    return file


def _repeated(files: list[ScenarioFile]) -> Iterator[Finding]:
    """Scenarios of the same name, which nobody could tell apart in an answer."""
    count = Counter(file.scenario.name for file in files)
    for file in files:
        if count[file.scenario.name] > 1:
            problem = f"another scenario of the folder is called {file.scenario.name}, too"
            yield Finding(file.document.file, file.document.line(("name",)), "name", problem, "name them apart")

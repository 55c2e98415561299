"""The question that most commands start from: a scenario and the catalogs, known to fit each other."""

from pathlib import Path

from optimizer.base.errors import InputError
from optimizer.inputs.catalog.loading import load_catalogs
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.scenario.checks import check_scenario
from optimizer.inputs.scenario.loading import ScenarioFile, load_scenario_file
from optimizer.performance.candidates.enumeration import uncalibrated_engines


def question(scenario: str, catalogs: Path | None) -> tuple[ScenarioFile, Catalogs]:
    """A scenario by file or shipped name, and the catalogs.

    Raises:
        InputError: one can't be read, or the scenario names what the catalogs do not know, with its lines.
    """
    file, known = load_scenario_file(scenario), load_catalogs(catalogs)
    findings = (*check_scenario(file.scenario, known), *uncalibrated_engines(file.scenario.policy, known))
    if findings:
        raise InputError(file.located(findings))
    return file, known

"""A scenario held against the catalogs: what every question about one begins with."""

from optimizer.base.errors import InputError
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.scenario.checks import check_scenario
from optimizer.inputs.scenario.loading import ScenarioFile
from optimizer.performance.candidates.enumeration import uncalibrated_engines


def fitted(file: ScenarioFile, catalogs: Catalogs) -> ScenarioFile:
    """The scenario, read with the catalogs, known to fit them.

    Raises:
        InputError: it names what the catalogs do not know, with its lines.
    """
    policy = file.scenario.policy
    findings = (*check_scenario(file.scenario, catalogs), *uncalibrated_engines(policy, catalogs))
    if findings:
        raise InputError(file.located(findings))
    return file

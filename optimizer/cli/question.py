"""The question that most commands start from: a scenario and the catalogs, known to fit each other, and a watcher."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bar

from optimizer.base.errors import InputError
from optimizer.base.progress import Progress
from optimizer.cli.options import check_writable
from optimizer.inputs.catalog.loading import load_catalogs
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.scenario.checks import check_scenario
from optimizer.inputs.scenario.loading import ScenarioFile, load_scenario_file
from optimizer.inputs.scenario.scenario import Scenario
from optimizer.performance.candidates.enumeration import uncalibrated_engines


@dataclass(frozen=True)
class CommandInputs:
    """A scenario that still knows its lines, and what is known."""

    file: ScenarioFile
    catalogs: Catalogs

    @property
    def scenario(self) -> Scenario:
        """As it was read."""
        return self.file.scenario


def question(scenario: str, catalogs: Path | None, output: Path | None) -> CommandInputs:
    """A scenario by file or shipped name, and the shipped catalogs under the user's own.

    Raises:
        InputError: the output could not be written, an input can't be read, or the scenario names what the catalogs do
            not know, with its lines.
    """
    check_writable(output)
    file, known = load_scenario_file(scenario), load_catalogs(catalogs)
    findings = (*check_scenario(file.scenario, known), *uncalibrated_engines(file.scenario.policy, known))
    if findings:
        raise InputError(file.located(findings))
    return CommandInputs(file, known)


@contextmanager
def watched(steps: Sequence[str], quiet: bool) -> Iterator[Progress | None]:
    """A bar on stderr, to be told the name of each step as it begins; None where no terminal would show it."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("reading", total=len(steps))
        yield lambda step: bar.update(task, description=step, completed=steps.index(step))

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


class ProgressBar:
    """A bar on stderr: told the name of each step as it begins, and what is known of the plan by then."""

    def __init__(self, bar: Bar, steps: Sequence[str]) -> None:
        self._bar, self._steps, self._task = bar, steps, bar.add_task("reading", total=len(steps), known="")

    def __call__(self, step: str) -> None:
        """A step begins."""
        self._bar.update(self._task, description=step, completed=self._steps.index(step))

    def best_and_bound(self, best_usd: float | None, bound_usd: float) -> None:
        """The month of the best plan so far, where there is one, and what no plan undercuts."""
        best = "no plan yet" if best_usd is None else f"best ${best_usd:,.2f}"
        self._bar.update(self._task, known=f"{best}, none below ${max(bound_usd, 0.0):,.2f}")


@contextmanager
def watched(steps: Sequence[str], quiet: bool) -> Iterator[ProgressBar | None]:
    """A bar on stderr; None where no terminal would show it."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn(), TextColumn("{task.fields[known]}"))
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        yield ProgressBar(bar, steps)

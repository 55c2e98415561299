"""The question that most commands start from: a scenario and the catalogs, known to fit each other."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from optimizer.base.errors import InputError
from optimizer.cli import calls
from optimizer.cli.options import check_writable


@dataclass(frozen=True)
class CommandInputs:
    """A scenario that still knows its lines, and what is known."""

    file: "calls.ScenarioFile"
    catalogs: "calls.Catalogs"

    @property
    def scenario(self) -> "calls.Scenario":
        """As it was read."""
        return self.file.scenario


def question(scenario: str, catalogs: Path | None, *outputs: Path | None) -> CommandInputs:
    """A scenario by file or shipped name, and the shipped catalogs under the user's own.

    Raises:
        InputError: an output could not be written, an input can't be read, or the scenario names what the catalogs do
            not know, with its lines.
    """
    path = calls.find_scenario(scenario)
    document, known = calls.read_document(path), calls.load_catalogs(catalogs)
    file = calls.scenario_in(document, path.parent, known)
    check_writable(*outputs)
    return CommandInputs(calls.fitted(file, known), known)


@contextmanager
def about_plan(path: Path) -> Iterator[None]:
    """What is found wrong with a plan within leaves with the file that it stands in."""
    try:
        yield
    except InputError as error:
        raise InputError(
            replace(found, file=str(path)) if found.file == "plan" else found for found in error.findings
        ) from error

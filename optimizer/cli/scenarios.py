"""The scenarios that a command about several is asked about: files, folders of them and shipped names."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from optimizer.base.errors import Finding, InputError, refuse
from optimizer.cli import calls

SUFFIXES = frozenset({".yaml", ".yml", ".json"})


def loaded(names: Sequence[str], catalogs: "calls.Catalogs") -> "list[calls.ScenarioFile]":
    """Every scenario named, folders opened, with what the catalogs say of `reasoning`.

    Raises:
        InputError: a scenario cannot be read, or a folder holds none; the problems of all of them at once.
    """
    findings: list[Finding] = []
    files: list[calls.ScenarioFile] = []
    for name in dict.fromkeys(each for given in names for each in _opened(given)):
        try:
            files.append(calls.load_scenario_file(name, catalogs))
        except InputError as error:
            findings.extend(error.findings)
    refuse(findings)
    return files


def _opened(name: str) -> Iterator[str]:
    """The scenario files of a folder, sorted; anything else is its own name."""
    folder = Path(name)
    if not folder.is_dir():
        yield name
        return
    found = [str(path) for path in sorted(folder.iterdir()) if path.suffix in SUFFIXES and path.is_file()]
    if not found:
        raise InputError(
            [Finding(name, 0, "", "no scenario in this folder", f"they end in {', '.join(sorted(SUFFIXES))}")]
        )
    yield from found

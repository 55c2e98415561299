"""The text of a scenario, in whichever of three ways it is given: as text, as an object, by a shipped name."""

import json
from collections.abc import Mapping

from optimizer.base.errors import Finding, InputError
from optimizer.inputs.catalog.shipped import shipped_dir
from optimizer.serve.jobs.question import SCENARIO


def scenario_text(given: object) -> str:
    """The text of a scenario: as it stands, written out where it is an object, or of the shipped one of that name.

    Raises:
        InputError: it is neither text nor an object.
    """
    if given is None:
        return ""
    if isinstance(given, str):
        return shipped_scenarios().get(given.strip()) or given
    if isinstance(given, Mapping):
        return json.dumps(given, indent=2, ensure_ascii=False)
    raise InputError([Finding(SCENARIO, 0, "", "expected an object, or text in YAML or JSON")])


def shipped_scenarios() -> dict[str, str]:
    """The text of each shipped scenario by its name."""
    return {file.stem: file.read_text(encoding="utf-8") for file in sorted(shipped_dir("scenarios").glob("*.yaml"))}

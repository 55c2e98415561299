"""The text of a scenario, in whichever of three ways it is given: as text, as an object, by a shipped name."""

import json
import re
from collections.abc import Mapping
from typing import Final

from optimizer.base.errors import Finding, InputError, did_you_mean
from optimizer.inputs.catalog.shipped import shipped_dir
from optimizer.serve.jobs.question import SCENARIO

NAME: Final = re.compile(r"[\w.-]{1,100}")
"""What a name looks like and a scenario does not, which has fields."""


def scenario_text(given: object) -> str:
    """The text of a scenario: as it stands, written out where it is an object, or of the shipped one of that name.

    Raises:
        InputError: it is neither text nor an object, or a name that no shipped scenario has.
    """
    if given is None:
        return ""
    if isinstance(given, str):
        return _named(given.strip()) or given
    if isinstance(given, Mapping):
        return json.dumps(given, indent=2, ensure_ascii=False)
    raise InputError([Finding(SCENARIO, 0, "", "expected an object, or text in YAML or JSON")])


def _named(name: str) -> str | None:
    """The text of the shipped scenario of that name; None of what is itself a scenario's text."""
    if not NAME.fullmatch(name):
        return None
    shipped = shipped_scenarios()
    if name not in shipped:
        hint = did_you_mean(name, shipped) or "send any other as its text"
        raise InputError([Finding(SCENARIO, 0, "", f"no shipped scenario is called {name}", hint)])
    return shipped[name]


def shipped_scenarios() -> dict[str, str]:
    """The text of each shipped scenario by its name."""
    return {file.stem: file.read_text(encoding="utf-8") for file in sorted(shipped_dir("scenarios").glob("*.yaml"))}

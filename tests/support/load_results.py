"""Result files of load generators as their tools write them, whole and with a change."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

from optimizer.inputs.importing.load_results.reading import read_results
from optimizer.inputs.importing.load_results.record import LoadResult
from support.paths import ROOT

SAMPLES = ROOT / "tests" / "data" / "load_results"
"""Keys, units and nesting are the tools' own; most figures are invented."""


def sample(name: str) -> tuple[LoadResult, ...]:
    """The runs of a sample."""
    return read_results(SAMPLES / name)


def only(name: str) -> LoadResult:
    """The run of a sample that holds one."""
    (result,) = sample(name)
    return result


def content_of(name: str) -> Any:
    """What a sample in JSON or YAML holds."""
    text = (SAMPLES / name).read_text(encoding="utf-8")
    return yaml.safe_load(text) if name.endswith(".yaml") else json.loads(text)


def written(name: str, change: Callable[[Any], object], folder: Path) -> Path:
    """A file like a sample in JSON or YAML, with a change."""
    content = content_of(name)
    change(content)
    (folder / name).write_text(json.dumps(content), encoding="utf-8")
    return folder / name

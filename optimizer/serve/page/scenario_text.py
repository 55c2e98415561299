"""The text of a scenario as fields that can be read and set; the form, the sliders and the ways out write by it."""

from collections.abc import Mapping
from copy import deepcopy
from itertools import count
from typing import Any, Final

import yaml

from optimizer.base.errors import Finding, InputError
from optimizer.inputs.requirements.stated import PATH_STEP, set_field
from optimizer.inputs.scenario.yaml_lines import parse
from optimizer.serve.jobs.question import SCENARIO

BARE_STATISTIC: Final[Mapping[str, str]] = {"ttft_ms": "p95", "tpot_ms": "mean", "e2e_ms": "p95"}
"""What a latency without a statistic limits, as `slo` reads it."""
LINE_WIDTH: Final = 92


def content_of(text: str) -> dict[str, Any]:
    """The fields of a scenario's text, latencies by statistic; empty where it is no mapping.

    Raises:
        InputError: it cannot be read, with the line.
    """
    content = parse(text, SCENARIO).content
    if not isinstance(content, dict):
        return {}
    for workload in _workloads(content):
        promised = workload.get("slo")
        if isinstance(promised, dict):
            for latency, statistic in BARE_STATISTIC.items():
                if isinstance(promised.get(latency), int | float):
                    promised[latency] = {statistic: promised[latency]}
    return content


def workload_steps(content: Mapping[str, Any]) -> tuple[str, ...]:
    """How a path names each workload: by its name, or by its place where it has none."""
    return tuple(str(workload.get("name", at)) for at, workload in enumerate(_workloads(content)))


def value_at(content: Mapping[str, Any], path: str) -> Any:
    """What stands at a path such as `workloads[chat].slo.ttft_ms.p95`; None where nothing does."""
    node: Any = content
    for step in PATH_STEP.findall(path):
        if step.startswith("["):
            entries = [item for item in node if isinstance(item, dict)] if isinstance(node, list) else []
            named = (item for at, item in enumerate(entries) if str(item.get("name", at)) == step[1:-1])
            node = next(named, None)
        else:
            node = node.get(step) if isinstance(node, dict) else None
    return node


def with_values(text: str, values: Mapping[str, Any]) -> str:
    """The text with fields set anew, None removing one; where nothing changes, the very text that was given.

    The comment at its head stays; those between fields are not kept.

    Raises:
        InputError: the text cannot be read.
        FieldError: a path leads to no field.
    """
    content = content_of(text)
    if all(value_at(content, path) == value for path, value in values.items()):
        return text
    for path, value in values.items():
        set_field(content, path, value)
    return _written(text, content)


def with_workload(text: str, at: int) -> str:
    """The text with one workload more: the same as that at a position, behind it, under a name of its own.

    Raises:
        InputError: the text cannot be read.
    """
    content = content_of(text)
    listed, like = _workload_at(content, at)
    name, taken = str(like.get("name", "workload")), workload_steps(content)
    free = next(f"{name}-{number}" for number in count(2) if f"{name}-{number}" not in taken)
    listed.insert(listed.index(like) + 1, {**deepcopy(like), "name": free})
    return _written(text, content)


def without_workload(text: str, at: int) -> str:
    """The text without the workload at a position; the only one stays.

    Raises:
        InputError: the text cannot be read.
    """
    content = content_of(text)
    listed, leaving = _workload_at(content, at)
    if len(listed) > 1:
        listed.remove(leaving)
    return _written(text, content)


def _workload_at(content: Mapping[str, Any], at: int) -> tuple[list[Any], dict[str, Any]]:
    """The list of the workloads, and the one at a position."""
    found = _workloads(content)
    if not 0 <= at < len(found):
        raise InputError(
            [Finding(SCENARIO, 1, "workloads", f"there is none at position {at}", "write one in the text")]
        )
    return content["workloads"], found[at]


def _written(text: str, content: Mapping[str, Any]) -> str:
    """Fields as text, below the comment at the head of the text that they came from."""
    written = yaml.safe_dump(content, sort_keys=False, allow_unicode=True, default_flow_style=None, width=LINE_WIDTH)
    return _head_comment(text) + written


def _head_comment(text: str) -> str:
    """The comment lines above the first field."""
    lines = text.splitlines(keepends=True)
    end = next((at for at, line in enumerate(lines) if not line.startswith("#")), len(lines))
    return "".join(lines[:end])


def _workloads(content: Mapping[str, Any]) -> list[dict[str, Any]]:
    listed = content.get("workloads")
    return [item for item in listed if isinstance(item, dict)] if isinstance(listed, list) else []

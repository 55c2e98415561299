"""Facts that a tool does not know and its user gave as labels: `--metadata gpu=l4 tp=1`, `--label gpu=l4`."""

import re
from collections.abc import Collection, Mapping
from typing import Any, Final

from optimizer.inputs.importing.load_results.fields import RunFields
from optimizer.inputs.importing.load_results.record import FACTS

COUNTS: Final = ("num_gpus", "tp", "pp", "ep", "dp")

ENGINES: Final[Mapping[str, str]] = {
    "vllm": "vllm",
    "sglang": "sglang",
    "tensorrt-llm": "tensorrt-llm",
    "trtllm": "tensorrt-llm",
    "trt": "tensorrt-llm",
    "llama.cpp": "llama.cpp",
    "tgi": "tgi",
}
"""Engines by what tools call them. Any other name (`openai`, `custom`) says how the client spoke, not what served."""

_VERSIONED: Final = re.compile(r"(?P<engine>[a-z.-]+?)[-_@: ]v?(?P<version>\d[\w.+-]*)")


def engine_of(name: str | None) -> dict[str, str]:
    """The engine that a name stands for, and its version where the name ends in one (`vllm-0.33.0`)."""
    folded = (name or "").strip().casefold()
    versioned = _VERSIONED.fullmatch(folded)
    engine = ENGINES.get(versioned["engine"] if versioned else folded)
    if engine is None:
        return {}
    return {"engine": engine, "engine_version": versioned["version"]} if versioned else {"engine": engine}


def labelled_facts(labels: Mapping[str, str], given: RunFields) -> dict[str, Any]:
    """The facts of `FACTS` among a run's labels; a label that must be a number and is none is a finding of `given`."""
    facts: dict[str, Any] = engine_of(labels.get("engine"))
    own = RunFields(given.file, given.run, given.line, labels, as_text=True, findings=given.findings)
    for name in _without(FACTS, "engine"):
        value = own.count(name, least=1) if name in COUNTS else own.text(name)
        if value is not None:
            facts[name] = value
    return facts


def _without(names: Collection[str], left_out: str) -> tuple[str, ...]:
    return tuple(name for name in names if name != left_out)

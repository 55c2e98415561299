"""What a run measured, as its file and its reader's options say it together: nothing is guessed, nothing overruled."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, get_args

from pydantic import ValidationError

from optimizer.base.errors import InputError, did_you_mean
from optimizer.base.figures import exactly
from optimizer.inputs.catalog.entries.engines import Draft, DraftMethod
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.importing.load_results.record import Flaw, Load, LoadResult
from optimizer.inputs.importing.names import Names, names_of

OPTIONS: Final[Mapping[str, str]] = {
    "model": "--model",
    "engine": "--engine",
    "engine_version": "--engine-version",
    "gpu": "--gpu",
    "num_gpus": "--num-gpus",
    "tp": "--tensor-parallel",
    "pp": "--pipeline-parallel",
    "ep": "--expert-parallel",
    "dp": "--data-parallel",
    "weight_precision": "--precision",
    "kv_precision": "--kv-precision",
    "speculation": "--speculation",
    "accepted_tokens": "--accepted-tokens",
    "input_tokens": "--input-tokens",
    "output_tokens": "--output-tokens",
    "load": "--request-rate or --concurrency",
}
"""The option that says what a file does not."""

WORDS: Final[Mapping[str, str]] = {
    "gpu": "GPU",
    "num_gpus": "number of GPUs",
    "tp": "tensor parallel degree",
    "pp": "pipeline parallel degree",
    "ep": "expert parallel degree",
    "dp": "data parallel degree",
    "kv_precision": "KV precision",
}
"""RunFacts in words, where they are not the name with blanks."""

NEEDED: Final = ("model", "engine", "gpu", "tp", "weight_precision", "input_tokens", "output_tokens", "load")
"""Without these a measurement is of nothing in particular."""

_VERSION: Final = re.compile(r"\w[\w.+-]*")

Meaning = Callable[[Any], tuple[Any, ...]]
"""What a name may stand for: one thing where it is clear, none where nobody recorded the name."""


@dataclass(frozen=True)
class RunFacts:
    """What was measured, by the names of `OPTIONS`; None where nobody says. Flaws where that is unclear."""

    values: Mapping[str, Any]
    flaws: tuple[Flaw, ...]


class Reader:
    """Holds what files say of their runs against what their reader says and what the catalogs know.

    Args:
        catalogs: What is known.
        told: What the reader says of every run, by the names of `OPTIONS`; `load` is a `Load`.
    """

    def __init__(self, catalogs: Catalogs, told: Mapping[str, Any]) -> None:
        self._told = told
        names = names_of(catalogs)
        vendors = {gpu.vendor for gpu in catalogs.gpus.values()}
        kv_precisions = {precision for engine in catalogs.engines.values() for precision in engine.kv_precisions}
        self._meanings: Mapping[str, Meaning] = {
            "model": lambda name: _models(name, catalogs),
            "gpu": lambda name: _gpus(name, names, vendors),
            "engine": lambda name: _among(name, catalogs.engines),
            "engine_version": lambda name: (name,) if _VERSION.fullmatch(name) else (),
            "weight_precision": lambda name: _among(name, catalogs.schemes),
            "kv_precision": lambda name: _among(name, kv_precisions),
            "speculation": _drafts,
        }
        self._known = {
            "model": (*catalogs.models, *(alias.hf_id for alias in catalogs.aliases.values())),
            "engine": tuple(catalogs.engines),
            "engine_version": tuple(engine.newest_version for engine in catalogs.engines.values()),
            "weight_precision": tuple(catalogs.schemes),
            "kv_precision": tuple(sorted(kv_precisions)),
            "speculation": get_args(DraftMethod),
        }

    def facts_of(self, result: LoadResult) -> RunFacts:
        """Everything that is known of what a run measured."""
        flaws: list[Flaw] = []
        values: dict[str, Any] = {}
        missing = []
        for name in OPTIONS:
            before = len(flaws)
            values[name] = self._fact(name, getattr(result, name), flaws)
            if values[name] is None and name in NEEDED and len(flaws) == before:
                missing.append(name)
        if missing:
            problem = f"does not say its {', '.join(map(_words, missing))}"
            flaws.append(Flaw(problem, f"say it with {', '.join(OPTIONS[name] for name in missing)}"))
        return RunFacts(values, tuple(flaws))

    def _fact(self, name: str, said: Any, flaws: list[Flaw]) -> Any:
        """One fact. An option says what a name in the file stands for, and never contradicts it."""
        told = self._told.get(name)
        means = self._meanings.get(name, lambda value: (value,))
        said_means = () if said is None else means(said)
        told_means = () if told is None else means(told)
        if told is not None and len(told_means) != 1:
            flaws.append(Flaw(f"{OPTIONS[name]} '{told}' {self._unclear(name, told, told_means)}", "name one of ours"))
        elif told is not None and said_means and told_means[0] not in said_means:
            problem = f"says {_shown(said)} where {OPTIONS[name]} says {_shown(told)}"
            flaws.append(Flaw(f"{_words(name)}: it {problem}", "leave the option out for this file"))
        elif told is None and said is not None and len(said_means) != 1:
            problem = f"its {_words(name)} '{said}' {self._unclear(name, said, said_means)}"
            flaws.append(Flaw(problem, f"say what it is with {OPTIONS[name]}"))
        elif name == "model":
            # a published name may stand for a variant with a context and vocabulary of its own
            return said if said_means else told
        else:
            return told_means[0] if told_means else said_means[0] if said_means else None
        return None

    def _unclear(self, name: str, text: str, means: tuple[str, ...]) -> str:
        if means:
            return f"may be {' or '.join(means)}"
        near = "" if name == "gpu" else did_you_mean(text, self._known[name])
        return f"is not known{f': {near}' if near else ''}"


def _models(name: str, catalogs: Catalogs) -> tuple[str, ...]:
    try:
        return (catalogs.model(name).id,)
    except InputError:
        return ()


def _gpus(name: str, names: Names, vendors: set[str]) -> tuple[str, ...]:
    """GPUs of that name, with its vendor before it or without: drivers write `NVIDIA L4`."""
    vendor, _, rest = name.replace("-", " ").partition(" ")
    for written in (name, rest if vendor.casefold() in vendors else name):
        found = names.gpu(written, None, provider="", instance_type=written)
        if found:
            return (found,) if isinstance(found, str) else found
    return ()


def _drafts(name: str) -> tuple[str, ...]:
    try:
        return (Draft.model_validate(name).name,)
    except ValidationError:
        return ()


def _among(name: str, known: Any) -> tuple[str, ...]:
    return (name.casefold(),) if name.casefold() in known else ()


def _words(name: str) -> str:
    return WORDS.get(name, name.replace("_", " "))


def _shown(value: Any) -> str:
    if isinstance(value, Load):
        return f"{value.type} {exactly(value.value)}" if value.value is not None else value.type
    return exactly(value) if isinstance(value, float) else str(value)

"""Results of load generators made measurements of ours; what cannot be one is refused with its reason."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any, Final

import numpy as np

from optimizer.answers.accuracy.told import Reader
from optimizer.base.errors import Finding, InputError
from optimizer.base.figures import EXACT_DIGITS
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.importing.load_results.copies import without_copies
from optimizer.inputs.importing.load_results.fitness import doubts, unfit
from optimizer.inputs.importing.load_results.reading import read_results
from optimizer.inputs.importing.load_results.record import FACTS, STATISTICS, Flaw, LoadResult

ASSUMED: Final[Mapping[str, str]] = {
    "engine_version": "engine version not stated: predictions take the newest",
    "kv_precision": "KV precision not stated: predictions take the engine's usual one",
}

LEAST_OUTPUT_TOKENS: Final = 16
"""In a shorter answer the gap between tokens is mostly that of its first ones."""

SHORT: Final = f"fewer than {LEAST_OUTPUT_TOKENS} output tokens"
OWN: Final = "own"


@dataclass(frozen=True)
class ImportedRun:
    """A run that became a measurement.

    Attributes:
        result: As it was read.
        row: The measurement's cells by column.
        notes: What was left out, assumed or is in doubt.
    """

    result: LoadResult
    row: Mapping[str, str]
    notes: tuple[str, ...]


@dataclass(frozen=True)
class ImportedMeasurements:
    """Files of results as measurements.

    Attributes:
        runs: What was taken in, in the order it stands.
        refused: Everything that speaks against the others, with how to mend it.
        refused_runs: How many runs, and files that could not be read, those are.
    """

    runs: tuple[ImportedRun, ...]
    refused: tuple[Finding, ...]
    refused_runs: int


def import_measurements(
    paths: Iterable[Path], catalogs: Catalogs, told: Mapping[str, Any] | None = None, *, source: str = OWN
) -> ImportedMeasurements:
    """Reads files of results and says of every run what became of it.

    Args:
        paths: Result files of any tool.
        catalogs: What is known.
        told: What the files do not say, by its column in a measurement file: gpu, tp, weight_precision and so on.
        source: What the measurements are called.

    Returns:
        The runs that became measurements, and what speaks against the others.

    Raises:
        InputError: no run can be taken in, with every reason.
    """
    reader = Reader(catalogs, told or {})
    runs: list[ImportedRun] = []
    results, refused = _read(paths)
    for result in without_copies(results):
        taken = _taken(result, reader, source)
        if isinstance(taken, ImportedRun):
            runs.append(taken)
        else:
            refused.append(taken)
    findings = tuple(finding for of_run in refused for finding in of_run)
    if not runs:
        raise InputError(findings)
    return ImportedMeasurements(tuple(runs), findings, len(refused))


def _read(paths: Iterable[Path]) -> tuple[list[LoadResult], list[tuple[Finding, ...]]]:
    """Every run of every file that can be read, and what speaks against the others."""
    results: list[LoadResult] = []
    refused: list[tuple[Finding, ...]] = []
    for path in paths:
        try:
            results += read_results(path)
        except InputError as error:
            refused.append(error.findings)
    return results, refused


def _taken(result: LoadResult, reader: Reader, source: str) -> ImportedRun | tuple[Finding, ...]:
    """The run as a measurement, or everything that speaks against it."""
    facts = reader.facts_of(result)
    flaws = [*unfit(result), *facts.flaws]
    gpus, uneven = _gpu_count(facts.values, result.attention_dp)
    flaws += uneven
    if not (result.ttft_ms or result.tpot_ms or result.output_tokens_per_s):
        flaws.append(Flaw("holds neither a latency nor a throughput", "measure with streamed answers"))
    if flaws:
        return tuple(result.finding(flaw) for flaw in flaws)
    assumed = (note for name, note in ASSUMED.items() if facts.values[name] is None)
    notes = (*result.notes, *doubts(result), *assumed)
    row = {"source": source, "source_ref": _reference(result), **_cells(result, {**facts.values, "num_gpus": gpus})}
    return ImportedRun(result, {**row, "notes": "; ".join(notes)}, notes)


def _gpu_count(facts: Mapping[str, Any], attention_dp: bool | None) -> tuple[int | None, tuple[Flaw, ...]]:
    """GPUs of the whole deployment: as stated, else by its degrees; ranks of attention share those of a replica."""
    degrees = ("tp", "pp") if attention_dp else ("tp", "pp", "dp")
    stated, by_degrees = facts["num_gpus"], prod(facts[name] or 1 for name in degrees)
    if facts["tp"] is None or stated is None:
        return by_degrees, ()
    if stated < by_degrees:
        problem = f"{stated} GPUs are fewer than its degrees of parallelism take: {by_degrees}"
        return stated, (Flaw(problem, "mend the labels of the run"),)
    if stated % by_degrees:
        problem = f"{stated} GPUs are no whole number of replicas of {by_degrees}"
        return stated, (Flaw(problem, "mend the labels of the run"),)
    return stated, ()


def _reference(result: LoadResult) -> str:
    name = Path(result.file).name
    return f"{name} {result.run}" if result.run else name


def _cells(result: LoadResult, facts: Mapping[str, Any]) -> dict[str, str]:
    """The row by the columns of `catalogs/measurements.csv`, a blank cell where nothing is known."""
    load = facts["load"]
    values = {
        **{name: facts[name] for name in FACTS},
        "accepted_tokens": facts["accepted_tokens"],
        "attention_dp": 1 if result.attention_dp else None,
        "input_tokens": facts["input_tokens"],
        "output_tokens": facts["output_tokens"],
        "load_type": load.type,
        "load_value": load.value,
        "num_requests": result.requests_offered or result.requests_completed,
        "max_num_seqs": result.max_num_seqs,
        **{f"ttft_ms_{name}": result.ttft_ms.get(name) for name in STATISTICS},
        **{f"tpot_ms_{name}": result.tpot_ms.get(name) for name in STATISTICS},
        "request_throughput": result.requests_per_s,
        "output_tok_s": result.output_tokens_per_s,
        "exclude_tpot": SHORT if facts["output_tokens"] < LEAST_OUTPUT_TOKENS else None,
    }
    return {name: _cell(value) for name, value in values.items()}


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if not isinstance(value, float):
        return str(value)
    return np.format_float_positional(value, precision=EXACT_DIGITS, fractional=False, trim="-")

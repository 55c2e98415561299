"""A file of results, whichever tool wrote it: its format known by its keys, every run as one record."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from optimizer.base.errors import Finding, refuse
from optimizer.inputs.importing.load_results.fields import RunFields
from optimizer.inputs.importing.load_results.files import runs_of
from optimizer.inputs.importing.load_results.formats import (
    aiperf,
    genai_perf,
    guidellm,
    inference_perf,
    inferencex,
    llmd,
    llmperf,
    mlperf,
    sglang,
    vllm,
)
from optimizer.inputs.importing.load_results.record import LoadResult


class ResultFormat(NamedTuple):
    """A kind of result file.

    Attributes:
        name: What users call it.
        recognizes: Whether a run's fields are of this kind, whatever its version.
        read: The results in it; what cannot be read becomes a finding of the fields.
    """

    name: str
    recognizes: Callable[[Mapping[str, Any]], bool]
    read: Callable[[RunFields], Iterator[LoadResult]]


FORMATS: Final = (
    ResultFormat("vLLM's bench serve (0.33)", vllm.recognizes, vllm.read),
    ResultFormat("SGLang's benchmark (0.5.23)", sglang.recognizes, sglang.read),
    ResultFormat("GuideLLM (0.8)", guidellm.recognizes, guidellm.read),
    ResultFormat("AIPerf (schema 1.4)", aiperf.recognizes, aiperf.read),
    ResultFormat("genai-perf", genai_perf.recognizes, genai_perf.read),
    ResultFormat("llm-d report (0.2.1)", llmd.recognizes, llmd.read),
    ResultFormat("inference-perf", inference_perf.recognizes, inference_perf.read),
    ResultFormat("InferenceX", inferencex.recognizes, inferencex.read),
    ResultFormat("LLMPerf", llmperf.recognizes, llmperf.read),
    ResultFormat("MLPerf log", mlperf.recognizes, mlperf.read),
)
"""Every result file that is read; no run has the keys of two."""


def read_results(path: Path) -> tuple[LoadResult, ...]:
    """Every run in a file, in the order they stand.

    Args:
        path: A result file of any tool in `FORMATS`.

    Returns:
        At least one run. Those that must not be used say so themselves (`flaws`; `unfit` asks for all of them).

    Raises:
        InputError: no such file, no known format, a version nobody knows, or figures that cannot be read.
    """
    results: list[LoadResult] = []
    findings: list[Finding] = []
    for fields in runs_of(path):
        known = next((known for known in FORMATS if known.recognizes(fields.content)), None)
        if known is None:
            fields.refuse("", "has the keys of no result that is read", "; ".join(known.name for known in FORMATS))
        else:
            results += known.read(fields)
        findings += fields.findings
    refuse(findings)
    return tuple(results)

"""`vllm bench serve --save-result` of vLLM 0.33: one run, runs appended line by line, or the table of a sweep."""

import math
from collections.abc import Iterator, Mapping
from typing import Any, Final

from optimizer.inputs.importing.load_results.fields import RunFields
from optimizer.inputs.importing.load_results.formats.bench_serving import goodput_of, measured
from optimizer.inputs.importing.load_results.labelled import engine_of, labelled_facts
from optimizer.inputs.importing.load_results.record import LoadResult

KEYS: Final = frozenset({"endpoint_type", "tokenizer_id"})

SERVER_OPTIONS: Final[Mapping[str, str]] = {
    "tensor_parallel_size": "tp",
    "pipeline_parallel_size": "pp",
    "data_parallel_size": "dp",
}
"""Options of the server that a sweep varies, as columns of its table, and the facts that they are."""

OF_THE_TOOL: Final = KEYS | {
    *("date", "backend", "label", "model_id", "num_prompts", "request_rate", "burstiness", "max_concurrency"),
    *("duration", "completed", "failed", "total_input_tokens", "total_output_tokens", "request_throughput"),
    *("request_goodput", "output_throughput", "total_token_throughput", "max_output_tokens_per_s"),
    *("max_concurrent_requests", "rtfx", "run_number"),
}
"""What the tool writes beside statistics, which end in `_ms`; every other text is a label that its user gave."""


def recognizes(content: Mapping[str, Any]) -> bool:
    """Whether these are the fields of such a run."""
    return content.keys() >= KEYS


def read(fields: RunFields) -> Iterator[LoadResult]:
    """The run. The file names the engine only by how the client spoke to it, and its version and GPU by labels."""
    given = {name: fields.text(name) for name, value in fields.content.items() if _is_label(name, value)}
    labels = {name: text for name, text in given.items() if text}
    swept = {fact: fields.count(option, least=1) for option, fact in SERVER_OPTIONS.items()}
    facts: dict[str, Any] = {
        # how the client spoke to the server, and what the user says served, before what the file says itself
        **engine_of(fields.text("backend")),
        **labelled_facts(labels, fields),
        **{fact: degree for fact, degree in swept.items() if degree is not None},
        "model": fields.text("model_id", required=True),
    }
    yield LoadResult(
        file=fields.file,
        run=fields.run,
        line=fields.line,
        tool="vllm",
        max_num_seqs=fields.count("max_num_seqs", least=1),
        burstiness=fields.number("burstiness"),
        metadata=labels,
        **facts,
        goodput=goodput_of(fields, _limits_ms(labels)),
        **measured(fields, "e2el_ms"),
    )


def _limits_ms(labels: Mapping[str, str]) -> dict[str, float]:
    """The limits of its goodput, which the file only holds as a label: `goodput=ttft:500,tpot:50`; none if unsound."""
    pairs = [pair.partition(":") for pair in labels.get("goodput", "").split(",")]
    try:
        limits = {name: float(limit) for name, _, limit in pairs if name}
    except ValueError:
        return {}
    return limits if all(map(math.isfinite, limits.values())) else {}


def _is_label(name: str, value: Any) -> bool:
    ours = name in OF_THE_TOOL or name.endswith("_ms")
    return isinstance(value, str) and bool(name) and bool(value) and not ours

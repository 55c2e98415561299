"""LLMPerf's summary: TTFT and throughput of a closed loop; it holds no TPOT."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from optimizer.base.units import MS_PER_S
from optimizer.inputs.importing.load_results.fields import RunFields
from optimizer.inputs.importing.load_results.record import Load, LoadResult

SCHEMA: Final = "2023-08-31"

KEYS: Final = frozenset({"results_ttft_s_mean", "num_concurrent_requests"})

NO_TPOT: Final = "TPOT left out: its inter-token latency is end to end over all tokens, so TTFT is in it"


def recognizes(content: Mapping[str, Any]) -> bool:
    """Whether these are the fields of such a summary, of any version."""
    return content.keys() >= KEYS


def read(fields: RunFields) -> Iterator[LoadResult]:
    """The run."""
    version = fields.text("version")
    if version != SCHEMA:
        fields.refuse("version", f"version {str(version)[:20]} of LLMPerf's summary is not read", f"{SCHEMA} is")
        return
    quantiles = {name: f"results_ttft_s_quantiles_{name}" for name in ("p50", "p90", "p95", "p99")}
    in_flight = fields.number("num_concurrent_requests", least=1, required=True)
    yield LoadResult(
        file=fields.file,
        tool="llmperf",
        schema=version,
        model=fields.text("model"),
        input_tokens=fields.number("results_number_input_tokens_mean"),
        output_tokens=fields.number("results_number_output_tokens_mean"),
        load=None if in_flight is None else Load("concurrency", in_flight),
        requests_completed=fields.count("results_num_completed_requests", required=True),
        requests_failed=fields.count("results_number_errors"),
        requests_offered=fields.count("results_num_requests_started"),
        ttft_ms=fields.statistics({"mean": "results_ttft_s_mean", **quantiles}, MS_PER_S),
        output_tokens_per_s=fields.number("results_mean_output_throughput_token_per_s"),
        notes=(NO_TPOT,),
    )

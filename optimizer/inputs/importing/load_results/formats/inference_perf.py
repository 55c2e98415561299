"""kubernetes-sigs inference-perf's `stage_N_lifecycle_metrics.json`: one stage at one rate, latencies in seconds."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from optimizer.base.units import MS_PER_S
from optimizer.inputs.importing.load_results.fields import RunFields
from optimizer.inputs.importing.load_results.record import Load, LoadResult

STATISTICS: Final[Mapping[str, str]] = {"mean": "mean", "p50": "median", "p90": "p90", "p95": "p95", "p99": "p99"}

KEYS: Final = frozenset({"load_summary", "successes", "failures"})


def recognizes(content: Mapping[str, Any]) -> bool:
    """Whether these are the fields of such a stage."""
    return content.keys() >= KEYS


def read(fields: RunFields) -> Iterator[LoadResult]:
    """The stage. Model, engine and GPU are nowhere named."""
    asked, done = fields.group("load_summary"), fields.group("successes")
    latency, throughput = done.group("latency", required=True), done.group("throughput")
    completed, failed = done.count("count", required=True), fields.group("failures").count("count")
    rate = asked.number("requested_rate", least=1e-9)
    yield LoadResult(
        file=fields.file,
        tool="inference-perf",
        input_tokens=done.group("prompt_len").number("mean"),
        output_tokens=done.group("output_len").number("mean"),
        load=None if rate is None else Load("request_rate", rate),
        requests_completed=completed,
        requests_failed=failed,
        requests_offered=asked.count("count"),
        duration_s=asked.number("send_duration"),
        ttft_ms=latency.group("time_to_first_token").statistics(STATISTICS, MS_PER_S),
        # normalized_time_per_output_token spreads TTFT over the tokens
        tpot_ms=latency.group("time_per_output_token").statistics(STATISTICS, MS_PER_S),
        output_tokens_per_s=throughput.number("output_tokens_per_sec"),
        requests_per_s=throughput.number("requests_per_sec"),
    )

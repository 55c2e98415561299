"""MLPerf's `mlperf_log_summary.txt` with token latencies, in nanoseconds; what was measured it does not say."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from optimizer.inputs.importing.load_results.fields import MS_PER, RunFields
from optimizer.inputs.importing.load_results.record import Flaw, Load, LoadResult

SHARES: Final[Mapping[str, str]] = {"p50": "50.00", "p90": "90.00", "p95": "95.00", "p99": "99.00"}

TTFT: Final = ("Mean First Token latency (ns)", "percentile first token latency (ns)")
TPOT: Final = ("Mean Time to Output Token (ns)", "percentile time to output token (ns)")

INVALID: Final = Flaw("its own verdict is not VALID", "run it until the log says so")
NO_SPEED: Final = Flaw("it did not run for performance", "run it with Mode PerformanceOnly")


def recognizes(content: Mapping[str, Any]) -> bool:
    """Whether these are the lines of such a log."""
    return content.keys() >= {"SUT name", "Scenario", "Result is"}


def read(fields: RunFields) -> Iterator[LoadResult]:
    """The run. Tokens of an answer are its tokens/s over its samples/s; those of a prompt are nowhere."""
    samples_per_s = fields.number("Completed samples per second") or fields.number("Samples per second")
    tokens_per_s = fields.number("Completed tokens per second") or fields.number("Tokens per second")
    valid, mode = fields.text("Result is") == "VALID", fields.text("Mode")
    yield LoadResult(
        file=fields.file,
        tool="mlperf",
        output_tokens=tokens_per_s / samples_per_s if tokens_per_s and samples_per_s else None,
        load=_load(fields),
        burstiness=1.0 if fields.text("Scenario") == "Server" else None,
        ttft_ms=_statistics(fields, *TTFT),
        tpot_ms=_statistics(fields, *TPOT),
        output_tokens_per_s=tokens_per_s,
        requests_per_s=samples_per_s,
        metadata={"sut": name} if (name := fields.text("SUT name")) else {},
        flaws=(() if valid else (INVALID,)) + (() if mode == "PerformanceOnly" else (NO_SPEED,)),
    )


def _load(fields: RunFields) -> Load | None:
    scenario = fields.text("Scenario", required=True)
    if scenario == "Server":
        rate = fields.number("target_qps", least=1e-9, required=True)
        return None if rate is None else Load("request_rate", rate)
    if scenario == "Offline":
        return Load("offline", None)
    fields.refuse("Scenario", f"'{str(scenario)[:20]}' is not read", "Server and Offline are")
    return None


def _statistics(fields: RunFields, mean: str, percentile: str) -> dict[str, float]:
    percentiles = {name: f"{share} {percentile}" for name, share in SHARES.items()}
    return fields.statistics({"mean": mean, **percentiles}, MS_PER["ns"])

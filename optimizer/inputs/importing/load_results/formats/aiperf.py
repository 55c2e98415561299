"""AIPerf's `profile_export_aiperf`, schema 1.4: JSON, or CSV, which names neither version, model nor load."""

import math
from collections.abc import Iterator, Mapping
from typing import Any, Final

from optimizer.base.figures import figure
from optimizer.inputs.importing.load_results.fields import RunFields
from optimizer.inputs.importing.load_results.loads import load_of
from optimizer.inputs.importing.load_results.record import Flaw, Goodput, LoadResult

SCHEMA: Final = "1.4"

STATISTICS: Final[Mapping[str, str]] = {"mean": "avg", "p50": "p50", "p90": "p90", "p95": "p95", "p99": "p99"}

LATENCIES: Final[Mapping[str, str]] = {
    "time_to_first_token": "ttft_ms",
    "inter_token_latency": "tpot_ms",
    "request_latency": "e2e_ms",
}
"""Its metrics by our names of the latencies."""

TOKEN_TOLERANCE: Final = 0.02
"""Answers counted by the client may differ by this share from what the server counted."""

BURSTINESS: Final[Mapping[str, float]] = {"poisson": 1.0, "constant": math.inf}

UNFINISHED: Final = Flaw("it was cancelled or did not end", "run it to its end")


def recognizes(content: Mapping[str, Any]) -> bool:
    """Whether these are the fields of such a run, of any version; its CSV has metrics that only it has."""
    return "aiperf_version" in content or content.keys() >= {"credit_to_start_latency", "output_sequence_length"}


def read(fields: RunFields) -> Iterator[LoadResult]:
    """The run. Lengths are those that the server counted, where it told them."""
    schema = fields.text("schema_version")
    if not fields.as_text and schema != SCHEMA:
        fields.refuse("schema_version", f"schema {schema} of AIPerf is not read", f"{SCHEMA} is, of AIPerf 0.13")
        return
    config = fields.group("input_config")
    phase = next((phase for phase in config.groups("phases") if phase.text("kind") in (None, "profiling")), None)
    figures = metrics_of(fields)
    failed = _failed(fields)
    load, flaws = None, _flaws(fields)
    if phase is not None:
        rate, in_flight = phase.number("rate", least=1e-9), phase.number("concurrency", least=1)
        load, held_back = load_of(rate, in_flight, figures["requests_completed"])
        flaws += held_back
    models = [model.text("name") for model in config.group("models").groups("items")]
    yield LoadResult(
        file=fields.file,
        tool="aiperf",
        tool_version=fields.text("aiperf_version"),
        schema=schema,
        model=models[0] if len(models) == 1 else None,
        gpu=_gpu(fields),
        load=load,
        burstiness=_burstiness(phase) if phase else None,
        goodput=_goodput(fields, config.group("slos")),
        requests_failed=failed,
        requests_offered=(figures["requests_completed"] or 0) + failed,
        flaws=flaws,
        **figures,
    )


def metrics_of(fields: RunFields) -> dict[str, Any]:
    """The figures that genai-perf and AIPerf after it write alike, each metric with its unit beside it."""
    served = fields.group("usage_completion_tokens").number("avg")
    asked = fields.group("usage_prompt_tokens").number("avg")
    return {
        "input_tokens": asked or fields.group("input_sequence_length").number("avg"),
        "output_tokens": served or fields.group("output_sequence_length").number("avg"),
        "requests_completed": fields.group("request_count", required=True).count("avg", required=True),
        "duration_s": fields.group("benchmark_duration").number("avg"),
        "ttft_ms": _latency(fields, "time_to_first_token"),
        "tpot_ms": _latency(fields, "inter_token_latency"),
        "e2e_ms": _latency(fields, "request_latency"),
        "std_ms": _deviations(fields),
        "output_tokens_per_s": fields.group("output_token_throughput").number("avg"),
        "requests_per_s": fields.group("request_throughput").number("avg"),
    }


def _latency(fields: RunFields, name: str) -> dict[str, float]:
    metric = fields.group(name)
    return metric.statistics(STATISTICS, metric.ms_per_unit("unit"))


def _deviations(fields: RunFields) -> dict[str, float]:
    """Standard deviations by our names of the latencies."""
    metrics = {ours: fields.group(theirs) for theirs, ours in LATENCIES.items()}
    found = {name: metric.statistics({"std": "std"}, metric.ms_per_unit("unit")) for name, metric in metrics.items()}
    return {name: value["std"] for name, value in found.items() if value}


def _burstiness(phase: RunFields) -> float | None:
    """The shape of its gaps, which only gamma gaps have to be told."""
    kind = phase.text("type") or ""
    return phase.number("smoothness") if kind == "gamma" else BURSTINESS.get(kind)


def _goodput(fields: RunFields, slos: RunFields) -> Goodput | None:
    """Requests within its objectives; None where one of them is no latency."""
    within = fields.group("good_request_count").count("avg")
    if within is None or not slos.content or not slos.content.keys() <= LATENCIES.keys():
        return None
    limits = {LATENCIES[name]: slos.number(name, required=True) for name in slos.content}
    return Goodput(within, {name: limit for name, limit in limits.items() if limit is not None})


def _failed(fields: RunFields) -> int:
    """Requests that ended in an error; the metric is left out where there was none."""
    listed = sum(error.count("count") or 0 for error in fields.groups("error_summary"))
    return fields.group("error_request_count").count("avg") or listed


def _flaws(fields: RunFields) -> tuple[Flaw, ...]:
    """Runs that did not end, and answers counted by a tokenizer that is not the server's: TPOT is per token."""
    unfinished = fields.flag("is_complete") is False or fields.flag("was_cancelled") is True
    flaws = (UNFINISHED,) if unfinished else ()
    counted = fields.group("output_sequence_length").number("avg")
    served = fields.group("usage_completion_tokens").number("avg")
    if counted is None or not served or abs(counted - served) <= TOKEN_TOLERANCE * served:
        return flaws
    problem = f"its client counted {figure(counted)} tokens an answer where the server counted {figure(served)}"
    return *flaws, Flaw(problem, "run it with --use-server-token-count")


def _gpu(fields: RunFields) -> str | None:
    """The one name that all GPUs of its telemetry have."""
    endpoints = fields.group("telemetry_data").group("endpoints")
    names = {
        endpoints.group(endpoint).group("gpus").group(gpu).text("gpu_name")
        for endpoint in endpoints.content
        for gpu in endpoints.group(endpoint).group("gpus").content
    }
    return names.pop() if len(names) == 1 else None

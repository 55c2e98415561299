"""GuideLLM's report, version 2 of GuideLLM 0.8: a run for each benchmark in it."""

import math
from collections.abc import Iterator, Mapping
from typing import Any, Final

import numpy as np

from optimizer.base.arrays import Floats
from optimizer.base.units import MS_PER_S
from optimizer.inputs.importing.load_results.fields import RunFields
from optimizer.inputs.importing.load_results.labelled import labelled_facts
from optimizer.inputs.importing.load_results.loads import CLIENT_QUEUES
from optimizer.inputs.importing.load_results.record import Flaw, Goodput, Load, LoadResult, Requests

SCHEMA: Final = 2
VERSIONS: Final = "0.8."

STATISTICS: Final[Mapping[str, str]] = {"mean": "mean", "p50": "median"}
PERCENTILES: Final[Mapping[str, str]] = {"p90": "p90", "p95": "p95", "p99": "p99"}

TPOT: Final = "inter_token_latency_ms"
"""(last token − first token) / (output tokens − 1); its `time_per_output_token_ms` spreads TTFT over the tokens."""

OBJECTIVES: Final[Mapping[str, str]] = {"ttft_ms": "ttft_ms", "tpot_ms": "tpot_ms", "e2el_ms": "e2e_ms"}
"""Its objectives for one request, by our names; its TPOT is the gap between tokens there."""

BURSTINESS: Final[Mapping[str, float]] = {"poisson": 1.0, "constant": math.inf}
"""Of the strategies that hold a rate."""

PER_REQUEST: Final = ("time_to_first_token_ms", TPOT, "prompt_tokens", "output_tokens")


def recognizes(content: Mapping[str, Any]) -> bool:
    """Whether these are the fields of such a report, of any version."""
    about = content.get("metadata")
    return isinstance(about, dict) and "guidellm_version" in about


def read(fields: RunFields) -> Iterator[LoadResult]:
    """Every benchmark of the report."""
    about = fields.group("metadata")
    version, schema = about.text("guidellm_version", required=True) or "", about.count("version")
    if schema != SCHEMA or not version.startswith(VERSIONS):
        problem = f"version {schema} of GuideLLM {version[:20]} is not read"
        about.refuse("version", problem, f"version {SCHEMA}, of GuideLLM {VERSIONS}x, is")
        return
    labels = fields.group("config").group("metadata").labels("labels")
    facts = labelled_facts(labels, fields)
    benchmarks = list(fields.groups("benchmarks"))
    if not benchmarks:
        fields.refuse("benchmarks", "holds no run")
    for position, benchmark in enumerate(benchmarks):
        config, metrics = benchmark.group("config"), benchmark.group("metrics", required=True)
        load, flaws = _load(config.group("strategy", required=True), metrics)
        totals = metrics.group("request_totals", required=True)
        completed = totals.count("successful", required=True)
        requests, notes = _requests(benchmark, completed)
        yield LoadResult(
            file=fields.file,
            run=f"benchmarks[{position}]",
            tool="guidellm",
            tool_version=version,
            schema=str(schema),
            input_tokens=_of(metrics, "prompt_token_count").number("mean"),
            output_tokens=_of(metrics, "output_token_count").number("mean"),
            load=load,
            burstiness=BURSTINESS.get(config.group("strategy").text("type_") or ""),
            requests_completed=completed,
            requests_failed=totals.count("errored"),
            requests_offered=totals.count("total"),
            duration_s=benchmark.number("duration"),
            ttft_ms=_statistics(metrics, "time_to_first_token_ms"),
            tpot_ms=_statistics(metrics, TPOT),
            e2e_ms={name: seconds * MS_PER_S for name, seconds in _statistics(metrics, "request_latency").items()},
            std_ms=_deviations(metrics),
            goodput=_goodput(config.group("slo"), metrics, totals.count("successful")),
            output_tokens_per_s=_of(metrics, "output_tokens_per_second").number("mean"),
            requests_per_s=_of(metrics, "requests_per_second").number("mean"),
            requests=requests,
            metadata=labels,
            flaws=flaws,
            notes=notes,
            **{**facts, "model": config.group("backend").text("model") or facts.get("model")},
        )


def _of(metrics: RunFields, name: str) -> RunFields:
    """A metric of the requests that were answered."""
    return metrics.group(name).group("successful")


def _statistics(metrics: RunFields, name: str) -> dict[str, float]:
    metric = _of(metrics, name)
    return metric.statistics(STATISTICS) | metric.group("percentiles").statistics(PERCENTILES)


def _deviations(metrics: RunFields) -> dict[str, float]:
    """Standard deviations by our names of the latencies."""
    sources = (
        ("ttft_ms", "time_to_first_token_ms", 1.0),
        ("tpot_ms", TPOT, 1.0),
        ("e2e_ms", "request_latency", MS_PER_S),
    )
    found = {ours: (_of(metrics, theirs).number("std_dev"), factor) for ours, theirs, factor in sources}
    return {name: value * factor for name, (value, factor) in found.items() if value is not None}


def _goodput(slo: RunFields, metrics: RunFields, completed: int | None) -> Goodput | None:
    """Requests within its objectives, failed ones counting as outside."""
    found = {ours: slo.number(theirs) for theirs, ours in OBJECTIVES.items()}
    limits = {name: limit for name, limit in found.items() if limit is not None}
    share, judged = metrics.number("slo_attainment"), metrics.count("slo_determined_requests")
    if not limits or share is None or judged is None:
        return None
    return Goodput(round(share * judged), limits, unjudged=max((completed or judged) - judged, 0))


def _load(strategy: RunFields, metrics: RunFields) -> tuple[Load | None, tuple[Flaw, ...]]:
    """What the strategy asks for; a rate whose client reached its own limit in flight was not that rate."""
    kind = strategy.text("type_", required=True)
    if kind == "synchronous":
        return Load("concurrency", 1.0), ()
    if kind == "concurrent":
        return Load("concurrency", strategy.number("streams", least=1, required=True)), ()
    if kind == "throughput":
        return Load("offline", None), ()
    if kind in BURSTINESS:
        limit = strategy.number("max_concurrency", least=1)
        most = _of(metrics, "request_concurrency").number("max")
        held_back = limit is not None and most is not None and most >= limit
        return Load("request_rate", strategy.number("rate", least=1e-9, required=True)), (
            (CLIENT_QUEUES,) if held_back else ()
        )
    known = "synchronous, concurrent, throughput, constant or poisson"
    return None, (Flaw(f"its load '{kind}' is not read", f"measure it {known}"),)


def _requests(benchmark: RunFields, completed: int | None) -> tuple[Requests | None, tuple[str, ...]]:
    """Each answered request of a report that holds them all; a sample says nothing of a percentile."""
    held = list(benchmark.group("requests").groups("successful"))
    if not held:
        return None, ()
    columns = [_column(held, name) for name in PER_REQUEST]
    if len(held) != completed:
        return None, (f"holds {len(held):,} of its {completed or 0:,} answers one by one: not used one by one",)
    return Requests(*columns), ()


def _column(held: list[RunFields], name: str) -> Floats:
    """A figure of each request, (n,); NaN where it was not measured."""
    values = [request.number(name) for request in held]
    return np.array([math.nan if value is None else value for value in values], dtype=np.float64)

"""The benchmark report of llm-d, version 0.2.1: latencies in seconds, each with its unit, and the stack that served."""

from collections.abc import Iterator, Mapping
from math import prod
from typing import Any, Final

from optimizer.inputs.importing.load_results.fields import RunFields
from optimizer.inputs.importing.load_results.formats.sglang import KV_PRECISIONS, PRECISIONS
from optimizer.inputs.importing.load_results.labelled import engine_of
from optimizer.inputs.importing.load_results.loads import load_of
from optimizer.inputs.importing.load_results.record import Flaw, LoadResult

SCHEMA: Final = "0.2.1"

STATISTICS: Final[Mapping[str, str]] = {"mean": "mean", "p50": "p50", "p90": "p90", "p95": "p95", "p99": "p99"}

SEVERAL: Final = Flaw(
    "several engines or roles served it, and a measurement is of one",
    "measure a deployment whose replicas are all alike",
)

SHARED_PREFIX: Final = "prompts share a prefix, so its TTFT may hold hits in the cache"


def recognizes(content: Mapping[str, Any]) -> bool:
    """Whether these are the fields of such a report, of any version."""
    scenario = content.get("scenario")
    return "version" in content and isinstance(scenario, dict) and "stack" in scenario


def read(fields: RunFields) -> Iterator[LoadResult]:
    """The run."""
    version = fields.text("version")
    if version != SCHEMA:
        fields.refuse("version", f"version {str(version)[:20]} of the llm-d report is not read", f"{SCHEMA} is")
        return
    engines = [part for part in fields.group("scenario").groups("stack") if _is_engine(part)]
    served = _served(engines[0]) if len(engines) == 1 else {}
    asked = fields.group("scenario").group("load").group("standardized")
    aggregate = fields.group("results").group("request_performance").group("aggregate", required=True)
    requests = aggregate.group("requests", required=True)
    total = requests.count("total", required=True)
    failed, unfinished = requests.count("failures"), requests.count("incomplete")
    load, held_back = load_of(asked.number("rate_qps", least=1e-9), asked.number("concurrency", least=1), total)
    throughput = aggregate.group("throughput")
    yield LoadResult(
        file=fields.file,
        tool="llm-d",
        tool_version=asked.text("tool_version"),
        schema=version,
        input_tokens=requests.group("input_length").number("mean"),
        output_tokens=requests.group("output_length").number("mean"),
        load=load,
        requests_completed=None if total is None else max(total - (failed or 0) - (unfinished or 0), 0),
        requests_failed=failed,
        requests_offered=total,
        ttft_ms=_latency(aggregate, "time_to_first_token"),
        tpot_ms=_latency(aggregate, "time_per_output_token"),
        output_tokens_per_s=throughput.group("output_token_rate").number("mean"),
        requests_per_s=throughput.group("request_rate").number("mean"),
        metadata={"eid": eid} if (eid := fields.group("run").text("eid")) else {},
        flaws=(*held_back, *_flaws(engines)),
        notes=() if asked.content.get("prefix") is None else (SHARED_PREFIX,),
        **served,
    )


def _flaws(engines: list[RunFields]) -> tuple[Flaw, ...]:
    """Whether one kind of engine served, on as many GPUs as its degrees take: of a replica, or of all of them."""
    if len(engines) != 1:
        return (SEVERAL,)
    accelerator = engines[0].group("standardized").group("accelerator")
    gpus, stated = _served(engines[0])["num_gpus"], accelerator.count("count")
    replicas = engines[0].group("standardized").count("replicas", least=1) or 1
    if stated is None or stated in (gpus, gpus // replicas):
        return ()
    return (Flaw(f"counts {stated} GPUs where its degrees of parallelism take {gpus}", "mend the stack of the report"),)


def _is_engine(part: RunFields) -> bool:
    return part.group("standardized").text("kind") == "inference_engine"


def _served(part: RunFields) -> dict[str, Any]:
    """What one engine of the stack is; replicas of it are counted with its own data parallel ranks."""
    engine = part.group("standardized")
    accelerator = engine.group("accelerator")
    degrees = accelerator.group("parallelism")
    replicas = engine.count("replicas", least=1) or 1
    tensor, stages, ranks = (degrees.count(name, least=1) for name in ("tp", "pp", "dp"))
    # vLLM calls its quantizations as SGLang does
    options = part.group("native").group("args")
    return {
        "model": engine.group("model").text("name"),
        **engine_of(engine.text("tool")),
        "engine_version": engine.text("tool_version"),
        "gpu": accelerator.text("model"),
        "num_gpus": prod(degree or 1 for degree in (tensor, stages, ranks)) * replicas,
        "tp": tensor,
        "pp": stages,
        "ep": degrees.count("ep", least=1),
        "dp": None if ranks is None else ranks * replicas,
        "weight_precision": PRECISIONS.get(options.text("--quantization") or ""),
        "kv_precision": KV_PRECISIONS.get(options.text("--kv-cache-dtype") or ""),
    }


def _latency(aggregate: RunFields, name: str) -> dict[str, float]:
    metric = aggregate.group("latency").group(name)
    return metric.statistics(STATISTICS, metric.ms_per_unit("units"))

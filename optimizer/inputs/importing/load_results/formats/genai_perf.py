"""genai-perf's `profile_export_genai_perf.json` (0.0.16): the same metrics that AIPerf took over."""

from collections.abc import Iterator, Mapping
from typing import Any

from optimizer.inputs.importing.load_results.fields import RunFields
from optimizer.inputs.importing.load_results.formats.aiperf import metrics_of
from optimizer.inputs.importing.load_results.labelled import engine_of
from optimizer.inputs.importing.load_results.loads import load_of
from optimizer.inputs.importing.load_results.record import LoadResult


def recognizes(content: Mapping[str, Any]) -> bool:
    """Whether these are the fields of such a run: AIPerf's metrics without AIPerf's version."""
    config = content.get("input_config")
    return isinstance(config, dict) and "perf_analyzer" in config and "aiperf_version" not in content


def read(fields: RunFields) -> Iterator[LoadResult]:
    """The run."""
    config = fields.group("input_config")
    stimulus = config.group("perf_analyzer").group("stimulus")
    figures = metrics_of(fields)
    rate, in_flight = stimulus.number("request_rate", least=1e-9), stimulus.number("concurrency", least=1)
    load, flaws = load_of(rate, in_flight, figures["requests_completed"])
    models = config.content.get("model_names")
    named = models if isinstance(models, list) else []
    served: dict[str, Any] = {**engine_of(config.group("endpoint").text("backend"))}
    yield LoadResult(
        file=fields.file,
        tool="genai-perf",
        model=named[0] if len(named) == 1 and isinstance(named[0], str) else None,
        load=load,
        flaws=flaws,
        notes=("answers are counted by its client's tokenizer; the server's counts are not in the file",),
        **served,
        **figures,
    )

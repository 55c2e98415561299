"""InferenceX's `agg_bmk.json`: a row a configuration, latencies in seconds, throughput per GPU."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from optimizer.base.units import MS_PER_S
from optimizer.inputs.importing.load_results.fields import RunFields
from optimizer.inputs.importing.load_results.labelled import engine_of
from optimizer.inputs.importing.load_results.record import Flaw, Load, LoadResult

STATISTICS: Final[Mapping[str, str]] = {"mean": "mean", "p50": "median", "p90": "p90", "p95": "p95", "p99": "p99"}

APART: Final = Flaw("prefill and decode ran on GPUs of their own", "measurements are of replicas that do both")
DRAFTED: Final = Flaw("answers were drafted and checked", "take the row with spec_decoding none")

NOMINAL: Final = "lengths are nominal: the benchmark draws them from a range that ends there"

_VERSION: Final = re.compile(r":v?(?P<version>\d+(\.\d+)+[a-z0-9.]*)")
"""Of the engine, in the tag of its image."""


def recognizes(content: Mapping[str, Any]) -> bool:
    """Whether these are the fields of such a row."""
    return "infmax_model_prefix" in content


def read(fields: RunFields) -> Iterator[LoadResult]:
    """The row."""
    apart = fields.flag("disagg") is True
    drafted = fields.text("spec_decoding") not in (None, "none")
    engine = engine_of(fields.text("framework"))
    tagged = _VERSION.search(fields.text("image") or "")
    tensor, stages = fields.count("tp", least=1), fields.count("pp", least=1)
    per_gpu = fields.number("output_tput_per_gpu")
    # an output token comes from the GPUs that decode: all of them, unless prefill has its own
    decoding = fields.count("num_decode_gpu", least=1) if apart else (tensor and tensor * (stages or 1))
    prefilling = fields.count("num_prefill_gpu", least=1) if apart else 0
    in_flight = fields.number("conc", least=1, required=True)
    yield LoadResult(
        file=fields.file,
        run=fields.run,
        line=fields.line,
        tool="inferencex",
        model=fields.text("model"),
        engine=engine.get("engine"),
        engine_version=tagged["version"] if tagged and engine else None,
        gpu=fields.text("hw"),
        num_gpus=decoding + prefilling if decoding and prefilling is not None else None,
        tp=tensor,
        pp=stages,
        ep=fields.count("ep", least=1),
        weight_precision=fields.text("precision"),
        attention_dp=fields.flag("dp_attention"),
        input_tokens=fields.number("isl", least=1),
        output_tokens=fields.number("osl", least=1),
        load=None if in_flight is None else Load("concurrency", in_flight),
        ttft_ms=_statistics(fields, "ttft"),
        tpot_ms=_statistics(fields, "tpot"),
        output_tokens_per_s=per_gpu * decoding if per_gpu and decoding else None,
        flaws=((APART,) if apart else ()) + ((DRAFTED,) if drafted else ()),
        notes=(NOMINAL,),
    )


def _statistics(fields: RunFields, metric: str) -> dict[str, float]:
    return fields.statistics({ours: f"{theirs}_{metric}" for ours, theirs in STATISTICS.items()}, MS_PER_S)

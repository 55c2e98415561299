"""`python -m sglang.benchmark.serving` of SGLang 0.5.23: a line a run, with what the server says of itself."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from optimizer.inputs.importing.load_results.fields import RunFields
from optimizer.inputs.importing.load_results.formats.bench_serving import goodput_of, measured
from optimizer.inputs.importing.load_results.labelled import engine_of, labelled_facts
from optimizer.inputs.importing.load_results.record import Flaw, LoadResult

KEYS: Final = frozenset({"server_info", "tag"})

DRAFTED: Final = Flaw(
    "answers were drafted and checked (its accept_length says so), and it does not say how",
    "tag the run with speculation=METHOD:TOKENS, or measure without speculative decoding",
)

PRECISIONS: Final[Mapping[str, str]] = {
    "fp8": "fp8",
    "w8a8_fp8": "fp8",
    "modelopt_fp8": "fp8",
    "w8a8_int8": "int8",
    "awq": "int4",
    "awq_marlin": "int4",
    "modelopt_fp4": "fp4",
    "mxfp4": "mxfp4",
}
"""Precision of the weights by `quantization`; null and any other name leave it to what the checkpoint holds."""

KV_PRECISIONS: Final[Mapping[str, str]] = {"fp8_e4m3": "fp8", "fp8_e5m2": "fp8", "bf16": "bf16", "bfloat16": "bf16"}
"""By `kv_cache_dtype`; `auto` leaves it to the checkpoint."""


def recognizes(content: Mapping[str, Any]) -> bool:
    """Whether these are the fields of such a run."""
    return content.keys() >= KEYS


def read(fields: RunFields) -> Iterator[LoadResult]:
    """The run. GPUs are nowhere named; of another engine's server nothing but its figures is read."""
    server = fields.group("server_info")
    engine = engine_of((fields.text("backend") or "").removesuffix("-oai").removesuffix("-oai-chat"))
    figures = measured(fields, "e2e_latency_ms")
    drafted = fields.number("accept_length")
    labels = _labels(fields.text("tag") or "")
    slos = fields.group("goodput_slos_ms")
    limits = {name: limit for name in slos.content if (limit := slos.number(name)) is not None}
    server_says = {
        "model": server.text("model_path"),
        "engine_version": server.text("version"),
        "tp": server.count("tp_size", least=1),
        "pp": server.count("pp_size", least=1),
        "ep": server.count("ep_size", least=1),
        "dp": server.count("dp_size", least=1),
        "weight_precision": PRECISIONS.get(server.text("quantization") or ""),
        "kv_precision": KV_PRECISIONS.get(server.text("kv_cache_dtype") or ""),
    }
    said = {name: value for name, value in server_says.items() if value is not None}
    # of another engine's server the client knows how it spoke to it, and its user what it was
    own = engine if engine.get("engine") == "sglang" else {}
    facts = engine | labelled_facts(labels, fields) | said | own
    unsaid = drafted and "speculation" not in facts
    yield LoadResult(
        file=fields.file,
        run=fields.run,
        line=fields.line,
        tool="sglang",
        attention_dp=server.flag("enable_dp_attention"),
        max_num_seqs=server.count("max_running_requests", least=1),
        accepted_tokens=drafted,
        metadata=labels,
        goodput=goodput_of(fields, limits),
        **facts,
        **{**figures, "flaws": (*figures["flaws"], *((DRAFTED,) if unsaid else ()))},
    )


def _labels(tag: str) -> dict[str, str]:
    """What the user tagged the run with: `gpu=l4,plan=…` by name, anything else as it stands."""
    pairs = [pair.partition("=") for pair in tag.split(",")]
    if all(sign for _, sign, _ in pairs):
        return {name.strip(): value.strip() for name, _, value in pairs}
    return {"tag": tag} if tag else {}

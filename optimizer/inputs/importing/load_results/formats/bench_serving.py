"""What the benchmarks of vLLM and SGLang share, one having come out of the other: names, units and lists in seconds."""

from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from optimizer.base.arrays import Flags, Floats
from optimizer.base.units import MS_PER_S
from optimizer.inputs.importing.load_results.fields import RunFields
from optimizer.inputs.importing.load_results.loads import CLIENT_QUEUES, load_of
from optimizer.inputs.importing.load_results.record import Flaw, Goodput, Load, Requests

UNLIMITED: Final = "inf"
TRACE: Final = "trace"

GOODPUT: Final[Mapping[str, str]] = {"ttft": "ttft_ms", "tpot": "tpot_ms", "e2el": "e2e_ms"}
"""Latencies by the names that limits have on the command line."""


def statistics_named(metric: str) -> dict[str, str]:
    """The field of each statistic of a metric such as `ttft_ms`."""
    percentiles = {name: f"{name}_{metric}" for name in ("p90", "p95", "p99")}
    return {"mean": f"mean_{metric}", "p50": f"median_{metric}", **percentiles}


def measured(fields: RunFields, whole_request: str) -> dict[str, Any]:
    """The part of the record that both write alike.

    Args:
        fields: Of the run.
        whole_request: What the tool calls the latency of a whole request.
    """
    completed, failed = fields.count("completed", required=True), fields.count("failed")
    ttft_s = fields.numbers("ttfts")
    if completed is not None and failed is None and ttft_s is not None and len(ttft_s) >= completed:
        # SGLang counts no failures, but lists all that it sent
        failed = len(ttft_s) - completed
    offered = None if completed is None or failed is None else completed + failed
    load, flaws = _load(fields, offered or completed)
    requests, notes = _requests(fields, ttft_s, offered or completed)
    return {
        "input_tokens": _mean(fields, "total_input_tokens", completed),
        "output_tokens": _mean(fields, "total_output_tokens", completed),
        "load": load,
        "requests_completed": completed,
        "requests_failed": failed,
        "requests_offered": offered,
        "duration_s": fields.number("duration"),
        "ttft_ms": fields.statistics(statistics_named("ttft_ms")),
        "tpot_ms": fields.statistics(statistics_named("tpot_ms")),
        "e2e_ms": fields.statistics(statistics_named(whole_request)),
        "std_ms": fields.statistics(
            {"ttft_ms": "std_ttft_ms", "tpot_ms": "std_tpot_ms", "e2e_ms": f"std_{whole_request}"}
        ),
        "output_tokens_per_s": fields.number("output_throughput"),
        "requests_per_s": fields.number("request_throughput"),
        "requests": requests,
        "flaws": flaws,
        "notes": notes,
    }


def goodput_of(fields: RunFields, limits_ms: Mapping[str, float]) -> Goodput | None:
    """Requests within limits, which both write as a rate; None where the limits are not known.

    Args:
        fields: Of the run.
        limits_ms: By the names of `GOODPUT`.
    """
    rate, duration_s = fields.number("request_goodput"), fields.number("duration")
    if rate is None or duration_s is None or not limits_ms or not limits_ms.keys() <= GOODPUT.keys():
        return None
    return Goodput(round(rate * duration_s), {GOODPUT[name]: limit_ms for name, limit_ms in limits_ms.items()})


def _load(fields: RunFields, requests: int | None) -> tuple[Load | None, tuple[Flaw, ...]]:
    """What the client was told: a rate, infinite where it waits for nothing, or a trace, which has none."""
    rate, in_flight = fields.content.get("request_rate"), fields.number("max_concurrency", least=1)
    if rate == TRACE:
        return None, () if in_flight is None else (CLIENT_QUEUES,)
    if rate in (UNLIMITED, float(UNLIMITED)):
        return load_of(float(UNLIMITED), in_flight, requests)
    return load_of(fields.number("request_rate", least=1e-9, required=True), in_flight, requests)


def _mean(fields: RunFields, total: str, requests: int | None) -> float | None:
    tokens = fields.number(total, required=True)
    return tokens / requests if tokens is not None and requests else None


def _requests(fields: RunFields, ttft_s: Floats | None, sent: int | None) -> tuple[Requests | None, tuple[str, ...]]:
    """Each completed request of a file that holds them all; a part of them says nothing of a percentile."""
    gaps_s = fields.sums("itls")
    inputs, outputs = fields.numbers("input_lens"), fields.numbers("output_lens")
    if ttft_s is None or gaps_s is None or inputs is None or outputs is None:
        return None, ()
    if {len(column) for column in (ttft_s, gaps_s, inputs, outputs)} != {sent}:
        return None, (f"holds {len(ttft_s):,} of its {sent or 0:,} requests one by one: not used one by one",)
    done = _answered(fields, outputs > 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        tpot_ms = np.where(outputs > 1, gaps_s * MS_PER_S / (outputs - 1), np.nan)
    return Requests(ttft_s[done] * MS_PER_S, tpot_ms[done], inputs[done], outputs[done]), ()


def _answered(fields: RunFields, answered: Flags) -> Flags:
    """Which requests ended with an answer and without an error, (n,)."""
    errors = fields.content.get("errors")
    if not isinstance(errors, list) or len(errors) != len(answered):
        return answered
    return np.logical_and(answered, [not error for error in errors])

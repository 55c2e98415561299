"""A predicted setting: what is asked of one configuration under one load, and what is told of it."""

from typing import Literal

from optimizer.base.model import Strict
from optimizer.plan.record.fields import Figure


class Setting(Strict):
    """One deployment and the load on it."""

    model: str
    gpu: str
    tensor_parallel: int
    pipeline_parallel: int = 1
    precision: str
    kv_precision: str = ""
    """Empty means 16 bits."""
    engine: str
    engine_version: str = ""
    """Empty means the newest release known."""
    input_tokens: int
    output_tokens: int
    load_type: Literal["concurrency", "request_rate"]
    load_value: float
    """Requests in flight, or requests per second."""
    speculation: str = ""
    """A method, tokens drafted in a step, or both (`mtp`, `2`, `eagle3:3`); empty means none."""
    accepted_tokens: float | None = None
    """What a step yields for each sequence; None means as it was counted."""


class Interval(Strict):
    """A predicted figure and the intervals that held for 90 % of unseen measurements."""

    predicted: Figure
    low: Figure
    high: Figure
    """Of somebody's deployment, whose settings nobody here knows."""
    deployed_low: Figure
    deployed_high: Figure
    """Of one that runs as its plan says, which is what plans are held to."""
    unit: str


class Prediction(Strict):
    """What a setting delivers, for all its GPUs together."""

    setting: Setting
    ttft: Interval
    ttft_p50: Interval
    ttft_p95: Interval
    ttft_p99: Interval
    tpot: Interval
    tpot_p95: Interval
    output_throughput: Interval
    request_throughput: Interval
    source: Literal["measured", "calibrated", "estimated"]
    note: str
    """What was assumed; empty when nothing was."""

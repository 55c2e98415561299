"""Latencies that a workload promises: by statistic, for the first token, each further token and the whole answer."""

from typing import Annotated, Self

from pydantic import Field, model_validator

from optimizer.base.model import Strict
from optimizer.inputs.scenario.fields import MIN_MS, InShort, Milliseconds, Number

STATISTICS = ("mean", "p50", "p90", "p95", "p99")


class Latency(Strict):
    """Limits on one latency, by statistic; at least one is given."""

    mean: Milliseconds | None = None
    p50: Milliseconds | None = None
    p90: Milliseconds | None = None
    p95: Milliseconds | None = None
    p99: Milliseconds | None = None

    @model_validator(mode="after")
    def _at_least_one(self) -> Self:
        if not self.limits_ms():
            raise ValueError(f"give at least one of {', '.join(STATISTICS)}")
        return self

    def limits_ms(self) -> dict[str, float]:
        """The limits that were given, by statistic."""
        return {name: limit for name in STATISTICS if (limit := getattr(self, name)) is not None}


def _bare_means(statistic: str) -> InShort:
    """Reads a bare number as the limit on that statistic."""
    return InShort(
        lambda value: value if isinstance(value, dict | Latency) else {statistic: value},
        lambda _: {"type": "number", "minimum": MIN_MS},
    )


class Slo(Strict):
    """What every request class of a workload is promised."""

    ttft_ms: Annotated[Latency, _bare_means("p95")] | None = None
    tpot_ms: Annotated[Latency, _bare_means("mean")] | None = None
    e2e_ms: Annotated[Latency, _bare_means("p95")] | None = None
    ttft_overhead_ms: Annotated[float, Number, Field(ge=0, le=1e7)] = 0.0
    """Pipeline stages before the model: gateway, embedding, retrieval."""

    @property
    def limits_latency(self) -> bool:
        """Whether any latency is promised."""
        return any((self.ttft_ms, self.tpot_ms, self.e2e_ms))

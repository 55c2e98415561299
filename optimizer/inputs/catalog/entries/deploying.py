"""How those who deploy a plan call things: flags and metrics of an engine's release, names in tools."""

from dataclasses import dataclass
from datetime import date
from typing import Literal

from optimizer.base.model import Strict
from optimizer.inputs.catalog.kinds import FigureStatus

Setting = Literal[
    "command",
    "image",
    "metric",
    "backend",
    "served_name",
    "tensor_parallel",
    "pipeline_parallel",
    "quantize_on_load",
    "kv_precision",
    "context_tokens",
    "max_num_seqs",
    "max_num_batched_tokens",
    "memory_utilization",
    "prefix_caching",
    "speculation",
    "metrics",
    "chunked_prefill",
    "config_file",
    "publishers",
    "host",
    "port",
]
"""What a server is told; and its image by vendor of GPU, its start command, the metric of running requests, and those
whose quantized checkpoints it is known to load."""

Quantity = Literal[
    "requests",
    "input_tokens",
    "output_tokens",
    "ttft_s",
    "tpot_s",
    "e2e_s",
    "kv_cache_share",
    "prompt_tokens",
    "cached_prompt_tokens",
    "replica_label",
]
"""Counters of finished requests and prompt tokens, histograms of a request's tokens and latencies, the share of the KV
cache that is in use, and the label by which replicas in one process are told apart."""
Subject = Literal["gpu", "vendor", "provider", "provider_spot", "device_variable", "image"]


class EngineFlag(Strict):
    """How a release of an engine is told one setting of a plan."""

    engine: str
    version: str
    setting: Setting
    planned: str = ""
    """The planned value that the row is for; blank where it is for any."""
    flag: str = ""
    """Blank where nothing has to be said, or where it is no flag."""
    value: str = ""
    """What stands behind the flag; blank where it is the planned value, and on a row for one planned value nothing.

    Of `speculation`, planned by method, words with $draft for its checkpoint, $tokens for what is drafted and $verified
    for these and the step's own; without a flag the JSON of `speculative_config` in its configuration file."""
    status: FigureStatus
    source: str
    as_of: date
    note: str = ""
    """Told to whoever deploys, where the row is used."""


class EngineMetric(Strict):
    """What a release of an engine calls a quantity where Prometheus reads it."""

    engine: str
    version: str
    quantity: Quantity
    metric: str
    """A counter with its `_total`; a histogram without `_bucket`, `_sum`, `_count`; or the name of a label."""
    status: FigureStatus
    source: str
    as_of: date
    note: str = ""


class DeployName(Strict):
    """What a deployment tool calls a GPU, a vendor's resource or a cloud."""

    tool: str
    subject: Subject
    id: str
    """Ours."""
    name: str
    """Theirs; `{region}` and `{instance_type}` stand for those of an offer."""
    status: FigureStatus
    source: str
    as_of: date
    note: str = ""


@dataclass(frozen=True)
class DeployFacts:
    """All that is known of how to say a plan to engines and tools, and how engines say what they do."""

    flags: tuple[EngineFlag, ...] = ()
    metrics: tuple[EngineMetric, ...] = ()
    names: tuple[DeployName, ...] = ()

    def versions(self, engine: str) -> tuple[str, ...]:
        """Releases of an engine whose flags are known."""
        return tuple(sorted({row.version for row in self.flags if row.engine == engine}))

    def flag(self, engine: str, version: str, setting: Setting, planned: str = "") -> EngineFlag | None:
        """How a release is told a setting that is planned to be so; None where nobody recorded it."""
        rows = [row for row in self.flags if (row.engine, row.version, row.setting) == (engine, version, setting)]
        exact = [row for row in rows if row.planned == planned]
        return next(iter(exact or [row for row in rows if not row.planned]), None)

    def names_of(self, tool: str, subject: Subject, own: str) -> tuple[str, ...]:
        """What a tool calls one of ours, several where it takes several; none where nobody recorded it."""
        return tuple(row.name for row in self.names if (row.tool, row.subject, row.id) == (tool, subject, own))

    def name(self, tool: str, subject: Subject, own: str) -> str | None:
        """The one name that a tool has for one of ours; None where nobody recorded it."""
        return next(iter(self.names_of(tool, subject, own)), None)

    def metrics_of(self, engine: str, version: str) -> dict[Quantity, str]:
        """What a release calls each quantity that it tells; empty where nobody recorded the release."""
        rows = (row for row in self.metrics if (row.engine, row.version) == (engine, version))
        return {row.quantity: row.metric for row in rows}

    def metric_versions(self, engine: str) -> tuple[str, ...]:
        """Releases of an engine whose metrics are known."""
        return tuple(sorted({row.version for row in self.metrics if row.engine == engine}))

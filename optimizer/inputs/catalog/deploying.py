"""How those who deploy a plan call things: the flags of an engine's release, and names of GPUs and clouds in tools."""

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
    "metrics",
    "chunked_prefill",
    "config_file",
    "publishers",
    "host",
    "port",
]
"""What a server is told; and its image by vendor of GPU, its start command, the metric of running requests, and those
whose quantized checkpoints it is known to load."""

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
    """What stands behind the flag; blank where it is the planned value, and on a row for one planned value nothing."""
    status: FigureStatus
    source: str
    as_of: date
    note: str = ""
    """Told to whoever deploys, where the row is used."""


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
    """All that is known of how to say a plan to engines and tools."""

    flags: tuple[EngineFlag, ...] = ()
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

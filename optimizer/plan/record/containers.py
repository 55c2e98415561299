"""Containers paid by the second that serve all of a workload: what they run, when they are up, what they cost."""

import operator
from datetime import date
from decimal import Decimal

from pydantic import Field

from optimizer.base.model import Strict
from optimizer.plan.record.fields import Figure, Usd


class ContainerHours(Strict):
    """Hours of the week in which as much is asked of the containers, Monday 0 h first."""

    hours_of_week: list[tuple[int, int]]
    """Ranges of hours 0 to 167, first and last included."""
    requests_per_second: Figure
    """Of all containers."""
    containers: int
    """Over which requests are spread by chance."""
    kept_up: bool
    """Whether they stay up all these hours; else each starts with a request and stops when it was idle for a while."""
    share_up: Figure
    """Share of time in which a container is up or starts, and is paid for, at most."""
    waiting_share: Figure
    """Share of requests that wait for a container to start, at most."""


class Containers(Strict):
    """All requests of a workload, served by containers whose seller bills the seconds in which they are up."""

    workload: str
    model: str
    engine: str
    provider: str
    name: str
    """What the seller calls them."""
    gpu: str
    gpus_per_replica: int
    """Of a container, which holds one replica."""
    tensor_parallel: int
    pipeline_parallel: int
    precision: str
    kv_precision: str
    speculation: str = Field(default="", exclude_if=operator.not_)
    accepted_tokens: Figure | None = Field(default=None, exclude_if=operator.not_)
    idle_timeout_s: Figure
    start_up_s: Figure
    usd_per_second: Decimal
    """Of a container, its processors and memory included."""
    seconds_per_month: Figure
    """Of containers, that are paid for."""
    monthly_cost_usd: Usd
    schedule: list[ContainerHours]
    price_as_of: date
    price_source: str

"""What a plan buys and runs: deployments, purchases, hosted APIs, by period, and the month's bill."""

import operator
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Literal

from pydantic import Field

from optimizer.base.model import Strict
from optimizer.plan.record.containers import Containers
from optimizer.plan.record.fields import ByStatistic, Figure, UnitUsd, Usd


class Vram(Strict):
    """Memory of one GPU of a replica; weights, KV cache, activations and what is free add up to what is usable."""

    usable_gib: Figure
    """What the engine may take of the device."""
    weights_gib: Figure
    kv_cache_gib: Figure
    """KV cache that the planned load fills on average."""
    activations_gib: Figure
    """Working space of the largest step, runtime and communication buffers."""
    free_gib: Figure
    """The rest of the KV cache, room for bursts."""


class EngineStart(Strict):
    """What the engine's release starts with on the GPU where nobody sets anything: what the plan counts on."""

    memory_utilization: Figure
    """Share of the device memory that it takes."""
    max_num_seqs: int
    """Sequences that run at once in one replica."""
    max_num_batched_tokens: int
    """Tokens of one step."""


class ServedClass(Strict):
    """One request class as a deployment serves it."""

    name: str
    input_tokens: int
    output_tokens: int
    share: Figure
    """Share of this deployment's requests, at the hours in which it is sent most."""
    requests_per_second: Figure
    ttft_ms: ByStatistic
    """Predicted at the planned load, pipeline stages before the model included."""
    ttft_bound_ms: ByStatistic
    """The same with the margin of the chosen confidence; this is what is held against the limit."""
    e2e_ms: ByStatistic
    e2e_bound_ms: ByStatistic


class Provenance(Strict):
    """Where a deployment's numbers come from."""

    performance: Literal["measured", "calibrated", "estimated"]
    performance_note: str
    price_as_of: date
    price_source: str
    price_confidence: str
    price_derived_from: str = ""
    """What a price that no seller lists was computed from; empty where it is listed, or its source is private."""
    price_age_days: int
    price_is_old: bool
    """Whether the policy flags a price of that age from such a seller."""
    seller: str
    """What kind of seller it is from: see `sellers` of the catalogs; `owned` for one's own hardware."""
    quality: str


class PeriodReplicas(Strict):
    """Replicas of a deployment in a period, and the requests they are sent."""

    period: int
    replicas: int
    requests_per_second: Figure
    requests_per_second_by_class: dict[str, Figure]
    """Of the classes that it is sent; empty where it stands by."""
    max_requests_per_second: Figure
    """What its replicas sustain of this mix of classes within the service levels."""
    utilization: Figure


class Placement(Strict):
    """Replicas of one configuration on one offer, at the hours in which they are sent most, and what they cost."""

    workload: str
    pool: str
    """The request class it serves, `all` for the workload's whole mix, `mixed` for any other mix; see `classes`."""
    model: str
    engine: str
    engine_version: str
    """The release that the plan assumes: the newest stable one that the catalogs know."""
    provider: str
    region: str
    instance_type: str
    pricing_term: str
    commitment_months: int
    gpu: str
    gpus_per_instance: int
    gpus_per_replica: int
    tensor_parallel: int
    pipeline_parallel: int
    precision: str
    kv_precision: str
    speculation: str = Field(default="", exclude_if=operator.not_)
    """The draft whose tokens its steps verify, `METHOD:TOKENS`; empty without one, so for the next."""
    accepted_tokens: Figure | None = Field(default=None, exclude_if=operator.not_)
    """That a step yields, its own among them."""
    replicas: int
    instances: int
    """Instances that hold its replicas; an instance shared with another deployment counts in both."""
    total_gpus: int
    """GPUs bought for it, idle ones of its last instance included."""
    price_usd_per_hour: Decimal
    monthly_cost_usd: Usd
    """Its share of what is bought, and what sending its answers costs."""
    egress_gb_per_month: Figure | None
    """What its answers send out to the internet; None where the scenario does not ask for egress, so for the next."""
    egress_usd: Usd | None


class Deployment(Placement):
    """Replicas of one configuration on one offer, at the hours in which they are sent most; latencies and utilization
    are those of the hours in which a replica has most to do, of every mix of classes that it is sent."""

    schedule: list[PeriodReplicas]
    """Period by period; one entry where demand is the same all week."""
    requests_per_second: Figure
    max_requests_per_second: Figure
    """What its replicas sustain within the service levels, before the policy's utilization limit."""
    predicted_max_requests_per_second: Figure | None = None
    """The same were they as fast as predicted, without the margin of the chosen confidence."""
    utilization: Figure
    limited_by: str
    concurrency: Figure
    """Requests in flight in one replica."""
    max_concurrency: Figure
    tpot_ms: ByStatistic
    tpot_bound_ms: ByStatistic
    ttft_ms: ByStatistic
    """Of the slowest class it serves."""
    ttft_bound_ms: ByStatistic
    e2e_ms: ByStatistic
    classes: list[ServedClass]
    vram: Vram
    engine_starts_with: EngineStart
    power_kw: Figure | None
    cost_per_million_output_tokens_usd: UnitUsd | None
    """None for a standby deployment, which serves nothing at the planned load; so for the two below."""
    cost_per_million_tokens_usd: UnitUsd | None
    cost_per_request_usd: UnitUsd | None
    quality: Figure | None
    """Share of the first model's 16-bit score, mean over benchmarks; None where nobody published it."""
    quality_worst: Figure | None = None
    """The same of the benchmark on which it keeps least; None where nobody published several one by one, and in plans
    that were written before it was told."""
    provenance: Provenance


class PeriodInstances(Strict):
    """Instances of an offer that run in a period."""

    period: int
    instances: int


class LoadedReplicas(Strict):
    """Replicas of one configuration that an instance holds, whether they serve or not."""

    workload: str
    model: str
    engine: str
    precision: str
    kv_precision: str
    tensor_parallel: int
    pipeline_parallel: int
    speculation: str = Field(default="", exclude_if=operator.not_)
    replicas: int


class InstanceLayout(Strict):
    """What an instance holds for as long as it is paid for, and the instances that hold it in each period."""

    contents: list[LoadedReplicas]
    schedule: list[PeriodInstances]


class PeriodRequests(Strict):
    """Requests sent to a hosted API in a period."""

    period: int
    requests_per_second: Figure


class BilledRun(Strict):
    """Instances that are on the bill for some hours in a row, every week."""

    first_hour: int
    """Of the week, Monday 0 h first."""
    hours: int
    instances: int


class Purchase(Strict):
    """Instances bought of one offer, whoever runs on them."""

    offer: str
    instances: int
    """The most at once; `schedule` tells them by period."""
    gpus: int
    idle_gpus: int
    always_paid: bool
    """Paid all month (committed, reserved, owned), used or not."""
    schedule: list[PeriodInstances]
    runs: list[BilledRun]
    """What is paid for in a week where an instance is paid for longer than it may run; else empty."""
    layouts: list[InstanceLayout] = Field(default_factory=list)
    """What is loaded where several configurations run on the offer over the week; else empty."""
    instance_hours_per_month: Figure
    """Paid for, start-up included."""
    price_usd_per_hour: Decimal
    storage_usd_per_hour: Decimal
    """Of an instance's block storage, beside its price."""
    monthly_cost_usd: Usd


class Period(Strict):
    """Hours of the week that are planned alike, Monday 0 h first, and the demand planned for in them."""

    period: int
    hours_of_week: list[tuple[int, int]]
    """Ranges of hours 0 to 167, first and last included."""
    hours_per_month: Figure
    requests_per_second: dict[str, Figure]


class ReplicasTogether(Strict):
    """Replicas of one deployment that stand on the same instance."""

    deployment: int
    """Position among the plan's deployments, the first is 0."""
    workload: str
    replicas: int


class PlacedInstances(Strict):
    """Instances of an offer with the same replicas on them, in one period."""

    period: int
    instance: str
    """The offer, as in `purchases`."""
    count: int
    """How many instances have just these contents; others of the offer are empty."""
    contents: list[ReplicasTogether]


class Hosted(Strict):
    """Requests of one class sent to a hosted API, paid by the request, whose latency is the provider's promise; or to
    containers paid by the second, which are among `containers`, with their part of the month."""

    api: str
    provider: str
    model: str
    workload: str
    request_class: str
    schedule: list[PeriodRequests]
    requests_per_month: Figure
    usd_per_request: UnitUsd
    monthly_cost_usd: Usd
    price_as_of: date
    price_source: str
    paid_by: Literal["request", "second"] = Field(default="request", exclude_if="request".__eq__)


class ReplicaChanges(Strict):
    """Replicas started and stopped against the plan in force, in the hours with most traffic."""

    started: int
    stopped: int
    one_time_cost_usd: Usd


class Costs(Strict):
    """The month's bill by kind; what the catalogs cannot price for a provider is listed as unpriced."""

    compute_usd: Usd
    storage_usd: Usd | None
    egress_usd: Usd | None
    """Data sent to the internet; None where the scenario does not say how much an answer sends."""
    idle_gpus_usd: Usd
    """Part of compute: GPUs that are bought and hold no replica."""
    headroom_usd: Usd
    """Part of compute: capacity bought beyond the demand; the next two together."""
    burst_reserve_usd: Usd | None = None
    """Kept free by `max_utilization` and `robust`, as far as the demand leaves it."""
    unused_usd: Usd | None = None
    """Beyond that: replicas and instances are whole, and spare ones serve nothing."""
    at_prediction_usd: Usd | None = None
    """Part of compute: what the demand would take, were replicas as fast as predicted."""
    confidence_usd: Usd | None = None
    """Part of compute: what it takes more because the limits must hold at the bound of the chosen confidence."""
    start_up_usd: Usd
    """Part of compute: hours paid while instances start."""
    minimum_billing_usd: Usd
    """Part of compute: hours paid for instances that do not run any more, until their least time is over."""
    serverless_usd: Usd
    migration_usd: Usd
    """Changes against the plan in force, once."""
    unpriced: list[str]


@dataclass(frozen=True)
class Outline:
    """What is bought, what runs on it and what it costs, without a prediction of how it performs."""

    deployments: tuple[Placement, ...] = ()
    """By offer, in the order of the purchases."""
    purchases: tuple[Purchase, ...] = ()
    hosted: tuple[Hosted, ...] = ()
    migration: ReplicaChanges | None = None
    monthly_cost_usd: Decimal = Decimal(0)


@dataclass(frozen=True)
class PlannedFleet(Outline):
    """All that was decided, with its promises: what a report shows and what verification checks."""

    deployments: tuple[Deployment, ...] = ()
    periods: tuple[Period, ...] = ()
    placement: tuple[PlacedInstances, ...] = ()
    """What stands on which instance, where the loss of an instance is survived; else empty."""
    containers: tuple[Containers, ...] = ()
    """What is paid by the second; their requests and what each costs stand among `hosted`."""

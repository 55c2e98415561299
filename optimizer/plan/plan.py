"""The answer's types: what to buy, what it will deliver, why, and the proof; published as a JSON schema."""

from datetime import date
from decimal import ROUND_HALF_EVEN, Decimal
from typing import Annotated, Literal

from pydantic import Field, PlainSerializer

from optimizer.base.model import Strict

SCHEMA_VERSION = 1
CENT = Decimal("0.01")
UNIT_PRICE_DIGITS = 4


def cents(amount: Decimal) -> Decimal:
    """Money rounded to two places, half to even."""
    return amount.quantize(CENT, rounding=ROUND_HALF_EVEN)


def significant(amount: Decimal) -> str:
    """A per-unit price in plain notation with its significant digits, at least two places."""
    rounded = Decimal(f"{amount:.{UNIT_PRICE_DIGITS}g}")
    return f"{rounded:.2f}" if rounded == cents(rounded) else f"{rounded:f}"


Usd = Annotated[Decimal, PlainSerializer(lambda amount: f"{cents(amount):.2f}", return_type=str)]
UnitUsd = Annotated[Decimal, PlainSerializer(significant, return_type=str)]
Ms = Annotated[float, PlainSerializer(lambda value: round(value, 3), return_type=float)]
Figure = Annotated[float, PlainSerializer(lambda value: float(f"{value:.6g}"), return_type=float)]

Outcome = Literal["optimal", "feasible", "infeasible", "unproven", "failed"]
PerformanceProvenance = Literal["measured", "calibrated", "estimated"]


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


class ServedClass(Strict):
    """One request class as a deployment serves it."""

    name: str
    input_tokens: int
    output_tokens: int
    share: Figure
    """Share of this deployment's requests."""
    requests_per_second: Figure
    ttft_ms: dict[str, Ms]
    """Predicted at the planned load, pipeline stages before the model included."""
    ttft_bound_ms: dict[str, Ms]
    """The same with the margin of the chosen confidence; this is what is held against the limit."""
    e2e_ms: dict[str, Ms]
    e2e_bound_ms: dict[str, Ms]


class Provenance(Strict):
    """Where a deployment's numbers come from."""

    performance: PerformanceProvenance
    performance_note: str
    price_as_of: date
    price_source: str
    price_confidence: str
    price_age_days: int
    quality: str


class Deployment(Strict):
    """Replicas of one configuration on one offer."""

    workload: str
    pool: str
    """The request class it serves, or `all` for the workload's whole mix."""
    model: str
    engine: str
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
    replicas: int
    instances: int
    """Instances that hold its replicas; an instance shared with another deployment counts in both."""
    total_gpus: int
    """GPUs bought for it, idle ones of its last instance included."""
    price_usd_per_hour: Decimal
    monthly_cost_usd: Usd
    requests_per_second: Figure
    max_requests_per_second: Figure
    """What its replicas sustain within the service levels, before the policy's utilization limit."""
    utilization: Figure
    limited_by: str
    concurrency: Figure
    """Requests in flight in one replica."""
    max_concurrency: Figure
    tpot_ms: dict[str, Ms]
    tpot_bound_ms: dict[str, Ms]
    ttft_ms: dict[str, Ms]
    """Of the slowest class it serves."""
    ttft_bound_ms: dict[str, Ms]
    e2e_ms: dict[str, Ms]
    classes: list[ServedClass]
    vram: Vram
    power_kw: Figure | None
    cost_per_million_output_tokens_usd: UnitUsd | None
    """None for a standby deployment, which serves nothing at the planned load; so for the two below."""
    cost_per_million_tokens_usd: UnitUsd | None
    cost_per_request_usd: UnitUsd | None
    quality: Figure | None
    provenance: Provenance


class Purchase(Strict):
    """Instances bought of one offer, whoever runs on them."""

    offer: str
    instances: int
    gpus: int
    idle_gpus: int
    price_usd_per_hour: Decimal
    monthly_cost_usd: Usd


class SolverFacts(Strict):
    """How the answer was found and proven."""

    name: str
    reason: str
    candidates_evaluated: int
    candidates_kept: int
    columns_solved: int
    eliminated: dict[str, int]
    """Candidates removed by each argument that no optimal plan needs them."""
    wall_s: float


class Costs(Strict):
    """The month's bill by kind; what the catalogs cannot price for a provider is listed as unpriced."""

    compute_usd: Usd
    storage_usd: Usd | None
    egress_usd: Usd | None
    idle_gpus_usd: Usd
    """Part of compute: GPUs that are bought and hold no replica."""
    headroom_usd: Usd
    """Part of compute: capacity bought beyond the demand."""
    unpriced: list[str]


class Requirement(Strict):
    """One limit of the scenario at the plan: its value, and the slack in its own unit."""

    requirement: str
    limit: Figure
    value: Figure
    slack: Figure
    unit: str
    binding: bool
    text: str


class Alternative(Strict):
    """Another plan, solved to its own optimum, beside the chosen one."""

    kind: str
    change: str
    outcome: Outcome
    monthly_cost_usd: Usd | None
    difference_usd: Usd | None
    summary: str
    text: str


class NearestMiss(Strict):
    """The candidate that comes closest to a requirement it fails."""

    requirement: str
    criterion: str
    candidate: str
    value: Figure
    limit: Figure
    unit: str
    other_failures: list[str]
    text: str


class Rejected(Strict):
    """Candidates that fail at least one criterion; a candidate counts under each one it fails."""

    total: int
    by_reason: dict[str, int]
    only_reason: dict[str, int]
    """Candidates that fail this criterion and no other."""


class ConflictItem(Strict):
    """One requirement of a set that cannot hold together."""

    requirement: str
    value: str
    text: str


class FieldChange(Strict):
    """One field of the scenario set to another value; null removes it."""

    field: str
    from_: Annotated[float | str | None, Field(alias="from")]
    to: float | str | tuple[str, ...] | None
    unit: str


class Relaxation(Strict):
    """Changes that make the scenario feasible, re-solved."""

    changes: list[FieldChange]
    monthly_cost_usd: Usd
    text: str


class MarginalValue(Strict):
    """What the month costs after one natural step of a limit, re-solved."""

    field: str
    what: str
    """The limit in words."""
    direction: Literal["tighter", "looser"]
    from_: Annotated[Figure, Field(alias="from")]
    to: Figure
    unit: str
    outcome: Outcome
    same_plan: bool
    """Whether the chosen plan is still a best one."""
    monthly_cost_usd: Usd | None
    change_usd: Usd | None
    summary: str
    text: str


class Breakpoint(Strict):
    """How far a limit, the demand or a price may move before other instances are bought, and which then."""

    kind: Literal["limit", "price"]
    field: str
    """Path of the scenario's field, or the id of the offer."""
    what: str
    direction: Literal["tighter", "looser", "dearer", "cheaper"]
    from_: Annotated[Figure, Field(alias="from")]
    holds_to: Figure
    """The plan was proven to stay the best one up to here."""
    changes_at: Figure | None
    """The nearest value at which another plan was proven best; None where there is none in the range searched."""
    unit: str
    outcome: Outcome | None
    monthly_cost_usd: Usd | None
    """Of the plan that takes over, at the value where it does."""
    summary: str
    text: str


class Explanation(Strict):
    """Facts about the plan, each with the words that say it."""

    summary: str
    binding: list[Requirement]
    requirements: list[Requirement]
    alternatives: list[Alternative]
    opportunities: list[Alternative]
    baselines: list[Alternative]
    rejected: Rejected
    nearest_misses: list[NearestMiss]
    conflict: list[ConflictItem]
    relaxations: list[Relaxation]
    marginal_values: list[MarginalValue]
    breakpoints: list[Breakpoint]
    warnings: list[str]


class Check(Strict):
    """One promise recomputed from the finished plan."""

    name: str
    passed: bool
    text: str


class Verification(Strict):
    """Independent arithmetic over the finished plan."""

    passed: bool
    checks: list[Check]


class PlanReport(Strict):
    """The whole answer to a scenario."""

    schema_version: int = SCHEMA_VERSION
    scenario: str
    outcome: Outcome
    monthly_cost_usd: Usd | None
    bound_usd: Usd | None
    relative_gap: Figure | None
    catalog_as_of: date
    confidence: Figure
    solver: SolverFacts
    deployments: list[Deployment]
    purchases: list[Purchase]
    costs: Costs | None
    explanation: Explanation
    verification: Verification

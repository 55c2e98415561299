"""What a plan is worth where demand, prices, capacity and predictions are not known: draws and their sums."""

import operator
from datetime import date

from pydantic import Field

from optimizer.base.model import Strict
from optimizer.plan.record.fields import Figure, Outcome, UnitUsd, Usd


class DrawnSpread(Strict):
    """One thing that was drawn, and how far it spreads."""

    uncertainty: str
    of: str
    """Whose; empty where there is one."""
    unit: str
    p10: Figure
    """One in ten draws lies below."""
    p50: Figure
    p90: Figure
    """One in ten draws lies above."""
    series: int | None
    """That were published; None of what the scenario says."""
    source: str
    """`scenario`, or whose figures these are."""
    as_of: date | None
    note: str


class MachineInDraws(Strict):
    """An instance that may be bought before a draw is known, or rented in it, and what it runs for one workload."""

    name: str
    """By which draws and purchases name it."""
    workload: str
    offer: str
    provider: str
    region: str
    instance_type: str
    pricing_term: str
    commitment_months: int | None
    gpu: str
    gpus_per_instance: int
    model: str
    engine: str
    precision: str
    kv_precision: str
    speculation: str = Field(default="", exclude_if=operator.not_)
    tensor_parallel: int
    pipeline_parallel: int
    replicas_per_instance: int
    usd_per_instance_hour: UnitUsd
    """Today."""
    storage_usd: Usd
    """A month of the disks that come with it, whose price stays."""
    price_moves_with: str | None
    """In `price_factor`; None where today's price is signed for or paid."""
    error_moves_with: str
    """In `deviation`."""
    requests_per_second_by_deviation: list[Figure]
    """Of a whole instance, at each of the report's `deviations`."""


class DeploymentInDraws(Strict):
    """A deployment of the plan: what it sustains, with all of its replicas, and what it is sent."""

    workload: str
    offer: str
    error_moves_with: str
    class_share: dict[str, Figure]
    """Of each class in what it is sent."""
    requests_per_second_by_deviation: list[Figure]


class BoughtInDraws(Strict):
    """Instances that are bought before a draw is known."""

    machine: str | None
    """Of `machines`; None of what the plan buys."""
    offer: str
    instances: int


class CostOfDraw(Strict):
    """What purchases come to in one draw."""

    bought_usd: Usd
    """A month of what was bought before and is there."""
    short_per_s: dict[str, Figure]
    """Requests/s of each workload that it does not sustain."""
    rented: dict[str, int]
    """Instances of the draw's machine beside it."""
    rented_usd: Usd
    unserved_per_s: dict[str, Figure]
    """Requests/s that are served neither way."""
    unserved_usd: Usd
    cost_usd: Usd


class Draw(Strict):
    """One state of the month ahead."""

    demand_factor: dict[str, Figure]
    """Of each workload, over the scenario's rate."""
    price_factor: dict[str, Figure]
    """Over today's prices."""
    commitments_begun: bool
    spot_there: dict[str, bool]
    """By region."""
    deviation: dict[str, Figure]
    """By how many standard deviations configurations lie behind their prediction, of those that matter here."""
    machine: dict[str, str | None]
    """What more is rented of for each workload; None where no machine keeps its promises."""
    known_usd: Usd | None
    """The least cost had the draw been known; None where there was no time."""
    plan: CostOfDraw
    best: CostOfDraw | None


class PromiseInDraws(Strict):
    """In how many draws the plan, as it stands, keeps a workload's promises."""

    workload: str
    share_held: Figure
    lowest_share: Figure
    """Of all there is to draw, with a confidence of 95 %; so the next."""
    highest_share: Figure


class PurchasesInDraws(Strict):
    """What purchases come to over all draws, a month, with more rented where they do not suffice."""

    bought: list[BoughtInDraws]
    expected_usd: Usd
    p10_usd: Usd
    p50_usd: Usd
    p90_usd: Usd
    tail_usd: Usd
    """The mean of the dearest draws, beyond `tail_level`."""
    expected_bought_usd: Usd
    expected_rented_usd: Usd
    expected_unserved_usd: Usd
    share_short: Figure
    """Of the demand, in the mean, that what was bought does not sustain: unserved if nothing is rented."""
    draws_short: Figure
    """Share of the draws in which anything is missing."""
    within_budget: Figure | None
    """Share of the draws in which all of it costs no more than `policy.max_monthly_usd`; None without one."""
    regret_usd: Usd | None
    """In the mean, beyond what each draw would cost had it been known; None where there was no time."""
    p90_regret_usd: Usd | None


class BestInDraws(Strict):
    """What would run in some draws at the least cost, had these been known."""

    machines: list[str]
    """Bought before or rented in the draw."""
    draws: int


class SampleGapReport(Strict):
    """How far the best purchases may be from the best over all there is to draw, each figure with 95 % on one side."""

    batches: int
    draws_per_batch: int
    lower_usd: Usd
    """No purchases come to less, in the mean over samples: the mean of what each batch proved."""
    lower_half_width_usd: Usd
    upper_usd: Usd
    """What the purchases chosen come to in draws that they were not chosen by."""
    upper_half_width_usd: Usd
    gap_usd: Usd
    most_gap_usd: Usd
    """With both half-widths."""


class VarianceShare(Strict):
    """How much of the variance of the plan's cost one uncertainty brings."""

    uncertainty: str
    alone: Figure
    """First-order Sobol index: the variance of the mean cost, given it alone."""
    with_others: Figure
    """Total index: what is left once all others are known."""


class RiskScope(Strict):
    """What the figures are of."""

    statement: str
    considered: list[str]
    not_considered: list[str]


class RiskCheck(Strict):
    """One thing that independent arithmetic found."""

    name: str
    passed: bool
    text: str


class RiskVerification(Strict):
    """All of it again, by code that shares nothing with what drew up the answer."""

    passed: bool
    checks: list[RiskCheck]


class RiskReport(Strict):
    """What a plan is worth over draws of what nobody knows, and what would be better bought."""

    schema_version: int = 1
    scenario: str
    outcome: Outcome
    """Of the plan."""
    complete: bool
    """Whether every draw and every batch was worked out to its end."""
    catalog_as_of: date
    draws: int
    seed: int
    months_ahead: int
    tail_level: Figure
    tail_weight: Figure
    plan_usd: Usd | None
    """A month of the plan today."""
    spreads: list[DrawnSpread]
    promises: list[PromiseInDraws]
    all_held: Figure | None
    """Share of the draws in which every promise of every workload is kept."""
    plan: PurchasesInDraws | None
    best: PurchasesInDraws | None
    """Those of least (1 − tail_weight) · mean + tail_weight · tail."""
    gap: SampleGapReport | None
    known_usd: Usd | None
    """In the mean, had every draw been known."""
    best_in: list[BestInDraws]
    variance: list[VarianceShare]
    deviations: list[Figure]
    machines: list[MachineInDraws]
    deployments: list[DeploymentInDraws]
    scope: RiskScope
    notes: list[str]
    verification: RiskVerification | None
    by_draw: list[Draw]

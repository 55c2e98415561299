"""The answer as a whole: what to buy, what it will deliver, why, and the proof; published as a JSON schema."""

import hashlib
import json
import operator
from collections.abc import Sequence
from datetime import date
from decimal import Decimal
from typing import Final, Literal, TypeAlias

from pydantic import Field

from optimizer.base.model import Strict
from optimizer.inputs.requirements.avoided import avoided
from optimizer.inputs.scenario.scenario import Scenario
from optimizer.plan.record.containers import Containers
from optimizer.plan.record.explanation import Explanation
from optimizer.plan.record.fields import Figure, Outcome, Usd
from optimizer.plan.record.fleet import (
    Costs,
    Deployment,
    Hosted,
    Period,
    PlacedInstances,
    PlannedFleet,
    Purchase,
    ReplicaChanges,
)
from optimizer.plan.record.origin import PlanInputs
from optimizer.plan.record.simulation import Simulation

SCHEMA_VERSION = 1

BoundOf: TypeAlias = Literal[
    "the scenario",
    "the plans considered",
    "plans on machines of measured speed",
    "plans without 4-bit weights of unknown quality",
    "plans on machines of measured speed, without 4-bit weights of unknown quality",
]


class SolverFacts(Strict):
    """How the answer was found and proven."""

    name: str
    reason: str
    candidates_evaluated: int
    candidates_kept: int
    columns_solved: int
    eliminated: dict[str, int]
    """Candidates removed by each argument that no optimal plan needs them."""
    mixes_between: int
    """Predicted mixes of classes between which capacity is added up by shares; 0 where nothing is added up."""
    mixes_settled: bool = False
    """Whether mixes probed between the predicted ones leave no cheaper plan possible. Where not, `bound_usd` is what
    plans would cost at the rates that the probes leave possible, unless nothing was probed."""
    classes_joined: tuple[str, ...] = ()
    """Classes so alike, or so many, that they share replicas with others only in their own shares."""
    rounds: int
    """Solves until every deployment held at the mix of classes that the plan sends it, and mixes of which replicas may
    sustain more made no cheaper plan; each but the last predicted more mixes."""
    wall_s: float


class Patchwork(Strict):
    """The cheapest plan, where a simpler one is shown in its place."""

    monthly_cost_usd: Usd
    configurations: int
    providers: int
    regions: int
    instances: int
    drafts: bool = False
    """Whether steps of any of its replicas verify drafts."""
    summary: str


class Simplicity(Strict):
    """How simple the plan is, and what that costs."""

    percent: Figure
    """By so much it may be dearer than the cheapest, or by the policy's dollars for each configuration less."""
    premium_usd: Usd
    premium_percent: Figure
    """Over the cheapest plan; 0 where the plan is the cheapest."""
    proven: bool
    """Whether no plan that costs so little more has fewer configurations, then, within the percentage, providers and
    regions, then instances without putting a workload on a single one, nor as few and costs less."""
    configurations: int
    providers: int
    """Of machines and of hosted APIs."""
    regions: int
    instances: int
    """That run at once, at most."""
    cheapest: Patchwork | None
    """None where the plan itself is the cheapest."""
    cheapest_holds: bool | None = None
    """Whether a look at few simulated requests said that the cheapest keeps every promise, too; None where nobody
    looked."""
    kept: bool = False
    """Whether it is what runs today, which stays while it is within the percentage."""
    enough: bool = False
    """Whether the search for the cheapest ended by itself, since no plan costs less by more than the percentage: the
    plan is answered for, though the cheapest is not proven."""
    text: str
    """What the cheapest would save and what it would take; empty where the plan is the cheapest."""


class Scope(Strict):
    """What the answer is true of."""

    statement: str
    """In one sentence."""
    exact: bool
    """Whether nothing was left out: what is proven is true of every plan of the scenario."""
    considered: list[str]
    not_considered: list[str]


class Accepted(Strict):
    """Something that the scenario avoids and the plan rests on, since no plan does without."""

    field: str
    """Of the scenario."""
    text: str
    """What it is, and what to do about it before anything else."""


class Check(Strict):
    """One promise recomputed from the finished plan."""

    name: str
    passed: bool
    text: str


class Verification(Strict):
    """Independent arithmetic over the finished plan."""

    passed: bool | None
    """None where there is no plan to verify."""
    checks: list[Check]


DECIDED: Final = (
    *("schema_version", "scenario", "outcome", "monthly_cost_usd", "deployments", "purchases", "hosted", "periods"),
    *("placement", "migration", "inputs"),
)
"""What makes a plan this one: what it buys and runs with its promises, and all that it was made from."""


class PriceDays(Strict):
    """The days that the prices of a plan are of."""

    oldest: date
    newest: date

    @classmethod
    def of(cls, deployments: Sequence[Deployment], hosted: Sequence[Hosted] = ()) -> "PriceDays | None":
        """Of what is paid for; None where nothing is."""
        days = {*(d.provenance.price_as_of for d in deployments), *(item.price_as_of for item in hosted)}
        return cls(oldest=min(days), newest=max(days)) if days else None

    @property
    def words(self) -> str:
        """As one phrase."""
        return f"{self.oldest}" if self.oldest == self.newest else f"{self.oldest} to {self.newest}"


class PlanReport(Strict):
    """The whole answer to a scenario."""

    schema_version: int = SCHEMA_VERSION
    scenario: str
    asked: tuple[str, ...] = ()
    """The question in words: a line for each workload, with the arithmetic where it stated no rate; then the policy."""
    outcome: Outcome
    monthly_cost_usd: Usd | None
    """Of the plan shown: the simplest within `policy.simplicity_percent` of the cheapest, or of fewer configurations
    that are worth `policy.simplicity_usd_per_configuration`."""
    cheapest_usd: Usd | None = None
    """Of the cheapest plan: what `outcome`, `bound_usd` and `relative_gap` speak of."""
    simplicity: Simplicity | None = None
    accepted: tuple[Accepted, ...] = ()
    """Empty where the plan does without, and where the scenario avoids nothing."""
    bound_usd: Usd | None
    bound_of: BoundOf
    """What the bound is a bound of, and what is proven is true of; `scope` says what else there is."""
    relative_gap: Figure | None
    scope: Scope
    catalog_as_of: date
    prices_as_of: PriceDays | None = None
    """Of every price that the plan pays; None without a plan."""
    confidence: Figure
    solver: SolverFacts
    deployments: tuple[Deployment, ...]
    purchases: tuple[Purchase, ...]
    hosted: tuple[Hosted, ...]
    periods: tuple[Period, ...]
    placement: tuple[PlacedInstances, ...] = ()
    """What stands on which instance, by period, where the loss of an instance is survived; else empty."""
    containers: tuple[Containers, ...] = Field(default=(), exclude_if=operator.not_)
    """What is paid by the second, where a workload is; their requests and what each costs stand among `hosted`."""
    migration: ReplicaChanges | None
    costs: Costs | None
    explanation: Explanation
    verification: Verification
    simulation: Simulation | None = None
    """The plan under independent arrivals, request by request; None without a plan, and where the time was up."""
    inputs: PlanInputs

    def avoided(self, scenario: Scenario) -> tuple[str, ...]:
        """The fields of its scenario that avoid something and were kept to."""
        accepted = {item.field for item in self.accepted}
        return tuple(field for field in avoided(scenario) if field not in accepted)

    @property
    def plan_id(self) -> str:
        """What was decided, from what, as `sha256:` and 64 digits: the same from memory and from its file.

        How it is explained, and how long that took, makes no other plan.
        """
        content = self.model_dump(mode="json", by_alias=True, include=set(DECIDED))
        return f"sha256:{hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()}"

    @property
    def fleet(self) -> PlannedFleet:
        """What is bought and runs, as it is verified and simulated; it costs nothing where there is no plan."""
        return PlannedFleet(
            deployments=self.deployments,
            purchases=self.purchases,
            hosted=self.hosted,
            migration=self.migration,
            monthly_cost_usd=self.monthly_cost_usd or Decimal(0),
            periods=self.periods,
            placement=self.placement,
            containers=self.containers,
        )

"""The answer as a whole: what to buy, what it will deliver, why, and the proof; published as a JSON schema."""

from datetime import date
from typing import Literal, TypeAlias

from optimizer.base.model import Strict
from optimizer.plan.record.explanation import Explanation
from optimizer.plan.record.fields import Figure, Outcome, Usd
from optimizer.plan.record.fleet import Costs, Deployment, Hosted, Period, PlacedInstances, Purchase, ReplicaChanges
from optimizer.plan.record.origin import PlanInputs

SCHEMA_VERSION = 1

BoundOf: TypeAlias = Literal["the scenario", "the plans considered"]


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


class Scope(Strict):
    """What the answer is true of."""

    statement: str
    """In one sentence."""
    exact: bool
    """Whether nothing was left out: what is proven is true of every plan of the scenario."""
    considered: list[str]
    not_considered: list[str]


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


class PlanReport(Strict):
    """The whole answer to a scenario."""

    schema_version: int = SCHEMA_VERSION
    scenario: str
    asked: tuple[str, ...] = ()
    """What was asked in other words than a rate, with the arithmetic: users, tokens a day, a batch with a deadline."""
    outcome: Outcome
    monthly_cost_usd: Usd | None
    bound_usd: Usd | None
    bound_of: BoundOf
    """What the bound is a bound of, and what is proven is true of; `scope` says what else there is."""
    relative_gap: Figure | None
    scope: Scope
    catalog_as_of: date
    confidence: Figure
    solver: SolverFacts
    deployments: tuple[Deployment, ...]
    purchases: tuple[Purchase, ...]
    hosted: tuple[Hosted, ...]
    periods: tuple[Period, ...]
    placement: tuple[PlacedInstances, ...] = ()
    """What stands on which instance, by period, where the loss of an instance is survived; else empty."""
    migration: ReplicaChanges | None
    costs: Costs | None
    explanation: Explanation
    verification: Verification
    inputs: PlanInputs

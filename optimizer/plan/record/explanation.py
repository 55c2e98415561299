"""Why a plan is what it is: facts with the words that say them."""

import operator
from typing import Annotated, Literal

from pydantic import Field

from optimizer.base.model import Strict
from optimizer.plan.record.fields import Figure, Outcome, Usd


class MeasuredRequirement(Strict):
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
    at_least_usd: Usd | None = Field(default=None, exclude_if=operator.not_)
    """What a plan costs at least where none is known that may be shown; nothing is said of most."""
    summary: str
    text: str


class InstanceLost(Strict):
    """What the loss of the instance that would hurt most leaves, until another one takes its place."""

    instance: str
    workload: str
    """Which it hits hardest."""
    share_left: Figure
    """Of that workload's demand, what is left sustains within the service levels; the least of its classes and of all
    periods; 1 and more where all of it is still served."""
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
    spent_on: dict[str, Figure]
    """What its time or memory goes to, as shares, largest first."""
    text: str


class Rejected(Strict):
    """Candidates that fail at least one criterion; a candidate counts under each one it fails."""

    total: int
    by_reason: dict[str, int]
    only_reason: dict[str, int]
    """Candidates that fail this criterion and no other."""


class ConflictItem(Strict):
    """One requirement of a set that cannot hold together."""

    conflict: int
    """Number of the set, from 1: sets are independent, each alone rules out every plan."""
    requirement: str
    value: str
    written: bool
    """Whether the scenario says so, or nobody did and it is the default."""
    line: int | None
    """In the scenario's file, where there is one."""
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
    plan_holds: bool | None = None
    """Whether few simulated requests say that the plan which takes over keeps every promise; where they do not, a plan
    asked for at that value is another one, which costs more. None where there is none."""
    text: str


class Estimate(Strict):
    """A number that nobody knows for sure, and the money that hangs on it, re-solved."""

    kind: Literal["performance", "price", "quality"]
    what: str
    rests_on: str
    in_plan: bool
    """Whether the plan uses what it speaks for; else a better plan would."""
    saves_usd: Figure | None
    """A month, if it turns out as predicted without the margin of the confidence asked for."""
    costs_usd: Figure | None
    """A month, if what it speaks for cannot be used after all."""
    text: str


class Benchmark(Strict):
    """The measurement that would settle the most money."""

    configuration: str
    command: str
    settles: str
    text: str


class TrackRecord(Strict):
    """How often promises on the same confidence were kept by measurements that no fit had seen."""

    targets: str
    confidence: Figure
    plans: int
    kept_share: Figure
    text: str


class Exposure(Strict):
    """The estimates to which the decision is most exposed, and the measurement to make first."""

    estimates: list[Estimate]
    benchmark: Benchmark | None


class Explanation(Strict):
    """Facts about the plan, each with the words that say it."""

    summary: str
    binding: list[MeasuredRequirement]
    requirements: list[MeasuredRequirement]
    alternatives: list[Alternative]
    opportunities: list[Alternative]
    also_priced: tuple[Alternative, ...] = ()
    """What is no relaxation of the scenario: hosted APIs alone, whatever they do not promise, and surviving the loss of
    an instance."""
    baselines: list[Alternative]
    rejected: Rejected
    nearest_misses: list[NearestMiss]
    conflict: list[ConflictItem]
    relaxations: list[Relaxation]
    only_bounded: list[Alternative] = Field(default_factory=list, exclude_if=operator.not_)
    """Comparisons of which only a least cost is known, in the words that stand in `not_worked_out`."""
    broken_ways: tuple[str, ...] = Field(default=(), exclude_if=().__eq__)
    """What no relaxation is, since simulated requests break a promise of every plan that was found there, in words."""
    marginal_values: list[MarginalValue]
    breakpoints: list[Breakpoint]
    exposure: Exposure | None
    benchmark: Benchmark | None = None
    """The one to run before signing: of the dearest deployment that nobody measured, else of the dearest."""
    track_record: TrackRecord | None = None
    """Of plans that promise the same latencies; None where none is promised, or nobody looked."""
    instance_lost: InstanceLost | None = None
    """None where nothing is rented."""
    warnings: list[str]
    not_worked_out: list[str]
    """What of all this was left out because the time limit or the work limit was reached, in words."""

"""The answer of `optimizer replan`: what to do with each plan of yesterday, and what it would be today."""

from typing import Final, Literal

from optimizer.answers.gate.types import CausedBy, DeploymentChange, Removed
from optimizer.base.model import Strict
from optimizer.plan.record.fields import Figure, Usd

SCHEMA_VERSION: Final = 1
Advice = Literal["stay", "move", "must_move", "new", "no_plan", "undecided"]


class Replanned(Strict):
    """One scenario: what runs by yesterday's plan, and what today's would be."""

    scenario: str
    file: str
    baseline: str | None
    """The file of yesterday's plan; None where there is none."""
    advice: Advice
    """`must_move`: what runs no longer meets the scenario, or can no longer be bought; `undecided`: a limit was reached
    before it was known."""
    before_usd: Usd | None
    """A month, as yesterday's plan says, what changing to it cost once included."""
    stay_usd: Usd | None
    """The same replicas in the busiest hours at today's prices; None where they cannot stay."""
    after_usd: Usd | None
    """A month of what is advised, or of the best found before a limit, without what changing to it costs once."""
    bound_usd: Usd | None
    """Nothing costs less a month, a part of what changing to it costs once included; None where nothing is known."""
    saves_usd_per_month: Usd | None
    """Of moving over staying; None where there is no choice."""
    replicas_changed: int
    """Started and stopped in the busiest hours."""
    one_time_usd: Usd
    """What changing them costs."""
    pays_back_months: Figure | None
    deployments: list[DeploymentChange]
    """What runs yesterday and by today's advice."""
    prices: list[CausedBy]
    """What happened to the prices that either plan pays, the dearest first."""
    warnings: list[str]
    """Prices of either plan to have confirmed before anything is moved, as `plan` says it, each with its row."""
    text: str


class ReplanReport(Strict):
    """All scenarios of a folder, and what there is to do."""

    schema_version: int = SCHEMA_VERSION
    months: int
    """Within which a move has to pay back."""
    scenarios: list[Replanned]
    removed: list[Removed]
    """Plans of yesterday whose scenario is there no more: what they run can be stopped."""
    saves_usd_per_month: Usd
    one_time_usd: Usd
    """Of what is advised; what is undecided is in neither sum."""
    summary: str

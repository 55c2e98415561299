"""The fleets of a life, one after the other: each solved for its own demand, and moved to from the one before it."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, TypeAlias

from optimizer.answers.planning.optimize import proven_usd
from optimizer.answers.planning.verified_plan import verified_plan
from optimizer.base.clock import Clock
from optimizer.inputs.scenario.policy import InForce
from optimizer.inputs.scenario.scenario import Scenario
from optimizer.plan.question.asking import first_with_a_plan
from optimizer.plan.question.batches import solved_at_best_hours
from optimizer.plan.question.growing import grown
from optimizer.plan.question.inquiry import Answer, Inquiry
from optimizer.plan.question.narrowing import narrowed
from optimizer.plan.question.solving import for_variations
from optimizer.plan.readback.outline import outlined
from optimizer.plan.record.fields import Outcome
from optimizer.plan.record.fleet import PlannedFleet

Running: TypeAlias = tuple[InForce, ...] | None
"""Replicas in force; None where changes against them do not count."""


@dataclass(frozen=True)
class FleetAtDemand:
    """What serves one level of demand; without a plan `bought` is None and `reason` says why.

    Attributes:
        scenario: What it serves, batches in the hours in which it works on them.
        usd: Of a month, what moving to it costs included; None without a plan.
    """

    scenario: Scenario
    outcome: Outcome
    reason: str
    bound_usd: Decimal | None
    relative_gap: float | None
    bought: PlannedFleet | None
    usd: Decimal | None

    @classmethod
    def of(cls, answer: Answer) -> "FleetAtDemand":
        """The verified plan of an answer, with what is proven of it."""
        found, bought = answer.solution, verified_plan(answer)
        least = bought if answer.cheapest is None else outlined(answer.cheapest)
        return cls(
            scenario=answer.inquiry.scenario,
            outcome=found.outcome,
            reason=found.reason,
            bound_usd=proven_usd(found, None if least is None else least.monthly_cost_usd),
            relative_gap=found.relative_gap,
            bought=bought,
            usd=None if bought is None else bought.monthly_cost_usd,
        )

    def kept(self) -> "FleetAtDemand":
        """The same in a month after its first: moving to it was paid, and no other plan was looked for."""
        migration = None if self.bought is None else self.bought.migration
        if self.usd is None or migration is None or not migration.one_time_cost_usd:
            return self
        return replace(self, usd=self.usd - migration.one_time_cost_usd, bound_usd=None)


class Fleets:
    """Plans one fleet after the other, each against the one before it where changes count."""

    def __init__(self, inquiry: Inquiry) -> None:
        """Begins with what runs today.

        Args:
            inquiry: The question of the first month.
        """
        self._inquiry = inquiry
        migration = inquiry.scenario.policy.migration
        self._running: Running = None if migration is None else migration.in_force or ()
        self._first_month: dict[tuple[str, ...], Inquiry] = {}  # by what is avoided in it, worked out once
        self._planned: dict[tuple[float, Running], FleetAtDemand] = {}
        self._shares: dict[float, Clock] = {}

    def is_new(self, factor: float) -> bool:
        """Whether a fleet for so many times the first month's demand is still to be planned."""
        return (factor, self._running) not in self._planned

    def next(self, factor: float, clock: Clock) -> FleetAtDemand:
        """The fleet at so many times the first month's demand, which is then the one in force if there is one."""
        asked = (factor, self._running)
        if asked not in self._planned:
            self._planned[asked], self._shares[factor] = self._fleet(factor, clock), clock
        fleet = self._planned[asked]
        if self._running is not None and fleet.bought is not None:
            self._running = running(fleet.bought)
        return fleet

    def in_time_left(self, factors: Sequence[float]) -> dict[float, FleetAtDemand]:
        """By factor the fleets that their share of a limit left unproven, planned again where more than that is left.

        Where changes count each fleet is the one that the next is moved to from, so that there none is planned again.
        """
        if self._running is not None:
            return {}
        short = [f for f in dict.fromkeys(factors) if self._planned[f, None].outcome in ("feasible", "unproven")]
        found = {}
        for number, factor in enumerate(short):
            clock, before = self._inquiry.clock.share(1 / (len(short) - number)), self._planned[factor, None]
            if not clock.expired and _longer(clock, self._shares[factor]):
                again = self._fleet(factor, clock)
                found[factor] = again if _no_worse(again, before) else before
        return found

    def _fleet(self, factor: float, clock: Clock) -> FleetAtDemand:
        return FleetAtDemand.of(
            first_with_a_plan(replace(self._inquiry, clock=clock), lambda each: self._solved(each, factor))
        )

    def _solved(self, asked: Inquiry, factor: float) -> Answer:
        if asked.avoided not in self._first_month:
            due = any(each.deadline is not None for each in asked.scenario.workloads)
            # batches have other hours at every demand, so that no hours are told apart for all of them
            self._first_month[asked.avoided] = narrowed(asked) if due else for_variations(narrowed(asked))
        first = replace(self._first_month[asked.avoided], clock=asked.clock)
        return solved_at_best_hours(first.changed(_moving(grown(first.scenario, factor), self._running)))


def _longer(clock: Clock, before: Clock) -> bool:
    """Whether a share of a limit is larger than one before."""
    work = (clock.work_limit or 0) > (before.work_limit or 0)
    return work or (clock.time_limit_s or 0) > (before.time_limit_s or 0)


def _no_worse(again: FleetAtDemand, before: FleetAtDemand) -> bool:
    """Whether a fleet is proven, or costs no more than one before."""
    if again.outcome in ("optimal", "infeasible") or before.usd is None:
        return True
    return again.usd is not None and again.usd <= before.usd


def growth_factor(growth_percent_per_month: float, month: int) -> float:
    """Demand of a month, counted from 1, over that of the first."""
    return float((1 + growth_percent_per_month / 100) ** (month - 1))


def _moving(scenario: Scenario, in_force: Running) -> Scenario:
    """The scenario with changes counted against those replicas."""
    migration = scenario.policy.migration
    if migration is None:
        return scenario
    moved = migration.model_copy(update={"in_force": in_force, "from_plan": None})
    return scenario.model_copy(update={"policy": scenario.policy.model_copy(update={"migration": moved})})


def running(fleet: PlannedFleet) -> tuple[InForce, ...]:
    """The replicas of a fleet as those in force, those alike added up."""
    counts = Counter[tuple[tuple[str, Any], ...]]()
    for each in fleet.deployments:
        counts[tuple(each.model_dump(include=set(InForce.model_fields) - {"replicas"}).items())] += each.replicas
    return tuple(InForce.model_validate({**dict(named), "replicas": n}) for named, n in sorted(counts.items()))

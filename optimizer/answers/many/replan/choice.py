"""What there is to choose from for a plan of yesterday: to stay as it is, or the best plan of today against it."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from optimizer.answers.gate.baseline import Baseline, GatePlan
from optimizer.answers.gate.plan import plan_of
from optimizer.answers.many.replan.types import Advice
from optimizer.answers.planning.optimize import proven_usd
from optimizer.answers.planning.tried import SimulatedPlan, confirmed_plan
from optimizer.inputs.scenario.loading import ScenarioFile
from optimizer.inputs.scenario.policy import InForce
from optimizer.plan.question.inquiry import Inquiry
from optimizer.plan.readback.outline import outlined


@dataclass(frozen=True)
class PlanOfToday:
    """What is best under one policy.

    Attributes:
        plan: None where there is none.
        changed: Replicas that it starts and stops in its busiest hours, as the plan counts and pays them.
        holds: Whether no simulated request broke a promise.
        known: Whether all of it is certain.
        bound_usd: No plan under the policy costs less a month; None where nothing is known.
    """

    plan: GatePlan | None
    changed: int
    holds: bool
    known: bool
    bound_usd: Decimal | None = None


def plan_of_today(inquiry: Inquiry) -> PlanOfToday:
    """The plan, if there is one, and whether that is certain."""
    found = confirmed_plan(inquiry)
    if not isinstance(found, SimulatedPlan):
        return PlanOfToday(None, 0, holds=False, known=found.solution.outcome == "infeasible")
    changes = found.bought.migration
    changed = changes.started + changes.stopped if changes else 0
    holds = found.simulation is not None and found.simulation.holds is not False
    answer = found.answer
    known = found.ended and (answer.solution.outcome == "optimal" or answer.enough)
    least = found.bought if answer.cheapest is None else outlined(answer.cheapest)
    bound_usd = proven_usd(answer.solution, least.monthly_cost_usd)
    return PlanOfToday(plan_of(found), changed, holds=holds, known=known, bound_usd=bound_usd)


@dataclass(frozen=True)
class ReplanChoice:
    """What there is to choose from for a scenario.

    Attributes:
        running: By the plan of yesterday, else as the scenario says; None where nothing runs.
        stays: The plan that keeps all of it; None where nothing runs.
        best: The best plan against it, its month with a part of what changing costs.
    """

    file: ScenarioFile
    baseline: Baseline | None
    running: Sequence[InForce] | None
    stays: PlanOfToday | None
    best: PlanOfToday

    @property
    def after(self) -> GatePlan | None:
        """What is advised, or the best that was found before a limit."""
        return self.stays.plan if self.stays is not None and self._rests else self.best.plan

    @property
    def stay_usd(self) -> Decimal | None:
        """A month of what runs; None where it cannot stay, or breaks under simulated load what another plan keeps."""
        if self.stays is None or self.stays.plan is None or (self.best.holds and not self.stays.holds):
            return None
        return self.stays.plan.monthly_cost_usd

    @property
    def changed(self) -> int:
        """Replicas started and stopped."""
        return 0 if self._rests else self.best.changed

    @property
    def holds(self) -> bool:
        """Whether simulated requests were seen to break no promise of what is shown."""
        return self.stays.holds if self.stays is not None and self._rests else self.best.holds

    @property
    def advice(self) -> Advice:
        """What to do, by what is certain."""
        if not self._known:
            return "stay" if self._is_near_enough else "undecided"
        if self.after is None:
            return "no_plan"
        if self.running is None:
            return "new"
        if self.stay_usd is None:
            return "must_move"
        return "move" if self.changed else "stay"

    @property
    def _known(self) -> bool:
        """Whether no limit had a part in it."""
        return self.best.known and (self.stays is None or self.stays.known)

    @property
    def _is_near_enough(self) -> bool:
        """Whether what runs may stay and is proven to cost little more than whatever else may be bought."""
        if self.stays is None or not self.stays.holds or self.stay_usd is None or self.best.bound_usd is None:
            return False
        percent = Decimal(repr(self.file.scenario.policy.simplicity_percent))
        return self.stay_usd <= self.best.bound_usd * (1 + percent / 100)

    @property
    def _rests(self) -> bool:
        """Whether a limit was reached before anything was found that is worth leaving what runs for."""
        if self._known or self.stay_usd is None:
            return False
        found = self.best.plan
        cheaper = found is not None and (found.monthly_cost_usd or self.stay_usd) < self.stay_usd
        return self._is_near_enough or not cheaper

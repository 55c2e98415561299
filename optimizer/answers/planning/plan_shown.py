"""The plan that is shown for a question, which another one is held against: the optimum, or why it is not."""

from dataclasses import dataclass
from decimal import Decimal

from optimizer.plan.explain.pricing import SAME_COST
from optimizer.plan.question.inquiry import Answer
from optimizer.plan.readback.outline import outlined
from optimizer.plan.readback.readback import read_back
from optimizer.plan.record.fleet import PlannedFleet


@dataclass(frozen=True)
class PlanShown:
    """The plan that others are held against.

    Attributes:
        plan: As it is shown.
        cheapest_usd: A month of the proven optimum; None where none is proven.
        kept: Whether it is shown because it runs already.
    """

    plan: PlannedFleet
    cheapest_usd: Decimal | None
    kept: bool

    @classmethod
    def of(cls, answer: Answer, plan: PlannedFleet | None) -> "PlanShown | None":
        """The plan of an answer, read back; None where it has none."""
        if plan is None:
            return None
        cheapest = answer.cheapest
        least = plan.monthly_cost_usd if cheapest is None else outlined(cheapest).monthly_cost_usd
        return cls(plan, least if answer.solution.outcome == "optimal" else None, answer.kept)

    @property
    def usd(self) -> Decimal:
        """A month of it."""
        return self.plan.monthly_cost_usd

    @property
    def but(self) -> str:
        """What keeps it from being the optimum; empty where it is."""
        if self.cheapest_usd is None:
            return ", which is not proven to be the cheapest"
        dearer, reason = self.usd - self.cheapest_usd, "for running already" if self.kept else "for being simpler"
        return f", which costs ${dearer:,.2f} more than the cheapest {reason}" if dearer > SAME_COST else ""

    @property
    def words(self) -> str:
        """What it is, and what it costs."""
        return f"the {'plan' if self.but else 'optimum'} of ${self.usd:,.2f}{self.but}"


def bought(answer: Answer) -> PlannedFleet | None:
    """The plan of an answer; None where it has none."""
    return read_back(answer) if answer.solution.outcome in ("optimal", "feasible") else None

"""Other ways to decide on the same months, and what knowing more is worth.

With RP the least expected cost under the branches, EEV that of deciding on the mean branch until branches part, and WS
that of knowing every branch from the start, EEV - RP is the value of the stochastic solution and RP - WS the expected
value of perfect information (Birge and Louveaux, Introduction to Stochastic Programming, chapter 4).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Final, Literal, TypeAlias

import numpy as np

from optimizer.base.arrays import Floats
from optimizer.base.clock import Clock
from optimizer.base.progress import Progress
from optimizer.plan.horizon.formulate import PlannedMonths
from optimizer.plan.horizon.readback import Read
from optimizer.plan.record.fields import Outcome, cents, usd
from optimizer.plan.record.horizon import Strategy, Value
from optimizer.program.horizon.problem import HorizonProblem
from optimizer.program.horizon.solve import Purchases, month_by_month, solve_horizon
from optimizer.program.proof.state import EQUAL_COST

Name: TypeAlias = Literal["on demand alone", "month by month", "the mean branch", "every branch known"]

BRANCH_KNOWN: Final = "known branches"
HORIZON_PHASES: Final = ("purchases", "the mean branch", BRANCH_KNOWN, "on demand alone", "month by month")
"""What `progress` is told, in this order."""


SAME: Final = 1e-6
"""Relative difference within which two figures are one."""


@dataclass(frozen=True)
class Alone:
    """Each branch, had it been known from the start.

    Attributes:
        usd: (B,) the cheapest purchases that are known; infinite where none are.
        bound_usd: (B,) none cost less.
        weight: (B,) of each branch.
    """

    usd: Floats
    bound_usd: Floats
    weight: Floats

    @classmethod
    def of(cls, problem: HorizonProblem, branch_usd: Sequence[float], clock: Clock, gap: float) -> "Alone":
        """Solved one after the other, in equal shares of what is left.

        Args:
            problem: With all branches.
            branch_usd: (B,) what purchases cost that were made without knowing, which can be made with knowing, too.
            clock: Of all of them.
            gap: Search no further than proven within this.
        """
        count = len(problem.tree.weight)
        solved = [
            solve_horizon(problem.known_to_be(branch), clock.share(1 / (count - branch)), gap)
            for branch in range(count)
        ]
        usd = np.minimum([each.expected_usd for each in solved], branch_usd)
        return cls(usd, np.minimum([each.bound_usd for each in solved], usd), problem.tree.weight)

    def at_most(self, branch_usd: Sequence[float]) -> "Alone":
        """The same beside other purchases, (B,) at what they cost."""
        usd = np.minimum(self.usd, branch_usd)
        return replace(self, usd=usd, bound_usd=np.minimum(self.bound_usd, usd))

    @property
    def expected(self) -> tuple[float, float]:
        """Cost and bound over all branches by weight."""
        return float(self.weight @ self.usd), float(self.weight @ self.bound_usd)

    def regrets(self, branch_usd: Sequence[float]) -> list[float]:
        """What each branch costs beyond its own best."""
        return [max(float(apart_usd(cost, own)), 0.0) for cost, own in zip(branch_usd, self.usd.tolist(), strict=True)]

    @property
    def outcome(self) -> Outcome:
        """What is proven of all of them."""
        cost, bound = self.expected
        return "optimal" if cost - bound <= EQUAL_COST * cost else "feasible"


def apart_usd(more: float, less: float) -> Decimal:
    """A difference of two figures as they are told, to the cent: it is what a reader who takes one from the other gets,
    and between equals it is nothing, from either side."""
    return cents(usd(more)) - cents(usd(less))


def mean_branch(problem: HorizonProblem, clock: Clock, gap: float) -> Purchases:
    """What is signed for the mean of all branches before any parts, then the best that can still be done."""
    mean = solve_horizon(problem.expected(), clock.share(0.5), gap)
    if not mean.found:
        return mean
    common = problem.tree.common
    return solve_horizon(problem, clock, gap, fixed=(common, mean.sign[:, : len(common)]))


def without_looking_ahead(problem: HorizonProblem, clock: Clock, gap: float, begin: Progress) -> dict[Name, Purchases]:
    """Purchases of everyone who does not look ahead."""
    found: dict[Name, Purchases] = {}
    begin("on demand alone")
    rented = solve_horizon(problem.without_deals(), clock.share(1 / 2), gap)
    nothing = np.zeros(problem.deals.usd.shape, dtype=np.int64)
    found["on demand alone"] = replace(rented, sign=nothing) if rented.found else rented
    begin("month by month")
    found["month by month"] = month_by_month(problem, clock)
    return found


def strategies(
    planned: PlannedMonths,
    problem: HorizonProblem,
    answer_usd: float,
    ways: dict[Name, Purchases],
    alone: Alone,
    quantile: float,
) -> list[Strategy]:
    """Every other way beside the answer, the cheapest first."""
    cost, bound = alone.expected
    known = [_strategy("every branch known", alone.outcome, cost, bound, answer_usd)] if len(alone.usd) > 1 else []
    for name, bought in ways.items():
        proven = bought.bound_usd if name == "on demand alone" else None
        one = _strategy(name, bought.status, bought.expected_usd, proven, answer_usd)
        if bought.found:
            read = Read(planned, problem, bought)
            first = [f"{each.instances:,} × {each.offer} ({each.payment})" for each in read.signed() if each.month == 1]
            regrets = alone.regrets(read.branch_usd())
            one = one.model_copy(
                update={
                    "owed_after_usd": usd(read.owed_after_usd()),
                    "signed_in_first_month": first,
                    "regret_usd": usd(quantile_of(regrets, alone.weight, quantile)),
                }
            )
        known.append(one)
    return sorted(known, key=lambda each: (each.expected_usd is None, each.expected_usd or 0, each.name))


def _strategy(name: Name, outcome: Outcome, cost: float, bound: float | None, answer_usd: float) -> Strategy:
    found = bool(np.isfinite(cost))
    return Strategy(
        name=name,
        outcome=outcome,
        expected_usd=usd(cost) if found else None,
        bound_usd=None if bound is None else usd(bound),
        more_usd=apart_usd(cost, answer_usd) if found else None,
        regret_usd=None,
        owed_after_usd=None,
        signed_in_first_month=[],
    )


def quantile_of(values: Sequence[float], weight: Floats, quantile: float) -> float:
    """The least value that is not exceeded with that probability."""
    reached = 0.0
    for value, share in sorted(zip(values, weight.tolist(), strict=True)):
        reached += share
        if reached >= quantile - 1e-9:
            return value
    return max(values)


def value_between(more: tuple[float, float], less: tuple[float, float], gap: float) -> Value | None:
    """A difference of two costs, each given with what bounds it from below; None where either is not within a gap."""
    (more_usd, more_bound), (less_usd, less_bound) = more, less
    if not all(np.isfinite(cost) and cost - bound <= gap * cost * (1 + SAME) for cost, bound in (more, less)):
        return None
    return Value(
        usd=max(apart_usd(more_usd, less_usd), Decimal(0)),
        lowest_usd=max(apart_usd(more_bound, less_usd), Decimal(0)),
        highest_usd=max(apart_usd(more_usd, less_bound), Decimal(0)),
    )

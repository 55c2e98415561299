"""A certificate: the problem as the checker is told it, what is claimed of it, and the tree that proves the claim."""

import json
from dataclasses import dataclass
from fractions import Fraction
from math import floor
from typing import Any, Final

import numpy as np

from optimizer.base.clock import Clock
from optimizer.base.units import HOURS_PER_MONTH
from optimizer.plan.certify.search import MOST_RELAXATIONS, prove
from optimizer.plan.certify.statement import left_out, statement
from optimizer.plan.verify.certificate.tree import VERSION, read_certificate, stated
from optimizer.program.problem.problem import Problem
from optimizer.program.proof.dominance import undominated

TOLERANCE_USD: Final = 0.02
"""By which a claim is below the cost of the plan a month: its parts are shown in whole cents."""

BEYOND_BUDGET_USD: Final = 0.0001
"""By which every plan is shown to cost more than a budget a month, where no plan is within it."""


@dataclass(frozen=True)
class Certificate:
    """What stands in a file.

    Attributes:
        content: Plain numbers and names.
        usd_per_month: No plan costs less; None where there is no plan.
        complete: Whether that is the cost of the plan, or that there is none, rather than as much as could be proven.
        leaves: Parts that the plans were split into.
        left_out: Requirements that it does not state, without which plans can only be cheaper.
    """

    content: dict[str, Any]
    usd_per_month: float | None
    complete: bool
    leaves: int
    left_out: tuple[str, ...]


def certified(
    problem: Problem,
    scenario: str,
    usd_per_month: float | None,
    clock: Clock | None = None,
    most_relaxations: int = MOST_RELAXATIONS,
) -> Certificate | None:
    """The certificate of a bound on the plans of a problem of one period.

    Args:
        problem: What may be bought, with what every choice delivers.
        scenario: Its name.
        usd_per_month: What the plan costs that nothing undercuts; None where there is none.
        clock: Where it has run out as much is certified as was proven by then.
        most_relaxations: Linear programs that the proof may take.

    Returns:
        None where nothing could be proven.
    """
    content: dict[str, Any] = {"certificate_version": VERSION, "problem": statement(problem)}
    exact = stated(read_certificate(json.dumps(content)))
    claim = None if usd_per_month is None else Fraction(str(round(usd_per_month - TOLERANCE_USD, 4))) / HOURS_PER_MONTH
    budget = problem.limits.max_monthly_usd
    if claim is None and budget is not None:
        # no plan within the budget: that every plan costs more is as good
        claim = Fraction(str(round(budget + BEYOND_BUDGET_USD, 4))) / HOURS_PER_MONTH
    promising = undominated(problem) if len(problem.candidates) else np.zeros(0, dtype=np.bool_)
    found = prove(exact, promising, claim, clock or Clock(), most_relaxations)
    if found is None:
        return None
    usd = None if found.usd_per_hour is None else floor(found.usd_per_hour * HOURS_PER_MONTH * 10_000) / 10_000
    left = tuple(item.name for item in left_out(problem))
    content = {
        "certificate_version": VERSION,
        "scenario": scenario,
        "claim": {"no_plan_costs_less_than_usd_per_month": usd},
        "not_stated": list(left),
        **content,
        "proof": found.proof,
    }
    over_budget = usd is not None and budget is not None and usd > budget
    return Certificate(content, None if over_budget else usd, found.complete, _leaves(found.proof), left)


def _leaves(node: dict[str, Any]) -> int:
    waiting, leaves = [node], 0
    while waiting:
        node = waiting.pop()
        leaves += "split" not in node
        waiting += [node["most"], node["least"]] if "split" in node else []
    return leaves

"""Another solver, given the purchase as it is meant and none of our tightening, finds the same optimum."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from support.promises import faults
from support.second_opinion import SecondOpinion, medium_problem

from optimizer.program.problem.data import Billing, EgressPrices, LayoutTerms
from optimizer.program.problem.problem import Problem
from optimizer.program.solve import solve

SECONDS = 60.0
"""Far more than any case takes: a machine would have to be ten times slower for the limit to be reached."""

pytestmark = pytest.mark.slow("proves every case a second time, with another solver")

SPOT: dict[str, Any] = {"max_spot_share": 0.3, "max_gpus": 60}
CASES: dict[str, tuple[int, int, int, int, dict[str, Any]]] = {
    "20 offers, 100 candidates": (10, 1, 20, 100, {}),
    "spot and GPUs limited": (13, 1, 10, 40, SPOT),
    "2 periods": (10, 2, 6, 20, {}),
    "2 periods, a region lost": (10, 2, 6, 16, {"survive": ("region",)}),
    "3 periods, a provider's share": (11, 3, 5, 12, {"max_provider_share": 0.6}),
    "3 periods, spot and GPUs limited": (13, 3, 5, 12, SPOT),
    "6 periods": (10, 6, 4, 8, {}),
    "6 periods, a region lost": (12, 6, 4, 8, {"survive": ("region",)}),
    "nothing survives": (12, 3, 5, 12, {"survive": ("region",)}),
}


def changing_freely(problem: Problem) -> Problem:
    """The same where machines change what they hold in no time; what keeping it costs is held to all ways to load."""
    return replace(problem, layouts=LayoutTerms(kept=False))


def sending(problem: Problem, seed: int) -> Problem:
    """The same where answers cost something to send, depending on the provider."""
    price = {
        name: float(usd) for name, usd in zip("pqr", np.random.default_rng(seed).permutation([0, 30, 90]), strict=True)
    }
    usd_per_gb = np.array([price[name] for name in problem.offers.provider])
    return replace(problem, egress=EgressPrices(np.array([1e-6, 3e-6, 2e-6]), usd_per_gb))


def billed(problem: Problem, seed: int) -> Problem:
    """The same where a start is billed for some hours of a short week, depending on the offer."""
    random, periods = np.random.default_rng(seed), problem.traffic.periods
    hours = random.permutation(np.repeat(np.arange(periods), 6))
    return replace(problem, billing=Billing(random.integers(1, 6, len(problem.offers)), hours))


@pytest.mark.parametrize("case", ["2 periods", "2 periods, a region lost", "3 periods, spot and GPUs limited"])
def test_another_solver_agrees_on_hours_that_are_billed(case: str) -> None:
    seed, periods, offers, candidates, limits = CASES[case]
    problem = billed(changing_freely(medium_problem(seed, periods, offers, candidates, **limits)), seed)
    solution = solve(problem)
    cost, _ = SecondOpinion(problem).cheapest_usd_per_month(solution.solver, SECONDS)
    assert solution.outcome == "optimal"
    assert not faults(problem, solution)
    assert solution.cost_usd_per_month == pytest.approx(cost, rel=1e-6)


@pytest.mark.parametrize("paid", [False, True], ids=["", "answers paid for"])
@pytest.mark.parametrize("case", CASES)
def test_another_solver_agrees(case: str, paid: bool) -> None:
    seed, periods, offers, candidates, limits = CASES[case]
    problem = changing_freely(medium_problem(seed, periods, offers, candidates, **limits))
    problem = sending(problem, seed) if paid else problem
    solution = solve(problem)
    cost, bound = SecondOpinion(problem).cheapest_usd_per_month(solution.solver, SECONDS)
    if solution.outcome == "infeasible":
        assert cost == float("inf")
        return
    assert solution.outcome == "optimal"
    assert not faults(problem, solution)
    assert cost == pytest.approx(bound, rel=1e-6)
    assert solution.cost_usd_per_month == pytest.approx(cost, rel=1e-6)

"""Ties are broken as documented, and routing keeps the busiest deployment as idle as possible."""

from dataclasses import replace

import numpy as np
import pytest
from support.plain import plain_candidates, plain_offers

from optimizer.base.clock import Clock
from optimizer.program.laid_out import LaidOut, preferred
from optimizer.program.problem.data import Limits, steady_traffic
from optimizer.program.problem.problem import Problem
from optimizer.program.proof.state import Incumbent
from optimizer.program.solve import solve


def one_class(demand: float, rates: list[float], gpus: list[int], sizes: list[int], prices: list[float]) -> Problem:
    """One candidate on each offer, one request class."""
    return Problem(
        traffic=steady_traffic(("w/0",), np.array([demand])),
        candidates=plain_candidates(range(len(rates)), [[rate] for rate in rates], gpus_per_replica=np.array(sizes)),
        offers=plain_offers(prices, gpus_per_instance=np.array(gpus)),
        limits=Limits(1.0),
    )


def test_fewest_gpus_among_equal_costs() -> None:
    solution = solve(one_class(4.0, [1.0, 4.0], [4, 2], [1, 2], [8.0, 8.0]))
    assert solution.instances.tolist() == [[0, 1]]


def test_fewest_instances_among_equal_costs_and_gpus() -> None:
    solution = solve(one_class(4.0, [1.0, 1.0], [1, 4], [1, 1], [2.0, 8.0]))
    assert solution.instances.tolist() == [[0, 1]]


def test_no_more_replicas_than_needed_and_lowest_id_first() -> None:
    problem = one_class(2.5, [1.0, 1.0, 1.0], [4, 4, 4], [1, 1, 1], [8.0, 8.0, 8.0])
    solution = solve(problem)
    assert solution.instances.tolist() == [[1, 0, 0]]
    assert solution.replicas.tolist() == [[3, 0, 0]]


def test_a_limit_that_is_reached_meanwhile_leaves_the_plan_as_cheap(monkeypatch: pytest.MonkeyPatch) -> None:
    def with_the_time_gone(found: LaidOut, plan: Incumbent, clock: Clock) -> Incumbent:
        clock.run_out("time limit")
        return preferred(found, plan, clock)

    problem = one_class(4.0, [1.0, 4.0], [4, 2], [1, 2], [8.0, 8.0])
    settled = solve(problem)
    monkeypatch.setattr("optimizer.program.solve.preferred", with_the_time_gone)
    hasty = solve(problem, Clock(60.0))
    assert hasty.cost_usd_per_month == settled.cost_usd_per_month
    assert (hasty.outcome, hasty.ended_by) == ("optimal", "time limit")
    assert "before the simplest of equal cost was looked for" in hasty.reason


def flows(problem: Problem) -> list[float]:
    return [flow.flow_per_s for flow in solve(problem).flows]


def test_the_busiest_deployment_is_as_idle_as_possible() -> None:
    problem = one_class(6.0, [4.0, 2.0], [1, 1], [1, 1], [1.0, 1.0])
    two_regions = replace(problem, limits=Limits(1.0, min_regions=2))
    assert flows(two_regions) == pytest.approx([4.0, 2.0])
    traffic = steady_traffic(("w/0",), np.array([3.0]))
    assert flows(replace(two_regions, traffic=traffic)) == pytest.approx([2.0, 1.0])

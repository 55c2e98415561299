"""Ties are broken as documented, and routing keeps the busiest deployment as idle as possible."""

from dataclasses import replace

import numpy as np
import pytest

from optimizer.program.given import Limits
from optimizer.program.problem import Problem
from optimizer.program.solve import solve


def one_class(demand: float, rates: list[float], gpus: list[int], sizes: list[int], prices: list[float]) -> Problem:
    """One candidate on each offer, one request class."""
    count = len(rates)
    return Problem(
        request_classes=("w/0",),
        demand_per_s=np.array([demand]),
        candidates=tuple(f"c{number}" for number in range(count)),
        offer_index=np.arange(count),
        configuration=("x",) * count,
        gpus_per_replica=np.array(sizes),
        replica_rate_per_s=np.array(rates),
        mix=np.ones((count, 1)),
        offers=tuple(f"o{number}" for number in range(count)),
        price_usd_per_hour=np.array(prices),
        gpus_per_instance=np.array(gpus),
        power_kw_per_instance=np.full(count, np.nan),
        provider=("p",) * count,
        region=tuple(f"r{number}" for number in range(count)),
        gpu=("g",) * count,
        spot=np.zeros(count, dtype=bool),
        limits=Limits(1.0),
    )


def test_fewest_gpus_among_equal_costs() -> None:
    solution = solve(one_class(4.0, [1.0, 4.0], [4, 2], [1, 2], [8.0, 8.0]))
    assert solution.instances == (0, 1)


def test_fewest_instances_among_equal_costs_and_gpus() -> None:
    solution = solve(one_class(4.0, [1.0, 1.0], [1, 4], [1, 1], [2.0, 8.0]))
    assert solution.instances == (0, 1)


def test_no_more_replicas_than_needed_and_lowest_id_first() -> None:
    problem = one_class(2.5, [1.0, 1.0, 1.0], [4, 4, 4], [1, 1, 1], [8.0, 8.0, 8.0])
    solution = solve(problem)
    assert (solution.instances, solution.replicas) == ((1, 0, 0), (3, 0, 0))


def test_the_busiest_deployment_is_as_idle_as_possible() -> None:
    problem = one_class(6.0, [4.0, 2.0], [1, 1], [1, 1], [1.0, 1.0])
    two_regions = replace(problem, limits=Limits(1.0, min_regions=2))
    assert solve(two_regions).flow_per_s == pytest.approx((4.0, 2.0))
    relaxed = replace(two_regions, demand_per_s=np.array([3.0]))
    assert solve(relaxed).flow_per_s == pytest.approx((2.0, 1.0))
